//! What expressions give, as far as the text of a template shows.

use crate::jinja::syntax::tree::{Argument, BinaryOp, Expr, ExprKind, Literal, StatementKind};
use crate::jinja::syntax::{self};
use crate::jinja::value_kind::ValueKind;

/// The first kind that is known.
fn or(kind: ValueKind, other: impl FnOnce() -> ValueKind) -> ValueKind {
    if kind == ValueKind::Unknown { other() } else { kind }
}

/// What a name is that nothing in the template binds.
pub(super) fn of_free(name: &str) -> ValueKind {
    if name == "loop" { ValueKind::Loop } else { ValueKind::of_variable(name) }
}

/// What a parameter or variable most likely is, by its name alone.
pub(super) fn by_name(name: &str) -> ValueKind {
    match name {
        "message" | "msg" => ValueKind::Message,
        "tool_call" | "call" => ValueKind::Call,
        "tool" => ValueKind::Tool,
        "tool_calls" => ValueKind::Calls,
        _ => ValueKind::Unknown,
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
pub(super) fn of(expression: &Expr<'_>, name_of: &dyn Fn(&str) -> ValueKind) -> ValueKind {
    let of = |expression: &Expr<'_>| self::of(expression, name_of);
    match &expression.kind {
        ExprKind::Name(name) => name_of(name),
        ExprKind::Attribute(holder, key) => of(holder).under(key),
        ExprKind::Item(holder, key) => match &key.kind {
            ExprKind::Literal(Literal::Str(key)) => of(holder).under(key),
            _ => of(holder).item(),
        },
        ExprKind::Slice(holder, _) => of(holder),
        ExprKind::Filter(Some(holder), name, _) if KEEPING.contains(&name.as_str()) => of(holder),
        ExprKind::Filter(Some(holder), name, _) if matches!(name.as_str(), "first" | "last" | "random") => {
            of(holder).item()
        }
        ExprKind::Binary(BinaryOp::Or | BinaryOp::And | BinaryOp::Add, operands) => {
            or(of(&operands.0), || of(&operands.1))
        }
        ExprKind::Condition { then, otherwise, .. } => {
            or(of(then), || otherwise.as_ref().map_or(ValueKind::Unknown, |otherwise| of(otherwise)))
        }
        ExprKind::Call(callee, arguments) => match (&callee.kind, arguments.first()) {
            (ExprKind::Attribute(holder, "get"), Some(Argument::Positional(key))) => match &key.kind {
                ExprKind::Literal(Literal::Str(key)) => of(holder).under(key),
                _ => ValueKind::Unknown,
            },
            _ => ValueKind::Unknown,
        },
        _ => ValueKind::Unknown,
    }
}

/// What the items of an expression are.
pub(super) fn of_item(expression: &Expr<'_>, name_of: &dyn Fn(&str) -> ValueKind) -> ValueKind {
    of(expression, name_of).item()
}

/// What an expression gives that is a text of its own.
pub(super) fn of_text(expression: &str, name_of: &dyn Fn(&str) -> ValueKind) -> ValueKind {
    let tag = format!("{{{{ {expression} }}}}");
    let Ok(body) = syntax::parse(&tag) else { return ValueKind::Unknown };
    match body.first().map(|statement| &statement.kind) {
        Some(StatementKind::Output(expression)) => of(expression, name_of),
        _ => ValueKind::Unknown,
    }
}
