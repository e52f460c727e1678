//! How the characters of a string are written between its quotes.

use super::automaton::{Automaton, difference};
use super::json_text::{ANY_JSON, json_text};
use backchat_parser::pattern::Regular;

/// How the characters between two quotes are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Json,
    /// As Python does inside this quote.
    Python(char),
    /// As they are, without this text.
    Raw(String),
}

impl Spelling {
    /// The texts as they are written; `None` if they need too many states.
    pub fn spell(&self, text: &Automaton) -> Option<Automaton> {
        match self {
            Self::Json if *text == Automaton::anything() => Some(ANY_JSON.clone()),
            Self::Json => json_text(text),
            Self::Python(quote) => {
                let sign = u32::from(*quote);
                let plain = |low, high| difference(low, high, &sorted([(0, 8), (10, 31), (sign, sign), (92, 92)]));
                text.respelled(&plain, &PYTHON_ESCAPES, false)
            }
            // A string always has quotes here: the text is raw.
            Self::Raw(close) if close.is_empty() => Some(text.clone()),
            Self::Raw(close) => text.both(&Automaton::without(&[&Regular::text(close)], &[])?),
        }
    }
}

const PYTHON_ESCAPES: [(char, &str); 6] =
    [('\'', "\\'"), ('"', "\\\""), ('\\', "\\\\"), ('\n', "\\n"), ('\r', "\\r"), ('\t', "\\t")];

fn sorted<const N: usize>(mut ranges: [(u32, u32); N]) -> [(u32, u32); N] {
    ranges.sort_unstable();
    ranges
}
