//! Replacements in a text: every byte outside them stays.

use std::ops::Range;

use crate::text::slice;

/// A change to the diagnostic's file that a tool may make by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The effect of the change.
    pub message: String,
    /// The replacements, in the order of the file, without overlaps.
    pub edits: Vec<Edit>,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the file to take out.
    pub span: Range<usize>,
    /// The new text.
    pub text: String,
}

impl Fix {
    /// The text of the file with the change.
    pub fn apply(&self, text: &str) -> String {
        with_edits(text, self.edits.iter().collect())
    }
}

/// The text with some edits, none of which overlaps another.
pub fn with_edits(text: &str, mut edits: Vec<&Edit>) -> String {
    edits.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(slice(text, at..edit.span.start));
        out.push_str(&edit.text);
        at = edit.span.end;
    }
    out.push_str(slice(text, at..));
    out
}
