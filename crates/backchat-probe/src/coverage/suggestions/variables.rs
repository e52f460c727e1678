//! Values of the variables that are not plain: lists of known items, and objects with the members that a condition reads.

use super::lookups::looked_up_keys;
use backchat_core::json::Value;

/// The variables that are lists of what clients send beside the messages.
pub const LISTS: [&str; 2] = ["documents", "functions"];

/// A text where nothing is known about a member.
const A_TEXT: &str = "Ada";

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
