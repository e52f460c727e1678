//! The formats in which a grammar is written: one row of the table of targets and one file for each.

mod gbnf;
mod json_rules;
mod lark;
mod result;
mod structural_tag;

use crate::grammar::Grammar;
use crate::turn::Trigger;
use backchat_core::json::Value;

pub use json_rules::SCHEMA;
pub use result::{Layout, Written, result, written};

/// Writes a grammar from its first call on, with the texts that begin it.
type LazyWriter = fn(&Grammar) -> Option<(String, &[Trigger])>;

/// What there is to know about a format.
struct Target {
    /// Its name as the value of an option.
    name: &'static str,
    /// The engine that reads it.
    engine: &'static str,
    write: fn(&Grammar) -> Value,
    /// The same from the first call on; `None` if the grammar cannot start there.
    lazy: Option<LazyWriter>,
    /// All rules as text, if it also has formats of its own.
    as_text: Option<fn(&Grammar) -> Value>,
    /// Whether it refers to special tokens by name.
    names_special_tokens: bool,
}

impl Target {
    /// A format without any extras.
    const fn new(name: &'static str, engine: &'static str, write: fn(&Grammar) -> Value) -> Self {
        Self { name, engine, write, lazy: None, as_text: None, names_special_tokens: false }
    }
}

/// How a grammar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// llama.cpp's.
    Gbnf,
    /// xgrammar's.
    Ebnf,
    /// llguidance's.
    Lark,
    /// xgrammar's structural tag, with its own formats where they are equivalent.
    StructuralTag,
    /// The rules as JSON, for any other engine.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Gbnf, Self::Ebnf, Self::Lark, Self::StructuralTag, Self::Json];

    /// The table of targets.
    fn target(self) -> Target {
        match self {
            Self::Gbnf => Target {
                lazy: Some(Grammar::to_lazy_gbnf),
                ..Target::new("gbnf", "llama.cpp", |grammar| grammar.to_gbnf().into())
            },
            Self::Ebnf => Target::new("ebnf", "xgrammar", |grammar| grammar.to_ebnf().into()),
            Self::Lark => Target {
                names_special_tokens: true,
                ..Target::new("lark", "llguidance", |grammar| grammar.to_lark().into())
            },
            Self::StructuralTag => Target {
                as_text: Some(Grammar::to_grammar_tag),
                ..Target::new("structural-tag", "xgrammar", Grammar::to_structural_tag)
            },
            Self::Json => Target::new("json", "any other", Grammar::to_json),
        }
    }

    /// Its name as the value of an option.
    pub fn name(self) -> &'static str {
        self.target().name
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl Grammar {
    /// Writes the whole grammar in a format: a text, or the JSON of a structural tag or of the rules.
    pub fn write(&self, format: Format) -> Value {
        (format.target().write)(self)
    }
}

/// Whether a format refers to special tokens by name, so that they must be known.
pub fn names_special_tokens(format: Format) -> bool {
    format.target().names_special_tokens
}

/// Each engine with the names of its formats, in the words of a help text.
pub fn engines() -> String {
    let mut engines: Vec<(&str, Vec<&str>)> = Vec::new();
    for Target { name, engine, .. } in Format::ALL.map(Format::target) {
        match engines.iter_mut().find(|(known, _)| *known == engine) {
            Some((_, names)) => names.push(name),
            None => engines.push((engine, vec![name])),
        }
    }
    let engines = engines.iter().map(|(engine, names)| format!("{engine} ({})", names.join(", ")));
    engines.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_one_name_and_is_found_by_it() {
        assert_eq!(Format::ALL.map(Format::name), ["gbnf", "ebnf", "lark", "structural-tag", "json"]);
        assert_eq!(Format::ALL.map(|value| Format::from_name(value.name())), Format::ALL.map(Some));
        assert_eq!(Format::from_name("GBNF"), None);
    }

    #[test]
    fn the_help_names_each_engine_once() {
        let all = "llama.cpp (gbnf), xgrammar (ebnf, structural-tag), llguidance (lark), any other (json)";
        assert_eq!(engines(), all);
    }
}
