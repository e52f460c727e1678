//! Reads JSON as Python's `json.loads` does. Depth is bounded; an error has the byte at which the text is wrong.

use std::borrow::Cow;
use std::ops::Range;

use smol_str::SmolStr;

use super::place::Below;
use super::plain::read_length;
use super::{Map, Number, Object, Places, Value};
use crate::text::slice;

/// Why a text is not JSON, and the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    offset: usize,
    kind: ErrorKind,
}

/// The kind of problem of a text that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not written as JSON is.
    Syntax,
    /// Arrays and objects nest too deep.
    TooDeep,
}

impl Error {
    /// The problem, without its position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The kind of problem.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The byte at which it is wrong.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} (at byte {})", self.message, self.offset)
    }
}

impl std::error::Error for Error {}

/// How deep arrays and objects may nest: Python's `json.loads` gives up at about this depth.
pub const MAX_DEPTH: usize = 990;

/// The most room reserved at once for the rest of a string with escapes; a longer one grows while it is read.
const MAX_ROOM: usize = 4096;

/// Reads one JSON value, as `json.loads` does.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::json;
///
/// let value = json::read(r#"{"big": 123456789012345678901234567890, "price": 1.50}"#)?;
/// assert_eq!(value.to_string(), r#"{"big": 123456789012345678901234567890, "price": 1.50}"#);
/// assert_eq!(json::read("[1,]").unwrap_err().offset(), 3);
/// # Ok::<(), json::Error>(())
/// ```
pub fn read(text: &str) -> Result<Value, Error> {
    JsonReader::new(text).document()
}

/// Reads one JSON value, and whether an object in it has a key twice.
pub fn read_noting_duplicates(text: &str) -> Result<(Value, bool), Error> {
    let mut reader = JsonReader::new(text);
    let value = reader.document()?;
    Ok((value, reader.has_duplicates))
}

/// Reads one JSON value, and the positions of it and everything below it.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::json::{Path, read_with_places};
///
/// let text = r#"{"fields": {"a": [1, 2]}}"#;
/// let (_, places) = read_with_places(text)?;
/// let path = Path::root().key("fields").key("a").index(1);
/// assert_eq!(path.to_string(), "fields.a[1]");
/// assert_eq!(&text[places.at(&path).unwrap().value.clone()], "2");
/// # Ok::<(), backchat::json::Error>(())
/// ```
pub fn read_with_places(text: &str) -> Result<(Value, Places), Error> {
    let mut reader = JsonReader { places: Some(Vec::new()), ..JsonReader::new(text) };
    let value = reader.document()?;
    Ok((value, reader.taken_places()))
}

/// The value that begins at a byte of a larger text, and the byte at which it ends.
pub fn value_at(text: &str, start: usize) -> Option<(Value, usize)> {
    let mut reader = JsonReader { at: start, ..JsonReader::new(text) };
    let value = reader.value().ok()?;
    Some((value, reader.at))
}

/// Reads the value that begins at a byte of a larger text; its places are those in the larger text.
pub fn read_with_places_at(text: &str, start: usize) -> Result<(Value, Places), Error> {
    let mut reader = JsonReader { at: start, places: Some(Vec::new()), ..JsonReader::new(text) };
    let value = reader.value()?;
    Ok((value, reader.taken_places()))
}

/// One entry of an object, by the bytes it takes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// The bytes of the key, quotes included.
    pub key: Range<usize>,
    /// The bytes of its value.
    pub value: Range<usize>,
}

/// The bytes of a document's value and, if it is an object, its entries in the order of the text. The whole text is
/// checked, and nothing of the values is kept.
pub fn read_entries(text: &str) -> Result<(Range<usize>, Option<Vec<Entry>>), Error> {
    let mut reader = JsonReader { entries: Some(Vec::new()), ..JsonReader::new(text) };
    reader.begin()?;
    let start = reader.at;
    let is_object = reader.peek() == Some(b'{');
    reader.value()?;
    let end = reader.at;
    reader.finish()?;
    Ok((start..end, reader.entries.filter(|_| is_object)))
}

struct JsonReader<'t> {
    text: &'t str,
    at: usize,
    /// The places of values read and not yet taken up by the list or object around them.
    places: Option<Vec<Places>>,
    /// The entries of the outermost object, if only they are requested: values are checked and dropped.
    entries: Option<Vec<Entry>>,
    /// Whether an object had a key that it had before.
    has_duplicates: bool,
}

/// A list or object whose end has not come.
struct Open {
    start: usize,
    parts: Parts,
}

enum Parts {
    List {
        items: Vec<Value>,
        /// The number of places that belong to values outside the list.
        outer: usize,
    },
    Object(OpenObject),
}

#[derive(Default)]
struct OpenObject {
    entries: Object,
    /// The places of its entries, if requested.
    places: Option<Box<EntryPlaces>>,
    /// The key of the value that is read now, the bytes of the key, and where the value starts.
    key: SmolStr,
    key_place: Range<usize>,
    value_start: usize,
}

#[derive(Default)]
struct EntryPlaces {
    below: Map<Places>,
    overridden: Vec<(String, Range<usize>)>,
}

impl Open {
    fn closing(&self) -> u8 {
        match self.parts {
            Parts::List { .. } => b']',
            Parts::Object(_) => b'}',
        }
    }
}

impl<'t> JsonReader<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, places: None, entries: None, has_duplicates: false }
    }

    fn taken_places(self) -> Places {
        self.places.and_then(|mut done| done.pop()).unwrap_or_default()
    }

    fn document(&mut self) -> Result<Value, Error> {
        self.begin()?;
        let value = self.value()?;
        self.finish()?;
        Ok(value)
    }

    fn begin(&mut self) -> Result<(), Error> {
        if self.text.starts_with('\u{FEFF}') {
            return Err(self.error("the text begins with a byte order mark, which JSON does not allow"));
        }
        self.skip_space();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.skip_space();
        match self.at < self.text.len() {
            true => Err(self.error("text after the end of the value")),
            false => Ok(()),
        }
    }

    fn rest(&self) -> &'t str {
        slice(self.text, self.at..)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, message: &str) -> Error {
        Error { message: message.to_owned(), offset: self.at, kind: ErrorKind::Syntax }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The value that begins here. Open lists and objects are kept in a list, not on the stack: the deepest allowed
    /// value can be read in any thread, optimized or not.
    fn value(&mut self) -> Result<Value, Error> {
        // The innermost is kept apart, so most texts need no list.
        let (mut innermost, mut outer) = (None::<Open>, Vec::new());
        let mut depth = 0;
        'values: loop {
            let mut value = match self.peek() {
                Some(b'[' | b'{') => {
                    let mut nested = self.opened(depth)?;
                    match self.peek() == Some(nested.closing()) {
                        true => self.closed(&mut nested),
                        false => {
                            self.key(&mut nested)?;
                            outer.extend(innermost.replace(nested));
                            depth += 1;
                            continue 'values;
                        }
                    }
                }
                _ => self.scalar()?,
            };
            while let Some(around) = &mut innermost {
                self.put(around, value, depth);
                if self.goes_on(around)? {
                    continue 'values;
                }
                value = self.closed(around);
                innermost = outer.pop();
                depth -= 1;
            }
            return Ok(value);
        }
    }

    fn scalar(&mut self) -> Result<Value, Error> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'"') => Value::String(self.string()?.into_owned()),
            Some(b'-') if self.rest().starts_with("-Infinity") => self.word("-Infinity", number("-Infinity"))?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'N') => self.word("NaN", number("NaN"))?,
            Some(b'I') => self.word("Infinity", number("Infinity"))?,
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the text ends before a value")),
        };
        self.placed(start, Below::Nothing, Vec::new());
        Ok(value)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Error> {
        if !self.rest().starts_with(word) {
            return Err(self.error("expected a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn placed(&mut self, start: usize, below: Below, overridden: Vec<(String, Range<usize>)>) {
        let value = start..self.at;
        if let Some(done) = &mut self.places {
            done.push(Places::new(value, below, overridden));
        }
    }

    /// The list or object that opens here, up to its first item.
    fn opened(&mut self, depth: usize) -> Result<Open, Error> {
        if depth >= MAX_DEPTH {
            let error = self.error(&format!("lists and objects nest more than {MAX_DEPTH} deep here"));
            return Err(Error { kind: ErrorKind::TooDeep, ..error });
        }
        let start = self.at;
        let parts = match self.peek() {
            Some(b'[') => Parts::List { items: Vec::new(), outer: self.places.as_ref().map_or(0, Vec::len) },
            _ => {
                let places = self.places.as_ref().map(|_| Box::default());
                Parts::Object(OpenObject { places, ..OpenObject::default() })
            }
        };
        self.at += 1;
        self.skip_space();
        Ok(Open { start, parts })
    }

    /// Puts a value into the list or object around it.
    fn put(&mut self, around: &mut Open, value: Value, depth: usize) {
        let is_kept = self.entries.is_none();
        match &mut around.parts {
            Parts::List { items, .. } if is_kept => items.push(value),
            Parts::List { .. } => {}
            Parts::Object(object) => {
                let (key, place) = (std::mem::take(&mut object.key), object.key_place.clone());
                if let Some(entry) = &mut object.places
                    && let Some(mut places) = self.places.as_mut().and_then(Vec::pop)
                {
                    places.key = Some(place.clone());
                    if let Some(Places { key: Some(earlier), .. }) = entry.below.insert(key.clone(), places) {
                        entry.overridden.push((key.clone().into(), earlier));
                    }
                }
                match &mut self.entries {
                    None => self.has_duplicates |= object.entries.insert(key, value).is_some(),
                    Some(outermost) if depth == 1 => {
                        outermost.push(Entry { name: key.into(), key: place, value: object.value_start..self.at });
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Whether another item follows, and not the end of the list or object.
    fn goes_on(&mut self, around: &mut Open) -> Result<bool, Error> {
        self.skip_space();
        match (self.peek(), &around.parts) {
            (Some(b','), _) => {
                self.at += 1;
                self.skip_space();
                self.key(around)?;
                Ok(true)
            }
            (Some(byte), _) if byte == around.closing() => Ok(false),
            (None, Parts::List { .. }) => Err(self.error("the text ends inside a list")),
            (None, Parts::Object(_)) => Err(self.error("the text ends inside an object")),
            (Some(_), Parts::List { .. }) => Err(self.error("expected `,` or `]`")),
            (Some(_), Parts::Object(_)) => Err(self.error("expected `,` or `}`")),
        }
    }

    /// Reads the key and the colon in front of an object's next value.
    fn key(&mut self, around: &mut Open) -> Result<(), Error> {
        let Parts::Object(object) = &mut around.parts else { return Ok(()) };
        let start = self.at;
        match self.peek() {
            Some(b'"') => {}
            None => return Err(self.error("the text ends inside an object")),
            Some(_) => return Err(self.error("expected a key in double quotes")),
        }
        object.key = self.string()?.into();
        object.key_place = start..self.at;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.error("expected `:` after the key"));
        }
        self.at += 1;
        self.skip_space();
        object.value_start = self.at;
        Ok(())
    }

    /// Closes a list or object at its bracket.
    fn closed(&mut self, whole: &mut Open) -> Value {
        self.at += 1;
        match &mut whole.parts {
            Parts::List { items, outer } => {
                let below = self.places.as_mut().map(|done| Below::List(done.split_off(*outer)));
                self.placed(whole.start, below.unwrap_or_default(), Vec::new());
                Value::List(std::mem::take(items))
            }
            Parts::Object(object) => {
                if let Some(entry) = object.places.take() {
                    self.placed(whole.start, Below::Object(entry.below), entry.overridden);
                }
                Value::Object(std::mem::take(&mut object.entries))
            }
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error("expected a digit")),
        }
        let bytes = self.text.as_bytes();
        if self.peek() == Some(b'.') && bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            let sign = usize::from(matches!(bytes.get(self.at + 1), Some(b'+' | b'-')));
            if bytes.get(self.at + 1 + sign).is_some_and(u8::is_ascii_digit) {
                self.at += 1 + sign;
                self.digits();
            }
        }
        Ok(number(slice(self.text, start..self.at)))
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Error> {
        let start = self.at;
        self.at += 1;
        let plain = self.plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = String::with_capacity(plain.len() + self.room());
        out.push_str(plain);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => return Err(self.error("a control character must be escaped in a string")),
                None => {
                    return Err(Error {
                        message: "the string is never closed".to_owned(),
                        offset: start,
                        kind: ErrorKind::Syntax,
                    });
                }
            }
            let plain = self.plain();
            out.push_str(plain);
        }
    }

    /// Skips the characters of a string that need no escape.
    fn plain(&mut self) -> &'t str {
        let rest = self.rest();
        let length = read_length(rest.as_bytes());
        self.at += length;
        slice(rest, ..length)
    }

    /// How much room to make at once for the rest of a string, which is never longer than it is written.
    fn room(&self) -> usize {
        let rest = self.rest().as_bytes();
        let mut rest = rest.get(..MAX_ROOM).unwrap_or(rest);
        let mut room = 0;
        loop {
            let plain = read_length(rest);
            room += plain;
            match rest.get(plain) {
                Some(b'\\') => room += 1,
                _ => return room,
            }
            rest = rest.get(plain + 2..).unwrap_or_default();
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Error> {
        let plain = match self.text.as_bytes().get(self.at + 1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'u') => return self.unicode_escape(out),
            _ => return Err(self.error("unknown escape; a backslash itself is written `\\\\`")),
        };
        out.push(plain);
        self.at += 2;
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut String) -> Result<(), Error> {
        let high = self.four_digits(self.at)?;
        self.at += 6;
        let mut code = high;
        if (0xD800..0xDC00).contains(&high) && self.rest().starts_with("\\u") {
            let low = self.four_digits(self.at)?;
            if (0xDC00..0xE000).contains(&low) {
                self.at += 6;
                code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            }
        }
        out.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
        Ok(())
    }

    fn four_digits(&self, at: usize) -> Result<u32, Error> {
        self.text
            .get(at + 2..at + 6)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.error("`\\u` needs four hexadecimal digits"))
    }
}

fn number(text: &str) -> Value {
    Value::Number(Number::from_text(text))
}

#[cfg(test)]
mod tests {
    use super::super::Path;
    use super::*;

    /// Whoever embeds the parser may run it unoptimized, in a thread with little stack.
    #[test]
    fn the_deepest_value_is_read_with_little_stack() {
        let read = || {
            let text = format!("{}{}{}{}", "[{\"a\":".repeat(495), 1, "}]".repeat(494), "}]");
            let (value, places) = read_with_places(&text).unwrap();
            assert_eq!(value.to_string().matches('[').count(), 495);
            assert_eq!(places.value, 0..text.len());
            assert_eq!(super::read(&"[".repeat(100_000)).unwrap_err().kind(), ErrorKind::TooDeep);
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().unwrap();
    }

    #[test]
    fn places_of_a_value_count_from_the_start_of_the_text() {
        let text = r#"{"a": 1, "b": {"e": {}}, "c": 2}"#;
        let (_, entries) = read_entries(text).unwrap();
        let (value, places) = read_with_places_at(text, entries.unwrap()[1].value.start).unwrap();
        assert_eq!(value.to_string(), r#"{"e": {}}"#);
        assert_eq!(&text[places.at(&Path::root().key("e")).unwrap().value.clone()], "{}");
    }
}
