//! The tokenizers of a run, each read once and shared by all threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use backchat_workbench::input::Problem;

/// How many tokenizers are kept: a table of one takes some megabytes.
const REMEMBERED: usize = 8;

/// Tokenizers by their names, and why those that could not be read were not.
#[derive(Debug)]
pub struct Tokenizers<T>(Mutex<HashMap<String, Result<Arc<T>, String>>>);

impl<T> Default for Tokenizers<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Tokenizers<T> {
    /// The tokenizer of a name, or one line that says what is wrong with it.
    pub fn get(&self, name: &str, read: impl Fn(&str) -> Result<T, Problem>) -> Result<Arc<T>, String> {
        // Others that need the same one wait instead of reading it again.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(name) {
            return known.clone();
        }
        let read = if name == "-" {
            Err("a row cannot read its tokenizer from standard input".to_owned())
        } else {
            read(name).map(Arc::new).map_err(|problem| problem.line())
        };
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(name.to_owned(), read.clone());
        read
    }
}
