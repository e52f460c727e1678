//! Reads a `tokenizer.json`: the vocabulary goes straight into a table, the merges are skipped.

use std::borrow::Cow;

use super::decoder::{Decoder, prepends_after_added};
use super::error::TokensError;
use super::reader::TokenizerReader;
use super::table::{Builder, Taken, Tokens};
use backchat_core::json::{self, Value};

/// What is done with the id and the name of a token.
type Each<'e> = dyn FnMut(u32, &str) -> Result<(), TokensError> + 'e;

impl Tokens {
    /// Reads the text of a `tokenizer.json`: its vocabulary, its added tokens, and its decoder.
    ///
    /// # Errors
    ///
    /// The text is not a tokenizer, or its decoder does not give each token a text of its own.
    pub fn load(tokenizer_json: &str) -> Result<Self, TokensError> {
        load(tokenizer_json)
    }
}

fn load(text: &str) -> Result<Tokens, TokensError> {
    let (mut model, mut added) = (None, None);
    let (mut decoder, mut normalizer, mut pre_tokenizer) = (Value::Null, Value::Null, Value::Null);
    for (key, value) in entries(text)? {
        match &*key {
            "model" => model = Some(value),
            "added_tokens" => added = Some(value),
            "decoder" => decoder = read(value, "decoder")?,
            "normalizer" => normalizer = read(value, "normalizer")?,
            "pre_tokenizer" => pre_tokenizer = read(value, "pre_tokenizer")?,
            _ => {}
        }
    }
    let model = model.ok_or_else(|| TokensError::at("", "it has no `model`; is this the file `tokenizer.json`?"))?;
    let prepends = prepends_after_added(&normalizer, &pre_tokenizer, &decoder);
    let mut builder = Builder::new(Decoder::read(&decoder)?, prepends);
    vocabulary(model, &mut |id, name| builder.token(id, name))?;
    if let Some(added) = added {
        added_tokens(added, &mut builder)?;
    }
    Ok(builder.finish())
}

/// The entries of a tokenizer.json. Their values are not read yet.
pub(super) fn entries(text: &str) -> Result<Vec<(Cow<'_, str>, &str)>, TokensError> {
    let mut reader = TokenizerReader::new(text);
    if reader.peek() != Some(b'{') {
        return Err(other_format(text));
    }
    reader.expect(b'{')?;
    let mut entries = Vec::new();
    let mut first = true;
    while reader.more(b'}', &mut first)? {
        entries.push((reader.key()?, reader.value()?));
    }
    reader.end()?;
    Ok(entries)
}

/// A value that is small in every tokenizer, or whose parts are all needed.
pub(super) fn read(value: &str, path: &str) -> Result<Value, TokensError> {
    json::read(value).map_err(|error| TokensError::at(path, error.message()))
}

/// The error about a text that is not a JSON object.
fn other_format(text: &str) -> TokensError {
    let is_rank = |line: &str| {
        let mut words = line.split(' ');
        let is_base64 = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        };
        words.next().is_some_and(is_base64) && words.next().is_some_and(|rank| rank.parse::<u32>().is_ok())
    };
    if text.lines().next().is_some_and(is_rank) {
        return TokensError::at("", "it is a vocabulary of tiktoken; convert it to a tokenizer.json with transformers");
    }
    TokensError::syntax(0, "a tokenizer.json is an object")
}

/// The tokens of the model, each with its id: a map of names to ids, or for Unigram a list of names with their scores.
pub(super) fn vocabulary(model: &str, each: &mut Each<'_>) -> Result<(), TokensError> {
    let mut reader = TokenizerReader::new(model);
    if reader.peek() != Some(b'{') {
        return Err(TokensError::at("model", "it is not an object"));
    }
    reader.expect(b'{')?;
    let (mut first, mut found) = (true, false);
    while reader.more(b'}', &mut first)? {
        if &*reader.key()? != "vocab" {
            reader.value()?;
            continue;
        }
        found = true;
        match reader.peek() {
            Some(b'{') => names_to_ids(&mut reader, each)?,
            Some(b'[') => names_in_order(&mut reader, each)?,
            _ => return Err(TokensError::at("model.vocab", "it is neither an object nor a list")),
        }
    }
    if found { Ok(()) } else { Err(TokensError::at("model", "it has no `vocab`")) }
}

fn names_to_ids(reader: &mut TokenizerReader<'_>, each: &mut Each<'_>) -> Result<(), TokensError> {
    reader.expect(b'{')?;
    let mut first = true;
    while reader.more(b'}', &mut first)? {
        let name = reader.key()?;
        let id = reader.id()?;
        let id = id.ok_or_else(|| TokensError::at("model.vocab", format!("the id of {name:?} is not one")))?;
        each(id, &name)?;
    }
    Ok(())
}

fn names_in_order(reader: &mut TokenizerReader<'_>, each: &mut Each<'_>) -> Result<(), TokensError> {
    reader.expect(b'[')?;
    let mut first = true;
    let mut id = 0;
    while reader.more(b']', &mut first)? {
        let name = name_with_score(reader, id)?;
        each(id, &name)?;
        id += 1;
    }
    Ok(())
}

fn name_with_score<'t>(reader: &mut TokenizerReader<'t>, id: u32) -> Result<Cow<'t, str>, TokensError> {
    if reader.peek() != Some(b'[') {
        return Err(TokensError::at(format!("model.vocab[{id}]"), "it is not a list of a name and a score"));
    }
    reader.expect(b'[')?;
    let name = reader.string()?;
    let mut first = false;
    while reader.more(b']', &mut first)? {
        reader.value()?;
    }
    Ok(name)
}

fn added_tokens(text: &str, builder: &mut Builder) -> Result<(), TokensError> {
    let value = read(text, "added_tokens")?;
    let tokens = match &value {
        Value::Null => &[],
        value => value.as_list().ok_or_else(|| TokensError::at("added_tokens", "it is not a list"))?,
    };
    for (index, token) in tokens.iter().enumerate() {
        let path = || format!("added_tokens[{index}]");
        let id = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| TokensError::at(path(), "it has no `id`"))?;
        let content = token.get("content").and_then(Value::as_str);
        let content = content.ok_or_else(|| TokensError::at(path(), "it has no `content`"))?;
        let is_special = token.get("special").and_then(Value::as_bool).unwrap_or_default();
        builder.added(id, content, is_special).map_err(|Taken { by }| {
            TokensError::at(path(), format!("the tokens {by:?} and {content:?} have one id, {id}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_tokenizer_is_rejected_with_its_position() {
        let cases = [
            ("", "the tokenizer is not JSON at byte 0"),
            (r#"{"added_tokens":["#, "not JSON at byte 17"),
            (r#"{"model": {"vocab": {}}} x"#, "not JSON at byte 25: text follows"),
            (r#"{"decoder": {"type": "ByteLevel"}}"#, "it has no `model`"),
            (r#"{"model": {"type": "BPE"}}"#, "`model` cannot be used: it has no `vocab`"),
            (r#"{"model": {"vocab": {"a": -1}}}"#, r#"the id of "a" is not one"#),
            (r#"{"model": {"vocab": {"a": 4294967296}}}"#, r#"the id of "a" is not one"#),
            (r#"{"model": {"vocab": ["a"]}}"#, "`model.vocab[0]`"),
            (
                r#"{"model": {"vocab": {}}, "added_tokens": [{"id": 1, "content": "<a>"}, {"id": 1, "content": "<b>"}]}"#,
                r#"`added_tokens[1]` cannot be used: the tokens "<a>" and "<b>" have one id, 1"#,
            ),
            (r#"{"model": {"vocab": {}}, "added_tokens": [{"content": "<a>"}]}"#, "`added_tokens[0]`"),
            ("IQ== 0\nIg== 1\n", "vocabulary of tiktoken"),
        ];
        for (text, message) in cases {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
