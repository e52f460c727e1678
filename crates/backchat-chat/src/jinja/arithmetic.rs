//! Arithmetic undone: what a setting must be for a number that is computed from it to be a certain one.

use crate::jinja::syntax::tree::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};
use backchat_core::{json, push_new};

/// The filters that make a number of a text, or another one of a number.
pub(super) const NUMERIC: [&str; 4] = ["int", "float", "round", "abs"];

/// What is done to a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// It is the left side of this operator, and a number the right one.
    With(BinaryOp, f64),
    /// It is taken from this number.
    From(f64),
    /// Its sign is dropped.
    Abs,
}

impl Step {
    /// The last step of an expression, and what it is done to. A filter that only rounds or reads a number is no step.
    pub(super) fn last<'e, 's>(expression: &'e Expr<'s>) -> Option<(Option<Self>, &'e Expr<'s>)> {
        match &expression.kind {
            ExprKind::Unary(UnaryOp::Neg, of) => Some((Some(Self::From(0.0)), of)),
            ExprKind::Filter(Some(of), name, _) if NUMERIC.contains(&name.as_str()) => {
                Some(((name == "abs").then_some(Self::Abs), of))
            }
            ExprKind::Binary(operator, sides) => {
                let (step, of) = Self::of_sides(*operator, &sides.0, &sides.1)?;
                Some((Some(step), of))
            }
            _ => None,
        }
    }

    fn of_sides<'e, 's>(operator: BinaryOp, left: &'e Expr<'s>, right: &'e Expr<'s>) -> Option<(Self, &'e Expr<'s>)> {
        if matches!(operator, BinaryOp::Pow | BinaryOp::And | BinaryOp::Or) {
            return None;
        }
        match (literal(left), literal(right), operator) {
            (None, Some(other), _) => Some((Self::With(operator, other.as_f64()?), left)),
            (Some(other), None, BinaryOp::Add | BinaryOp::Mul) => Some((Self::With(operator, other.as_f64()?), right)),
            (Some(other), None, BinaryOp::Sub) => Some((Self::From(other.as_f64()?), right)),
            _ => None,
        }
    }

    /// The values that it makes this one of.
    fn undone(self, result: &json::Value) -> Vec<json::Value> {
        let Some(number) = result.as_f64() else { return Vec::new() };
        let numbers = match self {
            Self::With(BinaryOp::Add, other) => vec![number - other],
            Self::With(BinaryOp::Sub, other) => vec![number + other],
            Self::With(BinaryOp::Mul, other) => vec![number / other],
            Self::With(BinaryOp::Div | BinaryOp::FloorDiv, other) => vec![number * other],
            Self::From(other) => vec![other - number],
            Self::Abs if number < 0.0 => Vec::new(),
            Self::Abs => vec![number, -number],
            // A remainder is one of itself.
            Self::With(..) => vec![number],
        };
        numbers.into_iter().filter(|number| number.is_finite()).map(value).collect()
    }
}

/// How many values are found at most: each dropped sign doubles them.
const MOST_SOLUTIONS: usize = 16;

/// What a value must be for these steps to make this one of it.
pub(super) fn solved(steps: &[Step], result: json::Value) -> Vec<json::Value> {
    steps.iter().rev().fold(vec![result], |results, step| {
        let mut undone: Vec<json::Value> = Vec::new();
        for value in results.iter().flat_map(|result| step.undone(result)) {
            if undone.len() < MOST_SOLUTIONS {
                push_new(&mut undone, value);
            }
        }
        undone
    })
}

/// A number as a value: one without a fraction is an integer.
fn value(number: f64) -> json::Value {
    // A float holds every whole number up to this one.
    let is_whole = number.fract() == 0.0 && number.abs() <= 2_f64.powi(53);
    if is_whole { (number as i64).into() } else { number.into() }
}

/// The value that an expression spells, if that is a constant.
pub(super) fn literal(expression: &Expr<'_>) -> Option<json::Value> {
    match &expression.kind {
        ExprKind::Literal(literal) => Some(constant(literal)),
        ExprKind::Unary(UnaryOp::Neg, of) => match &of.kind {
            ExprKind::Literal(Literal::Int(_) | Literal::Float(_)) => literal(of)?.as_f64().map(|it| value(-it)),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn constant(literal: &Literal) -> json::Value {
    match literal {
        Literal::None => json::Value::Null,
        Literal::Bool(value) => json::Value::Bool(*value),
        Literal::Int(digits) => digits.parse::<i64>().map_or(json::Value::Null, json::Value::from),
        Literal::Float(digits) => digits.parse::<f64>().map_or(json::Value::Null, json::Value::from),
        Literal::Str(text) => json::Value::from(text.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sign_that_is_dropped_has_two_values_within_a_limit() {
        let less = |other: f64| Step::With(BinaryOp::Sub, other);
        let cases: [(&[Step], i64, &[i64]); 6] = [
            (&[], 3, &[3]),
            (&[less(1.0)], 3, &[4]),
            (&[Step::Abs], 3, &[3, -3]),
            (&[Step::Abs; 64], 3, &[3, -3]),
            (&[Step::Abs], -3, &[]),
            (&[less(1.0), Step::Abs, less(2.0), Step::Abs], 1, &[4, -2, 2, 0]),
        ];
        for (steps, result, expected) in cases {
            let expected: Vec<json::Value> = expected.iter().map(|value| (*value).into()).collect();
            assert_eq!(solved(steps, result.into()), expected, "{steps:?} of {result}");
        }
        // Each number is so much larger than those before it that no value that is undone is negative.
        let folded: Vec<Step> = (1..6).rev().flat_map(|power| [Step::From(1000_f64.powi(power)), Step::Abs]).collect();
        assert_eq!(solved(&folded, 3.into()).len(), MOST_SOLUTIONS);
    }
}
