//! The prefilter: positions at which a match could begin. It has no false negatives; it may have false positives.

use memchr::memmem;

use super::class::{self, Class};
use super::hay::{Edge, Hay};
use super::prefixes::prefixes;
use super::tree::{Assertion, Node};

/// From this many bytes on a search for a whole literal beats one for its first byte.
const WORTH_A_LITERAL_SEARCH: usize = 48;

/// A filter over the places of a text.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    /// The bytes with which a match can begin.
    pub bytes: Bytes,
    /// Whether a match can begin after the last character.
    pub at_end: bool,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Anywhere.
    Any,
    /// At the beginning of the text only.
    First,
    /// At one of the bytes.
    Byte,
    /// At one of several literals.
    Literals(Box<Literals>),
    /// At the first character of a run, which `then` follows.
    Run { run: LeadingRun, then: Box<Starts> },
}

/// The literals with which matches begin.
#[derive(Clone, Debug)]
struct Literals {
    all: Vec<Box<[u8]>>,
    /// Finds what they all begin with.
    common: memmem::Finder<'static>,
}

/// The text that a match may have before its identifying characters, such as the space of `\s{0,4}<x>`.
#[derive(Clone, Debug)]
pub(crate) struct LeadingRun {
    class: Class,
    /// How many characters it has at most.
    max: Option<u32>,
}

impl LeadingRun {
    /// The start of the run that ends at the end of a text.
    #[inline]
    pub fn start_in(&self, text: &str) -> usize {
        match text.as_bytes().last() {
            Some(&last) if last < 128 && !self.class.has_ascii(last) => text.len(),
            Some(_) => self.walk_back(text),
            None => 0,
        }
    }

    fn walk_back(&self, text: &str) -> usize {
        let most = self.max.map_or(usize::MAX, |max| max as usize);
        let run = text.chars().rev().take_while(|&c| self.class.contains(c)).take(most);
        text.len() - run.map(char::len_utf8).sum::<usize>()
    }
}

/// A set of bytes.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    table: Box<[bool; 256]>,
    /// The members, if they are at most three.
    few: Option<Vec<u8>>,
}

impl Bytes {
    fn new(table: [bool; 256]) -> Self {
        let members: Vec<u8> = (0..=255).zip(table).filter(|(_, member)| *member).map(|(byte, _)| byte).collect();
        Self { table: Box::new(table), few: (members.len() <= 3).then_some(members) }
    }

    #[inline]
    pub fn has(&self, byte: u8) -> bool {
        self.table.get(byte as usize).copied().unwrap_or(false)
    }

    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self.few.as_deref() {
            Some([]) => None,
            Some(&[a]) => memchr::memchr(a, bytes),
            Some(&[a, b]) => memchr::memchr2(a, b, bytes),
            Some(&[a, b, c]) => memchr::memchr3(a, b, c, bytes),
            _ => bytes.iter().position(|&byte| self.has(byte)),
        }
    }

    fn touches(&self, other: &Self) -> bool {
        (0..=255).any(|byte| self.has(byte) && other.has(byte))
    }
}

impl Starts {
    pub fn of(node: &Node) -> Self {
        Self::with(node, run_then)
    }

    /// The filter; `special` makes one if neither a byte nor literals identify a match.
    fn with(node: &Node, special: impl Fn(&Node) -> Option<Kind>) -> Self {
        let mut found = Beginning::default();
        if found.add(node) || found.anything {
            return Self { bytes: Bytes::new([true; 256]), at_end: true, kind: Kind::Any };
        }
        let kind = if begins_the_text(node) {
            Kind::First
        } else {
            Literals::of(node)
                .map(|literals| Kind::Literals(Box::new(literals)))
                .or_else(|| special(node))
                .unwrap_or(Kind::Byte)
        };
        Self { bytes: Bytes::new(found.table), at_end: found.at_end, kind }
    }

    /// Whether a match can begin at the beginning of the text only.
    pub fn is_first(&self) -> bool {
        matches!(self.kind, Kind::First)
    }

    /// The text that a match may have before the first of its [identifying bytes](Self::telling_bytes).
    pub fn leading_run(&self) -> Option<&LeadingRun> {
        match &self.kind {
            Kind::Run { run, .. } => Some(run),
            _ => None,
        }
    }

    /// The bytes of which every match has one, after nothing but its leading run.
    pub fn telling_bytes(&self) -> &Bytes {
        match &self.kind {
            Kind::Run { then, .. } => &then.bytes,
            _ => &self.bytes,
        }
    }

    /// The first position from `at` on at which a match could begin. `run_end` remembers the end of a run across calls.
    pub fn next(&self, hay: Hay<'_>, at: usize, run_end: &mut usize) -> Option<usize> {
        let bytes = hay.bytes_after(at);
        let found = match &self.kind {
            Kind::Any if !bytes.is_empty() => Some(at),
            Kind::Any => None,
            Kind::First if at == 0 && bytes.first().is_some_and(|&byte| self.bytes.has(byte)) => Some(0),
            Kind::First => None,
            Kind::Byte => self.bytes.find(bytes).map(|offset| at + offset),
            Kind::Literals(literals) => literals.next(&self.bytes, hay.edge, bytes).map(|offset| at + offset),
            Kind::Run { .. } if at < *run_end => Some(at),
            Kind::Run { run, then } => {
                let found = then.next(hay, at, &mut 0);
                match found.or_else(|| (hay.edge != Edge::End).then(|| hay.end())) {
                    Some(end) => {
                        let before = hay.after(at).get(..end.saturating_sub(at)).unwrap_or("");
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
}

impl Literals {
    fn of(node: &Node) -> Option<Self> {
        let mut all: Vec<Box<[u8]>> = prefixes(node)?.into_iter().map(|literal| literal.into_bytes().into()).collect();
        all.sort();
        all.dedup();
        let first = all.first()?;
        let shared = |other: &[u8]| first.iter().zip(other).take_while(|(one, other)| one == other).count();
        let length = all.iter().map(|literal| shared(literal)).min()?;
        // One byte is looked for without a literal search.
        let is_worth_it = all.iter().any(|literal| literal.len() > 1);
        let common = memmem::Finder::new(first.get(..length)?).into_owned();
        is_worth_it.then_some(Self { all, common })
    }

    /// The position of a literal, or of one that may have begun at the end of the text so far.
    fn next(&self, starts: &Bytes, edge: Edge, bytes: &[u8]) -> Option<usize> {
        let fits = |rest: &[u8]| {
            self.all.iter().any(|literal| rest.starts_with(literal) || (edge != Edge::End && literal.starts_with(rest)))
        };
        let mut at = 0;
        let common = self.common.needle().len();
        if common > 1 {
            while bytes.len() - at >= WORTH_A_LITERAL_SEARCH {
                match self.common.find(bytes.get(at..)?) {
                    Some(offset) if fits(bytes.get(at + offset..)?) => return Some(at + offset),
                    Some(offset) => at += offset + 1,
                    // The common beginning may be incomplete itself.
                    None => at = bytes.len() + 1 - common,
                }
            }
        }
        loop {
            at += starts.find(bytes.get(at..)?)?;
            if fits(bytes.get(at..)?) {
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

    /// Adds what several nodes in a row can begin with. What a look ahead sees and what follows it has to begin alike.
    fn add_all(&mut self, items: &[Node]) -> bool {
        // The text that all look-aheads so far have seen.
        let mut seen: Option<Self> = None;
        for item in items {
            let mut own = Self::default();
            let through = own.add(item);
            let is_look = matches!(item, Node::Look { behind: false, negate: false, .. });
            match seen.as_mut() {
                // A look that may see nothing says nothing.
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

    /// Keeps what is in the other as well. One that may be anything rules nothing out.
    fn keep(&mut self, other: &Self) {
        self.table.iter_mut().zip(&other.table).for_each(|(member, other)| *member &= other);
        self.at_end &= other.at_end;
        self.anything |= other.anything;
    }

    /// Adds the possible beginnings of a node; true if those of the next node count as well.
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

/// The filter of a pattern such as `\s*<x>` or `\s{0,4}<x>`: a run, and what cannot be part of it.
fn run_then(node: &Node) -> Option<Kind> {
    let Node::Concat(items) = node else { return None };
    let Some((Node::Repeat { node, max, .. }, rest)) = items.split_first() else { return None };
    let class = match &**node {
        Node::Class(class) => class.clone(),
        Node::Char(c) => Class::new(&class::of([(*c, *c)])),
        _ => return None,
    };
    let mut run = Beginning::default();
    run.class(&class);
    if !class.beyond_ascii().is_empty() {
        (0x80..=0xBF).for_each(|byte| run.byte(byte));
    }
    // A run after the run is not looked for: patterns may have any number of them.
    let then = Starts::with(&Node::Concat(rest.to_vec()), |_| None);
    let apart = !then.at_end && !matches!(then.kind, Kind::Any) && !Bytes::new(run.table).touches(&then.bytes);
    apart.then(|| Kind::Run { run: LeadingRun { class, max: *max }, then: Box::new(then) })
}
