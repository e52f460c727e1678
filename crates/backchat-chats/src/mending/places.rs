//! A template's syntax as the search for edits needs it.

use std::ops::Range;

use backchat_chat::{Branch, Node, NodeKind, nodes};
use backchat_core::text::slice;

/// The nodes of a source.
pub(super) struct Places<'s> {
    pub source: &'s str,
    pub nodes: Vec<Node>,
    /// How many lines of the file come before the source.
    head: usize,
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

impl<'s> Places<'s> {
    pub fn new(source: &'s str) -> Self {
        Self::after(source, 0)
    }

    /// The nodes of a source that comes after some lines of its file.
    pub fn after(source: &'s str, head: usize) -> Self {
        Self { source, nodes: nodes(source), head }
    }

    pub fn text(&self, span: &Range<usize>) -> &'s str {
        slice(self.source, span.clone())
    }

    pub fn line(&self, at: usize) -> usize {
        slice(self.source, ..at).matches('\n').count() + 1 + self.head
    }

    /// The nodes around a span, the innermost first.
    pub fn around(&self, span: &Range<usize>) -> Vec<usize> {
        let innermost = self.nodes.iter().enumerate().filter(|(_, node)| holds(&node.span, span));
        let innermost = innermost.min_by_key(|(at, node)| (node.span.len(), usize::MAX - at));
        let mut found = Vec::new();
        let mut next = innermost.map(|(at, _)| at);
        while let Some(at) = next {
            found.push(at);
            next = self.nodes.get(at).and_then(|node| node.parent);
        }
        found
    }

    /// The innermost statement of a kind around a span.
    pub fn enclosing(&self, span: &Range<usize>, is_wanted: impl Fn(&NodeKind) -> bool) -> Option<&Node> {
        self.around(span).into_iter().filter_map(|at| self.nodes.get(at)).find(|node| is_wanted(&node.kind))
    }

    /// The conditions that lead to a span, the innermost first, and their parts.
    pub fn conditions_before(&self, span: &Range<usize>) -> Vec<&Node> {
        let mut found: Vec<&Node> = Vec::new();
        for at in self.around(span) {
            let Some(Node { kind: NodeKind::If(branches), .. }) = self.nodes.get(at) else { continue };
            let until = branches.iter().position(|branch| branch.body.as_ref().is_some_and(|body| holds(body, span)));
            let tests =
                branches.iter().take(until.map_or(1, |at| at + 1)).rev().filter_map(|branch| branch.test.clone());
            for test in tests {
                found.extend(self.nodes.iter().filter(|node| node.is_condition && holds(&test, &node.span)));
            }
        }
        found
    }

    /// The body of a branch holds nothing but white space besides a span.
    pub fn is_alone(&self, branch: &Branch, span: &Range<usize>) -> bool {
        branch.body.as_ref().is_some_and(|body| {
            holds(body, span)
                && self.text(&(body.start..span.start)).trim().is_empty()
                && self.text(&(span.end..body.end)).trim().is_empty()
        })
    }

    /// The innermost loop over messages around a span.
    pub fn message_loop_around(&self, span: &Range<usize>) -> Option<(&Node, &str, &Range<usize>)> {
        self.message_loops().into_iter().rfind(|(node, ..)| holds(&node.span, span))
    }

    /// The loops over messages: their targets and nodes.
    pub fn message_loops(&self) -> Vec<(&Node, &str, &Range<usize>)> {
        let is_messages = |node: &'_ Node| match &node.kind {
            NodeKind::For { target: Some(_), over, .. } => self.text(over).contains("messages"),
            _ => false,
        };
        let loops = self.nodes.iter().filter(|node| is_messages(node));
        loops
            .filter_map(|node| match &node.kind {
                NodeKind::For { target: Some(target), over, .. } => Some((node, target.as_str(), over)),
                _ => None,
            })
            .collect()
    }
}
