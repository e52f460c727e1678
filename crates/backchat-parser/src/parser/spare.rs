//! Buffers that a finished parser leaves to the next one of its template: its searches, its text and its list of
//! regions, so that a short output allocates little besides its message.

use std::sync::Mutex;

use super::region::Ended;
use crate::pattern::Search;

/// Text buffers with more capacity than this are not reused.
const MOST_TEXT: usize = 1 << 18;

/// The buffers of a finished parser, until another parser takes them.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Buffers>);

#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub searches: Vec<Search>,
    pub text: String,
    pub ended: Vec<Ended>,
}

impl Spare {
    /// The spare buffers. Never blocks: if the lock is taken, the parser starts with empty ones.
    pub fn take(&self) -> Buffers {
        self.0.try_lock().map(|mut spare| std::mem::take(&mut *spare)).unwrap_or_default()
    }

    /// Leaves the buffers to the next parser, unless they are large. Their content is cleared.
    pub fn leave(&self, mut buffers: Buffers) {
        buffers.text.clear();
        buffers.ended.clear();
        if buffers.text.capacity() <= MOST_TEXT
            && buffers.searches.iter().all(Search::is_small)
            && let Ok(mut spare) = self.0.try_lock()
        {
            *spare = buffers;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::count;
    use super::*;

    #[test]
    fn allocations_are_reused_without_their_content() {
        let spare = Spare::default();
        let mut ended = Vec::new();
        count(&mut ended, 0);
        spare.leave(Buffers { text: "what a user asked".to_owned(), ended, ..Buffers::default() });
        assert!(!format!("{spare:?}").contains("user"));
        let Buffers { text, ended, .. } = spare.take();
        assert!(text.is_empty() && text.capacity() >= "what a user asked".len());
        assert!(ended.is_empty() && ended.capacity() > 0);
        assert_eq!(spare.take().text.capacity(), 0, "it is taken once");
        spare.leave(Buffers { text: String::with_capacity(MOST_TEXT + 1), ..Buffers::default() });
        assert_eq!(spare.take().text.capacity(), 0, "large ones are not kept");
    }
}
