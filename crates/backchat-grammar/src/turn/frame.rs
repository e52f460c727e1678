//! The frame of a grammar: the turn, with empty rules for its calls and its content. All requests of one kind share it,
//! because it costs as much as the rest of a request.

use std::sync::{Arc, Mutex, PoisonError};

use super::kind::TurnKind;
use super::lazy::LazyStart;
use super::parts::{Start, Turn};
use crate::markers::Model;
use crate::notes::Note;
use crate::rules::{Node, Rules};

/// How many frames are kept. If a template's prompts end in text of the conversation, every request needs its own.
const MOST_KEPT: usize = 32;

/// A turn without its calls and, if the request asks for a format, without its content.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub rules: Rules,
    pub root: Node,
    pub start: Start,
    pub lazy: Option<LazyStart>,
    pub notes: Vec<Note>,
    /// The rules that are filled in later.
    pub call: Option<usize>,
    pub content: Option<usize>,
}

impl Frame {
    /// The frame for a kind of request, in empty rules; `None` if the renders show no such turn.
    fn new(kind: &TurnKind, mut rules: Rules, model: &Model) -> Option<Self> {
        let call = kind.calls.then(|| rules.open("call"));
        let content = kind.has_format.then(|| rules.open("content"));
        let mut notes = Vec::new();
        let turn = Turn::new(kind, &mut rules, model, content.map(Node::Rule), call.map(Node::Rule))?;
        let (root, start) = turn.root(&mut rules, &mut notes)?;
        let is_lazy = kind.may_be_silent && !kind.has_format;
        let lazy = is_lazy.then(|| turn.lazy(&mut rules, &start)).flatten();
        Some(Self { rules, root, start, lazy, notes, call, content })
    }
}

/// The frames of a model's requests.
#[derive(Debug, Default)]
pub(crate) struct Frames(Mutex<Vec<(TurnKind, Option<Arc<Frame>>)>>);

impl Frames {
    /// The frame for a kind of request, built in these rules on first use.
    pub fn get(&self, kind: &TurnKind, rules: impl FnOnce() -> Rules, model: &Model) -> Option<Arc<Frame>> {
        // Entries are only added complete, so a poisoned lock does no harm.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frame)) = known.iter().find(|(known, _)| known == kind) {
            return frame.clone();
        }
        let frame = Frame::new(kind, rules(), model).map(Arc::new);
        if known.len() == MOST_KEPT {
            known.remove(0);
        }
        known.push((kind.clone(), frame.clone()));
        frame
    }
}
