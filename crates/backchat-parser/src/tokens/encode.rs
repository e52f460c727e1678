//! Encodes text to token ids with the `tokenizers` crate. Decoding is in [`Tokens`], which does not need the crate.
//!
//! Without the feature `tokenizer` no [`Tokenizer`] can be made, and the error says so.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::error::TokensError;
use super::table::Tokens;

#[cfg(feature = "tokenizer")]
type Encoder = Arc<tokenizers::Tokenizer>;

/// The stand-in for builds without the feature.
#[cfg(not(feature = "tokenizer"))]
type Encoder = std::convert::Infallible;

/// A tokenizer that encodes as well as it decodes. It can be shared by any number of threads.
#[derive(Clone)]
pub struct Tokenizer {
    encoder: Encoder,
    tokens: Arc<Tokens>,
}

/// Text as ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded {
    /// The ids, without added special tokens.
    pub ids: Vec<u32>,
    /// The part of the text that each encodes: start and end, in code points.
    pub offsets: Vec<(usize, usize)>,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Reads the text of a `tokenizer.json`. Limits on the length of a text in it do not hold here.
    ///
    /// # Errors
    ///
    /// The text is not a tokenizer, or not one whose ids can be decoded one by one; the feature `tokenizer` is off.
    pub fn load(tokenizer_json: &str) -> Result<Self, TokensError> {
        let tokens = Arc::new(Tokens::load(tokenizer_json)?);
        Ok(Self { encoder: encoder(tokenizer_json, &tokens)?, tokens })
    }

    /// Its decode side.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// The ids of a text.
    ///
    /// # Errors
    ///
    /// The tokenizer has no token for some text, and no unknown token.
    pub fn encode(&self, text: &str) -> Result<Encoded, TokensError> {
        caught(|| encode(&self.encoder, text))
    }
}

/// The ids of a text in which no added token is found, special or not: all of it goes to the tokenizer's model. An id
/// may still be that of an added token, if the model has a token of the same id.
///
/// # Errors
///
/// The tokenizer has no token for some text, and no unknown token.
pub fn encode_without_added(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, TokensError> {
    caught(|| ids_of_model(&tokenizer.encoder, text))
}

/// The crate panics on some texts if its added tokens overlap with the white space next to others (`lstrip`, `rstrip`).
fn caught<T>(encode: impl FnOnce() -> Result<T, TokensError>) -> Result<T, TokensError> {
    let done = catch_unwind(AssertUnwindSafe(encode));
    done.unwrap_or_else(|_| Err(TokensError::at("added_tokens", "its library fails on this text")))
}

#[cfg(feature = "tokenizer")]
fn encoder(tokenizer_json: &str, tokens: &Tokens) -> Result<Encoder, TokensError> {
    let refused = |error: tokenizers::Error| TokensError::at("", error.to_string());
    let mut encoder = tokenizers::Tokenizer::from_bytes(tokenizer_json).map_err(refused)?;
    encoder.with_truncation(None).map_err(refused)?.with_padding(None);
    // The crate numbers added tokens after the vocabulary and ignores the ids of the file.
    let moved = tokens.added().find(|(id, content)| encoder.token_to_id(content) != Some(*id));
    if let Some((id, content)) = moved {
        let message = format!("{content:?} has the id {id}, which does not follow the ids before it");
        return Err(TokensError::at("added_tokens", message));
    }
    Ok(Arc::new(encoder))
}

#[cfg(not(feature = "tokenizer"))]
fn encoder(_: &str, _: &Tokens) -> Result<Encoder, TokensError> {
    let message =
        "this build does not encode text: build it with `--features tokenizer`, or use the Python wheel, which does";
    Err(TokensError::at("", message))
}

#[cfg(feature = "tokenizer")]
fn encode(encoder: &Encoder, text: &str) -> Result<Encoded, TokensError> {
    let encoding = encoder.encode_char_offsets(text, false);
    let encoding = encoding.map_err(|error| TokensError::at("model", error.to_string()))?;
    Ok(Encoded { ids: encoding.get_ids().to_vec(), offsets: encoding.get_offsets().to_vec() })
}

#[cfg(not(feature = "tokenizer"))]
fn encode(encoder: &Encoder, _: &str) -> Result<Encoded, TokensError> {
    match *encoder {}
}

/// The crate always looks for added tokens that are not special, so its steps are taken one by one, as transformers does.
#[cfg(feature = "tokenizer")]
fn ids_of_model(encoder: &Encoder, text: &str) -> Result<Vec<u32>, TokensError> {
    use tokenizers::{
        Model, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    };
    let failed = |part: &str, error: tokenizers::Error| TokensError::at(part, error.to_string());
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = encoder.get_normalizer() {
        normalizer.normalize(&mut normalized).map_err(|error| failed("normalizer", error))?;
    }
    let mut split = PreTokenizedString::from(normalized.get());
    if let Some(pre_tokenizer) = encoder.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut split).map_err(|error| failed("pre_tokenizer", error))?;
    }
    let mut ids = Vec::new();
    for (piece, ..) in split.get_splits(OffsetReferential::Original, OffsetType::None) {
        let tokens = encoder.get_model().tokenize(piece).map_err(|error| failed("model", error))?;
        ids.extend(tokens.iter().map(|token| token.id));
    }
    Ok(ids)
}

#[cfg(not(feature = "tokenizer"))]
fn ids_of_model(encoder: &Encoder, _: &str) -> Result<Vec<u32>, TokensError> {
    match *encoder {}
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "tokenizer")]
    use super::super::table::special;
    use super::*;

    const TOKENIZER: &str = r###"{"version": "1.0", "truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
        "padding": null, "added_tokens": [{"id": 3, "content": "<end>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true}], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"é": 0, "日本": 1, "?": 2}, "unk_token": "?"}}"###;

    #[test]
    #[cfg(feature = "tokenizer")]
    fn offsets_count_characters() {
        let tokenizer = Tokenizer::load(TOKENIZER).unwrap();
        let encoded = tokenizer.encode("é 日本<end> x").unwrap();
        assert_eq!(encoded.ids, [0, 1, 3, 2]);
        assert_eq!(encoded.offsets, [(0, 1), (2, 4), (4, 9), (10, 11)]);
        assert_eq!(tokenizer.tokens().decode(&encoded.ids), "é 日本 <end> ?");
        assert!(Tokenizer::load(r#"{"model": {"vocab": {}}}"#).is_err());
        let moved = Tokenizer::load(&TOKENIZER.replace(r#""id": 3"#, r#""id": 7"#)).unwrap_err();
        assert_eq!(moved.path, "added_tokens");
    }

    #[test]
    #[cfg(feature = "tokenizer")]
    fn text_is_encoded_without_added_tokens() {
        let tokenizer = Tokenizer::load(TOKENIZER).unwrap();
        assert_eq!(tokenizer.encode("é <end>").unwrap().ids, [0, 3]);
        assert_eq!(encode_without_added(&tokenizer, "é <end> 日本").unwrap(), [0, 2, 1]);
        assert_eq!(special(tokenizer.tokens()).collect::<Vec<_>>(), ["<end>"]);
    }

    #[test]
    #[cfg(feature = "tokenizer")]
    fn a_panic_of_the_library_is_an_error() {
        let flags = r#""single_word": false, "normalized": false, "special": false"#;
        let newline = format!(r#"{{"id": 3, "content": "\n", "lstrip": true, "rstrip": false, {flags}}}"#);
        let space = format!(r#"{{"id": 4, "content": " ", "lstrip": false, "rstrip": true, {flags}}}"#);
        let json = TOKENIZER.replace(r#""id": 3"#, r#""id": 5"#).replace("[{", &format!("[{newline}, {space}, {{"));
        let error = Tokenizer::load(&json).unwrap().encode(" \n ").unwrap_err();
        assert_eq!(error.to_string(), "the tokenizer's `added_tokens` cannot be used: its library fails on this text");
    }

    #[test]
    #[cfg(not(feature = "tokenizer"))]
    fn without_the_feature_the_error_names_it() {
        let error = Tokenizer::load(TOKENIZER).unwrap_err().to_string();
        assert!(error.contains("--features tokenizer"), "{error}");
    }
}
