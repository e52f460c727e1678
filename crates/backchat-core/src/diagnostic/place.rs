//! A position in a file. Lines and columns count from 1, columns in code points; spans are bytes.

use std::ops::Range;

use super::Diagnostic;
use crate::text::slice;

/// A position in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: Option<String>,
    /// Bytes of the file.
    pub span: Option<Range<usize>>,
    /// 1-based line and column (code points) of the start of `span`.
    pub line_column: Option<(usize, usize)>,
    /// Path of the JSON value, such as `fields.tool_calls.open`.
    pub path: Option<String>,
}

impl Place {
    /// A file as a whole.
    pub fn file(name: impl Into<String>) -> Self {
        Self { file: Some(name.into()), ..Self::default() }
    }

    /// Some bytes of a text.
    pub fn span(text: &str, span: Range<usize>) -> Self {
        Self { line_column: Some(line_column(text, span.start)), span: Some(span), ..Self::default() }
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// Names the JSON value.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

/// A diagnostic with the name of its file.
pub fn in_file(mut diagnostic: Diagnostic, file: &str) -> Diagnostic {
    diagnostic.place.get_or_insert_default().file = Some(file.to_owned());
    diagnostic
}

/// The 1-based line and column of a byte of a text; columns count code points.
pub fn line_column(text: &str, byte: usize) -> (usize, usize) {
    let before = slice(text, ..text.floor_char_boundary(byte));
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    (line, slice(before, line_start..).chars().count() + 1)
}
