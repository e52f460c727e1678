//! Buffers that a finished parser leaves to the next one of its template: its searches and its text, a third of what
//! parsing a short output allocates.

use std::sync::Mutex;

use crate::pattern::Search;

/// A text that takes more room than this is not kept for another.
const MOST_TEXT: usize = 1 << 18;

/// The searches and the text of one parser that has ended, until another parser takes them.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<(Vec<Search>, String)>);

impl Spare {
    /// The spare buffers. Nobody waits for the lock: a second parser starts with empty ones.
    pub fn take(&self) -> (Vec<Search>, String) {
        self.0.try_lock().map(|mut spare| std::mem::take(&mut *spare)).unwrap_or_default()
    }

    /// Leaves the buffers to the next parser, unless they are large. The text itself is cleared.
    pub fn leave(&self, searches: Vec<Search>, mut text: String) {
        text.clear();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_text_is_left_and_not_its_words() {
        let spare = Spare::default();
        spare.leave(Vec::new(), "what a user asked".to_owned());
        assert!(!format!("{spare:?}").contains("user"));
        let (_, text) = spare.take();
        assert!(text.is_empty() && text.capacity() >= "what a user asked".len());
        assert_eq!(spare.take().1.capacity(), 0, "it is taken once");
        spare.leave(Vec::new(), String::with_capacity(MOST_TEXT + 1));
        assert_eq!(spare.take().1.capacity(), 0, "large ones are not kept");
    }
}
