//! A recorded parse that can be stepped through, forward and back; pure data.
//!
//! [`Recording::new`] runs the parser over a text, feed by feed, and records every feed, every event, the text held after each feed and the delimiters it was held for. Only the positions of events are kept, not their texts, so a recording takes a few bytes for each feed and each event, and any [`Moment`] of it is available at once.
//!
//! ```
//! use backchat_workbench::replay::{Recording, Run};
//! use backchat_parser::template::Template;
//!
//! let json = r#"{"start_anchor": "<bot>", "fields": {"thought": {"open": "<t>", "close": "</t>"}, "content": {}}}"#;
//! let template = Template::load(json)?.template;
//! let run = Run {
//!     template: &template,
//!     prefix: "<bot>",
//!     mode: Default::default(),
//!     tools: None,
//!     recovery: Default::default(),
//! };
//! let recording = Recording::new(&run, ["<t>h", "m</", "t>Hi"])?;
//!
//! let second = recording.moment_of_feed(2);
//! assert_eq!(recording.held_text(second), "</");
//! assert_eq!(recording.why(second), "holding `</`: could become the close of `thought` (`t>` to go)");
//! assert_eq!(recording.happened(second), "released `m` to `thought`");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anomalies;
mod breakpoint;
mod chunking;
mod compact_value;
mod compare;
mod cut;
mod cut_search;
mod explain;
mod markers;
mod message;
mod navigation;
mod record;
mod recording;
mod segments;
mod shown;
#[cfg(test)]
mod tests;

pub use anomalies::{CLOSE_KEYS, OPEN_KEYS, acting};
pub use breakpoint::{Stop, StopError};
pub use chunking::{ChunkRule, Chunking};
pub use compact_value::CompactValue;
pub use compare::{Difference, Side, cause_of_sides, first_difference};
pub use cut_search::{CutSearch, CutSearchResult, remaining};
pub use explain::{problem_in_words, quoted, recovery_in_words};
pub use markers::{Known, UnreadMarker, ends_with_closer, unread_marker, why_unclosed};
pub use record::{Growing, Run, TooLarge};
pub use recording::{Held, Kind, Moment, Outcome, Pending, Recording, Recovery, Region, Seen};
pub use segments::Segment;
pub use shown::{gives, longest_held, shown};
