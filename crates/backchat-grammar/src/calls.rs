//! The rules of calls, one per tool: its arguments follow its schema, in the syntax of the wire.

use super::automaton::Automaton;
use super::custom::Input;
use super::marks::FreeTexts;
use super::native;
use super::notes::{Effect, Note};
use super::reads::Reads;
use super::rules::{Node, Rules};
use super::schema::{Cause, Member, Order, Problem, Schema, SchemaReader, Shape, bare_keys, types};
use super::spelling::Strings;
use super::style::{Space, Style, unquoted_json};
use backchat_core::json::{self, Value};
use backchat_derive::wire::structure::{Arguments, CallPart, Calls, Encoding, KEY_AGAIN, Pairs};
use backchat_derive::wire::written::{Ids, Spelling, Written};
use backchat_parser::pattern::Regular;

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

/// The context in which the schemas of a request are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaContext<'r> {
    /// Absent `additionalProperties` allow any member.
    pub open: bool,
    /// Allow only the white space that renders have.
    pub strict_space: bool,
    /// The order of a call's arguments.
    pub order: Order,
    pub reads: &'r Reads,
}

/// Adds the rule of a call to a tool.
pub(crate) fn call<'r>(
    rules: &'r mut Rules,
    tool: &'r Tool,
    calls: &'r Calls,
    written: &'r Written,
    free_texts: &'r FreeTexts,
    reading: SchemaContext<'r>,
    notes: &mut Vec<Note>,
) -> Result<Node, Problem> {
    // In a value without quotes, the marker that ends the value ends it even inside a JSON string.
    let text = match &calls.body.arguments {
        Arguments::Pairs(pairs) if pairs.values.strings == Encoding::Bare => &free_texts.bare,
        _ => &free_texts.nested,
    };
    let reading = SchemaContext { open: reading.open || tool.is_open, ..reading };
    let mut reader = SchemaReader::new(rules, &tool.parameters, &tool.name, text, reading.open);
    reader.input = tool.input.as_ref();
    let arguments = arguments(&mut reader, tool, calls, written, free_texts, reading);
    notes.append(&mut reader.notes);
    let arguments = arguments?;
    if arguments.is_never() {
        return Err(Problem::at("", "nothing satisfies these parameters"));
    }
    let in_json = calls.body.object.is_some();
    let mut written_out = |pieces: &[CallPart]| -> Vec<Node> {
        pieces.iter().map(|piece| call_part(rules, piece, tool, in_json, &written.ids, free_texts)).collect()
    };
    let (head, tail) = (written_out(&calls.body.head), written_out(&calls.body.tail));
    let node = Node::sequence(head.into_iter().chain([arguments]).chain(tail));
    if !free_texts.value.accepts(&tool.name) || tool.name.chars().any(char::is_control) {
        let message = format!("the name {:?} contains a marker of this wire format", tool.name);
        return Err(Problem::of_wire("", &message));
    }
    Ok(rules.add(&format!("call-{}", tool.name), node))
}

fn call_part(
    rules: &mut Rules,
    piece: &CallPart,
    tool: &Tool,
    in_json: bool,
    ids: &Ids,
    free_texts: &FreeTexts,
) -> Node {
    let mut number = || {
        let digits = Automaton::from_pattern(&Regular::class(&[('0', '9')]).repeat(1, Some(6)));
        rules.text("index", digits.unwrap_or_else(Automaton::nothing))
    };
    match piece {
        CallPart::Text(text) => Node::literal(text.as_str()),
        CallPart::Name | CallPart::NameAgain if in_json => Node::literal(unquoted_json(&tool.name)),
        CallPart::Name | CallPart::NameAgain => Node::literal(tool.name.as_str()),
        CallPart::Id => {
            let id = Automaton::from_pattern(&Regular::class(&ids.alphabet).repeat(ids.least, ids.most));
            let id = id.and_then(|id| id.both(&free_texts.value)).unwrap_or_else(Automaton::nothing);
            rules.text("id", id)
        }
        CallPart::NamedId => Node::sequence([Node::literal(format!("functions.{}:", tool.name)), number()]),
        CallPart::Counter(_) => number(),
    }
}

fn arguments<'r>(
    reader: &mut SchemaReader<'r>,
    tool: &Tool,
    calls: &'r Calls,
    written: &'r Written,
    free_texts: &'r FreeTexts,
    reading: SchemaContext<'r>,
) -> Result<Node, Problem> {
    let schema = Schema::new(&tool.parameters, String::new());
    let mut shapes = reader.shapes(&schema)?;
    shapes.retain(|shape| shape.types & types::OBJECT != 0);
    if shapes.is_empty() {
        return Err(Problem::at("", "no object satisfies these parameters"));
    }
    let style = match &calls.body.arguments {
        Arguments::Json | Arguments::JsonText => Style::json(),
        Arguments::Python => {
            reader.note(Effect::Tighter, "", "properties", ONLY_JSON);
            Style::single()
        }
        Arguments::Dialect { unquoted_keys, quotes } => dialect(*unquoted_keys, quotes.as_ref(), written),
        Arguments::Pairs(pairs) => {
            let mut nodes = Vec::new();
            for shape in &shapes {
                nodes.push(PairedArguments { pairs, written, free_texts, reading }.arguments(reader, shape)?);
            }
            return Ok(Node::choice(nodes));
        }
    };
    let style = Style {
        sorted: written.sorted || written.sorted_inside,
        inside: calls.body.arguments == Arguments::JsonText,
        ..style.with_space(reading.strict_space)
    };
    let mut nodes = Vec::new();
    for shape in &shapes {
        if style.bare_keys
            && let Some(key) = shape.required.iter().find(|key| style.key(key).is_never())
        {
            let message = format!("this wire format writes keys without quotes and cannot write {key:?}");
            return Err(Problem::of_wire("/required", &message));
        }
        nodes.push(reader.object(shape, &style, &tool.name, reading.order)?);
    }
    let says_all = tool.input.is_none() && reading.order == Order::Schema;
    let native = says_all
        .then(|| native::json_schema(&tool.parameters, &style, reading.open, reader.rules, reader.free_texts))
        .flatten();
    let node = reader.rules.add_native(&format!("{}-arguments", tool.name), Node::choice(nodes), native);
    Ok(if style.inside { Node::sequence([Node::literal("\""), node, Node::literal("\"")]) } else { node })
}

fn dialect(unquoted: bool, quotes: Option<&(String, String)>, written: &Written) -> Style {
    let sign = |text: &str| text.trim_matches(|c: char| c == '"' || c == '\'').to_owned();
    let (colon, comma) = match &written.braced {
        Some((_, gap, between)) => (sign(gap), sign(between)),
        None => (":".to_owned(), ",".to_owned()),
    };
    Style {
        name: "dialect",
        strings: match quotes {
            Some((open, close)) => Strings::Marked(open.clone(), close.clone()),
            None => Strings::Json,
        },
        bare_keys: unquoted,
        space: Space::Exact { colon, comma },
        ..Style::json()
    }
}

/// Arguments written key by key.
struct PairedArguments<'r> {
    pairs: &'r Pairs,
    written: &'r Written,
    free_texts: &'r FreeTexts,
    reading: SchemaContext<'r>,
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
const ONLY_JSON: &str =
    "the parser does not read all that Python prints: only JSON, and what it takes for JSON, is allowed";

impl<'r> PairedArguments<'r> {
    fn arguments(&self, reader: &mut SchemaReader<'r>, shape: &Shape) -> Result<Node, Problem> {
        let properties = shape.named_members(self.written.sorted);
        let cut = &self.pairs.cut;
        let tool = reader.tool.clone();
        let mut members = Vec::new();
        for (key, schema) in &properties {
            let required = shape.required.contains(key);
            let value = self.value(reader, schema, Some(key), &format!("{tool}-{key}"))?;
            let gap = self.pairs.gap.chars().find(|c| !c.is_whitespace());
            let is_odd = key.is_empty() || key.contains('\n') || gap.is_some_and(|gap| key.contains(gap));
            if is_odd || value.is_never() {
                if required {
                    let message = match value.is_never() {
                        true => "nothing satisfies this required argument".to_owned(),
                        false => format!("this wire format cannot write the name {key:?}"),
                    };
                    let cause = if is_odd { Cause::Wire } else { Cause::Schema };
                    return Err(Problem { cause, ..Problem::at(&format!("/properties/{key}"), &message) });
                }
                continue;
            }
            let close = cut.close.replace(KEY_AGAIN, key);
            let node = Node::sequence([Node::literal(format!("{}{key}", cut.open)), value, Node::literal(close)]);
            members.push(Member { node, required });
        }
        let mut extra = None;
        let others = match &shape.additional {
            Some(schema) => Some(schema.clone()).filter(|schema| !schema.is_false()),
            None if self.reading.open || !shape.names_members => Some(Schema::anything()),
            None => {
                let message = "only the arguments of the schema are allowed: `additionalProperties` is not set";
                reader.note(Effect::Tighter, "", "additionalProperties", message);
                None
            }
        };
        if let Some(schema) = others {
            let declared = properties.iter().map(|(name, _)| name.as_str());
            let keys = bare_keys(&Automaton::one_of(declared).complement()).unwrap_or_else(Automaton::nothing);
            if !self.pairs.key_again {
                let value = self.value(reader, &schema, None, &format!("{tool}-other"))?;
                let key = reader.rules.text(&format!("{tool}-other-key"), keys);
                let node = Node::sequence([Node::literal(&*cut.open), key, value, Node::literal(&*cut.close)]);
                extra = Some((node, 0, None));
            }
        }
        Ok(reader.members(&tool, &members, extra, &Node::literal(cut.separator.as_str()), self.reading.order))
    }

    /// A value with the text around it, from its key on; without a key, the value of any unlisted name.
    fn value(
        &self,
        reader: &mut SchemaReader<'r>,
        schema: &Schema,
        key: Option<&str>,
        name: &str,
    ) -> Result<Node, Problem> {
        let shapes = reader.shapes(schema)?;
        let text = shapes.iter().any(Shape::takes_any_text);
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
                let own = Shape { types: shape.types & bits, ..shape.clone() };
                if kind.name == "string" {
                    nodes.push(self.string(reader, &own, spelling, name)?);
                    continue;
                }
                let read = self.read(&reader.tool, key, kind, text);
                let node = self.other(reader, &own, spelling, read, &format!("{name}-{}", kind.name))?;
                if !node.is_never() {
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
        shape: &Shape,
        spelling: &Spelling,
        read: ReadBack,
        name: &str,
    ) -> Result<Node, Problem> {
        let is_word = matches!(spelling.kind, "boolean" | "null");
        // A value that may be read as text in every spelling is written as on the wire.
        let as_written = read.text || !read.json && !read.python;
        let styles = match (spelling.python, read.json) {
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
        shape: &Shape,
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
            Encoding::Quoted { open, close, escaped } => {
                // The quotes with Python's escapes, and the other ones.
                let python: Option<(&'static [char], &str)> = match open.as_str() {
                    "'" if *escaped => Some((&['\''], "\"")),
                    "\"" if *escaped => Some((&['"'], "'")),
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
                            let strings = python.map_or(marked(open, close), |(own, _)| Strings::Python(own));
                            ways.push((strings, &texts.escaped));
                        }
                        if let Some((_, other)) = python {
                            ways.push((marked(other, other), &texts.other));
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

    /// A text without quotes.
    fn bare(&self, reader: &mut SchemaReader<'r>, shape: &Shape, name: &str) -> Result<Node, Problem> {
        let style = Style { strings: Strings::Marked(String::new(), String::new()), ..Style::json() };
        if let Some(values) = &shape.values {
            let mut nodes = Vec::new();
            for text in reader.fitting(shape, values).into_iter().filter_map(Value::as_str) {
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
