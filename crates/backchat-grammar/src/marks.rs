//! Text that the parser would read as a mark, and that content, thoughts and values must not contain.

use std::sync::Arc;

use super::automaton::Automaton;
use super::bans;
use super::excluded::{Excluded, Forbidden, openings, without};
use super::notes::{Effect, Note};
use backchat_derive::derive;
use backchat_derive::wire::structure::{Arguments, CallPart, Encoding, KEY_AGAIN, Pairs, WireFormat};
use backchat_derive::wire::written::{Part, Written};
use backchat_parser::pattern::{Regular, of_delimiter};
use backchat_parser::template::{Delimiter, Template};

/// The texts without marks, for each place in which text is unconstrained.
#[derive(Clone, Debug)]
pub(crate) struct Clear {
    pub content: Automaton,
    /// Text inside a string of an answer that is JSON: what a marker would have to be at the beginning for is no marker.
    pub answer: Automaton,
    /// None if the wire has no thoughts.
    pub reasoning: Option<Automaton>,
    /// Text inside a call.
    pub value: Automaton,
    /// A value without quotes between its marks.
    pub bare: Automaton,
    /// Text inside an argument's value that has no quotes around all of it: a string of a list.
    pub nested: Automaton,
    /// Strings in quotes with nothing but the next key after them.
    pub quoted: Option<Quoted>,
    /// The opening and the closing of a thought.
    pub thought: Option<(String, String)>,
    /// The marks by which a call is known; see [`bans`].
    pub bans: Vec<String>,
    /// Those of the texts above whose marks are plain texts.
    pub excluded: Arc<Vec<Excluded>>,
    pub notes: Vec<Note>,
}

/// Texts between quotes, by what the parser makes of them where a value ends at the next key.
#[derive(Clone, Debug)]
pub(crate) struct Quoted {
    /// No escape is in it: it is read as it is.
    pub plain: Automaton,
    /// With an escape in it: nothing tells its end but the next key.
    pub escaped: Automaton,
    /// Between the quotes that the wire does not use: it is read as it is, and is no other value.
    pub other: Automaton,
}

/// The field that holds calls.
pub(crate) const CALLS: &str = "tool_calls";

/// Finds what each kind of text must not hold: the opens and closes of the template, and the stops of the wire.
pub(crate) fn clear(template: &Template, wire: &WireFormat, written: &Written) -> Clear {
    let mut notes = Vec::new();
    let text = |text: &str| -> Forbidden { (Regular::text(text), false) };
    let mut read = |delimiter: Option<&Delimiter>| -> Vec<Forbidden> {
        let Some(delimiter) = delimiter else { return Vec::new() };
        if let Some(literals) = delimiter.literals() {
            return literals.iter().map(|literal| text(literal)).collect();
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
    let fields: Vec<_> =
        template.fields().iter().map(|field| (field, read(field.open.as_ref()), read(field.close.as_ref()))).collect();
    let thought = thought(template, wire);
    let mut stops: Vec<Forbidden> =
        written.stops.iter().filter(|stop| stop.chars().count() > 1).map(|stop| text(stop)).collect();
    stops.dedup();
    let thought_close = thought.as_ref().map(|(_, close)| text(close));
    let call_close = call_close(wire, written).map(|mark| text(&mark));
    let bare_end = bare_end(wire).map(text);
    let nested_end = nested_end(wire);

    let mut content: Vec<&Forbidden> = stops.iter().collect();
    let (mut reasoning, mut value) = (content.clone(), content.clone());
    for (field, open, close) in &fields {
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
    reasoning.extend(&thought_close);
    value.extend(&call_close);
    let mut bare = value.clone();
    bare.extend(&bare_end);
    let mut nested = value.clone();
    nested.extend(&nested_end);

    let mut excluded: Vec<Excluded> = Vec::new();
    let mut automaton = |patterns: &[&Forbidden]| {
        if let Some(clear) = without(patterns) {
            excluded.extend(Excluded::find(patterns, &clear));
            return clear;
        }
        without(patterns).unwrap_or_else(|| {
            let message = "the markers of this template need too many states: free text may contain some of them";
            notes.push(Note::new(Effect::Looser, message));
            let small = patterns.iter().copied().filter(|(pattern, _)| Automaton::of(pattern).is_some());
            without(&small.collect::<Vec<_>>()).unwrap_or_else(Automaton::anything)
        })
    };
    let mut shapes = written.groups.iter().flat_map(|group| &group.shapes);
    let thinks = wire.reasoning.is_some() || shapes.any(|shape| shape.has(&Part::Reasoning));
    // The marks by which a call is known are marks even where the template needs more of them.
    let bans = bans::find(wire, written, thought.as_ref());
    let calls: Vec<Forbidden> = bans.iter().map(|mark| text(mark)).collect();
    let openings: Vec<Forbidden> = content.iter().flat_map(|pattern| opening_marks(wire, pattern)).collect();
    let inside = content.iter().copied().filter(|(_, is_at_start)| !is_at_start);
    let inside: Vec<&Forbidden> = inside.chain(&calls).chain(&openings).collect();
    let answer = automaton(&inside);
    let (content, reasoning) = (automaton(&content), thinks.then(|| automaton(&reasoning)));
    let value = automaton(&value);
    let bare = if bare_end.is_none() { value.clone() } else { automaton(&bare) };
    let nested = if nested_end.is_none() { value.clone() } else { automaton(&nested) };
    let quoted = quoted(wire, &value, &nested);
    Clear {
        content,
        answer,
        reasoning,
        value,
        bare,
        nested,
        quoted,
        thought,
        bans,
        excluded: Arc::new(excluded),
        notes,
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

/// The arguments of a wire that are written one by one.
fn pairs(wire: &WireFormat) -> Option<&Pairs> {
    match &wire.calls.as_ref()?.body.arguments {
        Arguments::Pairs(pairs) => Some(pairs),
        _ => None,
    }
}

/// The end of a value inside which there are quotes.
fn nested_end(wire: &WireFormat) -> Option<Forbidden> {
    let pairs = pairs(wire).filter(|pairs| pairs.values.strings != Encoding::Bare)?;
    if pairs.key_again {
        return Some((Regular::text(bare_end(wire)?), false));
    }
    let (end, _) = of_delimiter(&derive::value_end(wire.segmentation, pairs)).ok()?;
    (end.least() > 0).then_some((end, false))
}

/// The texts between quotes where values end at the next key.
fn quoted(wire: &WireFormat, value: &Automaton, nested: &Automaton) -> Option<Quoted> {
    let pairs = pairs(wire).filter(|pairs| pairs.cut.close.trim().is_empty())?;
    let Encoding::Quoted { open, close, .. } = &pairs.values.strings else { return None };
    if open != close || open.chars().count() != 1 {
        return None;
    }
    let backslash = Regular::text("\\");
    let escaped = Regular::Concat(vec![Regular::anything(), backslash.clone(), Regular::anything()]);
    // White space at its ends would be lost, a dialect of JSON taken for it.
    let other = of_delimiter(r#"(?:[^\s"'\\\[{\x00-\x1F](?:[^"\\\x00-\x1F]*[^\s"'\\\x00-\x1F])?)?"#).ok()?.0;
    Some(Quoted {
        plain: Automaton::without(&[&backslash], &[])?.both(value)?,
        escaped: Automaton::of(&escaped)?.both(nested)?,
        other: if open == "'" { Automaton::of(&other)?.both(value)? } else { Automaton::nothing() },
    })
}

/// The end of a value that has no quotes.
fn bare_end(wire: &WireFormat) -> Option<&str> {
    let pairs = pairs(wire)?;
    let (close, separator) = (pairs.cut.close.as_str(), pairs.cut.separator.as_str());
    let ends = [close.trim(), close, separator.trim(), separator];
    let end = ends.into_iter().find(|end| !end.is_empty() && !end.contains(KEY_AGAIN));
    end.or_else(|| close.split_once(KEY_AGAIN).map(|(end, _)| end.trim()).filter(|end| !end.is_empty()))
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
    texts
        .flat_map(|text| wire.segmentation.marks(text))
        .map(str::trim)
        .find(|mark| wire.segmentation.is_distinctive(mark))
        .map(str::to_owned)
}
