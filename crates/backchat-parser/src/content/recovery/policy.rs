//! The recovery policies, and sets of them.

use std::fmt;
use std::ops::BitOr;

/// A way to parse text that deviates from its format. A policy acts only at a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RecoveryPolicy {
    /// Reads the inside of a body in a fence of three backticks.
    JsonFence,
    /// Drops a comma before a closing bracket.
    JsonCommas,
    /// Keeps raw control characters in a string.
    JsonControl,
    /// Keeps a backslash before a character that is not an escape.
    JsonEscapes,
    /// Reads strings in single quotes, `True`, `False` and `None`.
    JsonPython,
    /// Reads keys without quotes.
    JsonKeys,
    /// Reads unescaped quotes inside a string.
    JsonQuotes,
    /// Closes brackets that are missing after a complete value, and ignores surplus ones.
    JsonBrackets,
    /// Reads a closing marker inside a JSON string as text.
    ClosersInStrings,
    /// Reads other names of a call's two keys.
    CallKeys,
    /// Decodes arguments that are a string of a JSON object.
    EncodedArguments,
    /// Accepts a name that differs from a known tool's only in style.
    ToolNames,
    /// Ends the value of a tag without closer at the next tag or the region's end.
    UnclosedTags,
    /// Reads an opener that no value follows as text.
    FalseOpeners,
    /// Reads the JSON of a call without its opener.
    MissingCallOpener,
    /// Ends the reasoning where calls reach its end.
    CallsInReasoning,
    /// Drops a closing marker of calls at the very end.
    StrayClosers,
    /// Uses the text outside all regions as content if there is none.
    OutsideText,
    /// Drops a tagged call that the end of the text truncates.
    DropUnfinished,
    /// Reads the text before a closer of the reasoning as reasoning. Not among [`Policies::all`].
    MissingReasoningOpener,
}

impl RecoveryPolicy {
    /// Every policy, in the order in which a problem lists them.
    pub const ALL: &[Self] = &[
        Self::JsonFence,
        Self::JsonCommas,
        Self::JsonControl,
        Self::JsonEscapes,
        Self::JsonPython,
        Self::JsonKeys,
        Self::JsonQuotes,
        Self::JsonBrackets,
        Self::ClosersInStrings,
        Self::CallKeys,
        Self::EncodedArguments,
        Self::ToolNames,
        Self::UnclosedTags,
        Self::FalseOpeners,
        Self::MissingCallOpener,
        Self::CallsInReasoning,
        Self::StrayClosers,
        Self::OutsideText,
        Self::DropUnfinished,
        Self::MissingReasoningOpener,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonFence => "json-fence",
            Self::JsonCommas => "json-commas",
            Self::JsonControl => "json-control",
            Self::JsonEscapes => "json-escapes",
            Self::JsonPython => "json-python",
            Self::JsonKeys => "json-keys",
            Self::JsonQuotes => "json-quotes",
            Self::JsonBrackets => "json-brackets",
            Self::ClosersInStrings => "closers-in-strings",
            Self::CallKeys => "call-keys",
            Self::EncodedArguments => "encoded-arguments",
            Self::ToolNames => "tool-names",
            Self::UnclosedTags => "unclosed-tags",
            Self::FalseOpeners => "false-openers",
            Self::MissingCallOpener => "missing-call-opener",
            Self::CallsInReasoning => "calls-in-reasoning",
            Self::StrayClosers => "stray-closers",
            Self::OutsideText => "outside-text",
            Self::DropUnfinished => "drop-unfinished",
            Self::MissingReasoningOpener => "missing-reasoning-opener",
        }
    }
}

impl fmt::Display for RecoveryPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A set of policies.
///
/// ```
/// # use backchat_parser as backchat;
/// use backchat::parser::{Policies, RecoveryPolicy};
///
/// let policies = Policies::parse("json-commas, json-python")?;
/// assert!(policies.contains(RecoveryPolicy::JsonCommas));
/// assert!(!Policies::all().contains(RecoveryPolicy::MissingReasoningOpener));
/// assert!(!Policies::parse("all,-json-commas")?.contains(RecoveryPolicy::JsonCommas));
/// assert!(Policies::parse("json-comma").is_err());
/// # Ok::<(), backchat::parser::UnknownPolicy>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Policies(u32);

/// A name that no policy has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    name: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is no policy `{}`; the policies are all", self.name.escape_debug())?;
        RecoveryPolicy::ALL.iter().try_for_each(|policy| write!(out, ", {policy}"))
    }
}

impl std::error::Error for UnknownPolicy {}

impl Policies {
    /// No policy: problems are reported, and nothing is recovered.
    pub const fn none() -> Self {
        Self(0)
    }

    /// Every policy but `missing-reasoning-opener`, which holds all of an answer without reasoning.
    pub const fn all() -> Self {
        Self::every().without(RecoveryPolicy::MissingReasoningOpener)
    }

    /// Every policy.
    pub const fn every() -> Self {
        Self((1 << RecoveryPolicy::ALL.len()) - 1)
    }

    /// The policies of a comma-separated list; see [`Policies::of_names`].
    pub fn parse(text: &str) -> Result<Self, UnknownPolicy> {
        Self::of_names(text.split(',').map(str::trim).filter(|name| !name.is_empty()))
    }

    /// The policies of these names. `all` may be among them, and `-` before a name leaves that policy out, whatever the
    /// order: `all`, `-outside-text`.
    pub fn of_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, UnknownPolicy> {
        let (mut asked, mut left_out) = (Self::none(), Self::none());
        for name in names {
            match name.strip_prefix('-') {
                Some(name) => left_out = left_out | Self::named(name)?,
                None => asked = asked | Self::named(name)?,
            }
        }
        Ok(Self(asked.0 & !left_out.0))
    }

    /// The policy of that name, or those of `all`.
    fn named(name: &str) -> Result<Self, UnknownPolicy> {
        if name == "all" {
            return Ok(Self::all());
        }
        let policy = RecoveryPolicy::ALL.iter().find(|policy| policy.as_str() == name);
        policy.map(|policy| Self::from(*policy)).ok_or_else(|| UnknownPolicy { name: name.to_owned() })
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has the policy.
    pub const fn contains(self, policy: RecoveryPolicy) -> bool {
        self.0 & (1 << policy as u32) != 0
    }

    /// Whether it has all policies of another set.
    pub const fn contains_all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The set with the policy.
    #[must_use]
    pub const fn with(self, policy: RecoveryPolicy) -> Self {
        Self(self.0 | (1 << policy as u32))
    }

    /// The set without the policy.
    #[must_use]
    pub const fn without(self, policy: RecoveryPolicy) -> Self {
        Self(self.0 & !(1 << policy as u32))
    }

    /// Its policies, in their order.
    pub fn iter(self) -> impl Iterator<Item = RecoveryPolicy> {
        RecoveryPolicy::ALL.iter().copied().filter(move |policy| self.contains(*policy))
    }
}

impl From<RecoveryPolicy> for Policies {
    fn from(policy: RecoveryPolicy) -> Self {
        Self::none().with(policy)
    }
}

impl FromIterator<RecoveryPolicy> for Policies {
    fn from_iter<I: IntoIterator<Item = RecoveryPolicy>>(policies: I) -> Self {
        policies.into_iter().fold(Self::none(), Self::with)
    }
}

impl BitOr for Policies {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_into_sets() {
        assert_eq!(Policies::parse(""), Ok(Policies::none()));
        assert_eq!(Policies::parse("all"), Ok(Policies::all()));
        assert_eq!(Policies::parse(" all, missing-reasoning-opener "), Ok(Policies::every()));
        assert_eq!(Policies::every().iter().count(), 20);
        let but = Policies::all().without(RecoveryPolicy::JsonKeys);
        assert_eq!(Policies::parse("all,-json-keys"), Ok(but));
        assert_eq!(Policies::parse("-json-keys,all"), Ok(but));
        assert_eq!(Policies::parse("-json-keys"), Ok(Policies::none()));
        assert!(Policies::parse("all,-json-key").is_err());
        for policy in RecoveryPolicy::ALL {
            assert_eq!(Policies::named(policy.as_str()), Ok(Policies::from(*policy)));
        }
        let error = Policies::parse("json-commas,al\u{1b}l").unwrap_err().to_string();
        assert!(error.starts_with("there is no policy `al\\u{1b}l`; the policies are all, json-fence, "), "{error}");
    }
}
