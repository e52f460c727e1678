//! The part of a growing text that a decision may see. It does not depend on how the text is cut.

use super::{NoResult, Verdict};
use crate::content::Capture;
use crate::parser::part::part;
use crate::pattern::{Pattern, Search, SearchResult};

/// The most characters held for a decision.
pub(in crate::parser) const HELD: usize = 65_536;

/// The most bytes of a marker that is searched for at one place.
const MARKER: usize = 1024;

/// Held text, and whether it is complete.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct View<'t> {
    text: &'t str,
    base: usize,
    is_whole: bool,
}

impl<'t> View<'t> {
    /// Text that begins at a base. `is_whole` says that no more comes.
    pub fn new(text: &'t str, base: usize, is_whole: bool) -> Self {
        Self { text, base, is_whole }
    }

    /// The part that a decision holding text from a position may see, and whether that is less than all text.
    pub fn within_hold(self, start: usize) -> (Self, bool) {
        let held = self.from(start);
        if held.len() <= HELD {
            return (self, false);
        }
        match held.char_indices().nth(HELD) {
            Some((length, _)) => {
                let text = part(self.text, 0..start - self.base + length);
                (Self { text, is_whole: false, ..self }, true)
            }
            None => (self, false),
        }
    }

    /// The part before a position, treated as complete.
    pub fn up_to(self, end: usize) -> Self {
        Self { text: part(self.text, 0..end.saturating_sub(self.base).min(self.text.len())), is_whole: true, ..self }
    }

    pub fn end(self) -> usize {
        self.base + self.text.len()
    }

    /// Whether no more comes.
    pub fn is_whole(self) -> bool {
        self.is_whole
    }

    pub fn from(self, start: usize) -> &'t str {
        part(self.text, start.saturating_sub(self.base)..self.text.len())
    }

    pub fn slice(self, start: usize, end: usize) -> &'t str {
        part(self.text, start.saturating_sub(self.base)..end.saturating_sub(self.base))
    }

    /// The place of the first character that is not blank, from a place on.
    pub fn after_blanks(self, start: usize) -> usize {
        let text = self.from(start);
        start + text.len() - text.trim_start().len()
    }

    /// The next match of a pattern from a place on.
    pub fn find(self, pattern: &Pattern, search: &mut Search, from: usize) -> SearchResult {
        search.move_to(pattern, from);
        // A search that exceeds its step limit finds nothing here; the parser's own search reports it.
        search.resume(pattern, self.text, self.base, self.is_whole).unwrap_or(SearchResult::Nothing)
    }

    /// The named captures of the match that a search found.
    pub fn captures(self, pattern: &Pattern, search: &Search) -> Vec<Capture> {
        let groups = pattern.named_groups().iter();
        let taken = groups.filter_map(|(name, group)| {
            let (start, end) = search.group(*group as usize)?;
            Some(Capture { name: name.clone(), text: self.slice(start, end).to_owned() })
        });
        taken.collect()
    }

    /// The named captures of the match at a position, which is known to be there.
    pub fn captures_at(self, pattern: &Pattern, start: usize) -> Vec<Capture> {
        if pattern.named_groups().is_empty() {
            return Vec::new();
        }
        let mut search = Search::default();
        search.begin(pattern, start, false);
        match search.resume(pattern, self.text, self.base, true) {
            Ok(SearchResult::Match { start: found, .. }) if found == start => self.captures(pattern, &search),
            _ => Vec::new(),
        }
    }

    /// The match of a pattern at a position that only blanks precede from `from` on.
    pub fn marker(self, pattern: &Pattern, from: usize) -> Verdict<(usize, usize)> {
        let place = self.after_blanks(from);
        let end = place - self.base + MARKER;
        let (text, is_all) = match self.text.len() > end {
            true => (part(self.text, 0..self.text.ceil_char_boundary(end)), false),
            false => (self.text, true),
        };
        let mut search = Search::default();
        search.begin(pattern, from, false);
        match search.resume(pattern, text, self.base, self.is_whole || !is_all) {
            Ok(SearchResult::Match { start, end }) if start <= place && end > place => Ok((start, end)),
            Ok(SearchResult::Waits { start }) if start <= place => Err(NoResult::Waits),
            _ => Err(NoResult::IsNot),
        }
    }
}
