//! `bare-call`: JSON at the start of a line that is a call without its opener.

use super::growing_json::GrowingJson;
use super::markers::{self, follow_tail};
use super::view::View;
use super::{Context, NoResult, Verdict};
use crate::content::coerce::Tools;
use crate::content::recovery::{self, Policies, ProblemKind, Request};
use crate::parser::roles::CallField;
use backchat_core::json::Value;

/// JSON that may be a call.
#[derive(Clone, Debug)]
pub(in crate::parser) struct BareCall {
    pub start: usize,
    json: GrowingJson,
    /// The field whose call it is, once the JSON is complete.
    field: Option<usize>,
    /// The end of the text after it that has been followed.
    tail: usize,
    /// Whether something other than the closer of its field follows.
    lacks_closer: bool,
}

/// A call without its opener.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct FoundCall {
    pub field: usize,
    /// The end of its JSON.
    pub end: usize,
    /// The closer of its field after it; `None` if nothing comes after it.
    pub closer: Option<(usize, usize)>,
}

impl BareCall {
    pub fn new(start: usize) -> Self {
        Self { start, json: GrowingJson::new(start), field: None, tail: start, lacks_closer: false }
    }

    /// Reads more text. `may_be_all` says that the call counts even if nothing else is there.
    pub fn look(&mut self, view: View<'_>, context: &Context<'_>, may_be_all: bool) -> Verdict<FoundCall> {
        let end = self.json.end(view)?;
        let field = match self.field {
            Some(field) => field,
            None => {
                let body = view.slice(self.start, end);
                let call = context.plan.roles.calls.iter().find(|call| is_call(body, call, context));
                self.tail = end;
                *self.field.insert(call.ok_or(NoResult::IsNot)?.field)
            }
        };
        if !self.lacks_closer
            && let Some(closer) = context.plan.closer(field)
        {
            match view.marker(closer, end) {
                Ok((start, after)) if markers::is_own(context.plan, view.slice(start, after)) => {
                    return Ok(FoundCall { field, end, closer: Some((start, after)) });
                }
                Err(NoResult::Waits) => return Err(NoResult::Waits),
                // Blanks may yet be followed by the closer.
                _ => self.lacks_closer = view.after_blanks(end) < view.end(),
            }
        }
        if !self.lacks_closer && !view.is_whole() {
            return Err(NoResult::Waits);
        }
        if !may_be_all {
            return Err(NoResult::IsNot);
        }
        follow_tail(context.plan, view, &mut self.tail, false)?;
        Ok(FoundCall { field, end, closer: None })
    }
}

/// Whether calls of a field can come without their opener: the name must be in their JSON.
pub(super) fn has_bare_calls(call: &CallField) -> bool {
    call.is_json && call.form.paths.as_ref().is_some_and(|paths| paths.name.is_some() && paths.arguments.is_some())
}

/// Whether JSON is a call, or calls, of known tools with objects for arguments.
fn is_call(body: &str, call: &CallField, context: &Context<'_>) -> bool {
    let Some(field) = context.template.fields().get(call.field).filter(|_| has_bare_calls(call)) else { return false };
    let request = Request { is_bare: true, ..strict_request(context.tools) };
    let read = recovery::read(field, &call.form, body, &[], request);
    let is_harmless = |kind| kind == ProblemKind::DuplicateKey;
    let Ok(Some(value)) = read.value else { return false };
    read.deviations.iter().all(|found| is_harmless(found.kind)) && has_objects(&value)
}

/// Strict parsing.
pub(super) fn strict_request(tools: Option<&Tools>) -> Request<'_> {
    Request { tools, policies: Policies::none(), validate: false, is_delimited: true, is_cut: false, is_bare: false }
}

/// Whether a value has calls, and each has an object for arguments.
fn has_objects(value: &Value) -> bool {
    let arguments = |call: &Value| call.get("function")?.get("arguments").cloned();
    let is_whole = |call: &Value| matches!(arguments(call), Some(Value::Object(_)));
    match value {
        Value::List(calls) => !calls.is_empty() && calls.iter().all(is_whole),
        call => is_whole(call),
    }
}
