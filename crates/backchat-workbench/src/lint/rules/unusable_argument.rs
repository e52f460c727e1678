//! RT025: an argument that a content parser does not know or cannot use. The loader finds it.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT025",
        name: "unusable-argument",
        severity: Severity::Warning,
        page: Page {
            what: "A content parser has an argument that it does not know or cannot use.",
            why: "transformers looks at most arguments only when a region closes: the template loads, and the regions fail, or the argument does nothing.",
            example: "\"content\": \"xml-inline\", \"content_args\": {\"tag_pattern\": \"<(\\\\w+)>(.*?)</\\\\1>\"}",
            fix: "Spell the argument as the format does; a `tag_pattern` needs the groups `key` and `value`.",
        },
    },
    finder: Finder::Loader(&[
        "unusable-argument",
        "unknown-argument",
        "no-value-group",
        "odd-string-delims",
        "not-a-bool",
    ]),
};
