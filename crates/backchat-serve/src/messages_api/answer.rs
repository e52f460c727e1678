//! An answer of the Messages API: its blocks, and the events in which a stream builds them.

use crate::api_error::ApiError;
use crate::call_ids::CallIds;
use crate::custom::CustomTools;
use crate::identifier::identifier;
use crate::parts::{Call, Part, Parts};
use crate::reply::Usage;
use crate::writer::{Events, Finish, Writer};
use backchat_core::json::{self, Object, Value};
use backchat_parser::deltas::Delta;

/// The signature of thinking, without which some clients do not send it back. Nothing is signed here.
const SIGNATURE: &str = "unsigned";

/// A message that is being written.
#[derive(Debug)]
pub struct Message {
    id: String,
    model: String,
    parts: Parts,
    finish: Option<Finish>,
    events: Events,
}

impl Message {
    pub fn new(model: &str, streams: bool, ids: CallIds) -> Self {
        let mut message = Self {
            id: identifier("msg_"),
            model: model.to_owned(),
            parts: Parts::new(ids, CustomTools::default()),
            finish: None,
            events: Events::new(streams),
        };
        // The engine has not counted yet: the event before the last has the counts.
        let body = message.body(Some(Usage::default()));
        message.events.add("message_start", &[("message", body)]);
        message.events.add("ping", &[]);
        message
    }

    /// The number of the last block.
    fn last(&self) -> (&'static str, Value) {
        ("index", self.parts.list().len().saturating_sub(1).into())
    }

    fn open(&mut self) {
        let Some(part) = self.parts.list().last() else { return };
        let block = block(part, Stage::Begun);
        self.events.add("content_block_start", &[self.last(), ("content_block", block)]);
    }

    fn close(&mut self) {
        match self.parts.list().last() {
            None => return,
            Some(Part::Reasoning(_)) => self.grow("signature_delta", "signature", SIGNATURE),
            Some(_) => {}
        }
        self.events.add("content_block_stop", &[self.last()]);
    }

    fn grow(&mut self, kind: &str, name: &str, text: &str) {
        let delta = Value::from([("type", kind.into()), (name, text.into())]);
        self.events.add("content_block_delta", &[self.last(), ("delta", delta)]);
    }

    /// Why the message ended, and the stop text that ended it.
    fn stop(&self) -> [(&'static str, Value); 2] {
        let finish = self.finish.as_ref();
        let stop = finish.and_then(|finish| finish.stop.as_deref());
        let reason = finish.map(|finish| match (finish.reason, stop) {
            ("length", _) => "max_tokens",
            ("content_filter", _) => "refusal",
            ("tool_calls", _) => "tool_use",
            (_, Some(_)) => "stop_sequence",
            (_, None) => "end_turn",
        });
        [("stop_reason", reason.into()), ("stop_sequence", stop.filter(|_| reason == Some("stop_sequence")).into())]
    }

    fn problems(&self) -> Option<(&'static str, Value)> {
        let problems = self.finish.as_ref()?.problems.clone()?;
        Some(("backchat", Value::from([("problems", problems)])))
    }

    /// The message as it stands.
    fn body(&self, usage: Option<Usage>) -> Value {
        let blocks = self.parts.list().iter().map(|part| block(part, Stage::Complete));
        let [reason, stop] = self.stop();
        let members = [
            ("id", self.id.as_str().into()),
            ("type", "message".into()),
            ("role", "assistant".into()),
            ("model", self.model.as_str().into()),
            ("content", Value::List(blocks.collect())),
            reason,
            stop,
            ("usage", counts(usage)),
        ];
        let members = members.into_iter().chain(self.problems());
        Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl Writer for Message {
    fn id(&self) -> &str {
        &self.id
    }

    fn delta(&mut self, _choice: usize, delta: Delta<'_>) {
        if self.parts.begins(delta) {
            self.close();
            self.parts.add(delta);
            self.open();
        } else {
            self.parts.add(delta);
        }
        match delta {
            Delta::Reasoning(text) => self.grow("thinking_delta", "thinking", text),
            Delta::Content(text) => self.grow("text_delta", "text", text),
            Delta::Arguments { text, .. } => self.grow("input_json_delta", "partial_json", text),
            Delta::Call { .. } => {}
        }
    }

    fn finish(&mut self, _choice: usize, finish: Finish) {
        self.close();
        self.finish = Some(finish);
    }

    fn end(&mut self, usage: Option<Usage>) {
        let members = [("delta", Value::from(self.stop())), ("usage", counts(usage))];
        let members: Vec<_> = members.into_iter().chain(self.problems()).collect();
        self.events.add("message_delta", &members);
        self.events.add("message_stop", &[]);
    }

    fn fail(&mut self, error: &ApiError) {
        self.events.add("error", &[("error", error_of(error))]);
    }

    fn unsent(&mut self) -> &mut String {
        &mut self.events.unsent
    }

    fn whole(&mut self, usage: Option<Usage>) -> Value {
        self.body(usage)
    }
}

/// How far a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begun,
    Complete,
}

fn block(part: &Part, stage: Stage) -> Value {
    let written = |text: &str| Value::from(if stage == Stage::Begun { "" } else { text });
    match part {
        Part::Reasoning(text) => {
            Value::from([("type", "thinking".into()), ("thinking", written(text)), ("signature", written(SIGNATURE))])
        }
        Part::Content(text) => Value::from([("type", "text".into()), ("text", written(text))]),
        Part::Call(Call { id, name, arguments, .. }) => Value::from([
            ("type", "tool_use".into()),
            ("id", id.as_str().into()),
            ("name", name.as_str().into()),
            ("input", if stage == Stage::Begun { Value::Object(Object::new()) } else { input(arguments) }),
        ]),
    }
}

/// The tokens under this API's names, which has no null for what was not counted.
fn counts(usage: Option<Usage>) -> Value {
    let usage = usage.unwrap_or_default();
    Value::from([("input_tokens", usage.prompt.into()), ("output_tokens", usage.completion.into())])
}

/// The value of arguments; of those that were cut off, the members that are whole.
fn input(arguments: &str) -> Value {
    let read = json::read(arguments).or_else(|_| json::read(&closed(arguments)));
    read.unwrap_or_else(|_| Value::Object(Object::new()))
}

/// The longest beginning of a JSON object whose values are whole, with its brackets closed.
fn closed(text: &str) -> String {
    // What closes the brackets that are open, both here and where the last whole value ends.
    let mut open = Vec::new();
    let (mut end, mut is_string, mut is_escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_string,
            '"' => is_string = !is_string,
            _ if is_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            ',' => end = at,
            _ => {}
        }
        if !is_string && matches!(c, '{' | '[' | '}' | ']') {
            end = at + 1;
        }
    }
    text.get(..end).unwrap_or_default().chars().chain(open.into_iter().rev()).collect()
}

/// An error in this API's form.
pub fn error_of(error: &ApiError) -> Value {
    let kind = match error.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        503 => "overloaded_error",
        504 => "timeout_error",
        _ => "api_error",
    };
    Value::from([("type", kind.into()), ("message", error.message.as_str().into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_were_cut_off_keep_what_is_whole() {
        for (arguments, expected) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("", "{}"),
            ("{", "{}"),
            (r#"{"a": 1"#, "{}"),
            (r#"{"a": 1, "#, r#"{"a": 1}"#),
            (r#"{"a": "x, y}", "b": "z"#, r#"{"a": "x, y}"}"#),
            (r#"{"a": "\"", "b": [1, {"c": 2}, 3"#, r#"{"a": "\"", "b": [1, {"c": 2}]}"#),
            (r#"{"a": {"b"#, r#"{"a": {}}"#),
            ("]]}", "{}"),
        ] {
            assert_eq!(input(arguments).to_string(), expected, "{arguments}");
        }
    }
}
