//! Values that many rows need, each made once and shared by all threads.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use backchat_workbench::input::Problem;

/// Values by their keys. A cache that holds `MOST` is cleared before it takes another.
#[derive(Debug)]
pub struct Cache<K, V, const MOST: usize = { usize::MAX }>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V, const MOST: usize> Default for Cache<K, V, MOST> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone, const MOST: usize> Cache<K, V, MOST> {
    /// The value of a key. Threads that need the same one wait while it is made; others do not wait.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let slot = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST && !known.contains_key(&key) {
                known.clear();
            }
            known.entry(key).or_default().clone()
        };
        slot.get_or_init(make).clone()
    }
}

/// How many tokenizers are kept: each takes several megabytes.
const MOST_TOKENIZERS: usize = 8;

/// Tokenizers by their names, or the reason why one could not be read.
pub type Tokenizers<T> = Cache<String, Result<Arc<T>, String>, MOST_TOKENIZERS>;

impl<T> Tokenizers<T> {
    /// The tokenizer of this name, or a one-line error.
    pub fn read(&self, name: &str, load: impl Fn(&str) -> Result<T, Problem>) -> Result<Arc<T>, String> {
        self.get(name.to_owned(), || match name {
            "-" => Err("a row cannot read a file from standard input".to_owned()),
            name => load(name).map(Arc::new).map_err(|problem| problem.line()),
        })
    }
}
