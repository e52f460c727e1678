//! RT040: a start anchor that the text of an earlier turn can contain.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::{Path, Value};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT040",
        name: "forgeable-anchor",
        severity: Severity::Warning,
        page: Page {
            what: "The text of an earlier turn can contain the start anchor, or the anchor can match nothing.",
            why: "The prompt is cut after its last anchor. If the prompt continues after its own anchor (a prefilled answer, a quoted document), plain words of a user can move the cut, and the text after them is read as the model's.",
            example: "\"start_anchor\": \"Assistant:\"",
            fix: "Include text that only the chat template writes, such as a special token or the line break before the role: `\"start_anchor\": \"<|turn|>assistant\\n\"`.",
        },
    },
    finder: Finder::Check(check),
};

/// Text that people write, the names of roles included.
const PROSE: &str = "user: Hi.\nassistant: Hello!\nUser: What is 2 < 3?\n\nAssistant: Yes.\nUSER: and\nASSISTANT: ok\nHuman: x\nAI: y\nmodel\nbot: z\n### Response:\nResponse: a\n## Assistant\nAnswer: b\n";

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let anchor = subject.template.start_anchor();
    let key = if anchor.literals().is_some() { "start_anchor" } else { "start_anchor_pattern" };
    let place = subject.place(&Path::root().key(key));
    let pattern = anchor.pattern();
    if pattern.can_be_empty() {
        let finding = rule.finding("the anchor can match nothing: the prompt is cut at its very end").at(place);
        let finding = finding.help("include the marker that begins the assistant's turn");
        // If a prompt may end without text of its own, as after a tool's answer, only its end is left to match.
        let at_end_only = pattern.matches(PROSE).flatten().all(|found| found.span().0 == PROSE.len());
        return vec![Diagnostic { severity: if at_end_only { Severity::Note } else { rule.severity }, ..finding }];
    }
    let examples = anchor.literals().unwrap_or_else(|| pattern.examples());
    let plain = examples.iter().find(|text| !text.is_empty() && text.chars().all(is_plain));
    let in_prose = pattern.find_at(PROSE, 0).ok().flatten().map(|found| found.text().to_owned());
    let Some(text) = in_prose.or_else(|| plain.cloned()) else { return Vec::new() };
    let message = format!("the anchor is plain text, such as {}, which an earlier turn can hold", Value::from(text));
    // Some chat templates write only words before an answer. Only their author knows whether a longer anchor exists, so
    // this is a note, not a warning.
    let finding =
        rule.finding(message).at(place).help("include a marker that only the chat template writes, if there is one");
    vec![Diagnostic { severity: Severity::Note, ..finding }]
}

/// Whether a character occurs in ordinary text.
fn is_plain(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_control() && !"<>[]{}|\\".contains(c) || c == '\n'
}
