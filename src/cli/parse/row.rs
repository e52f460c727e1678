//! One row of `parse --jsonl`: the request, and the answer.

use super::REASONING;
use super::ids::Ids;
use super::logged::{self, TextKey};
use super::row_error::{RowError, take};
use crate::cli::known_values::named_in_row;
use crate::cli::rows::Line;
use backchat_core::json::{self, Object, Value};
use backchat_parser::parser::{Policies, Reasoning};

/// The keys of an answer, which a row cannot set.
const ANSWER: [&str; 9] =
    ["message", "error", "missing", "malformed", "problems", "notes", "initial_events", "feeds", "final_events"];

/// What to parse of an output, and what to leave in its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowOptions {
    pub reasoning: Reasoning,
    pub tools_off: bool,
    pub recover: Policies,
    pub validate: bool,
}

/// A valid row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The template it carries.
    pub template: Option<Value>,
    /// The prompt, if any, or why it cannot be used. A template that does not load is reported first.
    pub prefix: Result<Option<String>, RowError>,
    /// The model's output, if it is text.
    pub text: String,
    /// The model's output, if it is token ids.
    pub ids: Option<Ids>,
    pub tools: Option<Value>,
    /// The lengths of feeds, in code points or ids.
    pub chunks: Option<Vec<usize>>,
    pub row_options: RowOptions,
    /// Its other keys, which the answer repeats.
    pub others: Object,
}

impl Row {
    /// Reads a row; `defaults` apply to absent keys. The `id` is returned unchanged, even if the row has an error.
    pub fn read(
        Line { number, bytes }: Line<'_>,
        defaults: RowOptions,
        key: Option<&TextKey>,
    ) -> (Value, Result<Self, RowError>) {
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to() + 1;
                return (Value::Null, Err(RowError::load(format!("line {number} is not UTF-8 at its byte {at}"))));
            }
        };
        match json::read(text) {
            Ok(Value::Object(mut entries)) => {
                // A row may be large: its text is held once.
                drop(bytes);
                let id = entries.shift_remove("id").unwrap_or_default();
                (id, logged::complete(&mut entries, key).and_then(|()| Self::from_entries(entries, defaults)))
            }
            Ok(other) => {
                let message = format!("line {number} is {}; a row is an object with `text` in it", other.kind());
                (Value::Null, Err(RowError::load(message)))
            }
            Err(error) => {
                let column = text.get(..error.offset()).map_or(error.offset(), |before| before.chars().count()) + 1;
                let message = format!("line {number}, column {column}: not valid JSON: {}", error.message());
                (Value::Null, Err(RowError::load(message)))
            }
        }
    }

    fn from_entries(mut entries: Object, defaults: RowOptions) -> Result<Self, RowError> {
        let ids = Ids::take(&mut entries)?;
        let text = match entries.shift_remove("text") {
            None if ids.is_some() => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => return Err(RowError::load(format!("`text` must be a string, not {}", other.kind()))),
            None => return Err(RowError::load("the row has no `text`; `--text-key` names another key")),
        };
        let prefix = match entries.shift_remove("prefix") {
            Some(Value::String(prefix)) => Ok(Some(prefix)),
            Some(other) => Err(RowError::new(
                "prefix",
                format!("`prefix` must be a string, not {}; omit it if there is none", other.kind()),
            )),
            None => Ok(None),
        };
        let chunks = take(&mut entries, "chunks", |chunks| match &ids {
            Some(_) => lengths_of(&chunks, "ids"),
            None => lengths(&chunks, &text),
        })?;
        let tools = take(&mut entries, "tools", Ok)?;
        let reasoning = take(&mut entries, "reasoning", |value| named_in_row(REASONING, "reasoning", &value))?;
        let row_options = RowOptions {
            reasoning: reasoning.unwrap_or(defaults.reasoning),
            tools_off: flag(&mut entries, "tools_off")?.unwrap_or(defaults.tools_off),
            validate: flag(&mut entries, "validate")?.unwrap_or(defaults.validate),
            recover: take(&mut entries, "recover", |value| policies(&value))?.unwrap_or(defaults.recover),
        };
        let template = entries.shift_remove("template");
        entries.retain(|key, _| !ANSWER.contains(&key));
        Ok(Self { template, prefix, text, ids, tools, chunks, row_options, others: entries })
    }
}

fn flag(entries: &mut Object, name: &str) -> Result<Option<bool>, RowError> {
    take(entries, name, |value| match value {
        Value::Bool(on) => Ok(on),
        other => Err(format!("`{name}` must be true or false, not {}", other.kind())),
    })
}

/// The policies of a name or a list of names.
fn policies(value: &Value) -> Result<Policies, String> {
    let names = match value {
        Value::List(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    let name = |name: &Value| match name {
        Value::String(name) => Ok(name.clone()),
        other => Err(format!("`recover` must be `all` or a list of policies, not {}", other.kind())),
    };
    let names = names.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    Policies::of_names(names.iter().map(String::as_str)).map_err(|error| format!("`recover`: {error}"))
}

/// The lengths of the feeds, which add up to the text.
fn lengths(chunks: &Value, text: &str) -> Result<Vec<usize>, String> {
    let lengths = lengths_of(chunks, "code points")?;
    let sum = lengths.iter().fold(0_usize, |sum, length| sum.saturating_add(*length));
    let there = text.chars().count();
    if sum != there {
        return Err(format!("`chunks` add up to {sum} code points, and the text has {there}"));
    }
    Ok(lengths)
}

fn lengths_of(chunks: &Value, unit: &str) -> Result<Vec<usize>, String> {
    let length = |value: &Value| match value {
        Value::Number(number) => number.as_i64().and_then(|length| usize::try_from(length).ok()),
        _ => None,
    };
    let lengths = chunks.as_list().and_then(|items| items.iter().map(length).collect::<Option<Vec<_>>>());
    lengths.ok_or_else(|| format!("`chunks` must be a list of lengths in {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (String, Result<Row, RowError>) {
        let (id, row) = Row::read(Line { number: 7, bytes: line.as_bytes().into() }, RowOptions::default(), None);
        (id.to_string(), row)
    }

    #[test]
    fn a_row_is_read_with_its_keys() {
        let (id, row) = read(
            r#"{"id": 1.50, "more": 1, "text": "aé", "prefix": "p", "chunks": [1, 0, 1], "tools": [], "template": null}"#,
        );
        assert_eq!(id, "1.50");
        let row = row.unwrap();
        assert_eq!((row.text.as_str(), row.prefix, row.chunks), ("aé", Ok(Some("p".into())), Some(vec![1, 0, 1])));
        assert_eq!((row.template, row.tools), (Some(Value::Null), Some(Value::List(Vec::new()))));
        let (id, row) = read(r#"{"text": "", "tools": null, "chunks": null}"#);
        assert_eq!(id, "null");
        assert_eq!(
            row.unwrap(),
            Row {
                template: None,
                prefix: Ok(None),
                text: String::new(),
                ids: None,
                tools: None,
                chunks: None,
                row_options: RowOptions::default(),
                others: Object::new()
            }
        );
    }

    #[test]
    fn errors_of_rows() {
        let cases = [
            ("{", "null", "load", "line 7, column 2: not valid JSON: "),
            ("[]", "null", "load", "line 7 is a list; a row is an object with `text` in it"),
            (r#"{"id": 1}"#, "1", "load", "the row has no `text`; `--text-key` names another key"),
            (r#"{"id": 1, "text": 5}"#, "1", "load", "`text` must be a string, not a number"),
            (
                r#"{"text": "", "reasoning": "none"}"#,
                "null",
                "load",
                "`reasoning` must be `kept`, `in-content` or `dropped`, not \"none\"",
            ),
            (r#"{"text": "", "tools_off": 1}"#, "null", "load", "`tools_off` must be true or false, not a number"),
            (r#"{"text": "", "chunks": [1]}"#, "null", "load", "`chunks` add up to 1 code points, and the text has 0"),
            (
                r#"{"text": "a", "chunks": [2, -1]}"#,
                "null",
                "load",
                "`chunks` must be a list of lengths in code points",
            ),
            (r#"{"text": "a", "chunks": 1}"#, "null", "load", "`chunks` must be a list of lengths in code points"),
            (r#"{"text": "a", "chunks": [1.0]}"#, "null", "load", "`chunks` must be a list of lengths in code points"),
        ];
        for (line, id, stage, message) in cases {
            let (got, row) = read(line);
            let error = row.unwrap_err();
            assert_eq!((got.as_str(), error.stage), (id, stage), "{line}");
            assert!(error.message.starts_with(message), "{line}: {}", error.message);
        }
        let (_, row) = read(r#"{"text": "", "prefix": null}"#);
        assert_eq!(row.unwrap().prefix.unwrap_err().stage, "prefix");
        let line = Line { number: 3, bytes: b"{\"text\": \"\xff\"}".into() };
        let (_, row) = Row::read(line, RowOptions::default(), None);
        assert_eq!(row.unwrap_err().message, "line 3 is not UTF-8 at its byte 11");
    }
}
