//! The strings of a call list: their text, and the few escapes that they may have.

use backchat_core::json::Value;
use backchat_core::text::slice;

/// A string that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub quote: char,
    pub start: usize,
    /// An unfinished escape: its backslash and the characters after it.
    pub escape: String,
    /// Its text, if it is a key.
    pub key: Option<String>,
}

/// What a character does to an unfinished escape.
pub(super) enum Escape {
    /// It is part of the escape, and more must follow.
    Continues,
    /// It completes the escape, or follows a complete one.
    Ends { with: Option<char> },
}

impl Text {
    /// More of the text of the string.
    pub fn add(&mut self, text: &str, json: &mut String) {
        if let Some(key) = &mut self.key {
            key.push_str(text);
        }
        let written = Value::from(text).to_string();
        json.push_str(slice(&written, 1..written.len() - 1));
    }

    pub fn continue_escape(&self, c: char) -> Escape {
        let is_high = |digits: &str| u32::from_str_radix(digits, 16).is_ok_and(|code| (0xD800..0xDC00).contains(&code));
        match (self.escape.len(), c) {
            (1, 'u') | (7, 'u') => Escape::Continues,
            (2..=4 | 8..=10, _) if c.is_ascii_hexdigit() => Escape::Continues,
            (5, _) if c.is_ascii_hexdigit() && is_high(&format!("{}{c}", slice(&self.escape, 2..))) => {
                Escape::Continues
            }
            // A second half has to follow.
            (6, '\\') => Escape::Continues,
            (6, _) => Escape::Ends { with: None },
            _ => Escape::Ends { with: Some(c) },
        }
    }
}

/// The character of an escape; `None` if there is no such escape, or if it is half of a character.
pub(super) fn unescaped(escape: &str) -> Option<char> {
    let body = escape.strip_prefix('\\')?;
    let code = |digits: &str| u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 4);
    Some(match body {
        "\\" | "'" | "\"" | "/" => body.chars().next()?,
        "b" => '\u{8}',
        "f" => '\u{c}',
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        _ => {
            let digits = body.strip_prefix('u')?;
            match digits.split_once("\\u") {
                Some((high, low)) => {
                    let (high, low) = (code(high)?, code(low).filter(|low| (0xDC00..0xE000).contains(low))?);
                    char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))?
                }
                None => char::from_u32(code(digits)?)?,
            }
        }
    })
}
