//! Traps of chat templates. `doctor` finds them in renders; here each has its level and its page.
//!
//! What templates do on purpose, such as dropping old reasoning, is a note: it must not fail the CI of a model.

use super::rule::{Page, Rule, Source};
use crate::chat::ChatTemplate;
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::doctor::{Options, examine, traps};

pub(super) static DROPPED_REASONING: Rule = Rule {
    id: "CT001",
    name: "history-drops-reasoning",
    severity: Severity::Note,
    page: Page {
        what: "The chat template drops the reasoning of earlier turns.",
        why: "A trainer that renders a whole conversation trains its earlier answers without the reasoning that led to them.",
        example: "{% if loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}",
        fix: "Train on one turn at a time, or keep the history with a variable of the template. `backchat doctor` lists the variables.",
    },
    source: Source::Doctor,
};

pub(super) static BROKEN_LOOP: Rule = Rule {
    id: "CT002",
    name: "broken-tool-loop",
    severity: Severity::Note,
    page: Page {
        what: "A chat with a tool's result does not begin with the render of the chat before the result.",
        why: "Trainers and engines append results to what is already rendered. The text they build is not the text of the chat template, and cached prefixes do not match.",
        example: "{% if loop.last %}<think></think>{% endif %}{{ m.content }}",
        fix: "Write a calling turn the same way whether or not a result follows. `backchat doctor --explain prefix_tool` shows the first byte that differs.",
    },
    source: Source::Doctor,
};

pub(super) static UNTRAINED_STOP: Rule = Rule {
    id: "CT003",
    name: "untrained-stop",
    severity: Severity::Warning,
    page: Page {
        what: "The generation blocks leave out the marker that ends the turn.",
        why: "A model trained with this mask never learns to stop.",
        example: "{% generation %}{{ m.content }}{% endgeneration %}<|im_end|>",
        fix: "End the block after the marker: `{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}`.",
    },
    source: Source::Doctor,
};

pub(super) static PRINTED_NULL: Rule = Rule {
    id: "CT004",
    name: "null-printed-as-none",
    severity: Severity::Warning,
    page: Page {
        what: "Null content beside a call is printed as the word None.",
        why: "APIs send null where a message only calls tools. The model reads and learns the word.",
        example: "{{ m.content }}{% for call in m.tool_calls %}…{% endfor %}",
        fix: "Print content only if there is any: `{% if m.content %}{{ m.content }}{% endif %}`.",
    },
    source: Source::Doctor,
};

pub(super) static HIDDEN_TOOLS: Rule = Rule {
    id: "CT005",
    name: "tools-never-shown",
    severity: Severity::Note,
    page: Page {
        what: "The chat template takes tools and never shows them.",
        why: "A request with tools renders without an error, and the model does not know that it has any.",
        example: "{% for m in messages %}{{ m.content }}{% endfor %}",
        fix: "Describe the tools in a system message, or take a template that writes `tools`.",
    },
    source: Source::Doctor,
};

/// All there is to say about a chat template: the traps that its renders show.
pub fn lint_chat_template(template: &ChatTemplate, options: &Options, file: &str) -> Vec<Diagnostic> {
    let rules = super::RULES.iter().filter(|rule| matches!(rule.source, Source::Doctor));
    let found = traps(&examine(template, options));
    rules
        .flat_map(|rule| {
            let of_rule = found.iter().filter(|trap| trap.id == rule.id);
            of_rule.map(|trap| Diagnostic { severity: rule.severity, ..trap.clone() }.at(Place::file(file)))
        })
        .collect()
}
