//! The common parts of rows about chat templates: the template, the variables, the answer.

use std::sync::Arc;

use super::cache::Cache;
use super::{Failure, Global, rows};
use backchat_chat::{ChatTemplate, source};
use backchat_core::json::{self, Object, Value};

type Compiled = Result<Arc<ChatTemplate>, String>;

/// How many compiled templates are kept: the rows of a log may hold a text each.
const MOST: usize = 256;

/// Compiled templates.
#[derive(Default)]
pub(super) struct Templates(Cache<TemplateKey, Compiled, MOST>);

/// What a compiled template was made from.
#[derive(PartialEq, Eq, Hash)]
enum TemplateKey {
    Text(String),
    /// A source, and whether its template for tools was selected.
    Source(String, bool),
}

impl Templates {
    /// The template that a row holds or names, else that of the command line; of several in one source, the one called
    /// `name`, or the one `for_tools`.
    pub fn of_row(&self, row: &Object, otherwise: Option<&str>, name: Option<&str>, for_tools: bool) -> Compiled {
        if let Some(text) = text(row, "chat_template")? {
            return self.0.get(TemplateKey::Text(text.to_owned()), || compile(text));
        }
        let place = file(row, "template")?.or(otherwise);
        let place =
            place.ok_or("the row has neither `chat_template` nor `template`, and neither has the command line")?;
        self.named(place, name, for_tools)
    }

    /// The template of a source; of several, the one called `name`, or the one `for_tools`.
    pub fn named(&self, place: &str, name: Option<&str>, for_tools: bool) -> Compiled {
        self.0.get(TemplateKey::Source(place.to_owned(), for_tools), || {
            let source = source::open(place, name).map_err(|error| format!("{place}: {error}"))?;
            let source = if for_tools { source.for_tools() } else { source };
            compile(&source.template)
        })
    }
}

fn compile(template: &str) -> Compiled {
    ChatTemplate::compile(template).map(Arc::new).map_err(|error| error.to_string())
}

/// The string under a key of a row, if there is one.
pub(super) fn text<'r>(row: &'r Object, key: &str) -> Result<Option<&'r str>, String> {
    match row.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("`{key}` should be a string, not {}", other.kind())),
    }
}

/// The file name under a key of a row, if there is one. Standard input is refused: the rows may come from it.
pub(super) fn file<'r>(row: &'r Object, key: &str) -> Result<Option<&'r str>, String> {
    match text(row, key)? {
        Some("-") => Err(format!("`{key}` is `-`; a row cannot read a file from standard input")),
        name => Ok(name),
    }
}

/// The special tokens of a row.
pub(super) fn special_tokens(row: &Object) -> Result<Object, String> {
    let mut tokens = Object::new();
    for name in ["bos_token", "eos_token"] {
        if let Some(token) = text(row, name)? {
            tokens.insert(name, token.into());
        }
    }
    Ok(tokens)
}

/// The variables of a row: its special tokens, its `set`, and what the command line sets.
pub(super) fn variables(row: &Object, set: &[(String, Value)]) -> Result<Object, String> {
    let mut variables = special_tokens(row)?;
    match row.get("set") {
        None | Some(Value::Null) => {}
        Some(Value::Object(given)) => variables.extend(given.clone()),
        Some(other) => return Err(format!("`set` should be an object, not {}", other.kind())),
    }
    variables.extend(set.iter().cloned());
    Ok(variables)
}

/// Answers the rows of a file by `work`, and reports how many failed.
pub(super) fn answer(
    file: &str,
    global: &Global,
    work: impl Fn(&Object) -> Result<Object, String> + Sync,
) -> Result<rows::Tally, Failure> {
    let tally =
        rows::answer(file, global, || |line: rows::Line<'_>, out: &mut String| answer_row(&line.bytes, out, &work))?;
    if tally.failed > 0 {
        tell!(global, "note: {} of {} rows failed", tally.failed, tally.rows);
    }
    Ok(tally)
}

/// Appends the answer to a row: its `id`, and the result or error of `work`.
fn answer_row(line: &[u8], out: &mut String, work: impl FnOnce(&Object) -> Result<Object, String>) -> rows::RowState {
    let mut answer = Object::from_iter([("id".to_owned(), Value::Null)]);
    let done = read(line).and_then(|row| {
        answer.insert("id", row.get("id").cloned().unwrap_or_default());
        work(&row)
    });
    let outcome = match done {
        Ok(entries) => {
            let failed = entries.contains_key("error");
            answer.extend(entries);
            if failed { rows::RowState::Failed } else { rows::RowState::Answered }
        }
        Err(message) => {
            answer.insert("error", message.into());
            rows::RowState::Failed
        }
    };
    Value::Object(answer).write_to(out);
    out.push('\n');
    outcome
}

/// The object of a row.
pub(super) fn read(line: &[u8]) -> Result<Object, String> {
    let text =
        std::str::from_utf8(line).map_err(|error| format!("the row is not UTF-8: byte {}", error.valid_up_to()))?;
    match json::read(text) {
        Ok(Value::Object(row)) => Ok(row),
        Ok(other) => Err(format!("a row should be an object, not {}", other.kind())),
        Err(error) => Err(format!("the row is not valid JSON: {error}")),
    }
}
