//! Common traps, as findings with an id.

use super::Report;
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::Value;

/// A trap: its id and its severity. Intended behavior of templates is a note: it must not fail the CI of a model.
pub struct Trap {
    pub id: &'static str,
    pub severity: Severity,
}

pub const HISTORY_DROPS_REASONING: Trap = Trap { id: "CT001", severity: Severity::Note };
pub const BROKEN_TOOL_LOOP: Trap = Trap { id: "CT002", severity: Severity::Note };
pub const UNTRAINED_STOP: Trap = Trap { id: "CT003", severity: Severity::Warning };
pub const NULL_PRINTED_AS_NONE: Trap = Trap { id: "CT004", severity: Severity::Warning };
pub const TOOLS_NEVER_SHOWN: Trap = Trap { id: "CT005", severity: Severity::Note };

/// The traps of a template, each once.
pub fn traps(report: &Report) -> Vec<Diagnostic> {
    let is = |name: &str, value: &Value| report.fact(name).is_some_and(|fact| fact.value == *value);
    let word = |name: &str, word: &str| is(name, &word.into());
    let mut found = Vec::new();
    let mut add = |trap: Trap, message: &str, help: &str| {
        found.push(Diagnostic::new(trap.severity, trap.id, message).help(help));
    };
    if is("reasoning_kept_after_user", &false.into()) {
        add(
            HISTORY_DROPS_REASONING,
            "reasoning of earlier turns is dropped from history",
            "train on one turn at a time, or keep the history with a variable of the template",
        );
    }
    if is("prefix_tool", &false.into()) {
        add(
            BROKEN_TOOL_LOOP,
            "the render of a chat with a tool result does not begin with the render before the result",
            "a trainer that appends results to a render trains on a different text; `--explain prefix_tool` shows where",
        );
    }
    if is("stop_masked", &false.into()) {
        add(
            UNTRAINED_STOP,
            "the generation blocks leave out the marker that ends the turn, so a model never learns to stop",
            "end the block after that marker; `backchat fix --generation` does so for a template without blocks",
        );
    }
    if word("null_content_beside_call", "printed") {
        add(
            NULL_PRINTED_AS_NONE,
            "null content beside a call is printed as the word None",
            "send \"\" instead of null",
        );
    }
    if word("tools", "dropped") {
        add(
            TOOLS_NEVER_SHOWN,
            "tools are accepted and never shown",
            "the model does not see them; describe them in a system message, or use another template",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::doctor::{Options, examine, traps};
    use backchat_chat::ChatTemplate;

    #[test]
    fn each_trap_is_found_only_in_its_template() {
        let calls = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}\
                     {% endfor %}{{ tools | tojson }}";
        for (source, wanted) in [
            ("{% for m in messages %}{{ m.content }}{% endfor %}{{ tools | tojson }}", vec![]),
            ("{% for m in messages %}{{ m.content }}{% endfor %}", vec!["CT005"]),
            (calls, vec!["CT002", "CT004"]),
            (
                "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}\
                 {% else %}{{ m.content }}{% endif %}<end>{% endfor %}{{ tools | tojson }}",
                vec!["CT003"],
            ),
            (
                "{% for m in messages %}{% if loop.last %}{{ m.thinking }}{% endif %}{{ m.content }}{% endfor %}\
                 {{ tools | tojson }}",
                vec!["CT001"],
            ),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let found = traps(&examine(&template, &Options::default()));
            let ids: Vec<_> = found.iter().map(|diagnostic| diagnostic.id).collect();
            assert_eq!(ids, wanted, "{source}");
        }
    }
}
