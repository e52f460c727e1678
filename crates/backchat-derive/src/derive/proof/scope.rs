//! The scope of a verdict: the parts that conversations exercised, those that the chat template never shows, and those
//! that a response template claims to read anyway.

use super::case::Case;
use super::reading::{Part, reasoning_field};
use super::request::Request;
use super::verdict::{Scope, Unverified};
use backchat_parser::template::Template;

/// Parts of calls: without calls, they are not listed.
const OF_CALLS: [&str; 3] = ["several calls", "content beside calls", "ids"];

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
    let mut scope = Scope { refused: request.refused.clone(), ..Scope::default() };
    for (name, has) in parts.into_iter().filter(|(name, _)| *name != "ids" || !request.ids_are_made) {
        if passed.iter().any(|case| has(case)) {
            scope.proved.push(name);
        } else if name == "reasoning" && request.reasoning_is_changed {
            // It is neither proved nor missing.
        } else if !cases.iter().any(has) && (!OF_CALLS.contains(&name) || cases.iter().any(calls)) {
            scope.not_shown.push(name);
        }
    }
    let mut unverified = Vec::new();
    let mut claim = |part: Part, message: String| unverified.push(Unverified { part, message });
    if request.reasoning_is_changed {
        claim(
            Part::Reasoning,
            "reasoning, which the chat template changes: no conversation shows how to read it".to_owned(),
        );
    } else if let Some(field) = reasoning_field(template)
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
        if cases.iter().any(reasoning) && cases.iter().any(calls) {
            for (called, place) in [(true, "beside a call"), (false, "without calls")] {
                if !cases.iter().any(|case| reasoning(case) && calls(case) == called) {
                    claim(Part::Reasoning, format!("reasoning {place}: no turn of the chat template shows it"));
                }
            }
        }
    }
    (scope, unverified)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, calls_answer, template, with_proof};
    use backchat_probe::probe::Answer;

    fn scope_of(cases: &[Case], passed: &[&Case]) -> (Scope, Vec<String>) {
        let (scope, open) = with_proof(CHAT, |proof| find(&template(ANSWER), &proof.request, cases, passed));
        (scope, open.into_iter().map(|claim| claim.message).collect())
    }

    #[test]
    fn a_part_is_proved_once_a_case_with_it_passed() {
        let cases = [
            Case::by_hand("Yes.", Answer::content("Yes.")),
            Case::by_hand("Hm.", Answer::content("Yes.").with_reasoning("Hm.")),
            Case::by_hand("f", calls_answer(&[("f", "{}"), ("g", "{}")])),
            Case::by_hand("Hm.f", calls_answer(&[("f", "{}")]).with_reasoning("Hm.")),
        ];
        let (scope, open) = scope_of(&cases, &[&cases[0], &cases[2]]);
        assert_eq!(scope.proved, ["content", "calls", "several calls"]);
        // Reasoning is shown but was misread: a failure, not a gap.
        assert_eq!(scope.not_shown, ["content beside calls", "ids"]);
        assert_eq!(open, [""; 0]);
    }

    #[test]
    fn reasoning_that_only_some_turns_show_is_reported() {
        let (said, called) = (Answer::content("Yes."), calls_answer(&[("f", "{}")]));
        let thinking = |answer: &Answer| Case::by_hand("Hm.", answer.clone().with_reasoning("Hm."));
        let plain = || [&said, &called].map(|answer| Case::by_hand("f", answer.clone()));
        let open = |cases: &[Case]| {
            let open = scope_of(cases, &cases.iter().collect::<Vec<_>>()).1;
            open.into_iter().filter(|claim| claim.contains("reasoning")).collect::<Vec<_>>()
        };
        let [first, second] = plain();
        let dropped = |place: &str| vec![format!("reasoning {place}: no turn of the chat template shows it")];
        assert_eq!(open(&[first.clone(), second.clone(), thinking(&said)]), dropped("beside a call"));
        assert_eq!(open(&[first.clone(), second.clone(), thinking(&called)]), dropped("without calls"));
        assert_eq!(open(&[first.clone(), second, thinking(&said), thinking(&called)]), [""; 0]);
        // Without calls there is nothing to be beside.
        assert_eq!(open(&[first, thinking(&said)]), [""; 0]);
    }

    #[test]
    fn a_claim_that_no_case_exercised_is_reported() {
        let one = [Case::by_hand("f", Answer { content: None, ..calls_answer(&[("f", "{}")]) })];
        let (scope, open) = scope_of(&one, &[&one[0]]);
        assert_eq!(scope.not_shown, ["content", "reasoning", "several calls", "content beside calls", "ids"]);
        assert_eq!(
            open,
            [
                "`reasoning_content`: the chat template renders no reasoning",
                "several calls: the chat template renders only the first call of a turn",
            ]
        );
        let plain = [Case::by_hand("Yes.", Answer::content("Yes."))];
        let (scope, open) = scope_of(&plain, &[&plain[0]]);
        // Without calls, the parts of calls are not listed.
        assert_eq!(scope.not_shown, ["reasoning", "calls"]);
        let why = "`tool_calls`: the chat template shows no calls (no turn with a call could be cut out of a render)";
        assert!(open.contains(&why.to_owned()), "{open:?}");
    }
}
