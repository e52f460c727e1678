//! Tokenizers: a `tokenizer.json`, with what the files next to it say about its tokens.

use std::path::Path;

use super::{Problem, bytes_up_to, json, json_of, place, place_in_json, text};
use backchat_core::diagnostic::{Diagnostic, Place, Sources};
use backchat_core::json::{self as values, Value};
use backchat_parser::tokens::{Companions, Tokenizer, Tokens, TokensError, configured};

/// The largest tokenizer.json that is read; those of large vocabularies are larger than any other file here.
const LARGEST_TOKENIZER: u64 = 256 << 20;

const CONFIG: &str = "tokenizer_config.json";
const CONTROL_TOKENS: &str = "chat_control_tokens";

/// The decode side of a tokenizer: of a tokenizer.json, or of the one in a model folder.
pub fn tokens(name: &str) -> Result<Tokens, Problem> {
    tokenizer_of(name, Tokens::load)
}

/// A tokenizer that encodes: a tokenizer.json, or the one in a model folder.
pub fn tokenizer(name: &str) -> Result<Tokenizer, Problem> {
    tokenizer_of(name, Tokenizer::load)
}

/// The text of a tokenizer.json, or of the one in a model folder.
pub fn tokenizer_json(name: &str) -> Result<String, Problem> {
    tokenizer_of(name, |text| Ok(text.to_owned()))
}

fn tokenizer_of<T>(name: &str, load: impl Fn(&str) -> Result<T, TokensError>) -> Result<T, Problem> {
    let path = tokenizer_file(name)?;
    let bytes = bytes_up_to(&path, LARGEST_TOKENIZER)?;
    let refused = |message: String| {
        Problem::from(
            Diagnostic::error("unusable-tokenizer", message)
                .at(Place::file(super::name(&path)))
                .help("name a tokenizer.json; transformers writes one with `tokenizer.save_pretrained(FOLDER)`"),
        )
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(refused(
            "the tokenizer is not text; if it is a model of SentencePiece, convert it to a tokenizer.json".to_owned(),
        ));
    };
    let companions = companions(&path)?;
    let text = configured(text, &companions).map_err(|error| refused(error.to_string()))?;
    load(&text).map_err(|error| refused(error.to_string()))
}

/// What the files next to a tokenizer.json say about its tokens.
fn companions(tokenizer_json: &str) -> Result<Companions, Problem> {
    let beside = |name: &str| match beside(tokenizer_json, name) {
        Some(file) => json(&file),
        None => Ok(Value::Null),
    };
    Ok(Companions {
        config: beside(CONFIG)?,
        special_tokens_map: beside("special_tokens_map.json")?,
        added_tokens: beside("added_tokens.json")?,
    })
}

/// The file of this name next to another one, if there is one.
fn beside(file: &str, name: &str) -> Option<String> {
    // Standard input has no files next to it.
    let path = Path::new(file).with_file_name(name);
    (file != "-" && path.is_file()).then(|| path.display().to_string())
}

/// The tokenizer.json that a name refers to.
fn tokenizer_file(name: &str) -> Result<String, Problem> {
    let place = place(name)?;
    let path = Path::new(&place);
    Ok(if path.is_dir() { path.join("tokenizer.json").to_string_lossy().into_owned() } else { place })
}

/// The `chat_control_tokens` in the tokenizer_config.json next to a tokenizer.json, if it has any.
pub fn chat_control_tokens(name: &str) -> Result<Option<Vec<String>>, Problem> {
    let Some(config) = beside(&tokenizer_file(name)?, CONFIG) else { return Ok(None) };
    let text = text(&config)?;
    let value = json_of(&config, text.clone())?;
    let Some(listed) = value.get(CONTROL_TOKENS).filter(|listed| !listed.is_null()) else { return Ok(None) };
    let texts = listed.as_list().and_then(|items| items.iter().map(|item| Some(item.as_str()?.to_owned())).collect());
    texts.map(Some).ok_or_else(|| {
        let diagnostic = Diagnostic::error("wrong-type", format!("`{CONTROL_TOKENS}` should be a list of strings"))
            .at(place_in_json(&config, &text, &values::Path::root().key(CONTROL_TOKENS)))
            .help("list the added tokens that only the chat template may write, or remove the key");
        Problem { diagnostics: vec![diagnostic], sources: Sources::none().with(super::name(&config), text) }
    })
}
