//! Writes the call of a tool: its arguments follow its schema, in the syntax of the wire.

use super::SchemaContext;
use super::paired::PairedArguments;
use super::paired_value::{ONLY_JSON, PairedValues};
use crate::automaton::Automaton;
use crate::markers::{FreeTexts, Model};
use crate::notes::{Effect, Note};
use crate::reader::{NamedIds, first_of};
use crate::request::Tool;
use crate::rules::{Node, Rules, Strings};
use crate::schema::{Constraints, Order, Problem, Schema, SchemaReader, types};
use crate::value::{Space, Style, native, unquoted_json};
use backchat_core::json;
use backchat_derive::wire::structure::{Arguments, CallPart, Calls, Encoding};
use backchat_derive::wire::written::Written;
use backchat_parser::pattern::Regular;

/// Writes the calls of a wire for the tools of one request.
pub(crate) struct CallWriter<'r> {
    calls: &'r Calls,
    written: &'r Written,
    free_texts: &'r FreeTexts,
    reading: SchemaContext<'r>,
    /// `None` if ids hold no names, or the response template does not show how.
    named_ids: Option<NamedIds>,
}

impl<'r> CallWriter<'r> {
    pub fn new(model: &'r Model, calls: &'r Calls, reading: SchemaContext<'r>) -> Self {
        let named_ids = NamedIds::find(&model.template, calls);
        Self { calls, written: model.written(), free_texts: &model.free_texts, reading, named_ids }
    }

    /// Adds the rule of a call to a tool.
    pub fn call(&self, rules: &mut Rules, tool: &Tool, notes: &mut Vec<Note>) -> Result<Node, Problem> {
        let Self { calls, free_texts, .. } = self;
        // In a value without quotes, the marker that ends the value ends it even inside a JSON string.
        let text = match &calls.body.arguments {
            Arguments::Pairs(pairs) if pairs.values.strings == Encoding::Bare => &free_texts.bare,
            _ => &free_texts.nested,
        };
        let reading = SchemaContext { open: self.reading.open || tool.is_open, ..self.reading };
        let mut reader = SchemaReader::new(rules, &tool.parameters, &tool.name, text, reading.open);
        reader.input = tool.input.as_ref();
        reader.exact_integers = self.reading.reads.is_call_list();
        reader.splits_lists = self.splits_lists();
        let arguments = self.arguments(&mut reader, tool, reading);
        notes.append(&mut reader.notes);
        let arguments = reader.finite(arguments?);
        if arguments.is_never() {
            return Err(Problem::at("", "nothing satisfies these parameters"));
        }
        let mut pieces = |pieces: &[CallPart]| -> Result<Vec<Node>, Problem> {
            pieces.iter().map(|piece| self.piece(rules, piece, tool)).collect()
        };
        let (head, tail) = (pieces(&calls.body.head)?, pieces(&calls.body.tail)?);
        let node = Node::sequence(head.into_iter().chain([arguments]).chain(tail));
        if !free_texts.value.accepts(&tool.name) || tool.name.chars().any(char::is_control) {
            let message = format!(
                "the name {:?} has a marker of this wire format, or a character that it cannot write",
                tool.name
            );
            return Err(Problem::of_wire("", &message));
        }
        if !self.reads_name(tool) {
            let message = format!("the response template reads no function named {:?}", tool.name);
            return Err(Problem::of_wire("", &message));
        }
        Ok(rules.add(&format!("call-{}", tool.name), node))
    }

    /// A piece of the call before or after its arguments.
    fn piece(&self, rules: &mut Rules, piece: &CallPart, tool: &Tool) -> Result<Node, Problem> {
        Ok(match piece {
            CallPart::Text(text) => Node::literal(text.as_str()),
            CallPart::Name | CallPart::NameAgain => Node::literal(self.name(&tool.name)),
            CallPart::Id => {
                let ids = &self.written.ids;
                let id = Automaton::from_pattern(&Regular::class(&ids.alphabet).repeat(ids.least, ids.most));
                let id = id.and_then(|id| id.both(&self.free_texts.value)).unwrap_or_else(Automaton::nothing);
                rules.text("id", id)
            }
            CallPart::NamedId => {
                let ids = self.named_ids.as_ref().and_then(|ids| ids.of(&tool.name));
                let ids = ids.and_then(|ids| ids.both(&self.free_texts.value)).filter(|ids| !ids.is_empty());
                let Some(ids) = ids else {
                    let message = "the response template reads no id that holds this name";
                    return Err(Problem::of_wire("", message));
                };
                rules.text(&format!("id-{}", tool.name), ids)
            }
            CallPart::Counter(_) => {
                let digits = Automaton::from_pattern(&Regular::class(&[('0', '9')]).repeat(1, Some(6)));
                rules.text("index", digits.unwrap_or_else(Automaton::nothing))
            }
        })
    }

    /// The name of a tool as the wire writes it.
    fn name(&self, name: &str) -> String {
        if self.calls.body.object.is_some() { unquoted_json(name) } else { name.to_owned() }
    }

    /// Whether the response template reads the name of a tool; ids that hold it are tested where they are written.
    fn reads_name(&self, tool: &Tool) -> bool {
        let Calls { cuts, body, .. } = self.calls;
        let section = cuts.first().map_or("", |cut| &cut.section);
        self.opening(&self.name(&tool.name)).is_none_or(|opening| {
            let opening = format!("{section}{opening}{}", first_of(&body.arguments));
            self.reading.reads.takes_tool(&tool.name, &opening)
        })
    }

    /// The text of a call up to its arguments; `None` if it has an id that is not known: one that holds the name, or one of
    /// which renders show no character.
    fn opening(&self, name: &str) -> Option<String> {
        let Calls { cuts, body, .. } = self.calls;
        let ids = &self.written.ids;
        let mut text = cuts.first().map_or_else(String::new, |cut| cut.open.clone());
        for part in &body.head {
            text += &match part {
                CallPart::Text(text) => text.clone(),
                CallPart::Name | CallPart::NameAgain => name.to_owned(),
                CallPart::Id => ids.alphabet.first()?.0.to_string().repeat(ids.least as usize),
                CallPart::Counter(first) => first.to_string(),
                CallPart::NamedId => return None,
            };
        }
        Some(text)
    }

    /// Whether the parser may take objects in a list of the arguments for calls.
    fn splits_lists(&self) -> bool {
        let Calls { cuts, body, .. } = self.calls;
        let (Some(cut), Some(opening)) = (cuts.first(), self.opening("f")) else { return false };
        let tail: String = body.tail.iter().filter_map(CallPart::text).collect();
        // Arguments in whose list the second object is written as the next call.
        let between = format!("{tail}{}{}{opening}", cut.close, cut.separator);
        let arguments = format!(r#"{{"a": [{{"a": {{}}{between}{{}}{tail}]}}"#);
        json::read(&arguments).is_ok() && self.reading.reads.closes_in(&arguments)
    }

    fn arguments<'s>(
        &'s self,
        reader: &mut SchemaReader<'s>,
        tool: &Tool,
        reading: SchemaContext<'s>,
    ) -> Result<Node, Problem> {
        let schema = Schema::new(&tool.parameters, String::new());
        let mut shapes = reader.shapes(&schema)?;
        shapes.retain(|shape| shape.types & types::OBJECT != 0);
        if shapes.is_empty() {
            return Err(Problem::at("", "no object satisfies these parameters"));
        }
        let style = match &self.calls.body.arguments {
            Arguments::Json | Arguments::JsonText => Style::json(),
            Arguments::Python => {
                reader.note(Effect::Tighter, "", "properties", ONLY_JSON);
                Style::single()
            }
            Arguments::Dialect { unquoted_keys, quotes, .. } => dialect(*unquoted_keys, quotes.as_ref(), self.written),
            Arguments::Pairs(pairs) => {
                let mut nodes = Vec::new();
                let values = PairedValues { pairs, written: self.written, free_texts: self.free_texts, reading };
                let paired = PairedArguments { pairs, values, reading };
                for shape in &shapes {
                    nodes.push(paired.arguments(reader, shape)?);
                }
                return Ok(Node::choice(nodes));
            }
        };
        let style = Style {
            sorted: self.written.sorted || self.written.sorted_inside,
            inside: self.calls.body.arguments == Arguments::JsonText,
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
            nodes.push(match &shape.values {
                Some(_) => reader.shape(&Constraints { types: types::OBJECT, ..shape.clone() }, &style, &tool.name)?,
                None => reader.object(shape, &style, &tool.name, reading.order)?,
            });
        }
        let says_all = tool.input.is_none() && reading.order == Order::Schema;
        let native = says_all
            .then(|| native::json_schema(&tool.parameters, &style, reading.open, reader.rules, reader.free_texts))
            .flatten();
        let node = reader.rules.add_native(&format!("{}-arguments", tool.name), Node::choice(nodes), native);
        Ok(if style.inside { Node::sequence([Node::literal("\""), node, Node::literal("\"")]) } else { node })
    }
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
