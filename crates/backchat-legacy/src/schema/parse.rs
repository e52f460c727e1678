//! Parses a text with a schema, node by node, like the reference's `recursive_parse`.

use std::borrow::Cow;

use super::node::{Additional, Node, Parser, Regex};
use super::substitute::substitute;
use super::{ErrorKind, Schema, SchemaError, tool_call};
use backchat_core::json::{Number, Object, Value};
use backchat_core::text::slice;
use backchat_parser::content::{Mode, Reason, json as loads, number};
use backchat_parser::pattern::{Match, Pattern, TooMuchWork};

/// The steps that patterns may take in one parse: a base, and more for each byte of the text.
const STEPS: u64 = 20_000_000;
const STEPS_PER_BYTE: u64 = 100;

/// The bytes that substitutions may produce: a base, and more for each byte of the text.
const ROOM: usize = 1 << 20;
const ROOM_PER_BYTE: usize = 4;

impl Schema {
    /// The message that the schema reads in an output; null if it does not match.
    pub fn parse(&self, output: &str) -> Result<Value, SchemaError> {
        parse_node(self.root(), output)
    }
}

pub(crate) fn parse_node(node: &Node, text: &str) -> Result<Value, SchemaError> {
    let steps = STEPS + STEPS_PER_BYTE * text.len() as u64;
    let room = ROOM + ROOM_PER_BYTE * text.len();
    Parse { steps, room }.node(node, Content::Text(Cow::Borrowed(text)))
}

/// The input of a node.
enum Content<'t> {
    Text(Cow<'t, str>),
    /// Anything else.
    Value(Value),
}

impl<'t> Content<'t> {
    fn of(value: Value) -> Self {
        match value {
            Value::String(text) => Content::Text(Cow::Owned(text)),
            other => Content::Value(other),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Content::Text(text) => Value::String(text.into_owned()),
            Content::Value(value) => value,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Content::Text(_) => "a string",
            Content::Value(value) => value.kind(),
        }
    }
}

/// One parse, and the work it may still do.
struct Parse {
    steps: u64,
    room: usize,
}

impl Parse {
    fn node(&mut self, node: &Node, content: Content<'_>) -> Result<Value, SchemaError> {
        if let Some(constant) = &node.constant {
            return Ok(constant.clone());
        }
        if matches!(content, Content::Value(Value::Null)) {
            return Ok(Value::Null);
        }
        let Some(content) = self.patterns(node, content)? else { return Ok(Value::Null) };
        let content = match &node.parser {
            Some(parser) => self.parser(node, parser, content)?,
            None => content,
        };
        self.typed(node, content)
    }

    /// The content after the node's patterns; `None` if the node is null because nothing matched.
    fn patterns<'t>(&mut self, node: &Node, content: Content<'t>) -> Result<Option<Content<'t>>, SchemaError> {
        if !node.has_regex {
            return Ok(Some(content));
        }
        let mut content = Content::Text(self.substituted(node, content)?);
        if let Some(regex) = &node.regex {
            let Some(taken) = self.first_match(node, regex, &content)? else { return Ok(None) };
            content = Content::of(taken);
        }
        if let Some(regex) = &node.iterator {
            let Some(items) = self.all_matches(node, regex, &content)? else { return Ok(None) };
            content = Content::Value(Value::List(items));
        }
        if let Some(regex) = &node.key_value {
            let Some(entries) = self.entries(node, regex, &content)? else { return Ok(None) };
            content = Content::Value(Value::Object(entries));
        }
        Ok(Some(content))
    }

    /// The text after the node's substitutions.
    fn substituted<'t>(&mut self, node: &Node, content: Content<'t>) -> Result<Cow<'t, str>, SchemaError> {
        let mut content = match content {
            Content::Text(text) => text,
            Content::Value(value) => return Err(no_string(node, "a pattern", value.kind())),
        };
        for substitution in &node.substitutions {
            let pattern = compiled(node, &substitution.regex)?;
            let replacement =
                substitution.replacement.as_ref().map_err(|fault| fail(node, ErrorKind::Pattern, fault.to_string()))?;
            let changed = substitute(pattern, replacement, &content, self.room, &mut self.steps);
            content = Cow::Owned(changed.map_err(|error| too_much(node, &substitution.regex, error))?);
        }
        Ok(content)
    }

    /// The groups of the first match.
    fn first_match(&mut self, node: &Node, regex: &Regex, content: &Content<'_>) -> Result<Option<Value>, SchemaError> {
        let mut taken = None;
        self.each(node, regex, content, |found, pattern| {
            taken = Some(groups(node, pattern, found)?);
            Ok(false)
        })?;
        Ok(taken)
    }

    /// The groups of every match; `None` if there is none.
    fn all_matches(
        &mut self,
        node: &Node,
        regex: &Regex,
        content: &Content<'_>,
    ) -> Result<Option<Vec<Value>>, SchemaError> {
        if node.type_name() != Some("array") {
            return Err(fail(node, ErrorKind::Node, "`x-regex-iterator` works only in a node of type `array`"));
        }
        let mut items = Vec::new();
        self.each(node, regex, content, |found, pattern| {
            items.push(groups(node, pattern, found)?);
            Ok(true)
        })?;
        Ok(Some(items).filter(|items| !items.is_empty()))
    }

    /// The keys and values of every match; `None` if there is none.
    fn entries(&mut self, node: &Node, regex: &Regex, content: &Content<'_>) -> Result<Option<Object>, SchemaError> {
        if node.type_name() != Some("object") {
            return Err(fail(node, ErrorKind::Node, "`x-regex-key-value` works only in a node of type `object`"));
        }
        let mut entries = Object::new();
        self.each(node, regex, content, |found, pattern| {
            // Wrong groups are the first error of the reference.
            if pattern.named_groups().is_empty() {
                groups(node, pattern, found)?;
            }
            let (Some(key), Some(value)) = (found.name("key"), found.name("value")) else {
                let message = "`x-regex-key-value` needs the groups `key` and `value`, and both to take part";
                return Err(fail(node, ErrorKind::Groups, message));
            };
            entries.insert(key, value.into());
            Ok(true)
        })?;
        Ok(Some(entries).filter(|entries| !entries.is_empty()))
    }

    /// Passes the matches in the text of a content to a closure until it returns false.
    fn each(
        &mut self,
        node: &Node,
        regex: &Regex,
        content: &Content<'_>,
        mut take: impl FnMut(&Match<'_>, &Pattern) -> Result<bool, SchemaError>,
    ) -> Result<(), SchemaError> {
        let pattern = compiled(node, regex)?;
        let Content::Text(text) = content else { return Err(no_string(node, "a pattern", content.kind())) };
        let mut scan = pattern.scan(text, self.steps);
        let result = loop {
            let goes_on = match scan.next() {
                Some(Ok(found)) => take(&found, pattern),
                Some(Err(error)) => Err(too_much(node, regex, error)),
                None => Ok(false),
            };
            if !matches!(goes_on, Ok(true)) {
                break goes_on.map(drop);
            }
        };
        self.steps = self.steps.saturating_sub(scan.spent());
        result
    }

    fn parser<'t>(&mut self, node: &Node, parser: &Parser, content: Content<'t>) -> Result<Content<'t>, SchemaError> {
        let name = match parser.name.as_str() {
            Some(name @ ("json" | "gemma4-tool-call")) => name,
            other => {
                let message = format!("unknown parser `{}`", other.unwrap_or(parser.name.kind()));
                return Err(fail(node, ErrorKind::Parser, message));
            }
        };
        let mut text = match content {
            Content::Text(text) => text,
            Content::Value(value) => return Err(no_string(node, "a parser", value.kind())),
        };
        if name != "json" {
            let json = tool_call::to_json(&text, &mut self.steps);
            text = Cow::Owned(json.map_err(|error| fail(node, ErrorKind::Pattern, error.to_string()))?);
        }
        let value = match loads::load(&text, Mode::Reference) {
            Ok(value) => value,
            Err(Reason::NotJson { .. }) if parser.allow_non_json => Value::String(text.into_owned()),
            Err(reason) => return Err(fail(node, ErrorKind::Json, reason.to_string())),
        };
        let Some((_, expression)) = &parser.transform else { return Ok(Content::of(value)) };
        let transformed = expression.as_ref().map_err(Clone::clone).and_then(|expression| expression.search(value));
        let failed = |message| fail(node, ErrorKind::Transform, format!("the transform fails: {message}"));
        transformed.map(Content::of).map_err(failed)
    }

    fn typed(&mut self, node: &Node, content: Content<'_>) -> Result<Value, SchemaError> {
        let wanted = match &node.kind {
            Value::Null => return Ok(content.into_value()),
            Value::String(name) => name.as_str(),
            other => return Err(fail(node, ErrorKind::Node, format!("`type` must be a string, not {}", other.kind()))),
        };
        match (wanted, content) {
            ("any", content) => Ok(content.into_value()),
            ("object", content) => self.object(node, content),
            ("array", content) => self.array(node, content),
            ("string", Content::Text(text)) => Ok(Value::String(text.into_owned())),
            ("integer", Content::Value(value @ Value::Bool(_))) => Ok(value),
            ("integer", Content::Value(Value::Number(number))) if number.is_integer() => Ok(Value::Number(number)),
            (kind @ "integer", Content::Text(text)) => read(node, kind, &text, number::int(&text, Mode::Reference)),
            ("number", Content::Value(Value::Bool(value))) => Ok(f64::from(u8::from(value)).into()),
            ("number", Content::Value(Value::Number(number))) if number.is_integer() => match number.as_f64() {
                float if float.is_finite() => Ok(float.into()),
                _ => Err(fail(node, ErrorKind::Value, "the integer is too large for a float")),
            },
            ("number", Content::Value(Value::Number(number))) => Ok(Value::Number(number)),
            (kind @ "number", Content::Text(text)) => read(node, kind, &text, number::float(&text)),
            ("boolean", Content::Value(value @ Value::Bool(_))) => Ok(value),
            ("boolean", Content::Text(text)) => match text.to_lowercase().as_str() {
                "true" | "1" => Ok(true.into()),
                "false" | "0" => Ok(false.into()),
                _ => Err(fail(node, ErrorKind::Value, format!("{} is not a bool", shown(&text)))),
            },
            ("string" | "integer" | "number" | "boolean", content) => Err(wrong_type(node, wanted, content.kind())),
            _ => Err(fail(node, ErrorKind::Node, format!("unknown type `{wanted}`"))),
        }
    }

    fn object(&mut self, node: &Node, content: Content<'_>) -> Result<Value, SchemaError> {
        let mut object = Object::new();
        match content {
            Content::Text(text) => {
                let Some(properties) = &node.properties else {
                    let message =
                        "an object that gets a string needs `properties`, or a pattern or parser that reads it";
                    return Err(fail(node, ErrorKind::Node, message));
                };
                for (key, property) in properties {
                    let value = self.node(property, Content::Text(Cow::Borrowed(&text)))?;
                    if !value.is_null() {
                        object.insert(key.clone(), value);
                    }
                }
            }
            Content::Value(Value::Object(mut entries)) => {
                for (key, property) in node.properties.iter().flatten() {
                    if let Some(constant) = &property.constant {
                        object.insert(key.clone(), constant.clone());
                    } else if let Some(value) = entries.get_mut(key) {
                        let value = Content::of(std::mem::take(value));
                        object.insert(key.clone(), self.node(property, value)?);
                    } else if let Some(default) = &property.default {
                        object.insert(key.clone(), default.clone());
                    }
                }
                if !matches!(node.additional, Additional::No) {
                    for (key, value) in entries.iter_mut().filter(|(key, _)| node.property(key).is_none()) {
                        let value = std::mem::take(value);
                        let value = match &node.additional {
                            Additional::Parsed(additional) => self.node(additional, Content::of(value))?,
                            _ => value,
                        };
                        object.insert(key, value);
                    }
                }
            }
            Content::Value(other) => return Err(wrong_type(node, "object", other.kind())),
        }
        let missing: Vec<_> =
            node.required.iter().filter(|key| !object.contains_key(key)).map(|key| format!("`{key}`")).collect();
        if !missing.is_empty() {
            return Err(fail(node, ErrorKind::Required, format!("required keys are missing: {}", missing.join(", "))));
        }
        Ok(Value::Object(object))
    }

    fn array(&mut self, node: &Node, content: Content<'_>) -> Result<Value, SchemaError> {
        let content = content.into_value();
        if !content.is_truthy() {
            return Ok(Value::List(Vec::new()));
        }
        if let Some(item_node) = &node.items {
            let Value::List(items) = content else { return Err(wrong_type(node, "array", content.kind())) };
            let parsed: Result<Vec<_>, _> =
                items.into_iter().map(|item| self.node(item_node, Content::of(item))).collect();
            return parsed.map(Value::List);
        }
        let Some(item_nodes) = &node.prefix_items else {
            return Err(fail(node, ErrorKind::Node, "an array needs `items` or `prefixItems`"));
        };
        let items = match content {
            Value::List(items) => items,
            other if item_nodes.len() == 1 => vec![other],
            other => return Err(wrong_type(node, "array", other.kind())),
        };
        if items.len() != item_nodes.len() {
            let message = format!("there are {} items, but {} in `prefixItems`", items.len(), item_nodes.len());
            return Err(fail(node, ErrorKind::Count, message));
        }
        let parsed: Result<Vec<_>, _> =
            items.into_iter().zip(item_nodes).map(|(item, node)| self.node(node, Content::of(item))).collect();
        parsed.map(Value::List)
    }
}

/// The value of a match: its named groups that took part, or else its only group.
fn groups(node: &Node, pattern: &Pattern, found: &Match<'_>) -> Result<Value, SchemaError> {
    let named = pattern.named_groups();
    if !named.is_empty() {
        let taken =
            named.iter().filter_map(|(name, group)| Some((name.to_string(), found.group(*group as usize)?.into())));
        return Ok(Value::Object(taken.collect()));
    }
    match pattern.group_count() {
        1 => Ok(found.group(1).into()),
        0 => Err(fail(node, ErrorKind::Groups, "the pattern has no group for the value")),
        count => {
            Err(fail(node, ErrorKind::Groups, format!("the pattern has {count} groups without names; one is needed")))
        }
    }
}

fn compiled<'n>(node: &Node, regex: &'n Regex) -> Result<&'n Pattern, SchemaError> {
    let refused = |error: &backchat_parser::pattern::PatternError| {
        let message = format!("the pattern does not compile: {error} (at byte {})", error.offset);
        fail(node, ErrorKind::Pattern, message)
    };
    regex.pattern.as_ref().map_err(refused)
}

fn too_much(node: &Node, regex: &Regex, error: TooMuchWork) -> SchemaError {
    fail(node, ErrorKind::Pattern, format!("`{}`: {error}", shown(&regex.source)))
}

fn wrong_type(node: &Node, wanted: &str, kind: &str) -> SchemaError {
    fail(node, ErrorKind::Type, format!("the node is of type `{wanted}`, but its content is {kind}"))
}

fn no_string(node: &Node, reader: &str, kind: &str) -> SchemaError {
    fail(node, ErrorKind::Input, format!("the node has {reader} that reads text, but its content is {kind}"))
}

fn read(node: &Node, kind: &str, text: &str, number: Result<Number, Reason>) -> Result<Value, SchemaError> {
    number.map(Value::Number).map_err(|_| fail(node, ErrorKind::Value, format!("{} is not a {kind}", shown(text))))
}

/// A text, quoted for a message.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", Value::from(slice(text, ..end))),
        None => Value::from(text).to_string(),
    }
}

fn fail(node: &Node, kind: ErrorKind, message: impl Into<String>) -> SchemaError {
    SchemaError { kind, message: message.into(), path: node.json_path() }
}
