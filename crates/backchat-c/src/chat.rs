//! The deltas of an OpenAI stream as JSON texts, kept until they are taken.

use std::collections::HashSet;

use crate::argument::bc_text;
use crate::chosen::Chosen;
use backchat_parser::deltas::{Delta, Deltas, ReasoningName};
use backchat_parser::parser::{EventRef, Parser};

/// The deltas of one message.
#[derive(Debug)]
pub struct Chat {
    deltas: Deltas,
    queue: Queue,
}

#[derive(Debug)]
struct Queue {
    /// Deltas that were not taken, and some that were.
    json: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// How many were taken.
    taken: usize,
    call_ids: CallIds,
}

/// The ids of the calls of one message: the model's own if it is unique, else a new one.
#[derive(Debug)]
struct CallIds {
    prefix: String,
    known: HashSet<String>,
}

impl Chat {
    /// Begins with the deltas of what the prompt began.
    pub fn new(parser: &Parser, chosen: &Chosen) -> Option<Self> {
        let queue = Queue {
            json: String::new(),
            ends: Vec::new(),
            taken: 0,
            call_ids: CallIds { prefix: chosen.call_id_prefix.clone(), known: HashSet::new() },
        };
        let mut chat = Self { deltas: Deltas::new(parser, chosen.chat?), queue };
        chat.deltas.add_kept(parser.kept_text().unwrap_or_default());
        parser.initial_events().iter().for_each(|event| chat.take(event.borrowed()));
        Some(chat)
    }

    pub fn take(&mut self, event: EventRef<'_>) {
        let queue = &mut self.queue;
        self.deltas.take(event, &mut |delta| queue.push(delta));
    }

    /// Text that is about to be fed.
    pub fn add_text(&mut self, text: &str) {
        self.queue.forget_taken();
        self.deltas.add_text(text);
    }

    /// All text of the ids that were fed.
    pub fn add_kept(&mut self, text: &str) {
        self.queue.forget_taken();
        self.deltas.add_kept(text);
    }

    pub fn cut_off(&mut self) {
        self.deltas.cut_off();
    }

    pub fn finish_reason(&self) -> &'static str {
        self.deltas.finish_reason()
    }

    /// The next delta; no text if there is none.
    pub fn next(&mut self) -> bc_text {
        let queue = &mut self.queue;
        let start = queue.taken.checked_sub(1).and_then(|last| queue.ends.get(last)).copied().unwrap_or(0);
        let Some(json) = queue.ends.get(queue.taken).and_then(|end| queue.json.get(start..*end)) else {
            return bc_text::none();
        };
        queue.taken += 1;
        bc_text::of(json)
    }
}

impl Queue {
    fn push(&mut self, delta: Delta<'_>) {
        let call_id = match delta {
            Delta::Call { index, id, .. } => self.call_ids.next(index, id),
            _ => String::new(),
        };
        delta.write_to(ReasoningName::default(), &call_id, &mut self.json);
        self.ends.push(self.json.len());
    }

    /// Frees the room of deltas once all are taken.
    fn forget_taken(&mut self) {
        if self.taken == self.ends.len() {
            self.json.clear();
            self.ends.clear();
            self.taken = 0;
        }
    }
}

impl CallIds {
    /// The id of the call with this index. A new id ends in the index, or in the next number that makes it unique.
    fn next(&mut self, index: usize, own: Option<&str>) -> String {
        let mut id = own.unwrap_or_default().to_owned();
        let mut number = index;
        while id.is_empty() || self.known.contains(&id) {
            id = format!("{}{number}", self.prefix);
            number += 1;
        }
        self.known.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_a_message_has_an_id_of_its_own() {
        for (own, ids) in [
            (vec!["", "a", ""], vec!["call_0", "a", "call_2"]),
            (vec!["a", "a"], vec!["a", "call_1"]),
            (vec!["call_1", ""], vec!["call_1", "call_2"]),
            (vec!["call_1", "call_1"], vec!["call_1", "call_2"]),
            (vec!["", "call_0"], vec!["call_0", "call_1"]),
            (vec!["call_0", "call_2", "call_0"], vec!["call_0", "call_2", "call_3"]),
        ] {
            let mut call_ids = CallIds { prefix: "call_".to_owned(), known: HashSet::new() };
            let given: Vec<_> = own.iter().enumerate().map(|(index, id)| call_ids.next(index, Some(id))).collect();
            assert_eq!(given, ids, "{own:?}");
        }
    }
}
