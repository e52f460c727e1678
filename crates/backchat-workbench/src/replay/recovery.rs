//! The recovery options of a run.

use backchat_parser::parser::{Options, Policies};

/// The recovery policies, and whether arguments are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The policies.
    pub policies: Policies,
    /// Whether the arguments of calls are checked against the schemas of their tools.
    pub validate: bool,
}

impl Recovery {
    pub(super) fn apply(self, options: Options) -> Options {
        options.recover(self.policies).validate(self.validate)
    }
}
