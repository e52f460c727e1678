//! CT001: the chat template drops the reasoning of earlier turns. `doctor` finds it in renders.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::HISTORY_DROPS_REASONING;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: HISTORY_DROPS_REASONING.id,
        name: "history-drops-reasoning",
        severity: HISTORY_DROPS_REASONING.severity,
        page: Page {
            what: "The chat template drops the reasoning of earlier turns.",
            why: "A trainer that renders a whole conversation trains its earlier answers without the reasoning that led to them.",
            example: "{% if loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}",
            fix: "Train on one turn at a time, or keep the history with a variable of the template. `backchat doctor` lists the variables.",
        },
    },
    finder: Finder::Doctor,
};
