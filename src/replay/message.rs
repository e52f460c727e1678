use super::recording::{Kind, Outcome};
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
