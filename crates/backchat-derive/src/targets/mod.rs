//! The readers of response templates, and what each refuses, drops or misreads. Advice about a template
//! (`lint --target`) and code that writes one within a reader's limits use the same facts.
//!
//! A [`Target`] is a name for one [`Reader`], or for several that must all accept the template.
//!
//! ```
//! # mod backchat { pub use {backchat_derive::*, backchat_parser::*}; }
//! use backchat::Template;
//! use backchat::targets::Target;
//!
//! let text = r#"{"start_anchor": "<|a|>", "fields": {"content": {"close_pattern": "<end>(?=\\s)"}}}"#;
//! let template = Template::load(text)?.template;
//! let refused = Target::named("portable").unwrap().check(&template);
//! assert_eq!(refused.len(), 1);
//! assert_eq!((refused[0].reader.name(), refused[0].place.to_string().as_str()), ("smg", "fields.content.close_pattern"));
//! assert!(!Target::named("portable").unwrap().limits().looks_around);
//! # Ok::<(), backchat::LoadError>(())
//! ```

mod engines;
mod limits;
mod refusal;
mod serving;
mod smg;
mod trl;

pub use engines::{ENGINES, Engine};
pub use limits::Limits;
pub use refusal::{Caution, Reason, Refusal, Role};
pub(crate) use smg::patterns;

use backchat_parser::template::Template;

/// The readers' name for the model's reasoning.
pub const THINKING: &str = "thinking";
/// Their name for the answer's text.
pub const CONTENT: &str = "content";
/// Their name for tool calls.
pub const TOOL_CALLS: &str = "tool_calls";

/// A program that reads response templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reader {
    /// Hugging Face's reference implementation.
    Transformers,
    /// Hugging Face's trainer, which parses with transformers.
    Trl,
    /// The inference server vLLM.
    Vllm,
    /// The inference server SGLang.
    Sglang,
    /// The crate `smg-response-template`, which a gateway in front of such servers uses.
    Smg,
}

/// A reader, or several that must all accept a template.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The readers that must accept the template.
    pub readers: &'static [Reader],
}

/// Every target, in the order in which they are listed.
pub static TARGETS: [Target; 6] = [
    Target { name: "transformers", readers: &[Reader::Transformers] },
    Target { name: "trl", readers: &[Reader::Trl] },
    Target { name: "vllm", readers: &[Reader::Vllm] },
    Target { name: "sglang", readers: &[Reader::Sglang] },
    Target { name: "smg", readers: &[Reader::Smg] },
    Target { name: "portable", readers: &[Reader::Transformers, Reader::Trl, Reader::Vllm, Reader::Smg] },
];

impl Reader {
    /// Every reader.
    pub const ALL: [Self; 5] = [Self::Transformers, Self::Trl, Self::Vllm, Self::Sglang, Self::Smg];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformers => "transformers",
            Self::Trl => "trl",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Smg => "smg",
        }
    }

    /// The release that the facts are about.
    pub fn version(self) -> &'static str {
        match self {
            Self::Transformers => "5.23.0",
            Self::Trl => "1.16.0",
            Self::Vllm => "0.33.0",
            Self::Sglang => "0.5.23",
            Self::Smg => "0.1.0",
        }
    }

    /// Its name and release.
    pub fn title(self) -> String {
        format!("{} {}", self.name(), self.version())
    }

    /// Why it refuses a template; empty if it loads it.
    pub fn check(self, template: &Template) -> Vec<Refusal> {
        match self {
            // Patterns that they refuse do not load here either.
            Self::Transformers | Self::Trl => Vec::new(),
            Self::Vllm | Self::Sglang => serving::check(self, template),
            Self::Smg => smg::check(template),
        }
    }

    /// Why it refuses a pattern in a role; `None` if it accepts it.
    pub fn check_pattern(self, source: &str, role: Role) -> Option<String> {
        match self {
            Self::Smg => smg::check_pattern(source, role),
            Self::Transformers | Self::Trl | Self::Vllm | Self::Sglang => None,
        }
    }

    /// Its problems with a template that it loads.
    pub fn cautions(self, template: &Template) -> Vec<Caution> {
        match self {
            Self::Transformers | Self::Smg => Vec::new(),
            Self::Trl => trl::cautions(template),
            Self::Vllm => serving::vllm_cautions(template),
            Self::Sglang => serving::sglang_cautions(template),
        }
    }
}

impl Target {
    /// The target of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Why its readers refuse a template, reader by reader; empty if all of them load it.
    pub fn check(&self, template: &Template) -> Vec<Refusal> {
        self.readers.iter().flat_map(|reader| reader.check(template)).collect()
    }

    /// Which of its readers refuses a pattern in a role, and why; `None` if all of them accept it.
    pub fn check_pattern(&self, source: &str, role: Role) -> Option<(Reader, String)> {
        self.readers.iter().find_map(|reader| Some((*reader, reader.check_pattern(source, role)?)))
    }

    /// The problems of a template that its readers load, reader by reader.
    pub fn cautions(&self, template: &Template) -> Vec<Caution> {
        self.readers.iter().flat_map(|reader| reader.cautions(template)).collect()
    }

    /// The limits a template must keep for all of its readers.
    pub fn limits(&self) -> Limits {
        self.readers.iter().map(|reader| reader.limits()).fold(Limits::NONE, Limits::and)
    }
}
