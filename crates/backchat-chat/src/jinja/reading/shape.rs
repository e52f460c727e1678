//! What values are, as far as the text of a template shows: a message, a call, a tool.

use crate::jinja::syntax::tree::{Argument, BinaryOp, Expr, ExprKind, Literal, StatementKind};
use crate::jinja::syntax::{self};

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    #[default]
    Unknown,
    Messages,
    Message,
    /// The content of a message, which is a text or a list of parts.
    Content,
    Part,
    Calls,
    Call,
    /// The function of a call.
    Function,
    Arguments,
    Tools,
    Tool,
    /// The function of a tool.
    Signature,
    Loop,
    /// A namespace, by the number of its binding.
    Namespace(usize),
}

impl Shape {
    /// What this one gives under a key.
    fn key(self, key: &str) -> Self {
        match (self, key) {
            (Self::Message, "tool_calls") => Self::Calls,
            (Self::Message, "content") => Self::Content,
            (Self::Call, "function") => Self::Function,
            (Self::Function | Self::Call, "arguments") => Self::Arguments,
            (Self::Tool, "function") => Self::Signature,
            _ => Self::Unknown,
        }
    }

    /// What its items are.
    fn element(self) -> Self {
        match self {
            Self::Messages => Self::Message,
            Self::Calls => Self::Call,
            Self::Tools => Self::Tool,
            Self::Content => Self::Part,
            _ => Self::Unknown,
        }
    }

    fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::Unknown { other() } else { self }
    }
}

/// What a name is that nothing in the template binds.
pub(super) fn of_free(name: &str) -> Shape {
    match name {
        "messages" => Shape::Messages,
        "tools" => Shape::Tools,
        "loop" => Shape::Loop,
        _ => Shape::Unknown,
    }
}

/// What a parameter or variable most likely is, by its name alone.
pub(super) fn by_name(name: &str) -> Shape {
    match name {
        "message" | "msg" => Shape::Message,
        "tool_call" | "call" => Shape::Call,
        "tool" => Shape::Tool,
        "tool_calls" => Shape::Calls,
        _ => Shape::Unknown,
    }
}

/// Filters that keep what a list holds.
const KEEPING: [&str; 12] = [
    "d",
    "default",
    "list",
    "reject",
    "rejectattr",
    "reverse",
    "safe",
    "select",
    "selectattr",
    "sort",
    "trim",
    "unique",
];

/// What an expression gives, with what its names are.
pub(super) fn of(expression: &Expr<'_>, name_of: &dyn Fn(&str) -> Shape) -> Shape {
    let of = |expression: &Expr<'_>| self::of(expression, name_of);
    match &expression.kind {
        ExprKind::Name(name) => name_of(name),
        ExprKind::Attribute(holder, key) => of(holder).key(key),
        ExprKind::Item(holder, key) => match &key.kind {
            ExprKind::Literal(Literal::Str(key)) => of(holder).key(key),
            _ => of(holder).element(),
        },
        ExprKind::Slice(holder, _) => of(holder),
        ExprKind::Filter(Some(holder), name, _) if KEEPING.contains(&name.as_str()) => of(holder),
        ExprKind::Filter(Some(holder), name, _) if matches!(name.as_str(), "first" | "last" | "random") => {
            of(holder).element()
        }
        ExprKind::Binary(BinaryOp::Or | BinaryOp::And | BinaryOp::Add, operands) => {
            of(&operands.0).or(|| of(&operands.1))
        }
        ExprKind::Condition { then, otherwise, .. } => {
            of(then).or(|| otherwise.as_ref().map_or(Shape::Unknown, |otherwise| of(otherwise)))
        }
        ExprKind::Call(callee, arguments) => match (&callee.kind, arguments.first()) {
            (ExprKind::Attribute(holder, "get"), Some(Argument::Positional(key))) => match &key.kind {
                ExprKind::Literal(Literal::Str(key)) => of(holder).key(key),
                _ => Shape::Unknown,
            },
            _ => Shape::Unknown,
        },
        _ => Shape::Unknown,
    }
}

/// What the items of an expression are.
pub(super) fn of_element(expression: &Expr<'_>, name_of: &dyn Fn(&str) -> Shape) -> Shape {
    of(expression, name_of).element()
}

/// What an expression gives that is a text of its own.
pub(super) fn of_text(expression: &str, name_of: &dyn Fn(&str) -> Shape) -> Shape {
    let tag = format!("{{{{ {expression} }}}}");
    let Ok(body) = syntax::parse(&tag) else { return Shape::Unknown };
    match body.first().map(|statement| &statement.kind) {
        Some(StatementKind::Output(expression)) => of(expression, name_of),
        _ => Shape::Unknown,
    }
}
