//! `bare-call`: JSON, or a list of calls, at the start of a line that is a call without its opener.

use super::growing_body::GrowingBody;
use super::markers::{self, follow_tail};
use super::view::View;
use super::{Context, NoResult, Verdict};
use crate::content::coerce::Tools;
use crate::content::recovery::{self, Policies, ProblemKind, Request};
use crate::parser::roles::{CallField, Roles};
use backchat_core::distinct;
use backchat_core::json::Value;

/// A text that may be a call.
#[derive(Clone, Debug)]
pub(in crate::parser) struct BareCall {
    pub start: usize,
    /// The text in each notation that it may have.
    bodies: Vec<GrowingBody>,
    /// The field whose call it is and its end, once it is complete.
    whole: Option<(usize, usize)>,
    /// The end of the text after it that has been followed.
    tail: usize,
    /// Whether something other than the closer of its field follows.
    lacks_closer: bool,
}

/// A call without its opener.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct FoundCall {
    pub field: usize,
    /// The end of its body.
    pub end: usize,
    /// The closer of its field after it; `None` if nothing comes after it.
    pub closer: Option<(usize, usize)>,
}

impl BareCall {
    pub fn new(roles: &Roles, start: usize) -> Self {
        let calls = roles.calls.iter().filter(|call| has_bare_calls(call));
        let notations = distinct(calls.filter_map(|call| call.notation));
        let bodies = notations.into_iter().map(|notation| GrowingBody::new(notation, start)).collect();
        Self { start, bodies, whole: None, tail: start, lacks_closer: false }
    }

    /// Reads more text. `may_be_all` says that the call counts even if nothing else is there.
    pub fn look(&mut self, view: View<'_>, context: &Context<'_>, may_be_all: bool) -> Verdict<FoundCall> {
        let (field, end) = match self.whole {
            Some(whole) => whole,
            None => {
                let whole = self.whole(view, context)?;
                self.tail = whole.1;
                *self.whole.insert(whole)
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

    /// The field whose call the text is, and its end.
    fn whole(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<(usize, usize)> {
        let mut waits = false;
        for body in &mut self.bodies {
            let notation = body.notation();
            match body.end(view) {
                Ok(end) => {
                    let text = view.slice(self.start, end);
                    let mut calls = context.plan.roles.calls.iter().filter(|call| call.notation == Some(notation));
                    if let Some(call) = calls.find(|call| is_call(text, call, context)) {
                        return Ok((call.field, end));
                    }
                }
                Err(NoResult::Waits) => waits = true,
                Err(NoResult::IsNot) => {}
            }
        }
        Err(if waits { NoResult::Waits } else { NoResult::IsNot })
    }
}

/// Whether calls of a field can come without their opener: their body must show its end and the name.
pub(super) fn has_bare_calls(call: &CallField) -> bool {
    call.notation.is_some()
        && call.form.paths.as_ref().is_some_and(|paths| paths.name.is_some() && paths.arguments.is_some())
}

/// Whether a body is a call, or calls, of known tools with objects for arguments.
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
