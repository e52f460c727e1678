//! The grammar of a call list, read piece by piece.

mod repairs;

use std::collections::HashSet;
use std::ops::Range;

pub(in crate::content) use repairs::tolerant_call_list;

use super::strings::{Escape, Text, unescaped};
use super::words::{constant_or_number, is_name};
use crate::content::recovery::RecoveryPolicy;
use backchat_core::text::slice;
use repairs::Tolerance;

/// How deep lists and dicts may nest in a value.
pub(super) const MAX_DEPTH: usize = 100;

/// Why a text is not a call list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub message: &'static str,
    /// The byte at which it shows.
    pub offset: usize,
}

/// Reads a call list that grows, and writes its JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallListReader {
    /// How many bytes were read.
    pub(super) at: usize,
    pub(super) expected: Expected,
    pub(super) token: Token,
    /// The containers around the current position.
    pub(super) open: Vec<Container>,
    pub(super) error: Option<Fault>,
    tolerance: Tolerance,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Expected {
    #[default]
    List,
    CallOrEnd,
    Call,
    Parenthesis,
    ArgumentOrEnd,
    Argument,
    Equals,
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    /// The list has ended.
    Nothing,
}

/// An open container, with the names in it so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Calls,
    Arguments(HashSet<String>),
    List,
    Dict(HashSet<String>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Token {
    #[default]
    None,
    /// A name, a number or a constant.
    Word(Range<usize>, String),
    Text(Text),
}

impl CallListReader {
    /// Reads more text, up to the first error, and appends its JSON.
    pub fn push(&mut self, text: &str, json: &mut String) {
        self.read_while(text, json, |_| true);
    }

    /// Reads more text, up to the end of the list or the first error; returns the number of bytes read.
    pub fn push_to_end(&mut self, text: &str) -> usize {
        self.read_while(text, &mut String::new(), |reader| !reader.is_complete())
    }

    /// Whether the list has ended.
    pub fn is_complete(&self) -> bool {
        self.expected == Expected::Nothing && !self.is_broken()
    }

    /// Whether no continuation of the text is a call list.
    pub fn is_broken(&self) -> bool {
        self.error.is_some()
    }

    /// Whether the text ends inside a string.
    pub fn is_in_string(&self) -> bool {
        matches!(self.token, Token::Text(_))
    }

    fn read_while(&mut self, text: &str, json: &mut String, goes_on: impl Fn(&Self) -> bool) -> usize {
        let mut rest = text;
        while self.error.is_none()
            && goes_on(self)
            && let Some(c) = rest.chars().next()
        {
            let length = match &mut self.token {
                Token::Text(_) => self.in_text(rest, c, json),
                Token::Word(range, word) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.') => {
                    word.push(c);
                    range.end += 1;
                    1
                }
                Token::Word(..) => {
                    self.end_word(json);
                    0
                }
                Token::None => self.between(c, json),
            };
            self.at += length;
            rest = slice(rest, length..);
        }
        text.len() - rest.len()
    }

    /// Ends the text. One that is not a whole list is a fault.
    pub(super) fn finish(&mut self) {
        if matches!(self.token, Token::Word(..)) {
            // What it says does not matter: the list has not ended.
            self.end_word(&mut String::new());
        }
        if self.expected != Expected::Nothing {
            let message = match &self.token {
                Token::Text(_) => "a string that does not end",
                _ => self.wanted(),
            };
            self.fail(message, self.at);
        }
    }

    /// Keeps the first error.
    fn fail(&mut self, message: &'static str, offset: usize) {
        self.error.get_or_insert(Fault { message, offset });
    }

    /// Between two tokens; returns the number of bytes read.
    fn between(&mut self, c: char, json: &mut String) -> usize {
        use Expected::*;
        match (self.expected, c) {
            (_, ' ' | '\t' | '\n' | '\r') => {}
            (List, '[') => self.begin(Container::Calls, CallOrEnd, json),
            (Parenthesis, '(') => {
                json.push_str(", \"arguments\": ");
                self.begin(Container::Arguments(HashSet::new()), ArgumentOrEnd, json);
            }
            (Equals, '=') | (Colon, ':') => {
                json.push_str(": ");
                self.expected = Value;
            }
            (Value | ValueOrEnd, '[' | '{') if self.depth() >= MAX_DEPTH => {
                self.fail("lists and dicts that nest more than 100 levels deep", self.at);
            }
            (Value | ValueOrEnd, '[') => self.begin(Container::List, ValueOrEnd, json),
            (Value | ValueOrEnd, '{') => self.begin(Container::Dict(HashSet::new()), KeyOrEnd, json),
            (Value | ValueOrEnd | Key | KeyOrEnd, '\'' | '"') => {
                let is_key = matches!(self.expected, Key | KeyOrEnd);
                let key = is_key.then(String::new);
                self.token = Token::Text(Text { quote: c, start: self.at, escape: String::new(), key });
                json.push('"');
            }
            (CommaOrEnd, ',') => {
                json.push_str(", ");
                self.expected = match self.open.last() {
                    Some(Container::Calls) => Call,
                    Some(Container::Arguments(_)) => Argument,
                    Some(Container::Dict(_)) => Key,
                    Some(Container::List) | None => Value,
                };
            }
            (CallOrEnd | ArgumentOrEnd | ValueOrEnd | KeyOrEnd | CommaOrEnd, ')' | ']' | '}') if self.ends_with(c) => {
                self.end(json);
            }
            (Nothing, ')' | ']' | '}') if self.tolerance.repairs_by(RecoveryPolicy::JsonBrackets) => {}
            (_, ')' | ']' | '}') if self.is_after_comma(c) && self.tolerance.repairs_by(RecoveryPolicy::JsonCommas) => {
                json.truncate(json.len() - ", ".len());
                self.end(json);
            }
            (CallOrEnd | Call | ArgumentOrEnd | Argument, 'A'..='Z' | 'a'..='z' | '_')
            | (Value | ValueOrEnd, 'A'..='Z' | 'a'..='z' | '_' | '-' | '0'..='9') => {
                self.token = Token::Word(self.at..self.at, String::new());
                return 0;
            }
            _ => self.fail(self.wanted(), self.at),
        }
        c.len_utf8()
    }

    /// The error at the current position: what was expected there.
    fn wanted(&self) -> &'static str {
        match self.expected {
            Expected::List => "expected `[`",
            Expected::CallOrEnd => "expected a function name or `]`",
            Expected::Call => "expected a function name",
            Expected::Parenthesis => "expected `(`",
            Expected::ArgumentOrEnd => "expected the name of an argument or `)`",
            Expected::Argument => "expected the name of an argument",
            Expected::Equals => "expected `=`: every argument has a name",
            Expected::Value | Expected::ValueOrEnd => {
                "expected a string, a number, a list, a dict, `True`, `False` or `None`"
            }
            Expected::KeyOrEnd | Expected::Key => "expected a string, which a key of a dict is",
            Expected::Colon => "expected `:`",
            Expected::CommaOrEnd => match self.open.last() {
                Some(Container::Arguments(_)) => "expected `,` or `)`",
                Some(Container::Dict(_)) => "expected `,` or `}`",
                _ => "expected `,` or `]`",
            },
            Expected::Nothing => "text after the end of the list",
        }
    }

    /// How many lists and dicts are open.
    fn depth(&self) -> usize {
        self.open.iter().filter(|open| matches!(open, Container::List | Container::Dict(_))).count()
    }

    fn begin(&mut self, container: Container, expected: Expected, json: &mut String) {
        json.push(if matches!(container, Container::Calls | Container::List) { '[' } else { '{' });
        self.open.push(container);
        self.expected = expected;
    }

    pub(super) fn ends_with(&self, c: char) -> bool {
        match self.open.last() {
            Some(Container::Calls | Container::List) => c == ']',
            Some(Container::Arguments(_)) => c == ')',
            Some(Container::Dict(_)) => c == '}',
            None => false,
        }
    }

    pub(super) fn end(&mut self, json: &mut String) {
        json.push_str(match self.open.pop() {
            Some(Container::Calls | Container::List) => "]",
            // The arguments, and the call.
            Some(Container::Arguments(_)) => "}}",
            Some(Container::Dict(_)) | None => "}",
        });
        self.end_value();
    }

    fn end_value(&mut self) {
        self.expected = if self.open.is_empty() { Expected::Nothing } else { Expected::CommaOrEnd };
    }

    pub(super) fn end_word(&mut self, json: &mut String) {
        let Token::Word(range, word) = std::mem::take(&mut self.token) else { return };
        match self.expected {
            Expected::Call | Expected::CallOrEnd if is_name(&word) => {
                json.push_str(&format!("{{\"name\": \"{word}\""));
                self.expected = Expected::Parenthesis;
            }
            Expected::Argument | Expected::ArgumentOrEnd if is_name(&word) => {
                json.push_str(&format!("\"{word}\""));
                self.expected = Expected::Equals;
                self.add_name(word, range.start);
            }
            Expected::Value | Expected::ValueOrEnd => match constant_or_number(&word) {
                Ok(value) => {
                    json.push_str(value);
                    self.end_value();
                }
                Err(message) => self.fail(message, range.start),
            },
            _ => self.fail("a name that does not end in a letter, a digit or `_`", range.end),
        }
    }

    /// Adds a name to the innermost container, which may hold each name once.
    fn add_name(&mut self, name: String, start: usize) {
        if let Some(Container::Arguments(names) | Container::Dict(names)) = self.open.last_mut()
            && !names.insert(name)
        {
            self.fail("a name that comes twice", start);
        }
    }

    /// Inside a string; returns the number of bytes read.
    fn in_text(&mut self, rest: &str, c: char, json: &mut String) -> usize {
        let Token::Text(text) = &mut self.token else { return 0 };
        let start = text.start;
        if !text.escape.is_empty() {
            return match text.continue_escape(c) {
                Escape::Continues => {
                    text.escape.push(c);
                    c.len_utf8()
                }
                Escape::Ends { with } => {
                    text.escape.extend(with);
                    match unescaped(&std::mem::take(&mut text.escape)) {
                        Some(character) => text.add(character.encode_utf8(&mut [0; 4]), json),
                        None => self.fail("a string with an escape that is not supported", start),
                    }
                    with.map_or(0, char::len_utf8)
                }
            };
        }
        match c {
            '\\' => {
                text.escape.push(c);
                1
            }
            '\n' | '\r' => {
                self.fail("a string that does not end in its line", start);
                1
            }
            _ if c == text.quote => {
                json.push('"');
                let Token::Text(text) = std::mem::take(&mut self.token) else { return 1 };
                match text.key {
                    Some(key) => {
                        self.expected = Expected::Colon;
                        self.add_name(key, start);
                    }
                    None => self.end_value(),
                }
                1
            }
            _ => {
                let quote = text.quote;
                let end = rest.find([quote, '\\', '\n', '\r']).unwrap_or(rest.len());
                text.add(slice(rest, ..end), json);
                end
            }
        }
    }
}
