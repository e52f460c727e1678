//! The arguments of `render --mask`.

use clap::ValueEnum;

use backchat_probe::chats::{MaskPart, MaskRule};

/// A part, as named on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Part {
    /// Everything the assistant wrote
    Assistant,
    /// Everything in its last turn only
    Last,
    /// Its content
    Content,
    /// Its reasoning
    Reasoning,
    /// Its calls, with their markers
    Calls,
    /// The text in the template's own generation blocks
    Tags,
}

impl From<Part> for MaskPart {
    fn from(part: Part) -> Self {
        match part {
            Part::Assistant => Self::Assistant,
            Part::Last => Self::Last,
            Part::Content => Self::Content,
            Part::Reasoning => Self::Reasoning,
            Part::Calls => Self::Calls,
            Part::Tags => Self::Tags,
        }
    }
}

/// A rule, as named on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Rule {
    /// Those with a character in the span
    Overlap,
    /// Those that transformers takes
    Reference,
}

impl From<Rule> for MaskRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Overlap => Self::Overlap,
            Rule::Reference => Self::Reference,
        }
    }
}
