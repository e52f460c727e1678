//! CT003: the generation blocks leave out the marker that ends the turn. `doctor` finds it in renders.

use crate::diagnostic::Severity;
use crate::lint::rule::{Page, Rule, Source};

pub(in crate::lint) static RULE: Rule = Rule {
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
