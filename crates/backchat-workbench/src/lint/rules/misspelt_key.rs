//! CT006: a chat template reads a key or a variable that is probably misspelt. `doctor` finds it in the text.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::MISSPELT_KEY;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: MISSPELT_KEY.id,
        name: "misspelt-key",
        severity: MISSPELT_KEY.severity,
        page: Page {
            what: "A key of a message, call or tool, a role, an attribute of `loop`, or a variable is one edit away from one that every template gets, or a variable from a name that the template itself binds.",
            why: "Jinja prints nothing for a key that is absent, so what the message says is lost without an error.",
            example: "{% for m in messages %}{{ m.reasoning_contnet }}{% endfor %}",
            fix: "Correct the name. If your own program passes it under that name, turn the rule off for this file.",
        },
    },
    finder: Finder::Doctor,
};
