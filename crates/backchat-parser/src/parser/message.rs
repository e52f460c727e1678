//! The message as regions close. A value replaces the one before it, is appended to a list, or is joined to a string.

use std::borrow::Cow;

use super::region::Closer;
use super::trimmed::Trimmed;
use crate::content::coerce::{Tools, cast_calls};
use crate::content::{self, Capture, Mode, Reason};
use crate::template::Field;
use backchat_core::json::{Object, Value};

/// The message as it grows, region by region.
#[derive(Clone, Debug)]
pub(super) struct Message {
    entries: Object,
    /// The text of the field that is trimmed once it is joined.
    joined: Trimmed,
}

/// Why a region has no value.
pub(super) struct NoValue {
    pub reason: String,
    /// Whether a pattern exceeded its step limit, which says nothing about the text.
    pub exhausted: bool,
}

impl NoValue {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), exhausted: false }
    }
}

impl From<Reason> for NoValue {
    fn from(reason: Reason) -> Self {
        Self { exhausted: reason.is_exhausted_pattern(), reason: reason.to_string() }
    }
}

/// The value of a region, its calls cast to the types of the tools.
pub(super) fn value_of(
    field: &Field,
    body: &str,
    captures: &[Capture],
    tools: Option<&Tools>,
    mode: Mode,
) -> Result<Value, Reason> {
    let mut value = content::region_value(field, body, captures, mode)?;
    if let Some(tools) = tools {
        cast_calls(tools, &mut value, mode)?;
    }
    Ok(value)
}

impl Message {
    pub fn new(defaults: &Object) -> Self {
        Self { entries: defaults.clone(), joined: Trimmed::default() }
    }

    pub fn has(&self, field: &Field) -> bool {
        self.entries.contains_key(&field.name)
    }

    /// The value of a field as it is now.
    pub fn value(&self, field: &Field) -> Option<&Value> {
        self.entries.get(&field.name)
    }

    /// Adds the value of a region and returns it; on failure the message is unchanged.
    pub fn insert(&mut self, field: &Field, value: Value, closer: &Closer) -> Result<Cow<'_, Value>, NoValue> {
        match (&field.join, field.repeats) {
            (Some(join), true) => {
                let value = if field.strips_joined { self.trimmed(value, closer) } else { value };
                self.join(&field.name, join, &value).map(|()| Cow::Owned(value))
            }
            (_, true) => self.append(&field.name, value).map(Cow::Borrowed),
            (_, false) => Ok(Cow::Borrowed(self.entries.entry(&field.name).insert(value))),
        }
    }

    /// The part of a region's text that belongs to the joined text, as far as that is certain.
    fn trimmed(&mut self, value: Value, closer: &Closer) -> Value {
        let Value::String(text) = &value else { return value };
        let (before, kept) = self.joined.add(text);
        let after = if closer.continues { self.joined.take_held() } else { String::new() };
        if closer.span.start < closer.span.end {
            // What follows is a text of its own.
            self.joined = Trimmed::default();
        }
        (before + kept + &after).into()
    }

    fn join(&mut self, name: &str, join: &str, value: &Value) -> Result<(), NoValue> {
        let Value::String(text) = value else {
            return Err(NoValue::new("`join` needs every region to parse to a string, and this one does not"));
        };
        match self.entries.get_mut(name) {
            None | Some(Value::Null) => {
                self.entries.insert(name, value.clone());
            }
            Some(Value::String(before)) => {
                before.push_str(join);
                before.push_str(text);
            }
            Some(_) => return Err(NoValue::new("`join` needs a string, and the field's default is not one")),
        }
        Ok(())
    }

    fn append(&mut self, name: &str, value: Value) -> Result<&Value, NoValue> {
        let no_list = || NoValue::new("the field repeats, and its default is not a list to append to");
        match self.entries.entry(name).or_insert_with(|| Value::List(Vec::new())) {
            Value::List(items) => {
                items.push(value);
                items.last().ok_or_else(no_list)
            }
            _ => Err(no_list()),
        }
    }

    /// The message, without empty values that are not defaults.
    pub fn finish(mut self, defaults: &Object) -> Object {
        self.entries.retain(|name, value| !value.is_empty() || defaults.contains_key(name));
        self.entries
    }
}
