//! Finds events that are wrong or look wrong, and the part of the template that causes them.

use std::collections::{HashMap, HashSet};

use super::compact_value::CompactValue;
use super::message::{is_kept, joinable};
use super::recording::{Closed, Kind, Recording};
use backchat_core::json::{Object, Value};
use backchat_parser::template::{ContentSpec, Delimiter, Field, Template};

/// The keys of the delimiter that opens a field's region, and of the one that closes it.
pub const OPEN_KEYS: &[&str] = &["open", "open_pattern"];
pub const CLOSE_KEYS: &[&str] = &["close", "close_pattern"];

impl Recording {
    /// The events that make the message differ from the expected one: the ends of regions with another value, or with
    /// none.
    pub fn wrong_events(&self, expected: &Object) -> Vec<usize> {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        let mut joined: HashMap<usize, String> = HashMap::new();
        let given = self.closes.iter().filter(|close| close.value.is_ok());
        let last: HashMap<usize, u32> = given.filter_map(|close| Some((self.field_of(close)?, close.event))).collect();
        let mut is_right = |close: &Closed| {
            let Some(index) = self.field_of(close) else { return true };
            let Some(field) = self.field(index) else { return true };
            let Some(value) = close.value() else { return false };
            let is_last = last.get(&index) == Some(&close.event);
            if !field.repeats && !is_last {
                // Only the last value stays.
                return true;
            }
            let (value, wanted) = (value.read(), expected.get(&field.name));
            match &field.join {
                _ if !field.repeats => wanted == Some(&value) || (wanted.is_none() && !is_kept(&value)),
                None => {
                    let count = counts.entry(index).or_default();
                    *count += 1;
                    wanted.and_then(Value::as_list).and_then(|items| items.get(*count - 1)) == Some(&value)
                }
                // The joined text so far must be a prefix of the whole.
                Some(join) => {
                    let part = joinable(&value);
                    let before = joined.remove(&index).or_else(|| self.default_text(field));
                    let so_far = extended(before, join, part);
                    // An empty piece shows only as the join after it.
                    let join = if part.is_empty() && !is_last { join.as_str() } else { "" };
                    let begins = |whole: &str| whole.strip_prefix(&*so_far).is_some_and(|rest| rest.starts_with(join));
                    let is_right =
                        (so_far.is_empty() && join.is_empty()) || wanted.and_then(Value::as_str).is_some_and(begins);
                    joined.insert(index, so_far);
                    is_right
                }
            }
        };
        self.closes.iter().filter(|close| !is_right(close)).map(|close| close.event as usize).collect()
    }

    /// The value that a region should have given: the element of a list at its index, the rest of a joined text, or the
    /// whole value. `None` if nothing is expected there.
    pub fn expected_value(&self, expected: &Object, event: usize) -> Option<Value> {
        let index = self.close_index(event)?;
        let own = self.field_of(self.closes.get(index)?)?;
        let field = self.field(own)?;
        let wanted = expected.get(&field.name)?;
        let same_field = self.closes.iter().take(index).filter(|close| self.field_of(close) == Some(own));
        let before = same_field.filter_map(Closed::value);
        match &field.join {
            _ if !field.repeats => Some(wanted.clone()),
            None => wanted.as_list()?.get(before.count()).cloned(),
            Some(join) => {
                let whole = wanted.as_str()?;
                let extend = |text, value: &CompactValue| Some(extended(text, join, joinable(&value.read())));
                let Some(so_far) = before.fold(self.default_text(field), extend) else { return Some(whole.into()) };
                let rest = whole.strip_prefix(&*so_far)?;
                Some(rest.strip_prefix(&**join).unwrap_or(rest).into())
            }
        }
    }

    fn default_text(&self, field: &Field) -> Option<String> {
        self.template.defaults().get(&field.name).and_then(Value::as_str).map(str::to_owned)
    }

    /// The suspicious events if there is no expected message: regions that are malformed, that replace a value, that
    /// run to the end of the output because their close never comes, or whose text contains something like a delimiter.
    pub fn suspicious_events(&self) -> Vec<usize> {
        let mut markers = Markers::new(&self.template);
        let mut looks_wrong = |index: usize, close: &Closed| {
            let body = self.slice(close.body());
            close.value.is_err()
                || self.replaced_by(index).is_some()
                || self.ran_out(close)
                || (self.is_text(close) && markers.left_in(body).is_some())
        };
        let closes = self.closes.iter().enumerate().filter(|(index, close)| looks_wrong(*index, close));
        closes.map(|(_, close)| close.event as usize).collect()
    }

    /// Text left in a finished region that looks like a delimiter of the template, exactly or approximately.
    pub fn leftover(&self, event: usize) -> Option<&str> {
        let close = self.closed(event).filter(|close| self.is_text(close))?;
        Markers::new(&self.template).left_in(self.slice(close.body()))
    }

    /// The field, and the keys of its delimiter, that cause a wrong end of another field's region; `None` if the
    /// delimiters of its own field do.
    pub fn cause(&self, event: usize) -> Option<(usize, &'static [&'static str])> {
        let seen = self.event(event).filter(|seen| matches!(seen.kind, Kind::Close | Kind::Malformed))?;
        if self.is_unclosed(event) {
            return None;
        }
        if let Some(mark) = self.leftover(event) {
            let (field, closes) = self.delimiter_like(mark)?;
            return Some((field, if closes { CLOSE_KEYS } else { OPEN_KEYS }));
        }
        // An implicit region of only white space was left over by the close before it.
        let body = self.slice(seen.body);
        let opened = (0..event).rev().find(|at| self.event(*at).is_some_and(|seen| seen.kind == Kind::Open))?;
        let is_bare = self.event(opened).is_some_and(|seen| seen.span.is_empty());
        let before = opened.checked_sub(1).and_then(|before| self.event(before))?;
        let is_left = is_bare && !body.is_empty() && body.trim().is_empty() && before.kind != Kind::Open;
        is_left.then_some((before.field, CLOSE_KEYS))
    }

    /// The field whose delimiter is most similar to a marker, and whether it closes the field.
    fn delimiter_like(&self, marker: &str) -> Option<(usize, bool)> {
        let delimiters = self.template.fields().iter().enumerate().flat_map(|(index, field)| {
            let opens = field.open.iter().map(move |delimiter| (index, false, delimiter));
            opens.chain(field.close.iter().map(move |delimiter| (index, true, delimiter)))
        });
        let distances = delimiters.flat_map(|(index, closes, delimiter)| {
            let written = written(delimiter);
            let near: Vec<usize> = markers(&written)
                .filter(|known| is_close(known, marker))
                .map(|known| strsim::damerau_levenshtein(known, marker))
                .collect();
            near.into_iter().map(move |distance| (distance, index, closes))
        });
        distances.min().map(|(_, index, closes)| (index, closes))
    }

    fn is_text(&self, close: &Closed) -> bool {
        let field = self.field_of(close).and_then(|field| self.field(field));
        close.value.is_ok() && field.is_some_and(|field| matches!(field.content, ContentSpec::Text { .. }))
    }

    /// Whether a region ended with the output although its field has a close.
    pub fn is_unclosed(&self, event: usize) -> bool {
        self.closed(event).is_some_and(|close| self.ran_out(close))
    }

    fn ran_out(&self, close: &Closed) -> bool {
        let field = || self.field_of(close).and_then(|field| self.field(field));
        close.start as usize == self.text.len()
            && field().is_some_and(|field| field.open.is_some() && field.close.is_some())
    }
}

/// The field of an event, and the keys of the template that decided it.
pub fn acting(recording: &Recording, event: usize) -> Option<(usize, &'static [&'static str])> {
    let event = recording.event(event)?;
    let keys: &[&str] = match event.kind {
        Kind::Open => OPEN_KEYS,
        Kind::Close => CLOSE_KEYS,
        Kind::Malformed => &["content", "transform", "content_args"],
        Kind::Chunk => &[],
    };
    Some((event.field, keys))
}

/// A joined text with one more part.
fn extended(before: Option<String>, join: &str, part: &str) -> String {
    before.map_or_else(|| part.to_owned(), |before| before + join + part)
}

/// The markers that the delimiters of a template are made of: `<word>`, `</word>`, `<|word|>`, `[WORD]`.
struct Markers<'t> {
    known: Vec<String>,
    /// Markers that were found in a text and are not among these.
    others: HashSet<&'t str>,
}

/// The longest marker, in bytes.
const LONGEST_MARKER: usize = 64;

/// The most markers of a text that are examined.
const MOST_MARKERS: usize = 10_000;

impl<'t> Markers<'t> {
    fn new(template: &Template) -> Self {
        let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
        let known =
            delimiters.flat_map(|delimiter| markers(&written(delimiter)).map(str::to_owned).collect::<Vec<_>>());
        Self { known: known.collect(), others: HashSet::new() }
    }

    /// The first marker of a text that is one of these, or nearly.
    fn left_in(&mut self, text: &'t str) -> Option<&'t str> {
        let mut left = markers(text).take(if self.known.is_empty() { 0 } else { MOST_MARKERS });
        left.find(|marker| {
            if self.others.contains(marker) {
                return false;
            }
            let is_left = self.known.iter().any(|known| is_close(known, marker));
            if !is_left && self.others.len() < MOST_MARKERS {
                self.others.insert(marker);
            }
            is_left
        })
    }
}

/// The text of a delimiter in which markers are searched.
fn written(delimiter: &Delimiter) -> String {
    match delimiter {
        Delimiter::Literals { literals, .. } => literals.join("\n"),
        // The name of a group is not a marker, and an escape means the character after it.
        Delimiter::Pattern(pattern) => pattern.source().replace("(?P<", "(").replace('\\', ""),
    }
}

/// Whether two markers are equal up to one typo per four characters.
fn is_close(one: &str, other: &str) -> bool {
    let (first, second) = (one.chars().count(), other.chars().count());
    let most = first.max(second) / 4;
    one.starts_with('<') == other.starts_with('<')
        && first.abs_diff(second) <= most
        && strsim::damerau_levenshtein(one, other) <= most
}

fn markers(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices(['<', '[']);
    starts.filter_map(move |(at, open)| {
        let rest = text.get(at..)?;
        let close = if open == "<" { '>' } else { ']' };
        let end = rest
            .char_indices()
            .skip(1)
            .take_while(|(at, _)| *at < LONGEST_MARKER)
            .find(|(_, c)| *c == close || c.is_whitespace() || matches!(c, '<' | '[' | '"' | '\'' | ','))?;
        let marker = rest.get(..=end.0).filter(|_| end.1 == close)?;
        let has_word = marker.chars().filter(|c| c.is_alphabetic()).count() > 1;
        let is_loud = open == "<" || !marker.chars().any(char::is_lowercase);
        (has_word && is_loud).then_some(marker)
    })
}
