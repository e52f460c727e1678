//! The texts of quoted strings that may hold anything but marks, or have a format: the most expensive part of a
//! request's grammar, and the same in every request to a model.

use std::sync::{Arc, Mutex, PoisonError};

use super::automaton::Automaton;
use super::spelling::Spelling;

/// The texts that were made so far. A model has a handful: its spellings, the places where strings are, and the
/// formats.
#[derive(Debug, Default)]
pub(crate) struct SharedTexts(Mutex<Vec<SharedText>>);

#[derive(Debug)]
struct SharedText {
    /// The kind of text.
    said: Automaton,
    spelling: Spelling,
    /// Inside a JSON string.
    inside: bool,
    /// What it must not contain.
    free_texts: Automaton,
    /// Nothing if it needs too many states.
    text: Option<Arc<Automaton>>,
}

impl SharedTexts {
    /// The spelling of some texts in one place, made on first use.
    pub fn get(
        &self,
        said: &Automaton,
        spelling: &Spelling,
        inside: bool,
        free_texts: &Automaton,
        make: impl FnOnce() -> Option<Automaton>,
    ) -> Option<Arc<Automaton>> {
        // Entries are only added complete, so a poisoned lock does no harm.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &&SharedText| {
            known.spelling == *spelling
                && known.inside == inside
                && known.said == *said
                && known.free_texts == *free_texts
        };
        if let Some(known) = known.iter().find(is_same) {
            return known.text.clone();
        }
        let text = make().map(Arc::new);
        let (said, spelling, free_texts) = (said.clone(), spelling.clone(), free_texts.clone());
        known.push(SharedText { said, spelling, inside, free_texts, text: text.clone() });
        text
    }
}
