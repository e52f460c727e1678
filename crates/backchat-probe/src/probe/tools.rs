//! The tools that requests offer: those of the conversation's calls, or ready-made ones.

use std::cell::OnceCell;
use std::rc::Rc;

use super::conversation::{Call, Message};
use super::key::{self, Exact};
use super::request_shape::RequestShape;
use super::schema;
use backchat_chat::Prepared;
use backchat_core::json::{Object, Value};

/// Tools that requests offer.
pub(crate) struct Offered {
    pub tools: Value,
    pub hash: u64,
    prepared: OnceCell<Option<Prepared>>,
}

impl Offered {
    pub fn new(tools: Value) -> Self {
        Self { hash: key::hash(Exact(&tools)), prepared: OnceCell::new(), tools }
    }

    /// The tools of a request, unless there are none.
    pub fn unless_empty(tools: Value) -> Option<Rc<Self>> {
        (tools != Value::List(Vec::new())).then(|| Rc::new(Self::new(tools)))
    }

    /// The tools as the renderer takes them; `None` if they nest too deep.
    pub fn prepared(&self) -> Option<&Prepared> {
        self.prepared.get_or_init(|| Prepared::new(&self.tools)).as_ref()
    }
}

/// Whether two requests offer the same tools.
pub(super) fn is_same(one: Option<&Rc<Offered>>, other: Option<&Rc<Offered>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Rc::ptr_eq(one, other) || Exact(&one.tools) == Exact(&other.tools),
        _ => false,
    }
}

impl RequestShape {
    /// The definitions of every tool the messages call, as the template's `tools` variable.
    pub fn tools(&self, messages: &[Message]) -> Value {
        self.tools_with(messages, json_type, false)
    }

    /// The same, with these types of their parameters, all of which may be required.
    pub fn tools_with(&self, messages: &[Message], type_of: fn(&Value) -> &'static str, required: bool) -> Value {
        let mut tools: Vec<Value> = Vec::new();
        let calls = messages.iter().flat_map(|message| match message {
            Message::Assistant(answer) => answer.calls.as_slice(),
            _ => &[],
        });
        for call in calls {
            let known = |tool: &Value| {
                tool.get("function").unwrap_or(tool).get("name").and_then(Value::as_str) == Some(&call.name)
            };
            if !tools.iter().any(known) {
                tools.push(self.tool(call, type_of, required));
            }
        }
        Value::List(tools)
    }

    fn tool(&self, call: &Call, type_of: fn(&Value) -> &'static str, required: bool) -> Value {
        let properties: Object = call
            .arguments
            .iter()
            .map(|(key, value)| {
                let described = [("type", type_of(value).into()), ("description", "One value.".into())];
                (key, Value::from(described))
            })
            .collect();
        let names: Vec<&str> = call.arguments.iter().map(|(key, _)| key).filter(|_| required).collect();
        let parameters = schema::object(properties, &names);
        let tool = schema::tool(&call.name, "Does one thing.", parameters);
        if self.bare_tools { tool.get("function").cloned().unwrap_or(tool) } else { tool }
    }
}

/// Gives everything in the definitions of tools that is described another description.
pub fn describe(tools: &mut Value, text: &str) {
    match tools {
        Value::List(items) => items.iter_mut().for_each(|item| describe(item, text)),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    Value::String(own) if key == "description" => text.clone_into(own),
                    _ => describe(member, text),
                }
            }
        }
        _ => {}
    }
}

/// The JSON schema name of a value's type.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_integer() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::super::conversation::Answer;
    use super::*;

    const USUAL: RequestShape = RequestShape::USUAL;

    fn call(name: &str, arguments: Object) -> Call {
        Call { id: "c1".to_owned(), name: name.to_owned(), arguments }
    }

    fn add() -> Answer {
        Answer::calls(vec![call("add", Object::from_iter([("n".to_owned(), 1.into())]))])
    }

    #[test]
    fn the_tools_of_a_conversation_are_those_that_it_calls() {
        let other = call("now", Object::new());
        let messages = [
            Message::User("Hi".to_owned()),
            Message::Assistant(Answer::calls(vec![add().calls[0].clone(), other])),
            Message::Assistant(add()),
        ];
        let names = |tools: &Value, path: &[&str]| -> Vec<String> {
            let name = |tool: &Value| path.iter().fold(tool.clone(), |value, key| value.get(key).unwrap().clone());
            tools.as_list().unwrap().iter().map(|tool| name(tool).as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&USUAL.tools(&messages), &["function", "name"]), ["add", "now"]);
        let bare = RequestShape { bare_tools: true, ..USUAL };
        assert_eq!(names(&bare.tools(&messages), &["name"]), ["add", "now"]);
        assert_eq!(USUAL.tools(&messages[..1]), Value::List(Vec::new()));
    }

    #[test]
    fn a_parameter_has_the_json_schema_type_of_its_argument() {
        let table = [
            ("null", Value::Null),
            ("boolean", true.into()),
            ("integer", 1.into()),
            ("number", backchat_core::json::read("1.5").unwrap()),
            ("string", "a".into()),
            ("array", Value::List(Vec::new())),
            ("object", Value::Object(Object::new())),
        ];
        let arguments = table.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let tools = USUAL.tools(&[Message::Assistant(Answer::calls(vec![call("f", arguments)]))]);
        let function = tools.as_list().unwrap()[0].get("function").unwrap();
        let properties = function.get("parameters").unwrap().get("properties").unwrap();
        for (name, _) in table {
            assert_eq!(properties.get(name).unwrap().get("type"), Some(&name.into()), "{name}");
        }
        assert_eq!(function.get("parameters").unwrap().get("required"), Some(&Value::List(Vec::new())));
    }

    #[test]
    fn parameters_may_be_required_and_of_another_type() {
        let tools = USUAL.tools_with(&[Message::Assistant(add())], |_| "any", true);
        let function = tools.as_list().unwrap()[0].get("function").unwrap();
        let parameters = function.get("parameters").unwrap();
        assert_eq!(parameters.get("properties").unwrap().get("n").unwrap().get("type"), Some(&"any".into()));
        assert_eq!(parameters.get("required"), Some(&Value::List(vec!["n".into()])));
    }
}
