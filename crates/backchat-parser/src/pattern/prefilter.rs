//! The prefilter: positions at which a match could begin. It has no false negatives; it may have false positives.

use memchr::memmem;

use super::bytes::Bytes;
use super::class::Class;
use super::haystack::{Edge, Haystack};
use super::prefixes::{Prefix, prefixes};
use super::tree::{Assertion, Greed, Node};

/// From this many bytes on a search for a whole literal beats one for its first byte.
const WORTH_A_LITERAL_SEARCH: usize = 48;

#[derive(Clone, Debug)]
pub(super) struct Prefilter {
    /// The bytes with which a match can begin.
    pub bytes: Bytes,
    /// Whether a match can begin after the last character.
    pub at_end: bool,
    starts: Starts,
}

#[derive(Clone, Debug)]
enum Starts {
    Any,
    /// At the beginning of the text only.
    First,
    /// At one of the bytes, followed by a byte of `then` or by the end of the text so far.
    Byte {
        then: Option<Bytes>,
    },
    /// At one of several literals.
    Literals(Box<Literals>),
    /// At the first character of a run, which `then` follows.
    Run {
        run: LeadingRun,
        then: Box<Prefilter>,
    },
}

/// The literals with which matches begin.
#[derive(Clone, Debug)]
struct Literals {
    all: Vec<Literal>,
    /// Finds the common prefix of all.
    common: memmem::Finder<'static>,
}

#[derive(Clone, Debug)]
struct Literal {
    text: Box<[u8]>,
    /// The bytes allowed before it, if a look-behind restricts them.
    after: Option<Bytes>,
}

/// The text a match may have before the characters that identify it, such as the space of `\s{0,4}<x>`, or the space
/// and the name of `\s*\w+\s*<x>`: runs of characters, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct LeadingRun {
    runs: Vec<SkippedRun>,
    /// Of each ASCII character the runs it can be in, a bit for each.
    ascii: Box<[u8; 128]>,
    /// The runs a match can begin in.
    first: u8,
}

#[derive(Clone, Debug)]
struct SkippedRun {
    class: Class,
    /// How many characters it has at most.
    max: Option<u32>,
    /// The runs that the character before one of its own can be in, itself included.
    before: u8,
    may_be_empty: bool,
    /// Whether it takes any number of characters, or at least one, and is not possessive.
    is_plain: bool,
}

impl LeadingRun {
    /// How many runs are distinguished.
    const MOST: usize = 8;

    /// `None` for runs that cannot be tracked exactly.
    fn new(mut runs: Vec<SkippedRun>) -> Option<Self> {
        match runs.as_slice() {
            [_] => {}
            [] => return None,
            several if several.len() <= Self::MOST && several.iter().all(|run| run.is_plain) => {}
            _ => return None,
        }
        let mut ascii = Box::new([0; 128]);
        // The runs that may come right before the next one, and those that may begin a match.
        let (mut before, mut first, mut is_first) = (0, 0, true);
        for (bit, run) in (0..).map(|index| 1 << index).zip(&mut runs) {
            for (byte, members) in (0..128).zip(ascii.iter_mut()) {
                *members |= if run.class.has_ascii(byte) { bit } else { 0 };
            }
            run.before = before | bit;
            before = if run.may_be_empty { run.before } else { bit };
            first |= if is_first { bit } else { 0 };
            is_first &= run.may_be_empty;
        }
        Some(Self { runs, ascii, first })
    }

    /// Its beginning in a text that ends within it or with it.
    #[inline]
    pub fn start_in(&self, text: &str) -> usize {
        match text.as_bytes().last() {
            Some(&last) if self.ascii.get(last as usize) == Some(&0) => text.len(),
            Some(_) => self.walk_back(text),
            None => 0,
        }
    }

    /// Whether a text that ends within it or with it can end with this byte.
    pub fn may_end_with(&self, byte: u8) -> bool {
        self.ascii.get(byte as usize).is_none_or(|&runs| runs != 0)
    }

    fn walk_back(&self, text: &str) -> usize {
        if let [SkippedRun { class, max, .. }] = self.runs.as_slice() {
            let most = max.map_or(usize::MAX, |max| max as usize);
            let run = text.chars().rev().take_while(|&c| class.contains(c)).take(most);
            return text.len() - run.map(char::len_utf8).sum::<usize>();
        }
        let (mut at, mut start) = (text.len(), text.len());
        // The runs that the next character to the left can be in.
        let mut possible = u8::MAX;
        for c in text.chars().rev() {
            let here = possible & self.runs_with(c);
            if here == 0 {
                break;
            }
            at -= c.len_utf8();
            if here & self.first != 0 {
                start = at;
            }
            possible = self.members(here).fold(0, |before, run| before | run.before);
        }
        start
    }

    /// The runs that a character can be in.
    fn runs_with(&self, c: char) -> u8 {
        match self.ascii.get(c as usize) {
            Some(&runs) => runs,
            None => (0..).zip(&self.runs).map(|(index, run)| u8::from(run.class.contains(c)) << index).sum(),
        }
    }

    fn members(&self, set: u8) -> impl Iterator<Item = &SkippedRun> {
        (0..).zip(&self.runs).filter(move |(index, _)| set >> index & 1 == 1).map(|(_, run)| run)
    }
}

impl Prefilter {
    pub fn new(node: &Node) -> Self {
        Self::with(node, run_then)
    }

    /// The filter; `special` builds one if neither a byte nor literals identify a match.
    fn with(node: &Node, special: impl Fn(&Node) -> Option<Starts>) -> Self {
        let mut found = Beginning::default();
        if found.add(node) || found.anything {
            return Self { bytes: (0..=u8::MAX).collect(), at_end: true, starts: Starts::Any };
        }
        let starts = if begins_the_text(node) {
            Starts::First
        } else {
            Literals::find(node)
                .map(|literals| Starts::Literals(Box::new(literals)))
                .or_else(|| special(node))
                .unwrap_or_else(|| Starts::Byte { then: second_bytes(node) })
        };
        Self { bytes: found.bytes(), at_end: found.at_end, starts }
    }

    /// Whether a match can begin at the beginning of the text only.
    pub fn is_first(&self) -> bool {
        matches!(self.starts, Starts::First)
    }

    /// The text that a match may have before the first of its [identifying bytes](Self::identifying_bytes).
    pub fn leading_run(&self) -> Option<&LeadingRun> {
        match &self.starts {
            Starts::Run { run, .. } => Some(run),
            _ => None,
        }
    }

    /// The possible bytes after the leading run of a match.
    pub fn identifying_bytes(&self) -> &Bytes {
        match &self.starts {
            Starts::Run { then, .. } => &then.bytes,
            _ => &self.bytes,
        }
    }

    /// Whether these two bytes can follow the leading run of a match.
    pub fn may_begin(&self, first: u8, second: u8) -> bool {
        match &self.starts {
            Starts::Run { then, .. } => then.may_begin(first, second),
            Starts::Byte { then: Some(then) } => self.bytes.has(first) && then.has(second),
            Starts::Literals(literals) => literals.all.iter().any(|literal| match *literal.text {
                [one] => one == first,
                [one, other, ..] => (one, other) == (first, second),
                [] => true,
            }),
            _ => self.bytes.has(first),
        }
    }

    /// The first position from `at` on at which a match could begin. `run_end` remembers the end of a run across calls.
    pub fn next(&self, hay: Haystack<'_>, at: usize, run_end: &mut usize) -> Option<usize> {
        let bytes = hay.bytes_after(at);
        let found = match &self.starts {
            Starts::Any if !bytes.is_empty() => Some(at),
            Starts::Any => None,
            Starts::First if at == 0 && bytes.first().is_some_and(|&byte| self.bytes.has(byte)) => Some(0),
            Starts::First => None,
            Starts::Byte { then: None } => self.bytes.find(bytes).map(|offset| at + offset),
            Starts::Byte { then: Some(then) } => self.next_pair(then, hay, at),
            Starts::Literals(literals) => literals.next(&self.bytes, hay, at),
            // Partial matching may wait within a run that nothing fitting follows.
            Starts::Run { .. } if hay.edge == Edge::Partial => self.bytes.find(bytes).map(|offset| at + offset),
            Starts::Run { .. } if at < *run_end => Some(at),
            Starts::Run { run, then } => {
                let found = then.next(hay, at, &mut 0);
                match found.or_else(|| (hay.edge != Edge::End).then(|| hay.end())) {
                    Some(end) => {
                        let before = hay.between(at, end);
                        let begin = at + run.start_in(before);
                        *run_end = end;
                        found.or_else(|| (begin < end).then_some(begin)).map(|_| begin)
                    }
                    None => None,
                }
            }
        };
        match found {
            None if self.at_end && hay.edge != Edge::Open => Some(hay.end()),
            found => found,
        }
    }

    /// The first of the bytes from `at` on followed by one of `then`, or by nothing yet.
    fn next_pair(&self, then: &Bytes, hay: Haystack<'_>, mut at: usize) -> Option<usize> {
        loop {
            let bytes = hay.bytes_after(at);
            let offset = self.bytes.find(bytes)?;
            match bytes.get(offset + 1) {
                Some(&next) if !then.has(next) => at += offset + 1,
                None if hay.edge == Edge::End => return None,
                _ => return Some(at + offset),
            }
        }
    }
}

/// The possible second bytes of a match, unless the text so far ends before; those that a look-ahead requires, as in
/// `\)(?=\s*<x>)`, count as well.
fn second_bytes(node: &Node) -> Option<Bytes> {
    let Node::Concat(items) = node else { return None };
    let [Node::Char(first), rest @ ..] = items.as_slice() else { return None };
    let mut found = Beginning::default();
    let is_decided = first.is_ascii() && !found.add_all(rest) && !found.anything && !found.at_end;
    is_decided.then(|| found.bytes())
}

impl Literal {
    fn new(prefix: Prefix) -> Self {
        let after = prefix.after.map(|class| {
            // Beyond ASCII a character ends with any of these.
            let beyond = (0x80..0xC0).filter(|_| !class.beyond_ascii().is_empty());
            (0..0x80).filter(|&byte| class.has_ascii(byte)).chain(beyond).collect()
        });
        Self { text: prefix.text.into_bytes().into(), after }
    }

    /// Whether it occurs at a place, or may have begun there at the end of the text so far.
    fn fits(&self, hay: Haystack<'_>, at: usize) -> bool {
        let rest = hay.bytes_after(at);
        // Most positions differ in the first byte or two, for which a `memcmp` call does not pay off.
        rest.iter().zip(&self.text).all(|(one, other)| one == other)
            && (rest.len() >= self.text.len() || hay.edge != Edge::End)
            && self.after.as_ref().is_none_or(|after| hay.byte_before(at).is_some_and(|byte| after.has(byte)))
    }
}

impl Literals {
    fn find(node: &Node) -> Option<Self> {
        let all: Vec<Literal> = prefixes(node)?.into_iter().map(Literal::new).collect();
        let first = &*all.first()?.text;
        let shared = |other: &[u8]| first.iter().zip(other).take_while(|(one, other)| one == other).count();
        let length = all.iter().map(|literal| shared(&literal.text)).min()?;
        // A single byte needs no literal search.
        let is_worth_it = all.iter().any(|literal| literal.text.len() > 1);
        let common = memmem::Finder::new(first.get(..length)?).into_owned();
        is_worth_it.then_some(Self { all, common })
    }

    /// The first place from `at` on of a literal, or of one that may have begun at the end of the text so far.
    fn next(&self, starts: &Bytes, hay: Haystack<'_>, mut at: usize) -> Option<usize> {
        let fits = |at: usize| self.all.iter().any(|literal| literal.fits(hay, at));
        let common = self.common.needle().len();
        if common > 1 {
            while hay.bytes_after(at).len() >= WORTH_A_LITERAL_SEARCH {
                match self.common.find(hay.bytes_after(at)) {
                    Some(offset) if fits(at + offset) => return Some(at + offset),
                    Some(offset) => at += offset + 1,
                    // The common prefix may itself be incomplete.
                    None => at = hay.end() + 1 - common,
                }
            }
        }
        loop {
            at += starts.find(hay.bytes_after(at))?;
            if fits(at) {
                return Some(at);
            }
            at += 1;
        }
    }
}

/// The possible beginnings of a match.
struct Beginning {
    table: [bool; 256],
    at_end: bool,
    anything: bool,
}

impl Default for Beginning {
    fn default() -> Self {
        Self { table: [false; 256], at_end: false, anything: false }
    }
}

impl Beginning {
    fn bytes(&self) -> Bytes {
        (0..=u8::MAX).zip(self.table).filter(|(_, is_member)| *is_member).map(|(byte, _)| byte).collect()
    }

    fn byte(&mut self, byte: u8) {
        if let Some(member) = self.table.get_mut(byte as usize) {
            *member = true;
        }
    }

    fn class(&mut self, class: &Class) {
        (0..128).filter(|&byte| class.has_ascii(byte)).for_each(|byte| self.byte(byte));
        for &(low, high) in class.beyond_ascii() {
            (first_byte(low)..=first_byte(high)).for_each(|byte| self.byte(byte));
        }
    }

    /// Adds the beginnings of a sequence of nodes. A look-ahead restricts the beginnings of the nodes after it.
    fn add_all(&mut self, items: &[Node]) -> bool {
        // The text that all look-aheads so far require.
        let mut seen: Option<Self> = None;
        for item in items {
            let mut own = Self::default();
            let through = own.add(item);
            let is_look = matches!(item, Node::Look { behind: false, negate: false, .. });
            match seen.as_mut() {
                // A look-ahead that may match nothing restricts nothing.
                _ if is_look && through => {}
                Some(seen) if is_look => seen.keep(&own),
                None if is_look => seen = Some(own),
                seen => {
                    if let Some(seen) = seen {
                        own.keep(seen);
                    }
                    self.join(&own);
                    if !through {
                        return false;
                    }
                }
            }
        }
        seen.inspect(|seen| self.join(seen)).is_none()
    }

    fn join(&mut self, other: &Self) {
        self.table.iter_mut().zip(&other.table).for_each(|(member, other)| *member |= other);
        self.at_end |= other.at_end;
        self.anything |= other.anything;
    }

    /// Intersects with the other. An unrestricted one rules nothing out.
    fn keep(&mut self, other: &Self) {
        self.table.iter_mut().zip(&other.table).for_each(|(member, other)| *member &= other);
        self.at_end &= other.at_end;
        self.anything |= other.anything;
    }

    /// Adds the possible beginnings of a node; true if the node may match nothing, so those of the next node count as
    /// well.
    fn add(&mut self, node: &Node) -> bool {
        match node {
            Node::Empty | Node::Keep => true,
            Node::Char(c) => {
                self.byte(first_byte(*c));
                false
            }
            Node::Class(class) => {
                self.class(class);
                false
            }
            Node::Assert(Assertion::EndOrFinalNewline | Assertion::LineEnd) => {
                self.byte(b'\n');
                self.at_end = true;
                false
            }
            Node::Assert(Assertion::End) => {
                self.at_end = true;
                false
            }
            Node::Assert(_) => true,
            Node::Group { node, .. } | Node::Atomic(node) => self.add(node),
            Node::Concat(items) => self.add_all(items),
            Node::Alternate(items) => {
                let mut through = false;
                for item in items {
                    through |= self.add(item);
                }
                through
            }
            Node::Repeat { node, min, .. } => self.add(node) || *min == 0,
            Node::Look { node, behind: false, negate: false } => self.add(node),
            Node::Look { .. } => true,
            Node::Backref { .. } | Node::Call(_) | Node::Folded(_) => {
                self.anything = true;
                true
            }
            Node::IfGroup { yes, no, .. } | Node::IfLook { yes, no, .. } => {
                let through = self.add(yes);
                self.add(no) || through
            }
        }
    }
}

fn first_byte(c: char) -> u8 {
    c.encode_utf8(&mut [0; 4]).bytes().next().unwrap_or(0)
}

/// Whether every match begins at the start of the text.
fn begins_the_text(node: &Node) -> bool {
    match node {
        Node::Assert(Assertion::Start) => true,
        Node::Group { node, .. } | Node::Atomic(node) => begins_the_text(node),
        Node::Concat(items) => items.first().is_some_and(begins_the_text),
        Node::Alternate(items) => items.iter().all(begins_the_text),
        _ => false,
    }
}

/// The filter of a pattern such as `\s*<x>`, `\s{0,4}<x>` or `(?:<a>)?\s*\w+\s*<x>`: runs, and a rest whose first
/// bytes cannot be part of a run.
fn run_then(node: &Node) -> Option<Starts> {
    let Node::Concat(items) = node else { return None };
    let may_lead = |item: &&Node| run_of(item).is_some() || option_of(item).is_some();
    let leading = items.iter().take(LeadingRun::MOST).take_while(may_lead).count();
    // With fewer runs, there is less overlap with the rest.
    (1..=leading).rev().find_map(|count| {
        let (leading, rest) = items.split_at_checked(count)?;
        let run = LeadingRun::new(leading.iter().filter_map(run_of).collect())?;
        let mut within = Beginning::default();
        for SkippedRun { class, .. } in &run.runs {
            within.class(class);
            if !class.beyond_ascii().is_empty() {
                (0x80..=0xBF).for_each(|byte| within.byte(byte));
            }
        }
        let options = leading.iter().filter(|item| run_of(item).is_none()).filter_map(option_of).cloned();
        let then = Node::Alternate(options.chain([Node::Concat(rest.to_vec())]).collect());
        // A run after the runs is not looked for: patterns may have any number of them.
        let then = Prefilter::with(&then, |_| None);
        let apart = !then.at_end && !matches!(then.starts, Starts::Any) && !within.bytes().touches(&then.bytes);
        apart.then(|| Starts::Run { run, then: Box::new(then) })
    })
}

/// A run of characters, captured or not.
fn run_of(node: &Node) -> Option<SkippedRun> {
    match node {
        Node::Group { node, .. } => run_of(node),
        Node::Repeat { node, min, max, greed } => {
            let class = node.class()?;
            let is_plain = *min <= 1 && max.is_none() && *greed != Greed::Possessive;
            Some(SkippedRun { class, max: *max, before: 0, may_be_empty: *min == 0, is_plain })
        }
        _ => None,
    }
}

/// The node of an option. If it is taken, it identifies the match.
fn option_of(node: &Node) -> Option<&Node> {
    match node {
        Node::Repeat { node, min: 0, .. } => Some(node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_before_the_identifying_bytes_are_skipped() {
        let lead = |source: &str| {
            let starts = Prefilter::new(&super::super::read_regex::read(source).unwrap().node);
            let identifying: String =
                (0..128u8).filter(|&byte| starts.identifying_bytes().has(byte)).map(char::from).collect();
            (starts.leading_run().map(|run| run.runs.len()), identifying)
        };
        for (source, runs, identifying) in [
            ("<x>", None, "<"),
            (r"\s*<x>", Some(1), "<"),
            (r"\s{0,4}<x>", Some(1), "<"),
            (r"(?:\[A\])?\s*(?P<name>[^\s\[]+)\s*\[B\]", Some(3), "["),
            (r"\s*\w+\s*:", Some(3), ":"),
            // A run that cannot be tracked exactly, or that takes the identifying bytes, is part of the rest.
            (r"\s*[a-c]+[12]{1,3}:", Some(2), "12"),
            (r"\s*[ab]+b:", Some(1), "ab"),
        ] {
            assert_eq!(lead(source), (runs, identifying.to_owned()), "{source}");
        }
    }
    #[test]
    fn positions_without_a_match_are_skipped() {
        let places = |source: &str, text: &str, edge: Edge| {
            let filter = Prefilter::new(&super::super::read_regex::read(source).unwrap().node);
            let hay = Haystack { text, base: 0, edge };
            let next = |at: usize| filter.next(hay, at, &mut 0);
            std::iter::successors(next(0), |at| next(at + 1)).collect::<Vec<_>>()
        };
        for (source, text, so_far, ended) in [
            // The byte before a literal must satisfy its look-behind.
            ("(?<=[)é]), ", "a, b), c, é, ,", &[5, 12][..], &[5, 12][..]),
            ("<x>|(?<=a),b", ",b a,b <x> a,", &[4, 7, 12], &[4, 7]),
            // So has the byte after the first one.
            (r"\)(?=\s*<)", ") )<).) <)", &[0, 2, 6, 9], &[0, 2, 6]),
            ("a(?!b)[bc]", "ab ac ad a", &[0, 3, 9], &[0, 3]),
            // Nothing needs to follow.
            ("a(?:b|$)", "ab ac a", &[0, 3, 6], &[0, 3, 6]),
        ] {
            assert_eq!(places(source, text, Edge::Open), so_far, "{source}");
            assert_eq!(places(source, text, Edge::End), ended, "{source}");
        }
    }
}
