//! Response templates, and the streaming parser that reads a model's output with them.

pub mod content;
pub mod deltas;
pub mod parser;
pub mod pattern;
#[cfg(feature = "serde")]
pub mod serde;
pub mod template;
pub mod tokens;

pub use backchat_core::{Diagnostic, Severity, Value, diagnostic, json};

pub use parser::{Event, Finished, ParseError, Parser};
pub use template::{LoadError, Template};
