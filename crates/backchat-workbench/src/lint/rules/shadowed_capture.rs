//! RT021: a group called `content`. The loader finds it.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT021",
        name: "shadowed-capture",
        severity: Severity::Warning,
        page: Page {
            what: "A group is called `content`, and `{content}` is the value of the region.",
            why: "What the group captured cannot be reached.",
            example: "\"open_pattern\": \"<(?P<content>\\\\w+)>\", \"transform\": {\"tag\": \"{content}\"}",
            fix: "Give the group another name.",
        },
    },
    finder: Finder::Loader(&["shadowed-capture"]),
};
