//! Remedies for a draft that is not proved: other names for the reasoning, and another target or none.

use super::proof::Part;
use super::report::Remedy;
use super::{Derivation, Options, ReaderVerdict, Status, Target, Verdict};
use backchat_core::diagnostic::{Diagnostic, Severity};

/// The derivation, or a better one with a remedy, each with what its caller made of it.
pub(super) fn apply<T>(
    derived: (Derivation, T),
    options: &Options,
    derive: impl Fn(&Options) -> (Derivation, T),
) -> (Derivation, T) {
    let (mut best, made) = with_name(derived, options, &derive);
    if best.status != Status::Partial || best.missing.is_some() {
        return (best, made);
    }
    let for_targets = |targets: Vec<&'static Target>| derive(&Options { targets, ..options.clone() }).0;
    let (accepting, refusing) = requested(&best, options);
    best.refused = refusing.iter().map(|target| price(target, &for_targets(vec![target]))).collect();
    let other = match accepting.as_slice() {
        [only] if !refusing.is_empty() => Some(*only),
        _ => best.fuller,
    };
    if let Some(target) = other.filter(|target| for_targets(vec![target]).status == Status::Proved) {
        best.remedy = Some(Remedy::Target(target.name));
    } else if !options.targets.is_empty() && for_targets(Vec::new()).status == Status::Proved {
        best.remedy = Some(Remedy::NoTarget);
    }
    (best, made)
}

/// The derivation, or one that is proved because the reasoning has another name that the chat template reads: the only
/// remedy that changes the draft.
pub(super) fn with_name<T>(
    (best, made): (Derivation, T),
    options: &Options,
    derive: &impl Fn(&Options) -> (Derivation, T),
) -> (Derivation, T) {
    if best.status != Status::Partial || best.missing.is_some() {
        return (best, made);
    }
    for name in other_names(&best, options) {
        let named = Options { reasoning_field: Some(name.clone()), ..options.clone() };
        let (mut found, made) = derive(&named);
        if found.status == Status::Proved {
            let message = format!("the reasoning is named `{name}`, which the chat template reads as well");
            found.remedy = Some(Remedy::ReasoningField(name));
            found.diagnostics.insert(0, Diagnostic::new(Severity::Note, "derive-took", message));
            return (found, made);
        }
    }
    (best, made)
}

/// The targets of the requested readers that accept the draft, and of those that refuse it.
fn requested(derivation: &Derivation, options: &Options) -> (Vec<&'static Target>, Vec<&'static Target>) {
    let is_requested =
        |reading: &&ReaderVerdict| options.targets.iter().any(|target| target.readers.contains(&reading.reader));
    let (accepting, refusing): (Vec<&ReaderVerdict>, Vec<_>) =
        derivation.readers.iter().filter(is_requested).partition(|reading| reading.refusals.is_empty());
    let targets = |readings: Vec<&ReaderVerdict>| {
        readings.into_iter().filter_map(|reading| Target::named(reading.reader.target())).collect()
    };
    (targets(accepting), targets(refusing))
}

/// What a draft for the reader of a target reads.
fn price(target: &Target, derivation: &Derivation) -> String {
    let Verdict { cases, passed, .. } = derivation.verdict;
    let is_of = |reading: &&ReaderVerdict| target.readers.contains(&reading.reader);
    match derivation.readers.iter().filter(is_of).all(|reading| reading.refusals.is_empty()) {
        true => format!("{0} refuses this draft, `--target {0}` gives one that reads {passed} of {cases}", target.name),
        false => format!("{} refuses every draft that was found", target.name),
    }
}

/// The other names under which the chat template reads reasoning, if only the name is wrong.
fn other_names(derivation: &Derivation, options: &Options) -> Vec<String> {
    let is_name = |failure: &super::Failure| failure.part == Part::Reasoning && failure.boundary.is_none();
    if options.reasoning_field.is_some() || !derivation.verdict.failures.iter().any(is_name) {
        return Vec::new();
    }
    let Some(found) = derivation.findings.found() else { return Vec::new() };
    let keys = found.wire.reasoning.iter().flat_map(|reasoning| reasoning.keys());
    keys.filter(|key| *key != found.reasoning_field).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::CHAT;
    use crate::derive::derive;

    #[test]
    fn a_draft_without_the_target_shows_what_the_target_costs() {
        // Only a look-around distinguishes the separator of two calls from the same characters in prose.
        let start = CHAT.find("{% for c in").unwrap();
        let end = start + CHAT[start..].find("{% endfor %}").unwrap() + "{% endfor %}".len();
        let calls = "{% if m.tool_calls %}<calls>[{% for c in m.tool_calls %}{\"{{ c.function.name }}\": \
                     {{ c.function.arguments | tojson }}}{{ ', ' if not loop.last }}{% endfor %}]</calls>{% endif %}";
        let listed = format!("{}{calls}{}", &CHAT[..start], &CHAT[end..]);
        let of = |targets: Vec<&'static Target>| {
            let derivation = derive(&listed, &Options::default().targets(targets));
            (derivation.status, derivation.remedy)
        };
        let named = |name| vec![Target::named(name).unwrap()];
        assert_eq!(of(named("smg")), (Status::Partial, Some(Remedy::NoTarget)));
        // One of two readers accepts what reads everything.
        assert_eq!(of(named("vllm")), (Status::Partial, Some(Remedy::Target("vllm-python"))));
        assert_eq!(of(Vec::new()), (Status::Proved, None));
    }
}
