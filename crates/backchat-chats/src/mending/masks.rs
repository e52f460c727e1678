//! What the assistant wrote, before and after a repair: the same spans where the bytes are the same, and those of a
//! conversation that says the same where the repair changed them.

use std::rc::Rc;

use super::trial::{Standing, Trial};
use crate::chats::mask_with;
use backchat_chat::ChatTemplate;
use backchat_core::json::{Object, Value};
use backchat_probe::probe::{Renderer, role_of};

/// How many conversations of each kind are compared.
const MOST: usize = 6;

/// Spans of the assistant's text, and those of generation blocks, in code points.
type Spans = (Vec<(usize, usize)>, Vec<(usize, usize)>);

/// The conversations that masks are compared of, and their masks before any repair.
pub(super) struct Masks {
    kept: Vec<(usize, Rc<Spans>)>,
}

fn spans(trial: &Trial, renderer: &Renderer<'_>, at: usize) -> Option<Spans> {
    let masked = mask_with(renderer, &trial.tests.get(at)?.context).ok()?;
    let spans = without_space(&masked.text, masked.spans);
    masked.problems.is_empty().then_some((spans, masked.tags))
}

/// The spans without white space at their beginning: whether it belongs to the header shows only in conversations that end
/// there, which a repair may be the first to render.
fn without_space(text: &str, mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let characters: Vec<char> = text.chars().collect();
    for (start, end) in &mut spans {
        let span = characters.get(*start..*end).unwrap_or_default();
        *start += span.iter().take_while(|c| c.is_whitespace()).count();
    }
    spans
}

/// Whether the prompt of each answer renders, with what the whole render shows of the message before the answer. Where one
/// does not, only other conversations show where the mask begins, and a repair may be the first to render them.
fn has_prompts(renderer: &Renderer<'_>, context: &Object) -> bool {
    let Some(whole) = renderer.text(context) else { return false };
    let messages = context.get("messages").and_then(Value::as_list).map_or(&[][..], |messages| messages);
    let mut answers = (0..messages.len()).filter(|at| messages.get(*at).and_then(role_of) == Some("assistant"));
    answers.all(|at| {
        let before = messages.get(..at).unwrap_or_default();
        let last = before.last().and_then(|message| message.get("content")).and_then(Value::as_str);
        let mut prompt = context.clone();
        prompt.insert("messages", Value::List(before.to_vec()));
        prompt.insert("add_generation_prompt", true.into());
        let is_kept = |prompt: String| last.is_none_or(|last| prompt.contains(last) || !whole.contains(last));
        renderer.text(&prompt).is_some_and(is_kept)
    })
}

impl Masks {
    /// The masks of some conversations that render before any repair.
    pub fn before(trial: &Trial, template: &ChatTemplate) -> Self {
        let renderer = Renderer::new(template, trial.options.clone());
        let answered: Vec<usize> = (0..trial.tests.len()).filter(|at| trial.is_answered(*at)).collect();
        let step = (answered.len() / MOST).max(1);
        let kept = answered.into_iter().step_by(step).take(MOST);
        let kept = kept.filter(|at| trial.tests.get(*at).is_some_and(|test| has_prompts(&renderer, &test.context)));
        let kept = kept.filter_map(|at| Some((at, Rc::new(spans(trial, &renderer, at)?))));
        Self { kept: kept.collect() }
    }

    /// How many conversations have the mask that they should; `None` if one has not.
    pub fn same(&self, trial: &Trial, template: &ChatTemplate, first: &Standing, now: &Standing) -> Option<usize> {
        let renderer = Renderer::new(template, trial.options.clone());
        let mut same = 0;
        let is_changed = |at: usize| first.outcomes.get(at) != now.outcomes.get(at);
        for (at, wanted) in self.kept.iter().filter(|(at, _)| !is_changed(*at)) {
            if spans(trial, &renderer, *at)? != **wanted {
                return None;
            }
            same += 1;
        }
        let repaired = (0..trial.tests.len()).filter(|at| trial.has_goal(*at) && is_changed(*at));
        for at in repaired.take(MOST) {
            let twin = now.outcomes.get(at)?.as_ref().ok().and_then(|text| trial.rendering(text));
            let spans = |at| spans(trial, &renderer, at);
            // A conversation whose answers cannot be located has no mask to compare.
            let Some((own, twin)) = spans(at).zip(twin.and_then(spans)) else { continue };
            if own != twin {
                return None;
            }
            same += 1;
        }
        Some(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_before_an_answer_is_of_no_account() {
        assert_eq!(without_space("é: Yes.\n: \n", vec![(2, 8), (9, 11)]), [(3, 8), (11, 11)]);
    }

    #[test]
    fn a_mask_is_settled_where_the_prompt_shows_what_comes_before_the_answer() {
        let source = "{% if messages[0].role == 'user' %}<u>{% endif %}\
            {% for m in messages[1:] %}{% if loop.first and m.role == 'assistant' %}{{ messages[0].content }}{% endif %}\
            <{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        let settled = |source: &str| {
            let template = ChatTemplate::compile(source).unwrap();
            let renderer = Renderer::new(&template, Default::default());
            let chat =
                r#"{"messages": [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": "Yes."}]}"#;
            has_prompts(&renderer, backchat_core::json::read(chat).unwrap().as_object().unwrap())
        };
        assert!(settled("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"));
        // The question is printed only if an answer follows.
        assert!(!settled(source));
        assert!(!settled("{{ raise_exception('no answer') if messages | length == 1 }}{{ messages[1].content }}"));
    }
}
