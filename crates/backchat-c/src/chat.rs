//! The deltas of an OpenAI stream as JSON texts, kept until they are taken.

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
    call_id_prefix: String,
    /// The ids that the model wrote.
    ids: Vec<String>,
}

impl Chat {
    /// Begins with the deltas of what the prompt began.
    pub fn new(parser: &Parser, chosen: &Chosen) -> Option<Self> {
        let queue = Queue {
            json: String::new(),
            ends: Vec::new(),
            taken: 0,
            call_id_prefix: chosen.call_id_prefix.clone(),
            ids: Vec::new(),
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
            Delta::Call { index, id, .. } => {
                let own = id.filter(|id| !id.is_empty() && !self.ids.iter().any(|known| known == id));
                let id = own.map_or_else(|| format!("{}{index}", self.call_id_prefix), str::to_owned);
                self.ids.push(id.clone());
                id
            }
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
