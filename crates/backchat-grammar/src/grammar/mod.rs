//! The grammar of one request: its rules, and what an engine must know beside them.

mod matcher;
mod special;

use crate::notes::{Effect, Note};
use crate::rules::{Node, Rules};
use crate::turn::{LazyStart, Start};

pub use matcher::{Fed, Matcher};
pub use special::SpecialToken;
pub(crate) use special::{at_start, begun_mark};

/// The rules of a model's valid outputs for one request.
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(crate) rules: Rules,
    pub(crate) root: Node,
    pub(crate) start: Start,
    pub(crate) notes: Vec<Note>,
    pub(crate) stop: Vec<(String, &'static str)>,
    /// If no calls are allowed: the texts that an engine without the grammar must ban.
    pub(crate) bans: Option<Vec<String>>,
    /// The banned texts that are single tokens.
    pub(crate) banned_tokens: Vec<String>,
    /// The names of the custom tools.
    pub(crate) custom: Vec<String>,
    pub(crate) preserved: Vec<String>,
    pub(crate) special: Vec<SpecialToken>,
    pub(crate) lazy: Option<LazyStart>,
}

impl Grammar {
    /// Where the grammar is inexact, sorted.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The markers that end the turn, which are not part of the grammar, each with the turns it ends: `any`, `calls` or
    /// `content`.
    pub fn stop(&self) -> &[(String, &'static str)] {
        &self.stop
    }

    /// The markers that a server must not strip from the output.
    pub fn preserved_tokens(&self) -> &[String] {
        &self.preserved
    }

    /// Refers to these markers as tokens in Lark, the only format with names for them; in other formats a marker's text
    /// also matches its token.
    #[must_use]
    pub fn with_special_tokens(mut self, special: &[SpecialToken]) -> Self {
        for token in special {
            if self.bans.iter().flatten().any(|ban| *ban == token.text) {
                self.banned_tokens.push(token.text.clone());
            }
            if !self.names(&token.text) {
                continue;
            }
            if token.in_lark().is_some() {
                self.special.push(token.clone());
            } else {
                let message = format!("the id of the special token {:?} is unknown: it is written as text", token.text);
                self.notes.push(Note::new(Effect::Assumed, &message));
            }
        }
        self.notes.sort();
        self.notes.dedup();
        self
    }

    /// Whether a marker belongs to this wire, unlike the hundreds that a tokenizer reserves.
    fn names(&self, mark: &str) -> bool {
        self.rules.any_literal(&[&self.root], &|literal| literal.contains(mark))
            || self.preserved.iter().any(|known| known.contains(mark))
            || self.stop.iter().any(|(stop, _)| stop.contains(mark))
    }

    /// Follows a text through the rules.
    pub fn matcher(&self) -> Matcher<'_> {
        Matcher::new(&self.rules, &self.root)
    }
}
