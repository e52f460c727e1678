//! Reads the chat templates and special tokens of JSON files: `tokenizer_config.json` and `chat_template.json`.

use super::{Candidates, DEFAULT, Named, SourceError};
use backchat_core::diagnostic::{Diagnostic, Place, Sources, in_file, invalid_json};
use backchat_core::json::{self, Object, Path, Value};

const KEY: &str = "chat_template";

/// Reads the templates and special tokens of a config; it is an error if there is no template.
pub(super) fn read(file: &str, text: &str) -> Result<Candidates, SourceError> {
    let found = parse(file, text)?;
    if found.templates.is_empty() {
        let (message, help) = match is_response_template(text) {
            true => (
                "this is a response template, not a chat template".to_owned(),
                "name the chat template that it is for; to prove it: `backchat prove FILE --chat-template SOURCE`",
            ),
            false => (
                format!("the file has no template under the key `{KEY}`"),
                "newer models keep the template in chat_template.jinja: pass that file, or the model folder",
            ),
        };
        return Err(SourceError::about(file, "no-chat-template", message, help));
    }
    Ok(found)
}

/// Whether a file without a chat template is a response template: only these have `fields`.
fn is_response_template(text: &str) -> bool {
    json::read(text).is_ok_and(|value| value.get("fields").is_some_and(|fields| fields.as_object().is_some()))
}

pub(super) fn parse(file: &str, text: &str) -> Result<Candidates, SourceError> {
    let failed = |diagnostic: Diagnostic| SourceError {
        diagnostics: vec![diagnostic],
        sources: Sources::none().with(file, text),
    };
    let config = json::read(text).map_err(|error| failed(in_file(invalid_json(text, &error), file)))?;
    let Value::Object(config) = config else {
        let message = format!("a config should be an object, not {}", config.kind());
        return Err(failed(
            Diagnostic::error("wrong-type", message).at(Place::span(text, 0..text.len()).in_file(file)),
        ));
    };
    let wrong = |path: Path, message: String| {
        let places = json::read_with_places(text).ok();
        let span = places.as_ref().and_then(|(_, places)| Some(places.at(&path)?.value.clone()));
        let place = span.map_or_else(|| Place::file(file), |span| Place::span(text, span).in_file(file));
        failed(Diagnostic::error("wrong-type", message).at(place.path(path.to_string())))
    };
    let templates = match config.get(KEY) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(template)) => {
            vec![Named { name: DEFAULT.to_owned(), template: template.clone(), file: file.to_owned() }]
        }
        Some(Value::List(several)) => {
            let named = |(index, entry): (usize, &Value)| {
                let name = entry.get("name").and_then(Value::as_str);
                let template = entry.get("template").and_then(Value::as_str);
                match (name, template) {
                    (Some(name), Some(template)) => {
                        Ok(Named { name: name.to_owned(), template: template.to_owned(), file: file.to_owned() })
                    }
                    _ => {
                        let message = "a named template is an object with the strings `name` and `template`";
                        Err(wrong(Path::root().key(KEY).index(index), message.to_owned()))
                    }
                }
            };
            several.iter().enumerate().map(named).collect::<Result<_, _>>()?
        }
        Some(other) => {
            let message = format!("`{KEY}` should be a string or a list of named templates, not {}", other.kind());
            return Err(wrong(Path::root().key(KEY), message));
        }
    };
    Ok(Candidates { templates, special_tokens: special_tokens(&config) })
}

/// The special tokens of a config or a `special_tokens_map.json`: strings, or objects that hold one.
pub(super) fn special_tokens(config: &Object) -> Object {
    let token = |value: &Value| match value {
        Value::String(text) => Some(Value::from(text.as_str())),
        Value::Object(_) => value.get("content").and_then(Value::as_str).map(Value::from),
        _ => None,
    };
    let named = config.iter().filter(|(key, _)| key.ends_with("_token") && !key.starts_with("add_"));
    // Those of one model, under any name, replace others. transformers reads only the first of the mappings.
    let mappings = ["extra_special_tokens", "model_specific_special_tokens"];
    let mut mappings = mappings.iter().filter_map(|key| config.get(key)?.as_object());
    let of_model = mappings.find(|tokens| !tokens.is_empty()).into_iter().flatten();
    let mut tokens: Object = named.chain(of_model).filter_map(|(key, value)| Some((key, token(value)?))).collect();
    if let Some(Value::List(more)) = config.get("additional_special_tokens") {
        let more: Vec<Value> = more.iter().filter_map(token).collect();
        if !more.is_empty() {
            tokens.insert("additional_special_tokens", Value::List(more));
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_one_model_are_special_tokens() {
        for (config, tokens) in [
            (
                r#"{"extra_special_tokens": {"image_token": "<i>", "boi": "<b>"}}"#,
                r#"{"image_token": "<i>", "boi": "<b>"}"#,
            ),
            (r#"{"model_specific_special_tokens": {"add_x_token": "<x>"}}"#, r#"{"add_x_token": "<x>"}"#),
            (r#"{"extra_special_tokens": {"eos_token": "<e>"}, "eos_token": "</s>"}"#, r#"{"eos_token": "<e>"}"#),
            (r#"{"extra_special_tokens": {"x": {"content": "<x>", "__type": "AddedToken"}}}"#, r#"{"x": "<x>"}"#),
            (
                r#"{"extra_special_tokens": {"x": "<x>"}, "model_specific_special_tokens": {"y": "<y>"}}"#,
                r#"{"x": "<x>"}"#,
            ),
            (r#"{"extra_special_tokens": {}, "model_specific_special_tokens": {"y": "<y>"}}"#, r#"{"y": "<y>"}"#),
            (r#"{"extra_special_tokens": ["<i>"], "add_bos_token": "yes"}"#, "{}"),
        ] {
            let Ok(Value::Object(config)) = json::read(config) else { panic!("{config}") };
            assert_eq!(Value::Object(special_tokens(&config)).to_string(), tokens);
        }
    }
}
