//! Where in a text a match could begin at all.

use memchr::memmem;

use super::class::Class;
use super::hay::{Edge, Hay};
use super::tree::{Assertion, Node};

/// From this many bytes on a search for a whole literal beats one for its first byte.
const WORTH_A_LITERAL_SEARCH: usize = 48;

/// A filter over the places of a text.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    /// The bytes with which a match can begin.
    pub bytes: Bytes,
    /// Whether a match can begin behind the last character.
    pub at_end: bool,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Anywhere.
    Any,
    /// At one of the bytes.
    Byte,
    /// At a literal.
    Literal(Box<memmem::Finder<'static>>),
    /// At the first byte of a run, which `then` follows.
    Run { run: Bytes, then: Bytes },
}

/// A set of bytes.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    table: Box<[bool; 256]>,
    /// The members, where they are at most three.
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
        let mut found = Beginning::default();
        if found.add(node) || found.anything {
            return Self { bytes: Bytes::new([true; 256]), at_end: true, kind: Kind::Any };
        }
        let bytes = Bytes::new(found.table);
        let mut prefix = String::new();
        literal_prefix(node, &mut prefix);
        let kind = if prefix.len() > 1 {
            Kind::Literal(Box::new(memmem::Finder::new(prefix.as_bytes()).into_owned()))
        } else {
            run_then(node).unwrap_or(Kind::Byte)
        };
        Self { bytes, at_end: found.at_end, kind }
    }

    /// The first place from `at` on where a match could begin. `run_end` remembers the end of a run across calls.
    pub fn next(&self, hay: Hay<'_>, at: usize, run_end: &mut usize) -> Option<usize> {
        let bytes = hay.bytes_after(at);
        let found = match &self.kind {
            Kind::Any if !bytes.is_empty() => Some(at),
            Kind::Any => None,
            Kind::Byte => self.bytes.find(bytes).map(|offset| at + offset),
            Kind::Literal(finder) => self.next_literal(finder, hay.edge, bytes).map(|offset| at + offset),
            Kind::Run { run, then } => {
                if at < *run_end {
                    Some(at)
                } else {
                    let offset = then.find(bytes).unwrap_or(bytes.len());
                    let before = bytes.get(..offset).unwrap_or(&[]);
                    let outside = before.iter().rposition(|&byte| !run.has(byte)).map_or(0, |last| last + 1);
                    // A character may begin with a byte that is none of the run's and go on with one that is.
                    let begin = (outside..offset).find(|&i| bytes.get(i).is_some_and(|byte| byte & 0xC0 != 0x80));
                    *run_end = at + offset;
                    begin.or_else(|| (offset < bytes.len()).then_some(offset)).map(|offset| at + offset)
                }
            }
        };
        match found {
            None if self.at_end && hay.edge != Edge::Open => Some(hay.end()),
            found => found,
        }
    }
}

impl Starts {
    /// Where the literal is, or at the end of what there is may have begun.
    fn next_literal(&self, finder: &memmem::Finder<'_>, edge: Edge, bytes: &[u8]) -> Option<usize> {
        let literal = finder.needle();
        if bytes.len() >= WORTH_A_LITERAL_SEARCH
            && let Some(offset) = finder.find(bytes)
        {
            return Some(offset);
        }
        let whole = bytes.len() < WORTH_A_LITERAL_SEARCH;
        let mut at = if whole { 0 } else { (bytes.len() + 1).saturating_sub(literal.len()) };
        loop {
            let rest = bytes.get(at..)?;
            at += self.bytes.find(rest)?;
            let rest = bytes.get(at..)?;
            if rest.starts_with(literal) || (edge != Edge::End && literal.starts_with(rest)) {
                return Some(at);
            }
            at += 1;
        }
    }
}

/// What a match can begin with.
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
        // What the looks ahead so far have all seen.
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

    /// Adds what a node can begin with; true where what follows it counts as well.
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

/// Adds the literal with which every match begins; true where it goes on behind the node.
fn literal_prefix(node: &Node, prefix: &mut String) -> bool {
    match node {
        Node::Empty | Node::Keep | Node::Look { .. } | Node::Assert(_) => true,
        Node::Char(c) => {
            prefix.push(*c);
            true
        }
        Node::Group { node, .. } | Node::Atomic(node) => literal_prefix(node, prefix),
        Node::Concat(items) => items.iter().all(|item| literal_prefix(item, prefix)),
        _ => false,
    }
}

/// The filter of a pattern such as `\s*<x>`: a run, and what cannot be part of it.
fn run_then(node: &Node) -> Option<Kind> {
    let Node::Concat(items) = node else { return None };
    let Some((Node::Repeat { node, max: None, .. }, rest)) = items.split_first() else { return None };
    let Node::Class(class) = &**node else { return None };
    let mut run = Beginning::default();
    run.class(class);
    if !class.beyond_ascii().is_empty() {
        (0x80..=0xBF).for_each(|byte| run.byte(byte));
    }
    let mut then = Beginning::default();
    let through = then.add_all(rest);
    let (run, then_bytes) = (Bytes::new(run.table), Bytes::new(then.table));
    let apart = !through && !then.at_end && !then.anything && !run.touches(&then_bytes);
    (apart && then_bytes.few.is_some()).then_some(Kind::Run { run, then: then_bytes })
}
