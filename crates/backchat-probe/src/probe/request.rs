//! Converts a conversation to the template's `messages`.

use super::conversation::{Answer, Call, Changes, Message, PART_BREAK, ReasoningInput};
use super::needle;
use super::request_shape::{Absent, RequestShape};
use backchat_core::json::{Object, Value};

impl RequestShape {
    /// The messages as the template's `messages` variable.
    pub fn messages(&self, messages: &[Message], reasoning_input: Option<&ReasoningInput>) -> Value {
        let begins_with_system = matches!(messages.first(), Some(Message::System(_)));
        let system = (self.system && !begins_with_system).then(|| Message::System(needle::SYSTEM.to_owned()));
        let all = system.iter().chain(messages);
        Value::List(all.map(|message| self.message(message, reasoning_input)).collect())
    }

    /// An id as this request passes it.
    pub fn id(&self, id: &str) -> String {
        if self.long_ids { format!("{id}{}", needle::LONGER_ID) } else { id.to_owned() }
    }

    /// A render with the original ids instead of the longer ones.
    pub fn with_own_ids(&self, text: String) -> String {
        if self.long_ids { text.replace(needle::LONGER_ID, "") } else { text }
    }

    pub fn message(&self, message: &Message, reasoning_input: Option<&ReasoningInput>) -> Value {
        match message {
            Message::System(text) => Value::from([("role", "system".into()), ("content", self.content(text))]),
            Message::User(text) => Value::from([("role", "user".into()), ("content", self.content(text))]),
            Message::Tool { id, name, content } => Value::from([
                ("role", "tool".into()),
                ("tool_call_id", self.id(id).into()),
                ("name", name.as_str().into()),
                ("content", self.content(content)),
            ]),
            Message::Assistant(answer) => self.answer(answer, reasoning_input),
            Message::Changed(message, Changes(changes)) => {
                let mut entries = self.message(message, reasoning_input);
                if let Value::Object(entries) = &mut entries {
                    entries.extend(changes.iter().map(|(key, value)| (key.to_owned(), value.clone())));
                }
                entries
            }
        }
    }

    fn content(&self, text: &str) -> Value {
        match text.contains(PART_BREAK) {
            true => text.split_terminator(PART_BREAK).map(text_part).collect::<Vec<_>>().into(),
            false => self.text(text),
        }
    }

    /// A text, in one part if content is given in parts.
    pub fn text(&self, text: &str) -> Value {
        if self.content_parts { Value::List(vec![text_part(text)]) } else { text.into() }
    }

    /// The content of an answer that has none.
    pub fn absent_content(&self) -> Option<Value> {
        match self.absent {
            Absent::Empty => Some("".into()),
            Absent::Null => Some(Value::Null),
            Absent::Missing => None,
        }
    }

    fn answer(&self, answer: &Answer, reasoning_input: Option<&ReasoningInput>) -> Value {
        let mut entries = Object::new();
        entries.insert("role", "assistant".into());
        let reasoning = answer.reasoning.as_deref().zip(reasoning_input);
        if let Some((text, ReasoningInput::Block { kind, key })) = reasoning {
            let mut parts = vec![Value::from([("type", kind.as_str().into()), (key.as_str(), text.into())])];
            parts.extend(answer.content.as_deref().map(text_part));
            entries.insert("content", Value::List(parts));
        } else {
            let content = answer.content.as_ref().map(|text| self.content(text)).or_else(|| self.absent_content());
            entries.extend(content.map(|content| ("content".to_owned(), content)));
        }
        if let Some((text, ReasoningInput::Key(key))) = reasoning {
            entries.insert(key.clone(), text.into());
        }
        if !answer.calls.is_empty() {
            let calls = answer.calls.iter().map(|call| self.call(call)).collect();
            entries.insert("tool_calls", Value::List(calls));
        }
        Value::Object(entries)
    }

    pub(crate) fn call(&self, call: &Call) -> Value {
        let arguments = Value::Object(call.arguments.clone());
        let arguments = if self.arguments_text { arguments.to_string().into() } else { arguments };
        Value::from([
            ("id", self.id(&call.id).into()),
            ("type", "function".into()),
            ("function", Value::from([("name", call.name.as_str().into()), ("arguments", arguments)])),
        ])
    }
}

pub fn role_of(message: &Value) -> Option<&str> {
    message.get("role")?.as_str()
}

/// A message of any role with text content.
pub fn said(role: &str, text: &str) -> Value {
    Value::from([("role", role.into()), ("content", text.into())])
}

pub fn text_part(text: &str) -> Value {
    Value::from([("type", "text".into()), ("text", text.into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: RequestShape = RequestShape::USUAL;
    const PARTS: RequestShape = RequestShape { content_parts: true, ..USUAL };

    fn add() -> Answer {
        let arguments = Object::from_iter([("n".to_owned(), 1.into())]);
        Answer::calls(vec![Call { id: "c1".to_owned(), name: "add".to_owned(), arguments }])
    }

    #[test]
    fn a_request_shape_decides_the_form_of_content_and_calls() {
        let called =
            r#""tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"n": 1}}}]"#;
        let called_as_text = called.replace(r#"{"n": 1}"#, r#""{\"n\": 1}""#);
        let table = [
            (USUAL, Answer::content("Hi"), r#""content": "Hi""#.to_owned()),
            (PARTS, Answer::content("Hi"), r#""content": [{"type": "text", "text": "Hi"}]"#.to_owned()),
            (USUAL, add(), format!(r#""content": "", {called}"#)),
            // Absent content is not a list with an empty part.
            (PARTS, add(), format!(r#""content": "", {called}"#)),
            (RequestShape { absent: Absent::Null, ..USUAL }, add(), format!(r#""content": null, {called}"#)),
            (RequestShape { absent: Absent::Missing, ..USUAL }, add(), called.to_owned()),
            (RequestShape { arguments_text: true, ..USUAL }, add(), format!(r#""content": "", {called_as_text}"#)),
        ];
        for (shape, answer, expected) in table {
            let written = shape.messages(&[Message::Assistant(answer)], None).to_string();
            assert_eq!(written, format!(r#"[{{"role": "assistant", {expected}}}]"#), "{shape:?}");
        }
    }

    #[test]
    fn reasoning_is_passed_only_if_the_template_reads_it() {
        let key = ReasoningInput::Key("thinking".to_owned());
        let block = ReasoningInput::Block { kind: "thought".to_owned(), key: "text".to_owned() };
        let both = || Answer::content("Hi").with_reasoning("Hm");
        let alone = || Answer::default().with_reasoning("Hm");
        let table = [
            (Some(&key), both(), r#""content": "Hi", "thinking": "Hm""#),
            (Some(&key), alone(), r#""content": "", "thinking": "Hm""#),
            (Some(&block), both(), r#""content": [{"type": "thought", "text": "Hm"}, {"type": "text", "text": "Hi"}]"#),
            (Some(&block), alone(), r#""content": [{"type": "thought", "text": "Hm"}]"#),
            (Some(&block), Answer::content("Hi"), r#""content": "Hi""#),
            (None, both(), r#""content": "Hi""#),
        ];
        for (reasoning_input, answer, expected) in table {
            let written = USUAL.messages(&[Message::Assistant(answer)], reasoning_input).to_string();
            assert_eq!(written, format!(r#"[{{"role": "assistant", {expected}}}]"#), "{reasoning_input:?}");
        }
    }

    #[test]
    fn a_text_is_split_at_its_breaks_and_is_otherwise_one_part() {
        let part = |text: &str| format!(r#"{{"type": "text", "text": "{text}"}}"#);
        let table = [
            (USUAL, "Hi", "\"Hi\"".to_owned()),
            (USUAL, "", "\"\"".to_owned()),
            (PARTS, "Hi", format!("[{}]", part("Hi"))),
            (PARTS, "", format!("[{}]", part(""))),
            (USUAL, "H\u{1e}i\u{1e}", format!("[{}, {}]", part("H"), part("i"))),
        ];
        for (shape, text, expected) in table {
            assert_eq!(shape.content(text).to_string(), expected, "{shape:?} {text:?}");
        }
    }

    #[test]
    fn a_result_names_the_call_it_answers() {
        let result = Message::Tool { id: "c1".to_owned(), name: "add".to_owned(), content: "2".to_owned() };
        let expected = r#"[{"role": "tool", "tool_call_id": "c1", "name": "add", "content": "2"}]"#;
        assert_eq!(USUAL.messages(&[result], None).to_string(), expected);
    }
}
