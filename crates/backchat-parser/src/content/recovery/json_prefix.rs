//! Whether a text is the beginning of JSON, byte by byte: strict JSON as Python reads it, in constant time a byte.

use backchat_core::json::MAX_DEPTH;

/// How much of a JSON value has been read.
#[derive(Clone, Debug)]
pub(crate) struct JsonPrefix {
    /// The closing brackets that are due, the innermost last.
    due: Vec<u8>,
    state: State,
}

/// The state of the value after a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is the beginning of JSON.
    Begun,
    /// It is JSON.
    Complete,
    /// No continuation is JSON.
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Value,
    /// After `[`.
    FirstItem,
    /// After `{`.
    FirstKey,
    Key,
    Colon,
    /// After a value inside a list or object.
    Next,
    String {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Unicode {
        key: bool,
        left: u8,
    },
    /// The rest of a word.
    Word(&'static [u8]),
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    Complete,
    Broken,
}

impl Default for JsonPrefix {
    fn default() -> Self {
        Self { due: Vec::new(), state: State::Value }
    }
}

impl JsonPrefix {
    /// Whether it ends inside a string.
    pub fn is_in_string(&self) -> bool {
        matches!(self.state, State::String { .. } | State::Escape { .. } | State::Unicode { .. })
    }

    /// Reads bytes up to the one that completes or breaks the value; returns the number of bytes read, including that
    /// one.
    pub fn read(&mut self, bytes: &[u8]) -> (Progress, usize) {
        for (taken, byte) in bytes.iter().enumerate() {
            let progress = self.push(*byte);
            if progress != Progress::Begun {
                return (progress, taken + 1);
            }
        }
        (Progress::Begun, bytes.len())
    }

    fn push(&mut self, byte: u8) -> Progress {
        self.state = match (self.state, byte) {
            (State::String { key }, _) => match byte {
                b'"' if key => State::Colon,
                b'"' => self.after_value(),
                b'\\' => State::Escape { key },
                0..0x20 => State::Broken,
                _ => State::String { key },
            },
            (State::Escape { key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => State::String { key },
            (State::Escape { key }, b'u') => State::Unicode { key, left: 4 },
            (State::Unicode { key, left }, _) if byte.is_ascii_hexdigit() => match left {
                1 => State::String { key },
                _ => State::Unicode { key, left: left - 1 },
            },
            (State::Word([due, rest @ ..]), _) if byte == *due => match rest {
                [] => self.after_value(),
                rest => State::Word(rest),
            },
            (State::Minus, b'0') => State::Zero,
            (State::Minus, b'1'..=b'9') => State::Digits,
            (State::Minus, b'I') => State::Word(b"nfinity"),
            (State::Digits, b'0'..=b'9') => State::Digits,
            (State::Zero | State::Digits, b'.') => State::Point,
            (State::Point | State::Fraction, b'0'..=b'9') => State::Fraction,
            (State::Zero | State::Digits | State::Fraction, b'e' | b'E') => State::Exponent,
            (State::Exponent, b'+' | b'-') => State::ExponentSign,
            (State::Exponent | State::ExponentSign | State::ExponentDigits, b'0'..=b'9') => State::ExponentDigits,
            (State::Zero | State::Digits | State::Fraction | State::ExponentDigits, _) => {
                // The byte after a number is not part of it.
                self.state = self.after_value();
                return self.push(byte);
            }
            (
                state @ (State::Value | State::FirstItem | State::FirstKey | State::Key | State::Colon | State::Next),
                b' ' | b'\t' | b'\n' | b'\r',
            ) => state,
            (State::FirstKey, b'}') | (State::FirstItem, b']') => self.close(byte),
            (State::FirstKey | State::Key, b'"') => State::String { key: true },
            (State::Colon, b':') => State::Value,
            (State::Next, b',') if self.due.last() == Some(&b'}') => State::Key,
            (State::Next, b',') => State::Value,
            (State::Next, b'}' | b']') => self.close(byte),
            (State::Value | State::FirstItem, _) => self.begin(byte),
            _ => State::Broken,
        };
        match self.state {
            State::Complete => Progress::Complete,
            State::Broken => Progress::Broken,
            _ => Progress::Begun,
        }
    }

    fn begin(&mut self, byte: u8) -> State {
        match byte {
            b'{' | b'[' if self.due.len() >= MAX_DEPTH => State::Broken,
            b'{' => {
                self.due.push(b'}');
                State::FirstKey
            }
            b'[' => {
                self.due.push(b']');
                State::FirstItem
            }
            b'"' => State::String { key: false },
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Digits,
            b't' => State::Word(b"rue"),
            b'f' => State::Word(b"alse"),
            b'n' => State::Word(b"ull"),
            b'N' => State::Word(b"aN"),
            b'I' => State::Word(b"nfinity"),
            _ => State::Broken,
        }
    }

    fn close(&mut self, byte: u8) -> State {
        match self.due.pop() {
            Some(due) if due == byte => self.after_value(),
            _ => State::Broken,
        }
    }

    fn after_value(&self) -> State {
        if self.due.is_empty() { State::Complete } else { State::Next }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use backchat_core::json;

    fn progress(text: &str) -> (Progress, usize) {
        JsonPrefix::default().read(text.as_bytes())
    }

    #[test]
    fn a_value_is_begun_complete_or_broken() {
        use Progress::{Begun, Broken, Complete};
        for (text, told) in [
            (r#"{"a": [1, -2.5e+3, "x\"\u00e9"], "b": null}"#, (Complete, 43)),
            (r#"{"a": "#, (Begun, 6)),
            (" [] x", (Complete, 3)),
            ("{\"a\": \"\n", (Broken, 8)),
            ("[1,]", (Broken, 4)),
            ("{'a", (Broken, 2)),
            ("[01", (Broken, 3)),
            ("{]", (Broken, 2)),
            ("[-Infinity, NaN]", (Complete, 16)),
        ] {
            assert_eq!(progress(text), told, "{text}");
        }
        let mut prefix = JsonPrefix::default();
        prefix.read(br#"{"a": "b"#);
        assert!(prefix.is_in_string());
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_reader(text in r#"[\{\[]["\[\]{}:, a1e.\-\\n]{0,12}"#) {
            let (progress, taken) = progress(&text);
            let is_json = json::read(&text).is_ok();
            prop_assert_eq!(progress == Progress::Complete && text[taken..].trim().is_empty(), is_json);
        }
    }
}
