//! The message at any moment of a recording, built from the regions closed by then.

use std::collections::HashMap;

use super::recording::{Closed, Kind, Moment, Outcome, Recording};
use backchat_core::json::{Object, Value};

impl Recording {
    /// The message so far: the values of the regions that have closed, in the order of the message.
    pub fn message(&self, moment: Moment) -> Object {
        self.message_in_brief(moment, usize::MAX)
    }

    /// The message so far, with at most `most` elements at either end of a list; a string says how many were left out.
    pub fn message_in_brief(&self, moment: Moment, most: usize) -> Object {
        let closes = self.closes.iter().take(self.closed_count(moment));
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for field in closes.clone().filter(|close| close.value.is_ok()).filter_map(|close| self.field_of(close)) {
            *counts.entry(field).or_default() += 1;
        }
        let mut message = self.template.defaults().clone();
        let mut seen: HashMap<usize, usize> = HashMap::new();
        for close in closes {
            let (Some(index), Ok(value)) = (self.field_of(close), &close.value) else { continue };
            let Some(field) = self.field(index) else { continue };
            let number = seen.entry(index).or_default();
            *number += 1;
            let (number, count) = (*number, counts.get(&index).copied().unwrap_or(0));
            if !field.repeats {
                // Only the last value stays; the first one has the place.
                match message.get_mut(&field.name) {
                    Some(_) if number < count => {}
                    Some(before) => *before = value.read(),
                    None if number < count => drop(message.insert(field.name.clone(), Value::Null)),
                    None => drop(message.insert(field.name.clone(), value.read())),
                }
                continue;
            }
            let is_left_out = field.join.is_none() && number > most && number <= count.saturating_sub(most);
            let value = match is_left_out {
                false => value.read(),
                true if number == most + 1 => format!("… {} more …", count - most * 2).into(),
                true => continue,
            };
            match (&field.join, message.get_mut(&field.name)) {
                (Some(join), Some(Value::String(before))) => {
                    before.push_str(join);
                    before.push_str(joinable(&value));
                }
                (None, Some(Value::List(items))) => items.push(value),
                (None, _) => drop(message.insert(field.name.clone(), Value::List(vec![value]))),
                (Some(_), _) => drop(message.insert(field.name.clone(), value)),
            }
        }
        if moment == self.end() && matches!(self.outcome, Outcome::Finished { .. }) {
            message.retain(|name, value| is_kept(value) || self.template.defaults().contains_key(name));
        }
        message
    }

    /// The value that a close replaces; `None` if it was empty.
    pub fn replaced(&self, event: usize) -> Option<Value> {
        self.replaced_by(self.close_index(event)?)
    }

    /// The same, for a close given by its number.
    pub(super) fn replaced_by(&self, index: usize) -> Option<Value> {
        let close = self.closes.get(index)?;
        let now = close.value()?;
        let own = self.field_of(close)?;
        let field = self.field(own).filter(|field| !field.repeats)?;
        let mut before = self.closes.get(..index)?.iter().rev().filter(|other| self.field_of(other) == Some(own));
        match before.find_map(Closed::value) {
            Some(before) => (before.is_truthy() && before != now).then(|| before.read()),
            None => {
                let default = self.template.defaults().get(&field.name)?;
                (default.is_truthy() && *default != now.read()).then(|| default.clone())
            }
        }
    }

    /// How many regions have closed: the message is the same at two moments with the same number.
    pub fn closed_count(&self, moment: Moment) -> usize {
        self.closes.partition_point(|close| (close.event as usize) < moment.event)
    }

    /// How many regions gave no value.
    pub fn malformed_count(&self) -> usize {
        self.closes.iter().filter(|close| close.value.is_err()).count()
    }

    /// Whether the parse ended with a complete message and no malformed regions.
    pub fn is_in_order(&self) -> bool {
        let complete = matches!(&self.outcome, Outcome::Finished { missing } if missing.is_empty());
        complete && self.entries.iter().all(|entry| entry.kind != Kind::Malformed)
    }
}

/// A value of a field that joins its values. The parser gives such a field text, or no value at all.
pub(super) fn joinable(value: &Value) -> &str {
    let text = value.as_str();
    debug_assert!(text.is_some(), "only text is joined, not {value}");
    text.unwrap_or("")
}

/// Whether a finished message keeps a value that is not a default.
pub(super) fn is_kept(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        value => value.is_truthy(),
    }
}
