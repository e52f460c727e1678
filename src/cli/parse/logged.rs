//! Rows as servers and engines log them, made into rows with `text`: OpenAI's responses, also as their batches hold
//! them, and the outputs of vLLM.

use super::row_error::RowError;
use backchat_core::json::{self, Object, Value};

/// The keys that lead to the output in a row, such as `response.body.text`; a number is a place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextKey(Vec<String>);

impl std::str::FromStr for TextKey {
    type Err = String;

    fn from_str(keys: &str) -> Result<Self, String> {
        let steps: Vec<_> = keys.split('.').map(str::to_owned).collect();
        match steps.iter().any(String::is_empty) {
            true => Err("write the keys with a dot between two, such as `response.text`".to_owned()),
            false => Ok(Self(steps)),
        }
    }
}

impl TextKey {
    fn find<'r>(&self, row: &'r Object) -> Option<&'r Value> {
        let (first, rest) = self.0.split_first()?;
        rest.iter().try_fold(row.get(first)?, |value, step| match value {
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            value => value.get(step),
        })
    }
}

/// Gives a row the keys that a row of outputs has: `text`, and where the log has them, `prefix`, `model` and
/// `finish_reason`. The row's own keys stay as they are.
pub(super) fn complete(row: &mut Object, key: Option<&TextKey>) -> Result<(), RowError> {
    if let Some(key) = key {
        let text = key.find(row).cloned();
        let text = text.ok_or_else(|| RowError::load(format!("the row has no `{}`", key.0.join("."))))?;
        row.insert("text", text);
        return Ok(());
    }
    if row.contains_key("text") {
        return Ok(());
    }
    let Some(logged) = logged(row)? else { return Ok(()) };
    for (name, value) in logged {
        if !row.contains_key(name) {
            row.insert(name, value);
        }
    }
    Ok(())
}

/// A row that was read, as a row of outputs: with its output under `text`, and its template as JSON if it holds one.
pub fn own_row(row: Value, key: Option<&TextKey>) -> Value {
    let Value::Object(mut row) = row else { return row };
    // A row that was read is complete, or can be completed.
    let _ = complete(&mut row, key);
    if let Some(Ok(template)) = row.get("template").and_then(Value::as_str).and_then(carried) {
        row.insert("template", template);
    }
    Value::Object(row)
}

/// The template that a row carries as text; `None` for the name of one.
pub(super) fn carried(text: &str) -> Option<Result<Value, RowError>> {
    let refused = |error: json::Error| RowError::load(format!("`template` is not valid JSON: {}", error.message()));
    text.trim_start().starts_with('{').then(|| json::read(text).map_err(refused))
}

type Entries = Vec<(&'static str, Value)>;

/// What a row of a known log holds; `None` for other rows.
fn logged(row: &Object) -> Result<Option<Entries>, RowError> {
    let body = row.get("response").and_then(|response| response.get("body")).and_then(Value::as_object).unwrap_or(row);
    let (output, prompt) = match (body.get("choices"), body.get("outputs")) {
        (Some(choices), _) => (only(choices, "choices")?, None),
        (None, Some(outputs)) => (only(outputs, "outputs")?, body.get("prompt")),
        (None, None) => return Ok(None),
    };
    let Some(output) = output else { return Ok(None) };
    let text = output.get("text").or_else(|| output.get("message")?.get("content"));
    let entries = [
        ("text", text),
        ("prefix", prompt),
        ("model", body.get("model")),
        ("finish_reason", output.get("finish_reason")),
    ];
    let entries = entries.into_iter().filter_map(|(name, value)| Some((name, value?.clone())));
    Ok(Some(entries.filter(|(_, value)| !value.is_null()).collect()))
}

/// The one output of a row.
fn only<'v>(outputs: &'v Value, key: &str) -> Result<Option<&'v Value>, RowError> {
    match outputs.as_list() {
        Some([output]) => Ok(Some(output)),
        Some([_, _, ..]) => {
            Err(RowError::load(format!("`{key}` holds several outputs, and a row is one: write a row for each")))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(row: &str, key: Option<&str>) -> Result<String, String> {
        let Ok(Value::Object(mut row)) = json::read(row) else { return Err("no row".to_owned()) };
        let key = key.map(|key| key.parse::<TextKey>().unwrap());
        complete(&mut row, key.as_ref()).map_err(|error| error.message)?;
        let keys = ["text", "prefix", "model", "finish_reason"];
        let known = keys.iter().filter_map(|key| Some(((*key).to_owned(), row.get(key)?.clone())));
        Ok(Value::Object(known.collect()).to_string())
    }

    #[test]
    fn rows_as_they_are_logged() {
        let cases = [
            // Backchat's own.
            (r#"{"text": "a", "prefix": "p", "choices": []}"#, None, r#"{"text": "a", "prefix": "p"}"#),
            // A completion, a chat, and a row of a batch.
            (
                r#"{"model": "m", "choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}"#,
                None,
                r#"{"text": "a", "model": "m", "finish_reason": "stop"}"#,
            ),
            (
                r#"{"choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": null}]}"#,
                None,
                r#"{"text": "a"}"#,
            ),
            (
                r#"{"custom_id": "1", "response": {"body": {"model": "m", "choices": [{"message": {"content": "a"}}]}}}"#,
                None,
                r#"{"text": "a", "model": "m"}"#,
            ),
            // vLLM.
            (
                r#"{"prompt": "p", "outputs": [{"text": "a", "token_ids": [1], "finish_reason": "length"}]}"#,
                None,
                r#"{"text": "a", "prefix": "p", "finish_reason": "length"}"#,
            ),
            // By name.
            (r#"{"text": "x", "answer": {"raw": ["b", "a"]}}"#, Some("answer.raw.1"), r#"{"text": "a"}"#),
            (r#"{"other": 1}"#, None, "{}"),
        ];
        for (row, key, expected) in cases {
            assert_eq!(completed(row, key).as_deref(), Ok(expected), "{row}");
        }
        let several = r#"{"choices": [{"text": "a"}, {"text": "b"}]}"#;
        assert!(completed(several, None).unwrap_err().starts_with("`choices` holds several outputs"));
        assert_eq!(completed("{}", Some("a.b")).unwrap_err(), "the row has no `a.b`");
        assert!("a..b".parse::<TextKey>().is_err());
    }
}
