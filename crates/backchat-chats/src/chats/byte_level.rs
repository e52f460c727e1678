//! Tokenizers for tests: a token for each byte, and added tokens.
#![cfg(feature = "tokenizer")]

use backchat_core::json::{Object, Value};
use backchat_parser::tokens::Tokenizer;

/// The id of the first added token; the id of a byte is the byte.
pub(crate) const FIRST_ADDED: u32 = 256;

/// A tokenizer with these added tokens, each special or not.
pub(crate) fn tokenizer(added: &[(&str, bool)]) -> Tokenizer {
    Tokenizer::load(&json(added)).unwrap()
}

/// Its tokenizer.json.
pub(crate) fn json(added: &[(&str, bool)]) -> String {
    let disguised = |byte: u8| match byte {
        33..=126 | 161..=172 | 174..=255 => char::from(byte),
        _ => {
            let hidden = |byte: &u8| !matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let place = (0..byte).filter(hidden).count();
            char::from_u32(256 + u32::try_from(place).unwrap()).unwrap()
        }
    };
    let vocab: Object = (0..=255u8).map(|byte| (disguised(byte).to_string(), i64::from(byte).into())).collect();
    let added = added.iter().zip(FIRST_ADDED..).map(|((content, is_special), id)| {
        let entries = ["single_word", "lstrip", "rstrip", "normalized"].map(|key| (key.to_owned(), false.into()));
        let mut token: Object = entries.into_iter().collect();
        token.insert("id", i64::from(id).into());
        token.insert("content", (*content).into());
        token.insert("special", (*is_special).into());
        Value::Object(token)
    });
    let bytes = r#"{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false, "trim_offsets": false}"#;
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
            "added_tokens": {}, "decoder": {bytes}, "pre_tokenizer": {bytes},
            "model": {{"type": "BPE", "vocab": {}, "merges": []}}}}"#,
        Value::List(added.collect()),
        Value::Object(vocab)
    )
}
