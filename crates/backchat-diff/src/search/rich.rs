//! Conversations in which one place at a time holds a value that every filter changes: no branch asks for the white space
//! that `trim` removes, the capitals of `lower`, or the order of keys that `dictsort` restores.

use super::edits::{Path, Step, objects, texts, with_value};
use crate::kinds::{Conversation, Dim, Kind, object};
use backchat_core::json::Value;

/// Several lines with runs of spaces and of line breaks of each kind, a tab, capitals, quotes, markup, an address and
/// letters beyond ASCII, of which one has no capital, longer than the lengths to which `wordwrap` and `truncate` cut by default.
const TEXT: &str = "The  city\tof \"Z\u{fc}rich\" isn't in <b>Austria</b> & was 1.50 km away. See https://example.com/a?b=c for \
                    more about it\n\n  and indented, once more\r\nand again: one word after the other, and so on, until \
                    nobody reads it to its end, because it goes on and on, and says nothing gro\u{df}es that it has not said before, \
                    over and over again, Amen.";

/// Whether a value is that text, as other filters left it.
pub(super) fn is_rich(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.to_lowercase().contains("austria"))
}

/// Another place of a conversation, and the conversation with a value that every filter changes there.
pub(super) struct Rich {
    /// The role of its message, or `tools`, and the key: what is shown at a place is not shown again elsewhere.
    pub(super) place: String,
    pub(super) conversation: Conversation,
}

/// The kind whose contents are lists of parts, beside a call as well.
pub(super) fn in_parts() -> Kind {
    let dims = [Dim::UserParts, Dim::SystemParts, Dim::AssistantParts, Dim::ToolParts, Dim::AfterResult, Dim::Tools];
    Kind::of(&dims).closed()
}

/// For each place of a conversation, those with rich values there.
pub(super) fn rich(base: &Conversation) -> Vec<Rich> {
    let mut found = Vec::new();
    for (path, own) in texts(base) {
        let values: Vec<Value> = match path.last() {
            _ if is_fixed(&path) => Vec::new(),
            Some(Step::Key(key)) if key == "name" => vec![name(&path, &own).into()],
            _ => spaced().map(Value::from).into(),
        };
        add(&mut found, base, &path, values);
    }
    let is_arguments = |path: &&Path| matches!(path.last(), Some(Step::Key(key)) if key == "arguments");
    for path in objects(base).iter().filter(is_arguments) {
        add(&mut found, base, path, arguments().into());
    }
    found
}

/// The text in white space: what strips only some of it is seen by what comes first.
fn spaced() -> [String; 4] {
    ["\n\n ", " \n", "\t\r\n", "\r\u{a0}"].map(|space| {
        let after: String = space.chars().rev().collect();
        format!("{space}{TEXT}{after}")
    })
}

/// The conversations with the text in the place of a value, which may be a part of another text; around each text if the
/// values are empty.
pub(super) fn instead(base: &Conversation, values: &[String]) -> Vec<Rich> {
    let values: Vec<&str> = values.iter().map(|value| value.trim()).filter(|value| !value.is_empty()).collect();
    let mut found = Vec::new();
    for (path, own) in texts(base) {
        let is_name =
            |key: &Step| matches!(key, Step::Key(key) if ["name", "id", "tool_call_id"].contains(&key.as_str()));
        if path.last().is_some_and(is_name) {
            continue;
        }
        if values.is_empty() {
            add(&mut found, base, &path, spaced().map(|text| format!("{text}{own}{text}").into()).into());
        }
        for value in values.iter().filter(|value| own.contains(**value)) {
            add(&mut found, base, &path, spaced().map(|text| own.replace(value, &text).into()).into());
        }
    }
    found
}

/// Whether a text is an id, or one of a list that a schema compares with.
fn is_fixed(path: &Path) -> bool {
    let is = |key: &str| matches!(key, "id" | "tool_call_id" | "required" | "arguments");
    path.iter().any(|step| matches!(step, Step::Key(key) if is(key)))
}

/// A name with capitals and signs; that of a message is not that of the call.
fn name(path: &Path, own: &str) -> String {
    let own = if path.len() == 3 { "zqother" } else { own };
    format!("Zq.{own}-X")
}

/// Arguments of texts, and of lists and objects; keys are not in the order of the alphabet.
fn arguments() -> [Value; 2] {
    let inner = object([("zqz", 1.5.into()), ("zqa", Value::List(vec!["Z\u{fc}rich".into(), true.into()]))]);
    [
        object([("Unit", format!(" \n{TEXT}\n ").into()), ("city", "zqc".into())]),
        object([("Unit", Value::List(vec!["Z\u{fc}rich <b>".into(), Value::Null])), ("city", inner)]),
    ]
}

fn add(found: &mut Vec<Rich>, base: &Conversation, path: &Path, values: Vec<Value>) {
    let key = path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let of = match path.get(1) {
        Some(Step::Index(at)) if matches!(path.first(), Some(Step::Key(key)) if key == "messages") => {
            base.messages().get(*at).and_then(|message| message.get("role")).and_then(Value::as_str)
        }
        _ => Some("tools"),
    };
    let place = format!("{} {}", of.unwrap_or_default(), key.unwrap_or_default());
    let made = values.into_iter().filter_map(|value| with_value(base, path, value));
    found.extend(made.map(|conversation| Rich { place: place.clone(), conversation }));
}
