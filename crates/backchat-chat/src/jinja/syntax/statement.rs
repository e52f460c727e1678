//! Parses statements, and holds the parser's position in the tokens.

use std::collections::HashSet;
use std::ops::Range;

use super::error::{SyntaxError, meant};
use super::lexer::{Lexer, Token, TokenKind};
use super::tree::{Body, Expr, ExprKind, Parameters, Statement, StatementKind, Target};
use crate::builtins::table::Table;

type Result<T> = std::result::Result<T, SyntaxError>;

/// How deep expressions and blocks may nest; Python's own parser gives up at about this depth.
const MAX_DEPTH: usize = 70;
/// How many branches an `if` may have.
const MAX_BRANCHES: usize = 300;
/// How many levels the whole tree may have: chains and branches add levels inside each nested part.
const MAX_LEVELS: usize = 1000;

/// The tags that are allowed anywhere.
const TAGS: [&str; 17] = [
    "autoescape",
    "block",
    "break",
    "call",
    "continue",
    "extends",
    "filter",
    "for",
    "from",
    "generation",
    "if",
    "import",
    "include",
    "macro",
    "print",
    "set",
    "with",
];

/// Refuses an assignment to `loop` inside a loop or as its target.
fn check_loop(target: &Target<'_>, at: Range<usize>) -> Result<()> {
    if target.names().contains(&"loop") {
        return Err(SyntaxError::new("cannot assign to 'loop' in a loop: it is the loop itself", at));
    }
    Ok(())
}

#[derive(Default)]
pub(super) struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    at: usize,
    /// The end of the last token taken.
    pub(super) last_end: usize,
    depth: usize,
    /// Levels that chains and branches added at this level of nesting.
    links: usize,
    /// The depth of the deepest construct that ended at this level.
    tallest: usize,
    /// Jinja2 checks the names of filters and tests at compile time, except inside branches.
    in_branch: usize,
    /// Whether `break` has a loop to leave.
    in_loop: bool,
    /// The number of enclosing loops, across macros and blocks.
    loops: usize,
    /// The names of the blocks so far.
    blocks: HashSet<&'s str>,
}

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str) -> Result<Self> {
        Ok(Self { tokens: Lexer::tokenize(source)?, ..Self::default() })
    }

    pub(super) fn current(&self) -> Token<'s> {
        self.peek(0)
    }

    fn peek(&self, ahead: usize) -> Token<'s> {
        let end = Token { kind: TokenKind::End, text: "", at: self.last_end };
        self.tokens.get(self.at + ahead).or(self.tokens.last()).copied().unwrap_or(end)
    }

    pub(super) fn advance(&mut self) -> Token<'s> {
        let token = self.current();
        self.at += 1;
        self.last_end = token.at + token.text.len();
        token
    }

    fn eat_token(&mut self, kind: TokenKind, text: &str) -> bool {
        let found = self.current().is(kind, text);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn eat(&mut self, operator: &str) -> bool {
        self.eat_token(TokenKind::Operator, operator)
    }

    pub(super) fn eat_name(&mut self, name: &str) -> bool {
        self.eat_token(TokenKind::Name, name)
    }

    pub(super) fn next_is(&self, kind: TokenKind, text: &str) -> bool {
        self.peek(1).is(kind, text)
    }

    pub(super) fn expect(&mut self, operator: &str) -> Result<()> {
        if self.eat(operator) { Ok(()) } else { Err(self.unexpected(&format!("'{operator}'"))) }
    }

    pub(super) fn name(&mut self) -> Result<&'s str> {
        if self.current().kind == TokenKind::Name { Ok(self.advance().text) } else { Err(self.unexpected("a name")) }
    }

    fn end_of_tag(&mut self) -> Result<()> {
        if self.current().kind == TokenKind::BlockEnd {
            self.advance();
            Ok(())
        } else {
            Err(self.unexpected("the end of the tag, '%}'"))
        }
    }

    pub(super) fn error_here(&self, message: &str) -> SyntaxError {
        SyntaxError::new(message, self.current().span())
    }

    pub(super) fn unexpected(&self, wanted: &str) -> SyntaxError {
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
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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
    pub(super) fn add_level(&mut self) -> Result<()> {
        self.links += 1;
        self.check_levels()
    }

    fn check_levels(&self) -> Result<()> {
        if self.links + self.tallest > MAX_LEVELS { Err(self.error_here("this is nested too deep")) } else { Ok(()) }
    }

    pub(super) fn check_name<T: Copy>(&self, what: &str, name: &str, known: &Table<T>, at: Range<usize>) -> Result<()> {
        if self.in_branch > 0 || known.has(name) {
            return Ok(());
        }
        Err(SyntaxError::new(format!("there is no {what} named '{name}'{}", meant(name, known.names())), at))
    }

    pub(super) fn template(mut self) -> Result<Body<'s>> {
        let (body, _) = self.body(&[], "template", 0..0)?;
        Ok(body)
    }

    /// Statements up to one of the tags that may end them; consumes that tag's name, but not the rest of the tag.
    fn body(&mut self, ends: &[&str], opened: &str, at: Range<usize>) -> Result<(Body<'s>, &'s str)> {
        let mut body = Vec::new();
        loop {
            let token = self.advance();
            let kind = match token.kind {
                TokenKind::End if ends.is_empty() => return Ok((body, "")),
                TokenKind::End => {
                    let wanted = ends.join("' or '");
                    return Err(SyntaxError::new(format!("'{opened}' is never closed: '{wanted}' is missing"), at));
                }
                TokenKind::Data => StatementKind::Text(token.text),
                TokenKind::VariableBegin => {
                    let value = self.tuple(true, &[])?;
                    if self.current().kind != TokenKind::VariableEnd {
                        return Err(self.unexpected("the end of the tag, '}}'"));
                    }
                    self.advance();
                    StatementKind::Output(value)
                }
                TokenKind::BlockBegin => {
                    let tag = self.current();
                    if tag.kind != TokenKind::Name {
                        return Err(self.unexpected("the name of a tag"));
                    }
                    self.advance();
                    if ends.contains(&tag.text) {
                        return Ok((body, tag.text));
                    }
                    let kind = self.nested(|parser| parser.statement(tag, ends))?;
                    self.end_of_tag()?;
                    kind
                }
                _ => return Err(SyntaxError::new("unexpected token", token.span())),
            };
            body.push(Statement { kind, span: token.at..self.last_end });
        }
    }

    /// A tag and its body, up to the end of its closing tag, which is not consumed.
    fn statement(&mut self, tag: Token<'s>, ends: &[&str]) -> Result<StatementKind<'s>> {
        match tag.text {
            "set" => self.set(tag),
            "if" => self.condition(tag),
            "for" => self.for_loop(tag),
            "macro" => {
                let name = self.name()?;
                self.expect("(")?;
                let parameters = self.parameters()?;
                let body = self.function_body("endmacro", tag)?;
                Ok(StatementKind::Macro { name, parameters, body })
            }
            "call" => {
                let parameters = if self.eat("(") { self.parameters()? } else { Vec::new() };
                let call = self.expression()?;
                if !matches!(call.kind, ExprKind::Call(..)) {
                    return Err(SyntaxError::new("a call block needs a call", call.span));
                }
                let body = self.function_body("endcall", tag)?;
                Ok(StatementKind::CallBlock { parameters, call, body })
            }
            "generation" => Ok(StatementKind::Generation(self.function_body("endgeneration", tag)?)),
            "with" => self.with(tag),
            "filter" => {
                let filter = self.filter_chain()?;
                let body = self.closed("endfilter", tag)?;
                Ok(StatementKind::FilterBlock { filter, body })
            }
            "autoescape" => {
                let enabled = self.expression()?;
                let body = self.closed("endautoescape", tag)?;
                Ok(StatementKind::AutoEscape { enabled, body })
            }
            "block" => {
                let at = self.current().span();
                let name = self.name()?;
                if !self.blocks.insert(name) {
                    return Err(SyntaxError::new(format!("two blocks are called '{name}'"), at));
                }
                let (mut scoped, mut required) = (false, false);
                loop {
                    if self.eat_name("scoped") {
                        scoped = true;
                    } else if self.eat_name("required") {
                        required = true;
                    } else {
                        break;
                    }
                }
                let body = self.function_body("endblock", tag)?;
                self.eat_name(name);
                Ok(StatementKind::Block { name, scoped, required, body })
            }
            "print" => {
                let start = self.current().at;
                let mut values = vec![self.expression()?];
                while self.eat(",") {
                    values.push(self.expression()?);
                }
                Ok(StatementKind::Output(Expr { kind: ExprKind::Concat(values), span: start..self.last_end }))
            }
            "include" | "import" | "from" | "extends" => {
                while !matches!(self.current().kind, TokenKind::BlockEnd | TokenKind::End) {
                    self.advance();
                }
                Ok(StatementKind::Load(tag.text))
            }
            "break" | "continue" if !self.in_loop => {
                Err(SyntaxError::new(format!("'{}' outside a loop", tag.text), tag.span()))
            }
            "break" => Ok(StatementKind::Break),
            "continue" => Ok(StatementKind::Continue),
            other => {
                let known = TAGS.iter().chain(ends).copied();
                // Other languages' names for `elif` are not typos.
                let asked = if matches!(other, "elseif" | "elsif") && ends.contains(&"elif") { "elif" } else { other };
                Err(SyntaxError::new(format!("unknown tag '{other}'{}", meant(asked, known)), tag.span()))
            }
        }
    }

    /// A body with a single closing tag.
    fn closed(&mut self, end: &str, tag: Token<'s>) -> Result<Body<'s>> {
        self.end_of_tag()?;
        self.body(&[end], tag.text, tag.span()).map(|(body, _)| body)
    }

    /// A body that Jinja2 compiles to a function: it cannot break out of a loop around it.
    fn function_body(&mut self, end: &str, tag: Token<'s>) -> Result<Body<'s>> {
        let outer = std::mem::take(&mut self.in_loop);
        let body = self.closed(end, tag);
        self.in_loop = outer;
        body
    }

    fn set(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let at = self.current().span();
        let target = self.target(true, &[])?;
        if self.loops > 0 {
            check_loop(&target, at)?;
        }
        if self.eat("=") {
            return Ok(StatementKind::Set(target, self.tuple(true, &[])?));
        }
        let filter = if self.eat("|") { Some(self.filter_chain()?) } else { None };
        let body = self.closed("endset", tag)?;
        Ok(StatementKind::SetBlock { target, filter, body })
    }

    fn condition(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let test = self.tuple(false, &[])?;
            self.end_of_tag()?;
            self.in_branch += 1;
            let (body, end) = self.body(&["elif", "else", "endif"], tag.text, tag.span())?;
            self.in_branch -= 1;
            branches.push((test, body));
            if branches.len() > MAX_BRANCHES {
                return Err(SyntaxError::new("this condition has too many branches", tag.span()));
            }
            match end {
                "elif" => self.add_level()?,
                "else" => {
                    self.in_branch += 1;
                    otherwise = self.closed("endif", tag)?;
                    self.in_branch -= 1;
                    break;
                }
                _ => break,
            }
        }
        Ok(StatementKind::If { branches, otherwise })
    }

    fn for_loop(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let at = self.current().span();
        let target = self.target(false, &["in"])?;
        check_loop(&target, at)?;
        if !self.eat_name("in") {
            return Err(self.unexpected("'in'"));
        }
        let over = self.tuple(false, &["recursive"])?;
        let only = if self.eat_name("if") { Some(self.expression()?) } else { None };
        let recursive = self.eat_name("recursive");
        self.end_of_tag()?;
        self.loops += 1;
        let outer = std::mem::replace(&mut self.in_loop, true);
        let (body, end) = self.body(&["else", "endfor"], tag.text, tag.span())?;
        // Jinja2 compiles a recursive loop to a function.
        self.in_loop = outer && !recursive;
        let otherwise = if end == "else" { self.closed("endfor", tag)? } else { Vec::new() };
        self.in_loop = outer;
        self.loops -= 1;
        Ok(StatementKind::For { target, over, only, recursive, body, otherwise })
    }

    fn with(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let mut bindings = Vec::new();
        while self.current().kind != TokenKind::BlockEnd {
            if !bindings.is_empty() {
                self.expect(",")?;
            }
            let target = self.target(false, &[])?;
            self.expect("=")?;
            bindings.push((target, self.expression()?));
        }
        let body = self.closed("endwith", tag)?;
        Ok(StatementKind::With { bindings, body })
    }

    fn parameters(&mut self) -> Result<Parameters<'s>> {
        let mut parameters: Parameters<'s> = Vec::new();
        let mut names = HashSet::new();
        let mut defaults = false;
        while !self.eat(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            let at = self.current().span();
            let name = self.assignable()?;
            if !names.insert(name) {
                return Err(SyntaxError::new(format!("two parameters are called '{name}'"), at));
            }
            let default = if self.eat("=") { Some(self.expression()?) } else { None };
            if default.is_none() && name == "caller" {
                return Err(SyntaxError::new(
                    "the parameter 'caller' needs a default: the macro can be called without a call block",
                    at,
                ));
            }
            if default.is_none() && defaults {
                return Err(SyntaxError::new("a parameter without a default after one that has a default", at));
            }
            defaults |= default.is_some();
            parameters.push((name, default));
        }
        Ok(parameters)
    }

    /// A name that can be assigned to.
    fn assignable(&mut self) -> Result<&'s str> {
        let at = self.current().span();
        let name = self.name()?;
        let constant = matches!(name, "true" | "false" | "none" | "True" | "False" | "None");
        if constant || name.starts_with(|c: char| c.is_numeric()) {
            return Err(SyntaxError::new(format!("cannot assign to '{name}'"), at));
        }
        Ok(name)
    }

    fn target(&mut self, fields: bool, stop: &[&str]) -> Result<Target<'s>> {
        let first = self.single_target(fields)?;
        if self.current().text != "," {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat(",") {
            let token = self.current();
            if token.kind == TokenKind::BlockEnd || matches!(token.text, "=" | ")") || stop.contains(&token.text) {
                break;
            }
            parts.push(self.single_target(fields)?);
        }
        Ok(Target::Tuple(parts))
    }

    fn single_target(&mut self, fields: bool) -> Result<Target<'s>> {
        if self.eat("(") {
            let inner = self.nested(|parser| parser.target(false, &[]))?;
            self.expect(")")?;
            return Ok(inner);
        }
        let name = self.assignable()?;
        if fields && self.eat(".") {
            return Ok(Target::Field(name, self.name()?));
        }
        Ok(Target::Name(name))
    }
}
