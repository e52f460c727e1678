//! Jinja2's syntax, read as Jinja2 reads it: the same white space, the same strings, the same grammar.

mod error;
mod expression;
mod lexer;
mod open_blocks;
mod statement;
pub(crate) mod tree;

pub(crate) use error::SyntaxError;
pub(crate) use lexer::{Token, TokenKind};
pub(crate) use statement::TAGS;
pub(crate) use statement::recovery::{Recovered, recovered};

/// Reads a template whose line breaks are line feeds.
pub(crate) fn parse(source: &str) -> Result<Vec<tree::Statement<'_>>, SyntaxError> {
    statement::Parser::new(source)?.template()
}

/// The source as Jinja2 sees it: every line break a line feed, and none at the end.
pub(crate) fn normalize(source: &str) -> String {
    let mut text = source.replace("\r\n", "\n").replace('\r', "\n");
    if text.ends_with('\n') {
        text.pop();
    }
    text
}
