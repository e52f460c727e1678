//! What many rows need, each made once and shared by all threads.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Values by their keys; all are forgotten once there are `MOST`.
#[derive(Debug)]
pub struct Known<K, V, const MOST: usize = { usize::MAX }>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V, const MOST: usize> Default for Known<K, V, MOST> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone, const MOST: usize> Known<K, V, MOST> {
    /// The value of a key. Threads that need the same one wait instead of making it again; others do not wait.
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
