//! Arguments written key by key.

use super::SchemaContext;
use super::paired_value::PairedValues;
use crate::automaton::Automaton;
use crate::notes::Effect;
use crate::rules::Node;
use crate::schema::{Constraints, Member, Problem, Schema, SchemaReader, bare_keys, escaped};
use backchat_derive::wire::structure::{KEY_AGAIN, Pairs};

/// Writes arguments key by key.
pub(super) struct PairedArguments<'r> {
    pub pairs: &'r Pairs,
    pub values: PairedValues<'r>,
    pub reading: SchemaContext<'r>,
}

impl<'r> PairedArguments<'r> {
    /// The arguments of an object.
    pub fn arguments(&self, reader: &mut SchemaReader<'r>, shape: &Constraints) -> Result<Node, Problem> {
        let is_sorted = self.values.written.sorted;
        let properties = reader.named_members(shape, is_sorted)?;
        if shape.values.is_some() {
            let message = "a list of all arguments is not enforced: they are written one by one";
            reader.note(Effect::Looser, &shape.path, "enum", message);
        }
        let cut = &self.pairs.cut;
        let tool = reader.tool.clone();
        let mut members = Vec::new();
        for (key, schema) in &properties {
            members.extend(self.member(reader, shape, key, schema)?);
        }
        let mut others = Vec::new();
        for other in reader.other_members(shape, "arguments")? {
            // The name of an argument that is written twice is not regular.
            if self.pairs.key_again {
                break;
            }
            let name = format!("{tool}-{}", other.label);
            let keys = bare_keys(&other.keys, !self.reading.reads.is_call_list()).unwrap_or_else(Automaton::nothing);
            let value = self.values.value(reader, &other.schema, None, &name)?;
            let key = reader.rules.text(&format!("{name}-key"), keys);
            others.push(Node::sequence([Node::literal(&*cut.open), key, value, Node::literal(&*cut.close)]));
        }
        let extra = Node::choice(others);
        let extra = (!extra.is_never()).then_some((extra, 0, None));
        let order = self.reading.order.on_wire(is_sorted);
        Ok(reader.members(&tool, &members, extra, &Node::literal(cut.separator.as_str()), order))
    }

    /// An argument of the schema; `None` if it is optional and cannot be written.
    fn member(
        &self,
        reader: &mut SchemaReader<'r>,
        shape: &Constraints,
        key: &str,
        schema: &Schema,
    ) -> Result<Option<Member>, Problem> {
        let required = shape.required.iter().any(|name| name == key);
        let name = format!("{}-{key}", reader.tool);
        let value = self.values.value(reader, schema, Some(key), &name)?;
        let path = format!("{}/properties/{}", shape.path, escaped(key));
        let (unread, is_never) = (self.why_unread(key), value.is_never());
        if required && is_never {
            return Err(Problem::at(&path, "nothing satisfies this required argument"));
        }
        if let Some(message) = &unread {
            if required {
                return Err(Problem::of_wire(&path, message));
            }
            reader.note(Effect::Tighter, &path, "properties", message);
        }
        if unread.is_some() || is_never {
            return Ok(None);
        }
        let cut = &self.pairs.cut;
        let close = cut.close.replace(KEY_AGAIN, key);
        let node = Node::sequence([Node::literal(format!("{}{key}", cut.open)), value, Node::literal(close)]);
        Ok(Some(Member { node, required }))
    }

    /// Why an argument is not read back under its name; `None` if it is. A sample in which even a plain name is lost says
    /// nothing about names.
    fn why_unread(&self, key: &str) -> Option<String> {
        let values = &self.values;
        if !values.free_texts.value.accepts(key) {
            let cause = "a marker of this wire format, or a character that it cannot write";
            return Some(format!("the name {key:?} of an argument has {cause}"));
        }
        let is_read = |key: &str| self.reading.reads.takes_argument(key, &values.alone(key, &values.sample()));
        (!is_read(key) && is_read("a")).then(|| format!("the response template reads no argument named {key:?}"))
    }
}
