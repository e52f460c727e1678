//! CT004: null content is printed as the word None. `doctor` finds it in renders.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::NULL_PRINTED_AS_NONE;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: NULL_PRINTED_AS_NONE.id,
        name: "null-printed-as-none",
        severity: NULL_PRINTED_AS_NONE.severity,
        page: Page {
            what: "Null content beside a call is printed as the word None.",
            why: "APIs send null if a message only calls tools. The model reads and learns the word.",
            example: "{{ m.content }}{% for call in m.tool_calls %}…{% endfor %}",
            fix: "Print content only if there is any: `{% if m.content %}{{ m.content }}{% endif %}`.",
        },
    },
    finder: Finder::Doctor,
};
