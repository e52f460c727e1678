//! RT022: a placeholder that no text can fill. The loader finds it.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT022",
        name: "unfilled-placeholder",
        severity: Severity::Warning,
        page: Page {
            what: "No text can fill a placeholder of the `transform`.",
            why: "Every region of the field fails: transformers raises an error in the middle of the stream, Backchat drops the region.",
            example: "\"open\": \"<call>\", \"transform\": {\"name\": \"{name}\"}",
            fix: "Capture the name in `open_pattern` or `close_pattern`, or go down into the value: `\"{content.name}\"`.",
        },
    },
    finder: Finder::Loader(&["unfilled-placeholder"]),
};
