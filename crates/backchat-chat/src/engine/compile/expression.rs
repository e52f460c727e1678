//! Compiles expressions: the operations on a value become the links of a chain.

use minijinja::Value;

use super::{Compiler, LOOP, SELF};
use crate::builtins::filters::FILTERS;
use crate::builtins::names;
use crate::builtins::tests::TESTS;
use crate::engine::program::{
    Argument, Arguments, Attribute, Condition, Expression, ExpressionKind, Link, LinkKind, LoopField,
};
use crate::jinja::syntax::tree::{self, BinaryOp, Expr, ExprKind, Literal, Span, UnaryOp};
use crate::values::{Result, build, format, number, operators};

/// The value that an expression operates on, if it is an operation.
fn leftmost<'e, 's>(expression: &'e Expr<'s>) -> Option<&'e Expr<'s>> {
    match &expression.kind {
        ExprKind::Binary(_, operands) => Some(&operands.0),
        ExprKind::Test(of, name, arguments) if is_defined_test(of, name, arguments) => None,
        ExprKind::Call(of, _) => match &of.kind {
            ExprKind::Attribute(on, _) => Some(on),
            _ => Some(of),
        },
        ExprKind::Attribute(of, _)
        | ExprKind::Item(of, _)
        | ExprKind::Slice(of, _)
        | ExprKind::Filter(Some(of), ..)
        | ExprKind::Test(of, ..) => Some(of),
        _ => None,
    }
}

/// `name is defined` or `name is undefined`, which do not count as reading the variable.
fn is_defined_test(of: &Expr<'_>, name: &str, arguments: &[tree::Argument<'_>]) -> bool {
    matches!(name, "defined" | "undefined")
        && arguments.is_empty()
        && matches!(&of.kind, ExprKind::Name(name) if *name != SELF)
}

fn attribute(name: &str) -> Attribute {
    Attribute { name: name.into(), is_method: names::is_method(name) }
}

/// An expression with one more operation.
fn linked(mut expression: Expression, kind: LinkKind, span: &Span) -> Expression {
    let link = Link { kind, span: span.clone() };
    if let ExpressionKind::Chain(_, links) = &mut expression.kind {
        links.push(link);
        expression.span = span.clone();
        return expression;
    }
    Expression { kind: ExpressionKind::Chain(Box::new(expression), vec![link]), span: span.clone() }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::None => Value::from(()),
        Literal::Bool(value) => Value::from(*value),
        Literal::Int(digits) => number::literal(digits),
        Literal::Float(digits) => Value::from(number::parse_float(digits).unwrap_or(f64::NAN)),
        Literal::Str(text) => Value::from(text.as_str()),
    }
}

/// The values of constants, if these are all constants.
fn constants(items: &[Expression]) -> Option<Vec<Value>> {
    let constant = |item: &Expression| match &item.kind {
        ExpressionKind::Constant(value) => Some(value.clone()),
        _ => None,
    };
    items.iter().map(constant).collect()
}

impl<'s> Compiler<'s> {
    pub(super) fn expression(&mut self, expression: &Expr<'s>) -> Expression {
        let mut outer = Vec::new();
        let mut at = expression;
        while self.loop_field(at).is_none()
            && let Some(left) = leftmost(at)
        {
            outer.push(at);
            at = left;
        }
        let kind = self.base(at);
        let mut built = Expression { kind, span: at.span.clone() };
        while let Some(at) = outer.pop() {
            built = self.operation(built, at);
        }
        built
    }

    fn expressions(&mut self, expressions: &[Expr<'s>]) -> Vec<Expression> {
        expressions.iter().map(|expression| self.expression(expression)).collect()
    }

    /// A list or tuple: a constant if its items are.
    fn sequence(
        &mut self,
        items: &[Expr<'s>],
        build: fn(Vec<Value>) -> Result<Value>,
        computed: fn(Box<[Expression]>) -> ExpressionKind,
    ) -> ExpressionKind {
        let items = self.expressions(items);
        let constant = constants(&items).and_then(|items| build(items).ok());
        constant.map_or_else(|| computed(items.into()), ExpressionKind::Constant)
    }

    /// `loop.index` and the like, if the loop belongs to the same function.
    fn loop_field(&self, expression: &Expr<'s>) -> Option<ExpressionKind> {
        let ExprKind::Attribute(of, field) = &expression.kind else { return None };
        if !matches!(of.kind, ExprKind::Name(LOOP)) {
            return None;
        }
        let scope = self.open_functions.last()?.scopes.iter().rev().find(|scope| scope.bound.contains_key(LOOP))?;
        Some(ExpressionKind::Loop(scope.level?, LoopField::named(field)?))
    }

    /// An expression that is not an operation on another value.
    fn base(&mut self, expression: &Expr<'s>) -> ExpressionKind {
        match &expression.kind {
            ExprKind::Name(name) => ExpressionKind::Name(self.name(name)),
            ExprKind::Literal(constant) => ExpressionKind::Constant(literal(constant)),
            ExprKind::List(items) => self.sequence(items, build::list, ExpressionKind::List),
            ExprKind::Tuple(items) => self.sequence(items, build::tuple, ExpressionKind::Tuple),
            ExprKind::Dict(entries) => ExpressionKind::Dict(
                entries.iter().map(|(key, value)| (self.expression(key), self.expression(value))).collect(),
            ),
            ExprKind::Unary(UnaryOp::Not, operand) => ExpressionKind::Not(Box::new(self.expression(operand))),
            ExprKind::Unary(operator, operand) => {
                let operator = if *operator == UnaryOp::Neg { operators::neg } else { operators::pos };
                let operand = self.expression(operand);
                match &operand.kind {
                    ExpressionKind::Constant(value) if let Ok(value) = operator(value) => {
                        ExpressionKind::Constant(value)
                    }
                    _ => linked(operand, LinkKind::Unary(operator), &expression.span).kind,
                }
            }
            ExprKind::Compare(first, rest) => {
                let first = Box::new(self.expression(first));
                let rest = rest.iter().map(|(operator, operand)| (*operator, self.expression(operand)));
                ExpressionKind::Compare(first, rest.collect())
            }
            ExprKind::Concat(parts) => ExpressionKind::Concat(self.expressions(parts).into()),
            ExprKind::Condition { test, then, otherwise } => ExpressionKind::Condition(Box::new(Condition {
                test: self.expression(test),
                then: self.expression(then),
                otherwise: otherwise.as_ref().map(|otherwise| self.expression(otherwise)),
            })),
            ExprKind::Test(of, test, _) if let ExprKind::Name(name) = &of.kind => {
                ExpressionKind::Defined(self.name(name), test == "defined")
            }
            ExprKind::Filter(None, name, arguments) => {
                let captured = Expression { kind: ExpressionKind::Captured, span: expression.span.clone() };
                let filter = LinkKind::Filter(FILTERS.find(name), name.as_str().into(), self.arguments(arguments));
                linked(captured, filter, &expression.span).kind
            }
            // Everything else operates on a value or is a field of the loop.
            _ => self.loop_field(expression).unwrap_or(ExpressionKind::Constant(Value::UNDEFINED)),
        }
    }

    /// The operation of an expression on its operand.
    fn operation(&mut self, left: Expression, expression: &Expr<'s>) -> Expression {
        let span = &expression.span;
        let link = match &expression.kind {
            ExprKind::Binary(operator @ (BinaryOp::And | BinaryOp::Or), operands) => {
                let right = self.expression(&operands.1);
                let is_and = *operator == BinaryOp::And;
                let mut parts = match left.kind {
                    ExpressionKind::And(parts) if is_and => parts,
                    ExpressionKind::Or(parts) if !is_and => parts,
                    _ => vec![left],
                };
                parts.push(right);
                let kind = if is_and { ExpressionKind::And(parts) } else { ExpressionKind::Or(parts) };
                return Expression { kind, span: span.clone() };
            }
            ExprKind::Binary(operator, operands) => {
                let right = self.expression(&operands.1);
                match operator {
                    BinaryOp::Sub => LinkKind::Binary(operators::sub, right),
                    BinaryOp::Mul => LinkKind::Binary(operators::mul, right),
                    BinaryOp::Div => LinkKind::Binary(operators::div, right),
                    BinaryOp::FloorDiv => LinkKind::Binary(operators::floor_div, right),
                    BinaryOp::Rem => LinkKind::Binary(format::remainder, right),
                    BinaryOp::Pow => LinkKind::Binary(operators::pow, right),
                    BinaryOp::Add | BinaryOp::And | BinaryOp::Or => LinkKind::Add(right),
                }
            }
            ExprKind::Attribute(_, name) => LinkKind::Attribute(attribute(name)),
            ExprKind::Item(_, key) => LinkKind::Item(self.expression(key)),
            ExprKind::Slice(_, bounds) => LinkKind::Slice(Box::new(
                bounds.each_ref().map(|bound| bound.as_ref().map(|bound| self.expression(bound))),
            )),
            ExprKind::Call(of, arguments) => {
                let arguments = self.arguments(arguments);
                match &of.kind {
                    ExprKind::Attribute(_, name) => LinkKind::Method(attribute(name), arguments),
                    _ => LinkKind::Call(arguments),
                }
            }
            ExprKind::Filter(_, name, arguments) => {
                LinkKind::Filter(FILTERS.find(name), name.as_str().into(), self.arguments(arguments))
            }
            ExprKind::Test(_, name, arguments) => {
                LinkKind::Test(TESTS.find(name), name.as_str().into(), self.arguments(arguments))
            }
            _ => return left,
        };
        linked(left, link, span)
    }

    fn arguments(&mut self, arguments: &[tree::Argument<'s>]) -> Arguments {
        let given = arguments.iter().map(|argument| match argument {
            tree::Argument::Positional(value) => Argument::Positional(self.expression(value)),
            tree::Argument::Keyword(name, value) => Argument::Keyword((*name).into(), self.expression(value)),
            tree::Argument::Spread(value) => Argument::Spread(self.expression(value)),
            tree::Argument::KeywordSpread(value) => Argument::KeywordSpread(self.expression(value)),
        });
        Arguments { given: given.collect(), caller: None }
    }
}
