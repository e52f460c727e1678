//! Loads a schema from JSON, with the position of every problem.
//!
//! Errors that the reference raises only while parsing, such as a pattern that does not compile, are not reported here:
//! the schema loads, and fails where the reference fails.

use super::node::{Additional, Node, Parser, Regex, Substitution};
use super::substitute::Replacement;
use super::{Schema, jmespath};
use backchat_core::diagnostic::{Diagnostic, Place, invalid_json};
use backchat_core::json::{self, Object, Path, Places, Value};

/// The largest schema that is read, in bytes of its text.
pub(super) const LARGEST: usize = 1 << 20;

/// How deeply nodes may be nested.
const MAX_DEPTH: usize = 100;

/// The keys that are read.
const READ: &[&str] = &[
    "additionalProperties",
    "const",
    "default",
    "items",
    "prefixItems",
    "properties",
    "required",
    "type",
    "x-parser",
    "x-parser-args",
    "x-regex",
    "x-regex-iterator",
    "x-regex-key-value",
    "x-regex-substitutions",
];

/// The keys that are annotations only.
const NOTES: &[&str] = &["title", "description", "$schema", "$id", "$comment", "examples"];

/// A loaded schema.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The schema.
    pub schema: Schema,
    /// Warnings for its author.
    pub warnings: Vec<Diagnostic>,
}

impl Schema {
    /// Loads a schema from JSON text.
    ///
    /// ```
    /// use backchat_legacy::schema::Schema;
    ///
    /// let schema = Schema::load(r#"{"type": "object", "properties": {"content": {"x-regex": "<a>(.*?)</a>"}}}"#)
    ///     .map_err(|diagnostics| diagnostics[0].message.clone())?
    ///     .schema;
    /// assert_eq!(schema.parse("<a>Hello</a>").unwrap().to_string(), r#"{"content": "Hello"}"#);
    /// # Ok::<(), String>(())
    /// ```
    pub fn load(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
        if text.len() > LARGEST {
            return Err(vec![too_large()]);
        }
        let (value, places) = json::read_with_places(text).map_err(|error| vec![invalid_json(text, &error)])?;
        load_value(&value, &Path::root(), Some((text, &places)))
    }

    /// Loads a schema from a value; problems have paths, not lines.
    pub fn from_value(value: &Value) -> Result<Loaded, Vec<Diagnostic>> {
        load_value(value, &Path::root(), None)
    }
}

pub(super) fn too_large() -> Diagnostic {
    Diagnostic::error("schema-too-large", format!("the response schema is larger than {} MB", LARGEST >> 20))
        .help("a schema is a few kilobytes of JSON; is this the right file?")
}

/// Loads the schema at `base` of a document.
pub(super) fn load_value(
    value: &Value,
    base: &Path,
    source: Option<(&str, &Places)>,
) -> Result<Loaded, Vec<Diagnostic>> {
    let mut loader = Loader { base, source, found: Vec::new() };
    match loader.node(value, Path::root(), 0) {
        Some(root) if loader.found.is_empty() => Ok(Loaded { schema: Schema::new(root), warnings: Vec::new() }),
        _ => Err(loader.found),
    }
}

struct Loader<'s> {
    base: &'s Path,
    source: Option<(&'s str, &'s Places)>,
    found: Vec<Diagnostic>,
}

impl Loader<'_> {
    fn report(&mut self, path: &Path, message: impl Into<String>, help: &str) {
        // Without its text, a schema has paths only.
        let place = self.source.and_then(|(text, places)| Some(Place::span(text, places.at(path)?.value.clone())));
        let place = place.unwrap_or_default().path(path.below(self.base).to_string());
        self.found.push(Diagnostic::error("unusable-schema", message).at(place).help(help));
    }

    /// Reports a key whose value has the wrong type.
    fn wrong_type(&mut self, path: &Path, key: &str, wanted: &str, value: &Value, help: &str) {
        self.report(path, format!("`{key}` must be {wanted}, not {}", value.kind()), help);
    }

    fn node(&mut self, value: &Value, path: Path, depth: usize) -> Option<Node> {
        let Some(entries) = value.as_object() else {
            let message = format!("a node of a response schema must be an object, not {}", value.kind());
            self.report(&path, message, "write `{}` for a node that takes anything");
            return None;
        };
        if depth > MAX_DEPTH {
            let message = format!("the schema is nested more than {MAX_DEPTH} nodes deep");
            self.report(&path, message, "no message is nested that deep; does the schema contain itself?");
            return None;
        }
        let at = |key: &str| path.key(key);
        let mut pattern = |key: &str| self.pattern(entries, key, &at(key));
        let (regex, iterator, key_value) =
            (pattern("x-regex"), pattern("x-regex-iterator"), pattern("x-regex-key-value"));
        let mut child = |key: &str| {
            let value = entries.get(key)?;
            self.node(value, at(key), depth + 1).map(Box::new)
        };
        let items = child("items");
        let additional = match entries.get("additionalProperties") {
            Some(Value::Bool(false)) => Additional::No,
            Some(Value::Object(_)) => child("additionalProperties").map_or(Additional::AsTheyAre, Additional::Parsed),
            _ => Additional::AsTheyAre,
        };
        let patterns = ["x-regex", "x-regex-iterator", "x-regex-key-value", "x-regex-substitutions"];
        let is_unread = |key: &&str| {
            !NOTES.contains(key)
                && (!READ.contains(key) || *key == "x-parser-args" && !entries.contains_key("x-parser"))
        };
        Some(Node {
            constant: entries.get("const").cloned(),
            has_regex: patterns.iter().any(|key| entries.contains_key(key)),
            substitutions: self.substitutions(entries, &at("x-regex-substitutions")),
            regex,
            iterator,
            key_value,
            parser: self.parser(entries, &path),
            kind: entries.get("type").cloned().unwrap_or(Value::Null),
            default: entries.get("default").cloned(),
            properties: self.properties(entries, &at("properties"), depth),
            additional,
            required: self.required(entries, &at("required")),
            items,
            prefix_items: self.prefix_items(entries, &at("prefixItems"), depth),
            unread: entries.keys().filter(is_unread).map(str::to_owned).collect(),
            path,
        })
    }

    fn pattern(&mut self, entries: &Object, key: &str, path: &Path) -> Option<Regex> {
        match entries.get(key)? {
            Value::String(source) => Some(Regex::new(source)),
            Value::Null => None,
            other => {
                self.wrong_type(path, key, "a string", other, "write one pattern of Python's `re`");
                None
            }
        }
    }

    fn substitutions(&mut self, entries: &Object, path: &Path) -> Vec<Substitution> {
        let help = "write a list of `[pattern, replacement]` pairs";
        let Some(value) = entries.get("x-regex-substitutions") else { return Vec::new() };
        let Some(items) = value.as_list() else {
            self.wrong_type(path, "x-regex-substitutions", "a list", value, help);
            return Vec::new();
        };
        let mut substitutions = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.as_list() {
                Some([Value::String(pattern), Value::String(replacement), ..]) => {
                    let regex = Regex::new(pattern);
                    let replacement = match &regex.pattern {
                        Ok(pattern) => Replacement::read(replacement, pattern),
                        // Its kind does not matter: the pattern fails first.
                        Err(_) => Err("the pattern does not compile".into()),
                    };
                    substitutions.push(Substitution { regex, replacement });
                }
                _ => self.report(&path.index(index), "a substitution must be two strings", help),
            }
        }
        substitutions
    }

    fn parser(&mut self, entries: &Object, path: &Path) -> Option<Parser> {
        let name = entries.get("x-parser")?.clone();
        let path = path.key("x-parser-args");
        let arguments = match entries.get("x-parser-args") {
            None => None,
            Some(Value::Object(arguments)) => Some(arguments),
            Some(other) => {
                self.wrong_type(&path, "x-parser-args", "an object", other, "write `{}`, or remove the key");
                None
            }
        };
        let argument = |name: &str| arguments.and_then(|arguments| arguments.get(name));
        let transform = match argument("transform") {
            None | Some(Value::Null) => None,
            Some(Value::String(source)) => Some((source.clone(), jmespath::Expression::read(source))),
            Some(other) => {
                let (path, wanted) = (path.key("transform"), "a JMESPath expression");
                self.wrong_type(&path, "transform", wanted, other, "write the expression as a string");
                None
            }
        };
        Some(Parser { name, allow_non_json: argument("allow_non_json").is_some_and(Value::is_truthy), transform })
    }

    fn properties(&mut self, entries: &Object, path: &Path, depth: usize) -> Option<Vec<(String, Node)>> {
        let value = entries.get("properties")?;
        let Some(properties) = value.as_object() else {
            self.wrong_type(path, "properties", "an object", value, "write one node for each key of the message");
            return None;
        };
        let node =
            |(name, value): (&str, &Value)| Some((name.to_owned(), self.node(value, path.key(name), depth + 1)?));
        Some(properties.iter().filter_map(node).collect())
    }

    fn required(&mut self, entries: &Object, path: &Path) -> Vec<String> {
        let Some(value) = entries.get("required") else { return Vec::new() };
        let names =
            value.as_list().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        names.unwrap_or_else(|| {
            let help = "write the names of the keys that must be there";
            self.report(path, "`required` must be a list of strings", help);
            Vec::new()
        })
    }

    fn prefix_items(&mut self, entries: &Object, path: &Path, depth: usize) -> Option<Vec<Node>> {
        let value = entries.get("prefixItems")?;
        let Some(items) = value.as_list() else {
            self.wrong_type(path, "prefixItems", "a list", value, "write one node for each item");
            return None;
        };
        let node = |(index, value)| self.node(value, path.index(index), depth + 1);
        Some(items.iter().enumerate().filter_map(node).collect())
    }
}
