//! The workbench for **response templates**: the small JSON specs that turn the raw text a chat model emits back into a
//! structured message.
//!
//! A chat template turns messages into prompt text; a response template is its inverse. Text flows one way through it:
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
//! A template is loaded once and shared by any number of parsers. It loads, possibly with warnings, or is refused with
//! all of its problems. A parser takes the output as it arrives, in pieces of any size, and returns events; at the end
//! it returns the message.
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
//! By default the crate parses, renders chat templates and derives response templates from them. An engine that only
//! parses depends on it with `default-features = false`. The items below are its interface; the crates they come from are
//! internal. The command is the crate `backchat-cli`; what lints, checks and converts is part of it, and of the Python module.
//!
//! | feature | adds |
//! |---|---|
//! | `serde` | serde's traits for values, events, messages and reports; conversions from and to `serde_json` |
//! | `chat` | rendering chat templates |
//! | `chats` | masks, token ids from turn to turn, the way back from a prompt to its messages, and repairs; includes `chat` |
//! | `derive` | deriving response templates from chat templates, the default; includes `chat` |
//! | `grammar` | grammars of a request's valid outputs, in the formats of engines; includes `derive` |
//! | `diff` | what changes for whom between two templates; includes `derive` |
//! | `tokenizer` | encoding text with a `tokenizer.json` |

#[cfg(feature = "serde")]
pub mod serde;

#[cfg(feature = "chats")]
pub mod bridge {
    //! Token ids from one turn of a model to the next, proved by renders, or a refusal.

    pub use backchat_chats::bridge::{Bridge, Bridged, Edit, EditCause, Refusal, Refused, Sample};
}

#[cfg(feature = "chat")]
pub mod chat {
    //! Chat templates, rendered as transformers renders them.

    pub use backchat_chat::{Budget, ChatTemplate, Origin, RenderError, RenderErrorKind, RenderOptions, Rendered};

    pub mod source {
        //! Chat templates from Jinja files, tokenizer configs, model folders, GGUF files and the Hugging Face cache.

        pub use backchat_chat::source::{Source, SourceError, SourceErrorKind, open};
    }
}

#[cfg(feature = "chats")]
pub mod chats {
    //! Rendered chats: masks of characters and of tokens, token ids, generation blocks, and the way back to the messages.

    pub use backchat_chats::chats::{
        Ambiguity, Chat, MaskPart, MaskRule, Masked, NotPatched, NotRendered, NotTheRender, Offset, Part, PartSpan,
        Patched, Sanitized, Sanitizer, TokenMask, Unrenderer, WrongBlocks, add_generation_blocks,
        check_generation_blocks, mask, unrender,
    };
}

#[cfg(feature = "derive")]
pub mod derive;

#[cfg(feature = "diff")]
pub mod diff;

pub mod diagnostic {
    //! Findings and errors: what is wrong, where, and what to do about it.

    pub use backchat_core::diagnostic::{Diagnostic, Edit, Fix, Label, Place, Severity, Sources};
}

#[cfg(any(feature = "chats", feature = "derive"))]
pub mod doctor;

#[cfg(feature = "grammar")]
pub mod grammar {
    //! Grammars of a model's valid outputs for one request, in the formats of engines.

    pub use backchat_grammar::{
        Builder, Choice, Effect, Fed, Format, Grammar, Matcher, Note, Presence, Reasoning, Request, SpecialToken,
        Trigger, assume, build, render_prompt,
    };
}

pub mod json {
    //! JSON that keeps what Python wrote: the text of numbers, the order of keys, NaN.

    pub use backchat_core::json::{Error, ErrorKind, Map, Number, Object, Value, read};
}

#[cfg(feature = "chats")]
pub mod mending;

pub mod parser {
    //! The streaming parser: text or token ids in, events out.

    pub use backchat_parser::parser::{
        Capture, Captures, ChunkText, ClosersInStrings, Event, EventRef, Events, Finished, Held, IdSpans, Malformed,
        Mode, Options, ParseError, ParseErrorKind, Parser, Pending, Policies, Policy, Problem, ProblemKind, Reasoning,
        RecoveryPolicy, Span, TokenTemplate, TokenTemplateError, Tools, ToolsError, UnknownPolicy, parse,
    };
}

pub mod template {
    //! Response templates: loading, with the position of every problem, and writing.

    pub use backchat_parser::template::{Field, LoadError, LoadErrorKind, Loaded, Template};

    pub mod source {
        //! Templates from files and from the configs of models.

        pub use backchat_parser::template::source::{Opened, SourceError, SourceErrorKind, open};
    }
}

pub mod tokens {
    //! The text of each id of a `tokenizer.json`, and the ids of a text.

    pub use backchat_parser::tokens::{Encoded, Tokenizer, Tokens, TokensError};
}

#[cfg(feature = "derive")]
pub mod wire {
    //! The wire format of a chat template.

    pub use backchat_derive::wire::Wire;
}

#[cfg(feature = "chat")]
pub use chat::ChatTemplate;
pub use diagnostic::{Diagnostic, Severity};
pub use json::Value;
pub use parser::{Event, Finished, ParseError, Parser};
pub use template::{LoadError, Template};
