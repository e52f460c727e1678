//! Members of an object or pairs of a call, in order: the required ones, the optional ones, and others after them.

use crate::grammar::rules::{Node, Rules};

/// A member that may be written.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub node: Node,
    pub required: bool,
}

/// All lists of these members in their order, with `extra` members after them. The size grows with their number alone.
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
            // What follows is named twice: after this member, and after those before it.
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
