//! The frame of a grammar: the turn, with a rule for its calls and one for its content that are filled in later. It is
//! the same for all requests of one kind, and costs as much as the rest of a request.

use std::sync::{Arc, Mutex, PoisonError};

use super::LazyStart;
use super::marks::FreeTexts;
use super::notes::Note;
use super::rules::{Node, Rules};
use super::turn::{Start, Turn, TurnKind};
use backchat_derive::wire::Wire;

/// How many frames are kept. A template whose prompts end in words of the conversation has one for each request.
const MOST_KEPT: usize = 32;

/// A turn without its calls, and without its content if that has a format.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub rules: Rules,
    pub root: Node,
    pub start: Start,
    pub lazy: Option<LazyStart>,
    pub notes: Vec<Note>,
    /// The rules to fill in.
    pub call: Option<usize>,
    pub content: Option<usize>,
}

impl Frame {
    /// The frame of a kind of requests, in rules that hold nothing yet; `None` if the renders show no such turn.
    fn new(kind: &TurnKind, mut rules: Rules, wire: &Wire, free_texts: &FreeTexts) -> Option<Self> {
        let call = kind.calls.then(|| rules.open("call"));
        let content = kind.has_format.then(|| rules.open("content"));
        let mut notes = Vec::new();
        let turn = Turn::new(kind, &mut rules, wire, free_texts, content.map(Node::Rule), call.map(Node::Rule))?;
        let (root, start) = turn.root(&mut rules, &mut notes)?;
        let is_lazy = kind.may_be_silent && !kind.has_format;
        let lazy = is_lazy.then(|| turn.lazy(&mut rules, &start)).flatten();
        Some(Self { rules, root, start, lazy, notes, call, content })
    }
}

/// The frames of a model's requests so far.
#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<Vec<(TurnKind, Option<Arc<Frame>>)>>);

impl Frames {
    /// The frame of a kind of requests, made in these rules if it is not there.
    pub fn get(
        &self,
        kind: TurnKind,
        rules: impl FnOnce() -> Rules,
        wire: &Wire,
        free_texts: &FreeTexts,
    ) -> Option<Arc<Frame>> {
        // Entries are only added complete, so a poisoned lock does no harm.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frame)) = known.iter().find(|(known, _)| *known == kind) {
            return frame.clone();
        }
        let frame = Frame::new(&kind, rules(), wire, free_texts).map(Arc::new);
        if known.len() == MOST_KEPT {
            known.remove(0);
        }
        known.push((kind, frame.clone()));
        frame
    }
}
