//! RT026: a key that occurs twice, or a value of an unexpected form. The loader finds it.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT026",
        name: "repeated-key",
        severity: Severity::Warning,
        page: Page {
            what: "A key occurs twice in one object, or a value is read as a different type from the one it is written as.",
            why: "The last one counts, and the others are dropped silently. A tool that saves the file keeps one of them.",
            example: "{\"content\": {}, \"content\": {\"close\": \"<end>\"}}",
            fix: "Keep one.",
        },
    },
    finder: Finder::Loader(&["repeated-key", "odd-version"]),
};
