//! An expression as a tree: the Pratt parser of Python's `jmespath`, with its leniencies.

use std::cmp::Ordering;

use super::lex::Token;
use crate::schema::fault::Fault;
use backchat_core::json::Value;

/// How deeply expressions may nest.
const MAX_DEPTH: usize = 200;

/// The binding power from which a token continues a projection.
const PROJECTION_STOP: u8 = 10;

#[derive(Clone, Debug)]
pub(super) enum Ast {
    /// The value itself.
    Current,
    Field(String),
    Literal(Value),
    /// One after the other: `a.b`, `a | b`.
    Then(Box<Ast>, Box<Ast>),
    /// A value and the steps that its brackets take, one after the other.
    Index(Vec<Ast>),
    At(i64),
    Slice([Option<i64>; 3]),
    Flatten(Box<Ast>),
    /// Each element of a list.
    Project(Box<Ast>, Box<Ast>),
    /// Each value of an object.
    ProjectValues(Box<Ast>, Box<Ast>),
    /// The elements of a list for which a condition holds.
    Filter(Box<Ast>, Box<Ast>),
    Equal(Box<Ast>, Box<Ast>),
    /// Whether the operator accepts the order of two values.
    Order(fn(Ordering) -> bool, Box<Ast>, Box<Ast>),
    Or(Box<Ast>, Box<Ast>),
    And(Box<Ast>, Box<Ast>),
    Not(Box<Ast>),
    List(Vec<Ast>),
    Object(Vec<(String, Ast)>),
    Call(String, Vec<Ast>),
    /// `&expression`, which a function applies.
    Reference(Box<Ast>),
}

impl Ast {
    /// Visits the node and all below it.
    pub fn walk(&self, visit: &mut impl FnMut(&Ast)) {
        visit(self);
        match self {
            Ast::Then(one, other)
            | Ast::Project(one, other)
            | Ast::ProjectValues(one, other)
            | Ast::Filter(one, other)
            | Ast::Equal(one, other)
            | Ast::Order(_, one, other)
            | Ast::Or(one, other)
            | Ast::And(one, other) => [one, other].into_iter().for_each(|node| node.walk(visit)),
            Ast::Flatten(of) | Ast::Not(of) | Ast::Reference(of) => of.walk(visit),
            Ast::Index(items) | Ast::List(items) | Ast::Call(_, items) => {
                items.iter().for_each(|node| node.walk(visit))
            }
            Ast::Object(entries) => entries.iter().for_each(|(_, node)| node.walk(visit)),
            Ast::Current | Ast::Field(_) | Ast::Literal(_) | Ast::At(_) | Ast::Slice(_) => {}
        }
    }
}

struct ExpressionParser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

pub(super) fn parse(tokens: Vec<Token>) -> Result<Ast, Fault> {
    let mut parser = ExpressionParser { tokens, at: 0, depth: 0 };
    let node = parser.expression(0)?;
    parser.expect(&Token::End)?;
    Ok(node)
}

impl ExpressionParser {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Token {
        self.tokens.get(self.at + count).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &Token) -> Result<(), Fault> {
        if self.eat(token) { Ok(()) } else { Err(Fault::new(format!("expected {token:?}, not {:?}", self.peek()))) }
    }

    fn expression(&mut self, power: u8) -> Result<Ast, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::new(format!("the expression is nested more than {MAX_DEPTH} deep")));
        }
        let mut left = self.first()?;
        let mut length = 0;
        while power < self.peek().power() {
            length += 1;
            if length > MAX_DEPTH {
                return Err(Fault::new(format!("the expression goes more than {MAX_DEPTH} steps")));
            }
            left = self.after(left)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The beginning of an expression.
    fn first(&mut self) -> Result<Ast, Fault> {
        Ok(match self.next() {
            Token::Literal(value) => Ast::Literal(value),
            Token::Name(name) => Ast::Field(name),
            Token::QuotedName(name) if *self.peek() == Token::LeftParen => {
                return Err(Fault::new(format!("\"{name}\": the name of a function has no quotes")));
            }
            Token::QuotedName(name) => Ast::Field(name),
            Token::Star => {
                let is_alone = *self.peek() == Token::RightBracket;
                let then = if is_alone { Ast::Current } else { self.projected(Token::Star.power())? };
                Ast::ProjectValues(Box::new(Ast::Current), Box::new(then))
            }
            Token::Filter => self.filter(Ast::Current)?,
            Token::LeftBrace => self.object()?,
            Token::LeftParen => {
                let node = self.expression(0)?;
                self.expect(&Token::RightParen)?;
                node
            }
            Token::Flatten => self.flatten(Ast::Current)?,
            Token::Not => Ast::Not(Box::new(self.expression(Token::Not.power())?)),
            Token::LeftBracket => match (self.peek(), self.ahead(1)) {
                (Token::Number(_) | Token::Colon, _) => {
                    let index = self.index()?;
                    self.indexed(vec![Ast::Current], index)?
                }
                (Token::Star, Token::RightBracket) => {
                    self.at += 2;
                    self.each(Ast::Current, Token::Star)?
                }
                _ => self.list()?,
            },
            Token::Current => Ast::Current,
            Token::ExprRef => Ast::Reference(Box::new(self.expression(0)?)),
            other => return Err(Fault::new(format!("an expression cannot begin with {other:?}"))),
        })
    }

    /// The continuation of an expression.
    fn after(&mut self, left: Ast) -> Result<Ast, Fault> {
        let token = self.next();
        let power = token.power();
        let holds: fn(Ordering) -> bool = match token {
            Token::LeftParen => return self.call(left),
            Token::Filter => return self.filter(left),
            Token::Flatten => return self.flatten(left),
            Token::LeftBracket => return self.bracket(left),
            Token::Dot if self.eat(&Token::Star) => {
                return Ok(Ast::ProjectValues(Box::new(left), Box::new(self.projected(power)?)));
            }
            Token::Dot => return Ok(Ast::Then(Box::new(left), Box::new(self.after_dot(power)?))),
            Token::Pipe => return Ok(Ast::Then(Box::new(left), Box::new(self.expression(power)?))),
            Token::Or => return Ok(Ast::Or(Box::new(left), Box::new(self.expression(power)?))),
            Token::And => return Ok(Ast::And(Box::new(left), Box::new(self.expression(power)?))),
            Token::Equal => return Ok(Ast::Equal(Box::new(left), Box::new(self.expression(power)?))),
            Token::NotEqual => {
                let equal = Ast::Equal(Box::new(left), Box::new(self.expression(power)?));
                return Ok(Ast::Not(Box::new(equal)));
            }
            Token::Less => Ordering::is_lt,
            Token::LessOrEqual => Ordering::is_le,
            Token::Greater => Ordering::is_gt,
            Token::GreaterOrEqual => Ordering::is_ge,
            other => return Err(Fault::new(format!("{other:?} is not expected here"))),
        };
        Ok(Ast::Order(holds, Box::new(left), Box::new(self.expression(power)?)))
    }

    fn call(&mut self, left: Ast) -> Result<Ast, Fault> {
        let Ast::Field(name) = left else { return Err(Fault::new("only a name can be called")) };
        let mut arguments = Vec::new();
        while !self.eat(&Token::RightParen) {
            arguments.push(self.expression(0)?);
            // Python does not require a comma.
            self.eat(&Token::Comma);
        }
        Ok(Ast::Call(name, arguments))
    }

    fn filter(&mut self, left: Ast) -> Result<Ast, Fault> {
        let condition = self.expression(0)?;
        self.expect(&Token::RightBracket)?;
        let then = if *self.peek() == Token::Flatten { Ast::Current } else { self.projected(Token::Filter.power())? };
        let filtered = Ast::Filter(Box::new(left), Box::new(condition));
        Ok(Ast::Project(Box::new(filtered), Box::new(then)))
    }

    fn flatten(&mut self, left: Ast) -> Result<Ast, Fault> {
        self.each(Ast::Flatten(Box::new(left)), Token::Flatten)
    }

    /// A projection of a list that this token begins.
    fn each(&mut self, list: Ast, token: Token) -> Result<Ast, Fault> {
        Ok(Ast::Project(Box::new(list), Box::new(self.projected(token.power())?)))
    }

    fn bracket(&mut self, left: Ast) -> Result<Ast, Fault> {
        if !matches!(self.peek(), Token::Number(_) | Token::Colon) {
            self.expect(&Token::Star)?;
            self.expect(&Token::RightBracket)?;
            return self.each(left, Token::Star);
        }
        let index = self.index()?;
        match left {
            // A slice after another index projects nothing: Python adds it to the same node.
            Ast::Index(mut steps) => {
                steps.push(index);
                Ok(Ast::Index(steps))
            }
            left => self.indexed(vec![left], index),
        }
    }

    fn indexed(&mut self, mut steps: Vec<Ast>, index: Ast) -> Result<Ast, Fault> {
        let is_slice = matches!(index, Ast::Slice(_));
        steps.push(index);
        let node = Ast::Index(steps);
        if is_slice { self.each(node, Token::Star) } else { Ok(node) }
    }

    /// The text after a `[`: `0]` or `1:5:2]`.
    fn index(&mut self) -> Result<Ast, Fault> {
        if let (Token::Number(place), false) = (self.peek().clone(), *self.ahead(1) == Token::Colon) {
            self.at += 1;
            self.expect(&Token::RightBracket)?;
            return Ok(Ast::At(place));
        }
        let mut parts = [None; 3];
        let mut part = 0;
        while !self.eat(&Token::RightBracket) {
            match self.next() {
                Token::Colon if part < 2 => part += 1,
                Token::Number(number) => parts.get_mut(part).into_iter().for_each(|part| *part = Some(number)),
                other => return Err(Fault::new(format!("{other:?} is not allowed in a slice"))),
            }
        }
        Ok(Ast::Slice(parts))
    }

    fn list(&mut self) -> Result<Ast, Fault> {
        let mut items = Vec::new();
        loop {
            items.push(self.expression(0)?);
            if self.eat(&Token::RightBracket) {
                return Ok(Ast::List(items));
            }
            self.expect(&Token::Comma)?;
        }
    }

    fn object(&mut self) -> Result<Ast, Fault> {
        let mut entries = Vec::new();
        loop {
            let (Token::Name(name) | Token::QuotedName(name)) = self.next() else {
                return Err(Fault::new("an entry of an object begins with its name"));
            };
            self.expect(&Token::Colon)?;
            entries.push((name, self.expression(0)?));
            // Python does not require a comma.
            if !self.eat(&Token::Comma) && self.eat(&Token::RightBrace) {
                return Ok(Ast::Object(entries));
            }
        }
    }

    /// The operation on each element of a projection.
    fn projected(&mut self, power: u8) -> Result<Ast, Fault> {
        match self.peek() {
            token if token.power() < PROJECTION_STOP => Ok(Ast::Current),
            Token::LeftBracket | Token::Filter => self.expression(power),
            Token::Dot => {
                self.at += 1;
                self.after_dot(power)
            }
            other => Err(Fault::new(format!("{other:?} cannot follow a projection"))),
        }
    }

    fn after_dot(&mut self, power: u8) -> Result<Ast, Fault> {
        match self.peek() {
            Token::Name(_) | Token::QuotedName(_) | Token::Star => self.expression(power),
            Token::LeftBracket => {
                self.at += 1;
                self.list()
            }
            Token::LeftBrace => {
                self.at += 1;
                self.object()
            }
            other => Err(Fault::new(format!("{other:?} cannot follow a `.`"))),
        }
    }
}
