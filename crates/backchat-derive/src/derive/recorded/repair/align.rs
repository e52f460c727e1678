//! The positions of a message's parts in its text, in any spelling.

use std::ops::Range;

use super::super::compare::{arguments, calls_of, function_of, same};
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_core::text::is_word;
use backchat_probe::probe::{Answer, Call as Called, REASONING_KEYS};

/// The places of a message's parts in a text, in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Alignment {
    pub reasoning: Option<Range<usize>>,
    pub content: Option<Range<usize>>,
    pub calls: Vec<Call>,
    /// What is missing of the first call that is not found, such as one whose arguments come before its name.
    pub missing: Option<String>,
}

/// One call in a text.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: Range<usize>,
    /// How much of the text before and after the name belongs to the id of the call.
    pub around: Option<(usize, usize)>,
    /// The id before the arguments, if it does not contain the name.
    pub id: Option<Range<usize>>,
    pub body: Body,
    /// From the first of its parts to the end of the last.
    pub span: Range<usize>,
}

#[derive(Clone, Debug)]
pub enum Body {
    /// One JSON object with the name and the arguments under these keys.
    Object { name: String, arguments: String, is_adjacent: bool },
    /// The arguments as one JSON object.
    Json(Range<usize>),
    /// Key by key.
    Pairs(Vec<Pair>),
    /// There are none, and no empty object is written for them.
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub key: Range<usize>,
    pub value: Range<usize>,
    pub is_quoted: bool,
}

impl Call {
    /// Where its arguments begin, or the object that they are in.
    fn arguments_start(&self) -> usize {
        match &self.body {
            Body::Object { .. } => self.span.start,
            Body::Nothing => self.name.end,
            Body::Json(arguments) => arguments.start,
            Body::Pairs(pairs) => pairs.first().map_or(self.span.start, |pair| pair.key.start),
        }
    }
}

/// Stands for each byte of an id, so that calls with other ids are written alike.
pub(super) const OF_ID: char = '\u{1}';

impl Alignment {
    /// The text with this character in the place of the ids of calls.
    pub fn with_any_ids(&self, text: &str) -> String {
        let mut made = text.to_owned();
        for id in self.calls.iter().filter_map(|call| call.id.clone()) {
            let any = OF_ID.to_string().repeat(id.len());
            made.replace_range(id, &any);
        }
        made
    }

    /// Whether the message has calls, wherever they are.
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty() || self.missing.is_some()
    }

    /// Whether there are calls, all between these positions. Calls elsewhere are inside reasoning or past the stop: the
    /// text around them does not belong to them.
    pub fn has_calls_within(&self, from: usize, to: usize) -> bool {
        let ends = self.calls.first().zip(self.calls.last());
        ends.is_some_and(|(first, last)| from <= first.span.start && last.span.end <= to)
    }
}

/// Reads the message of a sample. `own` is the draft's name for the reasoning. A missing id is empty.
pub(super) fn read(message: &Object, own: Option<&str>) -> Answer {
    let text = |key: &str| {
        let text = message.get(key).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let reasoning = REASONING_KEYS.into_iter().chain(own).find_map(text);
    let calls = calls_of(message).iter().filter_map(|call| {
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Value::Object(arguments) = arguments(call) else { return None };
        Some(Called { name: function_of(call).get("name")?.as_str()?.to_owned(), arguments, id })
    });
    Answer { reasoning, content: text("content"), calls: calls.collect() }
}

/// Finds every part, or describes the reasoning or content that is missing.
pub(super) fn align(text: &str, said: &Answer) -> Result<Alignment, String> {
    let mut alignment = Alignment::default();
    let mut from = 0;
    if let Some(thought) = &said.reasoning {
        let at = text.find(thought.as_str()).ok_or("the reasoning")?;
        from = at + thought.len();
        alignment.reasoning = Some(at..from);
    }
    if let Some(content) = &said.content {
        let rest = text.get(from..).unwrap_or("");
        let at = if said.calls.is_empty() { rest.rfind(content.as_str()) } else { rest.find(content.as_str()) };
        let at = from + at.ok_or("`content`")?;
        alignment.content = Some(at..at + content.len());
        from = at + content.len();
    }
    for (i, Called { name, arguments, id }) in said.calls.iter().enumerate() {
        let missing = || match word(text, from, name, false).is_some() {
            true => format!("the arguments of call {}", i + 1),
            false => format!("the name of call {}", i + 1),
        };
        let Some(mut call) = call(text, from, name, arguments) else {
            alignment.missing = Some(missing());
            break;
        };
        // An id that contains the name surrounds it.
        call.around = id.split_once(name.as_str()).and_then(|(before, after)| {
            let is_there =
                text.get(..call.name.start)?.ends_with(before) && text.get(call.name.end..)?.starts_with(after);
            is_there.then_some((before.len(), after.len()))
        });
        if call.around.is_none() && !id.is_empty() {
            let before = text.get(from..call.arguments_start()).and_then(|before| before.rfind(id.as_str()));
            call.id = before.map(|at| from + at..from + at + id.len());
        }
        from = call.span.end;
        alignment.calls.push(call);
    }
    Ok(alignment)
}

fn call(text: &str, from: usize, name: &str, arguments: &Object) -> Option<Call> {
    let wanted = Value::Object(arguments.clone());
    let begins = text.get(from..)?.match_indices('{').map(|(at, _)| from + at);
    for at in begins {
        let Some((value, end)) = json::value_at(text, at) else { continue };
        if same(&wanted, &value) {
            let name = word(text.get(..at)?, from, name, true)?;
            return Some(Call { span: name.start..end, name, around: None, id: None, body: Body::Json(at..end) });
        }
        let Some(entries) = value.as_object() else { continue };
        let key_of = |fits: &dyn Fn(&Value) -> bool| entries.iter().position(|(_, value)| fits(value));
        let named = key_of(&|value| value.as_str() == Some(name));
        let given = key_of(&|value| same(&wanted, value) && value.as_object().is_some());
        if let (Some(named), Some(given)) = (named, given) {
            let key = |at: usize| entries.keys().nth(at).map(str::to_owned);
            let body =
                Body::Object { name: key(named)?, arguments: key(given)?, is_adjacent: named == 0 && given == 1 };
            return Some(Call { span: at..end, name: at..at, around: None, id: None, body });
        }
    }
    let name = word(text, from, name, false)?;
    let mut end = name.end;
    let mut pairs = Vec::new();
    for (key, value) in arguments {
        let key = word(text, end, key, false)?;
        let (value, is_quoted) = spelled(text, key.end, value)?;
        end = value.end;
        pairs.push(Pair { key, value, is_quoted });
    }
    let (around, id) = (None, None);
    let body = if pairs.is_empty() { Body::Nothing } else { Body::Pairs(pairs) };
    Some(Call { span: name.start..end, name, around, id, body })
}

/// The first occurrence of a whole word from here on, or the last one.
fn word(text: &str, from: usize, word: &str, last: bool) -> Option<Range<usize>> {
    let is_whole = |at: &usize| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    let mut found = text.get(from..)?.match_indices(word).map(|(at, _)| from + at).filter(is_whole);
    let at = if last { found.last() } else { found.next() }?;
    Some(at..at + word.len())
}

/// The next occurrence of a value in any spelling, and whether it is quoted.
fn spelled(text: &str, from: usize, value: &Value) -> Option<(Range<usize>, bool)> {
    let rest = text.get(from..)?;
    let json = value.to_string();
    let mut spellings =
        vec![(json.clone(), value.as_str().is_some()), (python::json::ascii(&json), value.as_str().is_some())];
    match value {
        Value::String(bare) => {
            let bare = bare.as_str();
            spellings.push((python::repr(bare), true));
            // In single quotes, with the escapes of JSON or of Python.
            let escaped = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(bare);
            spellings.extend([bare, escaped].map(|text| (format!("'{}'", text.replace('\'', "\\'")), true)));
            spellings.push((bare.to_owned(), false));
        }
        other => {
            spellings.push((python::spelling(other), false));
            spellings.push((format!("\"{json}\""), true));
        }
    }
    let found = spellings.into_iter().filter(|(text, _)| !text.is_empty()).filter_map(|(spelling, is_quoted)| {
        let at = from + rest.find(&spelling)?;
        Some((at..at + spelling.len(), is_quoted))
    });
    found.min_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Answer {
        read(json::read(message).unwrap().as_object().unwrap(), None)
    }

    #[test]
    fn values_are_found_in_any_spelling() {
        let message = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"city": "Gent", "n": null}}}]}"#;
        for (text, body) in [
            (r#"<c>{"name": "f", "parameters": {"city": "Gent", "n": null}}</c>"#, "Object"),
            (r#"<c>f({"city": "Gent", "n": null})</c>"#, "Json"),
            ("<c=f><city>Gent</city><n>None</n></c>", "Pairs"),
            ("<c=f><city>'Gent'</city><n>null</n></c>", "Pairs"),
        ] {
            let alignment = align(text, &said(message)).unwrap();
            assert!(format!("{:?}", alignment.calls[0].body).starts_with(body), "{text}: {alignment:?}");
        }
        let empty = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}"#;
        for (text, body) in [("<c=f/>", "Nothing"), ("<c=f>{}</c>", "Json")] {
            let alignment = align(text, &said(empty)).unwrap();
            assert!(format!("{:?}", alignment.calls[0].body).starts_with(body), "{text}: {alignment:?}");
        }
        for (text, missing) in [
            ("<c=f><city>Brugge</city></c>", "the arguments of call 1"),
            ("<c=g><city>Gent</city><n>null</n></c>", "the name of call 1"),
            // A name within another word is none.
            ("<of><city>Brugge</city></of>", "the name of call 1"),
        ] {
            assert_eq!(align(text, &said(message)).unwrap().missing.as_deref(), Some(missing), "{text}");
        }
    }
}
