//! The scope of a verdict: the parts that conversations exercised, those that the chat template never shows, and those a response
//! template claims to read all the same.

use super::case::Case;
use super::reading::{Part, reasoning_field};
use super::request::Request;
use super::verdict::{Scope, Unverified};
use crate::template::Template;

/// Whether a case has a part.
type Has<'a> = &'a dyn Fn(&Case) -> bool;

/// The scope of a proof, and the claims that it leaves open.
pub(super) fn find(
    template: &Template,
    request: &Request,
    cases: &[Case],
    passed: &[&Case],
) -> (Scope, Vec<Unverified>) {
    let content = |case: &Case| case.expected.content.is_some();
    let reasoning = |case: &Case| case.expected.reasoning.is_some();
    let calls = |case: &Case| !case.expected.calls.is_empty();
    let several = |case: &Case| case.expected.calls.len() > 1;
    let ids = |case: &Case| case.expected.calls.iter().any(|call| !call.id.is_empty());
    let beside = |case: &Case| content(case) && calls(case);
    let parts: [(&'static str, Has<'_>); 6] = [
        ("content", &content),
        ("reasoning", &reasoning),
        ("calls", &calls),
        ("several calls", &several),
        ("content beside calls", &beside),
        ("ids", &ids),
    ];
    let mut scope = Scope::default();
    for (name, has) in parts {
        if passed.iter().any(|case| has(case)) {
            scope.proved.push(name);
        } else if !cases.iter().any(has) && (name == "calls" || !about_calls(name) || cases.iter().any(calls)) {
            scope.not_shown.push(name);
        }
    }
    let mut unverified = Vec::new();
    let mut claim = |part: Part, message: String| unverified.push(Unverified { part, message });
    if let Some(field) = reasoning_field(template)
        && !cases.iter().any(reasoning)
    {
        claim(Part::Reasoning, format!("`{field}`: the chat template renders no reasoning"));
    }
    if let Some(field) = template.field("tool_calls") {
        if !cases.iter().any(calls) {
            let why = if request.calls.shown {
                "no turn with a call could be cut out of a render"
            } else {
                "it renders none"
            };
            claim(Part::Calls, format!("`tool_calls`: the chat template shows no calls ({why})"));
        } else if !cases.iter().any(several) && field.repeats {
            claim(Part::Calls, "several calls: the chat template renders only the first call of a turn".to_owned());
        }
        if cases.iter().any(|case| case.drops_content) && !cases.iter().any(beside) {
            claim(Part::Content, "content beside a call: the chat template drops it".to_owned());
        }
    }
    (scope, unverified)
}

/// Whether a part belongs to calls: without calls, it is not listed.
fn about_calls(part: &str) -> bool {
    ["several calls", "content beside calls", "ids"].contains(&part)
}
