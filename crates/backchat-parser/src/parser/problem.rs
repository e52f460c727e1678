//! Problems of a text, as data: each has a kind and a position, and changes the message only through an enabled policy.

use super::span::Span;
use crate::content::recovery::{Policies, ProblemKind, RecoveryPolicy};
use backchat_core::json::{Object, Value};

/// A problem of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// The text in question: the body of a region unless the kind says otherwise.
    pub span: Span,
    /// The field, if it is about one.
    pub field: Option<String>,
    /// The index of the call in the message; `None` if it concerns no call of the message.
    pub call: Option<usize>,
    /// The index of the region among those of its field, if it is about a region.
    pub region: Option<usize>,
    /// Its position in the arguments, as a JSON pointer.
    pub path: Option<String>,
    /// Why a malformed region has no value, or the keyword that an argument violates.
    pub reason: Option<String>,
    /// Whether the text ended inside the region.
    pub at_end: bool,
    /// The policies that together recovered it, or would.
    pub policies: Policies,
    /// Whether policies recovered it.
    pub is_recovered: bool,
    /// The number of problems that are not listed.
    pub count: Option<usize>,
}

impl Problem {
    /// A problem of the text without a field.
    pub(super) fn new(kind: ProblemKind, span: Span) -> Self {
        Self {
            kind,
            span,
            field: None,
            call: None,
            region: None,
            path: None,
            reason: None,
            at_end: false,
            policies: Policies::none(),
            is_recovered: false,
            count: None,
        }
    }

    /// A problem of a field.
    pub(super) fn of(kind: ProblemKind, span: Span, field: &str) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(kind, span) }
    }

    /// The problem with the policy that recovered it, or would.
    pub(super) fn read_by(self, policy: RecoveryPolicy, is_recovered: bool) -> Self {
        Self { policies: policy.into(), is_recovered, ..self }
    }

    /// The problem as the command writes it, without its span.
    pub fn to_value(&self) -> Value {
        let mut entries = Object::new();
        let mut put = |key: &str, value: Option<Value>| {
            entries.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("kind", Some(self.kind.as_str().into()));
        put("field", self.field.as_deref().map(Value::from));
        put("call", self.call.map(Value::from));
        put("region", self.region.map(Value::from));
        put("path", self.path.as_deref().map(Value::from));
        put("reason", self.reason.as_deref().map(Value::from));
        put("at_end", self.at_end.then(|| true.into()));
        put("count", self.count.map(Value::from));
        if !self.policies.is_empty() {
            let names = self.policies.iter().map(|policy| policy.as_str().into()).collect();
            put(if self.is_recovered { "recovered" } else { "recoverable" }, Some(Value::List(names)));
        }
        Value::Object(entries)
    }

    /// The problem as rows have it: the span counts code points of the text, which begins at this byte.
    pub fn to_value_in(&self, text: &str, prefix_length: usize) -> Value {
        let Value::Object(mut entries) = self.to_value() else { return self.to_value() };
        let count = |place: usize| {
            let end = text.floor_char_boundary(place.saturating_sub(prefix_length));
            Value::from(text.get(..end).map_or(0, |before| before.chars().count()))
        };
        entries.insert_at(1, "span", Value::List(vec![count(self.span.start), count(self.span.end)]));
        Value::Object(entries)
    }
}
