//! A cause: a kind of problem, and the policies that would recover it.

use std::fmt;

use backchat_parser::parser::{Policies, Problem, ProblemKind, RecoveryPolicy};

/// Problems of one kind that the same policies would recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// The kind.
    pub kind: ProblemKind,
    /// The policies that together would recover it; empty if none would.
    pub policies: Policies,
}

impl Cause {
    /// The cause of a problem.
    pub fn of(problem: &Problem) -> Self {
        Self { kind: problem.kind, policies: problem.policies }
    }

    /// The names of its policies.
    pub fn policy_names(&self) -> Vec<&'static str> {
        self.policies.iter().map(RecoveryPolicy::as_str).collect()
    }

    /// A name for files: the kind and the policies, with hyphens between them.
    pub fn slug(&self) -> String {
        let names = self.policy_names();
        std::iter::once(self.kind.as_str()).chain(names).collect::<Vec<_>>().join("-")
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        match self.policies.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.policy_names().join(", ")),
        }
    }
}
