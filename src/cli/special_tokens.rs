//! The special tokens of a model, with their numbers: from its tokenizer's files, or as the command line lists them.

use std::path::{Path, PathBuf};

use super::{Failure, input};
use backchat_chat::source;
use backchat_core::json::Value;
use backchat_grammar::SpecialToken;

/// The files of a model folder that list them, the one that is read faster first.
const FILES: [&str; 2] = ["tokenizer_config.json", "tokenizer.json"];

/// The value of `--special-tokens`: a file, a comma-separated list, or `none`. The default is those of the model
/// folder.
pub fn read(said: Option<&str>, model: &str) -> Result<Vec<SpecialToken>, Failure> {
    match said {
        Some("none") => Ok(Vec::new()),
        Some(file) if Path::new(file).is_file() => Ok(of_tokenizer(&input::json(file)?)),
        Some(list) => {
            let texts = list.split(',').map(str::trim).filter(|text| !text.is_empty());
            Ok(texts.map(|text| SpecialToken::new(text, None)).collect())
        }
        None => of_model(model),
    }
}

fn of_model(model: &str) -> Result<Vec<SpecialToken>, Failure> {
    let path = Path::new(model);
    let folder = match path.is_dir() {
        true => Some(path.to_owned()),
        false if source::is_cached_name(model) && !path.exists() => source::cached_folder(model).ok(),
        false => None,
    };
    let files = folder.iter().flat_map(|folder| FILES.map(|name| folder.join(name)));
    for file in files.filter(|file: &PathBuf| file.is_file()) {
        let tokens = of_tokenizer(&input::json(&file.display().to_string())?);
        if !tokens.is_empty() {
            return Ok(tokens);
        }
    }
    Ok(Vec::new())
}

/// Those of a `tokenizer_config.json` (`added_tokens_decoder`) or a `tokenizer.json` (`added_tokens`). A token that is
/// added and not special is found in its characters, like any other.
fn of_tokenizer(file: &Value) -> Vec<SpecialToken> {
    let token = |id: Option<u32>, entry: &Value| -> Option<SpecialToken> {
        let text = entry.get("content").and_then(Value::as_str).filter(|text| !text.is_empty())?;
        let is_special = entry.get("special").and_then(Value::as_bool) == Some(true);
        is_special.then(|| SpecialToken::new(text, id))
    };
    if let Some(decoder) = file.get("added_tokens_decoder").and_then(Value::as_object) {
        return decoder.iter().filter_map(|(id, entry)| token(id.parse().ok(), entry)).collect();
    }
    let entries = file.get("added_tokens").and_then(Value::as_list).unwrap_or(&[]);
    let id = |entry: &Value| entry.get("id").and_then(Value::as_i64).and_then(|id| u32::try_from(id).ok());
    entries.iter().filter_map(|entry| token(id(entry), entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tokenizer_names_its_special_tokens() {
        let config = r#"{"added_tokens_decoder": {"7": {"content": "<|a|>", "special": true}, "8": {"content": "<b>", "special": false}}}"#;
        let tokenizer = r#"{"added_tokens": [{"id": 7, "content": "<|a|>", "special": true}, {"id": 8, "content": "<b>", "special": false}]}"#;
        for text in [config, tokenizer] {
            let tokens = of_tokenizer(&backchat_core::json::read(text).unwrap_or_default());
            assert_eq!(tokens, [SpecialToken::new("<|a|>", Some(7))], "{text}");
        }
    }
}
