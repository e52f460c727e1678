//! Edits of a template's source: whole lines where that is possible, and no other byte changed.

use std::ops::Range;

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
}
