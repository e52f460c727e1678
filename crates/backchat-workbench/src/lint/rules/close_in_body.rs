//! RT012: a close that the body of its region may contain.

use crate::lint::rule::{Page, Rule, Source};
use crate::lint::subject::{Side, Subject};
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::Value;
use backchat_parser::template::ContentSpec;

pub(in crate::lint) static RULE: Rule = Rule {
    id: "RT012",
    name: "close-in-body",
    severity: Severity::Warning,
    page: Page {
        what: "The close can occur in the body of the region.",
        why: "The first occurrence ends the region, even in the middle of a string or of a nested object. The rest of the body goes elsewhere and the value is cut short or malformed. A marker cannot be escaped: the format knows no quoting.",
        example: "\"tool_calls\": {\"open\": \"<call>\", \"close\": \"}\", \"content\": \"json\"}",
        fix: "Close with a marker that only the model's format writes, such as a special token, or include the text around it: `\"close_pattern\": \"\\\\}\\\\s*</call>\"`.",
    },
    source: Source::Check(check),
};

/// Typical bodies, for each content parser.
const JSON_BODY: &str =
    "{\"name\": \"f\", \"arguments\": {\"a\": {\"b\": [1, 2]}, \"c\": \"x, (y) [z].\\n`k`: 'v' <b>\"}, \"d\": {}}";
const TEXT_BODY: &str = "Hello, world.\n\nIt's 3 < 4 & 5 > 2: `code` [1] (see {x}).\n- one\n- two\n\n```\nf(\"a\")\n```\n# Title\n<b>bold</b> | 7%\n";

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for field in subject.template.fields() {
        let Some(close) = field.close.as_ref().filter(|_| field.open.is_some()) else { continue };
        let (body, what) = match &field.content {
            ContentSpec::Json(_) => (JSON_BODY.to_owned(), "JSON"),
            ContentSpec::Text { .. } => (TEXT_BODY.to_owned(), "plain text"),
            ContentSpec::XmlInline(args) => (args.tag_pattern.examples().concat(), "its own tags"),
            ContentSpec::KvLines(args) => {
                let (line, pair) = (args.line_sep.as_deref().unwrap_or("\n"), args.kv_sep.as_deref().unwrap_or(":"));
                (format!("key{pair} one two{line}other{pair} 3{line}last{pair} x, y{line}"), "its own lines")
            }
            _ => continue,
        };
        // A close at the end of the text, or an empty one, is covered by another rule.
        let inside = close.pattern().find_at(&body, 0).ok().flatten();
        let Some(inside) = inside.filter(|inside| inside.span().1 < body.len() && !inside.text().is_empty()) else {
            continue;
        };
        let message = format!("{} closes the region, and may occur inside {what}", Value::from(inside.text()));
        let path = Subject::delimiter_path(field, Side::Close);
        found.push(rule.finding(message).at(subject.place(&path)).help("close with a marker that no body contains"));
    }
    found
}
