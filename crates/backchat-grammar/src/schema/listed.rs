//! A list of values for repeated lookups: texts and numbers are found without scanning it.

use std::collections::HashSet;

use crate::automaton::number::Decimal;
use backchat_core::json::Value;

/// The values of a list.
pub(super) struct Listed<'v> {
    scalars: HashSet<Scalar<'v>>,
    others: Vec<&'v Value>,
}

/// A text or a number.
#[derive(PartialEq, Eq, Hash)]
enum Scalar<'v> {
    Text(&'v str),
    Number(Decimal),
    /// A number with too many digits to be compared by its value.
    Digits(&'v str),
}

fn scalar(value: &Value) -> Option<Scalar<'_>> {
    match value {
        Value::String(text) => Some(Scalar::Text(text)),
        Value::Number(number) => {
            let text = number.as_str();
            Some(Decimal::read(text).map_or(Scalar::Digits(text), Scalar::Number))
        }
        _ => None,
    }
}

/// Whether two values are equal for a schema, which compares numbers by value.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => scalar(a) == scalar(b),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

impl<'v> Listed<'v> {
    pub fn new(values: &'v [Value]) -> Self {
        let others = values.iter().filter(|value| scalar(value).is_none()).collect();
        Self { scalars: values.iter().filter_map(scalar).collect(), others }
    }

    pub fn contains(&self, value: &Value) -> bool {
        match scalar(value) {
            Some(scalar) => self.scalars.contains(&scalar),
            None => self.others.iter().any(|known| same(known, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn a_value_is_listed_if_it_equals_one_that_is() {
        let values = json::read(r#"["a", 1, 25.0, null, [1], {"k": "v", "n": 1}]"#).unwrap();
        let listed = Listed::new(values.as_list().unwrap());
        for (asked, is_listed) in [
            (r#"["a", 1, 1.0, 1e0, 25, 2.5e1, null, [1], [1.0], {"n": 1.00, "k": "v"}]"#, true),
            (r#"["1", "b", 2, 1.5, true, [], [2], [1, 1], {"k": "v"}, {"k": "v", "n": 2}]"#, false),
        ] {
            for value in json::read(asked).unwrap().as_list().unwrap() {
                assert_eq!(listed.contains(value), is_listed, "{value}");
            }
        }
    }
}
