//! Expressions that always have the same value.

use crate::jinja::syntax::tree::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

/// A constant that decides a condition.
pub(super) fn constant_truth(expression: &Expr<'_>) -> Option<bool> {
    match &expression.kind {
        ExprKind::Literal(Literal::None) => Some(false),
        ExprKind::Literal(Literal::Bool(value)) => Some(*value),
        ExprKind::Literal(Literal::Str(text)) => Some(!text.is_empty()),
        ExprKind::Unary(UnaryOp::Not, operand) => constant_truth(operand).map(|truth| !truth),
        ExprKind::Binary(BinaryOp::And, operands) => match (constant_truth(&operands.0), constant_truth(&operands.1)) {
            (Some(false), _) => Some(false),
            (Some(true), second) => second,
            (None, _) => None,
        },
        ExprKind::Binary(BinaryOp::Or, operands) => match (constant_truth(&operands.0), constant_truth(&operands.1)) {
            (Some(true), _) => Some(true),
            (Some(false), second) => second,
            (None, _) => None,
        },
        _ => None,
    }
}

/// A text that an expression always is.
pub(super) fn constant_text(expression: &Expr<'_>) -> Option<String> {
    match &expression.kind {
        ExprKind::Literal(Literal::Str(text)) => Some(text.clone()),
        ExprKind::Binary(BinaryOp::Add, operands) => Some(constant_text(&operands.0)? + &constant_text(&operands.1)?),
        ExprKind::Concat(parts) => parts.iter().map(constant_text).collect(),
        _ => None,
    }
}
