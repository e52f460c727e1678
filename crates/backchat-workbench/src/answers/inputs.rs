//! Inputs of commands other than templates: recorded outputs, and the special tokens of a model.

use std::path::PathBuf;

use crate::input::{self, Problem};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{self, Value};
use backchat_derive::derive::Sample;
use backchat_grammar::SpecialToken;

/// The files of a model folder that list special tokens, the one that is read faster first.
const FILES: [&str; 2] = ["tokenizer_config.json", "tokenizer.json"];

/// The recorded outputs in a file: the text of one, or the rows of `--samples`.
///
/// # Errors
///
/// The file cannot be read, or a row of it is not a sample.
pub fn samples(file: &str) -> Result<Vec<Sample>, Problem> {
    let text = input::text(file)?;
    if !text.trim_start().starts_with('{') {
        return Ok(vec![Sample { name: input::name(file).to_owned(), text, ..Sample::default() }]);
    }
    let mut samples = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |message: String| -> Problem {
            let place = Place { line_column: Some((i + 1, 1)), ..Place::file(input::name(file)) };
            let help =
                "a sample is {\"text\": output, \"prefix\"?: prompt, \"message\"?: what it means, \"tools\"?: [...]}";
            Diagnostic::error("bad-sample", message).at(place).help(help).into()
        };
        let row = json::read(line).map_err(|error| wrong(format!("not valid JSON: {}", error.message())))?;
        let text = row.get("text").and_then(Value::as_str).ok_or_else(|| wrong("no `text`".to_owned()))?;
        let name = match row.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
            None => format!("{}:{}", input::name(file), i + 1),
        };
        samples.push(Sample {
            name,
            prefix: row.get("prefix").and_then(Value::as_str).map(str::to_owned),
            text: text.to_owned(),
            message: row.get("message").filter(|message| **message != Value::Null).cloned(),
            tools: row.get("tools").filter(|tools| **tools != Value::Null).cloned(),
        });
    }
    Ok(samples)
}

/// The special tokens next to a model; none if the name is not a model folder or a model in the cache.
///
/// # Errors
///
/// A tokenizer's file cannot be read.
pub fn special_tokens(model: &str) -> Result<Vec<SpecialToken>, Problem> {
    beside(model, special_tokens_of)
}

/// The tokens next to a model that stand for a whole text, special or not, with their ids.
///
/// # Errors
///
/// A tokenizer's file cannot be read.
pub fn token_ids(model: &str) -> Result<Vec<(String, u32)>, Problem> {
    beside(model, token_ids_of)
}

/// What the first tokenizer's file of a model lists.
fn beside<T>(model: &str, list: impl Fn(&Value) -> Vec<T>) -> Result<Vec<T>, Problem> {
    let folder = input::place(model).map(PathBuf::from).ok().filter(|folder| folder.is_dir());
    let files = folder.iter().flat_map(|folder| FILES.map(|name| folder.join(name)));
    for file in files.filter(|file| file.is_file()) {
        let tokens = list(&input::json(&file.display().to_string())?);
        if !tokens.is_empty() {
            return Ok(tokens);
        }
    }
    Ok(Vec::new())
}

/// Those of a `tokenizer_config.json` (`added_tokens_decoder`) or a `tokenizer.json` (`added_tokens`). A token that is
/// added and not special is found in its characters, like any other.
pub fn special_tokens_of(file: &Value) -> Vec<SpecialToken> {
    let special = added_tokens(file).into_iter().filter(|added| added.is_special);
    special.map(|added| SpecialToken::new(added.text, added.id)).collect()
}

/// All added tokens of a tokenizer's file, with their ids.
pub fn token_ids_of(file: &Value) -> Vec<(String, u32)> {
    added_tokens(file).into_iter().filter_map(|added| Some((added.text.to_owned(), added.id?))).collect()
}

/// A token that a tokenizer's file adds to the vocabulary.
struct AddedToken<'f> {
    text: &'f str,
    id: Option<u32>,
    is_special: bool,
}

fn added_tokens(file: &Value) -> Vec<AddedToken<'_>> {
    if let Some(decoder) = file.get("added_tokens_decoder").and_then(Value::as_object) {
        return decoder.iter().filter_map(|(id, entry)| added(id.parse().ok(), entry)).collect();
    }
    let entries = file.get("added_tokens").and_then(Value::as_list).unwrap_or(&[]);
    let id = |entry: &Value| entry.get("id").and_then(Value::as_i64).and_then(|id| u32::try_from(id).ok());
    entries.iter().filter_map(|entry| added(id(entry), entry)).collect()
}

fn added(id: Option<u32>, entry: &Value) -> Option<AddedToken<'_>> {
    let text = entry.get("content").and_then(Value::as_str).filter(|text| !text.is_empty())?;
    Some(AddedToken { text, id, is_special: entry.get("special").and_then(Value::as_bool) == Some(true) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_read_from_a_tokenizer() {
        let config = r#"{"added_tokens_decoder": {"7": {"content": "<|a|>", "special": true}, "8": {"content": "<b>", "special": false}}}"#;
        let tokenizer = r#"{"added_tokens": [{"id": 7, "content": "<|a|>", "special": true}, {"id": 8, "content": "<b>", "special": false}]}"#;
        for text in [config, tokenizer] {
            let tokens = special_tokens_of(&backchat_core::json::read(text).unwrap_or_default());
            assert_eq!(tokens, [SpecialToken::new("<|a|>", Some(7))], "{text}");
            let ids = token_ids_of(&backchat_core::json::read(text).unwrap_or_default());
            assert_eq!(ids, [("<|a|>".to_owned(), 7), ("<b>".to_owned(), 8)], "{text}");
        }
    }
}
