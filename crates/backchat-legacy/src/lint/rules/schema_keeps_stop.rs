//! SC040: `content` keeps the stop token.

use crate::lint::subject::{Subject, has_text};
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::{self, Value};
use backchat_parser::template::source::stop_token;

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC040",
    name: "schema-keeps-stop",
    severity: Severity::Warning,
    page: Page {
        what: "`content` keeps the stop token if the output has one.",
        why: "The next prompt then has it twice. Whether the output has it depends on how it was decoded.",
        example: "\"content\": {\"type\": \"string\", \"x-regex\": \"^(.*)$\"}",
        fix: "End the pattern with the token or the end: `(.*?)(?:<\\|end\\|>|$)`. A converted template ends there as well.",
    },
};

/// A token that no schema knows, if the file does not name the one that ends a sequence.
const UNKNOWN_STOP: &str = "<|eot|>";

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let root = subject.schema().root();
    let Some(content) = root.property("content") else { return Vec::new() };
    let document = json::read(subject.text()).ok();
    let known = document.as_ref().and_then(stop_token);
    // If the token is not known, a pattern that has any literal text is assumed to have the right one.
    let regexes = [&content.regex, &root.regex];
    let pattern = regexes.into_iter().flatten().find_map(|regex| regex.pattern.as_ref().ok());
    if known.is_none() && pattern.is_some_and(|pattern| has_text(&pattern.outline())) {
        return Vec::new();
    }
    let stop = known.unwrap_or_else(|| UNKNOWN_STOP.to_owned());
    let text = format!("Hello.{stop}");
    let keeps =
        |message: &Value| message.get("content").and_then(Value::as_str).is_some_and(|text| text.contains(&stop));
    if !subject.schema().parse(&text).is_ok_and(|message| keeps(&message)) {
        return Vec::new();
    }
    let message = format!("`content` keeps the stop token of an output such as {}", Value::from(text));
    vec![rule.finding(message).at(subject.place(&content.path)).help("end the pattern at the token as well")]
}
