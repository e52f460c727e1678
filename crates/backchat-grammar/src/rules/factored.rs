//! Factors out common prefixes: several sequences as one node.

use super::Node;
use backchat_core::text::{common_start, slice};

/// Several sequences as one node; sequences that match nothing are dropped.
pub(crate) fn factored(ways: &[Vec<Node>]) -> Node {
    let alive = ways.iter().filter(|way| !way.iter().any(Node::is_never));
    join(alive.map(|way| Rest::new(None, way)).collect())
}

/// The rest of a sequence.
#[derive(Clone, Copy)]
struct Rest<'n> {
    /// The rest of a literal whose beginning was factored out.
    begun: Option<&'n str>,
    nodes: &'n [Node],
}

/// The first part of a sequence.
#[derive(Clone, Copy, PartialEq)]
enum Head<'n> {
    Text(&'n str),
    Node(&'n Node),
}

impl<'n> Rest<'n> {
    /// The sequence without leading empty literals.
    fn new(begun: Option<&'n str>, mut nodes: &'n [Node]) -> Self {
        let begun = begun.filter(|text| !text.is_empty());
        while let (None, Some((Node::Literal(text), rest))) = (begun, nodes.split_first())
            && text.is_empty()
        {
            nodes = rest;
        }
        Self { begun, nodes }
    }

    fn head(self) -> Option<Head<'n>> {
        match (self.begun, self.nodes.first()) {
            (Some(text), _) => Some(Head::Text(text)),
            (None, Some(Node::Literal(text))) => Some(Head::Text(text)),
            (None, node) => node.map(Head::Node),
        }
    }

    /// The rest after a beginning of this length, if it is text.
    fn after(self, length: usize) -> Self {
        match (self.begun, self.nodes.split_first()) {
            (Some(text), _) => Self::new(Some(slice(text, length..)), self.nodes),
            (None, Some((Node::Literal(text), nodes))) => Self::new(Some(slice(text, length..)), nodes),
            (None, Some((_, nodes))) => Self::new(None, nodes),
            (None, None) => self,
        }
    }

    fn to_node(self) -> Node {
        Node::sequence(self.begun.map(Node::literal).into_iter().chain(self.nodes.iter().cloned()))
    }
}

fn join(mut left: Vec<Rest<'_>>) -> Node {
    let mut ways = Vec::new();
    while let Some(first) = left.first().copied() {
        let Some(head) = first.head() else {
            left.remove(0);
            ways.push(Node::empty());
            continue;
        };
        let is_same = |rest: &Rest<'_>| match (head, rest.head()) {
            (Head::Text(a), Some(Head::Text(b))) => a.chars().next() == b.chars().next(),
            (own, other) => Some(own) == other,
        };
        let (same, other): (Vec<_>, Vec<_>) = left.into_iter().partition(is_same);
        left = other;
        if same.len() == 1 {
            ways.push(first.to_node());
            continue;
        }
        let length = same.iter().filter_map(|rest| match (head, rest.head()?) {
            (Head::Text(a), Head::Text(b)) => Some(common_start(a, b).len()),
            _ => None,
        });
        let length = length.min().unwrap_or(0);
        let shared = match head {
            Head::Text(text) => Node::literal(slice(text, ..length)),
            Head::Node(node) => node.clone(),
        };
        let rest = join(same.into_iter().map(|rest| rest.after(length)).collect());
        ways.push(Node::sequence([shared, rest]));
    }
    Node::choice(ways)
}
