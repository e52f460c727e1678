//! CT003: the generation blocks leave out the marker that ends the turn. `doctor` finds it in renders.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::UNTRAINED_STOP;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: UNTRAINED_STOP.id,
        name: "untrained-stop",
        severity: UNTRAINED_STOP.severity,
        page: Page {
            what: "The generation blocks leave out the marker that ends the turn.",
            why: "A model trained with this mask never learns to stop.",
            example: "{% generation %}{{ m.content }}{% endgeneration %}<|im_end|>",
            fix: "End the block after the marker: `{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}`.",
        },
    },
    finder: Finder::Doctor,
};
