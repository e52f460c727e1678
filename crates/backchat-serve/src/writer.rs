//! What writes an answer in the form of one API, as the events of a stream or as a whole.

use std::fmt::Debug;

use crate::api_error::ApiError;
use crate::reply::Usage;
use backchat_core::json::Value;
use backchat_parser::deltas::Delta;

/// How a choice ended.
#[derive(Clone, Debug)]
pub struct Finish {
    /// The reason under the chat API's name.
    pub reason: &'static str,
    /// The stop text of the request that ended it.
    pub stop: Option<String>,
    /// What is wrong with it.
    pub problems: Option<Value>,
}

/// An answer that is being written.
pub trait Writer: Debug {
    fn id(&self) -> &str;

    /// Takes a delta of a choice.
    fn delta(&mut self, choice: usize, delta: Delta<'_>);

    /// Takes the log probabilities of tokens, before the deltas of their text.
    fn logprobs(&mut self, _choice: usize, _tokens: Vec<Value>) {}

    /// Ends a choice.
    fn finish(&mut self, choice: usize, finish: Finish);

    /// Writes the last events of a stream, once all choices have ended.
    fn end(&mut self, usage: Option<Usage>);

    /// Writes the event of a failure, which is the last.
    fn fail(&mut self, error: &ApiError);

    /// Whether a stream may end after the event of a failure, as clients take it for the result.
    fn ends_by_failing(&self) -> bool {
        false
    }

    /// The events that were not sent yet.
    fn unsent(&mut self) -> &mut String;

    /// The whole answer, once all choices have ended.
    fn whole(&mut self, usage: Option<Usage>) -> Value;
}

/// The events of a stream; of an answer that is sent as a whole, none.
#[derive(Clone, Debug)]
pub struct Events {
    streams: bool,
    /// The number of the next event, where events have numbers.
    number: Option<u64>,
    pub unsent: String,
}

impl Events {
    pub fn new(streams: bool) -> Self {
        Self { streams, number: None, unsent: String::new() }
    }

    pub fn numbered(streams: bool) -> Self {
        Self { number: Some(0), ..Self::new(streams) }
    }

    /// Adds an event, whose data repeats its name as its `type`.
    pub fn add(&mut self, name: &str, members: &[(&str, Value)]) {
        if !self.streams {
            return;
        }
        let out = &mut self.unsent;
        out.push_str(&format!("event: {name}\ndata: {{\"type\": \"{name}\""));
        if let Some(number) = &mut self.number {
            out.push_str(&format!(", \"sequence_number\": {number}"));
            *number += 1;
        }
        for (name, value) in members {
            out.push_str(&format!(", \"{name}\": "));
            value.write_to(out);
        }
        out.push_str("}\n\n");
    }
}
