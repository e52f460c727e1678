//! Arguments written key by key.

use super::SchemaContext;
use super::paired_value::PairedValues;
use crate::automaton::Automaton;
use crate::notes::Effect;
use crate::rules::Node;
use crate::schema::{Cause, Constraints, Member, Problem, Schema, SchemaReader, bare_keys};
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
        let properties = shape.named_members(self.values.written.sorted);
        let cut = &self.pairs.cut;
        let tool = reader.tool.clone();
        let mut members = Vec::new();
        for (key, schema) in &properties {
            let required = shape.required.contains(key);
            let value = self.values.value(reader, schema, Some(key), &format!("{tool}-{key}"))?;
            let gap = self.pairs.gap.chars().find(|c| !c.is_whitespace());
            let is_odd = key.is_empty()
                || key.contains('\n')
                || gap.is_some_and(|gap| key.contains(gap))
                || !self.reading.reads.takes_name(key);
            if is_odd || value.is_never() {
                if required {
                    let message = match value.is_never() {
                        true => "nothing satisfies this required argument".to_owned(),
                        false => format!("this wire format cannot write the name {key:?}"),
                    };
                    let cause = if is_odd { Cause::Wire } else { Cause::Schema };
                    return Err(Problem { cause, ..Problem::at(&format!("/properties/{key}"), &message) });
                }
                continue;
            }
            let close = cut.close.replace(KEY_AGAIN, key);
            let node = Node::sequence([Node::literal(format!("{}{key}", cut.open)), value, Node::literal(close)]);
            members.push(Member { node, required });
        }
        let mut extra = None;
        let others = match &shape.additional {
            Some(schema) => Some(schema.clone()).filter(|schema| !schema.is_false()),
            None if self.reading.open || !shape.names_members => Some(Schema::anything()),
            None => {
                let message = "only the arguments of the schema are allowed: `additionalProperties` is not set";
                reader.note(Effect::Tighter, "", "additionalProperties", message);
                None
            }
        };
        if let Some(schema) = others {
            let declared = properties.iter().map(|(name, _)| name.as_str());
            let keys = bare_keys(&Automaton::one_of(declared).complement(), !self.reading.reads.is_call_list());
            let keys = keys.unwrap_or_else(Automaton::nothing);
            if !self.pairs.key_again {
                let value = self.values.value(reader, &schema, None, &format!("{tool}-other"))?;
                let key = reader.rules.text(&format!("{tool}-other-key"), keys);
                let node = Node::sequence([Node::literal(&*cut.open), key, value, Node::literal(&*cut.close)]);
                extra = Some((node, 0, None));
            }
        }
        Ok(reader.members(&tool, &members, extra, &Node::literal(cut.separator.as_str()), self.reading.order))
    }
}
