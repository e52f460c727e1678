//! A conversation with every text replaced by a needle, and the position of each real text in the real render.
//!
//! The needle render has the real one's frame: the template's text around the texts. If both frames agree, the
//! place of every text in the real render is exact, however the template encodes it.

use std::fmt::Write as _;

use super::text::inside;
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use backchat_core::python;
use backchat_probe::probe::REASONING_KEYS;
use backchat_probe::probe::needle::Needles;

/// The part of a message that a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessagePart {
    Content,
    Reasoning,
    /// A name or a value of the call of this index.
    Call(usize),
}

/// A text of the conversation, and the needle that replaces it.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub needle: String,
    pub message: usize,
    pub part: MessagePart,
    pub original: String,
    /// Whether the message is the assistant's.
    pub answers: bool,
}

/// The position of a text in the real render, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub text: usize,
    pub real: (usize, usize),
}

/// Replaces the texts of a conversation, except those in `kept`, which are numbered all the same.
pub(crate) fn substitute(messages: &[Value], needles: &mut Needles, kept: &[usize]) -> (Vec<Value>, Vec<Text>) {
    let mut work = Substitution { needles, kept, texts: Vec::new(), message: 0, answers: false };
    let replaced = messages.iter().enumerate().map(|(index, message)| work.message(index, message)).collect();
    (replaced, work.texts)
}

struct Substitution<'n> {
    needles: &'n mut Needles,
    kept: &'n [usize],
    texts: Vec<Text>,
    message: usize,
    answers: bool,
}

impl Substitution<'_> {
    fn message(&mut self, index: usize, message: &Value) -> Value {
        let Value::Object(entries) = message else { return message.clone() };
        self.message = index;
        self.answers = entries.get("role").and_then(Value::as_str) == Some("assistant");
        let mut replaced = entries.clone();
        if let Some(content) = replaced.get_mut("content") {
            *content = self.content(content);
        }
        if self.answers {
            self.reasoning(&mut replaced);
            if let Some(Value::List(calls)) = replaced.get_mut("tool_calls") {
                for (index, call) in calls.iter_mut().enumerate() {
                    self.call(index, call);
                }
            }
        }
        Value::Object(replaced)
    }

    /// Replaces equal reasoning under several keys by one needle.
    fn reasoning(&mut self, message: &mut Object) {
        let mut known: Vec<(String, Value)> = Vec::new();
        for key in REASONING_KEYS {
            let Some(Value::String(text)) = message.get(key) else { continue };
            let text = text.clone();
            let value = match known.iter().find(|(other, _)| *other == text) {
                Some((_, value)) => value.clone(),
                None => {
                    let value = self.text(&text, MessagePart::Reasoning);
                    known.push((text, value.clone()));
                    value
                }
            };
            message.insert(key, value);
        }
    }

    fn content(&mut self, content: &Value) -> Value {
        match content {
            Value::String(text) => self.text(text, MessagePart::Content),
            Value::List(parts) => Value::List(parts.iter().map(|part| self.part(part)).collect()),
            other => other.clone(),
        }
    }

    fn part(&mut self, part: &Value) -> Value {
        let Value::Object(entries) = part else { return part.clone() };
        let mut replaced = entries.clone();
        let thought = MessagePart::Reasoning;
        for (key, part) in [("text", MessagePart::Content), ("thinking", thought), ("reasoning", thought)] {
            if let Some(Value::String(text)) = replaced.get_mut(key) {
                *text = self.replaced(text, part);
            }
        }
        Value::Object(replaced)
    }

    fn call(&mut self, index: usize, call: &mut Value) {
        let Value::Object(entries) = call else { return };
        let function = match entries.get_mut("function") {
            Some(Value::Object(function)) => function,
            _ => entries,
        };
        let part = MessagePart::Call(index);
        if let Some(Value::String(name)) = function.get_mut("name") {
            *name = self.replaced(name, part);
        }
        match function.get_mut("arguments") {
            Some(Value::String(text)) => *text = self.json_text(text, part),
            Some(value) => *value = self.value(value, part),
            None => {}
        }
    }

    /// Replaces every string inside a value.
    fn value(&mut self, value: &Value, part: MessagePart) -> Value {
        match value {
            Value::String(text) => self.text(text, part),
            Value::List(items) => Value::List(items.iter().map(|item| self.value(item, part)).collect()),
            Value::Object(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key, self.value(value, part))).collect())
            }
            other => other.clone(),
        }
    }

    /// Replaces every string inside JSON text that is not a key, and no other byte.
    fn json_text(&mut self, text: &str, part: MessagePart) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('"') {
            let (before, string) = rest.split_at(open);
            out.push_str(before);
            let Some(length) = string_length(string) else { break };
            let (string, after) = string.split_at(length);
            if after.trim_start().starts_with(':') {
                out.push_str(string);
            } else {
                let _ = write!(out, "\"{}\"", self.replaced(inside(string), part));
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn text(&mut self, text: &str, part: MessagePart) -> Value {
        self.replaced(text, part).into()
    }

    /// The needle of a text. Blank text stays, because templates treat it as absent.
    fn replaced(&mut self, text: &str, part: MessagePart) -> String {
        if text.trim().is_empty() {
            return text.to_owned();
        }
        let needle = self.needles.draw();
        let number = self.texts.len();
        let replaced = if self.kept.contains(&number) { text.to_owned() } else { needle.clone() };
        let (message, answers) = (self.message, self.answers);
        self.texts.push(Text { needle, message, part, original: text.to_owned(), answers });
        replaced
    }
}

/// The length of the JSON string at the start of a text, quotes included.
fn string_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Finds every text in the real render, or returns the first one that it cannot locate.
pub(crate) fn align(
    needle_render: &str,
    real: &str,
    texts: &[Text],
    needles: &Needles,
) -> Result<Vec<Hit>, Option<usize>> {
    let places = needles.find(needle_render);
    let mut hits: Vec<Hit> = Vec::with_capacity(places.len());
    let (mut at_needle, mut at_real) = (0, 0);
    for (index, (number, (start, end))) in places.iter().enumerate() {
        let previous = hits.last().map(|hit: &Hit| hit.text);
        let gap = needle_render.get(at_needle..*start).ok_or(previous)?;
        if !real.get(at_real..).is_some_and(|rest| rest.starts_with(gap)) {
            return Err(previous.or(Some(*number)));
        }
        at_real += gap.len();
        let next = places.get(index + 1).map_or(needle_render.len(), |(_, (start, _))| *start);
        let after = needle_render.get(*end..next).ok_or(previous)?;
        let is_last = index + 1 == places.len();
        let text = texts.get(*number).ok_or(previous)?;
        let rest = real.get(at_real..).ok_or(previous)?;
        let follows = |length: usize| {
            rest.get(length..).is_some_and(|rest| if is_last { rest == after } else { rest.starts_with(after) })
        };
        let length = spellings(&text.original)
            .into_iter()
            .filter(|spelling| rest.starts_with(spelling.as_str()))
            .map(|spelling| spelling.len())
            .find(|length| follows(*length))
            .ok_or(Some(*number))?;
        hits.push(Hit { text: *number, real: (at_real, at_real + length) });
        at_real += length;
        at_needle = *end;
    }
    if hits.is_empty() && needle_render != real {
        return Err(None);
    }
    Ok(hits)
}

/// The ways in which a template may spell a text: unchanged, trimmed, or inside a quoted or escaped string.
fn spellings(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for shape in [text, text.trim(), text.trim_start(), text.trim_end(), text.trim_matches('\n')] {
        let json = inside(&Value::from(shape).to_string()).to_owned();
        let ascii = python::json::ascii(&json);
        let twice = inside(&Value::from(json.as_str()).to_string()).to_owned();
        let markup = shape.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let quoted = shape.replace('\\', "\\\\").replace('\n', "\\n").replace('\'', "\\'");
        let plain = shape.replace('\\', "\\\\").replace('\n', "\\n");
        let unescaped = backchat_core::json::read(&format!("\"{shape}\"")).ok();
        let unescaped = unescaped.as_ref().and_then(Value::as_str).unwrap_or(shape).to_owned();
        for spelling in [shape.to_owned(), json, ascii, twice, markup, quoted, plain, unescaped] {
            push_new(&mut all, spelling);
        }
    }
    all
}
