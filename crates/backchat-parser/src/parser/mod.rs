//! The streaming machine: text in, events out.
//!
//! In [`Mode::Stable`] the message and the events are the same however the text is cut into feeds: a delimiter counts
//! once no continuation of the text could change it, and text is released once no continuation could claim it. In
//! [`Mode::Reference`] they are those of transformers for the same feeds.
//!
//! ```
//! # use backchat_parser as backchat;
//! use backchat::parser::{self, Parser};
//! use backchat::template::Template;
//!
//! let template = Template::load(
//!     r#"{"start_anchor": "<bot>", "fields": {"thought": {"open": "<t>", "close": "</t>"}, "content": {}}}"#,
//! )?
//! .template;
//! let mut parser = Parser::new(&template, "<user>Hi<bot>", Default::default())?;
//! let mut shown = String::new();
//! for chunk in ["<t>h", "m</", "t>Hel", "lo"] {
//!     for event in parser.feed(chunk)? {
//!         shown += &event.to_value().to_string();
//!     }
//! }
//! assert!(shown.starts_with(r#"{"type": "region_open", "field": "thought"}"#));
//! let finished = parser.finish()?;
//! assert_eq!(backchat::json::Value::Object(finished.message).to_string(), r#"{"thought": "hm", "content": "Hello"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anchor;
mod calls;
mod chunk_text;
mod chunks;
mod close;
mod closers;
mod error;
mod event;
mod events;
mod feed_ids;
mod interface;
mod kept_text;
mod machine;
mod message;
mod options;
mod outside;
mod part;
mod partial_json;
mod plan;
mod problem;
mod recovery;
mod region;
#[cfg(test)]
mod region_tests;
mod roles;
mod scan;
mod signals;
mod span;
mod spare;
mod strings;
mod token_feed;
mod token_template;
#[cfg(test)]
mod token_tests;
mod trimmed;

pub use crate::content::coerce::{Tools, ToolsError};
pub use crate::content::recovery::{Policies, ProblemKind, RecoveryPolicy, UnknownPolicy};
pub use crate::content::{Capture, Captures, Mode};
// How the command and the tests cut texts.
pub(crate) use calls::{ClosedCall, closed_calls};
pub use chunk_text::ChunkText;
pub use chunks::{Chunks, cut, cut_ids};
pub use error::{Cause, cause};
pub use error::{ParseError, ParseErrorKind};
pub use event::{Event, EventRef};
pub use events::Events;
// Which ids the events of a parser of ids came from.
pub use interface::{Held, Parser, Pending, skim};
pub use kept_text::IdSpans;
pub use options::{ClosersInStrings, Options, Reasoning};
pub use problem::Problem;
pub use signals::Malformed;
pub use span::Span;
pub use token_template::{Policy, TokenTemplate, TokenTemplateError};
pub(crate) use trimmed::Trimmed;

use std::sync::Arc;

use crate::template::Template;
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

/// Parses a whole text in stable mode.
pub fn parse(template: &Template, prefix: &str, text: &str, tools: Option<Arc<Tools>>) -> Result<Finished, ParseError> {
    let mut parser = Parser::new(template, prefix, Options { tools, ..Options::default() })?;
    let mut events = parser.initial_events().to_vec();
    parser.feed_into(text, &mut |event| events.push(event.to_owned()))?;
    let mut finished = parser.finish()?;
    events.append(&mut finished.events);
    Ok(Finished { events, ..finished })
}
