//! The tools that requests offer: those of the conversation's calls, or ready-made ones.

use super::conversation::{Call, Message};
use super::key::{self, Hashed};
use super::request_shape::RequestShape;
use super::schema;
use backchat_chat::Prepared;
use backchat_core::json::{Object, Value};

/// Tools that many requests offer.
pub(super) struct Offered {
    pub tools: Value,
    pub key: u64,
    pub prepared: Option<Prepared>,
}

/// The tools of one request.
pub(super) enum Tools<'p> {
    None,
    Offered(&'p Offered),
    Own(Value),
}

impl Offered {
    pub fn new(tools: Value) -> Self {
        Self { key: key::hash(Hashed(&tools)), prepared: Prepared::new(&tools), tools }
    }
}

impl Tools<'_> {
    pub fn new(tools: Value) -> Self {
        if tools == Value::List(Vec::new()) { Self::None } else { Self::Own(tools) }
    }

    pub fn key(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Offered(offered) => Some(offered.key),
            Self::Own(tools) => Some(key::hash(Hashed(tools))),
        }
    }

    pub fn put(self, context: &mut Object) {
        let tools = match self {
            Self::None => return,
            Self::Offered(offered) => offered.tools.clone(),
            Self::Own(tools) => tools,
        };
        context.insert("tools", tools);
    }
}

impl RequestShape {
    /// The definitions of every tool the messages call, as the template's `tools` variable.
    pub fn tools(&self, messages: &[Message]) -> Value {
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
                tools.push(self.tool(call));
            }
        }
        Value::List(tools)
    }

    fn tool(&self, call: &Call) -> Value {
        let properties: Object = call
            .arguments
            .iter()
            .map(|(key, value)| {
                let described = [("type", json_type(value).into()), ("description", "One value.".into())];
                (key, Value::from(described))
            })
            .collect();
        let parameters = schema::object(properties, &[]);
        let tool = schema::tool(&call.name, "Does one thing.", parameters);
        if self.bare_tools { tool.get("function").cloned().unwrap_or(tool) } else { tool }
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
    }
}
