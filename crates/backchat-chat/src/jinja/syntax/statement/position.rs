//! The parser's position: the next token, how deep it is nested, and errors about either.

use super::{MAX_DEPTH, MAX_LEVELS, Parser, Result};
use crate::jinja::syntax::error::SyntaxError;
use crate::jinja::syntax::lexer::{Token, TokenKind};

impl<'s> Parser<'s> {
    pub(in crate::jinja::syntax) fn current(&self) -> Token<'s> {
        self.peek(0)
    }

    pub(in crate::jinja::syntax) fn peek(&self, ahead: usize) -> Token<'s> {
        let end = Token { kind: TokenKind::End, text: "", at: self.last_end };
        self.tokens.get(self.at + ahead).or(self.tokens.last()).copied().unwrap_or(end)
    }

    pub(in crate::jinja::syntax) fn advance(&mut self) -> Token<'s> {
        let token = self.current();
        self.at += 1;
        self.last_end = token.at + token.text.len();
        token
    }

    pub(in crate::jinja::syntax) fn eat_token(&mut self, kind: TokenKind, text: &str) -> bool {
        let found = self.current().is(kind, text);
        if found {
            self.advance();
        }
        found
    }

    pub(in crate::jinja::syntax) fn eat(&mut self, operator: &str) -> bool {
        self.eat_token(TokenKind::Operator, operator)
    }

    pub(in crate::jinja::syntax) fn eat_name(&mut self, name: &str) -> bool {
        self.eat_token(TokenKind::Name, name)
    }

    pub(in crate::jinja::syntax) fn next_is(&self, kind: TokenKind, text: &str) -> bool {
        self.peek(1).is(kind, text)
    }

    pub(in crate::jinja::syntax) fn expect(&mut self, operator: &str) -> Result<()> {
        if self.eat(operator) { Ok(()) } else { Err(self.unexpected(&format!("'{operator}'"))) }
    }

    pub(in crate::jinja::syntax) fn name(&mut self) -> Result<&'s str> {
        if self.current().kind == TokenKind::Name { Ok(self.advance().text) } else { Err(self.unexpected("a name")) }
    }

    pub(in crate::jinja::syntax) fn error_here(&self, message: &str) -> SyntaxError {
        SyntaxError::new(message, self.current().span())
    }

    pub(in crate::jinja::syntax) fn unexpected(&self, wanted: &str) -> SyntaxError {
        let token = self.current();
        let found = match token.kind {
            TokenKind::End => "the template ends",
            TokenKind::BlockEnd | TokenKind::VariableEnd => "the tag ends",
            TokenKind::Data => "text begins",
            _ => {
                return SyntaxError::new(format!("unexpected '{}': expected {wanted}", token.text), token.span());
            }
        };
        SyntaxError::new(format!("{found} where {wanted} should be"), token.span())
    }

    /// Enters one level of nesting, unless that is too deep.
    pub(in crate::jinja::syntax) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error_here("this is nested too deep"));
        }
        self.depth += 1;
        let (links, tallest) = (std::mem::take(&mut self.links), std::mem::take(&mut self.tallest));
        let parsed = parse(self);
        self.tallest = tallest.max(self.links + self.tallest + 1);
        self.links = links;
        self.depth -= 1;
        let parsed = parsed?;
        self.check_levels()?;
        Ok(parsed)
    }

    /// Counts one level of the tree that [`nested`](Self::nested) does not count: a link of a chain, or a branch.
    pub(in crate::jinja::syntax) fn add_level(&mut self) -> Result<()> {
        self.links += 1;
        self.check_levels()
    }

    pub(in crate::jinja::syntax) fn check_levels(&self) -> Result<()> {
        if self.links + self.tallest > MAX_LEVELS { Err(self.error_here("this is nested too deep")) } else { Ok(()) }
    }
}
