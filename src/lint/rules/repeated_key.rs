//! RT026: a key that occurs twice, or a value of an unexpected form. The loader finds it.

use crate::diagnostic::Severity;
use crate::lint::rule::{Page, Rule, Source};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "RT026",
    name: "repeated-key",
    severity: Severity::Warning,
    page: Page {
        what: "A key stands twice in one object, or a value is taken for what it is not written as.",
        why: "The last one counts, and the others are lost without a word. A tool that saves the file keeps one of them.",
        example: "{\"content\": {}, \"content\": {\"close\": \"<end>\"}}",
        fix: "Keep one.",
    },
    source: Source::Loader(&["repeated-key", "odd-version"]),
};
