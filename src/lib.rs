//! The workbench for **response templates**: the small JSON specs that turn the raw text a chat model emits back into a
//! structured message.
//!
//! A chat template turns messages into prompt text; a response template is its inverse. Text flows one way through the
//! rooms of this crate:
//!
//! ```text
//!  chat template ──render──▶ variant renders ──diff──▶ findings ──draft──▶ response template ──┐
//!  (Jinja)         chat/                     derive/                        template/          │
//!                                                                                              ▼
//!                         sample outputs, fixtures ────────────────────────────────▶ parser/ (+ content/)
//!                                                                                              │ events
//!                                                             ┌────────────┬─────────────┬─────┴─────┐
//!                                                          derive/verify  check/       replay/      cli parse
//!                                                          (proof)        (CI)        ──▶ tui/
//! ```
//!
//! # Loading a template
//!
//! A template loads, perhaps with warnings, or is refused with every problem it has:
//!
//! ```
//! use backchat::Template;
//!
//! let text = r#"{
//!   "start_anchor": "<|assistant|>",
//!   "fields": {
//!     "reasoning_content": {"open": "<think>", "close": "</think>"},
//!     "content": {}
//!   }
//! }"#;
//! let loaded = Template::load(text)?;
//! assert!(loaded.warnings.is_empty());
//! assert_eq!(loaded.template.fields().len(), 2);
//!
//! let error = Template::load(&text.replace("open", "opens")).unwrap_err();
//! assert_eq!(error.diagnostics[0].message, "unknown key `opens` in a field; did you mean `open`?");
//! # Ok::<(), backchat::LoadError>(())
//! ```

pub mod chat;
#[cfg(feature = "cli")]
pub mod cli;
pub mod content;
pub mod diagnostic;
pub mod json;
pub mod parser;
pub mod pattern;
pub mod template;

pub use chat::{ChatTemplate, RenderError, RenderOptions, Rendered};
pub use diagnostic::{Diagnostic, Severity};
pub use json::Value;
pub use parser::{Event, Finished, ParseError, Parser};
pub use pattern::{Pattern, PatternError};
pub use template::{Field, LoadError, Loaded, Template};
