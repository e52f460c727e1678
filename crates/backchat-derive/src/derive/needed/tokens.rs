//! Missing special tokens that a chat template prints in the model's turn: no draft can contain them.

use super::super::Options;
use super::goals::Goal;
use super::is_token;
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::json::Object;
use backchat_core::text::{common_start, slice};
use backchat_probe::probe::needle::{self, TOKEN};

/// The special tokens that the turn needs and that are not `given`. One for which the template has a default text is not
/// needed.
pub(in crate::derive) fn unknown(template: &ChatTemplate, options: &Options, given: &Object) -> Vec<String> {
    let is_unknown = |name: &&String| is_token(name) && !given.contains_key(name.as_str());
    let mut names: Vec<&String> = template.variables().iter().filter(is_unknown).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let (prompt, turns) = after_question(template, &options.variables, options);
    let answer = around_answer(template, &options.variables, options);
    names.retain(|name| {
        let mut variables = options.variables.clone();
        variables.insert((*name).clone(), TOKEN.into());
        let (prompt_with, turns_with) = after_question(template, &variables, options);
        let is_only_change = |with: &str, without: &str| with.replace(TOKEN, "") == *without;
        // A token at the end of the prompt belongs to the header or begins the turn.
        prompt_with.trim_end().ends_with(TOKEN) && is_only_change(&prompt_with, &prompt)
            || turns_with
                .iter()
                .zip(&turns)
                .any(|(with, without)| with.contains(TOKEN) && is_only_change(with, without))
            // A template may end only answers that another message follows. A token at the very beginning begins turns.
            || around_answer(template, &variables, options).is_some_and(|(before, after)| {
                let is_changed = answer.as_ref().is_none_or(|(_, without)| is_only_change(&after, without));
                is_changed && after.trim_start().starts_with(TOKEN) && !before.contains(TOKEN)
            })
    });
    names.into_iter().cloned().collect()
}

/// The text after a question: the end of the prompt, and the model's turn with an answer and with a call.
fn after_question(template: &ChatTemplate, variables: &Object, options: &Options) -> (String, [String; 2]) {
    let settings = RenderOptions::default().now(options.now.clone());
    let after_question = |goal: Goal| {
        let (text, _) = goal.reach(template, variables, &settings).ok()?;
        Some(text.rsplit_once(needle::USER)?.1.to_owned())
    };
    let prompt = after_question(Goal::Prompt).unwrap_or_default();
    let turns = [Goal::Answer, Goal::Call].map(|goal| {
        let text = after_question(goal).unwrap_or_default();
        slice(&text, common_start(&prompt, &text).len()..).to_owned()
    });
    (prompt, turns)
}

/// The text before a question, and the text between its answer and the next question.
fn around_answer(template: &ChatTemplate, variables: &Object, options: &Options) -> Option<(String, String)> {
    let settings = RenderOptions::default().now(options.now.clone());
    let (text, _) = Goal::Next.reach(template, variables, &settings).ok()?;
    let (before, rest) = text.split_once(needle::USER)?;
    let (_, rest) = rest.split_once(needle::CONTENT)?;
    Some((before.to_owned(), rest.split_once(needle::LATER)?.0.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown_in(source: &str, given: &[&str]) -> Vec<String> {
        let template = ChatTemplate::compile(source).unwrap();
        let given: Object = given.iter().map(|name| ((*name).to_owned(), "<given>".into())).collect();
        unknown(&template, &Options::default().variables(given.clone()), &given)
    }

    #[test]
    fn only_tokens_of_the_turn_that_are_not_given_are_unknown() {
        let turns = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}\
                     {% if add_generation_prompt %}<assistant>{% endif %}";
        assert_eq!(unknown_in(turns, &[]), ["eos_token"]);
        assert_eq!(unknown_in(turns, &["eos_token"]), [""; 0]);
        // The end of the question comes before the turn.
        let question = turns.replace("{{ eos_token }}", "{{ eos_token if m.role == 'user' else '<end>' }}");
        assert_eq!(unknown_in(&question, &[]), [""; 0]);
        let header = turns.replace("<assistant>", "<assistant>{{ sep_token }}");
        assert_eq!(unknown_in(&header, &["eos_token"]), ["sep_token"]);
        let named = turns.replace("{{ eos_token }}", "{{ eos_token or '<end>' }}");
        assert_eq!(unknown_in(&named, &[]), [""; 0], "the template has a default text");
        let inner = turns.replace("{{ eos_token }}", "{{ eos_token if m.role == 'assistant' and not loop.last }}");
        assert_eq!(unknown_in(&inner, &[]), ["eos_token"], "only an answer that another message follows ends with it");
        let strict = turns.replace("{{ eos_token }}", "{{ '\\n' if loop.last else '\\n' + eos_token }}");
        assert_eq!(unknown_in(&strict, &[]), ["eos_token"], "such an answer does not render without it");
        let begun = turns.replace("{{ eos_token }}", "").replace("<{{ m.role", "{{ bos_token }}<{{ m.role");
        assert_eq!(unknown_in(&begun, &[]), [""; 0], "every message begins with it");
        let calls = turns.replace("{{ eos_token }}", "{% if m.tool_calls %}{{ call_token }}{% endif %}");
        assert_eq!(unknown_in(&calls, &[]), ["call_token"]);
    }
}
