//! RT012: a close that the body of its region may contain.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT012",
        name: "close-in-body",
        severity: Severity::Warning,
        page: Page {
            what: "The close can occur in the body of the region.",
            why: "The first occurrence ends the region, even in the middle of a string or of a nested object. The rest of the body goes elsewhere and the value is cut short or malformed. A marker cannot be escaped: the format knows no quoting.",
            example: "\"tool_calls\": {\"open\": \"<call>\", \"close\": \"}\", \"content\": \"json\"}",
            fix: "Close with a marker that only the model's format writes, such as a special token, or include the text around it: `\"close_pattern\": \"\\\\}\\\\s*</call>\"`.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for field in subject.template.fields() {
        let Some(close) = field.close.as_ref().filter(|_| field.open.is_some()) else { continue };
        let Some((body, what)) = field.content.typical_body() else { continue };
        // A close at the end of the text, or an empty one, is covered by another rule.
        let inside = close.pattern().find_at(&body, 0).ok().flatten();
        let Some(inside) = inside.filter(|inside| inside.span().1 < body.len() && !inside.text().is_empty()) else {
            continue;
        };
        let message = format!("{} closes the region, and may occur inside {what}", Value::from(inside.text()));
        let path = Subject::delimiter_path(field, Side::Close);
        found.push(rule.finding(message).at(subject.place(&path)).help("close with a marker that no body contains"));
    }
    found
}
