//! Which events are wrong, or look it.

use std::collections::HashMap;

use super::Recording;
use super::message::is_kept;
use crate::json::{Object, Value};

impl Recording {
    /// The events that make the message another than it should be: the ends of regions with another value than expected,
    /// or with none.
    pub fn wrong_events(&self, expected: &Object) -> Vec<usize> {
        let mut wrong = Vec::new();
        let mut counts: HashMap<u16, usize> = HashMap::new();
        let mut joined: HashMap<u16, String> = HashMap::new();
        let field_of = |event: u32| self.entries.get(event as usize).map_or(u16::MAX, |entry| entry.field);
        let given = self.closes.iter().filter(|close| close.value.is_ok());
        let last: HashMap<u16, u32> = given.map(|close| (field_of(close.event), close.event)).collect();
        for close in &self.closes {
            let field_index = field_of(close.event);
            let Some(field) = self.field(field_index.into()) else { continue };
            let wanted = expected.get(&field.name);
            let is_right = match &close.value {
                Err(_) => false,
                Ok(value) if field.repeats && field.join.is_none() => {
                    let count = counts.entry(field_index).or_default();
                    *count += 1;
                    let wanted = wanted.and_then(Value::as_list).and_then(|items| items.get(*count - 1));
                    wanted == Some(&value.read())
                }
                // What is glued together so far must be how the whole begins.
                Ok(value) if field.repeats => {
                    let value = value.read();
                    let part = value.as_str().unwrap_or("");
                    let default =
                        || self.template.defaults().get(&field.name).and_then(Value::as_str).map(str::to_owned);
                    let before = joined.remove(&field_index).or_else(default);
                    let so_far = match (before, &field.join) {
                        (Some(before), Some(join)) => before + join + part,
                        _ => part.to_owned(),
                    };
                    let is_right = so_far.is_empty()
                        || wanted.and_then(Value::as_str).is_some_and(|whole| whole.starts_with(&so_far));
                    joined.insert(field_index, so_far);
                    is_right
                }
                // Only the last value stays.
                Ok(_) if last.get(&field_index) != Some(&close.event) => true,
                Ok(value) => {
                    let value = value.read();
                    wanted == Some(&value) || (wanted.is_none() && !is_kept(&value))
                }
            };
            if !is_right {
                wrong.push(close.event as usize);
            }
        }
        wrong
    }

    /// The events that an author should look at where nobody says what the message should be: regions that give no value,
    /// that take the place of a value, or that run to the end of the output because their close never comes.
    pub fn suspicious_events(&self) -> Vec<usize> {
        let events = self.closes.iter().map(|close| close.event as usize);
        events
            .filter(|event| self.is_malformed(*event) || self.replaced(*event).is_some() || self.is_unclosed(*event))
            .collect()
    }

    /// Whether a region ended with the output although its field has a close.
    pub fn is_unclosed(&self, event: usize) -> bool {
        let Some(seen) = self.event(event).filter(|seen| seen.value.is_some()) else { return false };
        let needs_close = self.field(seen.field).is_some_and(|field| field.open.is_some() && field.close.is_some());
        needs_close && seen.span.is_empty() && seen.span.start == self.text.len()
    }
}
