//! CT002: a chat with a tool's result does not begin with the render before it. `doctor` finds it in renders.

use crate::lint::check::{Check, Finder};
use backchat_core::diagnostic::{Page, Rule};
use backchat_probe::doctor::traps::BROKEN_TOOL_LOOP;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: BROKEN_TOOL_LOOP.id,
        name: "broken-tool-loop",
        severity: BROKEN_TOOL_LOOP.severity,
        page: Page {
            what: "A chat with a tool's result does not begin with the render of the chat before the result.",
            why: "Trainers and engines append results to what is already rendered. The text they build is not the text of the chat template, and cached prefixes do not match.",
            example: "{% if loop.last %}<think></think>{% endif %}{{ m.content }}",
            fix: "Write a calling turn the same way whether or not a result follows. `backchat doctor --explain prefix_tool` shows the first byte that differs.",
        },
    },
    finder: Finder::Doctor,
};
