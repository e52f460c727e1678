//! Renders conversations with both templates, and remembers what each kind differs in.

mod minimal;

use std::collections::HashMap;

use crate::kinds::{self, Conversation, Dim, Kind, Universe, conversation, kind_of};
use crate::pieces::Pieces;
use crate::side::{Outcome, Ready, Side};
use backchat_core::json::{Object, Value};
use backchat_core::python::space::strip;
use backchat_core::python::text::is_word;

pub(crate) use minimal::{Minimal, minimal};

/// The piece of a difference that is no text.
pub(crate) const OLD_REFUSES: (&str, &str) = ("(refused)", "(renders)");
pub(crate) const NEW_REFUSES: (&str, &str) = ("(renders)", "(refused)");
pub(crate) const MASK: (&str, &str) = ("(mask)", "(mask)");

/// After so many steps of the evaluator, only the kinds that matter most are rendered.
const MOST_STEPS: u64 = 10_000_000;
const LEAST_KINDS: usize = 3_000;

/// What is known of a kind: the pieces that its conversation differs in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) pieces: Vec<usize>,
    pub(crate) is_refused: [bool; 2],
}

/// Two templates, and the conversations that were rendered with both.
pub(crate) struct Comparison<'s> {
    pub(crate) sides: [&'s Side; 2],
    pub(crate) universe: Universe,
    pub(crate) pieces: Pieces,
    /// What is known, by kind.
    pub(crate) known: HashMap<Kind, Compared>,
    /// The kinds in the order in which they were rendered.
    pub(crate) order: Vec<Kind>,
}

impl<'s> Comparison<'s> {
    pub(crate) fn new(sides: [&'s Side; 2], universe: Universe) -> Self {
        Self { sides, universe, pieces: Pieces::default(), known: HashMap::new(), order: Vec::new() }
    }

    /// The outcomes of a conversation on both sides.
    pub(crate) fn outcomes(&self, conversation: &Conversation) -> Option<[Outcome; 2]> {
        let ready = Ready::new(conversation, &self.universe.clock)?;
        Some(self.sides.map(|side| side.render(&ready)))
    }

    /// The pieces that two outcomes differ in.
    pub(crate) fn pieces_of(&mut self, outcomes: &[Outcome; 2]) -> Vec<usize> {
        let [old, new] = outcomes;
        let mut own = |(old, new): (&str, &str)| vec![self.pieces.number(old.to_owned(), new.to_owned())];
        match (old, new) {
            (Outcome::Refused(_), Outcome::Refused(_)) => Vec::new(),
            (Outcome::Refused(_), Outcome::Text { .. }) => own(OLD_REFUSES),
            (Outcome::Text { .. }, Outcome::Refused(_)) => own(NEW_REFUSES),
            (Outcome::Text { text: old, spans }, Outcome::Text { text: new, spans: others }) => {
                if old != new {
                    self.pieces.between(old, new)
                } else if spans != others {
                    own(MASK)
                } else {
                    Vec::new()
                }
            }
        }
    }

    /// The pieces that the outcomes of a conversation with other texts than those of kinds differ in: its own texts count as
    /// its words.
    pub(crate) fn pieces_beyond(&mut self, conversation: &Conversation, outcomes: &[Outcome; 2]) -> Vec<usize> {
        let own = own_texts(conversation);
        let mask = |outcome: &Outcome| match outcome {
            Outcome::Text { text, spans } => {
                let text = own.iter().fold(text.clone(), |text, own| masked(&text, own));
                Outcome::Text { text, spans: spans.clone() }
            }
            refused => refused.clone(),
        };
        match outcomes {
            [old, new] if !own.is_empty() && old != new => self.pieces_of(&[mask(old), mask(new)]),
            outcomes => self.pieces_of(outcomes),
        }
    }

    /// Renders the conversation of a set of dimensions with both, unless its kind is known; returns the kind.
    pub(crate) fn add(&mut self, dims: Kind) -> Option<Kind> {
        let written = conversation(dims.closed(), &self.universe);
        if written.messages().is_empty() {
            return None;
        }
        let kind = kind_of(&written, &mut self.universe);
        if !self.known.contains_key(&kind) {
            let outcomes = self.outcomes(&written)?;
            let pieces = self.pieces_of(&outcomes);
            let is_refused = [0, 1].map(|side: usize| matches!(outcomes.get(side), Some(Outcome::Refused(_))));
            self.known.insert(kind, Compared { pieces, is_refused });
            self.order.push(kind);
        }
        Some(kind)
    }

    /// Dimensions that neither template can tell, because it mentions no part of them.
    fn unused(&self) -> Vec<usize> {
        let is_mentioned = |word: &str| self.sides.iter().any(|side| side.template.source().contains(word));
        let words = [
            (Dim::Clock, "strftime_now"),
            (Dim::Documents, "documents"),
            (Dim::Thinking, "thinking"),
            (Dim::Reasoning, "reasoning"),
        ];
        // A message that is printed as a whole shows all of its keys.
        let prints_all =
            is_mentioned("tojson") || is_mentioned("items()") || is_mentioned("|string") || is_mentioned("pprint");
        words
            .into_iter()
            .filter(|(dim, word)| !is_mentioned(word) && (!prints_all || matches!(dim, Dim::Clock | Dim::Documents)))
            .map(|(dim, _)| dim as usize)
            .collect()
    }

    /// Renders the kinds that every comparison has.
    pub(crate) fn add_all(&mut self, most: usize) {
        let unused = self.unused();
        let begun = backchat_chat::left().unwrap_or(u64::MAX);
        for (count, kind) in kinds::kinds(&self.universe, &unused, most).into_iter().enumerate() {
            self.add(kind);
            let spent = begun - backchat_chat::left().unwrap_or(begun).min(begun);
            let is_enough = count > LEAST_KINDS && spent > MOST_STEPS;
            if is_enough || backchat_chat::ended().is_some() {
                return;
            }
        }
    }
}

/// The texts of messages and tools that no kind has, the longest first.
fn own_texts(conversation: &Conversation) -> Vec<String> {
    const COMMON: [&str; 8] = ["get_weather", "get_time", "city", "unit", "function", "object", "string", "number"];
    let mut found: Vec<String> = Vec::new();
    for name in ["messages", "tools"] {
        let Some(value) = conversation.context.get(name) else { continue };
        texts(value, &mut |text| {
            let text = strip(text);
            let is_word = text.starts_with("zq") && !text.contains(|c: char| !c.is_alphanumeric());
            if !text.is_empty() && !is_word && !COMMON.contains(&text) {
                backchat_core::push_new(&mut found, text.to_owned());
            }
        });
    }
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found
}

/// Visits the texts within a value, roles and types aside, and the keys of arguments.
fn texts(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, visit)),
        Value::Object(entries) => {
            for (key, value) in entries {
                if key == "arguments" {
                    value.as_object().into_iter().flat_map(Object::keys).for_each(&mut *visit);
                }
                if key != "role" && key != "type" {
                    texts(value, visit);
                }
            }
        }
        _ => {}
    }
}

/// A text with another word in the place of one that is not within a longer word.
fn masked(text: &str, own: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let is_inside = |one: Option<char>, other: Option<char>| one.is_some_and(is_word) && other.is_some_and(is_word);
    while let Some(at) = rest.find(own) {
        let (before, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + own.len()..).unwrap_or_default());
        let starts_inside = is_inside(before.chars().next_back().or(out.chars().next_back()), own.chars().next());
        let ends_inside = is_inside(own.chars().next_back(), after.chars().next());
        out.push_str(before);
        out.push_str(if starts_inside || ends_inside { own } else { "zqw" });
        rest = after;
    }
    out.push_str(rest);
    out
}
