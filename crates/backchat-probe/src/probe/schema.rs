//! JSON Schemas and the definitions of tools, as requests write them.

use backchat_core::json::Value;

pub fn of_type(name: &str) -> Value {
    Value::from([("type", name.into())])
}

pub fn object(properties: impl Into<Value>, required: &[&str]) -> Value {
    let required = required.iter().map(|key| Value::from(*key)).collect();
    Value::from([("type", "object".into()), ("properties", properties.into()), ("required", Value::List(required))])
}

/// The definition of a tool, in OpenAI's form.
pub fn tool(name: &str, description: &str, parameters: Value) -> Value {
    function([("name", name.into()), ("description", description.into()), ("parameters", parameters)])
}

/// A tool or a call that is a function.
pub fn function(function: impl Into<Value>) -> Value {
    Value::from([("type", "function".into()), ("function", function.into())])
}
