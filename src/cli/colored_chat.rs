//! A rendered conversation with a color for each author.

use std::ops::Range;

use backchat_chat::Rendered;
use backchat_chats::chats::Author;
use backchat_core::diagnostic::escape_lines;
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;

const RESET: &str = "\u{1b}[0m";
/// The template's own text.
const TEMPLATE: &str = "\u{1b}[2m";
/// The text in a `{% generation %}` block.
const GENERATED: &str = "\u{1b}[4m";

/// The color of a role's own text.
fn color(role: &str) -> &'static str {
    match role {
        "assistant" => "\u{1b}[32m",
        "user" => "\u{1b}[36m",
        "system" | "developer" => "\u{1b}[33m",
        _ => "\u{1b}[35m",
    }
}

/// The role of an author.
fn role(author: Author, context: &Object) -> &str {
    let Author::Message(index) = author else { return "tool" };
    let messages = context.get("messages").and_then(Value::as_list).unwrap_or_default();
    messages.get(index).and_then(|message| message.get("role")).and_then(Value::as_str).unwrap_or_default()
}

/// The assistant's spans, for people.
pub fn spans(spans: &[(usize, usize)]) -> String {
    if spans.is_empty() {
        return "none, the template has no generation block".to_owned();
    }
    spans.iter().map(|(start, end)| format!("{start}..{end}")).collect::<Vec<_>>().join(" ")
}

/// The render, safe to print on a terminal: each role's text in its color, the template's dimmed, that of generation
/// blocks underlined.
pub fn conversation(rendered: &Rendered, written: &[(Range<usize>, Author)], context: &Object) -> String {
    let text = &rendered.text;
    let generated: Vec<Range<usize>> =
        rendered.assistant_spans.iter().map(|(start, end)| bytes(text, *start, *end)).collect();
    let mut cuts: Vec<usize> = vec![0, text.len()];
    cuts.extend(written.iter().map(|(range, _)| range).chain(&generated).flat_map(|range| [range.start, range.end]));
    cuts.sort_unstable();
    cuts.dedup();
    let mut out = String::new();
    for pair in cuts.windows(2) {
        let [start, end] = pair else { continue };
        let author = written.iter().find(|(range, _)| range.contains(start)).map(|(_, author)| *author);
        out.push_str(author.map_or(TEMPLATE, |author| color(role(author, context))));
        if generated.iter().any(|range| range.contains(start)) {
            out.push_str(GENERATED);
        }
        out.push_str(&escape_lines(slice(text, *start..*end)));
        out.push_str(RESET);
    }
    out
}

/// The bytes of a span of code points.
fn bytes(text: &str, start: usize, end: usize) -> Range<usize> {
    let byte = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(byte, _)| byte);
    byte(start)..byte(end)
}
