//! SC050: a list of calls that can hold only one.

use crate::lint::subject::{Subject, has_text};
use crate::schema::Node;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC050",
    name: "schema-lone-call",
    severity: Severity::Warning,
    page: Page {
        what: "The list of calls can hold only one call.",
        why: "`x-regex` takes the first match. A second call is dropped, or ends up in `content`.",
        example: "{\"type\": \"array\", \"x-parser\": \"json\", \"x-parser-args\": {\"transform\": \"[@]\"}}",
        fix: "Read calls with `x-regex-iterator`. A converted template reads each.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let is_lone = |node: &&Node| {
        if node.type_name() != Some("array") {
            return false;
        }
        let iterates = node.iterator.as_ref().and_then(|regex| regex.pattern.as_ref().ok());
        let wraps = node.parser.as_ref().and_then(|parser| parser.transform.as_ref()).is_some_and(|(source, _)| {
            let inside = source.trim().strip_prefix('[').unwrap_or("*");
            !inside.trim_start().starts_with(['*', '?', ']', ':', '-'])
                && !inside.starts_with(|c: char| c.is_ascii_digit())
        });
        wraps || iterates.is_some_and(|pattern| !has_text(&pattern.outline()))
    };
    let finding = |node: &Node| {
        let finding = rule.finding("the list can hold only one call").at(subject.place(&node.path));
        finding.help("read calls with `x-regex-iterator`; `backchat convert` reads each")
    };
    subject.nodes().into_iter().filter(is_lone).map(finding).collect()
}
