//! Matches of a pattern in a whole text with all groups, named or not, within a step budget.

use super::haystack::{Edge, Haystack};
use super::{Pattern, Search, SearchResult, TooMuchWork};

/// The matches of a pattern in a text, left to right, as `finditer` of Python's `re` gives them.
pub struct Scan<'t> {
    pattern: Pattern,
    text: &'t str,
    search: Search,
}

/// A match, by the places of its groups.
pub struct Taken<'t> {
    text: &'t str,
    span: (usize, usize),
    groups: Vec<Option<(usize, usize)>>,
}

impl Pattern {
    /// Scans a text with a budget of steps for all of its matches.
    pub fn scan<'t>(&self, text: &'t str, budget: u64) -> Scan<'t> {
        Scan { pattern: self.clone(), text, search: Search::with_budget(budget) }
    }

    /// How many groups it has, the whole match not counted.
    pub fn group_count(&self) -> usize {
        (self.program().slots / 2).saturating_sub(1)
    }
}

impl<'t> Scan<'t> {
    /// The next match; `None` if there are no more.
    pub fn next(&mut self) -> Result<Option<Taken<'t>>, TooMuchWork> {
        let hay = Haystack { text: self.text, base: 0, edge: Edge::End };
        let SearchResult::Match { start, end } = self.search.advance(&self.pattern, hay)? else { return Ok(None) };
        let groups = (1..=self.pattern.group_count()).map(|group| self.search.group(group)).collect();
        self.search.begin(&self.pattern, end, start == end);
        Ok(Some(Taken { text: self.text, span: (start, end), groups }))
    }

    /// How many steps it has taken.
    pub fn spent(&self) -> u64 {
        self.search.spent()
    }
}

impl<'t> Taken<'t> {
    /// The start and end of the match, in bytes.
    pub fn span(&self) -> (usize, usize) {
        self.span
    }

    /// The text of a group by its number, 0 being the whole match; `None` if the group did not take part.
    pub fn group(&self, number: usize) -> Option<&'t str> {
        let (start, end) = match number.checked_sub(1) {
            None => self.span,
            Some(group) => (*self.groups.get(group)?)?,
        };
        self.text.get(start..end)
    }
}
