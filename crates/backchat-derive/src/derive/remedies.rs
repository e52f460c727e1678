//! Remedies for a draft that is not proved: other names for the reasoning, and no target.

use super::proof::Part;
use super::report::Remedy;
use super::{Derivation, Options, Status};
use backchat_core::diagnostic::{Diagnostic, Severity};

/// The derivation, or a better one with a remedy.
pub(super) fn apply(derivation: Derivation, options: &Options, derive: impl Fn(&Options) -> Derivation) -> Derivation {
    if derivation.status != Status::Partial || derivation.missing.is_some() {
        return derivation;
    }
    let mut best = derivation;
    for name in other_names(&best, options) {
        let named = Options { reasoning_field: Some(name.clone()), ..options.clone() };
        let found = derive(&named);
        if found.status == Status::Proved {
            let message = format!("the reasoning is named `{name}`, which the chat template reads as well");
            let note = Diagnostic::new(Severity::Note, "derive-took", message);
            best = found;
            best.remedy = Some(Remedy::ReasoningField(name));
            best.diagnostics.insert(0, note);
            return best;
        }
    }
    if !options.targets.is_empty() {
        let free = derive(&Options { targets: Vec::new(), ..options.clone() });
        best.remedy = (free.status == Status::Proved).then_some(Remedy::NoTarget);
    }
    best
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
    use crate::targets::Target;

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
        assert_eq!(of(vec![Target::named("smg").unwrap()]), (Status::Partial, Some(Remedy::NoTarget)));
        assert_eq!(of(Vec::new()), (Status::Proved, None));
    }
}
