//! RT013: no field closes with the token that ends the turn.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use crate::lint::trial_parse::read_whole;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT013",
        name: "stop-token-leaks",
        severity: Severity::Warning,
        page: Page {
            what: "No field closes with the token that ends the model's turn. A note if the file does not say which token that is.",
            why: "A server that does not strip the token leaves it at the end of the text, and it becomes part of the message. Whether it strips is the server's setting, not the template's.",
            example: "\"content\": {}\n\n\"Hi<|end|>\" has the content \"Hi<|end|>\".",
            fix: "Give the field that ends the message a `close` with every token that may end a turn: `\"close\": [\"<|end|>\", \"<|stop|>\"]`.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(implicit) = subject.template.implicit_field() else { return Vec::new() };
    let path = Subject::delimiter_path(implicit, Side::Close);
    match &subject.stop {
        Some(stop) => {
            let leaks = read_whole(subject.template, &format!("Words{stop}")).and_then(|answer| answer.message.ok());
            if !leaks.is_some_and(|message| Value::Object(message).to_string().contains(stop.as_str())) {
                return Vec::new();
            }
            let message = format!("the stop token {} becomes part of `{}`", Value::from(stop.as_str()), implicit.name);
            let finding = rule.finding(message).at(subject.place(&path));
            vec![finding.help("add it to the `close` of the field")]
        }
        None if implicit.close.is_none() => {
            let message = format!(
                "nothing closes `{}`: a stop token that the server leaves in becomes part of it",
                implicit.name
            );
            let finding = rule.finding(message).at(subject.key_place(&Subject::path(implicit)));
            let finding = finding.help("give it a `close` with the token that ends the turn");
            // Some chat templates write no such token; then only the tokenizer's author knows one.
            vec![Diagnostic { severity: Severity::Note, ..finding }]
        }
        None => Vec::new(),
    }
}
