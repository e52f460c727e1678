//! RT020: a named group that reaches no transform. The loader finds it.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT020",
        name: "unused-capture",
        severity: Severity::Warning,
        page: Page {
            what: "A named group never reaches the `transform`: nothing there names it.",
            why: "What it captured is lost.",
            example: "\"open_pattern\": \"<call (?P<name>\\\\w+)>\", \"transform\": {\"arguments\": \"{content}\"}",
            fix: "Use the group: `{\"name\": \"{name}\", \"arguments\": \"{content}\"}`. Or make it `(?:…)`.",
        },
    },
    finder: Finder::Loader(&["unused-capture"]),
};
