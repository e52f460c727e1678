//! Doubts about a complete answer, reported in addition to the message.

use std::collections::BTreeMap;

use super::outside::{Outside, Piece};
use super::part::part;
use super::plan::Plan;
use crate::pattern::Pattern;
use backchat_core::json::Value;

/// A region that gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// The field.
    pub field: String,
    /// The raw text of the region.
    pub text: String,
    /// Why it gives no value.
    pub reason: String,
}

impl Malformed {
    /// The region as the command writes it.
    pub fn to_value(&self) -> Value {
        Value::from([
            ("field", self.field.as_str().into()),
            ("text", self.text.as_str().into()),
            ("reason", self.reason.as_str().into()),
        ])
    }
}

/// How many regions of the implicit field are searched for closing markers; a text has one or two.
const REGIONS: usize = 16;

/// A marker shorter than this, such as a bracket or a line break, also occurs in ordinary text.
pub(super) const SHORTEST_MARK: usize = 3;

/// How many characters of a text a note quotes.
const QUOTED: usize = 40;

#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    pub malformed: Vec<Malformed>,
    /// Whether the prefix is not empty, and no start anchor is in it.
    pub no_anchor: bool,
    /// How often each field, by its place in the template, lost a value, and the first one.
    lost: BTreeMap<usize, (usize, String)>,
    /// The fields whose closing marker occurred outside a region, and the marker.
    unopened: BTreeMap<usize, String>,
    /// The fields whose closing markers are no longer searched for.
    given_up: Vec<usize>,
    regions: usize,
    /// The text that no field takes.
    outside: Option<Box<Outside>>,
}

impl Signals {
    /// Adds text that no field takes and that begins at a place. `keeps` bytes of it are kept, or as many as decide
    /// whether it is text.
    pub fn add_outside(&mut self, text: &str, start: usize, keeps: usize) {
        self.outside.get_or_insert_default().add(text, start, keeps);
    }

    /// Ends the text that no field takes; true if there was any besides markers.
    pub fn end_outside(&mut self, plan: &Plan, start_anchor: &Pattern) -> bool {
        self.outside.as_mut().is_some_and(|outside| outside.end(plan, start_anchor))
    }

    /// The stretches of text that no field took.
    pub fn take_outside(&mut self) -> Vec<Piece> {
        self.outside.as_mut().map(|outside| std::mem::take(&mut outside.pieces)).unwrap_or_default()
    }

    /// Records that another value of the field replaces this one.
    pub fn note_lost(&mut self, field: usize, value: &Value) {
        let shown = || match value {
            Value::String(text) => quote(text),
            other => quote(&other.to_string()),
        };
        self.lost.entry(field).or_insert_with(|| (0, shown())).0 += 1;
    }

    /// Searches a region of the implicit field for markers that close another field.
    pub fn look_for_marks(&mut self, plan: &Plan, text: &str) {
        if self.regions >= REGIONS {
            return;
        }
        self.regions += 1;
        for delimiter in plan.delimiters.iter().filter(|d| d.closes && plan.implicit != Some(d.field)) {
            let field = delimiter.field;
            if self.unopened.contains_key(&field) || self.given_up.contains(&field) {
                continue;
            }
            match mark(&delimiter.pattern, text) {
                Some(Some(mark)) => {
                    self.unopened.insert(field, mark);
                }
                Some(None) => {}
                None => self.given_up.push(field),
            }
        }
    }

    /// The notes, a sentence for each.
    pub fn notes(&self, plan: &Plan) -> Vec<String> {
        let mut notes = Vec::new();
        if self.no_anchor {
            notes.push(
                "the prefix does not contain the start anchor, so all of it was read as part of the message".into(),
            );
        }
        if let Some(outside) = &self.outside
            && let Some(first) = &outside.first
        {
            let others = outside.count - 1;
            let more = if others == 0 { String::new() } else { format!(" and {others} more") };
            notes.push(format!("text-outside: no field takes the text outside all regions, {}{more}", quote(first)));
        }
        for (field, mark) in &self.unopened {
            notes.push(format!(
                "`{}` is closed by {mark} where it is not open; the marker stayed in the text (does the prefix open it?)",
                plan.name(*field)
            ));
        }
        for (field, (count, first)) in &self.lost {
            let what = if *count == 1 { "an earlier value".to_owned() } else { format!("{count} earlier values") };
            notes.push(format!(
                "`{}` occurred more than once: the last region replaced {what}, {first}",
                plan.name(*field)
            ));
        }
        notes
    }
}

/// The first match of a closing pattern in a text; `None` also if the search exceeded its step limit.
fn mark(pattern: &Pattern, text: &str) -> Option<Option<String>> {
    if pattern.can_be_empty() {
        return Some(None);
    }
    let found = pattern.find_at(text, 0).ok()?;
    let mark = found.map(|found| found.text().trim().to_owned());
    Some(mark.filter(|mark| mark.chars().count() >= SHORTEST_MARK).map(|mark| quote(&mark)))
}

fn quote(text: &str) -> String {
    let end = text.char_indices().nth(QUOTED).map_or(text.len(), |(at, _)| at);
    let shown = Value::from(part(text, 0..end)).to_string();
    if end < text.len() { format!("{shown}…") } else { shown }
}
