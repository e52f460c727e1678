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
