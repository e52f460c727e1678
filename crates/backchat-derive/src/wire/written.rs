//! Facts about the model's turn that only renders show: the exact text and order of the parts, and how values of each
//! type are spelled.

mod ids;

pub use ids::Ids;

use super::infer::other_tools;
use super::marks::Segmentation;
use super::shapes;
use super::structure::{Arguments, CallPart, History, Reasoning, WireFormat};
use super::trace::{Slot, SlotKind, Trace};
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_core::text::{common_end, slice};
use backchat_core::{distinct, push_new};
use backchat_probe::probe::{Answer, Prober, Setting, call_with, json_type, needle};

/// How turns are written, found by rendering each kind of answer.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The turns that can follow each end of a prompt, the plainest first.
    pub groups: Vec<Group>,
    /// The marks at which a model stops, without those that also occur inside turns.
    pub stops: Vec<String>,
    /// The white space that ends every render, if no stop follows: the model may omit it.
    pub blank_end: String,
    /// Whether arguments are sorted by key, and members of objects inside them.
    pub sorted: bool,
    pub sorted_inside: bool,
    /// The spelling of values that are written key by key, by the JSON Schema name of their type.
    pub spellings: Vec<Spelling>,
    /// The text before the first key, between two arguments and after the last one, if they are in braces.
    pub braced: Option<(String, String, String)>,
    /// Whether JSON is written in ASCII only.
    pub ascii: bool,
    /// The longest white space between two tokens of a call's arguments.
    pub widest: usize,
    /// The ids of calls that the template takes, if it shows them.
    pub ids: Ids,
    /// The turn with the answer [`JSON_ANSWER`], if the template changes it.
    pub changed_json: Option<String>,
}

/// A JSON answer with characters that templates escape or replace.
pub const JSON_ANSWER: &str = r#"{"qza": ["Qz <b> & 'c'", 1.5, null]}"#;

/// One way a prompt can end, and the turns that can follow.
#[derive(Clone, Debug)]
pub struct Group {
    /// The text after the history in the prompt.
    pub prompt: String,
    /// The same without the prefill.
    pub header: String,
    /// The text after the history in renders of whole turns, up to the stop.
    pub shapes: Vec<Shape>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub parts: Vec<TurnPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnPart {
    Text(String),
    Reasoning,
    Content,
    Call,
}

impl Shape {
    pub fn has(&self, part: &TurnPart) -> bool {
        self.parts.contains(part)
    }

    /// The text at a place; empty if there is none.
    pub fn text(&self, at: Option<usize>) -> &str {
        at.and_then(|at| self.parts.get(at)?.text()).unwrap_or_default()
    }
}

impl TurnPart {
    pub fn text(&self) -> Option<&str> {
        if let TurnPart::Text(text) = self { Some(text) } else { None }
    }
}

/// How a value of one type is written, between its key and the text that follows every value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The JSON Schema name of the type.
    pub kind: &'static str,
    pub before: String,
    pub after: String,
    /// Whether it is written as Python prints it.
    pub python: bool,
}

/// Renders every kind of turn that the wire format can carry.
pub(crate) fn find(prober: &Prober, wire: &WireFormat) -> Written {
    let mut written = Written { groups: groups(prober, wire), ..Written::default() };
    written.stops = stops(&written.groups, wire);
    for shape in written.groups.iter_mut().flat_map(|group| &mut group.shapes) {
        end(shape, &written.stops, wire);
    }
    for group in &mut written.groups {
        group.shapes = distinct(std::mem::take(&mut group.shapes));
    }
    if wire.end.trim().is_empty() {
        written.blank_end.clone_from(&wire.end);
    }
    written.changed_json = changed_json(prober, wire);
    let Some(calls) = &wire.calls else { return written };
    let prober = wire.prober(prober).with_shape(calls.request_shape);
    let turns = wire.turns(&prober);
    if calls.body.head.iter().chain(&calls.body.tail).any(|part| *part == CallPart::Id) {
        written.ids = ids::find(&prober, calls);
    }
    let turned = |arguments: Object| -> Option<Trace> {
        let answer = Answer::calls(vec![call_with(0, arguments)]);
        turns.trace(History::User, &answer, &calls.setting)
    };
    let pair = |at: usize| (shapes::key(0, at), Value::from(shapes::value(0, at)));
    if let Some(trace) = turned([pair(1), pair(0)].into_iter().collect()) {
        written.sorted = trace.text.find(&shapes::key(0, 0)) < trace.text.find(&shapes::key(0, 1));
    }
    let [first, second] = needle::INNER_KEYS;
    let inner = Value::from([(first, needle::ITEM.into()), (second, needle::ITEM.into())]);
    if let Some(trace) = turned([(shapes::key(0, 0), inner)].into_iter().collect()) {
        written.sorted_inside = trace.text.find(second) < trace.text.find(first);
        let places = [shapes::key(0, 0).as_str(), first, second].map(|key| trace.text.find(key));
        if let (Some(from), Some(to)) = (places.iter().flatten().min(), places.iter().flatten().max()) {
            let blanks = trace.get(*from..*to).split(|c: char| !c.is_whitespace());
            written.widest = blanks.map(str::len).max().unwrap_or(0);
        }
    }
    if let Some(trace) = turned([(shapes::key(0, 0), needle::ACCENTED.into())].into_iter().collect()) {
        written.ascii = !trace.text.contains(needle::ACCENTED) && trace.text.contains("Qz\\u00e9");
    }
    match &calls.body.arguments {
        Arguments::Pairs(_) => written.spellings = spellings(&turned, wire),
        Arguments::Dialect { .. } => written.braced = braced(&turned),
        _ => {}
    }
    written
}

/// The turn with a JSON answer, if the template changes the JSON; `None` if content is written as a JSON string.
fn changed_json(prober: &Prober, wire: &WireFormat) -> Option<String> {
    let prober = wire.prober(prober);
    let trace = wire.turns(&prober).trace(History::User, &Answer::content(JSON_ANSWER), &Setting::new())?;
    (!wire.content.is_json && !trace.text.contains(JSON_ANSWER)).then_some(trace.text)
}

/// The turns after each end of a prompt.
fn groups(prober: &Prober, wire: &WireFormat) -> Vec<Group> {
    let usual = Setting::new();
    let known = [&usual].into_iter().chain(wire.prompts.iter().map(|prompt| &prompt.setting));
    let parts = wire.reasoning.iter().map(|reasoning| &reasoning.setting);
    let settings = distinct(known.chain(parts).chain(wire.calls.iter().map(|calls| &calls.setting)));
    let mut groups: Vec<Group> = Vec::new();
    let other = other_tools(wire.request_shape);
    for after in [History::User, History::ToolResult] {
        for setting in &settings {
            for tools in [Some(other.clone()), None] {
                let Some(group) = group(&prober.offering(tools), wire, after, setting) else { continue };
                match groups.iter_mut().find(|known| known.prompt == group.prompt) {
                    Some(known) => known.shapes.extend(group.shapes),
                    None => groups.push(group),
                }
            }
        }
    }
    groups
}

fn group(prober: &Prober, wire: &WireFormat, after: History, setting: &Setting) -> Option<Group> {
    let history = shapes::history(after);
    // The prompt uses the request shape for content.
    let text = prober.with_shape(wire.request_shape).render(&history, setting, true)?;
    let prompt = after.rest(&text)?.to_owned();
    let mut shapes: Vec<Shape> = Vec::new();
    let ids_hold_names = wire.calls.as_ref().is_some_and(|calls| calls.ids_hold_names);
    let input = wire.reasoning.as_ref().and_then(Reasoning::first_input);
    for thought in std::iter::once(None).chain(input.map(Some)) {
        for content in [true, false] {
            for count in 0..=3 {
                if count > 0 && wire.calls.is_none() || !content && count == 0 && thought.is_none() {
                    continue;
                }
                let answer = Answer {
                    content: content.then(|| needle::CONTENT.to_owned()),
                    reasoning: thought.is_some().then(|| needle::REASONING.to_owned()),
                    calls: shapes::calls_with(count, ids_hold_names),
                };
                let request_shape = match &wire.calls {
                    Some(calls) if count > 0 => calls.request_shape,
                    _ => wire.request_shape,
                };
                let prober = prober.with_shape(request_shape).with_reasoning(thought);
                let trace = wire.turns(&prober).trace(after, &answer, setting);
                let Some(shape) = trace.and_then(|trace| shape(&trace, &answer, wire)) else { continue };
                push_new(&mut shapes, shape);
            }
        }
    }
    let headers = wire.prompts.iter().filter(|known| known.after == after);
    let headers = headers.map(|known| format!("{}{}", known.before, known.header));
    let header = headers.filter(|header| prompt.starts_with(header.as_str())).max_by_key(String::len);
    let header = header.unwrap_or_else(|| prompt.clone());
    (!shapes.is_empty()).then_some(Group { prompt, header, shapes })
}

/// A trace as the parts of a turn; `None` if the template dropped a part.
fn shape(trace: &Trace, answer: &Answer, wire: &WireFormat) -> Option<Shape> {
    let mut regions: Vec<(std::ops::Range<usize>, TurnPart)> = Vec::new();
    if answer.content.is_some() {
        regions.push((trace.slot(SlotKind::Content)?.range.clone(), TurnPart::Content));
    }
    if answer.reasoning.is_some() {
        regions.push((trace.slot(SlotKind::Reasoning)?.range.clone(), TurnPart::Reasoning));
    }
    for index in 0..answer.calls.len() {
        let calls = wire.calls.as_ref()?;
        let slots: Vec<&Slot> = trace.of_call(index).collect();
        let has = |test: fn(&SlotKind) -> bool| slots.iter().any(|slot| test(&slot.kind));
        if !has(|kind| matches!(kind, SlotKind::Name(_) | SlotKind::Id(_)))
            || !has(|kind| matches!(kind, SlotKind::Arguments(..) | SlotKind::Value(..)))
        {
            return None;
        }
        let own = trace.range_of(index)?;
        regions.push((own.start.checked_sub(calls.margins.0)?..own.end + calls.margins.1, TurnPart::Call));
    }
    regions.sort_by_key(|(range, _)| range.start);
    let mut parts = Vec::new();
    let mut at = 0;
    for (range, part) in regions {
        parts.extend([TurnPart::Text(trace.text.get(at..range.start)?.to_owned()), part]);
        at = range.end;
    }
    parts.push(TurnPart::Text(trace.text.get(at..)?.to_owned()));
    parts.retain(|part| part.text() != Some(""));
    Some(Shape { parts })
}

/// The stops of the wire, each from its first mark that never occurs inside a turn.
fn stops(groups: &[Group], wire: &WireFormat) -> Vec<String> {
    // Use the smallest marks: a longer one may consist of marks that occur inside turns.
    let segmentation = Segmentation::Words;
    let mut inside: Vec<&str> = Vec::new();
    let mut between: Vec<&str> = Vec::new();
    for group in groups {
        for shape in &group.shapes {
            for (at, part) in shape.parts.iter().enumerate() {
                let TurnPart::Text(text) = part else { continue };
                match shape.parts.get(at + 1) {
                    None => {}
                    Some(TurnPart::Call) if at > 0 && shape.parts.get(at - 1) == Some(&TurnPart::Call) => {
                        between.push(text)
                    }
                    Some(_) if at == 0 => {
                        inside.push(slice(text, segmentation.shared_start(text, &group.prompt).len()..));
                    }
                    Some(_) => inside.push(text),
                }
            }
        }
    }
    let mut found: Vec<String> = Vec::new();
    let mut common: Vec<String> = Vec::new();
    for stop in &wire.stops {
        let is_inside = |mark: &str| inside.iter().chain(&between).any(|text| text.contains(mark));
        if between.iter().any(|text| text.contains(stop.as_str())) {
            continue;
        }
        let is_own = |mark: &str| segmentation.is_distinctive(mark) && !is_inside(mark.trim());
        let first = segmentation.placed(stop).find(|(_, mark)| is_own(mark));
        let own = match first {
            // The beginning of the next turn is not part of the stop.
            Some((ref place, mark)) if segmentation.marks(stop).len() > 1 => {
                let last = slice(stop, place.start..);
                if last.trim() == mark.trim() { last } else { mark }
            }
            Some(_) | None => stop.as_str(),
        };
        let known = if first.is_some() { &mut found } else { &mut common };
        if !own.trim().is_empty() {
            push_new(known, own.trim().to_owned());
        }
    }
    // A text that also occurs inside turns is a stop only if there is no other.
    if found.is_empty() { common } else { found }
}

/// Removes the stop, and all text after it, from a shape.
fn end(shape: &mut Shape, stops: &[String], wire: &WireFormat) {
    let Some(TurnPart::Text(rest)) = shape.parts.last_mut() else { return };
    let stop = stops.iter().filter_map(|stop| rest.find(stop.as_str())).min();
    let end = stop.or_else(|| rest.strip_suffix(wire.end.as_str()).map(str::len));
    rest.truncate(end.unwrap_or(rest.len()));
    if rest.is_empty() {
        shape.parts.pop();
    }
}

/// One value of each JSON Schema type.
fn samples() -> [Value; 7] {
    [
        shapes::value(0, 0).into(),
        needle::INTEGER.into(),
        json::read("73.25").unwrap_or(Value::Null),
        true.into(),
        Value::Null,
        Value::List(vec![needle::ITEM.into(), true.into()]),
        Value::from([("qzinner", needle::ITEM.into()), ("qzother", true.into())]),
    ]
}

/// Renders a value of each type alone, and finds the text around it.
fn spellings(turned: &dyn Fn(Object) -> Option<Trace>, wire: &WireFormat) -> Vec<Spelling> {
    let mut found: Vec<(Spelling, String)> = Vec::new();
    let is_python = wire.pairs().is_some_and(|pairs| pairs.values.python);
    let key = shapes::key(0, 0);
    for value in samples() {
        let Some(trace) = turned([(key.clone(), value.clone())].into_iter().collect()) else { continue };
        let Some(slot) = trace.slot(SlotKind::Key(0, 0)) else { continue };
        let rest = trace.rest(slot.range.end);
        let plain = [(value.to_string(), false), (python::spelling(&value), true)];
        let plain = match &value {
            Value::String(text) => vec![(text.clone(), false)],
            _ => plain.to_vec(),
        };
        let spelled = plain.into_iter().find_map(|(text, python)| Some((rest.split_once(&text)?, python)));
        let Some(((before, after), python)) = spelled else { continue };
        let (before, after) = (before.to_owned(), after.to_owned());
        let python = python || matches!(value, Value::Number(_)) && is_python;
        found.push((Spelling { kind: json_type(&value), before, after: String::new(), python }, after));
    }
    // The text after every value is not part of its spelling.
    let shared = found.iter().map(|(_, after)| after.clone()).reduce(|a, b| common_end(&a, &b).to_owned());
    let shared = shared.map_or(0, |shared| shared.len());
    let own = |after: &str| slice(after, ..after.len() - shared).to_owned();
    found.into_iter().map(|(spelling, after)| Spelling { after: own(&after), ..spelling }).collect()
}

/// The text around and between the members of an object that is not JSON.
fn braced(turned: &dyn Fn(Object) -> Option<Trace>) -> Option<(String, String, String)> {
    let pair = |at: usize| (shapes::key(0, at), Value::from(70001 + at));
    let trace = turned([pair(0), pair(1)].into_iter().collect())?;
    let text = &trace.text;
    let first = text.find(&shapes::key(0, 0))?;
    let second = text.find(&shapes::key(0, 1))?;
    let value = text.get(first..)?.find("70001")? + first;
    let gap = text.get(first + shapes::key(0, 0).len()..value)?.to_owned();
    let between = text.get(value + 5..second)?.to_owned();
    let open = text.get(..first)?;
    let open = open.get(open.rfind('{')?..)?.to_owned();
    Some((open, gap, between))
}

#[cfg(test)]
mod tests;
