//! A cursor over JSON text that skips unrequested values: the merges of a tokenizer are most of its file, and are
//! neither kept nor read. Nesting takes no stack.

use std::borrow::Cow;

use super::error::TokensError;
use backchat_core::json::{self, Value};
use backchat_core::text::slice;

pub(super) struct TokenizerReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> TokenizerReader<'t> {
    pub fn new(text: &'t str) -> Self {
        // Editors may write a byte order mark.
        Self { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, TokensError> {
        Err(TokensError::syntax(self.at, message))
    }

    fn skip_space(&mut self) {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The next byte that is not white space, without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.byte()
    }

    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, byte: u8) -> Result<(), TokensError> {
        if self.eat(byte) { Ok(()) } else { self.fail(format!("`{}` is missing here", byte as char)) }
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Result<(), TokensError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fail("text follows the end of the object"),
        }
    }

    /// Whether an element follows, in a list or an object that ends with `close`; `first` holds before the first one.
    pub fn more(&mut self, close: u8, first: &mut bool) -> Result<bool, TokensError> {
        if std::mem::replace(first, false) {
            return Ok(!self.eat(close));
        }
        if self.eat(close) {
            return Ok(false);
        }
        self.expect(b',')?;
        Ok(true)
    }

    /// The key of an entry, and its colon.
    pub fn key(&mut self) -> Result<Cow<'t, str>, TokensError> {
        let key = self.string()?;
        self.expect(b':')?;
        Ok(key)
    }

    pub fn string(&mut self) -> Result<Cow<'t, str>, TokensError> {
        self.expect(b'"')?;
        let start = self.at;
        let escaped = self.end_string(start)?;
        if !escaped {
            return Ok(Cow::Borrowed(slice(self.text, start..self.at - 1)));
        }
        match json::read(slice(self.text, start - 1..self.at)) {
            Ok(Value::String(text)) => Ok(Cow::Owned(text)),
            Ok(_) => self.fail("a string is missing here"),
            Err(error) => Err(TokensError::syntax(start - 1 + error.offset(), error.message())),
        }
    }

    /// The text of the next value, which is skipped: its brackets and strings are balanced, the rest is not checked.
    pub fn value(&mut self) -> Result<&'t str, TokensError> {
        self.skip_space();
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut depth = 0_usize;
        loop {
            match self.byte() {
                None => return self.fail("the text ends here, before its brackets are closed"),
                Some(b'"') => {
                    self.at += 1;
                    self.end_string(self.at - 1)?;
                    if depth == 0 {
                        break;
                    }
                }
                Some(b'[' | b'{') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b']' | b'}') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                Some(_) if depth > 0 => self.at += 1,
                Some(_) => {
                    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                    let rest = bytes.get(self.at..).unwrap_or_default();
                    let length = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
                    if length == 0 {
                        return self.fail("a value is missing here");
                    }
                    self.at += length;
                    break;
                }
            }
        }
        Ok(slice(self.text, start..self.at))
    }

    /// Skips the rest of a string and its quote; returns whether it has escapes. An error names the start.
    fn end_string(&mut self, start: usize) -> Result<bool, TokensError> {
        let mut escaped = false;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', rest) {
                Some(offset) if rest.get(offset) == Some(&b'"') => {
                    self.at += offset + 1;
                    return Ok(escaped);
                }
                Some(offset) => {
                    escaped = true;
                    self.at = (self.at + offset + 2).min(self.text.len());
                }
                None => return Err(TokensError::syntax(start, "this string has no end")),
            }
        }
    }

    /// A whole number that fits an id.
    pub fn id(&mut self) -> Result<Option<u32>, TokensError> {
        Ok(self.value()?.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_skipped_whole() {
        for (text, value, rest) in [
            (r#" {"a": ["]", {"b": "\"}"}]} , 1"#, r#"{"a": ["]", {"b": "\"}"}]}"#, " , 1"),
            ("-1.5e3]", "-1.5e3", "]"),
            (r#""x\\" }"#, r#""x\\""#, " }"),
            ("null", "null", ""),
        ] {
            let mut reader = TokenizerReader::new(text);
            assert_eq!(reader.value().unwrap(), value, "{text}");
            assert_eq!(reader.text.get(reader.at..), Some(rest), "{text}");
        }
        for text in ["[", "[\"", r#""\"#, "", ",", r#"{"a": [}"#] {
            assert!(TokenizerReader::new(text).value().is_err(), "{text}");
        }
        let deep = "[".repeat(1_000_000);
        assert!(TokenizerReader::new(&deep).value().is_err());
    }

    #[test]
    fn strings_are_unescaped_as_python_does() {
        for (text, string) in [
            (r#""a\n\u0120\ud83d\ude00\/""#, "a\nĠ😀/"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00\ud83dx""#, "\u{fffd}\u{fffd}x"),
        ] {
            assert_eq!(TokenizerReader::new(text).string().unwrap(), string, "{text}");
        }
        for text in [r#""\x""#, r#""\u12""#, "\"", "a"] {
            assert!(TokenizerReader::new(text).string().is_err(), "{text}");
        }
    }
}
