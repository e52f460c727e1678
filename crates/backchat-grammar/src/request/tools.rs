//! The tools of a request: functions with a schema, and custom tools, which take one text.

use std::fmt;

use crate::custom::{self, Input};
use crate::notes::{Effect, Note};
use backchat_core::json::{Object, Value};

/// The argument of the function that represents a custom tool.
pub const INPUT: &str = "input";

/// A tool of the request.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub name: String,
    pub parameters: Value,
    /// An absent `additionalProperties` allows any member.
    pub is_open: bool,
    /// The input of a custom tool, if it has a grammar.
    pub input: Option<Input>,
}

/// Why a tool cannot be used.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub name: Option<String>,
    /// The list is invalid, and with it the request.
    pub of_list: bool,
    pub message: String,
}

/// The name of a tool, in either form.
pub fn name(tool: &Value) -> Option<&str> {
    own(tool).get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// The part of a tool that describes it: under the key of its type, or, flat, the tool itself.
fn own(tool: &Value) -> &Value {
    tool.get("function").or_else(|| tool.get("custom")).unwrap_or(tool)
}

/// Whether a tool takes a text instead of arguments.
pub fn is_custom(tool: &Value) -> bool {
    tool.get("type").and_then(Value::as_str) == Some("custom")
}

/// Reads a list of tools; the faults are in the order of the list.
pub(crate) fn read(given: &[Value], notes: &mut Vec<Note>) -> (Vec<Tool>, Vec<Fault>) {
    let mut tools: Vec<Tool> = Vec::new();
    let mut faults = Vec::new();
    for (at, item) in given.iter().enumerate() {
        match tool(at, item, &tools, notes) {
            Ok(tool) => tools.push(tool),
            Err(fault) => faults.push(fault),
        }
    }
    (tools, faults)
}

fn tool(at: usize, item: &Value, known: &[Tool], notes: &mut Vec<Note>) -> Result<Tool, Fault> {
    let of_list = |message: String| Fault { name: None, of_list: true, message };
    let name = name(item).map(str::to_owned);
    let fault = |message: String| Fault { name: name.clone(), of_list: false, message };
    let kind = item.get("type").and_then(Value::as_str);
    if let Some(kind) = kind.filter(|kind| !matches!(*kind, "function" | "custom")) {
        return Err(fault(format!(
            "the tool at `/{at}` is of the type `{kind}`: only `function` and `custom` are written by the model"
        )));
    }
    let name = name.clone().ok_or_else(|| of_list(format!("the tool at `/{at}` has no name")))?;
    if known.iter().any(|known| known.name == name) {
        return Err(of_list(format!("the tool at `/{at}` has the same name as another: `{name}`")));
    }
    let own = own(item);
    let of_tool = |note: Note| Note { tool: Some(name.clone()), ..note };
    if is_custom(item) {
        let mut own_notes = Vec::new();
        let input = custom::read(own.get("format"), &mut own_notes).map_err(|why| fault(why.to_string()))?;
        notes.extend(own_notes.into_iter().map(of_tool));
        return Ok(Tool { name, parameters: input_parameters(), is_open: false, input });
    }
    let is_open = is_loose(own).map_err(|why| fault(format!("`strict` at `/{at}` {why}")))?;
    let parameters = match own.get("parameters").or_else(|| own.get("input_schema")) {
        None | Some(Value::Null) => {
            let message = "the tool has no parameters: its only valid argument is an empty object";
            notes.push(of_tool(Note::new(Effect::Assumed, message)));
            Value::from([("type", "object".into()), ("properties", Value::Object(Object::new()))])
        }
        Some(parameters) => parameters.clone(),
    };
    Ok(Tool { name, parameters, is_open, input: None })
}

/// The kind of a value that should be a Boolean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotABoolean {
    kind: &'static str,
}

impl fmt::Display for NotABoolean {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "must be true or false, not {}", self.kind)
    }
}

/// Whether `strict` is false, so that an absent `additionalProperties` allows any member; an error if it is not a
/// Boolean.
pub(crate) fn is_loose(own: &Value) -> Result<bool, NotABoolean> {
    match own.get("strict") {
        None | Some(Value::Null | Value::Bool(true)) => Ok(false),
        Some(Value::Bool(false)) => Ok(true),
        Some(other) => Err(NotABoolean { kind: other.kind() }),
    }
}

/// The parameters of the function that represents a custom tool.
fn input_parameters() -> Value {
    let text = Value::from([("type", "string".into())]);
    Value::from([
        ("type", "object".into()),
        ("properties", Value::from([(INPUT, text)])),
        ("required", Value::List(vec![INPUT.into()])),
        ("additionalProperties", false.into()),
    ])
}

/// The tools in the form that chat templates expect: each a function under the key `function`. Other values are
/// unchanged.
pub fn shown(tools: &Value) -> Value {
    let Value::List(items) = tools else { return tools.clone() };
    let shown = items.iter().map(|item| {
        if is_custom(item) {
            let mut function = Object::new();
            for key in ["name", "description"] {
                if let Some(value) = own(item).get(key) {
                    function.insert(key, value.clone());
                }
            }
            function.insert("parameters", input_parameters());
            return Value::from([("type", "function".into()), ("function", Value::Object(function))]);
        }
        match item {
            Value::Object(entries) if !entries.contains_key("function") && entries.contains_key("name") => {
                let function: Object =
                    entries.iter().filter(|(key, _)| *key != "type").map(|(key, value)| (key, value.clone())).collect();
                Value::from([("type", "function".into()), ("function", Value::Object(function))])
            }
            other => other.clone(),
        }
    });
    Value::List(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn every_form_of_a_tool_becomes_a_function() {
        let text = |name: &str| {
            format!(
                r#"{{"type": "function", "function": {{"name": "{name}", "description": "d", "parameters": {{"type": "object", "properties": {{"input": {{"type": "string"}}}}, "required": ["input"], "additionalProperties": false}}}}}}"#
            )
        };
        for (given, expected) in [
            (
                r#"{"type": "custom", "custom": {"name": "run", "description": "d", "format": {"type": "text"}}}"#,
                text("run"),
            ),
            (r#"{"type": "custom", "name": "run", "description": "d"}"#, text("run")),
            (
                r#"{"type": "function", "name": "f", "parameters": {}}"#,
                r#"{"type": "function", "function": {"name": "f", "parameters": {}}}"#.to_owned(),
            ),
            (
                r#"{"type": "function", "function": {"name": "f"}}"#,
                r#"{"type": "function", "function": {"name": "f"}}"#.to_owned(),
            ),
        ] {
            let list = Value::List(vec![json::read(given).unwrap()]);
            assert_eq!(shown(&list), Value::List(vec![json::read(&expected).unwrap()]), "{given}");
        }
    }
}
