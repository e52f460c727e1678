//! Lists the members of an object or the arguments of a call: in the order of the schema, followed by unlisted ones; sorted,
//! with unlisted ones anywhere; or in any order.

use super::shape::Count;
use crate::rules::{Node, Rules};

/// A member that may be written.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub node: Node,
    pub required: bool,
}

/// The order of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Schema,
    /// By name, with unlisted members anywhere: their names are not known.
    Sorted,
    Any,
}

impl Order {
    /// The order on a wire that may sort members, unless they come in any order.
    pub fn on_wire(self, is_sorted: bool) -> Self {
        if is_sorted && self == Self::Schema { Self::Sorted } else { self }
    }
}

/// All lists of these members in order, followed by `extra` members. The size is linear in their number.
pub(crate) fn in_order(
    rules: &mut Rules,
    name: &str,
    members: &[Member],
    extra: Option<(Node, u32, Option<u32>)>,
    separator: &Node,
) -> Node {
    let (mut head, mut tail) = match &extra {
        None => (Node::empty(), Node::empty()),
        Some((node, min, max)) => {
            let next = Node::sequence([separator.clone(), node.clone()]);
            let first = Node::sequence([
                node.clone(),
                next.clone().repeat(min.saturating_sub(1), max.map(|max| max.saturating_sub(1))),
            ]);
            let head = if *min == 0 { first.optional() } else { first };
            let head = if *max == Some(0) { Node::empty() } else { head };
            (head, next.repeat(*min, *max))
        }
    };
    let starts = members.iter().position(|member| member.required).map_or(members.len(), |at| at + 1);
    for (at, member) in members.iter().enumerate().rev() {
        let next = Node::sequence([separator.clone(), member.node.clone()]);
        if at < starts {
            // The rest is named twice: after this member, and after those before it.
            if at + 1 < members.len() || extra.is_some() {
                tail = rules.add(&format!("{name}-after"), tail);
            }
            let first = Node::sequence([member.node.clone(), tail.clone()]);
            head = if member.required { first } else { Node::choice([first, head]) };
            if at > 0 && !matches!(head, Node::Rule(_)) {
                head = rules.add(&format!("{name}-from"), head);
            }
        }
        let next = if member.required { next } else { next.optional() };
        tail = Node::sequence([next, tail]);
    }
    head
}

/// All lists of these members in order, with `extra` members anywhere. The size is linear in their number.
pub(crate) fn in_order_among(
    rules: &mut Rules,
    name: &str,
    members: &[Member],
    extra: &Node,
    separator: &Node,
) -> Node {
    let extras = Node::sequence([separator.clone(), extra.clone()]).repeat(0, None);
    // The lists from a member on: as the first ones, and after others.
    let (mut first, mut next) = (Node::empty(), Node::empty());
    for member in members.iter().rev() {
        let rest = rules.add(&format!("{name}-after"), Node::sequence([extras.clone(), next.clone()]));
        let own = Node::sequence([member.node.clone(), rest]);
        let after = Node::sequence([separator.clone(), own.clone()]);
        let [own, after] = match member.required {
            true => [own, after],
            false => [Node::choice([own, first]), Node::choice([after, next])],
        };
        first = rules.add(&format!("{name}-from"), own);
        next = rules.add(&format!("{name}-next"), after);
    }
    Node::choice([Node::sequence([extra.clone(), extras, next]), first])
}

/// How many members may come in any order: each set of members already written needs a rule.
pub(crate) const MOST_UNORDERED: usize = 6;

/// All lists of these members in any order, each once, with `extra` members anywhere.
pub(crate) fn in_any_order(
    rules: &mut Rules,
    name: &str,
    members: &[Member],
    extra: Option<&Node>,
    separator: &Node,
) -> Node {
    let needed = members.iter().enumerate().filter(|(_, member)| member.required);
    let needed: usize = needed.map(|(at, _)| 1 << at).sum();
    let nodes: Vec<&Node> = members.iter().map(|member| &member.node).collect();
    let most = nodes.len();
    Unordered { nodes, extra, separator }.lists(rules, name, most, &|written| written & needed == needed)
}

/// All lists of these items in any order, each at most once, of the lengths that are allowed.
pub(super) fn each_once(rules: &mut Rules, name: &str, items: &[Node], separator: &Node, count: Count) -> Node {
    let most = count.max.and_then(|max| usize::try_from(max).ok()).map_or(items.len(), |max| max.min(items.len()));
    if count.min > most as u64 {
        return Node::never();
    }
    let unordered = Unordered { nodes: items.iter().collect(), extra: None, separator };
    unordered.lists(rules, name, most, &|written| count.holds(written.count_ones() as usize))
}

/// Members that come in any order.
struct Unordered<'n> {
    /// Each may be written once.
    nodes: Vec<&'n Node>,
    /// It may be written anywhere, any number of times.
    extra: Option<&'n Node>,
    separator: &'n Node,
}

impl Unordered<'_> {
    /// The lists of at most so many members. A set of written members is a number whose bits are the members; `may_end` says
    /// whether a list may end after them.
    fn lists(&self, rules: &mut Rules, name: &str, most: usize, may_end: &dyn Fn(usize) -> bool) -> Node {
        let all: usize = (1 << self.nodes.len()) - 1;
        // The rest after these members: nothing, or a separator and one of the others.
        let after: Vec<Node> = (0..=all)
            .map(|written| match written.count_ones() as usize >= most && self.extra.is_none() {
                true => Node::empty(),
                false => Node::Rule(rules.reserve(&format!("{name}-after"))),
            })
            .collect();
        let next = |written: usize| {
            let then = |written: usize| after.get(written).cloned().unwrap_or_else(Node::never);
            let member = self.nodes.iter().enumerate().filter(move |(at, _)| written & (1 << at) == 0);
            let members = member.map(move |(at, node)| Node::sequence([(*node).clone(), then(written | 1 << at)]));
            members.chain(self.extra.map(|extra| Node::sequence([extra.clone(), then(written)]))).collect::<Vec<_>>()
        };
        for (written, rule) in after.iter().enumerate() {
            if let Node::Rule(number) = rule {
                let more = Node::sequence([self.separator.clone(), Node::choice(next(written))]);
                rules.set(*number, if may_end(written) { more.optional() } else { more });
            }
        }
        let first = Node::choice(if most == 0 && self.extra.is_none() { Vec::new() } else { next(0) });
        if may_end(0) { first.optional() } else { first }
    }
}
