//! The parts of a turn in the orders that renders show, from the end of the prompt on.

use super::kind::TurnKind;
use super::thinking::{self, Thinking};
use crate::automaton::{Automaton, LAST};
use crate::markers::{Begun, FreeTexts, Model, begun};
use crate::notes::{Effect, Note};
use crate::request::{Presence, Reasoning};
use crate::rules::{Machine, Node, Rules, factored};
use backchat_core::text::{common_start, slice};
use backchat_derive::wire::structure::WireFormat;
use backchat_derive::wire::written::{Group, Shape, TurnPart, Written};
use backchat_parser::pattern::Regular;
use backchat_parser::template::Template;

/// The parts of the turn.
pub(crate) struct Turn<'t> {
    template: &'t Template,
    pub(super) wire: &'t WireFormat,
    written: &'t Written,
    pub(super) free_texts: &'t FreeTexts,
    kind: &'t TurnKind,
    /// The turns that renders show after such a prompt, and the prompt's part of them.
    group: &'t Group,
    tail: &'t str,
    content: Node,
    thought: Node,
    /// The calls, if any are allowed.
    pub(super) call: Option<Node>,
}

/// The start of the grammar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The region that the prompt leaves open.
    pub inside: Option<&'static str>,
    /// The prompt's part of the turn.
    pub begun: String,
    /// The delimiters of reasoning.
    pub thinking: Thinking,
}

/// The nodes of a shape, with all calls as one.
pub(super) type Parts = Vec<Node>;

impl<'t> Turn<'t> {
    /// The turn with this answer, if the content has a format, and with these calls; `None` if the renders show no
    /// turn.
    pub fn new(
        kind: &'t TurnKind,
        rules: &mut Rules,
        model: &'t Model,
        answer: Option<Node>,
        call: Option<Node>,
    ) -> Option<Self> {
        let (wire, written, free_texts) = (model.structure(), model.written(), &model.free_texts);
        let mut free = |name: &str, text: &Automaton, is_required: bool| {
            rules.text(name, if is_required { not_empty(text) } else { text.clone() })
        };
        let is_required = kind.content == Presence::Always;
        let content = answer.unwrap_or_else(|| free("content", &free_texts.content, is_required));
        let is_required = kind.reasoning == Reasoning::Always;
        let thought = free_texts.reasoning.as_ref();
        let thought = thought.map_or_else(Node::never, |thought| free("reasoning", thought, is_required));
        let (group, tail) = kind.end.group(written)?;
        Some(Self { template: &model.template, wire, written, free_texts, kind, group, tail, content, thought, call })
    }

    /// The rule of the whole turn from the end of the prompt on; `None` if no turn continues the prompt.
    pub fn root(&self, rules: &mut Rules, notes: &mut Vec<Note>) -> Option<(Node, Start)> {
        notes.extend(self.kind.end.note());
        let start = self.start();
        let thinks = start.inside.is_some();
        let kind = |shape: &Shape| (shape.has(&TurnPart::Content), shape.has(&TurnPart::Call));
        let mut alive: Vec<Parts> = Vec::new();
        let mut after_thoughts: Vec<Parts> = Vec::new();
        let mut kinds: Vec<(bool, bool)> = Vec::new();
        let mut others: Vec<&Shape> = Vec::new();
        for shape in self.wanted() {
            let parts = self.parts(shape);
            let whole = Node::sequence(parts.iter().cloned());
            // A render may put the answer right after the prompt, inside the reasoning that the prompt opens.
            let is_read = !thinks || self.leaves_thought(shape);
            if is_read && !whole.is_never() && after(rules, &whole, self.tail).is_some() {
                after_thoughts.extend(self.after_thought(shape, &parts));
                alive.push(parts);
                kinds.push(kind(shape));
            } else {
                others.push(shape);
            }
        }
        // Renders of some kinds of turns may lack text of the prompt. If the prompt opens reasoning, these renders show
        // what may follow its bare close.
        others.retain(|shape| thinks || !kinds.contains(&kind(shape)));
        let is_outside = self.kind.reasoning == Reasoning::Outside;
        let own = match is_outside && !after_thoughts.is_empty() {
            true => factored(&after_thoughts),
            false => after(rules, &factored(&alive), self.tail).unwrap_or_else(Node::never),
        };
        if own.is_never() && self.kind.end.is_in_call(self.template) {
            return None;
        }
        let more = self.after_unseen_prompt(rules, &others).unwrap_or_else(Node::never);
        let root = Node::choice([own, more]);
        if is_outside && !thinks {
            let message =
                "the prompt leaves no reasoning open: the engine has to wait until reasoning is over, if there is any";
            notes.push(Note::new(Effect::Assumed, message));
        }
        (!root.is_never()).then_some((root, start))
    }

    /// The shapes that the request allows.
    pub(super) fn wanted(&self) -> Vec<&'t Shape> {
        let has_call = |shape: &Shape| shape.has(&TurnPart::Call);
        let mut shapes: Vec<&Shape> = self.group.shapes.iter().collect();
        match (&self.call, self.kind.may_be_silent) {
            (None, _) => shapes.retain(|shape| !has_call(shape)),
            (Some(_), false) => shapes.retain(|shape| has_call(shape)),
            (Some(_), true) => {}
        }
        match self.kind.content {
            Presence::Never => shapes.retain(|shape| !shape.has(&TurnPart::Content)),
            Presence::Always => shapes.retain(|shape| shape.has(&TurnPart::Content)),
            Presence::Auto if !self.kind.may_be_silent => {
                let without: Vec<&Shape> =
                    shapes.iter().copied().filter(|shape| !shape.has(&TurnPart::Content)).collect();
                if !without.is_empty() {
                    shapes = without;
                }
            }
            Presence::Auto => {}
        }
        if self.kind.has_format {
            // Either an answer or a call: neither text next to a call nor an empty turn is an answer.
            let beside = self.kind.content == Presence::Always;
            shapes.retain(|shape| beside || !(shape.has(&TurnPart::Content) && has_call(shape)));
            shapes.retain(|shape| shape.has(&TurnPart::Content) || has_call(shape));
        }
        let thinks = |shape: &Shape| shape.has(&TurnPart::Reasoning);
        match self.kind.reasoning {
            Reasoning::Always if shapes.iter().any(|shape| thinks(shape)) => shapes.retain(|shape| thinks(shape)),
            Reasoning::Never if self.tail.len() <= self.group.header.len() => shapes.retain(|shape| !thinks(shape)),
            _ => {}
        }
        shapes
    }

    /// A shape as nodes, with any number of calls if it shows two.
    pub(super) fn parts(&self, shape: &Shape) -> Parts {
        let count = shape.parts.iter().filter(|part| **part == TurnPart::Call).count();
        let mut nodes = Vec::new();
        let mut seen = 0;
        let mut between = String::new();
        let mut is_between = false;
        let is_single = count > 1 && !self.kind.several;
        if is_single || count > 2 {
            return vec![Node::never()];
        }
        for (at, part) in shape.parts.iter().enumerate() {
            let is_thought = at > 0 && shape.parts.get(at - 1) == Some(&TurnPart::Reasoning);
            match part {
                TurnPart::Text(text) if is_between => between.clone_from(text),
                TurnPart::Text(text) if is_thought => nodes.extend(self.thought_end(text)),
                TurnPart::Text(text) => nodes.push(Node::literal(text.as_str())),
                TurnPart::Content => nodes.push(self.content.clone()),
                TurnPart::Reasoning if self.kind.reasoning == Reasoning::Never => {}
                TurnPart::Reasoning => nodes.push(self.thought.clone()),
                TurnPart::Call => {
                    seen += 1;
                    is_between = seen == 1 && count > 1;
                    let call = self.call.clone().unwrap_or_else(Node::never);
                    if seen == 1 {
                        nodes.push(call);
                    } else {
                        let next = Node::sequence([Node::literal(between.as_str()), call]);
                        nodes.push(next.repeat(1, None));
                    }
                }
            }
        }
        // Free content includes it already.
        if self.kind.has_format && shape.parts.last() == Some(&TurnPart::Content) && !self.written.blank_end.is_empty()
        {
            nodes.push(Node::literal(self.written.blank_end.as_str()).optional());
        }
        nodes
    }

    /// The text that ends reasoning. A server that forces the end writes the marker alone, possibly inside a word, so
    /// the white space around it is optional.
    fn thought_end(&self, text: &str) -> Vec<Node> {
        let parts =
            self.free_texts.thought.as_ref().and_then(|(_, close)| Some((text.split_once(close.as_str())?, close)));
        let Some(((before, after), close)) = parts else { return vec![Node::literal(text)] };
        // White space before the marker belongs to the reasoning, if there is any.
        let is_thoughts = before.trim().is_empty() && self.kind.reasoning != Reasoning::Never;
        let before = Node::literal(if is_thoughts { "" } else { before }).optional();
        let rest = after.trim_start();
        let blank = slice(after, ..after.len() - rest.len());
        let mut nodes =
            vec![before, Node::literal(close.as_str()), Node::literal(blank).optional(), Node::literal(rest)];
        nodes.retain(|node| *node != Node::empty() && *node != Node::literal(""));
        nodes
    }

    /// Whether a shape shows reasoning, even empty reasoning.
    fn leaves_thought(&self, shape: &Shape) -> bool {
        let thought = self.free_texts.thought.as_ref();
        shape.has(&TurnPart::Reasoning) || thought.is_some_and(|(_, close)| shape.text(Some(0)).contains(close))
    }

    /// The parts of a shape after the marker that ends its reasoning.
    fn after_thought(&self, shape: &Shape, parts: &Parts) -> Option<Parts> {
        let (_, close) = self.free_texts.thought.as_ref()?;
        shape.parts.contains(&TurnPart::Reasoning).then_some(())?;
        let end = parts.iter().position(|node| *node == Node::literal(close.as_str()))?;
        Some(parts.get(end + 1..)?.to_vec())
    }

    /// The rest of the turn if the prompt writes text that no render of the whole turn has: the close of reasoning, and
    /// the text after a header.
    fn after_unseen_prompt(&self, rules: &mut Rules, shapes: &[&Shape]) -> Option<Node> {
        let written = slice(self.tail, self.header_end(shapes)..);
        let mut ways = Vec::new();
        for shape in shapes.iter().filter(|shape| !shape.has(&TurnPart::Reasoning)) {
            let mut parts = self.parts(shape);
            let Some(TurnPart::Text(lead)) = shape.parts.first() else { continue };
            if parts.iter().any(Node::is_never) {
                continue;
            }
            if let Some(first) = parts.first_mut() {
                let rest = slice(lead, self.begun(lead).lead..);
                // The prompt has already written empty reasoning, and possibly some text after it.
                let rest =
                    self.free_texts.thought.as_ref().map_or(rest, |(_, close)| match rest.find(close.as_str()) {
                        Some(at) => {
                            let rest = slice(rest, at + close.len()..);
                            match written.rsplit_once(close.as_str()) {
                                Some((_, after)) => slice(rest, common_start(rest, after).len()..),
                                None => rest.trim_start(),
                            }
                        }
                        None => rest.strip_prefix(written).unwrap_or(rest),
                    });
                *first = Node::literal(rest);
            }
            ways.push(parts);
        }
        if ways.is_empty() {
            return None;
        }
        let rest = factored(&ways);
        let (Some(own), Some((open, close))) = (&self.wire.reasoning, &self.free_texts.thought) else {
            return Some(rest);
        };
        let (open, close) = (open.as_str(), close.as_str());
        let is_open = match (written.rfind(open), written.rfind(close)) {
            (Some(opened), Some(closed)) => opened > closed,
            (Some(_), None) => !open.is_empty(),
            (None, _) => false,
        };
        if !is_open {
            return Some(rest);
        }
        if self.kind.reasoning == Reasoning::Outside {
            let assumed = thinking::assumed_close(self.tail, close);
            let blank = assumed.rsplit_once(close).map_or("", |(_, blank)| blank).to_owned();
            return Some(Node::sequence([Node::literal(blank).optional(), rest]));
        }
        let thought = if self.kind.reasoning == Reasoning::Never { Node::empty() } else { self.thought.clone() };
        let rest = rules.add("answer", rest);
        // The model may or may not write the white space of the close, which follows that of the opening if no render
        // shows it.
        let ends = [own.close.clone(), thinking::assumed_close(self.tail, close)];
        let ends = ends.map(|end| Node::sequence(self.thought_end(&end)));
        Some(Node::sequence([thought, Node::choice(ends), rest]))
    }

    /// How much of the prompt's header the turns after it share.
    fn header_end(&self, shapes: &[&Shape]) -> usize {
        let leads = shapes.iter().filter_map(|shape| shape.parts.first()?.text());
        leads.map(|lead| self.begun(lead).header).max().unwrap_or(self.group.header.len())
    }

    pub(super) fn begun(&self, lead: &str) -> Begun {
        begun(self.wire.segmentation, &self.group.header, lead)
    }

    fn start(&self) -> Start {
        let begun = slice(self.tail, self.group.header.len()..).to_owned();
        let inside = self.free_texts.thought.as_ref().and_then(|(open, close)| {
            let opened = begun.rfind(open.as_str()).filter(|_| !open.is_empty())?;
            let is_closed = begun.rfind(close.as_str()).is_some_and(|closed| closed > opened);
            (!is_closed).then_some("reasoning_content")
        });
        let thought = self.free_texts.thought.as_ref();
        let thinking = thinking::find(self.wire, thought, self.group, self.tail, inside.is_some());
        Start { inside, begun, thinking }
    }
}

/// The rest of a node after a text; `None` if it does not begin with the text.
fn after(rules: &Rules, node: &Node, text: &str) -> Option<Node> {
    let mut machine = Machine::new(rules, node);
    if !machine.feed_text(text) {
        return None;
    }
    Some(machine.rest()).filter(|rest| !rest.is_never())
}

/// The texts of an automaton that are neither empty nor only white space.
fn not_empty(automaton: &Automaton) -> Automaton {
    let any = Regular::anything();
    let word = Regular::Class(vec![(0, 8), (14, 31), (33, LAST)]);
    let some = Automaton::from_pattern(&Regular::Concat(vec![any.clone(), word, any]));
    some.and_then(|some| some.both(automaton)).unwrap_or_else(|| automaton.clone())
}
