//! Jinja2's syntax, read as Jinja2 reads it: the same white space, the same strings, the same grammar.

mod expression;
mod lexer;
mod statement;
pub(crate) mod tree;

use std::ops::Range;

/// Why a text is not a template, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) span: Range<usize>,
}

impl SyntaxError {
    fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span }
    }
}

/// Reads a template whose line breaks are line feeds.
pub(crate) fn parse(source: &str) -> Result<Vec<tree::Statement<'_>>, SyntaxError> {
    statement::Parser::new(source)?.template()
}

/// The source as Jinja2 sees it: every line break a line feed, and none at the end.
pub(crate) fn normalise(source: &str) -> String {
    let mut text = source.replace("\r\n", "\n").replace('\r', "\n");
    if text.ends_with('\n') {
        text.pop();
    }
    text
}
