//! Values of the variables that are not plain: lists of known items, and objects with the members that a condition reads.

use super::lookups::looked_up_keys;
use super::{Likeness, Made, Suggested, mentions};
use crate::coverage::Sought;
use crate::probe::Setting;
use backchat_chat::Relation;
use backchat_core::json::Value;
use backchat_core::push_new;

/// A text where nothing is known about a member, or that a template does not name.
const A_TEXT: &str = "Ada";

impl Made<'_> {
    /// Settings of the variables that the condition mentions or, if its operands are not from the answer, of all.
    pub(super) fn by_settings(&mut self, variables: &[&str]) {
        let mentioned: Vec<&str> = variables.iter().copied().filter(|name| mentions(self.condition, name)).collect();
        // A number of the answer may be like that of a variable by chance.
        let is_number = matches!(self.goal.sought, Sought::Outcome(Relation::Less | Relation::Greater));
        let is_free = mentioned.is_empty() && (self.found.is_empty() || is_number);
        let likeness = if is_free { Likeness::Guess } else { Likeness::Mentioned };
        if is_free && self.goal.sought == Sought::Outcome(Relation::Items) {
            return;
        }
        let names = if is_free { variables } else { mentioned.as_slice() };
        if let Sought::Member(member) = &self.goal.sought {
            return self.settings(names, std::slice::from_ref(member), likeness);
        }
        let mut values = self.values_of_operands();
        if !is_free {
            let called = self.answer.calls.iter().map(|call| Value::from(call.name.as_str())).collect::<Vec<_>>();
            let named = (!called.is_empty()).then(|| Value::List(called));
            let usual = [Value::Bool(true), Value::Bool(false)].into_iter().chain(named).chain(["on".into()]);
            for value in usual {
                push_new(&mut values, value);
            }
        }
        values.retain(|value| !matches!(value, Value::Null | Value::Object(_)));
        self.settings(names, &values, likeness);
    }

    /// The operands and numbers next to them. If another text than one of them is sought, one that a template does not name.
    fn values_of_operands(&self) -> Vec<Value> {
        // A variable does not have the number of its items as its value.
        if self.goal.sought == Sought::Outcome(Relation::Items) {
            return vec![Value::List(vec![A_TEXT.into()])];
        }
        let mut values: Vec<Value> = Vec::new();
        let mut add = |value: Value| {
            push_new(&mut values, value);
        };
        for operand in self.goal.operands.iter().flat_map(|(left, right)| [left, right]) {
            match operand {
                Value::List(items) => items.iter().cloned().for_each(&mut add),
                Value::Number(number) => {
                    if let Ok(limit) = number.as_str().parse::<i64>() {
                        let around = [limit, limit.saturating_add(1), limit.saturating_sub(1)];
                        // Or the number may be a part of a text, such as a version.
                        if is_of_text(self.condition) {
                            around.iter().for_each(|value| add(value.to_string().into()));
                        }
                        around.into_iter().for_each(|value| add(value.into()));
                    }
                }
                Value::String(text) if !text.is_empty() => add(text.as_str().into()),
                _ => {}
            }
        }
        let is_other = !self.goal.wanted && self.goal.sought == Sought::Outcome(Relation::Equal);
        if is_other && values.iter().any(|value| value.as_str().is_some()) {
            values.retain(|value| value.as_str().is_none());
            values.push(A_TEXT.into());
        }
        values
    }

    fn settings(&mut self, names: &[&str], values: &[Value], likeness: Likeness) {
        for name in names {
            let own = own_values(name, self.condition, values);
            for value in own.as_deref().unwrap_or(values) {
                let setting = Setting::from([((*name).to_owned(), value.clone())]);
                let words = format!("`{name}` set to {value}");
                self.push(Suggested { setting, likeness, ..Suggested::of(self.answer.clone(), words) });
            }
        }
    }
}

/// The values of a variable whose kind is known: of a list, or of an object with members that a condition reads, each with one
/// of the values that the condition compares with.
pub(super) fn own_values(name: &str, condition: &str, values: &[Value]) -> Option<Vec<Value>> {
    let text = |text: &str| Value::from(text);
    match name {
        "documents" => {
            let document = Value::from([("title", text("Brzeg")), ("text", text("A town on a river."))]);
            return Some(vec![Value::List(vec![document])]);
        }
        "functions" => {
            let parameters = Value::from([("type", text("object")), ("properties", Value::Object(Default::default()))]);
            let function = [("name", text("get_route")), ("description", text("A tool.")), ("parameters", parameters)];
            return Some(vec![Value::List(vec![Value::from(function)])]);
        }
        // A client names the one tool to call so.
        "tool_choice" if condition.contains(" is mapping") || !members(name, condition).is_empty() => {
            let called = values.iter().filter_map(|value| value.as_list()?.first().cloned());
            let choice =
                |name: Value| Value::from([("type", text("function")), ("function", Value::from([("name", name)]))]);
            let plain = values.iter().filter(|value| value.as_list().is_none()).cloned();
            return Some(called.map(choice).chain(plain).collect());
        }
        _ => {}
    }
    let path = members(name, condition);
    if path.is_empty() && !condition.contains(" is mapping") {
        return None;
    }
    let inner =
        |value: &Value| path.iter().rev().fold(value.clone(), |inner, key| Value::from([(key.as_str(), inner)]));
    let texts = values.iter().filter(|value| value.as_str().is_some_and(|text| text != "on"));
    let known = texts.map(inner).chain([inner(&text(A_TEXT)), inner(&true.into())]);
    let objects = if path.is_empty() { vec![Value::from([("name", text(A_TEXT))])] } else { known.collect() };
    Some(values.iter().filter(|_| path.is_empty()).cloned().chain(objects).collect())
}

/// The members that a condition reads of a variable, from the outermost on; none of its methods.
fn members(name: &str, condition: &str) -> Vec<String> {
    let Some((_, rest)) = condition.split_once(name) else { return Vec::new() };
    let end = rest.find([' ', '|', ')', ',']).unwrap_or(rest.len());
    let read = rest.get(..end).filter(|read| read.starts_with(['.', '[']) && !read.contains('('));
    read.map(looked_up_keys).unwrap_or_default()
}

/// Whether a condition has what a text has and no number: a method, an index or a slice.
fn is_of_text(condition: &str) -> bool {
    let is_method = |(at, _): (usize, &str)| {
        let name = condition.get(at + 1..).and_then(|rest| rest.split_once('(')).map(|(name, _)| name);
        name.is_some_and(|name| {
            name != "get" && !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    condition.contains('[') || condition.match_indices('.').any(is_method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_chosen_by_the_name_that_the_answer_calls() {
        let known = ["auto".into(), Value::List(vec!["get_time".into()])];
        let chosen = r#"{"type": "function", "function": {"name": "get_time"}}"#;
        for (condition, values) in [
            ("tool_choice == 'required'", None),
            ("tool_choice is mapping", Some([chosen, "\"auto\""])),
            ("tool_choice.function.name == f.name", Some([chosen, "\"auto\""])),
        ] {
            let own = own_values("tool_choice", condition, &known);
            let own = own.map(|values| values.iter().map(Value::to_string).collect::<Vec<_>>());
            assert_eq!(own, values.map(|values| values.map(str::to_owned).into()), "{condition}");
        }
    }

    #[test]
    fn an_object_has_the_members_that_a_condition_reads() {
        let known = ["get_time".into(), Value::Bool(true)];
        for (condition, values) in [
            ("effort", None),
            ("effort.lower() == 'high'", None),
            ("effort.name", Some(vec![r#"{"name": "get_time"}"#, r#"{"name": "Ada"}"#, r#"{"name": true}"#])),
            (
                "effort['function'].name == f.name",
                Some(vec![
                    r#"{"function": {"name": "get_time"}}"#,
                    r#"{"function": {"name": "Ada"}}"#,
                    r#"{"function": {"name": true}}"#,
                ]),
            ),
            ("effort is mapping", Some(vec![r#""get_time""#, "true", r#"{"name": "Ada"}"#])),
        ] {
            let own = own_values("effort", condition, &known);
            let own = own.map(|values| values.iter().map(Value::to_string).collect::<Vec<_>>());
            assert_eq!(own, values.map(|values| values.into_iter().map(str::to_owned).collect()), "{condition}");
        }
    }
}
