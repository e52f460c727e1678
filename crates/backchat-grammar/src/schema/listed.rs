//! A list of values for repeated lookups: texts and numbers are found without scanning it.

use std::collections::HashSet;

use backchat_core::json::Value;

/// The values of a list.
pub(super) struct Listed<'v> {
    /// Texts, and numbers, which are equal if their texts are.
    scalars: HashSet<(bool, &'v str)>,
    others: Vec<&'v Value>,
}

/// Whether a value is a number, and its text.
fn scalar(value: &Value) -> Option<(bool, &str)> {
    match value {
        Value::String(text) => Some((false, text)),
        Value::Number(number) => Some((true, number.as_str())),
        _ => None,
    }
}

impl<'v> Listed<'v> {
    pub fn new(values: &'v [Value]) -> Self {
        let others = values.iter().filter(|value| scalar(value).is_none()).collect();
        Self { scalars: values.iter().filter_map(scalar).collect(), others }
    }

    pub fn contains(&self, value: &Value) -> bool {
        scalar(value).map_or_else(|| self.others.contains(&value), |scalar| self.scalars.contains(&scalar))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn a_value_is_listed_if_it_equals_one_that_is() {
        let values = json::read(r#"["a", 1, 1.0, null, [1], {"k": "v"}]"#).unwrap();
        let listed = Listed::new(values.as_list().unwrap());
        let asked = json::read(r#"["a", "1", 1, 1.0, 2, null, true, [1], [2], {"k": "v"}, {"k": "a"}]"#).unwrap();
        for value in asked.as_list().unwrap() {
            assert_eq!(listed.contains(value), values.as_list().unwrap().contains(value), "{value}");
        }
    }
}
