//! Arguments written key by key.

use super::SchemaContext;
use super::paired_value::PairedValues;
use crate::automaton::Automaton;
use crate::notes::Effect;
use crate::rules::Node;
use crate::schema::{Cause, Constraints, Member, Problem, SchemaReader, bare_keys};
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
}
