//! How a template spells the texts and values of a conversation: learned from renders of texts and values that each
//! encoding spells otherwise.

use std::collections::HashMap;

use super::super::frames::{SPECIAL, Slot, context, slots};
use super::super::script::{Form, Kind, Script};
use super::super::text::inside;
use super::conversation::{Item, Order};
use crate::chat::{ChatTemplate, RenderOptions};
use crate::json::{Object, Value};
use crate::python;
use crate::text::slice;

/// The spelling of one string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Plain,
    /// The inside of a JSON string, and that of one which holds a JSON string.
    Json {
        ascii: bool,
        twice: bool,
    },
    Markup,
    /// The inside of a string as Python prints it.
    Python,
}

const ENCODINGS: [Encoding; 7] = [
    Encoding::Plain,
    Encoding::Json { ascii: false, twice: false },
    Encoding::Json { ascii: true, twice: false },
    Encoding::Json { ascii: false, twice: true },
    Encoding::Json { ascii: true, twice: true },
    Encoding::Markup,
    Encoding::Python,
];

impl Encoding {
    fn encode(self, text: &str) -> String {
        match self {
            Encoding::Plain => text.to_owned(),
            Encoding::Json { ascii, twice } => {
                let once = inside(&json_string(text, ascii)).to_owned();
                if twice { inside(&json_string(&once, ascii)).to_owned() } else { once }
            }
            Encoding::Markup => text
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('\'', "&#39;")
                .replace('"', "&#34;"),
            Encoding::Python => inside(&python::quoted(text, '\'')).to_owned(),
        }
    }
}

/// The spelling of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Style {
    Json {
        item: &'static str,
        key: &'static str,
        indent: Option<usize>,
        ascii: bool,
        sorted: bool,
    },
    Python,
    /// The items of a list, each in a style of its own, with these texts around and between them.
    Joined {
        open: String,
        between: String,
        close: String,
        each: Box<Style>,
    },
}

impl Style {
    fn all() -> Vec<Self> {
        let layouts = [
            (", ", ": ", None),
            (",", ":", None),
            (",", ": ", None),
            (",", ": ", Some(4)),
            (",", ": ", Some(2)),
            (",", ": ", Some(3)),
            (",", ": ", Some(1)),
            (", ", ": ", Some(4)),
            (", ", ": ", Some(2)),
        ];
        let mut all = Vec::new();
        for (ascii, sorted) in [(false, false), (true, false), (false, true), (true, true)] {
            all.extend(layouts.map(|(item, key, indent)| Style::Json { item, key, indent, ascii, sorted }));
        }
        all.push(Style::Python);
        all
    }

    fn write(&self, value: &Value) -> String {
        match self {
            Style::Json { .. } => {
                let mut out = String::new();
                self.json(value, 1, &mut out);
                out
            }
            Style::Python => python::spelling(value),
            Style::Joined { open, between, close, each } => {
                let items: Vec<String> = value.as_list().into_iter().flatten().map(|item| each.write(item)).collect();
                format!("{open}{}{close}", items.join(between))
            }
        }
    }

    /// The same for the items of a list, with the texts around and between them in how it was written.
    fn joined(self, value: &Value, text: &str) -> Option<Self> {
        let [first, second, ..] = value.as_list()? else { return None };
        let (first, second) = (self.write(first), self.write(second));
        let (open, rest) = text.split_once(&first)?;
        let (between, _) = rest.split_once(&second)?;
        let last = self.write(value.as_list()?.last()?);
        let (_, close) = text.rsplit_once(&last)?;
        let [open, between, close] = [open, between, close].map(str::to_owned);
        Some(Style::Joined { open, between, close, each: Box::new(self) })
    }

    fn json(&self, value: &Value, level: usize, out: &mut String) {
        let Style::Json { item, key, indent, ascii, sorted } = self else { return };
        let line = |level: usize, out: &mut String| {
            if let Some(indent) = indent {
                out.push('\n');
                out.push_str(&" ".repeat(indent * level));
            }
        };
        let next = |index: usize, out: &mut String| {
            out.push_str(if index > 0 { item } else { "" });
            line(level, out);
        };
        match value {
            Value::String(text) => out.push_str(&json_string(text, *ascii)),
            Value::Number(number) => out.push_str(&python::json::number(number)),
            Value::List(items) if !items.is_empty() => {
                out.push('[');
                for (index, value) in items.iter().enumerate() {
                    next(index, out);
                    self.json(value, level + 1, out);
                }
                line(level - 1, out);
                out.push(']');
            }
            Value::Object(entries) if !entries.is_empty() => {
                let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
                if *sorted {
                    entries.sort_by_key(|(name, _)| *name);
                }
                out.push('{');
                for (index, (name, value)) in entries.into_iter().enumerate() {
                    next(index, out);
                    out.push_str(&json_string(name, *ascii));
                    out.push_str(key);
                    self.json(value, level + 1, out);
                }
                line(level - 1, out);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

fn json_string(text: &str, ascii: bool) -> String {
    let mut out = String::new();
    python::json::write_string(&mut out, text, ascii);
    out
}

/// The known spelling of each kind of text.
#[derive(Debug, Default)]
pub(super) struct Spelled {
    texts: HashMap<Kind, Encoding>,
    /// For each kind of value the styles that agree with all renders, and whether the value is written bare: the
    /// definition of a tool without its wrapper.
    values: HashMap<Kind, Vec<(Style, bool)>>,
    /// The spelling of a literal, by the name of its type.
    literals: HashMap<&'static str, Style>,
}

/// The function that a tool defines, or a list of them.
fn bare(value: &Value) -> Value {
    match value {
        Value::List(tools) => Value::List(tools.iter().map(bare).collect()),
        tool => tool.get("function").unwrap_or(tool).clone(),
    }
}

fn write_value(kind: Kind, value: &Value, style: &Style, is_bare: bool) -> String {
    let text = if is_bare { style.write(&bare(value)) } else { style.write(value) };
    match (kind, style) {
        (Kind::ArgumentsText, Style::Json { ascii, .. }) => json_string(&text, *ascii),
        _ => text,
    }
}

impl Spelled {
    /// Learns the style of a JSON value from how a render spells it.
    pub fn note(&mut self, slot: &Slot, item: &Item, render: &str) {
        let kind = slot.state.kind;
        if !kind.is_json() {
            return;
        }
        let Some(text) = render.get(slot.start..slot.end) else { return };
        let known = self.values.entry(kind).or_insert_with(|| {
            let whole = Style::all().into_iter();
            let joined = Style::all().into_iter().filter(|_| kind == Kind::ToolList);
            let joined = joined.flat_map(|style| {
                let forms = [(style.clone(), item.value.clone(), false), (style, bare(&item.value), true)];
                forms.into_iter().filter_map(|(style, value, is_bare)| Some((style.joined(&value, text)?, is_bare)))
            });
            whole.flat_map(|style| [(style.clone(), false), (style, true)]).chain(joined).collect()
        });
        known.retain(|(style, is_bare)| write_value(kind, &item.value, style, *is_bare) == text);
    }

    /// Learns from renders of texts and values that each encoding spells otherwise, and of members given backwards.
    pub fn probe(
        &mut self,
        template: &ChatTemplate,
        variables: &Object,
        options: &RenderOptions,
        form: &Form,
    ) -> Order {
        let render = |script: &Script| {
            let context = context(variables, &script.messages, &script.tools, false);
            template.render(&context, options).map(|rendered| rendered.text).ok()
        };
        for (shape, tools) in
            [("SUA", ""), ("SUcTA", ""), ("SUcTA", "aa"), ("URUrTR", ""), ("UrTR", "aa"), ("UCT", "aa"), ("UCT", "")]
        {
            let script = Script::new(shape, tools, form, SPECIAL);
            let Some(text) = render(&script) else { continue };
            for slot in slots(&script, &text) {
                let rest = slice(&text, slot.end..);
                let is_spelled = |encoding: &&Encoding| rest.starts_with(&encoding.encode(SPECIAL));
                if let Some(encoding) = ENCODINGS.iter().find(is_spelled) {
                    self.texts.entry(slot.state.kind).or_insert(*encoding);
                }
            }
        }
        for value in literals() {
            let kind = value.kind();
            for (shape, tools) in [("UE", ""), ("UE", "aa"), ("UET", ""), ("UET", "aa")] {
                let mut script = Script::new(shape, tools, form, "");
                let Some(text) = with_literal(&mut script, &value, form).and_then(|()| render(&script)) else {
                    continue;
                };
                let style = Style::all().into_iter().find(|style| text.contains(&style.write(&value)));
                if let Some(style) = style {
                    self.literals.entry(kind).or_insert(style);
                }
            }
        }
        let mut order = Order::default();
        for (shape, tools) in [("UF", ""), ("UF", "aa"), ("UFT", ""), ("UFT", "aa")] {
            let mut script = Script::new(shape, tools, form, "");
            script.tools = backwards(&script.tools);
            script.messages = script.messages.iter().map(backwards).collect();
            let Some(text) = render(&script) else { continue };
            let found = script.find(&text);
            let first = |wanted: fn(Kind) -> bool| {
                let labels = found.iter().filter_map(|(index, _)| Some((*index, script.labels.get(*index)?.kind)));
                let mut labels = labels.filter(|(_, kind)| wanted(*kind));
                Some((labels.next()?.0, labels.next()?.0))
            };
            let rises = |pair: Option<(usize, usize)>| pair.is_some_and(|(first, second)| first < second);
            order.parameters |= rises(first(|kind| matches!(kind, Kind::Parameter(_))));
            order.arguments |= rises(first(|kind| kind == Kind::Key));
        }
        order
    }

    /// An item as the template spells it as a text of this kind.
    pub fn write(&self, kind: Kind, item: &Item) -> String {
        if kind.is_json() {
            let style = self.values.get(&kind).and_then(|known| known.first());
            return match style {
                Some((style, is_bare)) => write_value(kind, &item.value, style, *is_bare),
                None => item.value.to_string(),
            };
        }
        match &item.value {
            Value::String(text) => self.texts.get(&kind).copied().unwrap_or(Encoding::Plain).encode(text),
            value => self.literals.get(value.kind()).map_or_else(|| value.to_string(), |style| style.write(value)),
        }
    }
}

/// Parameters and arguments in the opposite order.
fn backwards(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(backwards).collect()),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| {
                let turned = match (name.as_str(), value) {
                    ("properties" | "arguments", Value::Object(members)) => {
                        Value::Object(members.iter().rev().map(|(name, value)| (name.clone(), value.clone())).collect())
                    }
                    _ => backwards(value),
                };
                (name.clone(), turned)
            });
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

/// A value of every type but text, and none that a render is likely to contain anyway.
fn literals() -> [Value; 5] {
    let text = || Value::from("Qzé");
    [
        true.into(),
        Value::Null,
        7_340_033.into(),
        Value::List(vec![text(), true.into()]),
        Value::from([("qzinner", text()), ("qzother", true.into())]),
    ]
}

/// Puts a value in the place of the first argument of the last call.
fn with_literal(script: &mut Script, value: &Value, form: &Form) -> Option<()> {
    let called = script.messages.iter_mut().rev().find(|message| message.get("tool_calls").is_some())?;
    let Value::Object(message) = called else { return None };
    let Some(Value::List(calls)) = message.get_mut("tool_calls") else { return None };
    let Some(Value::Object(call)) = calls.last_mut() else { return None };
    let Some(Value::Object(function)) = call.get_mut("function") else { return None };
    let arguments = Object::from_iter([("qzkey".to_owned(), value.clone())]);
    function.insert("arguments".to_owned(), form.arguments(arguments));
    Some(())
}
