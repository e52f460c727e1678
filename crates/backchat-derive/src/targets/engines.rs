//! Which regex engines of other languages accept a pattern of a template.

use backchat_parser::pattern::Construct::{self, *};
use backchat_parser::pattern::Pattern;
use regex_syntax::hir::Hir;

/// An engine of another language.
#[derive(Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its usual name.
    pub name: &'static str,
    check: Check,
}

#[derive(Debug, PartialEq, Eq)]
enum Check {
    /// The parser of Rust's `regex` decides.
    RustRegex,
    /// A table decides: the constructs that it lacks, and whether its look-behinds need a bound.
    Lacks { constructs: &'static [Construct], bounded_looks: bool },
}

/// The engines that are checked.
pub static ENGINES: [Engine; 4] = [
    Engine { name: "regex (Rust)", check: Check::RustRegex },
    lacking("fancy-regex (Rust)", &[Recursion, FullFolding, LookCondition, WordEdge], false),
    // ECMAScript 2024, with the flag `u`.
    lacking(
        "JavaScript",
        &[Conditional, Recursion, Keep, FullFolding, Possessive, Atomic, SearchStart, WordEdge, InlineFlags],
        false,
    ),
    // The expressions of ICU, on which `NSRegularExpression` is based.
    lacking("Swift", &[Recursion, Conditional, FullFolding, Keep, WordEdge], true),
];

const fn lacking(name: &'static str, constructs: &'static [Construct], bounded_looks: bool) -> Engine {
    Engine { name, check: Check::Lacks { constructs, bounded_looks } }
}

impl Engine {
    /// Why it refuses a pattern; `None` if it accepts it.
    pub fn check(&self, pattern: &Pattern) -> Option<String> {
        let constructs = pattern.shape().constructs;
        let name = |lacked: &[Construct]| {
            let lacked = constructs.iter().filter(|used| lacked.contains(used));
            let names: Vec<_> = lacked.map(|used| used.name()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        match &self.check {
            Check::Lacks { constructs, bounded_looks } => name(constructs).or_else(|| {
                (*bounded_looks && pattern.reach_behind().is_none()).then(|| "a look-behind without a bound".into())
            }),
            Check::RustRegex => {
                // It reads `a++` as a repeat of a repeat, which backtracks.
                parsed(pattern.source()).map_or_else(Some, |_| name(&[Possessive]))
            }
        }
    }
}

/// A pattern as Rust's engines read it, or why they refuse it.
pub(super) fn parsed(source: &str) -> Result<Hir, String> {
    let mut parser = regex_syntax::ParserBuilder::new().dot_matches_new_line(true).build();
    parser.parse(source).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        _ => "an unknown construct".to_owned(),
    })
}
