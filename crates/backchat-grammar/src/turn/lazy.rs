//! Grammars that start at a call: the text before it is unconstrained.

use super::parts::{Parts, Start, Turn};
use super::placeholders::fixed_start;
use crate::markers::first_unique_mark;
use crate::rules::{Node, Rules, factored};
use backchat_derive::wire::written::TurnPart;

/// A grammar that starts at a call.
#[derive(Clone, Debug)]
pub(crate) struct LazyStart {
    pub root: Node,
    pub triggers: Vec<Trigger>,
}

/// A text that starts a lazy grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trigger {
    /// `word` or `pattern`.
    pub kind: &'static str,
    /// The word, or a regular expression of ECMAScript.
    pub value: String,
}

impl Turn<'_> {
    /// The rest of the turn from the first marker of its calls on, and what triggers it.
    pub fn lazy(&self, rules: &mut Rules, start: &Start) -> Option<LazyStart> {
        let call = self.call.as_ref()?;
        let mut found: Vec<(String, Parts)> = Vec::new();
        let segmentation = self.wire.segmentation;
        // Text that occurs elsewhere in turns cannot trigger a call.
        let mut elsewhere: Vec<&str> = Vec::new();
        for shape in self.wanted() {
            let call_at = shape.parts.iter().position(|part| *part == TurnPart::Call);
            let texts = shape.parts.iter().take(call_at.map_or(usize::MAX, |at| at.saturating_sub(1)));
            elsewhere.extend(texts.filter_map(TurnPart::text));
            let Some(first) = call_at else { continue };
            let Some(TurnPart::Text(before)) = first.checked_sub(1).and_then(|at| shape.parts.get(at)) else {
                return None;
            };
            // The part of the turn that the prompt writes is not generated.
            let begun = if first == 1 { self.begun(before).lead } else { 0 };
            let parts = self.parts(shape);
            if let Some(at) = parts.iter().position(|node| node == call) {
                found.push((before.get(begun..)?.to_owned(), parts.get(at..)?.to_vec()));
            }
        }
        if let Some((open, close)) = &self.free_texts.thought {
            elsewhere.extend([open.as_str(), close.as_str()]);
        }
        let shared =
            found.iter().map(|(before, _)| before.as_str()).reduce(|a, b| segmentation.shared_end(a, b))?.to_owned();
        let (from, mark) = first_unique_mark(segmentation, &shared, &elsewhere)?;
        let lead = shared.get(from..)?;
        let ways: Vec<Parts> = found
            .iter()
            .map(|(_, parts)| std::iter::once(Node::literal(lead)).chain(parts.iter().cloned()).collect())
            .collect();
        let root = factored(&ways);
        let root = Node::sequence([rules.add("calls", root)]);
        let mark = fixed_start(&mark);
        Some(LazyStart { root, triggers: vec![self.trigger(mark, start)] })
    }

    /// The trigger at a marker, which reasoning may also mention.
    fn trigger(&self, mark: &str, start: &Start) -> Trigger {
        let word = || Trigger { kind: "word", value: mark.to_owned() };
        let Some((open, close)) = &self.free_texts.thought else { return word() };
        let is_over = start.begun.contains(close.as_str());
        let (open, close, sign) = (escaped(open), escaped(close), escaped(mark));
        let before = match start.inside {
            Some(_) => format!("^[\\s\\S]*?{close}"),
            None if open.is_empty() || is_over => return word(),
            None => format!("^(?:\\s*{open}[\\s\\S]*?{close}|(?!\\s*{open}))"),
        };
        Trigger { kind: "pattern", value: format!("{before}[\\s\\S]*?({sign}[\\s\\S]*)") }
    }
}

/// A text as a regular expression of ECMAScript.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
