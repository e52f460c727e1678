//! Which branches of a template conversations take: the two outcomes of each condition, and the body of each loop.

use std::collections::HashSet;
use std::ops::Range;

use super::places::Places;
use backchat_chat::{ChatTemplate, NodeKind, RenderOptions, render_recorded};
use backchat_core::json::Object;

/// The branches of a template, and those that no conversation took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branches {
    /// How many there are.
    pub total: usize,
    /// How many were taken.
    pub exercised: usize,
    /// The lines at which the others begin.
    pub not: Vec<usize>,
}

/// The bytes of a condition or of what a loop is over, and its outcome.
type Branch = (usize, usize, bool);

/// The outcomes that conditions have in some conversations.
#[derive(Debug, Default)]
pub(super) struct Taken(HashSet<Branch>);

impl Taken {
    /// The places are those of the source without what comes before `head`.
    pub fn find(template: &ChatTemplate, contexts: &[&Object], options: &RenderOptions, head: usize) -> Self {
        let mut taken = HashSet::new();
        for context in contexts {
            let (_, ran) = render_recorded(template, context, &[], options);
            let places = ran
                .decisions
                .into_iter()
                .filter_map(|it| Some((it.span.start.checked_sub(head)?, it.span.end.checked_sub(head)?, it.outcome)));
            taken.extend(places);
        }
        Self(taken)
    }

    fn has(&self, span: &Range<usize>, outcome: bool) -> bool {
        self.0.contains(&(span.start, span.end, outcome))
    }

    /// Whether a condition, or one that it consists of, was asked.
    pub fn asks(&self, span: &Range<usize>) -> bool {
        self.0.iter().any(|(start, end, _)| span.start <= *start && *end <= span.end)
    }

    /// Whether a condition always went one way.
    pub fn is_always(&self, span: &Range<usize>, outcome: bool) -> bool {
        self.has(span, outcome) && !self.has(span, !outcome)
    }
}

pub(super) fn exercised(source: &str, contexts: &[&Object], options: &RenderOptions) -> Branches {
    let Ok(template) = ChatTemplate::compile(source) else { return Branches::default() };
    let taken = Taken::find(&template, contexts, options, 0);
    let places = Places::new(source);
    let all = branches(&places);
    let never = all.iter().filter(|(start, end, outcome)| !taken.has(&(*start..*end), *outcome));
    let mut not: Vec<usize> = never.map(|(start, ..)| places.line(*start)).collect();
    let (total, exercised) = (all.len(), all.len() - not.len());
    not.sort_unstable();
    not.dedup();
    Branches { total, exercised, not }
}

/// Every branch: conditions that consist of others have none of their own, and a loop over nothing is none.
fn branches(places: &Places<'_>) -> Vec<Branch> {
    let mut found = Vec::new();
    for node in &places.nodes {
        if let NodeKind::For { over, .. } = &node.kind {
            found.push((over.start, over.end, true));
        }
        let is_joint = matches!(node.kind, NodeKind::And | NodeKind::Or | NodeKind::Not | NodeKind::Choice);
        let parent = node.parent.and_then(|at| places.nodes.get(at));
        let is_value = parent.is_some_and(|parent| parent.is_condition && parent.kind == NodeKind::Choice);
        let is_constant = matches!(places.text(&node.span), "true" | "false" | "True" | "False");
        if node.is_condition && !is_joint && !is_value && !is_constant {
            found.extend([true, false].map(|outcome| (node.span.start, node.span.end, outcome)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json::read;

    #[test]
    fn a_branch_is_one_outcome_of_a_condition_or_a_loop() {
        let source =
            "{% for m in messages %}\n{% if m.a and not m.b %}{{ 'x' if m.c else 'y' }}\n{% endif %}{% endfor %}";
        for (messages, exercised, not) in [
            ("[]", 0, vec![1, 2]),
            (r#"[{"a": 0}]"#, 2, vec![2]),
            (r#"[{"a": 0}, {"a": 1, "b": 1}, {"a": 1, "c": 1}]"#, 6, vec![2]),
            (r#"[{"a": 0}, {"a": 1, "b": 1}, {"a": 1, "c": 1}, {"a": 1}]"#, 7, vec![]),
        ] {
            let context = read(&format!("{{\"messages\": {messages}}}")).unwrap();
            let found = super::exercised(source, &[context.as_object().unwrap()], &RenderOptions::default());
            assert_eq!(found, Branches { total: 7, exercised, not }, "{messages}");
        }
    }
}
