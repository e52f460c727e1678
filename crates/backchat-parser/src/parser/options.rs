//! How to parse.

use std::sync::Arc;

use crate::content::Mode;
use crate::content::coerce::Tools;
use crate::content::recovery::Policies;
use crate::template::{Field, Regions};

/// How to parse: `Options::default().grow_calls(true)`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) mode: Mode,
    pub(crate) tools: Option<Arc<Tools>>,
    pub(crate) closers_in_strings: ClosersInStrings,
    pub(crate) grow_calls: bool,
    pub(crate) reasoning: Reasoning,
    pub(crate) tools_off: bool,
    pub(crate) stop_ids: Option<Arc<[u32]>>,
    pub(crate) keep_text: bool,
    pub(crate) recover: Policies,
    pub(crate) validate: bool,
}

impl Options {
    /// The answer to give if the reference's depends on how the text is cut.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The tools whose JSON schemas give the types of call arguments.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Option<Arc<Tools>>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// The meaning of a closing mark inside a JSON string.
    #[must_use]
    pub fn closers_in_strings(mut self, meaning: ClosersInStrings) -> Self {
        self.closers_in_strings = meaning;
        self
    }

    /// The policies that recover from deviations, in stable mode; see
    /// [`RecoveryPolicy`](super::RecoveryPolicy). Each acts at a problem of its kind, which stays in the list; a text
    /// without problems is read the same with all of them.
    #[must_use]
    pub fn recover(mut self, policies: Policies) -> Self {
        self.recover = policies;
        self
    }

    /// Whether the arguments of calls are checked against the schemas of their tools.
    #[must_use]
    pub fn validate(mut self, validate: bool) -> Self {
        self.validate = validate;
        self
    }

    /// What to do with reasoning: the fields `reasoning_content`, `reasoning` and `thinking`.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Whether calls stay in the content, as the model wrote them.
    #[must_use]
    pub fn tools_off(mut self, off: bool) -> Self {
        self.tools_off = off;
        self
    }

    /// The ids that end the answer of a parser of ids: ids after the first of them are not read.
    #[must_use]
    pub fn stop_ids(mut self, ids: impl Into<Arc<[u32]>>) -> Self {
        self.stop_ids = Some(ids.into());
        self
    }

    /// Whether a parser of ids keeps their text, [`Parser::kept_text`](super::Parser::kept_text), and where
    /// in it that of each id is, [`Parser::id_spans`](super::Parser::id_spans).
    #[must_use]
    pub fn keep_text(mut self, keep: bool) -> Self {
        self.keep_text = keep;
        self
    }

    /// How the regions of a field are treated.
    pub(super) fn regions_of(&self, field: &Field) -> Regions {
        match (field.name.as_str(), self.reasoning) {
            ("tool_calls", _) if self.tools_off => Regions::AsWritten,
            ("reasoning_content" | "reasoning" | "thinking", Reasoning::InContent) => Regions::AsWritten,
            ("reasoning_content" | "reasoning" | "thinking", Reasoning::Dropped) => Regions::Dropped,
            _ => Regions::Read,
        }
    }

    /// Whether events report calls as they grow, in stable mode: the name as soon as it is certain, then the arguments
    /// piece by piece. A call that cannot be reported early is sent whole, before its region closes.
    #[must_use]
    pub fn grow_calls(mut self, grow: bool) -> Self {
        self.grow_calls = grow;
        self
    }
}

/// The meaning of a closing marker inside a string of a region read as JSON, as in `{"text": "</call>"}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClosersInStrings {
    /// It ends the region, as in transformers.
    #[default]
    Ends,
    /// It is part of the string.
    Text,
}

/// What to do with the model's reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reasoning {
    /// It is a field of the message.
    #[default]
    Kept,
    /// It is part of the content, as the model wrote it, with its delimiters.
    InContent,
    /// It is in neither the message nor the events.
    Dropped,
}
