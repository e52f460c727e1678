//! A list of values for repeated lookups: texts and numbers are found without scanning it.

use std::collections::HashSet;

use backchat_core::json::Value;

/// The values of a list.
pub(super) struct Listed<'v> {
    texts: HashSet<&'v str>,
    /// Numbers are equal if their texts are.
    numbers: HashSet<&'v str>,
    others: Vec<&'v Value>,
}

impl<'v> Listed<'v> {
    pub fn new(values: &'v [Value]) -> Self {
        let mut listed = Self { texts: HashSet::new(), numbers: HashSet::new(), others: Vec::new() };
        for value in values {
            match value {
                Value::String(text) => drop(listed.texts.insert(text)),
                Value::Number(number) => drop(listed.numbers.insert(number.as_str())),
                other => listed.others.push(other),
            }
        }
        listed
    }

    pub fn contains(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.texts.contains(text.as_str()),
            Value::Number(number) => self.numbers.contains(number.as_str()),
            other => self.others.contains(&other),
        }
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
