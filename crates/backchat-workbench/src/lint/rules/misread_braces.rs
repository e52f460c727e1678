//! RT024: braces that are not the placeholder they look like. The loader finds them.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT024",
        name: "misread-braces",
        severity: Severity::Warning,
        page: Page {
            what: "Braces in a `transform` are not read as the placeholder they look like.",
            why: "The text is copied into the message as it is. A placeholder must be a whole string, and the keys of an object are not read.",
            example: "\"transform\": {\"{name}\": \"{ content }\"}",
            fix: "Write `\"{name}\"` without spaces, as a value of its own.",
        },
    },
    finder: Finder::Loader(&["literal-braces", "placeholder-in-key"]),
};
