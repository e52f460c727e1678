//! Which engines for regular expressions in other languages take a pattern of a template.

use crate::pattern::{Construct, Pattern};

/// An engine of another language.
#[derive(Debug, PartialEq, Eq)]
pub struct Engine {
    /// What people call it.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// The parser of Rust's `regex` is asked.
    RustRegex,
    /// What it has not is listed.
    Lacks(&'static [Construct]),
}

/// The engines that are looked at.
pub static ENGINES: [Engine; 4] = [
    Engine { name: "regex (Rust)", kind: Kind::RustRegex },
    Engine {
        name: "fancy-regex (Rust)",
        kind: Kind::Lacks(&[Construct::Recursion, Construct::FullFolding, Construct::SearchStart]),
    },
    Engine {
        name: "JavaScript",
        kind: Kind::Lacks(&[
            Construct::Conditional,
            Construct::Recursion,
            Construct::Keep,
            Construct::FullFolding,
            Construct::Possessive,
            Construct::Atomic,
            Construct::SearchStart,
            Construct::InlineFlags,
        ]),
    },
    Engine {
        name: "Swift",
        kind: Kind::Lacks(&[Construct::Recursion, Construct::Conditional, Construct::FullFolding]),
    },
];

impl Engine {
    /// Why it refuses a pattern; `None` where it takes it.
    pub fn check(&self, pattern: &Pattern) -> Option<String> {
        let constructs = pattern.shape().constructs;
        let name = |lacked: &[Construct]| {
            let names: Vec<_> =
                constructs.iter().filter(|used| lacked.contains(used)).map(|used| used.name()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        match &self.kind {
            Kind::Lacks(lacked) => name(lacked),
            Kind::RustRegex => {
                let mut parser = regex_syntax::ParserBuilder::new().dot_matches_new_line(true).build();
                // `a++` it reads as a repeat of a repeat, which gives back what it took.
                let Some(error) = parser.parse(pattern.source()).err() else { return name(&[Construct::Possessive]) };
                Some(match error {
                    regex_syntax::Error::Parse(error) => error.kind().to_string(),
                    regex_syntax::Error::Translate(error) => error.kind().to_string(),
                    _ => "a construct that it does not know".to_owned(),
                })
            }
        }
    }
}
