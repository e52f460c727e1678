//! A render of one turn as text and slots: the position and spelling of each value of the answer.

use std::ops::Range;

use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_core::text::slice;
use backchat_probe::probe::Answer;

/// The part of an answer in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    Content,
    Reasoning,
    Name(usize),
    Id(usize),
    Key(usize, usize),
    Value(usize, usize),
    /// All arguments of a call in one value.
    Arguments(usize, Whole),
}

/// The spelling of arguments that are one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    Json,
    /// Their JSON inside a JSON string.
    JsonText,
    Python,
}

impl SlotKind {
    pub(crate) fn call(self) -> Option<usize> {
        match self {
            SlotKind::Content | SlotKind::Reasoning => None,
            SlotKind::Name(call) | SlotKind::Id(call) | SlotKind::Arguments(call, _) => Some(call),
            SlotKind::Key(call, _) | SlotKind::Value(call, _) => Some(call),
        }
    }
}

/// Signs that end a sentence: a template may write one after a text that has none.
const SENTENCE_ENDS: [char; 5] = ['.', '!', '?', '…', '。'];

/// A value of the answer, and the bytes it takes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub kind: SlotKind,
    pub range: Range<usize>,
}

/// A render from the end of the history on.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// The text after the end of the history.
    pub text: String,
    pub slots: Vec<Slot>,
}

impl Trace {
    /// Finds the values of an answer in the text after the history.
    pub(crate) fn new(text: &str, answer: &Answer) -> Self {
        let mut slots = Vec::new();
        let mut add = |needle: &str, kind: SlotKind| {
            if !needle.is_empty() {
                slots.extend(text.match_indices(needle).map(|(at, _)| Slot { kind, range: at..at + needle.len() }));
            }
        };
        answer.content.iter().for_each(|content| add(content, SlotKind::Content));
        answer.reasoning.iter().for_each(|reasoning| add(reasoning, SlotKind::Reasoning));
        for (index, call) in answer.calls.iter().enumerate() {
            add(&call.name, SlotKind::Name(index));
            add(&call.id, SlotKind::Id(index));
            for (at, (key, value)) in call.arguments.iter().enumerate() {
                add(key, SlotKind::Key(index, at));
                value.as_str().into_iter().for_each(|value| add(value, SlotKind::Value(index, at)));
            }
        }
        let wholes = answer.calls.iter().enumerate().filter_map(|(index, call)| {
            let name = text.find(&call.name).unwrap_or(0);
            let next = answer.calls.get(index + 1).and_then(|next| text.find(&next.name)).unwrap_or(text.len());
            whole(text, &call.arguments, name, next)
                .map(|(whole, range)| Slot { kind: SlotKind::Arguments(index, whole), range })
        });
        let wholes: Vec<Slot> = wholes.collect();
        slots.extend(wholes);
        // The earliest first; of those that begin at one place, the longest, which encloses the others.
        slots.sort_by_key(|slot| (slot.range.start, std::cmp::Reverse(slot.range.end)));
        let mut end = 0;
        slots.retain(|slot| {
            let is_free = slot.range.start >= end;
            if is_free {
                end = slot.range.end;
            }
            is_free
        });
        Self { text: text.to_owned(), slots }
    }

    /// The text between two bounds taken from slots or matches.
    pub(crate) fn get(&self, range: Range<usize>) -> &str {
        slice(&self.text, range)
    }

    pub(crate) fn rest(&self, at: usize) -> &str {
        self.get(at..self.text.len())
    }

    /// The bytes from the first value of a call to its last one.
    pub(crate) fn range_of(&self, call: usize) -> Option<Range<usize>> {
        let start = self.of_call(call).map(|slot| slot.range.start).min()?;
        Some(start..self.of_call(call).map(|slot| slot.range.end).max()?)
    }

    /// How a call's arguments are written, if as one value.
    pub(crate) fn whole(&self, call: usize) -> Option<Whole> {
        self.of_call(call).find_map(|slot| match slot.kind {
            SlotKind::Arguments(_, whole) => Some(whole),
            _ => None,
        })
    }

    /// The sign that ends a sentence after a text of the answer, and the answer with that sign as a part of the text.
    pub(crate) fn with_sign_after(&self, kind: SlotKind, answer: &Answer) -> Option<(char, Answer)> {
        let after = self.rest(self.slot(kind)?.range.end);
        let sign = after.chars().next().filter(|sign| SENTENCE_ENDS.contains(sign))?;
        let mut ended = answer.clone();
        let text = if kind == SlotKind::Content { &mut ended.content } else { &mut ended.reasoning };
        text.as_mut()?.push(sign);
        Some((sign, ended))
    }

    /// Makes a sign part of each slot of this kind that it follows.
    pub(crate) fn extend(&mut self, kind: SlotKind, sign: char) {
        for slot in self.slots.iter_mut().filter(|slot| slot.kind == kind) {
            if slice(&self.text, slot.range.end..).starts_with(sign) {
                slot.range.end += sign.len_utf8();
            }
        }
    }

    pub(crate) fn slot(&self, kind: SlotKind) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.kind == kind)
    }

    /// Whether the answer's value shows.
    pub(crate) fn shows(&self, kind: SlotKind) -> bool {
        self.slot(kind).is_some()
    }

    /// The text before the first slot.
    pub(crate) fn lead(&self) -> &str {
        self.get(0..self.slots.first().map_or(self.text.len(), |slot| slot.range.start))
    }

    /// The text after the last slot.
    pub(crate) fn tail(&self) -> &str {
        self.rest(self.slots.last().map_or(0, |slot| slot.range.end))
    }

    pub(crate) fn of_call(&self, call: usize) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(move |slot| slot.kind.call() == Some(call))
    }
}

/// The position of a call's arguments if they are one value. Empty arguments must be between the names of this call and
/// the next one, because other braces may be empty as well.
fn whole(text: &str, arguments: &Object, name: usize, next: usize) -> Option<(Whole, Range<usize>)> {
    let allowed = |at: usize| !arguments.is_empty() || at > name && at < next;
    let is_same = |value: &Value| value.as_object().is_some_and(|entries| same_entries(entries, arguments));
    let starts = text.char_indices().filter(|(at, c)| matches!(c, '{' | '"') && allowed(*at));
    for (at, c) in starts {
        let Some((value, end)) = json::value_at(text, at) else { continue };
        match (c, value) {
            ('{', value) if is_same(&value) => return Some((Whole::Json, at..end)),
            ('"', Value::String(inner)) if json::read(&inner).is_ok_and(|value| is_same(&value)) => {
                return Some((Whole::JsonText, at..end));
            }
            _ => {}
        }
    }
    let spelled = python::spelling(&Value::Object(arguments.clone()));
    let at = text.find(&spelled).filter(|at| allowed(*at))?;
    Some((Whole::Python, at..at + spelled.len()))
}

/// Whether two objects are equal, ignoring the order of their keys.
pub(crate) fn same_entries(a: &Object, b: &Object) -> bool {
    a.len() == b.len() && a.iter().all(|(key, value)| b.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json::Object;
    use backchat_probe::probe::Call;

    fn call(id: &str, name: &str, arguments: &str) -> Call {
        let arguments = json::read(arguments).unwrap();
        Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.as_object().unwrap().clone() }
    }

    fn slots<'t>(text: &'t str, answer: &Answer) -> Vec<(SlotKind, &'t str)> {
        let trace = Trace::new(text, answer);
        trace.slots.into_iter().map(|slot| (slot.kind, &text[slot.range])).collect()
    }

    #[test]
    fn a_trace_has_the_values_of_an_answer_in_the_order_of_the_text() {
        let answer = Answer { calls: vec![call("id1", "add", r#"{"key": "val"}"#)], ..Answer::content("Hello") };
        let answer = answer.with_reasoning("Hmm");
        let text = "<think>Hmm</think>Hello<call add id1><key>val</key></call>";
        let found = [
            (SlotKind::Reasoning, "Hmm"),
            (SlotKind::Content, "Hello"),
            (SlotKind::Name(0), "add"),
            (SlotKind::Id(0), "id1"),
            (SlotKind::Key(0, 0), "key"),
            (SlotKind::Value(0, 0), "val"),
            (SlotKind::Key(0, 0), "key"),
        ];
        assert_eq!(slots(text, &answer), found);
    }

    #[test]
    fn a_value_that_the_template_drops_or_rewrites_has_no_slot() {
        let answer = Answer::content("Hello").with_reasoning("Hmm");
        assert_eq!(slots("<answer>HELLO</answer>", &answer), []);
        // Empty values are not searched for.
        assert_eq!(slots("<answer></answer>", &Answer::content("")), []);
    }

    #[test]
    fn arguments_that_are_one_value_are_one_slot() {
        let given = r#"{"a": "x", "b": true}"#;
        for (written, whole) in [
            (r#"{"a": "x", "b": true}"#, Whole::Json),
            (r#"{"a":"x","b":true}"#, Whole::Json),
            // Some templates sort keys.
            (r#"{"b": true, "a": "x"}"#, Whole::Json),
            (r#""{\"a\": \"x\", \"b\": true}""#, Whole::JsonText),
            ("{'a': 'x', 'b': True}", Whole::Python),
        ] {
            let answer = Answer::calls(vec![call("id1", "add", given)]);
            let expected = [(SlotKind::Name(0), "add"), (SlotKind::Arguments(0, whole), written)];
            assert_eq!(slots(&format!("add({written})"), &answer), expected, "{written}");
        }
        // An object with another member is not the arguments: their keys and values show one by one.
        let answer = Answer::calls(vec![call("id1", "add", r#"{"key": "val"}"#)]);
        let found = [(SlotKind::Name(0), "add"), (SlotKind::Key(0, 0), "key"), (SlotKind::Value(0, 0), "val")];
        assert_eq!(slots(r#"add({"key": "val", "more": 1})"#, &answer), found);
    }

    #[test]
    fn the_arguments_of_a_call_object_are_its_inner_object() {
        let answer = Answer::calls(vec![call("id1", "add", r#"{"key": "val"}"#)]);
        let text = r#"{"name": "add", "arguments": {"key": "val"}}"#;
        let found = [(SlotKind::Name(0), "add"), (SlotKind::Arguments(0, Whole::Json), r#"{"key": "val"}"#)];
        assert_eq!(slots(text, &answer), found);
    }

    #[test]
    fn empty_arguments_are_between_their_name_and_the_next_one() {
        let answer = Answer::calls(vec![call("id1", "one", "{}"), call("id2", "two", "{}")]);
        let trace = Trace::new("{} one {} two {}", &answer);
        assert_eq!(trace.slot(SlotKind::Arguments(0, Whole::Json)).unwrap().range, 7..9);
        assert_eq!(trace.slot(SlotKind::Arguments(1, Whole::Json)).unwrap().range, 14..16);
        // Braces after the next name belong to the next call.
        let trace = Trace::new("one two {}", &answer);
        assert_eq!(trace.of_call(0).map(|slot| slot.kind).collect::<Vec<_>>(), [SlotKind::Name(0)]);
        // Braces before the name belong to no call.
        let trace = Trace::new("{} one", &Answer::calls(vec![call("id1", "one", "{}")]));
        assert_eq!(trace.of_call(0).map(|slot| slot.kind).collect::<Vec<_>>(), [SlotKind::Name(0)]);
    }

    #[test]
    fn lead_and_tail_are_the_text_outside_all_slots() {
        let trace = Trace::new("<a>Hello</a>", &Answer::content("Hello"));
        assert_eq!((trace.lead(), trace.tail()), ("<a>", "</a>"));
        assert!(trace.shows(SlotKind::Content) && !trace.shows(SlotKind::Reasoning));
        // Without a slot, all of the text comes before the first one, and after the last one.
        let trace = Trace::new("<a></a>", &Answer::content("Hello"));
        assert_eq!((trace.lead(), trace.tail()), ("<a></a>", "<a></a>"));
    }

    #[test]
    fn a_json_value_ends_where_it_is_complete() {
        for (text, at, end) in [(r#"x{"a": 1}y"#, 1, Some(9)), (r#""a" "b""#, 4, Some(7)), ("{open", 0, None)] {
            assert_eq!(json::value_at(text, at).map(|(_, end)| end), end, "{text}");
        }
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let read = |text: &str| json::read(text).unwrap().as_object().unwrap().clone();
        assert!(same_entries(&read(r#"{"a": 1, "b": 2}"#), &read(r#"{"b": 2, "a": 1}"#)));
        assert!(!same_entries(&read(r#"{"a": 1}"#), &read(r#"{"a": 1, "b": 2}"#)));
        assert!(same_entries(&Object::new(), &read("{}")));
    }
}
