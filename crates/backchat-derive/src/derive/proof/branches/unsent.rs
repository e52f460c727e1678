//! Values of the assistant's messages that no conversation has, although the chat template prints them: calls among the
//! parts of content, or a key beside the usual ones. Nobody knows how a message with them reads.

use super::super::conversations;
use super::super::message_values::{MessageValues, Path};
use super::super::verdict::{Loss, Scope};
use super::super::{Part, Proof};
use backchat_chat::branches;
use backchat_core::diagnostic::line_column;
use backchat_core::json::Value;
use backchat_core::{distinct, push_new};
use backchat_probe::coverage::Coverage;
use backchat_probe::probe::{Answer, Message, ReasoningInput, RequestShape, Setting, mentions_reasoning};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The keys of the usual messages, each with all those below it.
type Keys = BTreeMap<String, BTreeSet<String>>;

/// The key of a call below which every key is known.
const ARGUMENTS: &str = "arguments";

/// The key of a message that holds its calls.
const CALLS: &str = "tool_calls";

/// The key at which some templates read tools from a message.
const TOOLS: &str = "tools";

/// The values on one line that no conversation has.
pub(in crate::derive) struct Unsent {
    line: usize,
    /// Their expressions.
    values: Vec<String>,
    is_of_calls: bool,
    is_reasoning: bool,
}

impl Unsent {
    /// The losses of every draft if the template shows no calls or no reasoning: then the values may be these, and the draft
    /// reads them as content. Beside both, most such values are no part of what a model writes, as a result or a date.
    pub fn losses(&self, scope: &Scope) -> Vec<Loss> {
        let is_missing = |part: &str| scope.not_shown.contains(&part);
        if !is_missing("calls") && !is_missing("reasoning") {
            return Vec::new();
        }
        let part = match (self.is_of_calls, self.is_reasoning) {
            (true, _) => Part::Calls,
            (false, true) if !is_missing("reasoning") => Part::Content,
            (false, false) if is_missing("calls") => Part::Calls,
            (false, _) => Part::Reasoning,
        };
        let values = self.values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
        let message = format!("line {} writes {values}, which no message of the proof has", self.line);
        let loss = |part: Part| Loss { is_assumed: true, ..Loss::new(part, message.clone(), "") };
        distinct([part, Part::Content]).into_iter().map(loss).collect()
    }
}

/// The values that the chat template prints on sides of conditions that no conversation takes, and that none has.
pub(super) fn unsent(proof: &Proof<'_>, coverage: &Coverage) -> Vec<Unsent> {
    let source = proof.plain.template().source();
    let parts = branches(source).parts;
    let is_untaken =
        |after: &[(Range<usize>, bool)]| !after.iter().any(|(span, outcome)| coverage.took(span, *outcome));
    let untaken: Vec<_> = parts.iter().filter(|part| is_untaken(&part.after)).collect();
    let is_unseen = |span: &Range<usize>| {
        let mut around = untaken.iter().filter(|part| part.span.contains(&span.start)).peekable();
        around.peek().is_some() && around.all(|part| !part.is_fixed)
    };
    if untaken.is_empty() {
        return Vec::new();
    }
    let keys = keys(proof);
    let values = MessageValues::new(source);
    let mut found: Vec<Unsent> = Vec::new();
    for value in values.printed() {
        if !is_unseen(&value.span)
            || value.paths.iter().any(|path| is_known(path, &keys))
            || values.is_of_other_role(value.at)
        {
            continue;
        }
        let line = line_column(source, value.span.start).0;
        let text = source.get(value.span).unwrap_or_default().to_owned();
        let has = |is: fn(&str) -> bool| value.paths.iter().flatten().any(|key| is(key));
        match found.iter_mut().find(|known| known.line == line) {
            Some(known) => {
                push_new(&mut known.values, text);
            }
            None => found.push(Unsent {
                line,
                values: vec![text],
                is_of_calls: has(|key| key == CALLS),
                is_reasoning: has(mentions_reasoning),
            }),
        }
    }
    found
}

/// Whether a value is in the usual messages, though perhaps at another place below the same key.
fn is_known(path: &Path, keys: &Keys) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let Some(below) = keys.get(first) else { return false };
    let rest = match below.contains(ARGUMENTS) {
        true => rest.split(|key| key == ARGUMENTS).next().unwrap_or_default(),
        false => rest,
    };
    rest.iter().all(|key| below.contains(key))
}

/// The keys of messages with all parts, in the usual request shapes, those that were tried for reasoning, and those of
/// tools, which some templates read from a message.
fn keys(proof: &Proof<'_>) -> Keys {
    let mut keys = Keys::new();
    let call = conversations::plain_call();
    let said = Answer::calls(vec![call.clone()]).with_content("Let me look.");
    let answer = said.with_reasoning(conversations::PLAIN_THOUGHT);
    let result = Message::Tool { id: call.id, name: call.name, content: String::new() };
    let messages = [Message::Assistant(answer), result];
    for content_parts in [false, true] {
        let shape = RequestShape { content_parts, ..RequestShape::USUAL };
        let context = proof.plain.context(shape, &messages, &Setting::new(), false);
        let sent = context.get("messages").and_then(Value::as_list).unwrap_or_default();
        for (key, value) in sent.iter().filter_map(Value::as_object).flatten() {
            add_keys(value, keys.entry(key.to_owned()).or_default());
        }
    }
    if let Some(tools) = proof.offering.offered() {
        add_keys(tools, keys.entry(TOOLS.to_owned()).or_default());
    }
    let usage = &proof.request.usage;
    for input in usage.reasoning_inputs.iter().chain(&usage.attributes) {
        if let ReasoningInput::Key(key) = input {
            keys.entry(key.clone()).or_default();
        }
    }
    keys
}

fn add_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| add_keys(item, keys)),
        Value::Object(entries) => {
            for (key, value) in entries {
                keys.insert(key.to_owned());
                add_keys(value, keys);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::{Options, Status, derive};

    /// The losses of the draft for a template whose turn is this, each with its part, and what it is without.
    fn losses(turn: &str) -> (Vec<String>, String) {
        let source = format!(
            "{{% for m in messages %}}<|{{{{ m.role }}}}|>{turn}<|x|>{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        );
        let derived = derive(&source, &Options::default());
        assert_eq!(derived.status, Status::Proved, "{turn}");
        let losses = derived.verdict.losses.iter().filter(|loss| loss.message.contains("no message of the proof has"));
        let without = derived.summary_lines().into_iter().find(|(label, _)| *label == "without");
        let losses = losses.map(|loss| format!("{}: {}", loss.part.name(), loss.message)).collect();
        (losses, without.map_or_else(String::new, |(_, text)| text))
    }

    const PARTS: &str = "{% for p in ([{'type': 'text', 'text': m.content}] if m.content is string else m.content) %}\
                         {% if p.type == 'text' %}{{ p.text }}{% elif p.type == 'tool_use' %}CALL{% endif %}{% endfor %}";

    const CALLS: &str = "{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL<fn {{ c.function.name }}>\
                         {{ c.function.arguments | tojson }}</fn>{% endfor %}";

    #[test]
    fn values_that_no_conversation_has_are_named_with_their_line() {
        let parts = |call: &str| PARTS.replace("CALL", call);
        let of_call = |other: &str| CALLS.replace("CALL", other);
        for (turn, part, values) in [
            (parts("<fn {{ p.name }}>{{ p.input | tojson }}</fn>"), "calls", "`p.name`, `p.input`"),
            (parts("<fn {{ p.function.name }}>{{ p.function.arguments }}</fn>"), "calls", "`p.function.name`, `p.function.arguments`"),
            (parts("<fn {{ p.name }}>{{ p.arguments }}</fn>"), "calls", "`p.name`, `p.arguments`"),
            (
                "{{ m.content or '' }}{% if m.function_call %}<fn {{ m.function_call.name }}>{{ m.function_call.arguments }}</fn>{% endif %}".to_owned(),
                "calls",
                "`m.function_call.name`, `m.function_call.arguments`",
            ),
            (of_call("{% if c.type == 'custom' %}<raw {{ c.custom.name }}>{{ c.custom.input }}</raw>{% endif %}"), "calls", "`c.custom.name`, `c.custom.input`"),
            (
                format!("{{% for d in m.reasoning_details or [] %}}{{% if d.type == 'text' %}}<think>{{{{ d.text }}}}</think>{{% endif %}}{{% endfor %}}{}", of_call("")),
                "reasoning",
                "`d.text`",
            ),
        ] {
            let (found, without) = losses(&turn);
            let message = format!("line 1 writes {values}, which no message of the proof has");
            assert_eq!(found, [format!("content: {message}"), format!("{part}: {message}")], "{turn}");
            assert!(without.ends_with(": no conversation of the proof has them"), "{turn}: {without}");
        }
    }

    #[test]
    fn sides_that_print_nothing_of_an_answer_are_not_named() {
        for call in ["{{ raise_exception('no ' ~ p.name) }}", "<image>", "", "{{ p.text }}"] {
            let (found, without) = losses(&PARTS.replace("CALL", call));
            assert_eq!(found, [""; 0], "{call}");
            assert_eq!(without, "reasoning, calls: the chat template never writes them", "{call}");
        }
        for turn in [
            "{% if m.role == 'tool' %}{% if m.error %}{{ m.error.text }}{% endif %}{% endif %}{{ m.content }}",
            "{{ m.content }}{% for tool in m.tools or [] %}{{ tool.function.name }}{% endfor %}",
        ] {
            assert_eq!(losses(turn).0, [""; 0], "{turn}");
        }
    }

    #[test]
    fn a_key_with_members_is_given_no_text() {
        let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% if m.function_call %}<fn {{ m.function_call.name }}></fn>\
                      {% endif %}<|x|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
        let draft = derive(source, &Options::default()).response_template.unwrap().to_string();
        assert!(!draft.contains("fn"), "{draft}");
    }
}
