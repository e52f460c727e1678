//! The messages of a rendered text with the position of each part, or the reason why it is not a render.

use backchat_core::json::{Object, Value};

/// A text's place in the rendered chat, in code points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The message's index.
    pub message: usize,
    /// `content`, `reasoning` or `call`.
    pub part: &'static str,
    /// The start of the part's own text, without markers.
    pub start: usize,
    /// Its end.
    pub end: usize,
}

/// A message with another possible reading, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// The message's index.
    pub message: usize,
    /// Why it is ambiguous.
    pub reason: &'static str,
}

/// The messages a text was rendered from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chat {
    /// The messages.
    pub messages: Vec<Value>,
    /// The tools, if the text defines any and they can be read.
    pub tools: Option<Value>,
    /// The position of the definitions of tools, in code points, if they cannot be read.
    pub tools_text: Option<(usize, usize)>,
    /// Variables that were not given and that the text was rendered with.
    pub variables: Object,
    /// The position of each part.
    pub offsets: Vec<Offset>,
    /// Whether rendering the messages gives the text again, byte for byte.
    pub exact: bool,
    /// If not, the first code point that differs.
    pub differs_at: Option<usize>,
    /// Whether the text ends with a generation prompt.
    pub add_generation_prompt: bool,
    /// Whether the text is cut off inside the assistant's turn.
    pub open: bool,
    /// Messages that may have been injected by the text of others.
    pub ambiguous: Vec<Ambiguity>,
}

/// Why a text is not a render of the template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRendered {
    /// The code point up to which the text was understood.
    pub at: usize,
    /// The text that was expected there.
    pub message: String,
}

impl std::fmt::Display for NotRendered {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} (at character {})", self.message, self.at)
    }
}

impl std::error::Error for NotRendered {}
