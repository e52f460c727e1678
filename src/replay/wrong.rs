//! Which events are wrong, or look it.

use std::collections::HashMap;

use super::Recording;
use crate::json::{Object, Value};

impl Recording {
    /// The events that make the message another than it should be: the ends of regions with another value than expected,
    /// or with none.
    pub fn wrong_events(&self, expected: &Object) -> Vec<usize> {
        let mut wrong = Vec::new();
        let mut counts: HashMap<u16, usize> = HashMap::new();
        for (at, close) in self.closes.iter().enumerate() {
            let Some(entry) = self.entries.get(close.event as usize) else { continue };
            let Some(field) = self.field(entry.field.into()) else { continue };
            let wanted = expected.get(&field.name);
            let is_right = match &close.value {
                Err(_) => false,
                Ok(value) if field.repeats && field.join.is_none() => {
                    let count = counts.entry(entry.field).or_default();
                    *count += 1;
                    wanted.and_then(Value::as_list).and_then(|items| items.get(*count - 1)) == Some(value)
                }
                Ok(value) if field.repeats => {
                    let part = value.as_str().unwrap_or("");
                    wanted.and_then(Value::as_str).is_some_and(|whole| whole.contains(part))
                }
                Ok(value) => {
                    let later = self.closes.iter().skip(at + 1).filter(|later| later.value.is_ok());
                    let is_replaced = later.into_iter().any(|later| {
                        self.entries.get(later.event as usize).is_some_and(|later| later.field == entry.field)
                    });
                    is_replaced || wanted == Some(value) || (wanted.is_none() && !is_kept(value))
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

/// Whether a finished message keeps a value that is no default.
fn is_kept(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        value => value.is_truthy(),
    }
}
