//! The texts that the parser would read as a marker, which content, reasoning and values must not contain.

use std::sync::Arc;

use super::CALLS;
use super::turn_marks::first_unique_mark;
use crate::automaton::Automaton;
use crate::notes::{Effect, Note};
use crate::rules::{Excluded, Forbidden, openings, without};
use backchat_derive::derive;
use backchat_derive::wire::structure::{CallPart, Encoding, KEY_AGAIN, WireFormat};
use backchat_derive::wire::written::{TurnPart, Written};
use backchat_parser::pattern::{Regular, of_delimiter};
use backchat_parser::template::{Delimiter, Template};

/// The texts that contain no marker, for each place where a grammar leaves text free.
#[derive(Clone, Debug)]
pub(crate) struct FreeTexts {
    pub content: Automaton,
    /// Text inside a string of a JSON answer, which may contain markers that count only at the beginning.
    pub answer: Automaton,
    /// `None` if the wire has no reasoning.
    pub reasoning: Option<Automaton>,
    /// Text inside a call.
    pub value: Automaton,
    /// A value without quotes between its markers.
    pub bare: Automaton,
    /// A string inside an argument's value, such as an item of a list.
    pub nested: Automaton,
    /// Strings in quotes, followed only by the next key.
    pub quoted: Option<Quoted>,
    /// The open and close of reasoning.
    pub thought: Option<(String, String)>,
    /// The texts to forbid if calls are not allowed, for engines that ban words instead of following a grammar.
    pub bans: Vec<String>,
    /// Those of the texts above whose markers are literals.
    pub excluded: Arc<Vec<Excluded>>,
    pub notes: Vec<Note>,
}

/// Texts between quotes, by how the parser reads them if a value ends at the next key.
#[derive(Clone, Debug)]
pub(crate) struct Quoted {
    /// Without escapes: it is read verbatim.
    pub plain: Automaton,
    /// With an escape: only the next key marks its end.
    pub escaped: Automaton,
    /// Between the quotes that the wire does not use: it is read verbatim, and never as another type of value.
    pub other: Automaton,
}

/// Finds what each kind of text must not contain: the opens and closes of the template, and the stops of the wire.
pub(crate) fn free_texts(template: &Template, wire: &WireFormat, written: &Written) -> FreeTexts {
    let mut notes = Vec::new();
    let thought = thought(template, wire);
    let bans = bans(wire, written, thought.as_ref());
    let marks = Marks::find(template, wire, written, thought.as_ref(), &mut notes);
    let mut texts = Texts { excluded: Vec::new(), notes };
    let content = marks.content.iter().filter(|(_, is_at_start)| !is_at_start);
    // The marks that identify a call are excluded even if the template needs more than them.
    let calls = bans.iter().map(|mark| literal(mark));
    let openings = marks.content.iter().flat_map(|pattern| opening_marks(wire, pattern));
    let answer = texts.without(&content.cloned().chain(calls).chain(openings).collect::<Vec<_>>());
    let content = texts.without(&marks.content);
    let mut shapes = written.groups.iter().flat_map(|group| &group.shapes);
    let thinks = wire.reasoning.is_some() || shapes.any(|shape| shape.has(&TurnPart::Reasoning));
    let reasoning = thinks.then(|| texts.without(&marks.reasoning));
    let value = texts.without(&marks.value);
    let mut ending = |end: Option<Forbidden>| match end {
        None => value.clone(),
        Some(end) => texts.without(&marks.value.iter().cloned().chain([end]).collect::<Vec<_>>()),
    };
    let (bare, nested) = (ending(bare_end(wire).map(literal)), ending(nested_end(wire)));
    let quoted = quoted(wire, &value, &nested);
    let Texts { excluded, notes } = texts;
    let excluded = Arc::new(excluded);
    FreeTexts { content, answer, reasoning, value, bare, nested, quoted, thought, bans, excluded, notes }
}

/// A text that is forbidden anywhere.
fn literal(text: &str) -> Forbidden {
    (Regular::text(text), false)
}

/// The markers that each kind of text must not contain.
struct Marks {
    content: Vec<Forbidden>,
    reasoning: Vec<Forbidden>,
    value: Vec<Forbidden>,
}

impl Marks {
    fn find(
        template: &Template,
        wire: &WireFormat,
        written: &Written,
        thought: Option<&(String, String)>,
        notes: &mut Vec<Note>,
    ) -> Self {
        let mut stops: Vec<Forbidden> =
            written.stops.iter().filter(|stop| stop.chars().count() > 1).map(|stop| literal(stop)).collect();
        stops.dedup();
        let (mut content, mut reasoning, mut value) = (stops.clone(), stops.clone(), stops);
        for field in template.fields() {
            let (open, close) = (forbidden(field.open.as_ref(), notes), forbidden(field.close.as_ref(), notes));
            if field.open.is_none() || field.name == "content" {
                content.extend(close);
            } else {
                content.extend(open);
                let own = if field.name == CALLS { &mut value } else { &mut reasoning };
                own.extend(close);
            }
        }
        reasoning.extend(thought.map(|(_, close)| literal(close)));
        value.extend(call_close(wire, written).map(|mark| literal(&mark)));
        Self { content, reasoning, value }
    }
}

/// The texts that a delimiter of the template forbids.
fn forbidden(delimiter: Option<&Delimiter>, notes: &mut Vec<Note>) -> Vec<Forbidden> {
    let Some(delimiter) = delimiter else { return Vec::new() };
    if let Some(literals) = delimiter.literals() {
        return literals.iter().map(|text| literal(text)).collect();
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
}

/// The texts without markers, and notes about them.
struct Texts {
    excluded: Vec<Excluded>,
    notes: Vec<Note>,
}

impl Texts {
    /// Text without matches of these patterns.
    fn without(&mut self, patterns: &[Forbidden]) -> Automaton {
        let all: Vec<&Forbidden> = patterns.iter().collect();
        if let Some(free_texts) = without(&all) {
            self.excluded.extend(Excluded::find(&all, &free_texts));
            return free_texts;
        }
        let message = "the markers of this template need too many states: free text may contain some of them";
        self.notes.push(Note::new(Effect::Looser, message));
        let small = patterns.iter().filter(|(pattern, _)| Automaton::from_pattern(pattern).is_some());
        without(&small.collect::<Vec<_>>()).unwrap_or_else(Automaton::anything)
    }
}

/// The marks that matches of a pattern begin with.
fn opening_marks(wire: &WireFormat, (pattern, is_at_start): &Forbidden) -> Vec<Forbidden> {
    let is_mark = |text: &String| {
        let first = wire.segmentation.marks(text).first().map(|mark| mark.trim().to_owned());
        first.is_some_and(|mark| wire.segmentation.is_distinctive(&mark))
    };
    let texts = if *is_at_start { Vec::new() } else { openings(pattern) };
    texts.iter().filter(|text| is_mark(text)).map(|text| (Regular::text(text), false)).collect()
}

/// The end of a value that contains quotes.
fn nested_end(wire: &WireFormat) -> Option<Forbidden> {
    let pairs = wire.pairs().filter(|pairs| pairs.values.strings != Encoding::Bare)?;
    if pairs.key_again {
        return Some((Regular::text(bare_end(wire)?), false));
    }
    let (end, _) = of_delimiter(&derive::value_end(wire.segmentation, pairs)).ok()?;
    (end.least() > 0).then_some((end, false))
}

/// The texts between quotes, if values end at the next key.
fn quoted(wire: &WireFormat, value: &Automaton, nested: &Automaton) -> Option<Quoted> {
    let pairs = wire.pairs().filter(|pairs| pairs.cut.close.trim().is_empty())?;
    let Encoding::Quoted { open, close, .. } = &pairs.values.strings else { return None };
    if open != close || open.chars().count() != 1 {
        return None;
    }
    let backslash = Regular::text("\\");
    let escaped = Regular::Concat(vec![Regular::anything(), backslash.clone(), Regular::anything()]);
    // White space at the ends would be lost, and other texts would be read as a dialect of JSON.
    let other = of_delimiter(r#"(?:[^\s"'\\\[{\x00-\x1F](?:[^"\\\x00-\x1F]*[^\s"'\\\x00-\x1F])?)?"#).ok()?.0;
    Some(Quoted {
        plain: Automaton::without(&[&backslash], &[])?.both(value)?,
        escaped: Automaton::from_pattern(&escaped)?.both(nested)?,
        other: if open == "'" { Automaton::from_pattern(&other)?.both(value)? } else { Automaton::nothing() },
    })
}

/// The end of a value without quotes.
fn bare_end(wire: &WireFormat) -> Option<&str> {
    let pairs = wire.pairs()?;
    let (close, separator) = (pairs.cut.close.as_str(), pairs.cut.separator.as_str());
    let ends = [close.trim(), close, separator.trim(), separator];
    let end = ends.into_iter().find(|end| !end.is_empty() && !end.contains(KEY_AGAIN));
    end.or_else(|| close.split_once(KEY_AGAIN).map(|(end, _)| end.trim()).filter(|end| !end.is_empty()))
}

/// The delimiters of reasoning: those of the template, which every wire of it has, otherwise the wire's own.
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

/// The first marker after the arguments of a call.
fn call_close(wire: &WireFormat, written: &Written) -> Option<String> {
    let calls = wire.calls.as_ref()?;
    let shapes = written.groups.iter().flat_map(|group| &group.shapes);
    let after = shapes.filter_map(|shape| {
        let at = shape.parts.iter().position(|part| *part == TurnPart::Call)?;
        shape.parts.get(at + 1)?.text()
    });
    let texts = calls.body.tail.iter().filter_map(CallPart::text).chain(after.take(1));
    texts
        .flat_map(|text| wire.segmentation.marks(text))
        .map(str::trim)
        .find(|mark| wire.segmentation.is_distinctive(mark))
        .map(str::to_owned)
}

/// The shortest texts that identify a call: every call has one, and no other part of a turn does. Empty if calls have
/// no marks of their own.
fn bans(wire: &WireFormat, written: &Written, thought: Option<&(String, String)>) -> Vec<String> {
    let Some(calls) = &wire.calls else { return Vec::new() };
    let segmentation = wire.segmentation;
    let texts = |pieces: &[CallPart]| -> String { pieces.iter().map_while(CallPart::text).collect() };
    let (mut before, mut after): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut elsewhere: Vec<&str> = thought.iter().flat_map(|(open, close)| [open.as_str(), close.as_str()]).collect();
    for group in &written.groups {
        for shape in &group.shapes {
            let first = shape.parts.iter().position(|part| *part == TurnPart::Call);
            let last = shape.parts.iter().rposition(|part| *part == TurnPart::Call);
            let header = |text: &'_ str| segmentation.shared_start(text, &group.header).len();
            if let (Some(first), Some(last)) = (first, last) {
                let own = shape.text(first.checked_sub(1));
                before.push(if first == 1 { own.get(header(own)..).unwrap_or(own) } else { own });
                after.push(shape.text(Some(last + 1)));
            }
            // The text before the first call, and all of a turn without one.
            let others = shape.parts.iter().take(first.map_or(usize::MAX, |first| first.saturating_sub(1)));
            elsewhere.extend(others.filter_map(TurnPart::text));
        }
    }
    let before = before.into_iter().reduce(|a, b| segmentation.shared_end(a, b)).unwrap_or_default();
    let after = after.into_iter().reduce(|a, b| segmentation.shared_start(a, b)).unwrap_or_default();
    let opening = format!("{before}{}", texts(&calls.body.head));
    let closing = format!("{}{after}", texts(&calls.body.tail));
    [opening, closing]
        .iter()
        .find_map(|text| first_unique_mark(segmentation, text, &elsewhere))
        .map(|(_, mark)| vec![mark])
        .unwrap_or_default()
}
