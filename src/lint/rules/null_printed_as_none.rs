//! CT004: null content is printed as the word None. `doctor` finds it in renders.

use crate::diagnostic::Severity;
use crate::lint::rule::{Page, Rule, Source};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "CT004",
    name: "null-printed-as-none",
    severity: Severity::Warning,
    page: Page {
        what: "Null content beside a call is printed as the word None.",
        why: "APIs send null if a message only calls tools. The model reads and learns the word.",
        example: "{{ m.content }}{% for call in m.tool_calls %}…{% endfor %}",
        fix: "Print content only if there is any: `{% if m.content %}{{ m.content }}{% endif %}`.",
    },
    source: Source::Doctor,
};
