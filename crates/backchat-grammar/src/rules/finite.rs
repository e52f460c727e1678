//! Removes the rules that no finite text satisfies: those that always lead to themselves again.

use hashbrown::HashSet;

use super::{Node, NodeQueue, Rules};

type Numbers = HashSet<usize, foldhash::fast::RandomState>;

impl Rules {
    /// The node without the parts that no finite text satisfies, in the rules that it refers to as well.
    pub fn finite(&mut self, node: &Node) -> Node {
        let reached = self.reached(node);
        let mut finite = Numbers::default();
        loop {
            let known = finite.len();
            // A rule mostly refers to later ones.
            for number in reached.iter().rev() {
                if self.node(*number).is_some_and(|node| ends(node, &finite)) {
                    finite.insert(*number);
                }
            }
            if finite.len() == known {
                break;
            }
        }
        if finite.len() == reached.len() {
            return node.clone();
        }
        for number in reached {
            let kept = self.node(number).map_or_else(Node::never, |node| kept(node, &finite));
            self.set(number, kept);
        }
        kept(node, &finite)
    }

    /// The numbers of the rules that a node refers to, in order.
    fn reached(&self, node: &Node) -> Vec<usize> {
        let mut queue = NodeQueue::default();
        let mut found = Vec::new();
        queue.push(node);
        while let Some(node) = queue.next() {
            match &node {
                Node::Sequence(items) | Node::Choice(items) => items.iter().for_each(|item| queue.push(item)),
                Node::Repeat(inner, ..) => queue.push(inner),
                Node::Rule(number) => {
                    found.push(*number);
                    self.node(*number).into_iter().for_each(|node| queue.push(node));
                }
                Node::Literal(_) | Node::Text(..) => {}
            }
        }
        found.sort_unstable();
        found
    }
}

/// Whether a text that these rules satisfy satisfies a node.
fn ends(node: &Node, finite: &Numbers) -> bool {
    match node {
        Node::Literal(_) | Node::Text(..) => true,
        Node::Sequence(items) => items.iter().all(|item| ends(item, finite)),
        Node::Choice(items) => items.iter().any(|item| ends(item, finite)),
        Node::Repeat(node, min, _) => *min == 0 || ends(node, finite),
        Node::Rule(number) => finite.contains(number),
    }
}

/// A node without references to other rules than these.
fn kept(node: &Node, finite: &Numbers) -> Node {
    match node {
        Node::Literal(_) | Node::Text(..) => node.clone(),
        Node::Sequence(items) => Node::sequence(items.iter().map(|item| kept(item, finite))),
        Node::Choice(items) => Node::choice(items.iter().map(|item| kept(item, finite))),
        Node::Repeat(node, min, max) => kept(node, finite).repeat(*min, *max),
        Node::Rule(number) if finite.contains(number) => node.clone(),
        Node::Rule(_) => Node::never(),
    }
}
