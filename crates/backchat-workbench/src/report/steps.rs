//! The data of a page's script: the steps of a recording, as plain data.
//!
//! Places are UTF-16 units of the text on the page. Sentences are stored once and referred to by number. The message
//! grows by one operation for each region that closed, whose value is the displayed JSON.

use std::collections::{HashMap, HashSet};

use super::colors::{ColoredText, offsets};
use crate::replay::{Kind, Moment, Recording, Segment};
use backchat_core::diagnostic::{escape_json, shortened};
use backchat_core::json::{Object, Value};

/// How many chunks, and how many rows of events, can be stepped through; if there are more, the middle is omitted.
pub const MOST: usize = 2_000;

/// The longest value shown in the growing message, in characters.
const VALUE: usize = 4_000;

/// The placeholder of omitted values.
const LEFT_OUT: &str = "… more …";

/// The first and the last of many things.
pub(super) fn first_and_last(count: usize) -> impl Iterator<Item = usize> {
    let half = MOST / 2;
    (0..count).filter(move |index| count <= MOST || *index < half || *index >= count - half)
}

/// The moments of a recording that a page shows, in order.
pub(super) struct Steps {
    pub moments: Vec<Moment>,
}

impl Steps {
    pub fn new(recording: &Recording) -> Self {
        let feeds = first_and_last(recording.feed_count()).map(|feed| recording.moment_of_feed(feed));
        let rows = first_and_last(recording.row_count());
        let rows = rows.map(|row| recording.moment_of_event(recording.row(row).end.saturating_sub(1)));
        let mut moments: Vec<Moment> = feeds.chain(rows).collect();
        moments.sort_unstable();
        moments.dedup();
        Self { moments }
    }

    pub fn step_at(&self, moment: Moment) -> usize {
        self.moments.partition_point(|known| *known <= moment).saturating_sub(1)
    }

    /// The script's data for one side. `marked` are steps worth a look.
    pub fn data(&self, recording: &Recording, runs: &[ColoredText], marked: &[usize]) -> Value {
        let mut places: Vec<usize> = runs.iter().map(|run| run.span.end).collect();
        for moment in &self.moments {
            places.extend([recording.arrived(*moment), recording.settled(*moment)]);
            places.extend(recording.region(*moment).map(|region| region.body.start));
        }
        places.sort_unstable();
        places.dedup();
        let offsets = offsets(recording, runs, &places);
        let offset = |place: usize| {
            places.binary_search(&place).ok().and_then(|at| offsets.get(at)).copied().map_or(Value::Null, Value::from)
        };
        let mut words = Words::default();
        let message = MessageOps::new(recording);
        let steps = self.moments.iter().map(|moment| {
            let region = recording.region(*moment);
            let is_feed = *moment == recording.moment_of_feed(moment.feed);
            let rows = moment.event.checked_sub(1).map_or(0, |last| recording.row_of(last) + 1);
            let ends_row = rows > 0 && recording.row(rows - 1).end == moment.event;
            Value::List(vec![
                (usize::from(is_feed) + 2 * usize::from(ends_row)).into(),
                offset(recording.arrived(*moment)),
                offset(recording.settled(*moment)),
                rows.into(),
                words.number(recording.happened(*moment)).into(),
                words.number(recording.why(*moment)).into(),
                message.operations_at(recording, *moment).into(),
                region.as_ref().map_or(Value::Null, |region| offset(region.body.start)),
                region.as_ref().map_or(Value::Null, |region| region.field.into()),
            ])
        });
        let steps = Value::List(steps.collect());
        let runs = runs.iter().flat_map(|run| [offset(run.span.end), code(run.part).into()]);
        let fields = recording.template().fields().iter().map(|field| shown(&field.name));
        let marked = marked.iter().map(|step| Value::from(*step));
        Value::from([
            ("runs", Value::List(runs.collect())),
            ("fields", Value::List(fields.collect())),
            ("words", Value::List(words.sentences)),
            ("message", Value::List(message.operations)),
            ("marked", Value::List(marked.collect())),
            ("steps", steps),
        ])
    }
}

/// The kind of a segment, as a number: 0 the prompt, 1 text of no field, 2 omitted, then two for each field.
fn code(part: Option<Segment>) -> usize {
    match part {
        Some(Segment::Prompt) => 0,
        None => 2,
        Some(Segment::Body(field)) => 3 + 2 * field,
        Some(Segment::Delimiter(field)) => 4 + 2 * field,
        Some(_) => 1,
    }
}

/// A text as the script may show it.
fn shown(text: &str) -> Value {
    backchat_core::diagnostic::escape(text).into_owned().into()
}

/// Sentences, each stored once.
#[derive(Default)]
struct Words {
    sentences: Vec<Value>,
    known: HashMap<String, usize>,
}

impl Words {
    fn number(&mut self, sentence: String) -> usize {
        let next = self.sentences.len();
        *self.known.entry(sentence).or_insert_with_key(|sentence| {
            self.sentences.push(shown(sentence));
            next
        })
    }
}

/// How the message grows.
struct MessageOps {
    /// `[key, how, value]`: `=` replaces, `+` adds to a list, `&` joins to a text, `-` takes out.
    operations: Vec<Value>,
    /// How many operations there are after this many regions.
    after: Vec<usize>,
}

impl MessageOps {
    fn new(recording: &Recording) -> Self {
        let mut ops = Self { operations: Vec::new(), after: Vec::new() };
        let mut keys: Object = Object::new();
        for (key, value) in recording.template().defaults() {
            keys.insert(key, Value::Null);
            match value.as_list() {
                Some(items) if !items.is_empty() => items.iter().for_each(|item| ops.push(key, "+", item)),
                _ => ops.push(key, "=", value),
            }
        }
        ops.after.push(ops.operations.len());
        let events = (0..recording.event_count()).filter_map(|index| recording.event(index));
        let closes: Vec<_> = events.filter(|event| matches!(event.kind, Kind::Close | Kind::Malformed)).collect();
        let mut kept = first_and_last(closes.len()).peekable();
        let mut left_out: HashSet<usize> = HashSet::new();
        for (index, event) in closes.iter().enumerate() {
            let is_kept = kept.next_if_eq(&index).is_some();
            if let (Some(Ok(value)), Some(field)) = (event.value, recording.field(event.field)) {
                keys.insert(field.name.clone(), Value::Null);
                match (&field.join, field.repeats) {
                    _ if !is_kept && (!field.repeats || !left_out.insert(event.field)) => {}
                    (Some(_), true) if !is_kept => ops.join(&field.name, &LEFT_OUT.into(), ""),
                    (None, true) if !is_kept => ops.operation(&field.name, "+", LEFT_OUT),
                    (Some(join), true) => ops.join(&field.name, &value.read(), join),
                    (None, true) => ops.push(&field.name, "+", &value.read()),
                    (_, false) => ops.push(&field.name, "=", &value.read()),
                }
            }
            ops.after.push(ops.operations.len());
        }
        // Values that are empty at the end are not part of the message.
        let kept = recording.message(recording.end());
        for key in keys.keys().filter(|key| !kept.contains_key(key)) {
            ops.push(key, "-", &Value::Null);
        }
        ops
    }

    /// How many operations a moment has after it.
    fn operations_at(&self, recording: &Recording, moment: Moment) -> usize {
        match moment == recording.end() {
            true => self.operations.len(),
            false => self.after.get(recording.closed_count(moment)).copied().unwrap_or(0),
        }
    }

    fn push(&mut self, key: &str, how: &str, value: &Value) {
        let indent = if how == "+" { "\n    " } else { "\n  " };
        let json = escape_json(&value.to_pretty("  ")).replace('\n', indent);
        self.operation(key, how, &json);
    }

    /// A text that is joined to the one before it: the inside of its JSON, after that of the join.
    fn join(&mut self, key: &str, value: &Value, join: &str) {
        let inside = |text: &Value| {
            let json = text.to_string();
            let inside = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or(&json);
            Value::from(shortened(&escape_json(inside), VALUE).into_owned())
        };
        self.operations.push(Value::List(vec![key_json(key), "&".into(), inside(value), inside(&join.into())]));
    }

    fn operation(&mut self, key: &str, how: &str, json: &str) {
        let value = shortened(json, VALUE).into_owned();
        self.operations.push(Value::List(vec![key_json(key), how.into(), value.into()]));
    }
}

/// A key as JSON shows it.
fn key_json(key: &str) -> Value {
    escape_json(&Value::from(key).to_string()).into_owned().into()
}
