//! Special tokens in the files next to a chat template, for a template that names tokens its own file does not define.

use std::path::Path;

use super::folder::text_of;
use super::{Source, config};
use backchat_core::json::{self, Object, Value};

/// The files with tokens by name.
const NAMED: [&str; 2] = ["tokenizer_config.json", "special_tokens_map.json"];

/// The file with tokens by id.
const BY_ID: &str = "generation_config.json";

/// The file with the text of each id.
const TEXTS: &str = "tokenizer.json";

impl Source {
    /// Adds special tokens that the template names and its own file does not define, from the files next to it:
    /// `tokenizer_config.json`, `special_tokens_map.json`, and the ids of `generation_config.json` with their texts in
    /// `tokenizer.json`. Files that cannot be read, and lists of several ids, are skipped.
    #[must_use]
    pub fn with_tokens_beside(mut self) -> Self {
        // Standard input and GGUF files have no files next to them that belong to them.
        let Some(folder) = Path::new(&self.file).parent().filter(|_| !self.file.starts_with('<')) else { return self };
        let is_wanted =
            |source: &Source, name: &str| !source.special_tokens.contains_key(name) && source.template.contains(name);
        for file in NAMED {
            for (name, token) in object(folder, file).map(|map| config::special_tokens(&map)).unwrap_or_default() {
                if is_wanted(&self, &name) {
                    self.tokens_beside.push((name.clone(), file));
                    self.special_tokens.insert(name, token);
                }
            }
        }
        let ids = object(folder, BY_ID).unwrap_or_default();
        let ids = ids.iter().filter_map(|(key, id)| Some((key.strip_suffix("_id")?, single(id)?)));
        let ids: Vec<_> = ids.filter(|(name, _)| name.ends_with("_token") && is_wanted(&self, name)).collect();
        if !ids.is_empty() {
            let tokenizer = object(folder, TEXTS).unwrap_or_default();
            for (name, id) in ids {
                if let Some(text) = text_of_id(&tokenizer, id) {
                    self.tokens_beside.push((name.to_owned(), BY_ID));
                    self.special_tokens.insert(name, text.into());
                }
            }
        }
        self
    }

    /// The name of the file that a special token came from; `None` if there is no such token.
    pub fn file_of_token(&self, token: &str) -> Option<String> {
        self.special_tokens.get(token)?;
        if let Some((_, file)) = self.tokens_beside.iter().find(|(name, _)| name == token) {
            return Some((*file).to_owned());
        }
        let file = Path::new(&self.file);
        // A template's own file holds no tokens, so they are those of its model.
        let is_plain = file.extension().is_none_or(|end| end == "jinja");
        let name = file.file_name().filter(|_| !is_plain).map(|name| name.to_string_lossy().into_owned());
        Some(name.unwrap_or_else(|| "the model's tokenizer_config.json".to_owned()))
    }

    /// The special tokens that came from files next to the template, each with its file.
    pub fn tokens_beside(&self) -> &[(String, &'static str)] {
        &self.tokens_beside
    }
}

fn object(folder: &Path, file: &str) -> Option<Object> {
    let (_, text) = text_of(&folder.join(file)).ok()??;
    match json::read(&text).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// An id, or the only one of a list.
fn single(id: &Value) -> Option<&Value> {
    match id {
        Value::Number(_) => Some(id),
        Value::List(ids) => ids.first().filter(|_| ids.len() == 1),
        _ => None,
    }
}

fn text_of_id<'v>(tokenizer: &'v Object, id: &Value) -> Option<&'v str> {
    let tokens = tokenizer.get("added_tokens")?.as_list()?;
    tokens.iter().find(|token| token.get("id") == Some(id))?.get("content")?.as_str()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn missing_tokens_come_from_the_files_next_to_the_template_in_order() {
        let folder = std::env::temp_dir().join(format!("backchat_tokens_beside_{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let tokens = |template: &str| {
            let file = folder.join("x.jinja").to_string_lossy().into_owned();
            let source = Source { file, template: template.to_owned(), ..Source::default() }.with_tokens_beside();
            (Value::Object(source.special_tokens.clone()).to_string(), source.tokens_beside().to_vec())
        };
        let template = "{{ bos_token }}{{ eos_token }}{{ pad_token }}";
        assert_eq!(tokens(template), ("{}".to_owned(), vec![]));
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("special_tokens_map.json", r#"{"bos_token": {"content": "<b>"}, "unk_token": "<u>"}"#);
        write("generation_config.json", r#"{"bos_token_id": 1, "eos_token_id": [2], "pad_token_id": [2, 3]}"#);
        write("tokenizer.json", r#"{"added_tokens": [{"id": 1, "content": "<x>"}, {"id": 2, "content": "<e>"}]}"#);
        let found = tokens(template);
        let files = [("bos_token", "special_tokens_map.json"), ("eos_token", "generation_config.json")];
        let files = files.map(|(name, file)| (name.to_owned(), file)).to_vec();
        assert_eq!(found, (r#"{"bos_token": "<b>", "eos_token": "<e>"}"#.to_owned(), files));
        // Only tokens that the template names.
        assert_eq!(tokens("{{ messages }}").1, vec![]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
