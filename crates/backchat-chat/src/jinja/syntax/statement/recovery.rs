//! Goes on after errors, for editors: an error ends at its tag, and a block that is never closed ends with what is around
//! it. What the tree lacks then is only what a tag with an error says.

use super::super::error::SyntaxError;
use super::super::lexer::{Lexer, LexerRecovery, MOST_ERRORS, Token, TokenKind};
use super::super::tree::{Body, Expr, ExprKind};
use super::{MAX_DEPTH, Parser, TAGS};
use std::ops::Range;

type Result<T> = std::result::Result<T, SyntaxError>;

/// What a parser has met that goes on after errors.
#[derive(Default)]
pub(in crate::jinja::syntax) struct Recovery<'s> {
    pub(in crate::jinja::syntax) errors: Vec<SyntaxError>,
    /// Where the tags begin that the lexer could not read: their errors are known.
    broken: Vec<usize>,
    /// Where the current tag begins.
    tag: usize,
    /// Blocks that an unknown tag probably opens: their ends are no errors.
    meant: Vec<&'s str>,
    /// Whether the innermost block ended without its tag.
    implied_end: bool,
    /// Whether the rest of the text is left alone.
    is_over: bool,
}

impl Recovery<'_> {
    pub(in crate::jinja::syntax) fn take_implied_end(&mut self) -> bool {
        std::mem::take(&mut self.implied_end)
    }

    fn note(&mut self, error: SyntaxError) {
        let is_known = self.is_over || self.broken.binary_search(&self.tag).is_ok();
        if !is_known {
            self.errors.push(error);
        }
        self.is_over |= self.errors.len() >= MOST_ERRORS;
    }
}

/// What the end of a block ends.
pub(in crate::jinja::syntax) enum EndRole {
    /// The innermost block, or nothing.
    Plain,
    /// A block around the innermost one, which ends here as well.
    OfOuter,
    /// A block that an unknown tag probably opened: it is skipped.
    OfUnknown,
}

/// A text that was read to its end despite errors.
pub(crate) struct Recovered<'s> {
    pub(crate) body: Body<'s>,
    /// In the order of the text.
    pub(crate) errors: Vec<SyntaxError>,
    pub(crate) tokens: Vec<Token<'s>>,
    pub(crate) comments: Vec<Range<usize>>,
    pub(crate) raws: Vec<Range<usize>>,
}

/// Reads a template whose line breaks are line feeds, whatever is wrong with it.
pub(crate) fn recovered(source: &str) -> Recovered<'_> {
    let (tokens, LexerRecovery { errors, broken, comments, raws, .. }) = Lexer::recovered(source);
    let recovery = Recovery { errors, broken, ..Recovery::default() };
    let (body, errors) = Parser::recovering(source, tokens.clone(), recovery).recovered();
    Recovered { body, errors, tokens, comments, raws }
}

impl<'s> Parser<'s> {
    /// Notes an error, in the mode that goes on.
    pub(in crate::jinja::syntax) fn note(&mut self, error: SyntaxError) {
        if let Some(recovery) = &mut self.recovery {
            recovery.note(error);
        }
    }

    pub(in crate::jinja::syntax) fn begin_tag(&mut self, token: Token<'s>) {
        if let Some(recovery) = &mut self.recovery {
            recovery.tag = token.at;
        }
    }

    /// Parses the head of a tag. After an error in it, goes on at the end of the tag with what stands for the head: the
    /// names there.
    pub(in crate::jinja::syntax) fn head<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T>,
        otherwise: impl FnOnce(Expr<'s>) -> T,
    ) -> Result<T> {
        let start = self.at;
        match parse(self) {
            Err(error) if self.recovery.is_some() => {
                self.note(error);
                Ok(otherwise(self.rest_of_tag(start)))
            }
            parsed => parsed,
        }
    }

    /// Moves to the end of the tag, and makes a list of the names between.
    fn rest_of_tag(&mut self, start: usize) -> Expr<'s> {
        let is_end =
            |token: &Token<'_>| matches!(token.kind, TokenKind::BlockEnd | TokenKind::VariableEnd | TokenKind::End);
        let end = self.tokens.iter().skip(start).position(is_end).map_or(self.tokens.len(), |length| start + length);
        let first = self.tokens.get(start).map_or(self.last_end, |token| token.at);
        let inside = self.tokens.get(start..end).unwrap_or_default();
        let before = start.checked_sub(1).and_then(|before| self.tokens.get(before)).copied();
        let names = inside.iter().enumerate().filter_map(|(at, token)| {
            let before = at.checked_sub(1).map_or(before, |before| inside.get(before).copied());
            let after = inside.get(at + 1);
            is_plain_name(token, before.as_ref(), after)
                .then(|| Expr { kind: ExprKind::Name(token.text), span: token.span() })
        });
        let names: Vec<Expr<'s>> = names.collect();
        let last = inside.last().map_or(first, |token| token.span().end);
        self.at = end;
        self.last_end = last.max(first);
        Expr { kind: ExprKind::List(names), span: first..last.max(first) }
    }

    /// Notes an error that makes a whole tag meaningless, and moves behind the tag.
    pub(in crate::jinja::syntax) fn skip_tag(&mut self, error: SyntaxError) -> Result<()> {
        let is_too_deep = self.depth >= MAX_DEPTH;
        let Some(recovery) = &mut self.recovery else { return Err(error) };
        if let Some(block) = error.meant.as_deref().and_then(|meant| TAGS.iter().find(|tag| **tag == meant)) {
            recovery.meant.push(block);
        }
        recovery.note(error);
        recovery.is_over |= is_too_deep;
        if recovery.is_over {
            self.at = self.tokens.len();
        } else {
            self.pass_tag();
        }
        Ok(())
    }

    /// Ends the innermost block without its tag, and notes why.
    pub(in crate::jinja::syntax) fn imply_end(&mut self, error: SyntaxError) -> Result<()> {
        let Some(recovery) = &mut self.recovery else { return Err(error) };
        recovery.tag = usize::MAX;
        recovery.note(error);
        recovery.implied_end = true;
        Ok(())
    }

    /// What a tag ends, if it is the end of a block that the innermost one does not take.
    pub(in crate::jinja::syntax) fn role_of_end(&mut self, tag: Token<'s>) -> Result<EndRole> {
        let (Some(recovery), Some(block)) = (&mut self.recovery, tag.text.strip_prefix("end")) else {
            return Ok(EndRole::Plain);
        };
        let Some(error) = self.open.misplaced(tag) else { return Ok(EndRole::Plain) };
        if let Some(at) = recovery.meant.iter().rposition(|meant| *meant == block) {
            recovery.meant.remove(at);
            return Ok(EndRole::OfUnknown);
        }
        if !self.open.has(block) {
            return Ok(EndRole::Plain);
        }
        self.imply_end(error)?;
        // Back to the beginning of the tag, for the block that it ends.
        self.at = self.at.saturating_sub(2);
        Ok(EndRole::OfOuter)
    }

    /// Moves behind the current tag.
    pub(in crate::jinja::syntax) fn pass_tag(&mut self) {
        self.rest_of_tag(self.at.saturating_sub(1));
        if self.current().kind != TokenKind::End {
            self.advance();
        }
    }
}

/// Whether a token of an expression that does not parse is the name of a variable.
fn is_plain_name(token: &Token<'_>, before: Option<&Token<'_>>, after: Option<&Token<'_>>) -> bool {
    const WORDS: [&str; 14] =
        ["and", "else", "false", "False", "for", "if", "in", "is", "none", "None", "not", "or", "true", "True"];
    let is_operator =
        |token: Option<&Token<'_>>, text: &str| token.is_some_and(|token| token.is(TokenKind::Operator, text));
    token.kind == TokenKind::Name
        && !token.text.starts_with(|c: char| c.is_numeric())
        && !WORDS.contains(&token.text)
        && !is_operator(before, ".")
        && !is_operator(before, "|")
        && !before.is_some_and(|before| before.kind == TokenKind::BlockBegin || before.is(TokenKind::Name, "is"))
        && !is_operator(after, "=")
}
