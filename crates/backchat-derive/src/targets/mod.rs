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
//! assert!(refused.iter().any(|refusal| refusal.reader.name() == "smg"));
//! assert!(refused.iter().all(|refusal| refusal.place.to_string() == "fields.content.close_pattern"));
//! assert!(!Target::named("portable").unwrap().limits().looks_around);
//! # Ok::<(), backchat::LoadError>(())
//! ```

mod copies;
mod engines;
mod limits;
mod patterns;
mod refusal;
mod releases;
mod serving;
mod smg;
mod trl;
mod vllm_rust;

pub use engines::{ENGINES, Engine};
pub use limits::Limits;
pub(crate) use patterns::patterns;
pub use refusal::{Caution, Reason, Refusal, Role};

use backchat_core::json::Path;
use backchat_parser::template::Template;

/// The readers' name for the model's reasoning.
pub const THINKING: &str = "thinking";
/// Their name for the answer's text.
pub const CONTENT: &str = "content";
/// Their name for tool calls.
pub const TOOL_CALLS: &str = "tool_calls";

/// A release of a program that reads response templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reader {
    /// Hugging Face's reference implementation, the newest release.
    Transformers,
    /// The release before it, and those before that.
    Transformers523,
    /// Hugging Face's trainer, which parses with transformers.
    Trl,
    /// The inference server vLLM with its Python frontend.
    Vllm,
    /// The inference server vLLM with its Rust frontend, which has a parser of its own.
    VllmRust,
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
pub static TARGETS: [Target; 9] = [
    Target { name: "transformers", readers: &[Reader::Transformers] },
    Target { name: "transformers-5.23", readers: &[Reader::Transformers523] },
    Target { name: "trl", readers: &[Reader::Trl] },
    Target { name: "vllm", readers: &[Reader::Vllm, Reader::VllmRust] },
    Target { name: "vllm-python", readers: &[Reader::Vllm] },
    Target { name: "vllm-rust", readers: &[Reader::VllmRust] },
    Target { name: "sglang", readers: &[Reader::Sglang] },
    Target { name: "smg", readers: &[Reader::Smg] },
    Target { name: "portable", readers: &PORTABLE },
];

/// The readers that one template can serve.
const PORTABLE: [Reader; 6] =
    [Reader::Transformers, Reader::Transformers523, Reader::Trl, Reader::Vllm, Reader::VllmRust, Reader::Smg];

impl Reader {
    /// Every reader.
    pub const ALL: [Self; 7] =
        [Self::Transformers, Self::Transformers523, Self::Trl, Self::Vllm, Self::VllmRust, Self::Sglang, Self::Smg];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.release().name
    }

    /// The program, which may have several releases here.
    pub fn program(self) -> &'static str {
        self.release().program
    }

    /// The release that the facts are about.
    pub fn version(self) -> &'static str {
        self.release().version
    }

    /// Its program and release.
    pub fn title(self) -> String {
        format!("{} {}", self.program(), self.version())
    }

    /// The target with this reader alone.
    pub fn target(self) -> &'static str {
        self.release().target
    }

    /// The limits of a template that this reader accepts and uses.
    pub fn limits(self) -> Limits {
        self.release().limits
    }

    /// Why it refuses a template; empty if it loads it.
    pub fn check(self, template: &Template) -> Vec<Refusal> {
        match self {
            // Patterns that they refuse do not load here either.
            Self::Transformers | Self::Trl => Vec::new(),
            Self::Transformers523 => copies::check(self, template),
            Self::Vllm | Self::Sglang => {
                let mut refusals = copies::check(self, template);
                refusals.extend(serving::check(self, template));
                refusals
            }
            Self::VllmRust => vllm_rust::check(template),
            Self::Smg => smg::check(template),
        }
    }

    /// Why it refuses a pattern in a role; `None` if it accepts it.
    pub fn check_pattern(self, source: &str, role: Role) -> Option<String> {
        match self {
            Self::Smg => smg::check_pattern(source, role),
            Self::VllmRust => vllm_rust::check_pattern(source, role),
            Self::Transformers | Self::Transformers523 | Self::Trl | Self::Vllm | Self::Sglang => None,
        }
    }

    /// Its problems with a template that it loads.
    pub fn cautions(self, template: &Template) -> Vec<Caution> {
        let mut cautions = match self {
            Self::Transformers | Self::Transformers523 | Self::Smg => Vec::new(),
            Self::Trl => trl::cautions(template),
            Self::Vllm => serving::vllm_cautions(template),
            Self::VllmRust => vllm_rust::cautions(template),
            Self::Sglang => serving::sglang_cautions(template),
        };
        // The Rust frontend refuses what the other copies misread.
        if !self.limits().close_captures && self != Self::VllmRust {
            cautions.extend(copies::cautions(self, template));
        }
        cautions
    }
}

/// The path of a field.
fn field_path(name: &str) -> Path {
    Path::root().key("fields").key(name)
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
        self.readers.iter().map(|reader| reader.limits()).reduce(Limits::and).unwrap_or(Limits::NONE)
    }
}
