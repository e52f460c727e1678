//! Numbers as Python computes with them: integers stay integers, and compare exactly with floats.

use std::cmp::Ordering;

use crate::schema::fault::Fault;
use backchat_core::json::{Number, Value};

/// The sum of the numbers among some values: an integer until the first float is added.
pub(super) fn sum(items: &[Value]) -> Result<Number, Fault> {
    let (mut whole, mut float) = (0_i128, None);
    for item in items {
        let Value::Number(number) = item else { continue };
        let int = match number.is_integer() {
            true => Some(number.as_str().parse::<i128>().map_err(|_| "an integer is too large to add")?),
            false => None,
        };
        match (int, float) {
            (Some(int), None) => whole = whole.checked_add(int).ok_or("the sum is too large an integer")?,
            _ => float = Some(float.unwrap_or(whole as f64) + int.map_or(number.as_f64(), |int| int as f64)),
        }
    }
    Ok(float.map_or_else(|| Number::from_text(whole.to_string()), Number::from))
}

/// The integer of a text of digits.
pub(super) fn integer(digits: &str) -> Value {
    Value::Number(Number::from_text(if digits == "-0" { "0" } else { digits }))
}

/// The integer that a float without a fraction is; `None` for NaN and infinities.
pub(super) fn whole(value: f64) -> Option<Value> {
    value.is_finite().then(|| integer(&format!("{value:.0}")))
}

/// Compares numbers as Python does; `None` if one is NaN.
pub(super) fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.is_integer(), other.is_integer()) {
        (true, true) => Some(compare_digits(one.as_str(), other.as_str())),
        (false, false) => one.as_f64().partial_cmp(&other.as_f64()),
        (true, false) => compare_mixed(one.as_str(), other.as_f64()),
        (false, true) => compare_mixed(other.as_str(), one.as_f64()).map(Ordering::reverse),
    }
}

fn compare_mixed(integer: &str, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let below = format!("{:.0}", float.trunc());
    Some(compare_digits(integer, &below).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))))
}

/// Compares two integers of any length.
fn compare_digits(one: &str, other: &str) -> Ordering {
    let parts = |text: &str| {
        let digits = text.trim_start_matches('-').trim_start_matches('0').to_owned();
        (text.starts_with('-') && !digits.is_empty(), digits)
    };
    let ((one_negative, one), (other_negative, other)) = (parts(one), parts(other));
    let size = one.len().cmp(&other.len()).then_with(|| one.cmp(&other));
    match (one_negative, other_negative) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let cases = [
            ("1", "1.0", Some(Ordering::Equal)),
            ("-0", "0", Some(Ordering::Equal)),
            ("9007199254740993", "9007199254740992.0", Some(Ordering::Greater)),
            ("-3", "-2.5", Some(Ordering::Less)),
            ("-2", "-2.5", Some(Ordering::Greater)),
            ("2", "2.5", Some(Ordering::Less)),
            ("100000000000000000000000000000000000000000", "Infinity", Some(Ordering::Less)),
            ("1", "NaN", None),
            ("-10", "-9", Some(Ordering::Less)),
        ];
        for (one, other, want) in cases {
            let (one, other) = (Number::from_text(one), Number::from_text(other));
            assert_eq!(compare(&one, &other), want, "{one:?} {other:?}");
            assert_eq!(compare(&other, &one), want.map(Ordering::reverse), "{other:?} {one:?}");
        }
    }
}
