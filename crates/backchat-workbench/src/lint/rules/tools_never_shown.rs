//! CT005: the chat template takes tools and never shows them. `doctor` finds it in renders.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::TOOLS_NEVER_SHOWN;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: TOOLS_NEVER_SHOWN.id,
        name: "tools-never-shown",
        severity: TOOLS_NEVER_SHOWN.severity,
        page: Page {
            what: "The chat template takes tools and never shows them.",
            why: "A request with tools renders without an error, and the model does not know that it has any.",
            example: "{% for m in messages %}{{ m.content }}{% endfor %}",
            fix: "Describe the tools in a system message, or take a template that writes `tools`.",
        },
    },
    finder: Finder::Doctor,
};
