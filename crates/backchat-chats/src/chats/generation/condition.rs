//! For which messages of a conversation a block is, and how the template asks that.

/// For which messages a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Condition {
    /// For all that write there.
    Always,
    /// For the assistant's.
    Own,
    /// For the one after the assistant's, whose end it writes.
    Previous,
    /// For the end of a conversation whose last message is the assistant's.
    Last,
}

impl Condition {
    pub(super) fn is_any(self) -> bool {
        self != Self::Always
    }

    /// The condition as the template asks it; the messages are `variable` in their loop.
    pub(super) fn test(self, variable: &str) -> String {
        match self {
            Self::Always => "true".to_owned(),
            Self::Own => format!("{variable}['role'] == 'assistant'"),
            Self::Previous => "not loop.first and loop.previtem['role'] == 'assistant'".to_owned(),
            Self::Last => "messages[-1]['role'] == 'assistant'".to_owned(),
        }
    }
}
