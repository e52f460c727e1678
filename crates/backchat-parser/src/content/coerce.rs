//! Casts the arguments of tool calls to the types of the tool's JSON schema.
//!
//! Formats that tag each argument carry text only, so `<parameter=days>5</parameter>` gives the string `5`. If the
//! caller passed tools, strings are cast to the types in their schemas.

use std::collections::HashMap;
use std::fmt;

use super::{Mode, Reason, json, number};
use backchat_core::json::{Number, Value};
use backchat_core::python::space;

/// The types of arguments in a list of tools.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// Of several tools with one name, the last counts.
    by_name: HashMap<String, Tool>,
}

#[derive(Clone, Debug)]
struct Tool {
    /// The types of each argument.
    types: HashMap<String, Types>,
    required: Vec<String>,
    /// The JSON schema of its arguments.
    schema: Value,
}

/// The types of an argument in the order in which they are tried, or why its schema cannot be read.
type Types = Result<Vec<Type>, Reason>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Integer,
    Number,
    Boolean,
    Null,
    Object,
    Array,
}

/// The given value is not a list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolsError {
    /// The kind of value that was given.
    found: &'static str,
}

impl fmt::Display for ToolsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the tools must be a list, not {}", self.found)
    }
}

impl std::error::Error for ToolsError {}

impl Tools {
    /// Reads a list of tools, `{"type": "function", "function": {…}}` or the inner object alone. Other elements are
    /// ignored, as in the reference; only a number or `true` in place of the list is an error.
    pub fn new(tools: &Value) -> Result<Self, ToolsError> {
        let items = match tools {
            Value::List(items) => items.as_slice(),
            Value::Number(_) | Value::Bool(_) if tools.is_truthy() => return Err(ToolsError { found: tools.kind() }),
            _ => &[],
        };
        let mut by_name = HashMap::new();
        for tool in items {
            let function = tool.get("function").unwrap_or(tool);
            let Some(name) = function.get("name").and_then(Value::as_str) else { continue };
            let schema = function.get("parameters");
            let properties = schema.and_then(|schema| schema.get("properties"));
            let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_list);
            let required = required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
            let arguments = properties.and_then(Value::as_object).into_iter().flatten();
            let types = arguments.map(|(argument, schema)| (argument.to_owned(), types(schema))).collect();
            by_name.insert(name.to_owned(), Tool { types, required, schema: schema.cloned().unwrap_or(Value::Null) });
        }
        Ok(Self { by_name })
    }

    fn types(&self, tool: &str, argument: &str) -> Option<&Types> {
        self.by_name.get(tool)?.types.get(argument)
    }

    /// Without tools, names and arguments cannot be checked.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The names of the tools, in no order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.by_name.contains_key(tool)
    }

    pub(crate) fn has_argument(&self, tool: &str, argument: &str) -> bool {
        self.types(tool, argument).is_some()
    }

    /// The required arguments of a tool, if it is known.
    pub(crate) fn requires(&self, tool: &str) -> Option<&[String]> {
        self.by_name.get(tool).map(|tool| tool.required.as_slice())
    }

    pub(crate) fn schema(&self, tool: &str) -> Option<&Value> {
        self.by_name.get(tool).map(|tool| &tool.schema)
    }

    /// Whether an argument's value may be cast to another one.
    pub(crate) fn casts(&self, tool: &str, argument: &str) -> bool {
        self.types(tool, argument).is_some_and(|types| types.as_ref().map_or(true, |types| !types.is_empty()))
    }

    fn apply_to_call(&self, function: &mut Value, mode: Mode) -> Result<(), Reason> {
        let Value::Object(entries) = function else { return Ok(()) };
        let tool = entries.get("name").and_then(Value::as_str).and_then(|name| self.by_name.get(name));
        let types = tool.map(|tool| &tool.types);
        let (Some(types), Some(Value::Object(arguments))) = (types, entries.get_mut("arguments")) else {
            return Ok(());
        };
        for (name, argument) in arguments {
            if let Some(types) = types.get(name) {
                cast_argument(argument, types.as_ref().map_err(Clone::clone)?, mode)?;
            }
        }
        Ok(())
    }
}

/// Casts the arguments of every tool call in the value: the value itself, or the elements of lists.
pub fn cast_calls(tools: &Tools, value: &mut Value, mode: Mode) -> Result<(), Reason> {
    match value {
        Value::List(items) => items.iter_mut().try_for_each(|item| cast_calls(tools, item, mode)),
        Value::Object(entries) => match entries.get_mut("function") {
            Some(function) => tools.apply_to_call(function, mode),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Casts one argument of a call to the types that its tool wants.
pub fn cast_argument_of(
    tools: &Tools,
    tool: &str,
    argument: &str,
    value: &mut Value,
    mode: Mode,
) -> Result<(), Reason> {
    match tools.types(tool, argument) {
        Some(types) => cast_argument(value, types.as_ref().map_err(Clone::clone)?, mode),
        None => Ok(()),
    }
}

/// The types a schema names: `type`, then `anyOf`, then `oneOf`, then null if it is nullable.
fn types(schema: &Value) -> Types {
    let mut found = Vec::new();
    collect_types(schema, &mut found)?;
    Ok(found)
}

fn collect_types(schema: &Value, found: &mut Vec<Type>) -> Result<(), Reason> {
    let Value::Object(schema) = schema else { return Ok(()) };
    match schema.get("type") {
        Some(Value::String(name)) => found.extend(type_named(name)),
        Some(Value::List(names)) => found.extend(names.iter().filter_map(Value::as_str).filter_map(type_named)),
        _ => {}
    }
    for key in ["anyOf", "oneOf"] {
        match schema.get(key) {
            Some(Value::List(schemas)) => schemas.iter().try_for_each(|schema| collect_types(schema, found))?,
            Some(other @ (Value::Number(_) | Value::Bool(_))) if other.is_truthy() => {
                return Err(Reason::Tools(format!("`{key}` in a tool's schema must be a list, not {}", other.kind())));
            }
            _ => {}
        }
    }
    if schema.get("nullable").is_some_and(Value::is_truthy) {
        found.push(Type::Null);
    }
    Ok(())
}

/// The type of that name. Nothing is cast to `string`.
fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        "null" => Type::Null,
        "object" => Type::Object,
        "array" => Type::Array,
        _ => return None,
    })
}

fn cast_argument(argument: &mut Value, types: &[Type], mode: Mode) -> Result<(), Reason> {
    match argument {
        Value::String(text) => {
            if let Some(value) = cast(text, types, mode)? {
                *argument = value;
            }
        }
        Value::List(items) if !types.contains(&Type::Array) => {
            for item in items {
                if let Value::String(text) = item
                    && let Some(value) = cast(text, types, mode)?
                {
                    *item = value;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The value of the first type that the text can be cast to.
fn cast(text: &str, types: &[Type], mode: Mode) -> Result<Option<Value>, Reason> {
    for type_ in types {
        let value = match type_ {
            Type::Integer => integer(text, mode).map(Value::Number),
            Type::Number => number(text).map(Value::Number),
            Type::Boolean => boolean(text).map(Value::Bool),
            Type::Null => matches!(space::strip(text), "null" | "None").then_some(Value::Null),
            Type::Object => structure(text, mode)?.filter(|value| matches!(value, Value::Object(_))),
            Type::Array => structure(text, mode)?.filter(|value| matches!(value, Value::List(_))),
        };
        if value.is_some() {
            return Ok(value);
        }
    }
    Ok(None)
}

fn integer(text: &str, mode: Mode) -> Option<Number> {
    number::int(text, mode).ok().or_else(|| whole(number::float(text).ok()?.as_f64()))
}

fn number(text: &str) -> Option<Number> {
    let number = number::float(text).ok()?;
    let double = number.as_f64();
    if !double.is_finite() {
        return None;
    }
    if text.contains('.') { Some(number) } else { whole(double).or(Some(number)) }
}

/// The integer that a double is, with the digits the double has.
fn whole(double: f64) -> Option<Number> {
    (double.is_finite() && double.fract() == 0.0).then(|| {
        let digits = format!("{double:.0}");
        Number::from_text(if digits == "-0" { "0".to_owned() } else { digits })
    })
}

fn boolean(text: &str) -> Option<bool> {
    match space::strip(text).to_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The value of JSON text; `None` if it is not JSON.
fn structure(text: &str, mode: Mode) -> Result<Option<Value>, Reason> {
    match json::load(text, mode) {
        Ok(value) => Ok(Some(value)),
        Err(Reason::TooDeep) => Err(Reason::TooDeep),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Mode; 2] = [Mode::Stable, Mode::Reference];

    fn value(text: &str) -> Value {
        backchat_core::json::read(text).unwrap()
    }

    /// The argument `a` after a call of the tool `f`, whose schema for it is given.
    fn argument(schema: &str, argument: Value, mode: Mode) -> Result<String, Reason> {
        let tools = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}}}}}]"#);
        let function = Value::from([("name", "f".into()), ("arguments", Value::from([("a", argument)]))]);
        let mut call = Value::from([("function", function)]);
        cast_calls(&Tools::new(&value(&tools)).unwrap(), &mut call, mode)?;
        Ok(call.get("function").unwrap().get("arguments").unwrap().get("a").unwrap().to_string())
    }

    #[test]
    fn strings_are_cast_to_the_type_of_the_schema() {
        // Type, then pairs of a text and the value it is cast to, as JSON.
        let cases: &[(&str, &[(&str, &str)])] = &[
            (
                "integer",
                &[
                    ("5", "5"),
                    (" 5 ", "5"),
                    ("+5", "5"),
                    ("5_0", "50"),
                    ("٣", "3"),
                    ("5.0", "5"),
                    ("5.", "5"),
                    (".0", "0"),
                    ("-0.0", "0"),
                    ("1e3", "1000"),
                    ("1e23", "99999999999999991611392"),
                    ("9007199254740993", "9007199254740993"),
                    ("9007199254740993.0", "9007199254740992"),
                    ("5.5", "\"5.5\""),
                    ("1e400", "\"1e400\""),
                    ("inf", "\"inf\""),
                    ("nan", "\"nan\""),
                    ("0x10", "\"0x10\""),
                    ("\u{1c}5", "\"\\u001c5\""),
                    ("", "\"\""),
                ],
            ),
            (
                "number",
                &[
                    ("5", "5"),
                    ("5.0", "5.0"),
                    ("5.50", "5.50"),
                    ("5.", "5.0"),
                    ("1e3", "1000"),
                    ("1.0e3", "1.0e3"),
                    ("-0", "0"),
                    ("-0.0", "-0.0"),
                    ("1e-400", "0"),
                    ("1e-2", "1e-2"),
                    ("9007199254740993", "9007199254740992"),
                    ("\u{a0}5", "5"),
                    ("inf", "\"inf\""),
                    ("nan", "\"nan\""),
                    ("1e400", "\"1e400\""),
                    ("x", "\"x\""),
                ],
            ),
            (
                "boolean",
                &[
                    ("true", "true"),
                    ("True", "true"),
                    (" FALSE ", "false"),
                    ("\u{1c}1\u{a0}", "true"),
                    ("0", "false"),
                    ("yes", "\"yes\""),
                    ("1.0", "\"1.0\""),
                    ("", "\"\""),
                ],
            ),
            (
                "null",
                &[
                    ("null", "null"),
                    ("None", "null"),
                    ("\u{1c}null ", "null"),
                    ("NULL", "\"NULL\""),
                    ("none", "\"none\""),
                    ("", "\"\""),
                ],
            ),
            (
                "object",
                &[
                    (r#" {"a":1.50} "#, r#"{"a": 1.50}"#),
                    ("[1]", "\"[1]\""),
                    ("{a:1}", "\"{a:1}\""),
                    ("\u{a0}{}", "\"\u{a0}{}\""),
                ],
            ),
            ("array", &[(" [1]\n", "[1]"), ("{}", "\"{}\""), ("[1,]", "\"[1,]\""), ("[]", "[]")]),
            ("string", &[("5", "\"5\""), ("null", "\"null\"")]),
            ("int", &[("5", "\"5\"")]),
        ];
        for &(type_, texts) in cases {
            for &(text, want) in texts {
                for mode in BOTH {
                    let got = argument(&format!(r#"{{"type": "{type_}"}}"#), text.into(), mode);
                    assert_eq!(got.as_deref(), Ok(want), "{text:?} as {type_} in {mode:?} mode");
                }
            }
        }
    }

    #[test]
    fn types_are_tried_in_the_order_of_the_schema() {
        let cases = [
            (r#"{"type": ["string", "integer"]}"#, "5", "5"),
            (r#"{"type": ["boolean", "integer"]}"#, "1", "true"),
            (r#"{"type": ["integer", "boolean"]}"#, "1", "1"),
            (r#"{"type": ["integer", "number"]}"#, "9007199254740993", "9007199254740993"),
            (r#"{"type": ["number", "integer"]}"#, "9007199254740993", "9007199254740992"),
            (r#"{"type": ["array", "object"]}"#, "{}", "{}"),
            (r#"{"type": [5, "nope", ["integer"], "integer"]}"#, "5", "5"),
            (r#"{"type": 5}"#, "5", "\"5\""),
            (r#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#, "5", "5"),
            (r#"{"oneOf": [{"type": "integer"}]}"#, "5", "5"),
            (r#"{"allOf": [{"type": "integer"}]}"#, "5", "\"5\""),
            (r#"{"anyOf": [{"oneOf": [{"type": "boolean"}]}, {"type": "null"}]}"#, "null", "null"),
            (r#"{"oneOf": [{"type": "boolean"}], "anyOf": [{"type": "integer"}]}"#, "1", "1"),
            (r#"{"type": ["boolean"], "anyOf": [{"type": "integer"}]}"#, "1", "true"),
            (r#"{"anyOf": [5, "x", null, {"type": "integer"}]}"#, "5", "5"),
            (r#"{"anyOf": {"type": "integer"}}"#, "5", "\"5\""),
            (r#"{"anyOf": 0}"#, "5", "\"5\""),
            (r#"{"nullable": true, "type": "integer"}"#, "null", "null"),
            (r#"{"nullable": "x"}"#, "null", "null"),
            (r#"{"nullable": 0}"#, "null", "\"null\""),
            (r#"{"anyOf": [{"type": "integer", "nullable": true}]}"#, "null", "null"),
            ("{}", "5", "\"5\""),
            ("true", "5", "\"5\""),
            ("null", "5", "\"5\""),
        ];
        for (schema, text, want) in cases {
            assert_eq!(argument(schema, text.into(), Mode::Reference).as_deref(), Ok(want), "{text:?} by {schema}");
        }
    }

    #[test]
    fn only_strings_and_strings_in_lists_are_cast() {
        let cases = [
            (r#"{"type": "integer"}"#, "5.0", "5.0"),
            (r#"{"type": "string"}"#, "5", "5"),
            (r#"{"type": "integer"}"#, "null", "null"),
            (r#"{"type": "integer"}"#, r#"["5", "x", 6]"#, r#"[5, "x", 6]"#),
            (r#"{"type": "integer"}"#, r#"[["5"], {"a": "5"}]"#, r#"[["5"], {"a": "5"}]"#),
            (r#"{"type": "array", "items": {"type": "integer"}}"#, r#"["5"]"#, r#"["5"]"#),
            (r#"{"type": "integer", "anyOf": [{"type": "array"}]}"#, r#"["5"]"#, r#"["5"]"#),
            (r#"{"nullable": true}"#, r#"["null"]"#, "[null]"),
            (r#"{"properties": {"b": {"type": "integer"}}}"#, r#"{"b": "5"}"#, r#"{"b": "5"}"#),
        ];
        for (schema, given, want) in cases {
            assert_eq!(argument(schema, value(given), Mode::Reference).as_deref(), Ok(want), "{given} by {schema}");
        }
    }

    #[test]
    fn an_unreadable_schema_fails_only_for_its_argument() {
        for schema in [r#"{"anyOf": 5}"#, r#"{"oneOf": true}"#, r#"{"anyOf": [{"anyOf": 1.5}]}"#] {
            for given in ["\"5\"", "5", "[]"] {
                assert!(matches!(argument(schema, value(given), Mode::Stable), Err(Reason::Tools(_))), "{schema}");
            }
        }
    }

    #[test]
    fn long_integers_and_deep_json() {
        let long = "9".repeat(4301);
        let integer = r#"{"type": "integer"}"#;
        assert_eq!(argument(integer, (&*long).into(), Mode::Stable), Ok(long.clone()));
        assert_eq!(argument(integer, (&*long).into(), Mode::Reference), Ok(format!("\"{long}\"")));
        let array = r#"{"type": "array"}"#;
        assert_eq!(argument(array, format!("[{long}]").into(), Mode::Stable), Ok(format!("[{long}]")));
        assert_eq!(argument(array, format!("[{long}]").into(), Mode::Reference), Ok(format!("\"[{long}]\"")));
        assert_eq!(argument(array, "[".repeat(1000).into(), Mode::Stable), Err(Reason::TooDeep));
    }

    #[test]
    fn calls_and_tools_are_recognized() {
        let good = r#"{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}"#;
        let call = r#"{"function": {"name": "f", "arguments": {"a": "5"}}}"#;
        let cast = r#"{"function": {"name": "f", "arguments": {"a": 5}}}"#;
        let inner = good.strip_prefix(r#"{"type": "function", "function": "#).unwrap().strip_suffix('}').unwrap();
        let cases = [
            (format!("[{good}]"), call.to_owned(), cast.to_owned()),
            (format!("[{inner}]"), call.to_owned(), cast.to_owned()),
            (format!("[5, null, [], {{}}, {{\"name\": 5}}, {good}]"), call.to_owned(), cast.to_owned()),
            (format!("[{good}]"), format!("[{call}, [{call}]]"), format!("[{cast}, [{cast}]]")),
            (format!("[{good}]"), format!("{{\"x\": {call}}}"), format!("{{\"x\": {call}}}")),
            (format!("[{good}]"), call.replace("\"f\"", "\"g\""), call.replace("\"f\"", "\"g\"")),
            (format!("[{good}]"), call.replace("\"f\"", "5"), call.replace("\"f\"", "5")),
            (format!("[{good}]"), r#"{"function": "f"}"#.to_owned(), r#"{"function": "f"}"#.to_owned()),
            (format!("[{good}, {{\"name\": \"f\"}}]"), call.to_owned(), call.to_owned()),
            (
                format!("[{}]", good.replace("integer", "boolean")).replace(']', &format!(", {good}]")),
                call.to_owned(),
                cast.to_owned(),
            ),
            (good.to_owned(), call.to_owned(), call.to_owned()),
            (inner.replacen('{', r#"[{"function": {}, "#, 1) + "]", call.to_owned(), call.to_owned()),
            ("null".to_owned(), call.to_owned(), call.to_owned()),
            ("\"x\"".to_owned(), call.to_owned(), call.to_owned()),
            ("0".to_owned(), call.to_owned(), call.to_owned()),
        ];
        for (tools, given, want) in cases {
            let mut given = value(&given);
            cast_calls(&Tools::new(&value(&tools)).unwrap(), &mut given, Mode::Stable).unwrap();
            assert_eq!(given.to_string(), want, "with the tools {tools}");
        }
        for tools in ["5", "true"] {
            assert!(Tools::new(&value(tools)).is_err(), "{tools}");
        }
    }
}
