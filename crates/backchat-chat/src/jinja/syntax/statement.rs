//! Parses statements.

mod position;
pub(super) mod recovery;

use std::collections::HashSet;
use std::ops::Range;

use backchat_core::diagnostic::closest;

use super::error::{SyntaxError, meant};
use super::lexer::{Lexer, Token, TokenKind};
use super::open_blocks::OpenBlocks;
use super::tree::{Body, Expr, ExprKind, Parameters, Statement, StatementKind, Target};
use crate::builtins::table::Table;
use recovery::{EndRole, Recovery};

type Result<T> = std::result::Result<T, SyntaxError>;

/// How deep expressions and blocks may nest; Python's own parser gives up at about this depth.
pub(super) const MAX_DEPTH: usize = 70;
/// How many branches an `if` may have.
const MAX_BRANCHES: usize = 300;
/// How many levels the whole tree may have: chains and branches add levels inside each nested part.
const MAX_LEVELS: usize = 1000;

/// The tags that are allowed anywhere.
pub(crate) const TAGS: [&str; 17] = [
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

/// What the head of a `set` tag says.
enum Assigned<'s> {
    Value(Target<'s>, Expr<'s>),
    Block(Target<'s>, Option<Expr<'s>>),
    /// Only in the mode that recovers.
    Broken(Expr<'s>),
}

#[derive(Default)]
pub(super) struct Parser<'s> {
    pub(super) tokens: Vec<Token<'s>>,
    pub(super) at: usize,
    /// The end of the last token taken.
    pub(super) last_end: usize,
    pub(super) depth: usize,
    /// Levels that chains and branches added at this level of nesting.
    links: usize,
    /// The depth of the deepest construct that ended at this level.
    tallest: usize,
    /// Jinja2 refuses unknown filters and tests when it compiles, except directly in conditions and their branches:
    /// loops, macros and all else with a scope of its own are compiled strictly again.
    is_soft: bool,
    /// The names of filters and tests that do not exist.
    pub(super) unknown: Vec<SyntaxError>,
    /// Whether `break` has a loop to leave.
    in_loop: bool,
    /// The number of enclosing loops, across macros and blocks.
    loops: usize,
    /// The names of the blocks so far.
    blocks: HashSet<&'s str>,
    pub(super) open: OpenBlocks<'s>,
    /// In the mode that goes on after errors, what it has met.
    pub(super) recovery: Option<Recovery<'s>>,
}

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str) -> Result<Self> {
        Ok(Self { tokens: Lexer::tokenize(source)?, open: OpenBlocks::new(source), ..Self::default() })
    }

    /// A parser that goes on after errors.
    pub(super) fn recovering(source: &'s str, tokens: Vec<Token<'s>>, recovery: Recovery<'s>) -> Self {
        Self { tokens, open: OpenBlocks::new(source), recovery: Some(recovery), ..Self::default() }
    }

    fn end_of_tag(&mut self) -> Result<()> {
        if self.recovery.as_mut().is_some_and(Recovery::take_implied_end) {
            return Ok(());
        }
        self.head(Self::at_end_of_tag, |_| ())?;
        self.advance();
        Ok(())
    }

    fn at_end_of_tag(&mut self) -> Result<()> {
        let is_end = self.current().kind == TokenKind::BlockEnd;
        if is_end { Ok(()) } else { Err(self.unexpected("the end of the tag, '%}'")) }
    }

    /// Notes a filter or test that does not exist. Whether that is an error depends on what is around it.
    pub(super) fn check_name<T: Copy>(&mut self, what: &str, name: &str, known: &Table<T>, at: Range<usize>) {
        if !known.has(name) {
            let message = format!("there is no {what} named '{name}'{}", meant(name, known.names()));
            let error = SyntaxError::new(message, at).meaning(closest(name, known.names()));
            self.unknown.push(SyntaxError { is_soft: self.is_soft, ..error });
        }
    }

    /// Makes the unknown names since a place soft: what they are in turned out to be a conditional expression.
    pub(super) fn soften(&mut self, since: usize) {
        self.unknown.iter_mut().skip(since).for_each(|unknown| unknown.is_soft = true);
    }

    /// Parses something that Jinja2 compiles strictly, or softly.
    fn compiled<T>(&mut self, softly: bool, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = std::mem::replace(&mut self.is_soft, softly);
        let parsed = parse(self);
        self.is_soft = around;
        parsed
    }

    pub(super) fn template(mut self) -> Result<Body<'s>> {
        let body = self.statements(&[])?.0;
        match self.unknown.into_iter().find(|unknown| !unknown.is_soft) {
            Some(unknown) => Err(unknown),
            None => Ok(body),
        }
    }

    /// The statements in the mode that recovers, and every error in the order of the text.
    pub(super) fn recovered(mut self) -> (Body<'s>, Vec<SyntaxError>) {
        let body = self.statements(&[]).map_or_else(
            |error| {
                self.note(error);
                Vec::new()
            },
            |(body, _)| body,
        );
        let mut errors = self.recovery.map(|recovery| recovery.errors).unwrap_or_default();
        errors.extend(self.unknown);
        errors.sort_by_key(|error| error.span.start);
        errors.dedup();
        (body, errors)
    }

    /// The statements of a block, up to one of the tags that may end them.
    fn body(&mut self, ends: &[&str], tag: Token<'s>) -> Result<(Body<'s>, &'s str)> {
        self.open.push(tag);
        let body = self.statements(ends)?;
        self.open.pop();
        Ok(body)
    }

    /// Statements up to one of `ends`; consumes that tag's name, but not the rest of the tag.
    fn statements(&mut self, ends: &[&str]) -> Result<(Body<'s>, &'s str)> {
        let mut body = Vec::new();
        loop {
            let token = self.advance();
            let kind = match token.kind {
                TokenKind::End => {
                    if let Some(error) = self.open.never_closed() {
                        self.imply_end(error)?;
                    }
                    return Ok((body, ""));
                }
                TokenKind::Data => StatementKind::Text(token.text),
                TokenKind::VariableBegin => {
                    self.begin_tag(token);
                    let value = self.head(Self::output, |rest| rest)?;
                    self.advance();
                    StatementKind::Output(value)
                }
                TokenKind::BlockBegin => {
                    self.begin_tag(token);
                    let tag = self.current();
                    if tag.kind != TokenKind::Name {
                        let error = self.unexpected("the name of a tag");
                        self.skip_tag(error)?;
                        continue;
                    }
                    self.advance();
                    if ends.contains(&tag.text) {
                        return Ok((body, tag.text));
                    }
                    match self.role_of_end(tag)? {
                        EndRole::Plain => {}
                        EndRole::OfOuter => return Ok((body, "")),
                        EndRole::OfUnknown => {
                            self.pass_tag();
                            continue;
                        }
                    }
                    match self.nested(|parser| parser.statement(tag, ends)) {
                        Ok(kind) => {
                            self.end_of_tag()?;
                            kind
                        }
                        Err(error) => {
                            self.skip_tag(error)?;
                            continue;
                        }
                    }
                }
                _ => return Err(SyntaxError::new("unexpected token", token.span())),
            };
            body.push(Statement { kind, span: token.at..self.last_end });
        }
    }

    fn output(&mut self) -> Result<Expr<'s>> {
        let value = self.tuple(true, &[])?;
        let is_end = self.current().kind == TokenKind::VariableEnd;
        if is_end { Ok(value) } else { Err(self.unexpected("the end of the tag, '}}'")) }
    }

    /// A tag and its body, up to the end of its closing tag, which is not consumed.
    fn statement(&mut self, tag: Token<'s>, ends: &[&str]) -> Result<StatementKind<'s>> {
        match tag.text {
            "set" => self.set(tag),
            "if" => self.condition(tag),
            "for" => self.for_loop(tag),
            "macro" => self.macro_block(tag),
            "call" => self.call_block(tag),
            "generation" => Ok(StatementKind::Generation(self.function_body("endgeneration", tag)?)),
            "with" => self.with(tag),
            "filter" => self.compiled(false, |parser| {
                let filter = parser.head(Self::filter_chain, |rest| rest)?;
                let body = parser.closed("endfilter", tag)?;
                Ok(StatementKind::FilterBlock { filter, body })
            }),
            "autoescape" => self.compiled(false, |parser| {
                let enabled = parser.head(Self::expression, |rest| rest)?;
                let body = parser.closed("endautoescape", tag)?;
                Ok(StatementKind::AutoEscape { enabled, body })
            }),
            "block" => self.block(tag),
            "print" => {
                let start = self.current().at;
                let values = |parser: &mut Self| {
                    let mut values = vec![parser.expression()?];
                    while parser.eat(",") {
                        values.push(parser.expression()?);
                    }
                    Ok(Expr { kind: ExprKind::Concat(values), span: start..parser.last_end })
                };
                Ok(StatementKind::Output(self.head(values, |rest| rest)?))
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
                if let Some(error) = self.open.misplaced(tag) {
                    return Err(error);
                }
                let known = TAGS.iter().chain(ends).copied();
                // Other languages' names for `elif` are not typos.
                let asked = if matches!(other, "elseif" | "elsif") && ends.contains(&"elif") { "elif" } else { other };
                let meaning = closest(asked, known.clone());
                let message = format!("unknown tag '{other}'{}", meant(asked, known));
                Err(SyntaxError::new(message, tag.span()).meaning(meaning))
            }
        }
    }

    /// A body with a single closing tag.
    fn closed(&mut self, end: &str, tag: Token<'s>) -> Result<Body<'s>> {
        self.end_of_tag()?;
        self.body(&[end], tag).map(|(body, _)| body)
    }

    /// A body that Jinja2 compiles to a function: it cannot break out of a loop around it.
    fn function_body(&mut self, end: &str, tag: Token<'s>) -> Result<Body<'s>> {
        let outer = std::mem::take(&mut self.in_loop);
        let body = self.compiled(false, |parser| parser.closed(end, tag));
        self.in_loop = outer;
        body
    }

    fn macro_block(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        self.compiled(false, |parser| {
            let mut name = "";
            let head = |parser: &mut Self| {
                name = parser.name()?;
                parser.expect("(")?;
                parser.parameters()
            };
            let parameters = parser.head(head, |_| Vec::new())?;
            let body = parser.function_body("endmacro", tag)?;
            Ok(StatementKind::Macro { name, parameters, body })
        })
    }

    fn call_block(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let head = |parser: &mut Self| {
            let parameters = if parser.eat("(") { parser.compiled(false, Self::parameters)? } else { Vec::new() };
            let call = parser.expression()?;
            if !matches!(call.kind, ExprKind::Call(..)) {
                return Err(SyntaxError::new("a call block needs a call", call.span));
            }
            Ok((parameters, call))
        };
        let (parameters, call) = self.head(head, |rest| (Vec::new(), rest))?;
        let body = self.function_body("endcall", tag)?;
        Ok(StatementKind::CallBlock { parameters, call, body })
    }

    fn block(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let at = self.current().span();
        let mut name = "";
        let (mut scoped, mut required) = (false, false);
        let head = |parser: &mut Self| {
            name = parser.name()?;
            if !parser.blocks.insert(name) {
                return Err(SyntaxError::new(format!("two blocks are called '{name}'"), at));
            }
            loop {
                if parser.eat_name("scoped") {
                    scoped = true;
                } else if parser.eat_name("required") {
                    required = true;
                } else {
                    return Ok(());
                }
            }
        };
        self.head(head, |_| ())?;
        let body = self.function_body("endblock", tag)?;
        self.eat_name(name);
        Ok(StatementKind::Block { name, scoped, required, body })
    }

    fn set(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let at = self.current().span();
        let mut known = None;
        let head = |parser: &mut Self| {
            let target = parser.target(true, &[])?;
            if parser.loops > 0 {
                check_loop(&target, at)?;
            }
            if parser.eat("=") {
                known = parser.recovery.is_some().then(|| target.clone());
                return Ok(Assigned::Value(target, parser.tuple(true, &[])?));
            }
            let filter = if parser.eat("|") { Some(parser.compiled(false, Self::filter_chain)?) } else { None };
            Ok(Assigned::Block(target, filter))
        };
        let assigned = self.head(head, Assigned::Broken)?;
        Ok(match (assigned, known) {
            (Assigned::Value(target, value), _) | (Assigned::Broken(value), Some(target)) => {
                StatementKind::Set(target, value)
            }
            (Assigned::Broken(rest), None) => StatementKind::Output(rest),
            (Assigned::Block(target, filter), _) => {
                let body = self.compiled(false, |parser| parser.closed("endset", tag))?;
                StatementKind::SetBlock { target, filter, body }
            }
        })
    }

    fn condition(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        self.compiled(true, |parser| {
            let mut branches = Vec::new();
            let mut otherwise = Vec::new();
            loop {
                let test = parser.head(|parser| parser.tuple(false, &[]), |rest| rest)?;
                parser.end_of_tag()?;
                let (body, end) = parser.body(&["elif", "else", "endif"], tag)?;
                branches.push((test, body));
                if branches.len() > MAX_BRANCHES {
                    return Err(SyntaxError::new("this condition has too many branches", tag.span()));
                }
                match end {
                    "elif" => parser.add_level()?,
                    "else" => {
                        otherwise = parser.closed("endif", tag)?;
                        break;
                    }
                    _ => break,
                }
            }
            Ok(StatementKind::If { branches, otherwise })
        })
    }

    fn for_loop(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let at = self.current().span();
        let mut target = Target::Tuple(Vec::new());
        let head = |parser: &mut Self| {
            target = parser.target(false, &["in"])?;
            check_loop(&target, at)?;
            if !parser.eat_name("in") {
                return Err(parser.unexpected("'in'"));
            }
            let over = parser.tuple(false, &["recursive"])?;
            let only = if parser.eat_name("if") { Some(parser.compiled(false, Self::expression)?) } else { None };
            Ok((over, only, parser.eat_name("recursive")))
        };
        let (over, only, recursive) = self.head(head, |rest| (rest, None, false))?;
        self.end_of_tag()?;
        self.loops += 1;
        let outer = std::mem::replace(&mut self.in_loop, true);
        let bodies = self.compiled(false, |parser| {
            let (body, end) = parser.body(&["else", "endfor"], tag)?;
            // Jinja2 compiles a recursive loop to a function.
            parser.in_loop = outer && !recursive;
            let otherwise = if end == "else" { parser.closed("endfor", tag)? } else { Vec::new() };
            Ok((body, otherwise))
        });
        self.in_loop = outer;
        self.loops -= 1;
        let (body, otherwise) = bodies?;
        Ok(StatementKind::For { target, over, only, recursive, body, otherwise })
    }

    fn with(&mut self, tag: Token<'s>) -> Result<StatementKind<'s>> {
        let mut bindings = Vec::new();
        let head = |parser: &mut Self| {
            while parser.current().kind != TokenKind::BlockEnd {
                if !bindings.is_empty() {
                    parser.expect(",")?;
                }
                let target = parser.target(false, &[])?;
                parser.expect("=")?;
                bindings.push((target, parser.expression()?));
            }
            Ok(())
        };
        self.head(head, |_| ())?;
        let body = self.compiled(false, |parser| parser.closed("endwith", tag))?;
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
