//! Text that the parser would read as a mark, and that content, thoughts and values must not contain.

use super::automaton::Automaton;
use super::notes::{Effect, Note};
use crate::pattern::{Regular, of_delimiter};
use crate::template::{Delimiter, Template};
use crate::wire::marks;
use crate::wire::structure::{Arguments, CallPart, KEY_AGAIN, WireFormat};
use crate::wire::written::{Part, Written};

/// The texts without marks, for each place in which text is unconstrained.
#[derive(Clone, Debug)]
pub(crate) struct Clear {
    pub content: Automaton,
    pub reasoning: Automaton,
    /// Text inside a call.
    pub value: Automaton,
    /// A value without quotes between its marks.
    pub bare: Automaton,
    /// The opening and the closing of a thought.
    pub thought: Option<(String, String)>,
    pub notes: Vec<Note>,
}

/// The field that holds calls.
pub(crate) const CALLS: &str = "tool_calls";

/// Finds what each kind of text must not hold: the opens and closes of the template, and the stops of the wire.
pub(crate) fn clear(template: &Template, wire: &WireFormat, written: &Written) -> Clear {
    let mut notes = Vec::new();
    let mut read = |delimiter: Option<&Delimiter>| -> Vec<(Regular, bool)> {
        let Some(delimiter) = delimiter else { return Vec::new() };
        if let Some(literals) = delimiter.literals() {
            return literals.iter().map(|literal| (Regular::text(literal), false)).collect();
        }
        match of_delimiter(delimiter.pattern().source()) {
            Ok((regular, _)) if regular.least() == 0 => Vec::new(),
            Ok(found) => vec![found],
            Err(error) => {
                let message = format!("a pattern of the template is not supported here: {}", error.message);
                notes.push(Note::new(Effect::Assumed, message));
                Vec::new()
            }
        }
    };
    let mut stops: Vec<(Regular, bool)> =
        written.stops.iter().filter(|stop| stop.chars().count() > 1).map(|stop| (Regular::text(stop), false)).collect();
    stops.dedup();
    let mut content = stops.clone();
    let mut reasoning = stops.clone();
    let mut value = stops.clone();
    for field in template.fields() {
        let (open, close) = (read(field.open.as_ref()), read(field.close.as_ref()));
        let is_content = field.open.is_none() || field.name == "content";
        if is_content {
            content.extend(close);
        } else {
            content.extend(open);
            if field.name == CALLS {
                value.extend(close);
            } else {
                reasoning.extend(close);
            }
        }
    }
    let thought = thought(template, wire);
    if let Some((_, close)) = &thought {
        reasoning.push((Regular::text(close), false));
    }
    if let Some(mark) = call_close(wire, written) {
        value.push((Regular::text(&mark), false));
    }
    let mut bare = value.clone();
    if let Some(calls) = &wire.calls
        && let Arguments::Pairs(pairs) = &calls.body.arguments
    {
        let ends = [pairs.cut.close.trim(), &pairs.cut.close, pairs.cut.separator.trim(), &pairs.cut.separator];
        if let Some(end) = ends.into_iter().find(|end| !end.is_empty() && !end.contains(KEY_AGAIN)) {
            bare.push((Regular::text(end), false));
        } else if let Some((end, _)) = pairs.cut.close.split_once(KEY_AGAIN)
            && !end.trim().is_empty()
        {
            bare.push((Regular::text(end.trim()), false));
        }
    }
    let mut automaton = |patterns: &[(Regular, bool)]| {
        without(patterns).unwrap_or_else(|| {
            let message = "the markers of this template need too many states: free text may contain some of them";
            notes.push(Note::new(Effect::Looser, message));
            let small = patterns.iter().filter(|(pattern, _)| Automaton::of(pattern).is_some()).cloned();
            without(&small.collect::<Vec<_>>()).unwrap_or_else(Automaton::anything)
        })
    };
    let (content, reasoning) = (automaton(&content), automaton(&reasoning));
    let (value, bare) = if bare == value {
        let both = automaton(&value);
        (both.clone(), both)
    } else {
        (automaton(&value), automaton(&bare))
    };
    Clear { content, reasoning, value, bare, thought, notes }
}

/// The texts without these patterns, some of which match at the beginning alone; nothing if there are too many states.
fn without(patterns: &[(Regular, bool)]) -> Option<Automaton> {
    let pick = |at_start: bool| -> Vec<Regular> {
        patterns.iter().filter(|(_, anchored)| *anchored == at_start).map(|(pattern, _)| pattern.clone()).collect()
    };
    Automaton::without(&pick(false), &pick(true))
}

/// The marks around a thought: those of the template, which every wire of it has, or else the wire's own.
fn thought(template: &Template, wire: &WireFormat) -> Option<(String, String)> {
    let own = wire.reasoning.as_ref()?;
    let field =
        template.fields().iter().find(|field| field.open.is_some() && field.name != CALLS && field.name != "content");
    let literal = |delimiter: Option<&Delimiter>, near: &str| -> Option<String> {
        let literals = delimiter?.literals()?;
        literals.iter().find(|literal| near.contains(literal.as_str())).cloned()
    };
    let open = field.and_then(|field| literal(field.open.as_ref(), &own.open));
    let close = field.and_then(|field| literal(field.close.as_ref(), &own.close));
    let open = open.unwrap_or_else(|| own.open.trim().to_owned());
    let close = close.unwrap_or_else(|| own.close.trim().to_owned());
    (!close.is_empty()).then_some((open, close))
}

/// The first mark after the arguments of a call, if any stands out.
fn call_close(wire: &WireFormat, written: &Written) -> Option<String> {
    let calls = wire.calls.as_ref()?;
    let shapes = written.groups.iter().flat_map(|group| &group.shapes);
    let after = shapes.filter_map(|shape| {
        let at = shape.parts.iter().position(|part| *part == Part::Call)?;
        match shape.parts.get(at + 1) {
            Some(Part::Text(text)) => Some(text.as_str()),
            _ => None,
        }
    });
    let tail = calls
        .body
        .tail
        .iter()
        .filter_map(|piece| if let CallPart::Text(text) = piece { Some(text.as_str()) } else { None });
    let texts = tail.chain(after.take(1));
    texts.flat_map(marks::marks).map(str::trim).find(|mark| marks::is_distinctive(mark)).map(str::to_owned)
}
