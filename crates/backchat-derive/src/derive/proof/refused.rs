//! The parts of the model's turn that the chat template refuses: it renders answers without the part, and none with it.
//!
//! A template may refuse a part on purpose, with `raise_exception`, or be written for an engine that lets it change lists:
//! no render of the reference has the part then, and a proof of the others is whole. If an expression fails instead, the
//! branch that writes the part is broken: it can be corrected, and a proof of the others proves half a format.

use crate::wire::template_usage::TemplateUsage;
use backchat_chat::{RenderError, RenderErrorKind};
use backchat_core::json::Value;
use backchat_probe::probe::{Answer, Message, Prober, ReasoningInput, Setting, call, needle};

/// A part of the model's turn that the chat template refuses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RefusedPart {
    /// The name of the part, as in [`Scope`](super::Scope).
    pub part: &'static str,
    /// The error of the chat template.
    pub error: RenderError,
}

impl RefusedPart {
    /// Whether an expression of the chat template fails; otherwise the template or the sandbox refuses the part.
    pub fn is_broken(&self) -> bool {
        self.error.kind() != RenderErrorKind::Raised && !self.is_sandboxed()
    }

    /// Whether the sandbox refuses what the chat template does to write the part.
    pub(in crate::derive) fn is_sandboxed(&self) -> bool {
        self.error.kind() == RenderErrorKind::Sandboxed
    }

    /// What the chat template does to the part, in a word or two.
    pub(in crate::derive) fn verb(&self) -> &'static str {
        if self.error.kind() == RenderErrorKind::Raised { "refuses" } else { "fails on" }
    }

    /// What the chat template does to the part, and its error, in one line.
    pub fn describe(&self) -> String {
        let verb = self.verb();
        let line = self.error.line.map_or_else(String::new, |line| format!(", at line {line}"));
        format!("the chat template {verb} every turn with {}{line}: {}", self.part, self.error.message)
    }

    pub(super) fn to_value(&self) -> Value {
        Value::from([
            ("part", self.part.into()),
            ("broken", self.is_broken().into()),
            ("line", self.error.line.into()),
            ("message", self.error.message.as_str().into()),
        ])
    }
}

/// The calls that a chat template refuses, if it does.
pub(super) fn calls(prober: &Prober<'_>, settings: &[Setting]) -> Option<RefusedPart> {
    let called = |answer: Answer| Answer { calls: vec![call(0, 1)], ..answer };
    let pairs = [Answer::default(), Answer::content(needle::CONTENT)].map(|answer| [answer.clone(), called(answer)]);
    refused("calls", prober, settings, &pairs)
}

/// The reasoning that a chat template refuses, if it does. Only a key that it reads can show that: the form of a block is
/// a guess, and may be at fault itself.
pub(super) fn reasoning(prober: &Prober<'_>, usage: &TemplateUsage) -> Option<RefusedPart> {
    let is_read = |input: &&ReasoningInput| matches!(input, ReasoningInput::Key(_)) && input.is_named_for_reasoning();
    let inputs = usage.reasoning_inputs.iter().filter(is_read);
    let thought = |answer: Answer| answer.with_reasoning(needle::REASONING);
    let content = Answer::content(needle::CONTENT);
    let beside_calls = Answer { calls: vec![call(0, 1)], ..content.clone() };
    let pairs = [content, beside_calls].map(|answer| [answer.clone(), thought(answer)]);
    let mut found = inputs.filter_map(|input| {
        let prober = prober.with_reasoning(Some(input));
        refused("reasoning", &prober, &usage.settings, &pairs)
    });
    found.next()
}

/// The refusal of a part, given pairs of answers without and with it. An expression that fails counts before a refusal on
/// purpose, which may concern only the form of the request.
fn refused(
    part: &'static str,
    prober: &Prober<'_>,
    settings: &[Setting],
    pairs: &[[Answer; 2]],
) -> Option<RefusedPart> {
    let mut errors: Vec<RenderError> = Vec::new();
    for setting in settings {
        for [without, with] in pairs {
            let [without, with] = [without, with].map(after_question);
            if prober.render(&with, setting, false).is_some() {
                return None;
            }
            errors.extend(prober.refusals(&without, &with, setting));
        }
    }
    errors.sort_by_key(|error| match error.kind() {
        RenderErrorKind::Raised => 2,
        RenderErrorKind::Sandboxed => 1,
        _ => 0,
    });
    errors.into_iter().next().map(|error| RefusedPart { part, error })
}

fn after_question(answer: &Answer) -> [Message; 2] {
    [Message::User(needle::USER.to_owned()), Message::Assistant(answer.clone())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::template_usage;
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;

    /// The parts that a chat template refuses whose turns are written like this.
    fn refused_in(turn: &str) -> Vec<String> {
        let source = format!("{{% for m in messages %}}<{{{{ m.role }}}}>{turn}<end>{{% endfor %}}");
        let template = ChatTemplate::compile(&source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None).settled().unwrap();
        let usage = template_usage::find(&template, &prober, &variables);
        let found = [calls(&prober, &usage.settings), reasoning(&prober, &usage)];
        found.into_iter().flatten().map(|refused| refused.describe()).collect()
    }

    const CALL: &str = "{{ m.content }}{% for c in m.tool_calls or [] %}GUARD{{ c.function.name }}\
                        {{ c.function.arguments | tojson }}{% endfor %}";

    #[test]
    fn a_part_is_refused_if_no_turn_with_it_renders_and_one_without_it_does() {
        let raises = "{{ raise_exception('no calls') }}";
        for (turn, refused) in [
            (CALL.replace("GUARD", ""), &[][..]),
            (CALL.replace("GUARD", raises), &["the chat template refuses every turn with calls, at line 1: no calls"]),
            (
                CALL.replace("GUARD", "").replace("arguments | tojson", "argument | tojson"),
                &["the chat template fails on every turn with calls, at line 1: Object of type Undefined is not JSON \
                   serializable: `c.function` has no `argument`; did you mean `arguments`?"],
            ),
            // Only one form of the arguments is refused on purpose; the other one fails.
            (
                CALL.replace("GUARD", "{% if c.function.arguments is mapping %}{{ raise_exception('no') }}{% endif %}")
                    .replace("arguments | tojson", "argument | tojson"),
                &["the chat template fails on every turn with calls, at line 1: Object of type Undefined is not JSON \
                   serializable: `c.function` has no `argument`; did you mean `arguments`?"],
            ),
            (
                CALL.replace("GUARD", "{% set names = [] %}{% set _ = names.append(c.function.name) %}"),
                &[
                    "the chat template fails on every turn with calls, at line 1: access to 'append' of a list is unsafe: \
                   a template may not change it",
                ],
            ),
            // The content is at fault, not the call.
            ("{{ m.content[0].upper() ~ m.content[1:] }}".to_owned(), &[]),
            (
                "{% if m.tool_calls %}{{ raise_exception('alone') if m.content }}{% endif %}{{ m.content }}".to_owned(),
                &[],
            ),
            (
                "{% if m.thinking %}<t>{{ m.thinking.strp() }}</t>{% endif %}{{ m.content }}".to_owned(),
                &[
                    "the chat template fails on every turn with reasoning, at line 1: 'str' object has no attribute 'strp'",
                ],
            ),
            (
                "{% if m.thinking %}{{ raise_exception('no thoughts') }}{% endif %}{{ m.content }}".to_owned(),
                &["the chat template refuses every turn with reasoning, at line 1: no thoughts"],
            ),
            ("{% if m.thinking %}<t>{{ m.thinking }}</t>{% endif %}{{ m.content }}".to_owned(), &[]),
        ] {
            assert_eq!(refused_in(&turn), refused, "{turn}");
        }
    }
}
