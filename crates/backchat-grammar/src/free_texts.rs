//! The texts of quoted strings that may hold anything but marks: the most expensive part of a request's grammar, and the
//! same in every request to a model.

use std::sync::{Arc, Mutex, PoisonError};

use super::automaton::Automaton;
use super::spelling::Spelling;

/// The texts that were made so far. A model has a handful: its spellings, and the places where strings stand.
#[derive(Debug, Default)]
pub(crate) struct FreeTexts(Mutex<Vec<FreeText>>);

#[derive(Debug)]
struct FreeText {
    spelling: Spelling,
    /// Inside a JSON string.
    inside: bool,
    /// What it keeps clear of.
    clear: Automaton,
    /// Nothing if it needs too many states.
    text: Option<Arc<Automaton>>,
}

impl FreeTexts {
    /// The text of a spelling in one place, made if nobody asked for it before.
    pub fn get(
        &self,
        spelling: &Spelling,
        inside: bool,
        clear: &Automaton,
        make: impl FnOnce() -> Option<Automaton>,
    ) -> Option<Arc<Automaton>> {
        // What is in the list is whole, whatever a thread that held it ran into.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |known: &&FreeText| known.spelling == *spelling && known.inside == inside && known.clear == *clear;
        if let Some(known) = known.iter().find(is_same) {
            return known.text.clone();
        }
        let text = make().map(Arc::new);
        known.push(FreeText { spelling: spelling.clone(), inside, clear: clear.clone(), text: text.clone() });
        text
    }
}
