use std::collections::HashMap;

use super::recording::{Closed, Kind, Outcome};
use super::{Moment, Recording};
use crate::json::{Object, Value};

impl Recording {
    /// The message as it stands: what the regions closed so far gave, in the order of the message.
    pub fn message(&self, moment: Moment) -> Object {
        if moment == self.end()
            && let Outcome::Finished { message, .. } = &self.outcome
        {
            return message.clone();
        }
        let mut message = self.template.defaults().clone();
        for close in self.closes.iter().take_while(|close| (close.event as usize) < moment.event) {
            let Some(entry) = self.entries.get(close.event as usize) else { continue };
            if let (Some(field), Ok(value)) = (self.field(entry.field.into()), &close.value) {
                let before = message.get_mut(&field.name);
                match (field.repeats, &field.join, before) {
                    (true, Some(join), Some(Value::String(before))) => {
                        before.push_str(join);
                        before.push_str(value.as_str().unwrap_or(""));
                    }
                    (true, None, Some(Value::List(items))) => items.push(value.clone()),
                    (true, None, _) => {
                        message.insert(field.name.clone(), Value::List(vec![value.clone()]));
                    }
                    _ => {
                        message.insert(field.name.clone(), value.clone());
                    }
                }
            }
        }
        message
    }

    /// The value that a close takes out of the message by giving the field another one; nothing where it was empty.
    pub fn replaced(&self, event: usize) -> Option<&Value> {
        let closed = self.entries.get(event).filter(|entry| entry.kind == Kind::Close)?;
        let field = self.field(closed.field.into()).filter(|field| !field.repeats)?;
        let at = self.closes.partition_point(|close| (close.event as usize) < event);
        let is_same = |close: &&Closed| self.entries.get(close.event as usize).is_some_and(|e| e.field == closed.field);
        let before = self.closes.get(..at)?.iter().rev().filter(is_same).find_map(Closed::value);
        let lost = before.or_else(|| self.template.defaults().get(&field.name))?;
        let now = self.closes.get(at).and_then(Closed::value);
        (lost.is_truthy() && Some(lost) != now).then_some(lost)
    }

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

    /// How many regions have closed: the message is the same between two moments of which this is the same.
    pub fn closed_count(&self, moment: Moment) -> usize {
        self.closes.partition_point(|close| (close.event as usize) < moment.event)
    }

    /// How many regions gave no value.
    pub fn malformed_count(&self) -> usize {
        self.closes.iter().filter(|close| close.value.is_err()).count()
    }

    /// Whether the parse ended with a message that lacks nothing, every region of which gave a value.
    pub fn is_in_order(&self) -> bool {
        let complete = matches!(&self.outcome, Outcome::Finished { missing, .. } if missing.is_empty());
        complete && self.entries.iter().all(|entry| entry.kind != Kind::Malformed)
    }
}

/// Whether a finished message keeps a value that is no default.
fn is_kept(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        value => value.is_truthy(),
    }
}
