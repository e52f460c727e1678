//! Values that come out other than they went in, and captures that go nowhere.

use super::rule::{Page, Rule, Source};
use super::subject::Subject;
use crate::diagnostic::{Diagnostic, Severity};
use crate::template::{ContentParser, ContentSpec};

pub(super) static UNUSED_CAPTURE: Rule = Rule {
    id: "RT020",
    name: "unused-capture",
    severity: Severity::Warning,
    page: Page {
        what: "A named group never reaches the `transform`: nothing there names it, or it stands in a close pattern.",
        why: "What it captured is lost. Only groups of the open pattern can be used.",
        example: "\"open_pattern\": \"<call (?P<name>\\\\w+)>\", \"transform\": {\"arguments\": \"{content}\"}",
        fix: "Use the group: `{\"name\": \"{name}\", \"arguments\": \"{content}\"}`. Or make it `(?:…)`.",
    },
    source: Source::Loader(&["unused-capture"]),
};

pub(super) static SHADOWED_CAPTURE: Rule = Rule {
    id: "RT021",
    name: "shadowed-capture",
    severity: Severity::Warning,
    page: Page {
        what: "A group is called `content`, and `{content}` is the value of the region.",
        why: "What the group captured cannot be reached.",
        example: "\"open_pattern\": \"<(?P<content>\\\\w+)>\", \"transform\": {\"tag\": \"{content}\"}",
        fix: "Give the group another name.",
    },
    source: Source::Loader(&["shadowed-capture"]),
};

pub(super) static UNFILLED_PLACEHOLDER: Rule = Rule {
    id: "RT022",
    name: "unfilled-placeholder",
    severity: Severity::Warning,
    page: Page {
        what: "No text can fill a placeholder of the `transform`.",
        why: "Every region of the field fails: transformers raises an error in the middle of the stream, Backchat drops the region.",
        example: "\"open\": \"<call>\", \"transform\": {\"name\": \"{name}\"}",
        fix: "Capture the name in `open_pattern`, or go down into the value: `\"{content.name}\"`.",
    },
    source: Source::Loader(&["unfilled-placeholder"]),
};

pub(super) static UNFITTING_TRANSFORM: Rule = Rule {
    id: "RT023",
    name: "unfitting-transform",
    severity: Severity::Warning,
    page: Page {
        what: "The value of a field cannot be what its `transform_each` or `join` needs.",
        why: "Every region of the field fails.",
        example: "\"content\": \"int\", \"transform_each\": true, \"transform\": {\"n\": \"{n}\"}",
        fix: "Use `transform_each` with a list of objects, and `join` with text.",
    },
    source: Source::Loader(&["transform-each-of-values", "join-of-values", "unusable-default"]),
};

pub(super) static MISREAD_BRACES: Rule = Rule {
    id: "RT024",
    name: "misread-braces",
    severity: Severity::Warning,
    page: Page {
        what: "Braces in a `transform` are not read as the placeholder they look like.",
        why: "The text stands in the message as it is. A placeholder must be the whole of a string, and keys of an object are not looked at.",
        example: "\"transform\": {\"{name}\": \"{ content }\"}",
        fix: "Write `\"{name}\"` without spaces, as a value of its own.",
    },
    source: Source::Loader(&["literal-braces", "placeholder-in-key"]),
};

pub(super) static UNUSABLE_ARGUMENT: Rule = Rule {
    id: "RT025",
    name: "unusable-argument",
    severity: Severity::Warning,
    page: Page {
        what: "A content parser has an argument that it does not know or cannot use.",
        why: "transformers looks at most arguments only when a region closes: the template loads, and the regions fail, or the argument does nothing.",
        example: "\"content\": \"xml-inline\", \"content_args\": {\"tag_pattern\": \"<(\\\\w+)>(.*?)</\\\\1>\"}",
        fix: "Spell the argument as the format does; a `tag_pattern` needs the groups `key` and `value`.",
    },
    source: Source::Loader(&[
        "unusable-argument",
        "unknown-argument",
        "no-value-group",
        "odd-string-delims",
        "not-a-bool",
    ]),
};

pub(super) static OVERRIDDEN_KEY: Rule = Rule {
    id: "RT026",
    name: "repeated-key",
    severity: Severity::Warning,
    page: Page {
        what: "A key stands twice in one object, or a value is taken for what it is not written as.",
        why: "The last one counts, and the others are lost without a word. A tool that saves the file keeps one of them.",
        example: "{\"content\": {}, \"content\": {\"close\": \"<end>\"}}",
        fix: "Keep one.",
    },
    source: Source::Loader(&["repeated-key", "odd-version"]),
};

pub(super) static TYPED_VALUES: Rule = Rule {
    id: "RT030",
    name: "typed-values",
    severity: Severity::Warning,
    page: Page {
        what: "Tagged values are read as JSON, numbers or bools, though their text does not say which type they have: neither quotes nor marks of the dialect tell strings apart.",
        why: "`007` is no JSON and makes the region fail, or stays text beside numbers; `1.50` becomes 1.5; a city called `true` becomes a bool. The tool's schema knows the type, and casts text where tools are given.",
        example: "\"content\": \"xml-inline\", \"content_args\": {\"tag_pattern\": \"…\", \"value_parser\": {\"name\": \"json\"}}",
        fix: "Leave `value_parser` out, so that values are text, and hand the tools to the parser. Keep it where the format really writes JSON, quotes around strings included.",
    },
    source: Source::Check(typed_values),
};

/// Whether the text of a value says that it is a string: with a dialect's marks, or with quotes that the pattern itself
/// asks for.
fn marks_strings(spec: &ContentSpec) -> bool {
    let has_marks = |spec: &Option<std::sync::Arc<ContentSpec>>| matches!(spec.as_deref(), Some(ContentSpec::Json(args)) if !args.string_delims.is_empty());
    match spec {
        ContentSpec::KvLines(args) => has_marks(&args.value_parser),
        ContentSpec::XmlInline(args) => {
            let quotes = |text: &String| {
                let found = args.tag_pattern.find_at(text, 0).ok().flatten();
                let value = found.as_ref().and_then(|found| found.name("value"));
                value.is_some_and(|value| value.len() > 1 && value.starts_with('"') && value.ends_with('"'))
            };
            has_marks(&args.value_parser) || args.tag_pattern.examples().iter().any(quotes)
        }
        _ => false,
    }
}

fn typed_values(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let typed = |spec: &ContentSpec| match spec {
        ContentSpec::XmlInline(args) => args.value_parser.as_deref().and_then(ContentSpec::parser),
        ContentSpec::KvLines(args) => args.value_parser.as_deref().and_then(ContentSpec::parser),
        _ => None,
    };
    let found = subject.template.fields().iter().filter_map(|field| {
        let parser = typed(&field.content).filter(|parser| *parser != ContentParser::Text)?;
        if marks_strings(&field.content) {
            return None;
        }
        let message = match parser {
            ContentParser::Json => {
                "every value is read as JSON: `007` and `Paris` are none, and `1.50` becomes a number".to_owned()
            }
            other => format!("every value is read as `{}`, whatever the tool's schema says", other.name()),
        };
        let path = Subject::path(field).key("content_args").key("value_parser");
        let finding = rule.finding(message).at(subject.place(&path));
        Some(finding.help("leave `value_parser` out and give the parser the tools, whose schemas know the types"))
    });
    found.collect()
}
