//! What an editor shows about chat templates, response templates and fixtures, without a protocol: a server maps it to one.
//!
//! A [`Document`] is the text of an open file. What its text alone says is computed at once ([`analysis::at_once`]); what
//! renders and proofs say is computed later, and given up as soon as the text changes ([`analysis::proved`]). All
//! places are bytes of the documents.

pub mod analysis;
pub mod chat_actions;
pub mod chat_completion;
pub mod chat_facts;
pub mod chat_hints;
pub mod chat_hover;
pub mod chat_names;
pub mod chat_outline;
pub mod chat_text;
pub mod commands;
pub mod doctor_findings;
pub mod document;
pub mod finding;
pub mod fixtures;
pub mod folder;
pub mod markdown;
pub mod preview;
pub mod response;
pub mod response_completion;
pub mod response_hover;
pub mod settings;
pub mod undefined;
pub mod words;

pub use document::{Document, Kind};
pub use finding::{Finding, Level};
pub use settings::{ProofMode, Settings};
