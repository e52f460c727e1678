//! Decides which listed values satisfy the other keywords of their schema.

use super::listed::{Listed, same};
use super::shape::{Constraints, Schema, type_of, types};
use super::{Problem, SchemaReader};
use crate::automaton::Automaton;
use backchat_core::json::{Object, Value};

impl SchemaReader<'_> {
    /// The listed values of a schema that satisfy its other constraints.
    pub(crate) fn fitting<'v>(&mut self, shape: &Constraints, values: &'v [Value]) -> Result<Vec<&'v Value>, Problem> {
        let text = self.quietly(|reader| reader.text_of(shape))?;
        let refused = Listed::new(&shape.not_values);
        let mut fitting = Vec::new();
        for value in values {
            let has_type = shape.types & type_of(value) != 0 && !refused.contains(value);
            if has_type && self.quietly(|reader| reader.fits(shape, text.as_ref(), value))? {
                fitting.push(value);
            }
        }
        Ok(fitting)
    }

    /// Whether a value satisfies the constraints on its type.
    fn fits(&mut self, shape: &Constraints, text: Option<&Automaton>, value: &Value) -> Result<bool, Problem> {
        Ok(match value {
            Value::Number(number) => {
                shape.bounds.hold(number.as_str()) && !(shape.not_whole && type_of(value) & types::WHOLE != 0)
            }
            Value::String(value) => {
                shape.length.holds(value.chars().count()) && text.is_none_or(|text| text.accepts(value))
            }
            Value::List(items) => self.items_fit(shape, items)?,
            Value::Object(entries) => self.members_fit(shape, entries)?,
            Value::Null | Value::Bool(_) => true,
        })
    }

    fn items_fit(&mut self, shape: &Constraints, items: &[Value]) -> Result<bool, Problem> {
        if !shape.item_count.holds(items.len()) {
            return Ok(false);
        }
        for (at, item) in items.iter().enumerate() {
            if shape.unique.is_some() && items.iter().take(at).any(|known| same(known, item)) {
                return Ok(false);
            }
            if let Some(schema) = shape.prefix.get(at).or(shape.items.as_ref())
                && !self.satisfies(schema, item)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn members_fit(&mut self, shape: &Constraints, entries: &Object) -> Result<bool, Problem> {
        if !shape.member_count.holds(entries.len()) || !shape.required.iter().all(|name| entries.contains_key(name)) {
            return Ok(false);
        }
        let patterns = self.key_patterns(shape)?;
        let allowed = self.allowed_names(shape)?;
        for (name, value) in entries {
            let is_allowed = allowed.as_ref().is_none_or(|names| names.accepts(name));
            if !is_allowed || !self.satisfies(&shape.member_named(name, &patterns), value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a value satisfies a schema.
    fn satisfies(&mut self, schema: &Schema, value: &Value) -> Result<bool, Problem> {
        for shape in self.shapes(schema)? {
            let is_listed = shape.values.as_ref().is_none_or(|values| values.iter().any(|known| same(known, value)));
            if is_listed && !self.fitting(&shape, std::slice::from_ref(value))?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
