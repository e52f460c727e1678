//! Finds events that are wrong or look wrong, and the part of the template that causes them.

use std::collections::HashMap;

use super::compact_value::CompactValue;
use super::markers::{Markers, is_close, written};
use super::message::{is_kept, joinable};
use super::recording::{Closed, Kind, Recording};
use backchat_core::json::{Object, Value};
use backchat_core::text::markers;
use backchat_parser::template::Field;

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
        close.value.is_ok() && field.is_some_and(|field| field.content.is_text())
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
