//! One pattern in the dialect of Python's `regex` module, as response templates write it: V0, DOTALL, Unicode.
//!
//! There are two ways to use it. On complete text: [`Pattern::find_at`] and [`Pattern::matches`]. In a stream, the
//! parser asks the same pattern whether anything in the text so far could still become a match, and from which
//! position.

mod bytes;
mod class;
mod compare;
mod compile;
mod constructs;
mod escape;
mod example;
mod groups;
mod haystack;
mod letters;
mod machine;
mod memo;
#[cfg(test)]
mod oracle;
mod outline;
mod prefilter;
mod prefixes;
mod program;
mod read_re;
mod read_regex;
mod regular;
mod runs;
mod search;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use backchat_core::text::slice;
use haystack::{Edge, Haystack};
use prefilter::Prefilter;
use program::Program;
use tree::Node;

pub(crate) use bytes::Bytes;
pub use constructs::{Construct, Explosion};
pub(crate) use letters::{Letters, TooManyWays};
pub use outline::{PatternPart, source_of};
pub(crate) use prefilter::LeadingRun;
pub use regular::{Regular, of_delimiter, of_schema};
pub(crate) use search::{Search, SearchResult};

/// A compiled pattern. Cloning it is cheap.
#[derive(Clone)]
pub struct Pattern {
    parts: Arc<Parts>,
}

struct Parts {
    source: String,
    dialect: Dialect,
    /// The markers that are one character each, in a pattern for ids.
    letters: Option<Arc<Letters>>,
    program: Program,
    prefilter: Prefilter,
    names: Vec<(Arc<str>, u32)>,
    can_be_empty: bool,
    reach_behind: Option<usize>,
    /// Made when they are first asked for: parsing needs none.
    examples: OnceLock<Vec<String>>,
}

/// The dialect of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Python's `regex` module, as response templates use it.
    Regex,
    /// Python's own `re`, as response schemas use it.
    Re,
}

impl Dialect {
    fn read(self, source: &str) -> Result<read_regex::ParsedPattern, PatternError> {
        match self {
            Dialect::Regex => read_regex::read(source),
            Dialect::Re => read_re::read(source),
        }
    }
}

/// Why a pattern is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The problem.
    pub message: String,
    /// The position in the pattern, in bytes.
    pub offset: usize,
    /// Whether Python's `regex` accepts the pattern, which is rejected because it cannot be run exactly as there.
    pub is_unsupported: bool,
}

/// A search exceeded its step limit, because its pattern backtracks excessively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchWork;

impl PatternError {
    fn new(message: impl Into<String>, offset: usize) -> Self {
        Self { message: message.into(), offset, is_unsupported: false }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PatternError {}

impl fmt::Display for TooMuchWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pattern needs more steps on this text than are allowed")
    }
}

impl std::error::Error for TooMuchWork {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.source()).finish()
    }
}

impl Pattern {
    /// Parses a pattern. Rejects patterns that Python's `regex` rejects, and constructs that cannot be run exactly as
    /// there.
    ///
    /// ```
    /// # use backchat_parser as backchat;
    /// use backchat::pattern::Pattern;
    ///
    /// let call = Pattern::new(r"<call:(?P<name>\w+)>")?;
    /// let found = call.find_at("a <call:add>", 0).unwrap().unwrap();
    /// assert_eq!(found.span(), (2, 12));
    /// assert_eq!(found.name("name"), Some("add"));
    /// assert_eq!(Pattern::new("(a").unwrap_err().offset, 2);
    /// # Ok::<(), backchat::pattern::PatternError>(())
    /// ```
    pub fn new(source: &str) -> Result<Self, PatternError> {
        Self::in_dialect(source, Dialect::Regex)
    }

    /// Parses a pattern of Python's own `re`, with DOTALL set.
    pub fn in_re(source: &str) -> Result<Self, PatternError> {
        Self::in_dialect(source, Dialect::Re)
    }

    fn in_dialect(source: &str, dialect: Dialect) -> Result<Self, PatternError> {
        Ok(Self::compiled(source.to_owned(), dialect, None, dialect.read(source)?))
    }

    fn compiled(
        source: String,
        dialect: Dialect,
        letters: Option<Arc<Letters>>,
        parsed: read_regex::ParsedPattern,
    ) -> Self {
        Self {
            parts: Arc::new(Parts {
                source,
                dialect,
                letters,
                prefilter: Prefilter::new(&parsed.node),
                can_be_empty: parsed.node.can_be_empty(),
                reach_behind: parsed.node.reach_behind(),
                program: Program::compile(&parsed),
                names: parsed.names.into_iter().map(|(name, group)| (name.into(), group)).collect(),
                examples: OnceLock::new(),
            }),
        }
    }

    /// The pattern for texts in which markers are letters.
    pub(crate) fn in_letters(&self, letters: &Arc<Letters>) -> Result<Self, TooManyWays> {
        let Ok(mut parsed) = self.parsed() else { return Ok(self.clone()) };
        parsed.node = letters::Speller::new(letters, &parsed).node(&parsed.node)?;
        Ok(Self::compiled(self.source().to_owned(), self.parts.dialect, Some(letters.clone()), parsed))
    }

    /// The maximal literal texts of the pattern.
    pub(crate) fn texts(&self) -> Vec<String> {
        fn collect(parts: &[PatternPart], texts: &mut Vec<String>) {
            for part in parts {
                match part {
                    PatternPart::Text(text) => texts.push(text.clone()),
                    PatternPart::Group { parts, .. } | PatternPart::Maybe(parts) | PatternPart::Many(parts) => {
                        collect(parts, texts)
                    }
                    PatternPart::Either(branches) => branches.iter().for_each(|branch| collect(branch, texts)),
                    _ => {}
                }
            }
        }
        let mut texts = Vec::new();
        collect(&self.outline(), &mut texts);
        texts
    }

    /// The markers that the pattern spells, by their places among the letters.
    pub(crate) fn markers(&self, letters: &Letters) -> Result<BTreeSet<usize>, TooManyWays> {
        let Ok(parsed) = self.parsed() else { return Ok(BTreeSet::new()) };
        let mut speller = letters::Speller::new(letters, &parsed);
        speller.node(&parsed.node)?;
        Ok(speller.spelled)
    }

    /// The pattern that matches any of these strings, the longest first.
    pub fn literals<S: AsRef<str>>(literals: &[S]) -> Self {
        let mut sorted: Vec<&str> = literals.iter().map(AsRef::as_ref).collect();
        sorted.sort_by_key(|literal| std::cmp::Reverse(literal.chars().count()));
        sorted.dedup();
        let node =
            Node::alternate(sorted.iter().map(|text| Node::concat(text.chars().map(Node::Char).collect())).collect());
        let source = sorted.iter().map(|literal| escape_literal(literal)).collect::<Vec<_>>().join("|");
        let parsed = read_regex::ParsedPattern { node, groups: 1, names: Vec::new() };
        Self::compiled(source, Dialect::Regex, None, parsed)
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.parts.source
    }

    /// The names of its groups, in the order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.names.iter().map(|(name, _)| &**name)
    }

    /// Whether it can match without consuming a character.
    pub fn can_be_empty(&self) -> bool {
        self.parts.can_be_empty
    }

    /// Whether more text may undo a match at the end of a text, as with `</call>|$`.
    pub(crate) fn asks_for_end(&self) -> bool {
        self.program().asks_for_end
    }

    /// The most characters before a match that its look-behinds may examine; `None` if unbounded.
    pub fn reach_behind(&self) -> Option<usize> {
        self.parts.reach_behind
    }

    /// The leftmost match that begins at `from` or later. Look-behinds see the text before `from`.
    pub fn find_at<'t>(&self, text: &'t str, from: usize) -> Result<Option<Match<'t>>, TooMuchWork> {
        let mut search = Search::default();
        search.begin(self, from, false);
        self.complete(&mut search, text)
    }

    /// Whether a text may have a nonempty match. Most texts have none, which the prefilter shows without a search.
    pub(crate) fn may_match_in(&self, text: &str) -> bool {
        let whole = Haystack { text, base: 0, edge: Edge::End };
        self.parts.prefilter.next(whole, 0, &mut 0).is_some_and(|place| place < text.len())
    }

    /// The matches from left to right, as `finditer` gives them: none overlaps another, and an empty one may follow
    /// right after another match.
    pub fn matches<'t>(&self, text: &'t str) -> Matches<'t> {
        Matches { pattern: self.clone(), text, search: Search::default(), finished: false }
    }

    /// The same with a budget of steps for all of them.
    pub fn scan<'t>(&self, text: &'t str, budget: u64) -> Matches<'t> {
        Matches { search: Search::with_budget(budget), ..self.matches(text) }
    }

    /// How many groups it has, the whole match not counted.
    pub fn group_count(&self) -> usize {
        (self.program().slots / 2).saturating_sub(1)
    }

    fn complete<'t>(&self, search: &mut Search, text: &'t str) -> Result<Option<Match<'t>>, TooMuchWork> {
        let whole = Haystack { text, base: 0, edge: Edge::End };
        let SearchResult::Match { start, end } = search.advance(self, whole)? else { return Ok(None) };
        let groups = (1..=self.group_count()).map(|group| search.group(group)).collect();
        Ok(Some(Match { pattern: self.clone(), text, span: (start, end), groups }))
    }

    fn parsed(&self) -> Result<read_regex::ParsedPattern, PatternError> {
        let mut parsed = self.parts.dialect.read(&self.parts.source)?;
        if let Some(letters) = &self.parts.letters
            && let Ok(node) = letters::Speller::new(letters, &parsed).node(&parsed.node)
        {
            parsed.node = node;
        }
        Ok(parsed)
    }

    pub fn named_groups(&self) -> &[(Arc<str>, u32)] {
        &self.parts.names
    }

    /// Whether this byte can be the first of a match after its leading run. Every match has such a byte.
    pub(crate) fn can_tell(&self, byte: u8) -> bool {
        self.parts.prefilter.identifying_bytes().has(byte)
    }

    /// Whether these two bytes can be the first of a match after its leading run.
    pub(crate) fn can_tell_with(&self, byte: u8, next: u8) -> bool {
        self.parts.prefilter.may_begin(byte, next)
    }

    /// The only text that a match may have before the byte that identifies it.
    pub(crate) fn leading_run(&self) -> Option<&LeadingRun> {
        self.parts.prefilter.leading_run()
    }

    /// Whether a match can begin at the beginning of the text only.
    pub fn begins_the_text(&self) -> bool {
        self.parts.prefilter.is_first()
    }

    fn program(&self) -> &Program {
        &self.parts.program
    }

    fn prefilter(&self) -> &Prefilter {
        &self.parts.prefilter
    }
}

/// A match in a text.
#[derive(Clone, Debug)]
pub struct Match<'t> {
    pattern: Pattern,
    text: &'t str,
    span: (usize, usize),
    groups: Vec<Option<(usize, usize)>>,
}

impl<'t> Match<'t> {
    /// Its start and end, in bytes.
    pub fn span(&self) -> (usize, usize) {
        self.span
    }

    /// The text it matched.
    pub fn text(&self) -> &'t str {
        slice(self.text, self.span.0..self.span.1)
    }

    /// The text of a named group, if it took part.
    pub fn name(&self, name: &str) -> Option<&'t str> {
        let (_, number) = self.pattern.named_groups().iter().find(|(other, _)| &**other == name)?;
        self.group(*number as usize)
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

/// The matches of a pattern in a text.
#[derive(Debug)]
pub struct Matches<'t> {
    pattern: Pattern,
    text: &'t str,
    search: Search,
    finished: bool,
}

impl Matches<'_> {
    /// How many steps it has taken.
    pub fn spent(&self) -> u64 {
        self.search.spent()
    }
}

impl<'t> Iterator for Matches<'t> {
    type Item = Result<Match<'t>, TooMuchWork>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let found = self.pattern.complete(&mut self.search, self.text);
        match &found {
            Ok(Some(Match { span: (start, end), .. })) => self.search.begin(&self.pattern, *end, start == end),
            _ => self.finished = true,
        }
        found.transpose()
    }
}

/// The pattern that matches these characters.
pub fn escape_literal(literal: &str) -> String {
    let mut out = String::new();
    for c in literal.chars() {
        if r"\.+*?()|[]{}^$#-&~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
