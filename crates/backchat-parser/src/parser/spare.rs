//! What a parser that has ended leaves to the next one of its template: its searches and its text, whose buffers are a
//! third of what parsing a short output allocates.

use std::sync::Mutex;

use crate::pattern::Search;

/// A text that takes more room than this is not kept for another.
const MOST_TEXT: usize = 1 << 18;

/// The searches and the text of one parser that has ended, if nobody has taken them.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<(Vec<Search>, String)>);

impl Spare {
    /// What there is, to be used again. Nobody waits for it: who comes second begins with nothing.
    pub fn take(&self) -> (Vec<Search>, String) {
        self.0.try_lock().map(|mut spare| std::mem::take(&mut *spare)).unwrap_or_default()
    }

    /// Leaves them to whoever comes next, unless they are large.
    pub fn leave(&self, searches: Vec<Search>, text: String) {
        if text.capacity() <= MOST_TEXT
            && searches.iter().all(Search::is_small)
            && let Ok(mut spare) = self.0.try_lock()
        {
            *spare = (searches, text);
        }
    }
}

/// A copy has nothing to spare.
impl Clone for Spare {
    fn clone(&self) -> Self {
        Self::default()
    }
}
