//! Edits of a template's source: whole lines where that is possible, and no other byte changed.

use std::ops::Range;

use backchat_chat::ChatTemplate;
use backchat_core::text::slice;
use backchat_probe::diff::{self, DiffTag};

/// A replacement of some bytes of the normalized source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub span: Range<usize>,
    pub text: String,
}

impl Edit {
    pub fn replace(span: Range<usize>, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }
}

/// Edits that belong together, and what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub edits: Vec<Edit>,
    pub what: String,
    /// Lines that it counts for besides those that it changes: what it leaves without a purpose, or says twice.
    pub idle: usize,
}

impl Candidate {
    pub fn new(what: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self { edits, what: what.into(), idle: 0 }
    }

    /// The source after the edits; `None` if they overlap.
    pub fn apply(&self, source: &str) -> Option<String> {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let (mut out, mut at) = (String::with_capacity(source.len() + 64), 0);
        for edit in edits {
            if edit.span.start < at || edit.span.end > source.len() {
                return None;
            }
            out += slice(source, at..edit.span.start);
            out += &edit.text;
            at = edit.span.end;
        }
        Some(out + slice(source, at..))
    }
}

/// The removal of a span, with its whole lines if nothing else is on them.
pub(super) fn removal(source: &str, span: Range<usize>) -> Edit {
    let from = slice(source, ..span.start).rfind('\n').map_or(0, |at| at + 1);
    let to = slice(source, span.end..).find('\n').map_or(source.len(), |at| span.end + at + 1);
    let is_blank = |range: Range<usize>| slice(source, range).trim().is_empty();
    let is_alone = is_blank(from..span.start) && is_blank(span.end..to);
    Edit::replace(if is_alone { from..to } else { span }, "")
}

/// How many lines a diff of two sources removes and adds.
pub(super) fn changed_lines(old: &str, new: &str) -> usize {
    let (old, new) = (diff::lines(old), diff::lines(new));
    let operations = diff::operations(&old, &new);
    let changed = operations.iter().filter(|operation| operation.tag() != DiffTag::Equal);
    changed.map(|operation| operation.old_range().len() + operation.new_range().len()).sum()
}

/// A normalized source with the line ends, and the end, of the file that it came from.
pub(super) fn as_in_file(source: &str, file: &str) -> String {
    let normal = ChatTemplate::normalize(file);
    if normal == source {
        return file.to_owned();
    }
    // Each kept line has its own end; a new line has the end of most.
    let ends = line_ends(file);
    let usual = if ends.iter().filter(|end| **end == "\r\n").count() * 2 > ends.len() { "\r\n" } else { "\n" };
    let (old, new) = (diff::lines(&normal), diff::lines(source));
    let mut out = String::with_capacity(file.len() + source.len());
    for operation in diff::operations(&old, &new) {
        for (offset, at) in operation.new_range().enumerate() {
            let line = new.get(at).copied().unwrap_or_default();
            let kept = (operation.tag() == DiffTag::Equal).then(|| ends.get(operation.old_range().start + offset));
            let end = kept.flatten().copied().unwrap_or(usual);
            out += line.strip_suffix('\n').unwrap_or(line);
            out += if line.ends_with('\n') { end } else { "" };
        }
    }
    // The last line end of a file is no part of the normalized source.
    if file.ends_with(['\n', '\r']) {
        out += usual;
    }
    out
}

/// The ends of the lines of a text.
fn line_ends(text: &str) -> Vec<&str> {
    let mut ends = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        let length = if slice(rest, at..).starts_with("\r\n") { 2 } else { 1 };
        ends.push(slice(rest, at..at + length));
        rest = slice(rest, at + length..);
    }
    ends
}

/// A text as a literal of Jinja's.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\'' => out += "\\'",
            '\\' => out += "\\\\",
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_takes_whole_lines_only_if_nothing_else_is_on_them() {
        for (source, wanted) in [("a\n  {{ x }}\nb", "a\nb"), ("a {{ x }}\nb", "a \nb"), ("{{ x }}", "")] {
            let at = source.find("{{").unwrap();
            let edit = removal(source, at..source.find("}}").unwrap() + 2);
            assert_eq!(Candidate::new("", vec![edit]).apply(source).as_deref(), Some(wanted), "{source:?}");
        }
    }

    #[test]
    fn line_ends_and_the_end_of_the_file_stay() {
        for (file, source, wanted) in [
            ("a\r\nb\r\n", "a\nx\nb", "a\r\nx\r\nb\r\n"),
            ("a\nb", "a", "a"),
            ("a\nb\n", "a\nc", "a\nc\n"),
            ("a\r\nb\nc\nd\n", "a\nb\nx\nc\nd", "a\r\nb\nx\nc\nd\n"),
            ("a\n\n", "b\n", "b\n\n"),
        ] {
            assert_eq!(as_in_file(source, file), wanted, "{file:?}");
        }
    }
}
