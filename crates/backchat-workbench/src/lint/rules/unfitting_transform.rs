//! RT023: a value that cannot be what `transform_each` or `join` needs. The loader finds it.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT023",
        name: "unfitting-transform",
        severity: Severity::Warning,
        page: Page {
            what: "The value of a field cannot be what its `transform_each` or `join` needs.",
            why: "Every region of the field fails.",
            example: "\"content\": \"int\", \"transform_each\": true, \"transform\": {\"n\": \"{n}\"}",
            fix: "Use `transform_each` with a list of objects, and `join` with text.",
        },
    },
    finder: Finder::Loader(&["transform-each-of-values", "join-of-values", "unusable-default"]),
};
