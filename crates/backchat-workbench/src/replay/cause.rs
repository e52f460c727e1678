//! Locates the part of the template that causes a wrong event, as far as its text shows.

use super::recording::{Kind, Recording};

/// The keys of a field that open its region, or close it.
const OPEN: &[&str] = &["open", "open_pattern"];
const CLOSE: &[&str] = &["close", "close_pattern"];

impl Recording {
    /// The field, and the keys of its delimiter, that cause a wrong end of another field's region; `None` if the
    /// delimiters of its own field do.
    pub fn cause(&self, event: usize) -> Option<(usize, &'static [&'static str])> {
        let seen = self.event(event).filter(|seen| matches!(seen.kind, Kind::Close | Kind::Malformed))?;
        if self.is_unclosed(event) {
            return None;
        }
        if let Some(mark) = self.leftover(event) {
            let (field, closes) = self.delimiter_like(mark)?;
            return Some((field, if closes { CLOSE } else { OPEN }));
        }
        // An implicit region of only white space was left over by the close before it.
        let body = self.slice(seen.body);
        let opened = (0..event).rev().find(|at| self.event(*at).is_some_and(|seen| seen.kind == Kind::Open))?;
        let is_bare = self.event(opened).is_some_and(|seen| seen.span.is_empty());
        let before = opened.checked_sub(1).and_then(|before| self.event(before))?;
        let is_left = is_bare && !body.is_empty() && body.trim().is_empty() && before.kind != Kind::Open;
        is_left.then_some((before.field, CLOSE))
    }
}
