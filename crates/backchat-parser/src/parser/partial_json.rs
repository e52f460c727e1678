//! Incremental JSON: reports when each value begins and ends, and writes the text of values in the form
//! that [`Value`] has when it is displayed.
//!
//! It accepts exactly what [`json::read`] accepts, and reads nothing after the value or the first error.

use crate::parser::part::part;
use backchat_core::json::{self, MAX_DEPTH, Value};

/// The treatment of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is skipped; values inside it are queried.
    Enter,
    /// Its text is written while it is read.
    Write,
    /// It is given once it is whole.
    Take,
}

/// The receiver of the values; by default it requests none.
pub(super) trait Sink {
    /// The treatment of the value that begins at a path: the keys above it, and `None` for each list.
    fn begins(&mut self, _path: &[Option<String>]) -> Use {
        Use::Enter
    }
    /// More of the text of a value to write.
    fn write(&mut self, _text: &str) {}
    /// Whether a value inside a written one must be complete before its text is written.
    fn holds(&self, _path: &[Option<String>]) -> bool {
        false
    }
    /// The text to write for a value that was held.
    fn release(&self, _path: &[Option<String>], value: Value) -> Option<String> {
        Some(value.to_string())
    }
    /// A requested value.
    fn take(&mut self, _path: &[Option<String>], _value: Value) {}
    /// A value that was entered has ended.
    fn leave(&mut self, _path: &[Option<String>]) {}
}

/// For callers that need only the end of the value.
impl Sink for () {}

/// The reader's state between two pieces of text.
#[derive(Clone, Debug)]
pub(super) struct PartialJson {
    /// The key that each object is at, and nothing for each list.
    path: Vec<Option<String>>,
    expected: Expected,
    token: Token,
    /// The depth of the value that is written or taken now.
    active: Option<(usize, Use)>,
    /// The depth of the value that is held inside one that is written.
    held: Option<usize>,
    /// The text so far of the value to take, or of the one that is held.
    taken: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Value,
    /// After `[`.
    ValueOrEnd,
    /// After `{`.
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    /// The value is complete.
    Nothing,
    /// It is not JSON.
    Broken,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    None,
    /// A string, and its key's text if it is a key; the escape that has begun.
    String {
        key: Option<String>,
        escape: String,
    },
    /// A number or a word.
    Word(String),
}

impl Default for PartialJson {
    fn default() -> Self {
        Self {
            path: Vec::new(),
            expected: Expected::Value,
            token: Token::None,
            active: None,
            held: None,
            taken: String::new(),
        }
    }
}

impl PartialJson {
    pub fn is_complete(&self) -> bool {
        self.expected == Expected::Nothing
    }

    /// Whether no continuation of the text is JSON.
    pub fn is_broken(&self) -> bool {
        self.expected == Expected::Broken
    }

    pub fn is_in_string(&self) -> bool {
        matches!(self.token, Token::String { .. })
    }

    /// Reads more of the text, up to the end of the value or the first error; returns the number of bytes read.
    pub fn push(&mut self, whole: &str, sink: &mut impl Sink) -> usize {
        let mut text = whole;
        while !self.is_complete()
            && !self.is_broken()
            && let Some(c) = text.chars().next()
        {
            let length = match &mut self.token {
                Token::String { .. } => self.in_string(text, c, sink),
                Token::Word(word) if c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.') => {
                    word.push(c);
                    if !may_begin_word(word) {
                        self.expected = Expected::Broken;
                    }
                    1
                }
                Token::Word(_) => {
                    self.end_word(sink);
                    0
                }
                Token::None => self.structure(c, sink),
            };
            if !self.is_broken() {
                text = part(text, length..text.len());
            }
        }
        whole.len() - text.len()
    }

    fn out(&mut self, text: &str, sink: &mut impl Sink) {
        match self.active {
            Some(_) if self.held.is_some() => self.taken.push_str(text),
            Some((_, Use::Write)) => sink.write(text),
            Some((_, Use::Take)) => self.taken.push_str(text),
            _ => {}
        }
    }

    /// Between two tokens; returns the number of bytes consumed.
    fn structure(&mut self, c: char, sink: &mut impl Sink) -> usize {
        use Expected::*;
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            return 1;
        }
        match (self.expected, c) {
            (Value | ValueOrEnd, '"') => {
                self.begin(sink);
                self.out("\"", sink);
                self.token = Token::String { key: None, escape: String::new() };
            }
            (Value | ValueOrEnd, '{' | '[') if self.path.len() >= MAX_DEPTH => self.expected = Broken,
            (Value | ValueOrEnd, '{') => {
                self.begin(sink);
                self.out("{", sink);
                self.path.push(Some(String::new()));
                self.expected = KeyOrEnd;
            }
            (Value | ValueOrEnd, '[') => {
                self.begin(sink);
                self.out("[", sink);
                self.path.push(None);
                self.expected = ValueOrEnd;
            }
            (ValueOrEnd, ']') => self.end_container("]", sink),
            (KeyOrEnd, '}') => self.end_container("}", sink),
            (KeyOrEnd | Key, '"') => {
                self.out("\"", sink);
                self.token = Token::String { key: Some(String::new()), escape: String::new() };
            }
            (Colon, ':') => {
                self.out(": ", sink);
                self.expected = Value;
            }
            (CommaOrEnd, ',') => {
                self.out(", ", sink);
                self.expected = if matches!(self.path.last(), Some(Some(_))) { Key } else { Value };
            }
            (CommaOrEnd, '}') if matches!(self.path.last(), Some(Some(_))) => self.end_container("}", sink),
            (CommaOrEnd, ']') if matches!(self.path.last(), Some(None)) => self.end_container("]", sink),
            (Value | ValueOrEnd, '-' | '0'..='9' | 'a'..='z' | 'A'..='Z') => {
                self.begin(sink);
                self.token = Token::Word(String::new());
                return 0;
            }
            _ => self.expected = Broken,
        }
        // A character outside JSON may be any.
        c.len_utf8()
    }

    fn begin(&mut self, sink: &mut impl Sink) {
        match self.active {
            None => {
                self.active = match sink.begins(&self.path) {
                    Use::Enter => None,
                    other => Some((self.path.len(), other)),
                };
            }
            Some((depth, Use::Write)) if self.held.is_none() && depth + 1 == self.path.len() => {
                self.held = sink.holds(&self.path).then_some(self.path.len());
            }
            Some(_) => {}
        }
    }

    fn end_container(&mut self, bracket: &str, sink: &mut impl Sink) {
        self.path.pop();
        self.out(bracket, sink);
        self.end_value(sink);
    }

    fn end_value(&mut self, sink: &mut impl Sink) {
        self.expected = if self.path.is_empty() { Expected::Nothing } else { Expected::CommaOrEnd };
        if self.held == Some(self.path.len()) {
            self.held = None;
            let value = json::read(&std::mem::take(&mut self.taken)).ok();
            match value.and_then(|value| sink.release(&self.path, value)) {
                Some(text) => sink.write(&text),
                None => self.expected = Expected::Broken,
            }
            return;
        }
        match self.active {
            None => sink.leave(&self.path),
            Some((depth, _)) if depth != self.path.len() => {}
            Some((_, what)) => {
                self.active = None;
                if what == Use::Take {
                    match json::read(&std::mem::take(&mut self.taken)) {
                        Ok(value) => sink.take(&self.path, value),
                        Err(_) => self.expected = Expected::Broken,
                    }
                }
            }
        }
    }

    fn end_word(&mut self, sink: &mut impl Sink) {
        let Token::Word(word) = std::mem::replace(&mut self.token, Token::None) else { return };
        match json::read(&word) {
            Ok(value) => {
                // A captured value is parsed again, so it keeps its original text.
                let text = if self.held.is_some() || matches!(self.active, Some((_, Use::Take))) {
                    word
                } else {
                    value.to_string()
                };
                self.out(&text, sink);
                self.end_value(sink);
            }
            Err(_) => self.expected = Expected::Broken,
        }
    }

    /// Inside a string; returns the number of bytes consumed.
    fn in_string(&mut self, text: &str, c: char, sink: &mut impl Sink) -> usize {
        let Token::String { escape, .. } = &mut self.token else { return 0 };
        if !escape.is_empty() {
            return match next_of_escape(escape, c) {
                Escape::Goes => {
                    escape.push(c);
                    1
                }
                Escape::Ends { with } => {
                    escape.extend(with);
                    let whole = std::mem::take(escape);
                    self.escaped(&whole, sink);
                    usize::from(with.is_some())
                }
                Escape::Splits => {
                    // A lone high surrogate stays as it is.
                    let second = escape.split_off(6);
                    let first = std::mem::replace(escape, second);
                    self.escaped(&first, sink);
                    0
                }
            };
        }
        match c {
            '\\' => {
                escape.push(c);
                1
            }
            '"' => {
                let ended = std::mem::replace(&mut self.token, Token::None);
                self.out("\"", sink);
                match ended {
                    Token::String { key: Some(key), .. } => {
                        if let Some(place) = self.path.last_mut() {
                            *place = Some(key);
                        }
                        self.expected = Expected::Colon;
                    }
                    _ => self.end_value(sink),
                }
                1
            }
            '\0'..='\u{1f}' => {
                self.expected = Expected::Broken;
                1
            }
            _ => {
                let end = text.find(|c| matches!(c, '"' | '\\' | '\0'..='\u{1f}')).unwrap_or(text.len());
                self.string_text(part(text, 0..end), sink);
                end
            }
        }
    }

    fn escaped(&mut self, escape: &str, sink: &mut impl Sink) {
        match json::read(&format!("\"{escape}\"")) {
            Ok(Value::String(text)) => self.string_text(&text, sink),
            _ => self.expected = Expected::Broken,
        }
    }

    /// More of the text of a string.
    fn string_text(&mut self, text: &str, sink: &mut impl Sink) {
        if let Token::String { key: Some(key), .. } = &mut self.token {
            key.push_str(text);
        }
        if self.active.is_some() {
            let written = Value::from(text).to_string();
            self.out(part(&written, 1..written.len() - 1), sink);
        }
    }
}

/// Whether a number or a literal may begin like this. It may say so of a number that is none.
fn may_begin_word(word: &str) -> bool {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let literals = ["true", "false", "null", "NaN", "Infinity"];
    unsigned.starts_with(|c: char| c.is_ascii_digit()) || literals.iter().any(|literal| literal.starts_with(unsigned))
}

/// The role of a character in an escape that has begun.
enum Escape {
    /// Part of it, and more has to come.
    Goes,
    /// The escape is whole, with this character or before it.
    Ends { with: Option<char> },
    /// It is two escapes, the first of which is whole.
    Splits,
}

fn next_of_escape(escape: &str, c: char) -> Escape {
    let digits = |from: usize| escape.get(from..from + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let is_high = |code: Option<u32>| code.is_some_and(|code| (0xD800..0xDC00).contains(&code));
    let is_low = |code: Option<u32>| code.is_some_and(|code| (0xDC00..0xE000).contains(&code));
    match (escape.len(), c) {
        (1, 'u') => Escape::Goes,
        (1, _) => Escape::Ends { with: Some(c) },
        (2..=5, _) if !c.is_ascii_hexdigit() => Escape::Ends { with: Some(c) },
        (2..=5, _) => Escape::Goes,
        // Whether a low surrogate follows the high one.
        (6, '\\') if is_high(digits(2)) => Escape::Goes,
        (6, _) => Escape::Ends { with: None },
        (7, 'u') => Escape::Goes,
        (7, _) => Escape::Splits,
        (8..=11, _) if !c.is_ascii_hexdigit() => Escape::Splits,
        (8..=11, _) => Escape::Goes,
        _ if is_low(digits(8)) => Escape::Ends { with: None },
        _ => Escape::Splits,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes everything.
    #[derive(Default)]
    struct All(String);

    impl Sink for All {
        fn begins(&mut self, _: &[Option<String>]) -> Use {
            Use::Write
        }
        fn write(&mut self, text: &str) {
            self.0.push_str(text);
        }
        fn holds(&self, path: &[Option<String>]) -> bool {
            path == [Some("held".to_owned())]
        }
    }

    #[test]
    fn the_written_text_is_the_value_at_every_cut() {
        for text in [
            r#" {"a" : [1, 2.50, -0, 1e400, NaN, true,null],"b\n":{},"c":[ ]} "#,
            r#""\ud83d\ude00 \ud800 \ud800\u0041 \ud800\ud83d\ude00 \ud800\n \/ \u00e9 é日 \u0000""#,
            r#"["\\", "\"", "\u007f", "\u0080"]"#,
            r#"{"held": {"a": [1.50, NaN], "b": "x"}, "after": 1, "held2": 2}"#,
            "[[[]], {\"\": {\"x\": \"\"}}]",
        ] {
            let want = json::read(text).unwrap().to_string();
            for (cut, _) in text.char_indices() {
                let (mut reader, mut all) = (PartialJson::default(), All::default());
                reader.push(&text[..cut], &mut all);
                assert!(want.starts_with(&all.0), "{:?} of {want:?}", all.0);
                reader.push(&text[cut..], &mut all);
                assert_eq!(all.0, want, "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn nothing_is_reported_after_an_error() {
        for text in ["[1 2", "{a", "[1,]x", "{\"a\":1,}", "\"\u{1}x", "tru,", "[01,", r#""\x"#, r#""\u12x"#, "]"] {
            let (mut reader, mut all) = (PartialJson::default(), All::default());
            reader.push(text, &mut all);
            assert_eq!(reader.expected, Expected::Broken, "{text:?}");
            let before = all.0.clone();
            reader.push("\"a\", 5]}", &mut all);
            assert_eq!(all.0, before);
        }
        let mut reader = PartialJson::default();
        reader.push(&"[".repeat(MAX_DEPTH + 1), &mut ());
        assert!(reader.is_broken());
    }

    #[test]
    fn a_value_is_incomplete_complete_or_broken() {
        for (text, is_complete, is_broken, length) in [
            (r#"{"a": [1, -2.5e+3, "x\"\u00e9"], "b": null}"#, true, false, 43),
            (r#"{"a": "#, false, false, 6),
            (" [] x", true, false, 3),
            ("1 2", true, false, 1),
            ("[-Infinity, NaN]", true, false, 16),
            ("{\"a\": \"\n", false, true, 7),
            ("[1,]", false, true, 3),
            ("{'a", false, true, 1),
            ("[01]", false, true, 3),
            ("[fini", false, true, 2),
            ("[nul", false, false, 4),
            ("{]", false, true, 1),
        ] {
            let mut reader = PartialJson::default();
            let read = reader.push(text, &mut ());
            assert_eq!((reader.is_complete(), reader.is_broken(), read), (is_complete, is_broken, length), "{text}");
        }
        let mut reader = PartialJson::default();
        reader.push(r#"{"a": "b"#, &mut ());
        assert!(reader.is_in_string());
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_reader(text in r#"[\{\[]["\[\]{}:, a1e.\-\\n]{0,12}"#) {
            let mut reader = PartialJson::default();
            let read = reader.push(&text, &mut ());
            prop_assert_eq!(reader.is_complete() && text[read..].trim().is_empty(), json::read(&text).is_ok());
        }
    }
}
