//! The faults of a call list that policies repair: a fence, commas before an end, and missing or surplus ends.

use super::{CallListReader, Container, Expected, Token};
use crate::content::recovery::{Policies, RecoveryPolicy, without_fence};
use backchat_core::json::{self, Value};

/// The value of a body that deviates from the grammar, and the policies that were needed: a fence, commas before an end,
/// and ends that are missing or surplus where a delimiter ended the body.
pub(in crate::content) fn tolerant_call_list(
    body: &str,
    policies: Policies,
    is_delimited: bool,
) -> Option<(Value, Policies)> {
    let (inside, used) = without_fence(body, policies);
    let tolerated = if is_delimited { policies } else { policies.without(RecoveryPolicy::JsonBrackets) };
    let tolerance = Tolerance { asked: tolerated, used };
    let mut reader = CallListReader { tolerance, ..CallListReader::default() };
    let mut json = String::new();
    reader.push(inside, &mut json);
    reader.add_ends(&mut json);
    reader.finish();
    let value = json::read(&json).ok().filter(|_| reader.error.is_none())?;
    Some((value, reader.tolerance.used))
}

/// The policies that are requested, and those that were needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Tolerance {
    asked: Policies,
    used: Policies,
}

impl Tolerance {
    /// Whether a policy may repair a fault here, which it then does.
    pub fn repairs_by(&mut self, policy: RecoveryPolicy) -> bool {
        let is_asked = self.asked.contains(policy);
        if is_asked {
            self.used = self.used.with(policy);
        }
        is_asked
    }
}

impl CallListReader {
    /// Adds missing ends. A value or a name that is cut off cannot be completed.
    fn add_ends(&mut self, json: &mut String) {
        if matches!(self.token, Token::Word(..)) {
            self.end_word(json);
        }
        let may_end = |expected| {
            use Expected::*;
            matches!(expected, CallOrEnd | ArgumentOrEnd | ValueOrEnd | KeyOrEnd | CommaOrEnd)
        };
        while self.token == Token::None
            && self.error.is_none()
            && may_end(self.expected)
            && self.tolerance.repairs_by(RecoveryPolicy::JsonBrackets)
        {
            self.end(json);
        }
    }

    /// Whether this ends a container after a comma.
    pub(super) fn is_after_comma(&self, c: char) -> bool {
        let is_after_comma = match self.expected {
            Expected::Call | Expected::Argument | Expected::Key => true,
            Expected::Value => matches!(self.open.last(), Some(Container::List)),
            _ => false,
        };
        is_after_comma && self.ends_with(c)
    }
}
