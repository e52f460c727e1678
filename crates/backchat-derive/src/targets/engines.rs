//! Which engines for regular expressions in other languages take a pattern of a template.

use backchat_parser::pattern::{Construct, Pattern};

/// An engine of another language.
#[derive(Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its usual name.
    pub name: &'static str,
    check: Check,
}

#[derive(Debug, PartialEq, Eq)]
enum Check {
    /// The parser of Rust's `regex` is asked.
    RustRegex,
    /// The constructs it lacks are listed, and whether its look-behinds need a bound.
    Lacks { constructs: &'static [Construct], bounded_looks: bool },
}

/// The engines that are checked.
pub static ENGINES: [Engine; 4] = [
    Engine { name: "regex (Rust)", check: Check::RustRegex },
    Engine {
        name: "fancy-regex (Rust)",
        check: Check::Lacks {
            constructs: &[Construct::Recursion, Construct::FullFolding, Construct::LookCondition, Construct::WordEdge],
            bounded_looks: false,
        },
    },
    Engine {
        name: "JavaScript",
        // ECMAScript 2024, with the flag `u`.
        check: Check::Lacks {
            constructs: &[
                Construct::Conditional,
                Construct::Recursion,
                Construct::Keep,
                Construct::FullFolding,
                Construct::Possessive,
                Construct::Atomic,
                Construct::SearchStart,
                Construct::WordEdge,
                Construct::InlineFlags,
            ],
            bounded_looks: false,
        },
    },
    Engine {
        name: "Swift",
        // The expressions of ICU, on which `NSRegularExpression` is based.
        check: Check::Lacks {
            constructs: &[
                Construct::Recursion,
                Construct::Conditional,
                Construct::FullFolding,
                Construct::Keep,
                Construct::WordEdge,
            ],
            bounded_looks: true,
        },
    },
];

impl Engine {
    /// Why it refuses a pattern; `None` if it accepts it.
    pub fn check(&self, pattern: &Pattern) -> Option<String> {
        let constructs = pattern.shape().constructs;
        let name = |lacked: &[Construct]| {
            let names: Vec<_> =
                constructs.iter().filter(|used| lacked.contains(used)).map(|used| used.name()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        match &self.check {
            Check::Lacks { constructs, bounded_looks } => name(constructs).or_else(|| {
                (*bounded_looks && pattern.reach_behind().is_none()).then(|| "a look-behind without a bound".into())
            }),
            Check::RustRegex => {
                let mut parser = regex_syntax::ParserBuilder::new().dot_matches_new_line(true).build();
                // It reads `a++` as a repeat of a repeat, which backtracks.
                let Some(error) = parser.parse(pattern.source()).err() else { return name(&[Construct::Possessive]) };
                Some(match error {
                    regex_syntax::Error::Parse(error) => error.kind().to_string(),
                    regex_syntax::Error::Translate(error) => error.kind().to_string(),
                    _ => "an unknown construct".to_owned(),
                })
            }
        }
    }
}
