//! The values of arguments that are written key by key, each in the spellings of its type that the parser reads back.

use super::SchemaContext;
use crate::automaton::Automaton;
use crate::markers::FreeTexts;
use crate::notes::Effect;
use crate::rules::{Node, Strings};
use crate::schema::{Constraints, Problem, Schema, SchemaReader, types};
use crate::value::Style;
use backchat_core::json::{self, Value};
use backchat_derive::wire::structure::{Encoding, KEY_AGAIN, Pairs};
use backchat_derive::wire::written::{Spelling, Written};
use backchat_parser::pattern::Regular;

/// Writes the values of arguments.
pub(super) struct PairedValues<'r> {
    pub pairs: &'r Pairs,
    pub written: &'r Written,
    pub free_texts: &'r FreeTexts,
    pub reading: SchemaContext<'r>,
}

/// A type that wires distinguish.
struct ValueType {
    name: &'static str,
    bits: u8,
    /// A value of it as JSON.
    json: &'static str,
    /// A value of it as Python prints it, and the same as JSON.
    python: [&'static str; 2],
}

const VALUE_TYPES: [ValueType; 7] = [
    ValueType { name: "string", bits: types::STRING, json: "\"a\"", python: ["'a'", "\"a\""] },
    ValueType { name: "integer", bits: types::WHOLE, json: "7", python: ["7", "7"] },
    ValueType { name: "number", bits: types::FRACTION, json: "7.5", python: ["7.5", "7.5"] },
    ValueType { name: "boolean", bits: types::BOOLEAN, json: "true", python: ["True", "true"] },
    ValueType { name: "null", bits: types::NULL, json: "null", python: ["None", "null"] },
    // A parser that reads single quotes may also read them inside JSON strings.
    ValueType { name: "array", bits: types::ARRAY, json: "[\"'a'\"]", python: ["['a']", "[\"a\"]"] },
    ValueType { name: "object", bits: types::OBJECT, json: "{\"'a'\": 7}", python: ["{'a': 7}", "{\"a\": 7}"] },
];

/// Which spellings of one type's values the parser reads back as these values.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ReadBack {
    json: bool,
    python: bool,
    /// The schema also allows any text.
    text: bool,
}

fn around(before: &str, node: Node, after: &str) -> Node {
    Node::sequence([Node::literal(before), node, Node::literal(after)])
}

/// Notes values that the parser may read back as others, and spellings that are left out for that reason.
fn note(reader: &mut SchemaReader<'_>, schema: &Schema, key: Option<&str>, spelling: &Spelling, read: ReadBack) {
    if read.text {
        return;
    }
    let is_read = read.json || spelling.python && read.python;
    if !is_read {
        let holds = |keyword: &&&str| schema.all.iter().any(|(value, _)| value.get(keyword).is_some());
        let keyword = match key {
            Some(_) => ["$ref", "allOf", "not", "enum", "const"].iter().find(holds).map_or("type", |keyword| keyword),
            None => "additionalProperties",
        };
        let message = "the parser finds no type for this value in the `type`, `anyOf` and `oneOf` of `properties`: it \
                       may come back as text";
        reader.note(Effect::Assumed, schema.path(), keyword, message);
    } else if spelling.python && (!read.python || matches!(spelling.kind, "array" | "object")) {
        reader.note(Effect::Tighter, schema.path(), "type", ONLY_JSON);
    }
}

/// Why some spellings of the chat template are left out.
pub(super) const ONLY_JSON: &str =
    "the parser does not read all that Python prints: only JSON, and what it takes for JSON, is allowed";

impl<'r> PairedValues<'r> {
    /// A value with the text around it, from its key on; without a key, the value of any unlisted name.
    pub fn value(
        &self,
        reader: &mut SchemaReader<'r>,
        schema: &Schema,
        key: Option<&str>,
        name: &str,
    ) -> Result<Node, Problem> {
        let shapes = reader.shapes(schema)?;
        let text = shapes.iter().any(Constraints::takes_any_text);
        let mut nodes: Vec<Node> = Vec::new();
        for shape in &shapes {
            for kind in &VALUE_TYPES {
                let Some(spelling) = self.spelling(kind.name) else { continue };
                let mut bits = kind.bits;
                // If the schema allows integers and fractions, both have one node.
                let numbers = types::WHOLE | types::FRACTION;
                if kind.name == "integer" && shape.types & numbers == numbers {
                    bits = numbers;
                }
                if kind.name == "number" && shape.types & numbers == numbers && !self.differs("integer", "number") {
                    continue;
                }
                if shape.types & bits == 0 {
                    continue;
                }
                let own = Constraints { types: shape.types & bits, ..shape.clone() };
                if kind.name == "string" {
                    nodes.push(self.string(reader, &own, spelling, name)?);
                    continue;
                }
                let read = self.read(&reader.tool, key, kind, text);
                let node = self.other(reader, &own, spelling, read, &format!("{name}-{}", kind.name))?;
                // The parser of a list reads all that Python prints.
                if !node.is_never() && !self.reading.reads.is_call_list() {
                    note(reader, schema, key, spelling, read);
                }
                nodes.push(node);
            }
        }
        Ok(Node::choice(nodes))
    }

    /// How the parser reads back an argument's values of one type, which does not matter if any text is allowed.
    fn read(&self, tool: &str, key: Option<&str>, kind: &ValueType, text: bool) -> ReadBack {
        // The parser knows no type for an unlisted or empty name.
        let key = key.unwrap_or_default();
        let is = |written: &str, value: &str| {
            json::read(value).is_ok_and(|value| self.reading.reads.is(tool, key, written, &value))
        };
        let [written, value] = kind.python;
        let json = !text && is(kind.json, kind.json);
        ReadBack { json, python: !text && if written == kind.json { json } else { is(written, value) }, text }
    }

    /// The arguments of a call with one argument, whose value has the text around it.
    pub fn alone(&self, key: &str, value: &str) -> String {
        let cut = &self.pairs.cut;
        let close = cut.close.replace(KEY_AGAIN, key);
        format!("{}{}{key}{value}{close}{}", cut.section, cut.open, cut.section_close)
    }

    /// A value with the text around it, from its key on.
    pub fn sample(&self) -> String {
        self.spelling("integer").map_or_else(String::new, |around| format!("{}7{}", around.before, around.after))
    }

    fn spelling(&self, kind: &str) -> Option<&Spelling> {
        let find = |kind: &str| self.written.spellings.iter().find(|spelling| spelling.kind == kind);
        find(kind).or_else(|| find("integer")).or_else(|| find("string"))
    }

    fn differs(&self, a: &str, b: &str) -> bool {
        let around = |kind: &str| self.spelling(kind).map(|spelling| (&spelling.before, &spelling.after));
        around(a) != around(b)
    }

    /// A value that is not a string.
    fn other(
        &self,
        reader: &mut SchemaReader<'r>,
        shape: &Constraints,
        spelling: &Spelling,
        read: ReadBack,
        name: &str,
    ) -> Result<Node, Problem> {
        let is_word = matches!(spelling.kind, "boolean" | "null");
        // A value that may be read as text in every spelling is written as on the wire.
        let as_written = read.text || !read.json && !read.python;
        let styles = match (spelling.python, read.json) {
            _ if self.reading.reads.is_call_list() => vec![Style::json(), Style::python()],
            (false, _) => vec![Style::json()],
            (true, _) if is_word => vec![Style { python_words: read.python || as_written, ..Style::json() }],
            (true, _) if as_written => vec![Style::python()],
            (true, true) if read.python => vec![Style::json(), Style::quoted("'", "'")],
            (true, true) => vec![Style::json()],
            (true, false) => vec![Style::quoted("'", "'")],
        };
        let mut nodes = Vec::new();
        for style in styles {
            let style = Style { sorted: self.written.sorted_inside, ..style.with_space(self.reading.strict_space) };
            nodes.push(reader.shape(shape, &style, name)?);
        }
        Ok(around(&spelling.before, Node::choice(nodes), &spelling.after))
    }

    fn string(
        &self,
        reader: &mut SchemaReader<'r>,
        shape: &Constraints,
        spelling: &Spelling,
        name: &str,
    ) -> Result<Node, Problem> {
        let quoted = |open: &str, close: &str| {
            let before = spelling.before.strip_suffix(open).unwrap_or(&spelling.before).to_owned();
            let after = spelling.after.strip_prefix(close).unwrap_or(&spelling.after).to_owned();
            (before, after)
        };
        let marked = |open: &str, close: &str| Strings::Marked(open.to_owned(), close.to_owned());
        let free_texts = self.free_texts;
        // Each way to quote the string, with the texts that contain no marker there.
        let (ways, (before, after)) = match &self.pairs.values.strings {
            Encoding::Json => (vec![(Strings::Json, &free_texts.value)], quoted("\"", "\"")),
            Encoding::Quoted { open, close, .. } if self.reading.reads.is_call_list() => {
                (vec![(Strings::Python(&['\'', '"']), &free_texts.value)], quoted(open, close))
            }
            Encoding::Quoted { open, close, escaped } => {
                // The quotes with Python's escapes, and the other ones.
                let python: Option<&'static [char]> = match open.as_str() {
                    "'" if *escaped => Some(&['\'']),
                    "\"" if *escaped => Some(&['"']),
                    _ => None,
                };
                let either = || Strings::Python(&['\'', '"']);
                let ways = match (python, &free_texts.quoted) {
                    (None, None) => vec![(marked(open, close), &free_texts.nested)],
                    (Some(_), None) => vec![(either(), &free_texts.nested)],
                    (Some(_), Some(texts)) if shape.values.is_some() => vec![(either(), &texts.plain)],
                    (_, Some(texts)) => {
                        let mut ways = vec![(marked(open, close), &texts.plain)];
                        if shape.takes_any_text() {
                            let strings = python.map_or(marked(open, close), Strings::Python);
                            ways.push((strings, &texts.escaped));
                        }
                        if open == "'" && self.takes_double_quotes(reader, shape, quoted(open, close), *escaped) {
                            ways.push((marked("\"", "\""), &texts.other));
                        }
                        ways
                    }
                };
                (ways, quoted(open, close))
            }
            Encoding::Bare => {
                let node = self.bare(reader, shape, name)?;
                return Ok(around(&spelling.before, node, &spelling.after));
            }
        };
        let mut nodes = Vec::new();
        for (strings, free_texts) in ways {
            let was = std::mem::replace(&mut reader.free_texts, free_texts);
            let node = reader.shape(shape, &Style { strings, ..Style::json() }, name);
            reader.free_texts = was;
            nodes.push(node?);
        }
        Ok(around(&before, Node::choice(nodes), &after))
    }

    /// Whether a text with an apostrophe may be between double quotes: the parser reads it back, and its length need not
    /// be counted a second time, which would make the grammar several times as large.
    fn takes_double_quotes(
        &self,
        reader: &mut SchemaReader<'r>,
        shape: &Constraints,
        (before, after): (String, String),
        is_escaped: bool,
    ) -> bool {
        let text = self.alone("a", &format!("{before}\"a'b\"{after}"));
        if self.reading.reads.arguments(&text) != Some(Value::from([("a", "a'b".into())])) {
            return false;
        }
        let is_counted = !is_escaped && !shape.length.is_free();
        if is_counted {
            let message = "a text of limited length is written only between single quotes, without an apostrophe";
            reader.note(Effect::Tighter, &shape.path, "type", message);
        }
        !is_counted
    }

    /// A text without quotes.
    fn bare(&self, reader: &mut SchemaReader<'r>, shape: &Constraints, name: &str) -> Result<Node, Problem> {
        let style = Style { strings: Strings::Marked(String::new(), String::new()), ..Style::json() };
        if let Some(values) = &shape.values {
            let mut nodes = Vec::new();
            for text in reader.fitting(shape, values)?.into_iter().filter_map(Value::as_str) {
                if self.free_texts.bare.accepts(text) {
                    nodes.push(style.literal(text));
                }
            }
            return Ok(Node::choice(nodes));
        }
        let node = reader.bare_text(shape, name, &self.free_texts.bare)?;
        let Some((open, close)) = &self.pairs.values.frame else { return Ok(node) };
        let free_texts =
            Automaton::without(&[&Regular::text(close)], &[]).and_then(|free| free.both(&self.free_texts.bare));
        let Some(free_texts) = free_texts else { return Ok(node) };
        let inner = reader.bare_text(shape, &format!("{name}-framed"), &free_texts)?;
        Ok(Node::choice([node, around(open, inner, close)]))
    }
}
