//! Groups the cases of a check by what is wrong with them, so that a page shows a cause once.

use crate::check::{Report, Status};
use backchat_core::diagnostic::Diagnostic;

/// Cases that fare alike for one reason.
pub(super) struct Group<'r> {
    /// How they fare.
    pub status: Status,
    /// The reason; empty if there is nothing to say.
    pub cause: String,
    /// The cases, with their places in the whole list.
    pub cases: Vec<(usize, &'r Report<'r>)>,
}

/// The groups: what fails first, then what passes with notes, then the rest; the largest first.
pub(super) fn groups<'r>(reports: &'r [Report<'r>]) -> Vec<Group<'r>> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    for (index, report) in reports.iter().enumerate() {
        let cause = worst(report).map_or_else(String::new, |found| shape(&found.message));
        let known = groups.iter_mut().find(|group| group.status == report.status && group.cause == cause);
        match known {
            Some(group) => group.cases.push((index, report)),
            None => groups.push(Group { status: report.status, cause, cases: vec![(index, report)] }),
        }
    }
    groups.sort_by_key(|group| (rank(group), usize::MAX - group.cases.len()));
    groups
}

fn rank(group: &Group<'_>) -> usize {
    match (group.status, group.cause.is_empty()) {
        (Status::NotRun, _) => 0,
        (Status::Failed, _) => 1,
        (Status::Passed, false) => 2,
        (Status::Passed, true) => 3,
    }
}

/// The worst finding of a case; of several that are as bad, the first.
fn worst<'r>(report: &'r Report<'_>) -> Option<&'r Diagnostic> {
    report.diagnostics.iter().min_by_key(|found| std::cmp::Reverse(found.severity))
}

/// A message without what differs from case to case: what is quoted, and numbers.
pub(super) fn shape(message: &str) -> String {
    let mut shape = String::new();
    let mut characters = message.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' => {
                let mut is_escaped = false;
                for inner in characters.by_ref() {
                    if inner == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = inner == '\\' && !is_escaped;
                }
                shape.push_str("\"…\"");
            }
            '0'..='9' => {
                while characters.next_if(char::is_ascii_digit).is_some() {}
                shape.push('N');
            }
            c => shape.push(c),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn what_differs_from_case_to_case_is_left_out() {
        for (message, found) in [
            (r#"content: expected "a \" b", found "c""#, r#"content: expected "…", found "…""#),
            ("cut after character 17 of 230", "cut after character N of N"),
            ("`content` is missing", "`content` is missing"),
            ("an open \"quote", "an open \"…\""),
            ("", ""),
        ] {
            assert_eq!(shape(message), found);
        }
    }
}
