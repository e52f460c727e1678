//! Expressions, with Python's operators as filters.

use std::fmt::Write;

use super::{SELF, Writer};
use crate::chat::builtins::names;
use crate::chat::jinja::intrinsics;
use crate::chat::jinja::syntax::tree::{Argument, BinaryOp, CompareOp, Expr, ExprKind, Literal, UnaryOp};

impl<'s> Writer<'_, 's> {
    pub(super) fn name(&mut self, name: &str) {
        if name == SELF {
            return self.own_blocks();
        }
        if self.survey.is_from_context(name) {
            self.put(intrinsics::CONTEXT);
            self.put(".");
        }
        self.put(name);
    }

    /// `self`: the template's blocks, unless the template took the name for a variable of its own.
    fn own_blocks(&mut self) {
        if self.survey.bound.contains(SELF) {
            return self.put(intrinsics::BOUND_SELF);
        }
        self.put("([");
        for block in &self.survey.blocks {
            let _ = write!(self.out, "\"{block}\",");
        }
        self.put("]");
        self.apply(intrinsics::OWN_BLOCKS);
        self.put(")");
    }

    pub(super) fn string(&mut self, text: &str) {
        self.put("\"");
        for c in text.chars() {
            if matches!(c, '"' | '\\') {
                self.put("\\");
            }
            self.out.push(c);
        }
        self.put("\"");
    }

    pub(super) fn expression(&mut self, expression: &Expr<'s>) {
        let start = self.out.len();
        self.bare(expression);
        self.places.push((start..self.out.len(), expression.span.clone()));
    }

    /// An expression whose value is printed and nothing else: long text in it is not put together first.
    pub(super) fn printed(&mut self, expression: &Expr<'s>) {
        // Where text is escaped, it matters what its parts were.
        if self.survey.escapes {
            return self.expression(expression);
        }
        let start = self.out.len();
        match &expression.kind {
            ExprKind::Binary(BinaryOp::Add, operands) => {
                self.printed(&operands.0);
                let _ = write!(self.out, "|{}(", intrinsics::ADD_PRINTED);
                self.expression(&operands.1);
                self.put(")");
            }
            ExprKind::Concat(parts) => self.concat(parts, intrinsics::CONCAT_PRINTED),
            ExprKind::Condition { test, then, otherwise } => {
                self.condition(test, then, otherwise.as_deref(), Self::printed);
            }
            _ => return self.expression(expression),
        }
        self.places.push((start..self.out.len(), expression.span.clone()));
    }

    fn concat(&mut self, parts: &[Expr<'s>], filter: &str) {
        if let [first, rest @ ..] = parts {
            self.filter(first, filter, &rest.iter().collect::<Vec<_>>());
        }
    }

    fn condition(
        &mut self,
        test: &Expr<'s>,
        then: &Expr<'s>,
        otherwise: Option<&Expr<'s>>,
        write: impl Fn(&mut Self, &Expr<'s>),
    ) {
        self.put("(");
        write(self, then);
        self.put(" if ");
        self.expression(test);
        if let Some(otherwise) = otherwise {
            self.put(" else ");
            write(self, otherwise);
        }
        self.put(")");
    }

    /// An expression to look into or to call, which binds tighter than a filter does.
    fn base(&mut self, expression: &Expr<'s>) {
        let plain = match &expression.kind {
            ExprKind::Name(_) => true,
            ExprKind::Item(_, key) => is_plain_key(key),
            ExprKind::Attribute(of, name) => !becomes_filter(of, name),
            ExprKind::Call(of, arguments) => !is_empty_cycle(of, arguments),
            ExprKind::List(items) => items.iter().all(is_constant),
            ExprKind::Literal(literal) => matches!(literal, Literal::Str(_)),
            _ => false,
        };
        if plain {
            self.expression(expression);
        } else {
            self.put("(");
            self.expression(expression);
            self.put(")");
        }
    }

    fn filter(&mut self, value: &Expr<'s>, name: &str, arguments: &[&Expr<'s>]) {
        self.expression(value);
        self.put("|");
        self.put(name);
        if !arguments.is_empty() {
            self.put("(");
            for (index, argument) in arguments.iter().enumerate() {
                if index > 0 {
                    self.put(",");
                }
                self.expression(argument);
            }
            self.put(")");
        }
    }

    fn sequence(&mut self, items: &[Expr<'s>]) {
        self.put("[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.put(",");
            }
            self.expression(item);
        }
        self.put("]");
    }

    fn bare(&mut self, expression: &Expr<'s>) {
        match &expression.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::List(items) => {
                self.sequence(items);
                if !items.iter().all(is_constant) {
                    self.apply(intrinsics::LIST);
                }
            }
            ExprKind::Tuple(items) => {
                self.sequence(items);
                self.apply(intrinsics::TUPLE);
            }
            ExprKind::Dict(entries) => {
                self.put("[");
                for (key, value) in entries {
                    self.expression(key);
                    self.put(",");
                    self.expression(value);
                    self.put(",");
                }
                self.put("]");
                self.apply(intrinsics::DICT);
            }
            ExprKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExprKind::Binary(operator, operands) => self.binary(*operator, &operands.0, &operands.1),
            ExprKind::Compare(first, rest) => self.comparison(first, rest),
            ExprKind::Concat(parts) => self.concat(parts, intrinsics::CONCAT),
            ExprKind::Condition { test, then, otherwise } => {
                self.condition(test, then, otherwise.as_deref(), Self::expression);
            }
            ExprKind::Attribute(of, name) => self.attribute(of, name),
            ExprKind::Item(of, key) if is_plain_key(key) => {
                self.base(of);
                self.put("[");
                self.expression(key);
                self.put("]");
            }
            ExprKind::Item(of, key) => self.filter(of, intrinsics::ITEM, &[key]),
            ExprKind::Slice(of, bounds) => {
                self.expression(of);
                self.apply(intrinsics::SLICE);
                self.put("(");
                for (index, bound) in bounds.iter().enumerate() {
                    if index > 0 {
                        self.put(",");
                    }
                    match bound {
                        Some(bound) => self.expression(bound),
                        None => self.put("none"),
                    }
                }
                self.put(")");
            }
            ExprKind::Call(of, arguments) => self.call(of, arguments),
            ExprKind::Filter(of, name, arguments) => {
                if let Some(of) = of {
                    self.expression(of);
                    self.put("|");
                }
                self.put(name);
                if !arguments.is_empty() {
                    self.arguments(arguments);
                }
            }
            ExprKind::Test(of, name, arguments) => self.test(of, name, arguments),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::None => self.put("none"),
            Literal::Bool(true) => self.put("true"),
            Literal::Bool(false) => self.put("false"),
            Literal::Int(digits) | Literal::Float(digits) => self.put(digits),
            Literal::Str(text) => self.string(text),
        }
    }

    fn unary(&mut self, operator: UnaryOp, operand: &Expr<'s>) {
        match (operator, &operand.kind) {
            (UnaryOp::Not, _) => {
                self.put("(not ");
                self.expression(operand);
                self.put(")");
            }
            (UnaryOp::Neg, ExprKind::Literal(Literal::Int(digits) | Literal::Float(digits))) => {
                let _ = write!(self.out, "(-{digits})");
            }
            (UnaryOp::Neg, _) => self.filter(operand, intrinsics::NEG, &[]),
            (UnaryOp::Pos, _) => self.filter(operand, intrinsics::POS, &[]),
        }
    }

    fn binary(&mut self, operator: BinaryOp, left: &Expr<'s>, right: &Expr<'s>) {
        let filter = match operator {
            BinaryOp::And | BinaryOp::Or => {
                self.put("(");
                self.expression(left);
                self.put(if operator == BinaryOp::And { " and " } else { " or " });
                self.expression(right);
                self.put(")");
                return;
            }
            BinaryOp::Add => intrinsics::ADD,
            BinaryOp::Sub => intrinsics::SUB,
            BinaryOp::Mul => intrinsics::MUL,
            BinaryOp::Div => intrinsics::DIV,
            BinaryOp::FloorDiv => intrinsics::FLOOR_DIV,
            BinaryOp::Rem => intrinsics::REM,
            BinaryOp::Pow => intrinsics::POW,
        };
        self.filter(left, filter, &[right]);
    }

    /// `a < b < c` is `a < b and b < c`.
    fn comparison(&mut self, first: &Expr<'s>, rest: &[(CompareOp, Expr<'s>)]) {
        self.put("(");
        let mut left = first;
        for (index, (operator, right)) in rest.iter().enumerate() {
            if index > 0 {
                self.put(" and ");
            }
            match operator {
                // The engine compares with a constant as Python does.
                CompareOp::Eq | CompareOp::Ne if is_plain(left) || is_plain(right) => {
                    self.expression(left);
                    self.put(if *operator == CompareOp::Eq { "==" } else { "!=" });
                    self.expression(right);
                }
                CompareOp::Eq => self.filter(left, intrinsics::EQ, &[right]),
                CompareOp::Ne => self.filter(left, intrinsics::NE, &[right]),
                CompareOp::Lt => self.filter(left, intrinsics::LT, &[right]),
                CompareOp::Le => self.filter(left, intrinsics::LE, &[right]),
                CompareOp::Gt => self.filter(left, intrinsics::GT, &[right]),
                CompareOp::Ge => self.filter(left, intrinsics::GE, &[right]),
                CompareOp::In => self.filter(left, intrinsics::IN, &[right]),
                CompareOp::NotIn => self.filter(left, intrinsics::NOT_IN, &[right]),
            }
            left = right;
        }
        self.put(")");
    }

    fn attribute(&mut self, of: &Expr<'s>, name: &str) {
        if becomes_filter(of, name) {
            self.expression(of);
            let _ = write!(self.out, "|{}(\"{name}\")", intrinsics::ATTRIBUTE);
        } else {
            self.base(of);
            self.put(".");
            self.put(name);
        }
    }

    fn call(&mut self, of: &Expr<'s>, arguments: &[Argument<'s>]) {
        match &of.kind {
            _ if is_empty_cycle(of, arguments) => {
                self.string("loop.cycle() has no items to choose from");
                self.apply(intrinsics::REFUSE);
                return;
            }
            ExprKind::Attribute(on, name) => {
                let start = self.out.len();
                self.base(on);
                let _ = write!(self.out, ".{name}");
                self.places.push((start..self.out.len(), of.span.clone()));
            }
            ExprKind::Name(name) if *name != SELF && !self.survey.is_from_context(name) => self.put(name),
            _ => {
                self.put("(");
                self.expression(of);
                self.put(")");
            }
        }
        // `loop.changed` keeps its arguments, and the engine compares them with the next ones.
        let weighed =
            matches!(&of.kind, ExprKind::Attribute(on, "changed") if matches!(on.kind, ExprKind::Name("loop")));
        self.arguments_with(arguments, weighed.then_some(intrinsics::WEIGHED));
    }

    fn arguments(&mut self, arguments: &[Argument<'s>]) {
        self.arguments_with(arguments, None);
    }

    /// Arguments, each passed through a filter if one is given.
    fn arguments_with(&mut self, arguments: &[Argument<'s>], filter: Option<&str>) {
        self.put("(");
        for (index, argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.put(",");
            }
            match argument {
                Argument::Positional(_) => {}
                Argument::Keyword(name, _) => {
                    let _ = write!(self.out, "{name}=");
                }
                Argument::Spread(_) => self.put("*"),
                Argument::KeywordSpread(_) => self.put("**"),
            }
            self.expression(argument.value());
            if let Some(filter) = filter {
                self.apply(filter);
            }
        }
        self.put(")");
    }

    fn test(&mut self, of: &Expr<'s>, name: &str, arguments: &[Argument<'s>]) {
        // This test of a variable does not count as a read.
        if let (ExprKind::Name(variable), "defined" | "undefined", []) = (&of.kind, name, arguments)
            && *variable != SELF
        {
            self.put(if name == "defined" { "(\"" } else { "(not \"" });
            self.put(variable);
            self.put("\"");
            self.apply(intrinsics::DEFINED);
            self.put(")");
            return;
        }
        if name == "in"
            && let [Argument::Positional(container)] = arguments
        {
            self.put("(");
            self.filter(of, intrinsics::IN, &[container]);
            self.put(")");
            return;
        }
        self.put("(");
        self.expression(of);
        let _ = write!(self.out, " is {name}");
        if !arguments.is_empty() {
            self.arguments(arguments);
        }
        self.put(")");
    }
}

/// The longest text that the engine may compare or skip without being charged for it.
const SHORT: usize = 256;

/// Whether the engine may compare with this: a constant, and not a long one.
fn is_plain(expression: &Expr<'_>) -> bool {
    match &expression.kind {
        ExprKind::Literal(Literal::Str(text)) => text.len() <= SHORT,
        ExprKind::Literal(_) => true,
        _ => false,
    }
}

/// Whether the engine finds an item by this key as Python does, and without a long way through a text.
fn is_plain_key(key: &Expr<'_>) -> bool {
    if let Some(name) = key.as_str() {
        return name.len() <= SHORT && !names::is_method(name);
    }
    match &key.kind {
        ExprKind::Literal(Literal::Int(digits)) => digits.parse::<usize>().is_ok_and(|index| index <= SHORT),
        _ => false,
    }
}

fn is_constant(expression: &Expr<'_>) -> bool {
    match &expression.kind {
        ExprKind::Literal(_) => true,
        ExprKind::List(items) => items.iter().all(is_constant),
        _ => false,
    }
}

/// Whether an attribute is looked up by a filter, as it may be a method.
fn becomes_filter(of: &Expr<'_>, name: &str) -> bool {
    // The loop has an index of its own.
    names::is_method(name) && !matches!(of.kind, ExprKind::Name("loop"))
}

/// `loop.cycle()`, on which the engine would divide by zero.
fn is_empty_cycle(of: &Expr<'_>, arguments: &[Argument<'_>]) -> bool {
    let of_loop = |on: &Expr<'_>| matches!(on.kind, ExprKind::Name("loop"));
    arguments.is_empty() && matches!(&of.kind, ExprKind::Attribute(on, "cycle") if of_loop(on))
}
