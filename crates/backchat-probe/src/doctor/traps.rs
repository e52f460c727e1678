//! Common traps, as findings with an id.

use super::Report;
use backchat_chat::{A_LOOP, A_METHOD, A_ROLE, misspelt, misspelt_markers};
use backchat_core::diagnostic::{Diagnostic, Place, Severity};
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

pub const MISSPELT_KEY: Trap = Trap { id: "CT006", severity: Severity::Warning };
pub const MISSPELT_MARKER: Trap = Trap { id: "CT007", severity: Severity::Warning };

/// The keys and variables that a template probably misspells, with their places in its normalized source.
pub fn misspelt_names(source: &str) -> Vec<Diagnostic> {
    let found = misspelt(source).into_iter().map(|found| {
        let (name, meant, place) = (found.name, found.meant, Place::span(source, found.span));
        let line = place.line_column.map_or(0, |(line, _)| line);
        let (message, whose) = match found.of {
            Some(A_ROLE) => (
                format!("line {line} compares a role with `{name}`; did you mean `{meant}`?"),
                "your own messages give",
            ),
            Some(A_METHOD) => {
                (format!("line {line} calls the method `{name}`; did you mean `{meant}`?"), "your own objects have")
            }
            Some(of) => {
                (format!("line {line} reads `{name}` of {of}; did you mean `{meant}`?"), "your own messages give")
            }
            None => {
                (format!("line {line} reads the variable `{name}`; did you mean `{meant}`?"), "your own program passes")
            }
        };
        let help = match found.of {
            Some(A_LOOP) => format!("write `{meant}`: Jinja's loops have no `{name}`"),
            _ => format!("write `{meant}`, unless {whose} `{name}`"),
        };
        Diagnostic::new(MISSPELT_KEY.severity, MISSPELT_KEY.id, message).at(place).help(help)
    });
    found.collect()
}

/// The markers that a template probably misspells, with their places in its normalized source.
pub fn misspelt_marks(source: &str) -> Vec<Diagnostic> {
    let found = misspelt_markers(source).into_iter().map(|found| {
        let (written, meant, place) = (&found.written, &found.meant, Place::span(source, found.span));
        let line_of = |place: &Place| place.line_column.map_or(0, |(line, _)| line);
        let (line, other_line) = (line_of(&place), line_of(&Place::span(source, found.other.clone())));
        let other = source.get(found.other).unwrap_or_default();
        let (message, help) = if found.is_either {
            let message = format!("line {line} writes `{written}`, and line {other_line} `{other}`: one is misspelt");
            (
                message,
                "correct the one that the model was not trained with, unless they are different markers".to_owned(),
            )
        } else {
            let message =
                format!("line {line} writes `{written}`; did you mean `{meant}`? Line {other_line} has `{other}`");
            (message, format!("write `{meant}`, unless the two are different markers"))
        };
        Diagnostic::new(MISSPELT_MARKER.severity, MISSPELT_MARKER.id, message).at(place).help(help)
    });
    found.collect()
}

/// The traps of a template, each once; a misspelt name or marker at each of its places.
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
    found.extend(report.misspelt.iter().cloned());
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
            ("{% for m in messages %}{{ m.contnet or m.content }}{% endfor %}{{ tools | tojson }}", vec!["CT006"]),
            (
                "{% for m in messages %}{{ '<|im_start|>' ~ m.role ~ m.content }}<|im_end|>\n{% endfor %}{{ tools | tojson }}\
                 {% if add_generation_prompt %}<|im_strat|>assistant{% else %}<|im_start|>{% endif %}",
                vec!["CT007"],
            ),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let found = traps(&examine(&template, &Options::default()));
            let ids: Vec<_> = found.iter().map(|diagnostic| diagnostic.id).collect();
            assert_eq!(ids, wanted, "{source}");
        }
    }
}
