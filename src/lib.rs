//! The workbench for **response templates**: the small JSON specs that turn the raw text a chat model emits back into a
//! structured message.
//!
//! A chat template turns messages into prompt text; a response template is its inverse. Text flows one way through the
//! rooms of this crate:
//!
//! ```text
//!  chat template ──render──▶ traces ──infer──▶ structure ──compile, prove──▶ response template ─┐
//!  (Jinja)         chat/               wire/                derive/         template/          │
//!                                                                                              ▼
//!                         sample outputs, fixtures ────────────────────────────────▶ parser/ (+ content/)
//!                                                                                              │ events
//!                                                             ┌────────────┬─────────────┬─────┴─────┐
//!                                                          derive/proof   check/       replay/      cli parse
//!                                                          (proof)        (CI)        ──▶ tui/
//! ```
//!
//! # From a model's output to a message
//!
//! A template is loaded once and shared by any number of parsers. It loads, perhaps with warnings, or is refused with
//! every problem it has. A parser takes the output as it comes, in pieces of any size, and gives events; at the end it
//! gives the message.
//!
//! ```
//! use backchat::{Parser, Template, Value};
//!
//! let template = Template::load(
//!     r#"{
//!       "version": 1,
//!       "defaults": {"role": "assistant"},
//!       "start_anchor": "<|assistant|>",
//!       "fields": {
//!         "reasoning_content": {"open": "<think>", "close": "</think>"},
//!         "tool_calls": {
//!           "open_pattern": "<call (?P<name>\\w+)>",
//!           "close": "</call>",
//!           "repeats": true,
//!           "content": "json",
//!           "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
//!         },
//!         "content": {"close": "<|end|>"}
//!       }
//!     }"#,
//! )?
//! .template;
//!
//! let prompt = "<|user|>What is 1 + 2?<|end|><|assistant|><think>";
//! let mut parser = Parser::new(&template, prompt, Default::default())?;
//! let mut answer = String::new();
//! for piece in ["I add.</th", "ink>It is", " 3.<call ad", r#"d>{"a": 1, "b": 2}</call><|end|>"#] {
//!     for event in parser.feed(piece)? {
//!         if let backchat::Event::Chunk { field, text, .. } = event
//!             && &*field == "content"
//!         {
//!             answer += &text;
//!         }
//!     }
//! }
//! assert_eq!(answer, "It is 3.");
//! let message = Value::Object(parser.finish()?.message);
//! assert_eq!(
//!     message.to_string(),
//!     r#"{"role": "assistant", "reasoning_content": "I add.", "content": "It is 3.", "#.to_owned()
//!         + r#""tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}}]}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! Without features the crate loads response templates and parses with them, which is all that an engine needs.
//!
//! | feature | adds |
//! |---|---|
//! | `serde` | serde's traits for values, events, messages and reports; conversions from and to `serde_json` |
//! | `chat` | rendering chat templates |
//! | `derive` | deriving response templates from chat templates; includes `chat` |
//! | `workbench` | linting, checking, replaying, and writing into model files; includes `derive` |
//! | `tokenizer` | encoding text with a `tokenizer.json` |
//! | `cli` | the `backchat` command; includes `workbench` and `serde` |
//! | `tui` | the terminal workbench of `backchat replay`; includes `cli` |
//! | `serve` | the chat server of `backchat serve`; includes `cli` |
//!
//! `cli`, `tui` and `serve` are on by default: depend on the library with `default-features = false`.

// The parser's rooms keep what only the workbench asks for, such as what a pattern is made of.
#![cfg_attr(not(feature = "workbench"), allow(dead_code, unused_imports))]

#[cfg(feature = "workbench")]
#[doc(hidden)]
pub mod audit;
#[cfg(feature = "derive")]
pub mod bridge;
#[cfg(feature = "chat")]
pub mod chat;
#[cfg(feature = "derive")]
pub mod chats;
#[cfg(feature = "workbench")]
pub mod check;
// What `main.rs` calls; the command is not part of the library.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "workbench")]
pub mod convert;
// What a region's body means; `parser` names what its events carry.
#[doc(hidden)]
pub mod content;
#[cfg(feature = "derive")]
pub mod derive;
pub mod diagnostic;
#[cfg(feature = "derive")]
pub mod doctor;
#[cfg(feature = "derive")]
pub mod grammar;
// The source that a name on the command line refers to; not part of the library.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod input;
pub mod json;
#[cfg(feature = "workbench")]
pub mod lint;
pub mod parser;
#[doc(hidden)]
pub mod pattern;
mod python;
#[cfg(feature = "workbench")]
pub mod repair;
#[cfg(feature = "workbench")]
pub mod replay;
// The pages of the command's `--report`; not part of the library.
#[cfg(feature = "workbench")]
#[doc(hidden)]
pub mod report;
#[cfg(feature = "workbench")]
pub mod schema;
#[cfg(feature = "serde")]
pub mod serde;
// The chat server of the command, without its sockets; not part of the library either.
#[cfg(feature = "serve")]
#[doc(hidden)]
pub mod serve;
// The data and operations of the workbench, which `tui` draws; not part of the library either.
#[cfg(feature = "tui")]
#[doc(hidden)]
pub mod session;
// The files of `backchat init`; not part of the library.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod suite;
// Deriving asks it for limits; the rest of its face belongs to the workbench.
#[cfg(all(feature = "derive", not(feature = "workbench")))]
mod targets;
#[cfg(feature = "workbench")]
pub mod targets;
pub mod template;
mod text;
pub mod tokens;
// The screen of the command; not part of the library either.
#[cfg(feature = "tui")]
#[doc(hidden)]
pub mod tui;
#[cfg(feature = "derive")]
pub mod wire;

#[cfg(feature = "chat")]
pub use chat::ChatTemplate;
pub use diagnostic::{Diagnostic, Severity};
pub use json::Value;
pub use parser::{Event, Finished, ParseError, Parser};
#[doc(hidden)]
pub use pattern::{Pattern, PatternError};
pub use template::{LoadError, Template};
