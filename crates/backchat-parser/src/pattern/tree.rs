//! A pattern as it was read, before it is compiled.

use super::class::Class;
use backchat_core::text::Cursor;

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Matches the empty string.
    Empty,
    Char(char),
    Class(Class),
    /// A place in the text, no characters.
    Assert(Assertion),
    /// A group whose text is remembered.
    Group {
        index: u32,
        node: Box<Node>,
    },
    /// One after the other.
    Concat(Vec<Node>),
    /// The first that lets the rest match.
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        greed: Greed,
    },
    /// A look ahead or behind, which consumes nothing.
    Look {
        node: Box<Node>,
        behind: bool,
        negate: bool,
    },
    /// A group that is never entered again once it has matched.
    Atomic(Box<Node>),
    /// The text of a group again.
    Backref {
        group: u32,
        fold: bool,
    },
    /// A character that with others of its kind next to it is compared by full case folding.
    Folded(char),
    /// The inside of a group again; for group 0 the whole pattern.
    Call(u32),
    /// `\K`: the match begins here.
    Keep,
    /// One of two, by whether a group took part.
    IfGroup {
        group: u32,
        yes: Box<Node>,
        no: Box<Node>,
    },
    /// One of two, by whether a look matches.
    IfLook {
        look: Box<Node>,
        behind: bool,
        yes: Box<Node>,
        no: Box<Node>,
    },
}

/// The preference of a repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    Greedy,
    Lazy,
    Possessive,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    /// `\A`, and `^` outside of multi-line mode.
    Start,
    /// `^` in multi-line mode.
    LineStart,
    /// `\Z`
    End,
    /// `$` outside of multi-line mode: the end, or before a newline that ends the text.
    EndOrFinalNewline,
    /// `$` in multi-line mode.
    LineEnd,
    /// `\b`
    WordBoundary,
    /// `\B`
    NotWordBoundary,
    /// `\m`
    WordStart,
    /// `\M`
    WordEnd,
    /// `\G`: the start of the search.
    SearchStart,
}

impl Greed {
    /// The preference that a sign after a repeat gives it.
    pub fn read(text: &mut Cursor<'_>) -> Self {
        if text.eat('?') {
            Greed::Lazy
        } else if text.eat('+') {
            Greed::Possessive
        } else {
            Greed::Greedy
        }
    }
}

impl Node {
    /// Nodes one after the other.
    pub fn concat(mut items: Vec<Node>) -> Self {
        match items.len() {
            0 => Node::Empty,
            1 => items.remove(0),
            _ => Node::Concat(items),
        }
    }

    /// The first of several nodes that lets the rest match.
    pub fn alternate(mut branches: Vec<Node>) -> Self {
        if branches.len() == 1 { branches.remove(0) } else { Node::Alternate(branches) }
    }

    /// The set of a node that is one character.
    pub fn class(&self) -> Option<Class> {
        match self {
            Node::Char(c) => Some(Class::of(*c)),
            Node::Class(class) => Some(class.clone()),
            _ => None,
        }
    }

    /// The nodes right inside this one.
    pub fn inside(&self) -> impl Iterator<Item = &Node> {
        let (few, many): ([Option<&Node>; 3], &[Node]) = match self {
            Node::Concat(items) | Node::Alternate(items) => ([None; 3], items),
            Node::Group { node, .. } | Node::Atomic(node) | Node::Repeat { node, .. } | Node::Look { node, .. } => {
                ([Some(node), None, None], &[])
            }
            Node::IfGroup { yes, no, .. } => ([Some(yes), Some(no), None], &[]),
            Node::IfLook { look, yes, no, .. } => ([Some(look), Some(yes), Some(no)], &[]),
            _ => ([None; 3], &[]),
        };
        few.into_iter().flatten().chain(many)
    }

    /// Whether this node or one inside it is of a kind.
    pub fn any(&self, is: &impl Fn(&Node) -> bool) -> bool {
        is(self) || self.inside().any(|node| node.any(is))
    }

    /// Whether it can match without consuming a character.
    pub fn can_be_empty(&self) -> bool {
        match self {
            Node::Empty | Node::Keep | Node::Assert(_) | Node::Look { .. } => true,
            Node::Backref { .. } | Node::Call(_) => true,
            Node::Char(_) | Node::Class(_) | Node::Folded(_) => false,
            Node::Group { node, .. } | Node::Atomic(node) => node.can_be_empty(),
            Node::Concat(items) => items.iter().all(Node::can_be_empty),
            Node::Alternate(items) => items.iter().any(Node::can_be_empty),
            Node::Repeat { node, min, .. } => *min == 0 || node.can_be_empty(),
            Node::IfGroup { yes, no, .. } | Node::IfLook { yes, no, .. } => yes.can_be_empty() || no.can_be_empty(),
        }
    }

    /// How many characters before a match it may have to see: the reach of its look-behinds; `None` if unbounded.
    pub fn reach_behind(&self) -> Option<usize> {
        self.reach().map(|(behind, _)| behind)
    }

    /// The reach before its start, and the most characters it consumes (`usize::MAX`: no bound).
    fn reach(&self) -> Option<(usize, usize)> {
        let look = |node: &Node, is_behind: bool| match node.reach()? {
            (_, usize::MAX) if is_behind => None,
            (behind, length) if is_behind => Some((behind.saturating_add(length), 0)),
            (behind, _) => Some((behind, 0)),
        };
        match self {
            Node::Empty | Node::Keep => Some((0, 0)),
            Node::Char(_) | Node::Class(_) => Some((0, 1)),
            // A sharp s folds to two.
            Node::Folded(_) => Some((0, 3)),
            Node::Assert(_) => Some((1, 0)),
            Node::Group { node, .. } | Node::Atomic(node) => node.reach(),
            Node::Concat(items) => items.iter().try_fold((0, 0), |(behind, length), item| {
                let (b, l) = item.reach()?;
                Some((b.max(behind), l.saturating_add(length)))
            }),
            Node::Alternate(items) => items.iter().try_fold((0, 0), |(behind, length), item| {
                let (b, l) = item.reach()?;
                Some((b.max(behind), l.max(length)))
            }),
            Node::Repeat { node, max, .. } => {
                let (behind, length) = node.reach()?;
                Some((behind, max.map_or(usize::MAX, |max| length.saturating_mul(max as usize))))
            }
            Node::Look { node, behind, .. } => look(node, *behind),
            Node::Backref { .. } | Node::Call(_) => Some((0, usize::MAX)),
            Node::IfGroup { yes, no, .. } => {
                let ((a, b), (c, d)) = (yes.reach()?, no.reach()?);
                Some((a.max(c), b.max(d)))
            }
            Node::IfLook { look: inside, behind, yes, no } => {
                let ((a, b), (c, d)) = (yes.reach()?, no.reach()?);
                Some((look(inside, *behind)?.0.max(a).max(c), b.max(d)))
            }
        }
    }
}
