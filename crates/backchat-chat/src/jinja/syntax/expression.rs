//! Parses expressions.

use super::error::SyntaxError;
use super::lexer::{TokenKind, unescape};
use super::statement::Parser;
use super::tree::{Argument, BinaryOp, CompareOp, Expr, ExprKind, Literal, UnaryOp};
use crate::builtins::filters::FILTERS;
use crate::builtins::tests::TESTS;

type Result<T> = std::result::Result<T, SyntaxError>;

/// How long a chain of operators, attributes or filters may be: each link is a level of the tree.
const MAX_CHAIN: usize = 500;

impl<'s> Parser<'s> {
    fn node(&self, start: usize, kind: ExprKind<'s>) -> Expr<'s> {
        Expr { kind, span: start..self.last_end.max(start) }
    }

    /// One expression.
    pub(super) fn expression(&mut self) -> Result<Expr<'s>> {
        self.nested(Self::conditional)
    }

    /// An expression, or several with commas between them, which make a tuple.
    pub(super) fn tuple(&mut self, conditional: bool, stop: &[&str]) -> Result<Expr<'s>> {
        let start = self.current().at;
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !self.at_tuple_end(stop) {
            items.push(if conditional { self.expression()? } else { self.nested(Self::or)? });
            if !self.eat(",") {
                break;
            }
            is_tuple = true;
        }
        match items.pop_if(|_| !is_tuple) {
            Some(only) => Ok(only),
            None if items.is_empty() => Err(self.unexpected("an expression")),
            None => Ok(self.node(start, ExprKind::Tuple(items))),
        }
    }

    fn at_tuple_end(&self, stop: &[&str]) -> bool {
        let token = self.current();
        match token.kind {
            TokenKind::VariableEnd | TokenKind::BlockEnd | TokenKind::End => true,
            TokenKind::Operator => token.text == ")",
            TokenKind::Name => stop.contains(&token.text),
            _ => false,
        }
    }

    fn conditional(&mut self) -> Result<Expr<'s>> {
        let start = self.current().at;
        let unknown = self.unknown.len();
        let mut value = self.or()?;
        let mut chain = 0;
        while self.eat_name("if") {
            self.link(&mut chain)?;
            let test = Box::new(self.or()?);
            let otherwise = if self.eat_name("else") { Some(Box::new(self.nested(Self::conditional)?)) } else { None };
            self.soften(unknown);
            value = self.node(start, ExprKind::Condition { test, then: Box::new(value), otherwise });
        }
        Ok(value)
    }

    fn link(&mut self, chain: &mut usize) -> Result<()> {
        *chain += 1;
        if *chain > MAX_CHAIN { Err(self.error_here("this expression is too long")) } else { self.add_level() }
    }

    fn left_to_right(
        &mut self,
        operand: fn(&mut Self) -> Result<Expr<'s>>,
        operator: impl Fn(&mut Self) -> Option<BinaryOp>,
    ) -> Result<Expr<'s>> {
        let start = self.current().at;
        let mut left = operand(self)?;
        let mut chain = 0;
        while let Some(operator) = operator(self) {
            self.link(&mut chain)?;
            let right = operand(self)?;
            left = self.node(start, ExprKind::Binary(operator, Box::new((left, right))));
        }
        Ok(left)
    }

    fn or(&mut self) -> Result<Expr<'s>> {
        self.left_to_right(Self::and, |parser| parser.eat_name("or").then_some(BinaryOp::Or))
    }

    fn and(&mut self) -> Result<Expr<'s>> {
        self.left_to_right(Self::not, |parser| parser.eat_name("and").then_some(BinaryOp::And))
    }

    fn not(&mut self) -> Result<Expr<'s>> {
        let start = self.current().at;
        if self.eat_name("not") {
            let operand = self.nested(Self::not)?;
            return Ok(self.node(start, ExprKind::Unary(UnaryOp::Not, Box::new(operand))));
        }
        self.compare()
    }

    fn compare(&mut self) -> Result<Expr<'s>> {
        let start = self.current().at;
        let first = self.arithmetic(1)?;
        let mut rest = Vec::new();
        let mut chain = 0;
        while let Some(operator) = self.compare_operator() {
            self.link(&mut chain)?;
            rest.push((operator, self.arithmetic(1)?));
        }
        Ok(if rest.is_empty() { first } else { self.node(start, ExprKind::Compare(Box::new(first), rest)) })
    }

    fn compare_operator(&mut self) -> Option<CompareOp> {
        let token = self.current();
        let operator = match (token.kind, token.text) {
            (TokenKind::Operator, "==") => CompareOp::Eq,
            (TokenKind::Operator, "!=") => CompareOp::Ne,
            (TokenKind::Operator, "<") => CompareOp::Lt,
            (TokenKind::Operator, "<=") => CompareOp::Le,
            (TokenKind::Operator, ">") => CompareOp::Gt,
            (TokenKind::Operator, ">=") => CompareOp::Ge,
            (TokenKind::Name, "in") => CompareOp::In,
            (TokenKind::Name, "not") if self.next_is(TokenKind::Name, "in") => {
                self.advance();
                CompareOp::NotIn
            }
            _ => return None,
        };
        self.advance();
        Some(operator)
    }

    /// Operators that bind tighter than comparisons, all of them from left to right.
    fn arithmetic(&mut self, loosest: u8) -> Result<Expr<'s>> {
        let start = self.current().at;
        let mut left = self.unary(true)?;
        let mut chain = 0;
        while let Some((operator, binding)) = self.arithmetic_operator().filter(|(_, binding)| *binding >= loosest) {
            self.advance();
            self.link(&mut chain)?;
            let right = self.arithmetic(binding + 1)?;
            let kind = match (operator, left.kind) {
                (Some(operator), kind) => ExprKind::Binary(operator, Box::new((Expr { kind, span: left.span }, right))),
                (None, ExprKind::Concat(mut parts)) => {
                    parts.push(right);
                    ExprKind::Concat(parts)
                }
                (None, kind) => ExprKind::Concat(vec![Expr { kind, span: left.span }, right]),
            };
            left = self.node(start, kind);
        }
        Ok(left)
    }

    /// The current operator (`None` for `~`) and its precedence.
    fn arithmetic_operator(&self) -> Option<(Option<BinaryOp>, u8)> {
        let token = self.current();
        if token.kind != TokenKind::Operator {
            return None;
        }
        Some(match token.text {
            "+" => (Some(BinaryOp::Add), 1),
            "-" => (Some(BinaryOp::Sub), 1),
            "~" => (None, 2),
            "*" => (Some(BinaryOp::Mul), 3),
            "/" => (Some(BinaryOp::Div), 3),
            "//" => (Some(BinaryOp::FloorDiv), 3),
            "%" => (Some(BinaryOp::Rem), 3),
            "**" => (Some(BinaryOp::Pow), 4),
            _ => return None,
        })
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expr<'s>> {
        let start = self.current().at;
        let operator = if self.eat("-") { Some(UnaryOp::Neg) } else { self.eat("+").then_some(UnaryOp::Pos) };
        let value = match operator {
            Some(operator) => {
                let operand = self.nested(|parser| parser.unary(false))?;
                self.node(start, ExprKind::Unary(operator, Box::new(operand)))
            }
            None => self.primary()?,
        };
        let value = self.postfix(value, start)?;
        if with_filter { self.filters_and_tests(value, start) } else { Ok(value) }
    }

    fn primary(&mut self) -> Result<Expr<'s>> {
        let token = self.current();
        let start = token.at;
        let kind = match token.kind {
            TokenKind::Name => {
                self.advance();
                match token.text {
                    "true" | "True" => ExprKind::Literal(Literal::Bool(true)),
                    "false" | "False" => ExprKind::Literal(Literal::Bool(false)),
                    "none" | "None" => ExprKind::Literal(Literal::None),
                    name => ExprKind::Name(name),
                }
            }
            TokenKind::String => {
                let mut text = String::new();
                while self.current().kind == TokenKind::String {
                    let token = self.advance();
                    text += &unescape(token.text).map_err(|message| SyntaxError::new(message, token.span()))?;
                }
                ExprKind::Literal(Literal::Str(text))
            }
            TokenKind::Int => {
                self.advance();
                ExprKind::Literal(Literal::Int(token.text.replace('_', "").to_ascii_lowercase()))
            }
            TokenKind::Float => {
                self.advance();
                ExprKind::Literal(Literal::Float(token.text.replace('_', "")))
            }
            TokenKind::Operator if token.text == "(" => {
                self.advance();
                let inner = if self.current().text == ")" {
                    ExprKind::Tuple(Vec::new())
                } else {
                    self.nested(|parser| parser.tuple(true, &[]))?.kind
                };
                self.expect(")")?;
                inner
            }
            TokenKind::Operator if token.text == "[" => {
                self.advance();
                ExprKind::List(self.separated("]", Self::expression)?)
            }
            TokenKind::Operator if token.text == "{" => {
                self.advance();
                ExprKind::Dict(self.separated("}", |parser| {
                    let key = parser.expression()?;
                    parser.expect(":")?;
                    Ok((key, parser.expression()?))
                })?)
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(self.node(start, kind))
    }

    /// Elements with commas between them, up to a closing bracket.
    fn separated<T>(&mut self, close: &str, mut element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut elements = Vec::new();
        while !self.eat(close) {
            if !elements.is_empty() {
                self.expect(",")?;
                if self.eat(close) {
                    break;
                }
            }
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    fn postfix(&mut self, mut value: Expr<'s>, start: usize) -> Result<Expr<'s>> {
        let mut chain = 0;
        loop {
            let kind = if self.eat(".") {
                let token = self.advance();
                match token.kind {
                    TokenKind::Name => ExprKind::Attribute(Box::new(value), token.text),
                    TokenKind::Int => {
                        let index = ExprKind::Literal(Literal::Int(token.text.replace('_', "")));
                        ExprKind::Item(Box::new(value), Box::new(Expr { kind: index, span: token.span() }))
                    }
                    _ => return Err(SyntaxError::new("expected a name or number after the dot", token.span())),
                }
            } else if self.eat("[") {
                self.nested(|parser| parser.subscript(value))?
            } else if self.eat("(") {
                ExprKind::Call(Box::new(value), self.arguments()?)
            } else {
                return Ok(value);
            };
            self.link(&mut chain)?;
            value = self.node(start, kind);
        }
    }

    /// The contents of square brackets after a value.
    fn subscript(&mut self, of: Expr<'s>) -> Result<ExprKind<'s>> {
        let start = self.current().at;
        if self.eat("]") {
            let nothing = self.node(start, ExprKind::Tuple(Vec::new()));
            return Ok(ExprKind::Item(Box::new(of), Box::new(nothing)));
        }
        let first = if self.current().text == ":" { None } else { Some(self.expression()?) };
        if self.eat(":") {
            let bound = |parser: &mut Self| -> Result<Option<Expr<'s>>> {
                let token = parser.current();
                let absent = token.kind == TokenKind::Operator && matches!(token.text, ":" | "]" | ",");
                if absent { Ok(None) } else { parser.expression().map(Some) }
            };
            let stop = bound(self)?;
            let step = if self.eat(":") { bound(self)? } else { None };
            self.expect("]")?;
            return Ok(ExprKind::Slice(Box::new(of), Box::new([first, stop, step])));
        }
        let Some(first) = first else { return Err(self.unexpected("an expression")) };
        let mut items = vec![first];
        while self.eat(",") {
            items.push(self.expression()?);
        }
        let key = match <[Expr<'s>; 1]>::try_from(items) {
            Ok([only]) => only,
            Err(items) => self.node(start, ExprKind::Tuple(items)),
        };
        self.expect("]")?;
        Ok(ExprKind::Item(Box::new(of), Box::new(key)))
    }

    /// The arguments of a call, after its opening bracket.
    fn arguments(&mut self) -> Result<Vec<Argument<'s>>> {
        let mut spread = (false, false);
        let mut keywords = false;
        self.separated(")", |parser| {
            let token = parser.current();
            let argument = if parser.eat("*") {
                let misplaced = std::mem::replace(&mut spread.0, true) || spread.1;
                (!misplaced).then_some(Argument::Spread(parser.expression()?))
            } else if parser.eat("**") {
                let misplaced = std::mem::replace(&mut spread.1, true);
                (!misplaced).then_some(Argument::KeywordSpread(parser.expression()?))
            } else if token.kind == TokenKind::Name && parser.next_is(TokenKind::Operator, "=") {
                parser.advance();
                parser.advance();
                let value = parser.expression()?;
                keywords = true;
                (!spread.1).then_some(Argument::Keyword(token.text, value))
            } else {
                let value = parser.expression()?;
                (!spread.0 && !spread.1 && !keywords).then_some(Argument::Positional(value))
            };
            argument.ok_or_else(|| SyntaxError::new("this argument is not allowed here", token.span()))
        })
    }

    fn filters_and_tests(&mut self, mut value: Expr<'s>, start: usize) -> Result<Expr<'s>> {
        let mut chain = 0;
        loop {
            let token = self.current();
            let kind = match (token.kind, token.text) {
                (TokenKind::Operator, "|") => {
                    self.advance();
                    let (name, arguments) = self.filter()?;
                    ExprKind::Filter(Some(Box::new(value)), name, arguments)
                }
                (TokenKind::Name, "is") => {
                    self.advance();
                    self.test(value)?
                }
                (TokenKind::Operator, "(") => {
                    self.advance();
                    ExprKind::Call(Box::new(value), self.arguments()?)
                }
                _ => return Ok(value),
            };
            self.link(&mut chain)?;
            value = self.node(start, kind);
        }
    }

    fn dotted_name(&mut self) -> Result<String> {
        let mut name = self.name()?.to_owned();
        while self.eat(".") {
            name.push('.');
            name.push_str(self.name()?);
        }
        Ok(name)
    }

    fn filter(&mut self) -> Result<(String, Vec<Argument<'s>>)> {
        let at = self.current();
        let name = self.dotted_name()?;
        self.check_name("filter", &name, &FILTERS, at.at..self.last_end);
        let arguments = if self.eat("(") { self.arguments()? } else { Vec::new() };
        Ok((name, arguments))
    }

    /// The filters at the head of a filter or set block.
    pub(super) fn filter_chain(&mut self) -> Result<Expr<'s>> {
        let start = self.current().at;
        let (name, arguments) = self.filter()?;
        let mut chain = self.node(start, ExprKind::Filter(None, name, arguments));
        let mut links = 0;
        while self.eat("|") {
            self.link(&mut links)?;
            let (name, arguments) = self.filter()?;
            chain = self.node(start, ExprKind::Filter(Some(Box::new(chain)), name, arguments));
        }
        Ok(chain)
    }

    fn test(&mut self, value: Expr<'s>) -> Result<ExprKind<'s>> {
        let start = value.span.start;
        let negated = self.eat_name("not");
        let at = self.current();
        let name = self.dotted_name()?;
        self.check_name("test", &name, &TESTS, at.at..self.last_end);
        let token = self.current();
        let begins_argument = match token.kind {
            TokenKind::Name => !matches!(token.text, "else" | "or" | "and"),
            TokenKind::String | TokenKind::Int | TokenKind::Float => true,
            TokenKind::Operator => matches!(token.text, "[" | "{"),
            _ => false,
        };
        let arguments = if self.eat("(") {
            self.arguments()?
        } else if begins_argument {
            if token.text == "is" {
                return Err(SyntaxError::new("tests cannot be chained with 'is'", token.span()));
            }
            let argument = self.primary()?;
            vec![Argument::Positional(self.postfix(argument, token.at)?)]
        } else {
            Vec::new()
        };
        let test = ExprKind::Test(Box::new(value), name, arguments);
        Ok(if negated { ExprKind::Unary(UnaryOp::Not, Box::new(self.node(start, test))) } else { test })
    }
}
