//! The rules of calls: one rule a tool, its arguments as its schema and the wire have them.

use super::automaton::Automaton;
use super::marks::Clear;
use super::notes::{Effect, Note};
use super::rules::{Node, Rules};
use super::schema::{Member, Order};
use super::schema::{Problem, Reader, Schema, Shape, types};
use super::strings::Strings;
use super::style::{Space, Style, unquoted_json};
use crate::json::Value;
use crate::pattern::Regular;
use crate::wire::structure::{Arguments, CallPart, Calls, Encoding, KEY_AGAIN, Pairs};
use crate::wire::written::{Spelling, Written};

/// A tool of the request.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub name: String,
    pub parameters: Value,
}

/// The context in which the schemas of a request are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Absent `additionalProperties` allow any.
    pub open: bool,
    /// White space only as renders have it.
    pub strict_space: bool,
    /// The order of a call's arguments.
    pub order: Order,
}

/// Why a tool has no rule.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub problem: Problem,
    /// The wire cannot write it, whatever its schema says.
    pub of_wire: bool,
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self { problem, of_wire: false }
    }
}

/// Adds the rule of a call to a tool.
pub(crate) fn call(
    rules: &mut Rules,
    tool: &Tool,
    calls: &Calls,
    written: &Written,
    clear: &Clear,
    reading: Reading,
    notes: &mut Vec<Note>,
) -> Result<Node, Fault> {
    // Inside a value without quotes even the text of a JSON string ends at the value's mark.
    let is_bare = matches!(&calls.body.arguments, Arguments::Pairs(pairs) if pairs.values.strings == Encoding::Bare);
    let text = if is_bare { &clear.bare } else { &clear.value };
    let mut reader = Reader::new(rules, &tool.parameters, &tool.name, text, reading.open);
    let arguments = arguments(&mut reader, tool, calls, written, clear, reading);
    notes.append(&mut reader.notes);
    let arguments = arguments?;
    if arguments.is_never() {
        return Err(Problem::at("", "nothing satisfies these parameters").into());
    }
    let in_json = calls.body.object.is_some();
    let mut parts = Vec::new();
    for pieces in [&calls.body.head, &calls.body.tail] {
        for piece in pieces {
            parts.push(self::piece(rules, piece, tool, in_json, clear));
        }
        if std::ptr::eq(pieces, &calls.body.head) {
            parts.push(arguments.clone());
        }
    }
    let node = Node::sequence(parts);
    if let Some(mark) = forbidden_name(&tool.name, clear) {
        let message = format!("the name {mark:?} contains a marker of this wire format");
        return Err(Fault { problem: Problem::at("", &message), of_wire: true });
    }
    Ok(rules.add(&format!("call-{}", tool.name), node))
}

fn forbidden_name<'n>(name: &'n str, clear: &Clear) -> Option<&'n str> {
    (!clear.value.accepts(name) || name.chars().any(char::is_control)).then_some(name)
}

fn piece(rules: &mut Rules, piece: &CallPart, tool: &Tool, in_json: bool, clear: &Clear) -> Node {
    let class = |ranges: &[(char, char)]| {
        let mut ranges: Vec<(u32, u32)> =
            ranges.iter().map(|(low, high)| (u32::from(*low), u32::from(*high))).collect();
        ranges.sort_unstable();
        Regular::Class(ranges)
    };
    let digits = Regular::Repeat { node: Box::new(class(&[('0', '9')])), min: 1, max: Some(6) };
    match piece {
        CallPart::Text(text) => Node::literal(text.as_str()),
        CallPart::Name | CallPart::NameAgain if in_json => Node::literal(unquoted_json(&tool.name)),
        CallPart::Name | CallPart::NameAgain => Node::literal(tool.name.as_str()),
        CallPart::Id => {
            let word = class(&[('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_'), ('-', '-')]);
            let id = Automaton::of(&Regular::Repeat { node: Box::new(word), min: 1, max: None });
            let id = id.and_then(|id| id.both(&clear.value)).unwrap_or_else(Automaton::nothing);
            rules.text("id", id)
        }
        CallPart::NamedId => {
            let number = Automaton::of(&digits).unwrap_or_else(Automaton::nothing);
            let number = rules.text("index", number);
            Node::sequence([Node::literal(format!("functions.{}:", tool.name)), number])
        }
        CallPart::Counter(_) => {
            let number = Automaton::of(&digits).unwrap_or_else(Automaton::nothing);
            rules.text("index", number)
        }
    }
}

fn arguments(
    reader: &mut Reader<'_>,
    tool: &Tool,
    calls: &Calls,
    written: &Written,
    clear: &Clear,
    reading: Reading,
) -> Result<Node, Fault> {
    let schema = Schema::new(&tool.parameters, String::new());
    let mut shapes = reader.shapes(&schema)?;
    shapes.retain(|shape| shape.types & types::OBJECT != 0);
    if shapes.is_empty() {
        return Err(Problem::at("", "no object satisfies these parameters").into());
    }
    let mut style = match &calls.body.arguments {
        Arguments::Json | Arguments::JsonText => Style::json(),
        Arguments::Python => Style::python(),
        Arguments::Dialect { unquoted_keys, quotes } => dialect(*unquoted_keys, quotes.as_ref(), written),
        Arguments::Pairs(pairs) => {
            let mut nodes = Vec::new();
            for shape in &shapes {
                nodes.push(Paired { pairs, written, clear, reading }.arguments(reader, shape)?);
            }
            return Ok(Node::choice(nodes));
        }
    };
    if style.space == Space::Flexible && reading.strict_space {
        style.space = Space::Exact { colon: ": ".to_owned(), comma: ", ".to_owned() };
    }
    style.sorted = written.sorted || written.sorted_inside;
    style.inside = calls.body.arguments == Arguments::JsonText;
    let mut nodes = Vec::new();
    for shape in &shapes {
        if style.bare_keys
            && let Some(key) = shape.required.iter().find(|key| style.key(key).is_never())
        {
            let message = format!("this wire format writes keys without quotes and cannot write {key:?}");
            return Err(Fault { problem: Problem::at("/required", &message), of_wire: true });
        }
        nodes.push(reader.object(shape, &style, &tool.name, reading.order)?);
    }
    let node = Node::choice(nodes);
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

/// Arguments that are written key by key.
struct Paired<'p> {
    pairs: &'p Pairs,
    written: &'p Written,
    clear: &'p Clear,
    reading: Reading,
}

/// The types of values that the wire distinguishes, each with its bits.
const KINDS: [(&str, u8); 7] = [
    ("string", types::STRING),
    ("integer", types::WHOLE),
    ("number", types::FRACTION),
    ("boolean", types::BOOLEAN),
    ("null", types::NULL),
    ("array", types::ARRAY),
    ("object", types::OBJECT),
];

impl Paired<'_> {
    fn arguments(&self, reader: &mut Reader<'_>, shape: &Shape) -> Result<Node, Fault> {
        let mut properties = shape.properties.clone();
        for name in &shape.required {
            if !properties.iter().any(|(known, _)| known == name) {
                let schema = shape.additional.clone().unwrap_or_else(Schema::anything);
                properties.push((name.clone(), schema));
            }
        }
        if self.written.sorted {
            properties.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        let cut = &self.pairs.cut;
        let tool = reader.tool.clone();
        let mut members = Vec::new();
        for (key, schema) in &properties {
            let required = shape.required.contains(key);
            let value = self.value(reader, schema, &format!("{tool}-{key}"))?;
            let gap = self.pairs.gap.chars().find(|c| !c.is_whitespace());
            let is_odd = key.is_empty() || key.contains('\n') || gap.is_some_and(|gap| key.contains(gap));
            if is_odd || value.is_never() {
                if required {
                    let message = match value.is_never() {
                        true => "nothing satisfies this required argument".to_owned(),
                        false => format!("this wire format cannot write the name {key:?}"),
                    };
                    let problem = Problem::at(&format!("/properties/{key}"), &message);
                    return Err(Fault { problem, of_wire: is_odd });
                }
                continue;
            }
            let close = cut.close.replace(KEY_AGAIN, key);
            let node = Node::sequence([Node::literal(format!("{}{key}", cut.open)), value, Node::literal(close)]);
            members.push(Member { node, required });
        }
        let mut extra = None;
        let others = match &shape.additional {
            Some(schema) => {
                Some(schema.clone()).filter(|schema| !matches!(schema.all.as_slice(), [(Value::Bool(false), _), ..]))
            }
            None if self.reading.open || !shape.names_members => Some(Schema::anything()),
            None => {
                let message = "only the arguments of the schema are allowed: `additionalProperties` is not set";
                reader.note(Effect::Tighter, "", "additionalProperties", message);
                None
            }
        };
        if let Some(schema) = others {
            let word = Regular::Class(vec![(48, 57), (65, 90), (95, 95), (97, 122)]);
            let word = Automaton::of(&Regular::Repeat { node: Box::new(word), min: 1, max: None });
            let declared = properties.iter().map(|(name, _)| name.as_str());
            let free = Automaton::one_of(declared).complement();
            let keys = word.and_then(|word| word.both(&free)).unwrap_or_else(Automaton::nothing);
            let value = self.value(reader, &schema, &format!("{tool}-other"))?;
            if !self.pairs.key_again {
                let key = reader.rules.text(&format!("{tool}-other-key"), keys);
                let node = Node::sequence([Node::literal(&*cut.open), key, value, Node::literal(&*cut.close)]);
                extra = Some((node, 0, None));
            }
        }
        Ok(reader.members(&tool, &members, extra, &Node::literal(cut.separator.as_str()), self.reading.order))
    }

    /// A value with the text around it, from its key on.
    fn value(&self, reader: &mut Reader<'_>, schema: &Schema, name: &str) -> Result<Node, Fault> {
        let holds = |keyword: &&str| {
            let is_there =
                |value: &Value| value.get(keyword).is_some() && (*keyword != "not" || value.get("type").is_none());
            schema.all.iter().any(|(value, _)| is_there(value))
        };
        if let Some(keyword) = ["$ref", "allOf", "not"].into_iter().find(holds) {
            let message = "the parser does not look up the type in `$ref`, `allOf` and `not`: it may give text";
            reader.note(Effect::Assumed, schema.path(), keyword, message);
        }
        let shapes = reader.shapes(schema)?;
        let mut nodes: Vec<Node> = Vec::new();
        for shape in &shapes {
            for (at, (kind, bits)) in KINDS.iter().enumerate() {
                let Some(spelling) = self.spelling(kind) else { continue };
                let mut bits = *bits;
                // Whole numbers and others are one kind of text if both are allowed.
                let numbers = types::WHOLE | types::FRACTION;
                if *kind == "integer" && shape.types & numbers == numbers {
                    bits = numbers;
                }
                if *kind == "number" && shape.types & numbers == numbers && !self.differs("integer", "number") {
                    continue;
                }
                if shape.types & bits == 0 {
                    continue;
                }
                let own = Shape { types: shape.types & bits, ..shape.clone() };
                let name = if at == 0 { name.to_owned() } else { format!("{name}-{kind}") };
                nodes.push(self.spelled(reader, &own, spelling, &name)?);
            }
        }
        Ok(Node::choice(nodes))
    }

    fn spelling(&self, kind: &str) -> Option<&Spelling> {
        let find = |kind: &str| self.written.spellings.iter().find(|spelling| spelling.kind == kind);
        find(kind).or_else(|| find("integer")).or_else(|| find("string"))
    }

    fn differs(&self, a: &str, b: &str) -> bool {
        let around = |kind: &str| self.spelling(kind).map(|spelling| (&spelling.before, &spelling.after));
        around(a) != around(b)
    }

    fn spelled(&self, reader: &mut Reader<'_>, shape: &Shape, spelling: &Spelling, name: &str) -> Result<Node, Fault> {
        let around =
            |before: &str, node: Node, after: &str| Node::sequence([Node::literal(before), node, Node::literal(after)]);
        if shape.types != types::STRING {
            let mut style = if spelling.python { Style::python() } else { Style::json() };
            style.sorted = self.written.sorted_inside;
            if style.space == Space::Flexible && self.reading.strict_space {
                style.space = Space::Exact { colon: ": ".to_owned(), comma: ", ".to_owned() };
            }
            let is_word = matches!(spelling.kind, "boolean" | "null");
            if is_word {
                style.json_words = true;
            }
            let node = reader.shape(shape, &style, name)?;
            return Ok(around(&spelling.before, node, &spelling.after));
        }
        let quoted = |open: &str, close: &str| {
            let before = spelling.before.strip_suffix(open).unwrap_or(&spelling.before).to_owned();
            let after = spelling.after.strip_prefix(close).unwrap_or(&spelling.after).to_owned();
            (before, after)
        };
        let (strings, (before, after)) = match &self.pairs.values.strings {
            Encoding::Json => (Strings::Json, quoted("\"", "\"")),
            Encoding::Quoted { open, close, escaped: true } if open == "'" || open == "\"" => {
                (Strings::Python, quoted(open, close))
            }
            Encoding::Quoted { open, close, .. } => (Strings::Marked(open.clone(), close.clone()), quoted(open, close)),
            Encoding::Python => (Strings::Python, (spelling.before.clone(), spelling.after.clone())),
            Encoding::Bare => {
                let node = self.bare(reader, shape, name)?;
                return Ok(around(&spelling.before, node, &spelling.after));
            }
        };
        let node = reader.shape(shape, &Style { strings, ..Style::json() }, name)?;
        Ok(around(&before, node, &after))
    }

    /// A text without quotes.
    fn bare(&self, reader: &mut Reader<'_>, shape: &Shape, name: &str) -> Result<Node, Fault> {
        let style = Style { strings: Strings::Marked(String::new(), String::new()), ..Style::json() };
        if let Some(values) = &shape.values {
            let mut nodes = Vec::new();
            for value in values {
                if let (true, Some(text)) = (reader.fits(shape, value), value.as_str())
                    && self.clear.bare.accepts(text)
                {
                    nodes.push(style.literal(text));
                }
            }
            return Ok(Node::choice(nodes));
        }
        let node = reader.bare_text(shape, name, &self.clear.bare)?;
        let framed = self.pairs.values.frame.as_ref().and_then(|(open, close)| {
            let inner = Automaton::without(&[&Regular::text(close)], &[])?;
            let inner = reader.rules.text("framed-text", inner);
            Some(Node::sequence([Node::literal(&**open), inner, Node::literal(&**close)]))
        });
        Ok(Node::choice([node, framed.unwrap_or_else(Node::never)]))
    }
}
