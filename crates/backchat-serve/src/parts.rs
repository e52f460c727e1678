//! The parts of a message in the order in which they were written, assembled from deltas.

use crate::call_ids::CallIds;
use crate::custom::CustomTools;
use backchat_parser::deltas::Delta;

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Reasoning(String),
    Content(String),
    Call(Call),
}

/// A call, and the JSON text of its arguments, or the input of a custom tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
    pub is_custom: bool,
}

/// The parts so far.
#[derive(Clone, Debug)]
pub struct Parts {
    list: Vec<Part>,
    ids: CallIds,
    custom: CustomTools,
}

impl Parts {
    pub fn new(ids: CallIds, custom: CustomTools) -> Self {
        Self { list: Vec::new(), ids, custom }
    }

    /// Whether a delta begins a part.
    pub fn begins(&self, delta: Delta<'_>) -> bool {
        match delta {
            Delta::Reasoning(_) => !matches!(self.list.last(), Some(Part::Reasoning(_))),
            Delta::Content(_) => !matches!(self.list.last(), Some(Part::Content(_))),
            Delta::Call { .. } => true,
            Delta::Arguments { .. } => false,
        }
    }

    pub fn add(&mut self, delta: Delta<'_>) {
        match (delta, self.list.last_mut()) {
            (Delta::Reasoning(more), Some(Part::Reasoning(text)))
            | (Delta::Content(more), Some(Part::Content(text))) => {
                text.push_str(more);
            }
            (Delta::Arguments { text, .. }, Some(Part::Call(call))) => call.arguments.push_str(text),
            (Delta::Arguments { .. }, _) => {}
            (Delta::Reasoning(text), _) => self.list.push(Part::Reasoning(text.to_owned())),
            (Delta::Content(text), _) => self.list.push(Part::Content(text.to_owned())),
            (Delta::Call { id, name, .. }, _) => {
                let id = self.ids.next(id).to_owned();
                let is_custom = self.custom.contains(name);
                self.list.push(Part::Call(Call { id, name: name.to_owned(), arguments: String::new(), is_custom }));
            }
        }
    }

    pub fn list(&self) -> &[Part] {
        &self.list
    }
}
