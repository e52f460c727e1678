//! A pattern as a regular language, for grammars: without positions and captures, with look-arounds overapproximated.

use super::PatternError;
use super::class::Class;
use super::read_regex::{self, ParsedPattern};
use super::tree::{Assertion, Node};

/// A set of texts built of classes of characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Regular {
    Empty,
    /// No text.
    Never,
    /// One character of these ranges, in order.
    Class(Vec<(u32, u32)>),
    Concat(Vec<Regular>),
    Alternate(Vec<Regular>),
    Repeat {
        node: Box<Regular>,
        min: u32,
        max: Option<u32>,
    },
}

impl Regular {
    /// One exact text.
    pub fn text(text: &str) -> Self {
        Self::Concat(text.chars().map(|c| Self::Class(vec![(u32::from(c), u32::from(c))])).collect())
    }

    /// One character of these ranges, given in order.
    pub fn class(ranges: &[(char, char)]) -> Self {
        Self::Class(ranges.iter().map(|(low, high)| (u32::from(*low), u32::from(*high))).collect())
    }

    /// Any text.
    pub fn anything() -> Self {
        Self::Class(vec![(0, 0x10_FFFF)]).repeat(0, None)
    }

    /// Repeated `min` to `max` times, without a bound if `max` is `None`.
    pub fn repeat(self, min: u32, max: Option<u32>) -> Self {
        Self::Repeat { node: Box::new(self), min, max }
    }

    /// The fewest characters it matches.
    pub fn least(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Never => usize::MAX,
            Self::Class(_) => 1,
            Self::Concat(items) => items.iter().map(Self::least).fold(0, usize::saturating_add),
            Self::Alternate(items) => items.iter().map(Self::least).min().unwrap_or(usize::MAX),
            Self::Repeat { node, min, .. } => node.least().saturating_mul(*min as usize),
        }
    }
}

/// The texts that a delimiter matches, and whether it must be at the beginning of the text.
pub fn of_delimiter(source: &str) -> Result<(Regular, bool), PatternError> {
    let parsed = read_regex::read(source)?;
    let anchored = matches!(first(&parsed.node), Some(Node::Assert(Assertion::Start)));
    Ok((generous(&parsed.node), anchored))
}

/// The texts that a `pattern` of JSON Schema accepts, not anchored unless it says so; `None` if it is not regular.
pub fn of_schema(source: &str) -> Result<Option<Regular>, PatternError> {
    let ParsedPattern { node, .. } = read_regex::read_of_schema(source)?;
    Ok(anchored(&node, true, true))
}

fn first(node: &Node) -> Option<&Node> {
    match node {
        Node::Concat(items) => items.first().and_then(first),
        Node::Group { node, .. } | Node::Atomic(node) => first(node),
        node => Some(node),
    }
}

fn class(class: &Class) -> Regular {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut at = None;
    for byte in 0..128_u8 {
        if class.has_ascii(byte) {
            let low = *at.get_or_insert(u32::from(byte));
            if byte == 127 {
                ranges.push((low, 127));
            }
        } else if let Some(low) = at.take() {
            ranges.push((low, u32::from(byte) - 1));
        }
    }
    let beyond = class.beyond_ascii();
    // Letters of all scripts are hundreds of ranges, which no grammar should spell out.
    if beyond.len() > 24 {
        ranges.push((128, 0x10_FFFF));
    } else {
        ranges.extend(beyond.iter().map(|(low, high)| (u32::from(*low), u32::from(*high))));
    }
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for (low, high) in ranges {
        match joined.last_mut() {
            // The code points between are not characters.
            Some(last) if last.1 + 1 == low || (last.1, low) == (0xD7FF, 0xE000) => last.1 = high,
            _ => joined.push((low, high)),
        }
    }
    Regular::Class(joined)
}

/// A superset of the pattern's matches: a look-ahead counts as text, a look-behind as any text before it.
fn generous(node: &Node) -> Regular {
    match node {
        Node::Empty | Node::Keep => Regular::Empty,
        Node::Char(c) | Node::Folded(c) => Regular::Class(vec![(u32::from(*c), u32::from(*c))]),
        Node::Class(set) => class(set),
        // Text that continues does not end here.
        Node::Assert(Assertion::End | Assertion::EndOrFinalNewline) => Regular::Never,
        Node::Assert(_) => Regular::Empty,
        Node::Group { node, .. } | Node::Atomic(node) => generous(node),
        Node::Concat(items) => {
            let mut all: Vec<Regular> = Vec::new();
            for item in items {
                match item {
                    Node::Look { node, behind: true, negate: false } => {
                        let behind = generous(node);
                        let known = Regular::Concat(all);
                        // Both have to end here: the stricter one replaces them.
                        all = if behind.least() >= known.least() { vec![behind] } else { vec![known] };
                    }
                    item => all.push(generous(item)),
                }
            }
            Regular::Concat(all)
        }
        Node::Alternate(items) => Regular::Alternate(items.iter().map(generous).collect()),
        Node::Repeat { node, min, max, .. } => Regular::Repeat { node: Box::new(generous(node)), min: *min, max: *max },
        Node::Look { node, negate: false, .. } => generous(node),
        Node::Look { .. } => Regular::Empty,
        Node::Backref { .. } | Node::Call(_) => Regular::anything(),
        Node::IfGroup { yes, no, .. } | Node::IfLook { yes, no, .. } => {
            Regular::Alternate(vec![generous(yes), generous(no)])
        }
    }
}

/// The whole texts in which a pattern is found; `start` and `end` say whether this part reaches the edges of the
/// pattern.
fn anchored(node: &Node, start: bool, end: bool) -> Option<Regular> {
    let edge = |is_edge: bool| is_edge.then(Regular::anything);
    match node {
        Node::Group { node, .. } | Node::Atomic(node) if has_places(node) => anchored(node, start, end),
        Node::Alternate(items) if items.iter().any(has_places) => {
            Some(Regular::Alternate(items.iter().map(|item| anchored(item, start, end)).collect::<Option<_>>()?))
        }
        Node::Concat(items) if items.iter().any(has_places) => {
            let last = items.len() - 1;
            let parts = items.iter().enumerate().map(|(at, item)| anchored(item, start && at == 0, end && at == last));
            Some(Regular::Concat(parts.collect::<Option<_>>()?))
        }
        Node::Assert(Assertion::Start) if start => Some(if end { Regular::anything() } else { Regular::Empty }),
        Node::Assert(Assertion::End | Assertion::EndOrFinalNewline) if end => {
            Some(if start { Regular::anything() } else { Regular::Empty })
        }
        Node::Assert(_) => None,
        node => Some(Regular::Concat([edge(start), Some(exact(node)?), edge(end)].into_iter().flatten().collect())),
    }
}

fn has_places(node: &Node) -> bool {
    node.any(&|node| matches!(node, Node::Assert(_)))
}

/// Exactly its matches; `None` if they are not regular.
fn exact(node: &Node) -> Option<Regular> {
    Some(match node {
        Node::Empty => Regular::Empty,
        Node::Char(c) => Regular::Class(vec![(u32::from(*c), u32::from(*c))]),
        Node::Class(set) => class(set),
        Node::Group { node, .. } => exact(node)?,
        Node::Concat(items) => Regular::Concat(items.iter().map(exact).collect::<Option<_>>()?),
        Node::Alternate(items) => Regular::Alternate(items.iter().map(exact).collect::<Option<_>>()?),
        Node::Repeat { node, min, max, .. } => Regular::Repeat { node: Box::new(exact(node)?), min: *min, max: *max },
        _ => return None,
    })
}
