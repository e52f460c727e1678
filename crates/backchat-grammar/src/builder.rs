//! Builds the grammars of a model. What all its requests share is computed once.

use std::sync::Arc;

use crate::call;
use crate::grammar::Grammar;
use crate::markers::{Model, preserved};
use crate::notes::{Effect, Note};
use crate::request::{Demand, Request};
use crate::rules::{Node, Rules, SharedTexts};
use crate::turn::{self, Frames, Prompt, TurnKind};
use backchat_core::diagnostic::Diagnostic;
use backchat_derive::wire::{Wire, written_of};
use backchat_parser::template::Template;

/// Builds the grammar of one request. To serve many requests, keep a [`Builder`].
///
/// # Errors
///
/// The request is impossible on this wire (no calls, no such tool, a schema that nothing satisfies), or a schema
/// exceeds a limit of grammars.
pub fn build(template: &Template, wire: &Wire, request: &Request<'_>) -> Result<Grammar, Vec<Diagnostic>> {
    Builder::new(template.clone(), wire.clone()).build(request)
}

/// What all grammars of a model share, computed once: the form of a turn, and the texts to exclude.
#[derive(Clone, Debug)]
pub struct Builder {
    model: Model,
    /// Kept because segmenting every text of the wire takes as long as the rest of a request.
    preserved: Vec<String>,
    shared_texts: Arc<SharedTexts>,
    frames: Arc<Frames>,
}

impl Builder {
    /// For a response template and the wire of its chat template.
    pub fn new(template: Template, wire: Wire) -> Self {
        let model = Model::new(template, wire);
        let preserved = preserved(model.structure(), model.written());
        Self { model, preserved, shared_texts: Arc::default(), frames: Arc::default() }
    }

    /// Builds the grammar of a request.
    ///
    /// # Errors
    ///
    /// The request is impossible on this wire (no calls, no such tool, a schema that nothing satisfies), or a schema
    /// exceeds a limit of grammars.
    pub fn build(&self, request: &Request<'_>) -> Result<Grammar, Vec<Diagnostic>> {
        let model = &self.model;
        let mut notes = self.assumptions();
        let demand = request.demand(&mut notes)?;
        let prompt = Prompt::find(&model.wire, request.prompt.as_deref());
        let kind = TurnKind::new(request, demand.wants, prompt.end);
        let mut frame = self.frames.get(&kind, || self.rules(), model);
        let mut rules = frame.as_ref().map_or_else(|| self.rules(), |frame| frame.rules.clone());
        let calls = call::calls(&mut rules, model, request, &demand, &mut notes)?;
        if calls.is_empty() && kind.calls {
            // No tool can be called: the turn is one without calls.
            frame = self.frames.get(&TurnKind { calls: false, ..kind.clone() }, || self.rules(), model);
            rules = frame.as_ref().map_or_else(|| self.rules(), |frame| frame.rules.clone());
        }
        let answer = turn::answer(&mut rules, model, request, demand.wants, &mut notes)?;
        let Some(frame) = frame else {
            return Err(vec![match kind.end.is_in_call(&model.template) {
                true => {
                    Diagnostic::error("grammar-no-turn", "the prompt ends inside a call, where no grammar can begin")
                        .help("end the prompt before the call")
                }
                false => {
                    Diagnostic::error("grammar-no-turn", "the renders show no turn of this kind after such a prompt")
                }
            }]);
        };
        for (rule, node) in [(frame.call, Some(Node::choice(calls))), (frame.content, answer)] {
            if let (Some(rule), Some(node)) = (rule, node) {
                rules.set(rule, node);
            }
        }
        notes.extend(frame.notes.iter().cloned());
        let (mut root, mut lazy) = (frame.root.clone(), frame.lazy.clone());
        let bans = self.bans(&demand, &mut notes);
        let roots = std::iter::once(&mut root).chain(lazy.as_mut().map(|lazy| &mut lazy.root)).collect();
        turn::fill_placeholders(&mut rules, roots, &model.free_texts, prompt.filled.as_deref(), &mut notes);
        notes.sort();
        notes.dedup();
        Ok(Grammar {
            rules,
            root,
            start: frame.start.clone(),
            notes,
            stop: turn::stops(model.structure(), model.written()),
            bans,
            banned_tokens: Vec::new(),
            custom: demand.custom,
            preserved: self.preserved.clone(),
            special: Vec::new(),
            lazy,
        })
    }

    /// The notes about the wire that hold whatever is built.
    fn assumptions(&self) -> Vec<Note> {
        let mut notes = self.model.free_texts.notes.clone();
        if self.model.wire.is_assumed() {
            let message = "no chat template is known: the order of parts, and the texts between them, are the plainest that read back";
            notes.push(Note::new(Effect::Assumed, message));
        }
        notes
    }

    /// The texts that an engine without the grammar must ban, if no calls are allowed.
    fn bans(&self, demand: &Demand, notes: &mut Vec<Note>) -> Option<Vec<String>> {
        if demand.wants.may_call() || self.model.structure().calls.is_none() {
            return None;
        }
        let bans = &self.model.free_texts.bans;
        if bans.is_empty() {
            let message = "calls have no markers of their own: without this grammar nothing can forbid them";
            notes.push(Note::new(Effect::Assumed, message));
        }
        Some(bans.clone())
    }

    /// Rules with the model's shared parts, but no rule yet.
    fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        rules.excluded = Arc::clone(&self.model.free_texts.excluded);
        rules.shared_texts = Arc::clone(&self.shared_texts);
        // Nested values are indented further than the widest indentation in the renders.
        rules.most_blanks = u32::try_from(written_of(&self.model.wire).widest).unwrap_or(0).saturating_mul(2);
        rules
    }
}
