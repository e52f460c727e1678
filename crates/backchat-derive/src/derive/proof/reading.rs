//! Compares a message that was read back with the answer.

use crate::derive::may_be_reasoning;
use crate::derive::recorded::{calls_of, function_of};
use crate::wire::trace::same_entries;
use backchat_core::json::{self, Object, Value};
use backchat_parser::template::Template;
use backchat_probe::probe::{Answer, Call};

/// A part of a message, as verdicts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// The text of the answer.
    Content,
    /// The reasoning.
    Reasoning,
    /// How many calls there are.
    Calls,
    /// The name of a called function.
    Name,
    /// The id of a call.
    Id,
    /// The arguments of a call.
    Arguments,
}

impl Part {
    /// The word of machine-readable verdicts.
    pub fn name(self) -> &'static str {
        match self {
            Part::Content => "content",
            Part::Reasoning => "reasoning",
            Part::Calls => "calls",
            Part::Name => "name",
            Part::Id => "id",
            Part::Arguments => "arguments",
        }
    }

    /// The part of a scope that it belongs to.
    pub(super) fn topic(self) -> &'static str {
        match self {
            Part::Content | Part::Reasoning => self.name(),
            Part::Calls | Part::Name | Part::Id | Part::Arguments => "calls",
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            Part::Content | Part::Reasoning => self.name(),
            Part::Calls => "number of calls",
            Part::Name => "name of a call",
            Part::Id => "id of a call",
            Part::Arguments => "arguments of a call",
        }
    }
}

/// The field of a template for reasoning: the first one that is neither content nor calls.
pub fn reasoning_field(template: &Template) -> Option<&str> {
    template.fields().iter().map(|field| field.name.as_str()).find(|name| may_be_reasoning(name))
}

/// The first part in which a message differs from the answer. Ignores white space around texts, an id that the text does
/// not show, unless it is the name, and reasoning that the prompt wrote.
pub(super) fn difference(expected: &Answer, message: &Object, reasoning: Option<&str>, prompted: &str) -> Option<Part> {
    let text = |key: &str| text_of(message.get(key));
    // An absent text and an empty one are written alike.
    let said = |part: &'_ Option<String>| part.as_deref().map_or_else(String::new, |text| text.trim().to_owned());
    if text("content").trim() != said(&expected.content) {
        return Some(Part::Content);
    }
    let thought = reasoning.map_or_else(String::new, text);
    let is_prompted = expected.reasoning.is_none() && prompted.contains(thought.trim());
    if !is_prompted && thought.trim() != said(&expected.reasoning) {
        return Some(Part::Reasoning);
    }
    let calls = calls_of(message);
    if calls.len() != expected.calls.len() {
        return Some(Part::Calls);
    }
    let mut pairs = calls.iter().zip(&expected.calls);
    let unequal = pairs.clone().find_map(|(got, call)| {
        if name_of(got) != Some(&call.name) {
            return Some(Part::Name);
        }
        let is_same = arguments_of(got).is_some_and(|arguments| same_entries(arguments, &call.arguments));
        (!is_same).then_some(Part::Arguments)
    });
    // A call with another id is otherwise right, and so are all others.
    let has_other_id = |(got, call): (&Value, &Call)| {
        let id = got.get("id").and_then(Value::as_str);
        // A name that comes back as an id, too, is not one.
        if call.id.is_empty() { id == Some(&call.name) } else { id != Some(&call.id) }
    };
    unequal.or_else(|| pairs.any(has_other_id).then_some(Part::Id))
}

/// The answer to render a message again; `None` if the message has less structure than expected. Additional arguments
/// are more structure. A missing null is not less structure, nor is the only text of an answer in another channel.
pub(super) fn answer_of(expected: &Answer, message: &Object, reasoning: Option<&str>) -> Option<Answer> {
    let text = |key: &str| message.get(key).map(|value| text_of(Some(value))).filter(|text| !text.is_empty());
    let thought = reasoning.and_then(text);
    let content = text("content");
    let calls = calls_of(message);
    let has_texts = (thought.is_some(), content.is_some())
        == (expected.reasoning.is_some(), expected.content.is_some())
        || is_moved(expected, content.as_deref(), thought.as_deref());
    let mut read = Vec::new();
    for (got, call) in calls.iter().zip(&expected.calls) {
        let arguments = arguments_of(got)?;
        if !call.arguments.iter().all(|(key, value)| arguments.contains_key(key) || *value == Value::Null) {
            return None;
        }
        let id = got.get("id").and_then(Value::as_str).map_or_else(String::new, str::to_owned);
        read.push(Call { id, name: name_of(got)?.to_owned(), arguments: arguments.clone() });
    }
    (has_texts && calls.len() == expected.calls.len()).then_some(Answer { content, reasoning: thought, calls: read })
}

/// Whether the only text of an answer, its content, came back as reasoning.
pub(super) fn is_moved(expected: &Answer, content: Option<&str>, thought: Option<&str>) -> bool {
    let said = expected.content.as_deref().filter(|_| expected.reasoning.is_none());
    content.is_none() && said.is_some() && said.map(str::trim) == thought.map(str::trim)
}

pub(super) fn name_of(call: &Value) -> Option<&str> {
    function_of(call).get("name").and_then(Value::as_str)
}

pub(super) fn arguments_of(call: &Value) -> Option<&Object> {
    function_of(call).get("arguments").and_then(Value::as_object)
}

/// The message with arguments decoded that are the JSON text of an object, or an empty text, and these texts; `None` if
/// there are none.
pub(super) fn with_decoded_arguments(message: &Object) -> Option<(Object, Vec<String>)> {
    let mut decoded = message.clone();
    let mut texts = Vec::new();
    if let Some(Value::List(calls)) = decoded.get_mut("tool_calls") {
        for call in calls {
            let Value::Object(call) = call else { continue };
            let Some(Value::Object(function)) = call.get_mut("function") else { continue };
            let Some(arguments) = function.get_mut("arguments") else { continue };
            if let Some(text) = arguments.as_str().map(str::to_owned)
                && let Ok(object @ Value::Object(_)) = json::read(if text.is_empty() { "{}" } else { &text })
            {
                *arguments = object;
                texts.push(text);
            }
        }
    }
    (!texts.is_empty()).then_some((decoded, texts))
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The first argument that came back as another value, with the expected and the actual value.
pub(super) fn changed_argument<'m>(
    expected: &'m Answer,
    message: &'m Object,
) -> Option<(&'m str, &'m Value, &'m Value)> {
    calls_of(message).iter().zip(&expected.calls).find_map(|(got, call)| {
        let arguments = arguments_of(got)?;
        call.arguments.iter().find_map(|(key, wanted)| {
            let got = arguments.get(key)?;
            (got != wanted).then_some((key, wanted, got))
        })
    })
}

/// The message with this answer.
pub(in crate::derive) fn message_of(answer: &Answer, reasoning: Option<&str>) -> Value {
    let mut message = Object::new();
    message.insert("role", "assistant".into());
    if let Some(thought) = &answer.reasoning {
        message.insert(reasoning.unwrap_or("reasoning_content"), thought.as_str().into());
    }
    if let Some(content) = &answer.content {
        message.insert("content", content.as_str().into());
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            let mut entries = Object::from([("type".to_owned(), "function".into())]);
            if !call.id.is_empty() {
                entries.insert("id", call.id.as_str().into());
            }
            let arguments = Value::Object(call.arguments.clone());
            let function = Value::from([("name", call.name.as_str().into()), ("arguments", arguments)]);
            entries.insert("function", function);
            Value::Object(entries)
        });
        message.insert("tool_calls", Value::List(calls.collect()));
    }
    Value::Object(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{call, calls_answer, object, template};

    fn differs(expected: &Answer, message: &str) -> Option<Part> {
        difference(expected, &object(message), Some("thinking"), "the prompt says <think>so</think>")
    }

    fn one_call(id: &str, name: &str, arguments: &str) -> String {
        format!(r#"{{"tool_calls": [{{"id": "{id}", "function": {{"name": "{name}", "arguments": {arguments}}}}}]}}"#)
    }

    #[test]
    fn the_first_part_that_differs_is_returned() {
        let both = Answer::content("Yes.").with_reasoning("Hm.");
        let called = calls_answer(&[("f", r#"{"a": 1, "b": 2}"#)]);
        let mut with_id = called.clone();
        with_id.calls[0].id = "c1".to_owned();
        let table = [
            (&both, r#"{"content": "Yes.", "thinking": "Hm."}"#.to_owned(), None),
            // Outer white space is not part of a text.
            (&both, r#"{"content": "\nYes. ", "thinking": "Hm.\n"}"#.to_owned(), None),
            (&both, r#"{"content": "Yes", "thinking": ""}"#.to_owned(), Some(Part::Content)),
            (&both, r#"{"content": "Yes."}"#.to_owned(), Some(Part::Reasoning)),
            (&called, one_call("", "f", r#"{"b": 2, "a": 1}"#), None),
            (&called, "{}".to_owned(), Some(Part::Calls)),
            (&called, one_call("", "g", "{}"), Some(Part::Name)),
            (&called, one_call("", "f", r#"{"a": "1", "b": 2}"#), Some(Part::Arguments)),
            (&called, one_call("", "f", r#"{"a": 1}"#), Some(Part::Arguments)),
            // An id that the text does not show is not required.
            (&called, one_call("c2", "f", r#"{"a": 1, "b": 2}"#), None),
            (&called, one_call("f", "f", r#"{"a": 1, "b": 2}"#), Some(Part::Id)),
            (&with_id, one_call("c2", "f", r#"{"a": 1, "b": 2}"#), Some(Part::Id)),
        ];
        for (expected, message, part) in table {
            assert_eq!(differs(expected, &message), part, "{message}");
        }
        let plain = Answer::content("Yes.");
        assert_eq!(differs(&plain, r#"{"content": "Yes.", "thinking": "so"}"#), None, "the prompt wrote that thought");
        assert_eq!(differs(&plain, r#"{"content": "Yes.", "thinking": "no"}"#), Some(Part::Reasoning));
    }

    #[test]
    fn a_message_with_missing_parts_is_not_rendered_again() {
        let said = Answer { calls: vec![call("f", r#"{"a": 1}"#)], ..Answer::content("Yes.") };
        let again = |message: &str| answer_of(&said, &object(message), None);
        let call = |arguments: &str| {
            format!(
                r#"{{"content": "Yes!", "tool_calls": [{{"function": {{"name": "g", "arguments": {arguments}}}}}]}}"#
            )
        };
        let answer = again(&call(r#"{"a": "1"}"#)).unwrap();
        assert_eq!((answer.content.as_deref(), answer.calls[0].name.as_str()), (Some("Yes!"), "g"));
        assert_eq!(answer.calls[0].arguments, object(r#"{"a": "1"}"#));
        // An additional argument is not a loss.
        let more = again(&call(r#"{"a": 1, "b": 2}"#)).unwrap();
        assert_eq!(more.calls[0].arguments, object(r#"{"a": 1, "b": 2}"#));
        for less in
            [r#"{"content": "Yes!"}"#.to_owned(), call("{}"), call(r#"{"b": 1}"#), call("\"a\""), "{}".to_owned()]
        {
            assert!(again(&less).is_none(), "{less}");
        }
    }

    #[test]
    fn a_missing_null_and_the_channel_of_the_only_text_are_not_structure() {
        let nulled = calls_answer(&[("f", r#"{"a": 1, "b": null}"#)]);
        let again = |said: &Answer, message: &str| answer_of(said, &object(message), Some("thinking"));
        assert!(again(&nulled, &one_call("", "f", r#"{"a": 1}"#)).is_some());
        assert!(again(&nulled, &one_call("", "f", r#"{"b": null}"#)).is_none(), "another value is missing");
        let plain = Answer::content("Yes.");
        let moved = again(&plain, r#"{"thinking": "Yes."}"#).unwrap();
        assert_eq!((moved.content, moved.reasoning.as_deref()), (None, Some("Yes.")));
        assert!(again(&plain, r#"{"thinking": "No."}"#).is_none());
        // Reasoning that came back as content is never a loss.
        let thought = Answer::default().with_reasoning("Hm.");
        assert!(again(&thought, r#"{"content": "Hm."}"#).is_none());
    }

    #[test]
    fn arguments_that_are_json_text_are_decoded_once() {
        let of = |arguments: &str| with_decoded_arguments(&object(&one_call("", "f", arguments)));
        let (message, texts) = of(r#""{\"a\": \"{}\"}""#).unwrap();
        assert_eq!(message, object(&one_call("", "f", r#"{"a": "{}"}"#)));
        assert_eq!(texts, [r#"{"a": "{}"}"#]);
        // No text is that of no arguments.
        assert_eq!(of("\"\""), Some((object(&one_call("", "f", "{}")), vec![String::new()])));
        for other in [r#"{"a": 1}"#, r#""[1]""#, r#""a""#, "null"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn the_argument_that_changed_is_found_with_both_values() {
        let said = calls_answer(&[("f", r#"{"a": 1, "b": 2}"#)]);
        let message = object(&one_call("", "f", r#"{"a": 1, "b": "2"}"#));
        let (key, wanted, got) = changed_argument(&said, &message).unwrap();
        assert_eq!((key, wanted.to_string(), got.to_string()), ("b", "2".to_owned(), "\"2\"".to_owned()));
        assert!(changed_argument(&said, &object(&one_call("", "f", r#"{"a": 1, "b": 2}"#))).is_none());
    }

    #[test]
    fn an_answer_is_written_as_a_message() {
        let mut said = Answer { calls: vec![call("f", "{}")], ..Answer::content("Yes.").with_reasoning("Hm.") };
        said.calls[0].id = "c1".to_owned();
        let call = r#"{"type": "function", "id": "c1", "function": {"name": "f", "arguments": {}}}"#;
        let message = message_of(&said, Some("thoughts"));
        let wanted =
            format!(r#"{{"role": "assistant", "thoughts": "Hm.", "content": "Yes.", "tool_calls": [{call}]}}"#);
        assert_eq!(message.to_string(), wanted);
        assert_eq!(message_of(&Answer::default(), None).to_string(), r#"{"role": "assistant"}"#);
        assert!(message.as_object().is_some_and(|message| difference(&said, message, Some("thoughts"), "").is_none()));
    }

    #[test]
    fn reasoning_is_the_text_that_is_not_content() {
        let of = |fields: &str| {
            let template = template(&format!(r#"{{"start_anchor": "<b>", "fields": {{{fields}}}}}"#));
            reasoning_field(&template).map(str::to_owned)
        };
        assert_eq!(of(r#""content": {}"#), None);
        assert_eq!(of(r#""content": {}, "thoughts": {"open": "<t>", "close": "</t>"}"#).as_deref(), Some("thoughts"));
    }
}
