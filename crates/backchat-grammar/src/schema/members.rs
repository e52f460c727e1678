//! Lists the members of an object or the arguments of a call: in the order of the schema, followed by unlisted ones, or
//! in any order.

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
    Any,
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
    let all: usize = (1 << members.len()) - 1;
    let needed = (0..members.len()).filter(|at| members.get(*at).is_some_and(|member| member.required));
    let needed: usize = needed.map(|at| 1 << at).sum();
    // The rest after these members: nothing, or a separator and one of the others.
    let after: Vec<Node> = (0..=all)
        .map(|written| match written == all && extra.is_none() {
            true => Node::empty(),
            false => Node::Rule(rules.reserve(&format!("{name}-after"))),
        })
        .collect();
    let next = |written: usize| {
        let then = |written: usize| after.get(written).cloned().unwrap_or_else(Node::never);
        let member = members.iter().enumerate().filter(move |(at, _)| written & (1 << at) == 0);
        let members = member.map(move |(at, member)| Node::sequence([member.node.clone(), then(written | 1 << at)]));
        members.chain(extra.map(|extra| Node::sequence([extra.clone(), then(written)]))).collect::<Vec<_>>()
    };
    for (written, rule) in after.iter().enumerate() {
        if let Node::Rule(number) = rule {
            let more = Node::sequence([separator.clone(), Node::choice(next(written))]);
            rules.set(*number, if written & needed == needed { more.optional() } else { more });
        }
    }
    let first = Node::choice(next(0));
    if needed == 0 { first.optional() } else { first }
}
