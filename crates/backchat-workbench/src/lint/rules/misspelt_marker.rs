//! CT007: a chat template writes a marker that is probably misspelt. `doctor` finds it in the text.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::MISSPELT_MARKER;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: MISSPELT_MARKER.id,
        name: "misspelt-marker",
        severity: MISSPELT_MARKER.severity,
        page: Page {
            what: "A marker is one edit away from another marker of the chat template that is written more often, or that has the opener or closer it lacks.",
            why: "The model reads text that it was not trained with, and a misspelt closer ends nothing.",
            example: "<think>{{ m.reasoning_content }}</thnik>{{ m.content.split('</think>')[1] }}",
            fix: "Correct the marker. If the two are different markers of the model, turn the rule off for this file.",
        },
    },
    finder: Finder::Doctor,
};
