//! The pieces of a template: each token with what it is, and the tags.

use std::ops::Range;

use crate::jinja::syntax::{Recovered, Token, TokenKind};

/// What a piece of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PieceKind {
    /// Text between tags.
    Text,
    /// `{{`, `{%`, `}}` or `%}` with their signs.
    Mark,
    Keyword,
    Name,
    /// A name that is called.
    Function,
    /// The name of a keyword argument.
    Argument,
    Property,
    Filter,
    Test,
    String,
    Number,
    Operator,
    Comment,
    /// A raw block with its tags.
    Raw,
}

/// One piece, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub kind: PieceKind,
    pub span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    Output,
    Block,
    Comment,
    Raw,
}

/// A tag, a comment or a raw block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub kind: TagKind,
    pub span: Range<usize>,
    /// The bytes of the name of a block tag.
    pub name: Range<usize>,
}

/// The words of expressions.
const KEYWORDS: [&str; 12] = ["and", "else", "false", "False", "if", "in", "is", "none", "None", "not", "or", "true"];

pub(super) fn pieces(source: &str, recovered: &Recovered<'_>) -> (Vec<Piece>, Vec<Tag>) {
    let mut pieces = Vec::with_capacity(recovered.tokens.len());
    let mut tags: Vec<Tag> = Vec::new();
    let tokens = &recovered.tokens;
    let mut tag = "";
    for (at, token) in tokens.iter().enumerate() {
        let back = |steps: usize| at.checked_sub(steps).and_then(|before| tokens.get(before));
        // `is not` is one word.
        let is_not = back(1).is_some_and(|token| token.is(TokenKind::Name, "not"))
            && back(2).is_some_and(|token| token.is(TokenKind::Name, "is"));
        let before = if is_not { back(2) } else { back(1) };
        let after = tokens.get(at + 1);
        match token.kind {
            TokenKind::End => continue,
            TokenKind::BlockBegin | TokenKind::VariableBegin => {
                let name = after.filter(|after| token.kind == TokenKind::BlockBegin && after.kind == TokenKind::Name);
                tag = name.map_or("", |name| name.text);
                let kind = if token.kind == TokenKind::BlockBegin { TagKind::Block } else { TagKind::Output };
                let name = name.map_or(token.at..token.at, Token::span);
                tags.push(Tag { kind, span: token.at..source.len(), name });
            }
            TokenKind::BlockEnd | TokenKind::VariableEnd => {
                if let Some(tag) = tags.last_mut() {
                    tag.span.end = token.span().end;
                }
            }
            _ => {}
        }
        let kind = kind(token, before, after, tag);
        if !token.text.is_empty() {
            pieces.push(Piece { kind, span: token.span() });
        }
    }
    // The text of a raw block is a piece of its own.
    pieces.retain(|piece| !is_in_one_of(&recovered.raws, &piece.span));
    let whole =
        [(&recovered.comments, PieceKind::Comment, TagKind::Comment), (&recovered.raws, PieceKind::Raw, TagKind::Raw)];
    for (spans, kind, of_tag) in whole {
        for span in spans {
            pieces.push(Piece { kind, span: span.clone() });
            tags.push(Tag { kind: of_tag, span: span.clone(), name: span.start..span.start });
        }
    }
    pieces.sort_by_key(|piece| piece.span.start);
    tags.sort_by_key(|tag| tag.span.start);
    (pieces, tags)
}

/// Whether one of these spans, which are in order, contains another one.
fn is_in_one_of(outer: &[Range<usize>], inner: &Range<usize>) -> bool {
    let begun = outer.partition_point(|outer| outer.start <= inner.start);
    begun.checked_sub(1).and_then(|last| outer.get(last)).is_some_and(|outer| inner.end <= outer.end)
}

fn kind(token: &Token<'_>, before: Option<&Token<'_>>, after: Option<&Token<'_>>, tag: &str) -> PieceKind {
    match token.kind {
        TokenKind::Data | TokenKind::End => PieceKind::Text,
        TokenKind::BlockBegin | TokenKind::BlockEnd | TokenKind::VariableBegin | TokenKind::VariableEnd => {
            PieceKind::Mark
        }
        TokenKind::String => PieceKind::String,
        TokenKind::Int | TokenKind::Float => PieceKind::Number,
        TokenKind::Operator => PieceKind::Operator,
        TokenKind::Name => name_kind(token, before, after, tag),
    }
}

fn name_kind(token: &Token<'_>, before: Option<&Token<'_>>, after: Option<&Token<'_>>, tag: &str) -> PieceKind {
    let operator =
        |token: Option<&Token<'_>>, text: &str| token.is_some_and(|token| token.is(TokenKind::Operator, text));
    let word = |text: &str| before.is_some_and(|before| before.is(TokenKind::Name, text));
    let opens = before.is_some_and(|before| before.kind == TokenKind::BlockBegin);
    if operator(before, ".") {
        PieceKind::Property
    } else if operator(before, "|") || (tag == "filter" && word("filter")) {
        PieceKind::Filter
    } else if opens || token.text == "recursive" && tag == "for" {
        PieceKind::Keyword
    } else if KEYWORDS.contains(&token.text) || token.text == "True" {
        // `x is none`, `x is in y` and so on are tests by the names of keywords.
        if word("is") && token.text != "not" { PieceKind::Test } else { PieceKind::Keyword }
    } else if word("is") {
        PieceKind::Test
    } else if word("macro") {
        PieceKind::Function
    } else if operator(after, "=") && (operator(before, "(") || operator(before, ",")) && tag != "set" && tag != "with"
    {
        PieceKind::Argument
    } else if operator(after, "(") {
        PieceKind::Function
    } else {
        PieceKind::Name
    }
}
