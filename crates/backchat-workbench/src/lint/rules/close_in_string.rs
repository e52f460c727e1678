//! RT015: a close that ends a region inside a string, found by running it.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use crate::lint::trial_parse::{parser_with, read};
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;
use backchat_parser::parser::{ClosersInStrings, Mode};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT015",
        name: "close-in-string",
        severity: Severity::Note,
        page: Page {
            what: "The close marker of a region with strings, such as JSON or a list of calls, can occur inside one of its strings. The finding quotes a text that shows it.",
            why: "A model that writes about its own markers, as in a call that saves this very page, ends the call in the middle of a string: the call is malformed, and the rest of it becomes content. The format specifies this, and transformers does it.",
            example: "\"tool_calls\": {\"open\": \"<call>\", \"close\": \"</call>\", \"content\": \"json\"}\n\nThe text `<call>{\"text\": \"</call>\"}</call>` has a region `{\"text\": \"`, which is not JSON.",
            fix: "Parse with `--closers-in-strings text` (`Options::closers_in_strings`), which takes a close marker inside a string as text. For other readers, the only fix is to close with a special token, which a tokenizer does not produce from plain text.",
        },
    },
    finder: Finder::Run(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let [ends, text] = [ClosersInStrings::Ends, ClosersInStrings::Text]
        .map(|closers| parser_with(subject.template, Mode::Stable, closers));
    let (Some(ends), Some(as_text)) = (ends, text) else { return Vec::new() };
    let mut found = Vec::new();
    for (field, markers) in subject.fields().filter(|(field, _)| field.open.is_some()) {
        let (Some(open), Some(close)) = (markers.open.first(), markers.close.first()) else { continue };
        // A marker with a quote or a line break is written with escapes there, and closes nothing.
        let Some(body) = field.content.body_with_string(close) else { continue };
        let text = format!("{open}{body}{close}");
        if read(ends.clone(), [text.as_str()]) == read(as_text.clone(), [text.as_str()]) {
            continue;
        }
        let shown = Value::from(text.as_str());
        let message = format!("a close inside a string ends the region: {shown} gives a region that cannot be parsed");
        let finding = rule.finding(message).at(subject.place(&Subject::delimiter_path(field, Side::Close)));
        found.push(finding.help("parse with `--closers-in-strings text` if the texts may contain the marker"));
    }
    found
}
