//! Finds the next delimiter.

use std::sync::Arc;

use super::part::part;
use super::plan::{DelimiterPlan, Glance, Plan, Signs, Watch};
use super::recovery::View;
use crate::content::{Capture, Mode};
use crate::pattern::{Pattern, Search, SearchResult, TooMuchWork};

/// New text up to this length is examined byte by byte.
const GLANCE: usize = 64;

/// Held text up to this length is rescanned backwards. Beyond it the searches, which resume where they stopped,
/// decide: otherwise every feed of a long run would rescan all of it.
const HELD: usize = 256;

/// The text a parser holds.
///
/// Places count from the beginning of all text. Callers may ask only for text that is held: [`Buffer::trim`] drops
/// neither text that is not yet released, nor the body of the open region, nor text within the reach of the delimiters
/// before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    text: String,
    /// How many bytes before it have been dropped.
    base: usize,
}

impl Buffer {
    /// A buffer that begins with this text, or reuses its allocation.
    pub fn new(text: String) -> Self {
        Self { text, base: 0 }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    #[inline]
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    #[inline]
    pub fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// The place after the character at a place.
    pub fn after(&self, place: usize) -> usize {
        place + self.slice(place, self.end()).chars().next().map_or(1, char::len_utf8)
    }

    /// The text between two places that are held.
    #[inline]
    pub fn slice(&self, start: usize, end: usize) -> &str {
        debug_assert!(start >= self.base, "{start} was requested, but the text before {} is dropped", self.base);
        part(&self.text, start.saturating_sub(self.base)..end.saturating_sub(self.base))
    }

    /// All held text; `is_whole` says that no more text comes.
    pub fn view(&self, is_whole: bool) -> View<'_> {
        View::new(&self.text, self.base, is_whole)
    }

    /// Drops the text more than that many characters before a place, once that is worth copying the rest.
    pub fn trim(&mut self, place: usize, reach: Option<usize>) {
        let Some(reach) = reach else { return };
        let mut keep = place.saturating_sub(reach.saturating_mul(4)).saturating_sub(self.base);
        if keep < 4096 || keep < self.text.len() / 2 {
            return;
        }
        while !self.text.is_char_boundary(keep) {
            keep -= 1;
        }
        self.text.drain(..keep);
        self.base += keep;
    }
}

/// A delimiter that counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delimited {
    pub delimiter: usize,
    pub start: usize,
    pub end: usize,
}

/// The result of a scan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scanned {
    /// The next delimiter.
    Next(Delimited),
    /// None yet; the text up to this place belongs to no delimiter.
    Free(usize),
}

impl Scanned {
    /// The end of the free text, and the delimiter there.
    pub fn limit(&self) -> (usize, Option<Delimited>) {
        match self {
            Scanned::Next(next) => (next.start, Some(*next)),
            Scanned::Free(place) => (*place, None),
        }
    }
}

/// The searches for all delimiters of a template.
#[derive(Clone, Debug)]
pub struct Scan {
    searches: Vec<Search>,
    mode: Mode,
    /// No watched delimiter can begin before this place.
    clear_to: usize,
    /// Whether no watched delimiter has begun, except for leading runs.
    quiet: bool,
    /// The signs of the delimiters that were watched last: most feeds need nothing else of the plan.
    signs: Arc<Signs>,
    /// The zero-width opens taken at a place; each counts once there.
    taken: (usize, Vec<usize>),
}

/// A delimiter whose search exceeded its step limit.
pub(super) struct Exhausted {
    pub delimiter: usize,
}

impl Scan {
    /// The searches for another text, reusing the buffers of earlier ones.
    pub fn new(plan: &Plan, mode: Mode, mut searches: Vec<Search>) -> Self {
        searches.resize_with(plan.delimiters.len(), Search::default);
        for (search, delimiter) in searches.iter_mut().zip(&plan.delimiters) {
            search.renew(Self::ignores_empty(plan, delimiter, mode));
        }
        Self {
            searches,
            mode,
            clear_to: 0,
            quiet: plan.outside.is_quiet_at_first(),
            signs: plan.outside.signs.clone(),
            taken: (0, Vec::new()),
        }
    }

    /// In stable mode an empty match never closes the implicit field: it would end a region without consuming text, and
    /// the text after it would replace the region in the message, or vanish.
    fn ignores_empty(plan: &Plan, delimiter: &DelimiterPlan, mode: Mode) -> bool {
        mode == Mode::Stable && delimiter.closes && plan.implicit == Some(delimiter.field)
    }

    pub fn into_searches(self) -> Vec<Search> {
        self.searches
    }

    /// Finds the next of the watched delimiters from a position on.
    pub fn next(
        &mut self,
        plan: &Plan,
        watch: &Watch,
        buffer: &Buffer,
        from: usize,
        ended: bool,
    ) -> Result<Scanned, Exhausted> {
        let mut hold = buffer.end();
        let mut best: Option<Delimited> = None;
        let mut first_waits = false;
        for &delimiter in &watch.delimiters {
            let found =
                self.find(plan, delimiter, buffer, from, ended).map_err(|TooMuchWork| Exhausted { delimiter })?;
            match found {
                SearchResult::Nothing => {}
                SearchResult::Waits { start } => {
                    hold = hold.min(start);
                    first_waits |= watch.is_first(delimiter);
                }
                SearchResult::Match { start, end } => {
                    let better = |best: &Delimited| start < best.start || (start == best.start && end > best.end);
                    if best.as_ref().is_none_or(better) {
                        best = Some(Delimited { delimiter, start, end });
                    }
                }
            }
        }
        self.clear_to = 0;
        let held = buffer.slice(hold, buffer.end());
        // Before the first character, no search has found the delimiters that match only at the beginning of the text.
        first_waits |= buffer.end() == 0 && !watch.is_quiet_at_first();
        self.quiet = best.is_none() && !first_waits && held.len() <= HELD && watch.signs.look_at(held) != Glance::Sign;
        if !Arc::ptr_eq(&self.signs, &watch.signs) {
            self.signs = watch.signs.clone();
        }
        Ok(match best {
            Some(best) if best.start < hold => Scanned::Next(best),
            Some(best) => Scanned::Free(hold.min(best.start)),
            None => Scanned::Free(hold),
        })
    }

    fn find(
        &mut self,
        plan: &Plan,
        delimiter: usize,
        buffer: &Buffer,
        from: usize,
        ended: bool,
    ) -> Result<SearchResult, TooMuchWork> {
        let (Some(search), Some(plan)) = (self.searches.get_mut(delimiter), plan.delimiters.get(delimiter)) else {
            return Ok(SearchResult::Nothing);
        };
        let pattern = &plan.pattern;
        if self.mode == Mode::Stable {
            search.move_to(pattern, from);
            search.clear_to(self.clear_to);
            return search.resume(pattern, &buffer.text, buffer.base, ended);
        }
        let found = search.look(pattern, from, &buffer.text, buffer.base, ended)?;
        Ok(match found {
            SearchResult::Match { start, end } if !ended && end == buffer.end() && (start == end || plan.can_grow) => {
                SearchResult::Waits { start }
            }
            found => found,
        })
    }

    /// Whether a delimiter has an empty match at a place, in the text up to another.
    pub fn has_empty_match(pattern: &Pattern, buffer: &Buffer, place: usize, end: usize) -> bool {
        let text = buffer.slice(buffer.base, end);
        let mut search = Search::default();
        search.begin(pattern, place, false);
        pattern.can_be_empty()
            && search.resume(pattern, text, buffer.base, true) == Ok(SearchResult::Match { start: place, end: place })
    }

    /// Whether a delimiter that matches at a place does so only because the text ends, as `\}(?:<end>|$)` may. A match
    /// before a noncharacter, which no marker spells, would be there in a longer text, too.
    pub fn needs_end(pattern: &Pattern, buffer: &Buffer, place: usize) -> bool {
        if !pattern.asks_for_end() {
            return false;
        }
        let longer = format!("{}\u{10FFFF}", buffer.text);
        let mut search = Search::default();
        search.begin(pattern, place, false);
        let found = search.resume(pattern, &longer, buffer.base, true);
        !matches!(found, Ok(SearchResult::Match { start, .. }) if start == place)
    }

    /// Skips an empty match: the delimiter's next match counts instead.
    pub fn pass_over(&mut self, plan: &Plan, passed: Delimited) {
        if let (Some(search), Some(plan)) =
            (self.searches.get_mut(passed.delimiter), plan.delimiters.get(passed.delimiter))
        {
            search.begin(&plan.pattern, passed.start, true);
        }
    }

    /// Records that an empty open is taken at its position; true if it was not taken there before.
    pub fn insert_taken(&mut self, open: Delimited) -> bool {
        if self.taken.0 != open.start {
            self.taken = (open.start, Vec::new());
        }
        let is_new = !self.taken.1.contains(&open.delimiter);
        if is_new {
            self.taken.1.push(open.delimiter);
        }
        is_new
    }

    /// Whether prefiltering new text is enough, with this many bytes held before it.
    #[inline]
    pub fn is_quiet(&self, held: usize) -> bool {
        self.quiet && held <= HELD
    }

    /// The result of prefiltering new text for the delimiters that were watched last, if the text is short and not
    /// empty.
    #[inline]
    pub fn glance(&self, text: &str) -> Glance {
        if (1..=GLANCE).contains(&text.len()) { self.signs.look_at(text) } else { Glance::Sign }
    }

    /// Skips text in which no delimiter begins.
    #[inline]
    pub fn skip_to(&mut self, place: usize) {
        self.clear_to = place;
    }

    /// Swaps the flag of the fast path: a parser whose fast path must stay off keeps it elsewhere.
    #[inline]
    pub fn swap_quiet(&mut self, quiet: &mut bool) {
        std::mem::swap(&mut self.quiet, quiet);
    }

    /// Disables the fast path.
    pub fn wake(&mut self) {
        self.quiet = false;
    }

    /// The named captures of a delimiter that was found.
    pub fn captures(&self, plan: &Plan, found: Delimited, buffer: &Buffer) -> Vec<Capture> {
        let (Some(search), Some(delimiter)) =
            (self.searches.get(found.delimiter), plan.delimiters.get(found.delimiter))
        else {
            return Vec::new();
        };
        buffer.view(false).captures(&delimiter.pattern, search)
    }

    /// The start of a watched delimiter that the text so far leaves undecided. `shown` is the start of the text that is
    /// not yet released.
    pub fn pending(&self, plan: &Plan, delimiter: usize, buffer: &Buffer, shown: usize) -> Option<usize> {
        if self.clear_to == 0 {
            return self.searches.get(delimiter)?.pending();
        }
        // The last feeds were only skipped.
        let held = buffer.slice(shown, buffer.end());
        let start = plan.delimiters.get(delimiter)?.pattern.leading_run()?.start_in(held);
        (start < held.len()).then_some(shown + start)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::parser::Parser;
    use crate::template::Template;

    #[test]
    fn the_buffer_keeps_the_text_within_reach() {
        let mut buffer = Buffer::default();
        buffer.push(&"é".repeat(5000));
        buffer.trim(9000, None);
        assert_eq!(buffer.slice(0, 4), "éé", "no bound, nothing goes");
        buffer.trim(9000, Some(1));
        assert_eq!((buffer.base, buffer.slice(8996, 9002)), (8996, "ééé"));
        buffer.push("x");
        assert_eq!((buffer.end(), buffer.after(9998), buffer.after(10_000)), (10_001, 10_000, 10_001));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "0 was requested, but the text before 8996 is dropped")]
    fn slicing_dropped_text_panics() {
        let mut buffer = Buffer::default();
        buffer.push(&"é".repeat(5000));
        buffer.trim(9000, Some(1));
        buffer.slice(0, 9002);
    }

    #[test]
    fn empty_feeds_before_the_text_change_nothing() {
        let template =
            r#"{"start_anchor": "A", "fields": {"x": {"open_pattern": "^\\s*<x>", "close": "</x>"}, "content": {}}}"#;
        let template = Template::load(template).unwrap().template;
        for feeds in [&["<x>a</x>b"][..], &["", "<x>a</x>b"], &["", "", "<", "", "x>a</x>b"], &["", "\n<x>a</x>b"]] {
            let mut parser = Parser::new(&template, "A", Default::default()).unwrap();
            feeds.iter().for_each(|feed| drop(parser.feed(feed).unwrap()));
            let message = parser.finish().unwrap().message;
            assert_eq!(backchat_core::Value::from(message).to_string(), r#"{"x": "a", "content": "b"}"#, "{feeds:?}");
        }
    }

    #[test]
    fn a_long_run_is_not_rescanned_on_every_feed() {
        let template = r#"{"start_anchor": "A", "fields": {"x": {"open_pattern": "\\s*\\w+\\s*<x>", "close": "."}}}"#;
        let template = Template::load(template).unwrap().template;
        for unit in ["    ", "word"] {
            let mut parser = Parser::new(&template, "A", crate::parser::Options::default()).unwrap();
            let start = Instant::now();
            // Rescanning all of it for each feed would take minutes.
            for _ in 0..100_000 {
                assert_eq!(parser.feed(unit).unwrap(), []);
            }
            assert_eq!(parser.feed("a<x>").unwrap().len(), 1);
            assert!(start.elapsed() < Duration::from_secs(20), "{unit:?}: {:?}", start.elapsed());
        }
    }
}
