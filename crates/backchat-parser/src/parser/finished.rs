//! The result of a parse: the message, problems and notes.

use super::event::Event;
use super::problem::Problem;
use super::signals::Malformed;
use backchat_core::json::Object;

/// A complete message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// The message.
    pub message: Object,
    /// The required fields that are absent.
    pub missing: Vec<String>,
    /// The regions that gave no value, in their order.
    pub malformed: Vec<Malformed>,
    /// What went wrong in the text, in its order; empty in reference mode.
    pub problems: Vec<Problem>,
    /// What makes the answer doubtful, one sentence each.
    pub notes: Vec<String>,
    /// The last events, unless they went to a sink.
    pub events: Vec<Event>,
    /// How many bytes of the prefix belong to the message: the text begins at this place of all spans.
    pub prefix_length: usize,
}
