//! RT030: tagged values whose type is guessed from their text.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_parser::template::Field;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT030",
        name: "typed-values",
        severity: Severity::Warning,
        page: Page {
            what: "Tagged values are read as JSON, numbers or bools, though their text does not say which type they have: neither quotes nor markers of the dialect set strings apart.",
            why: "`007` is not JSON and makes the region fail, or stays text beside numbers; `1.50` becomes 1.5; a city called `true` becomes a bool. The tool's schema knows the type, and casts text if tools are given.",
            example: "\"content\": \"xml-inline\", \"content_args\": {\"tag_pattern\": \"…\", \"value_parser\": {\"name\": \"json\"}}",
            fix: "Leave `value_parser` out, so that values are text, and pass the tools to the parser. Keep it if the format really writes JSON, quotes around strings included.",
        },
    },
    finder: Finder::Check(check),
};

/// Whether the text of a value shows that it is a string: by a dialect's marks, or by quotes in the pattern itself.
fn marks_strings(field: &Field) -> bool {
    let content = &field.content;
    if content.value_parser().is_some_and(|parser| !parser.string_delims().is_empty()) {
        return true;
    }
    let Some(args) = content.tags() else { return false };
    let quotes = |text: &String| {
        let found = args.tag_pattern.find_at(text, 0).ok().flatten();
        let value = found.as_ref().and_then(|found| found.name("value"));
        value.is_some_and(|value| value.len() > 1 && value.starts_with('"') && value.ends_with('"'))
    };
    args.tag_pattern.examples().iter().any(quotes)
}

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.template.fields().iter().filter_map(|field| {
        let parser = field.content.value_parser()?.name().filter(|name| *name != "text")?;
        if marks_strings(field) {
            return None;
        }
        let message = match parser {
            "json" => {
                "every value is read as JSON: `007` and `Paris` are not JSON, and `1.50` becomes a number".to_owned()
            }
            other => format!("every value is read as `{other}`, whatever the tool's schema says"),
        };
        let path = Subject::path(field).key("content_args").key("value_parser");
        let finding = rule.finding(message).at(subject.place(&path));
        Some(finding.help("leave `value_parser` out and give the parser the tools, whose schemas know the types"))
    });
    found.collect()
}
