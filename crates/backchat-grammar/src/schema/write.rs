//! Writes the rules of a value of each type.

use super::listed::same;
use super::members::{MOST_UNORDERED, Member, Order, each_once, in_any_order, in_order, in_order_among};
use super::shape::{Constraints, Count, Schema, escaped, type_of, types};
use super::{Problem, SchemaReader};
use crate::automaton::Automaton;
use crate::automaton::number::{ANY_NUMBER, ANY_WHOLE, EXACT, WHOLE_VALUE, other_than};
use crate::notes::Effect;
use crate::rules::Node;
use crate::value::Style;
use backchat_core::json::Value;
use backchat_parser::pattern::Regular;

/// Of how many listed values a list may hold each once: each set of values already written needs a rule.
const MOST_DISTINCT: usize = 4;

impl SchemaReader<'_> {
    /// A value of one shape.
    pub(crate) fn shape(&mut self, shape: &Constraints, style: &Style, name: &str) -> Result<Node, Problem> {
        if let Some(values) = &shape.values {
            let nodes = self.fitting(shape, values)?.into_iter().map(|value| style.value(value, self.free_texts));
            return Ok(Node::choice(nodes.collect::<Vec<_>>()));
        }
        let mut nodes = Vec::new();
        let has = |bit: u8| shape.types & bit != 0;
        if has(types::STRING) {
            nodes.push(self.string(shape, style, name)?);
        }
        if has(types::WHOLE) || has(types::FRACTION) {
            nodes.push(self.number(shape, style, name)?);
        }
        if has(types::OBJECT) {
            nodes.push(self.object(shape, style, name, Order::Schema)?);
        }
        if has(types::ARRAY) {
            nodes.push(self.array(shape, style, name)?);
        }
        let words = [Value::Bool(true), Value::Bool(false), Value::Null];
        let words = words.iter().filter(|word| has(type_of(word)) && !shape.not_values.contains(word));
        nodes.extend(words.map(|word| style.value(word, self.free_texts)));
        Ok(Node::choice(nodes))
    }

    fn number(&mut self, shape: &Constraints, style: &Style, name: &str) -> Result<Node, Problem> {
        let is_whole = shape.types & types::FRACTION == 0;
        let is_fraction = shape.types & types::WHOLE == 0;
        let too_large = || Problem::too_large(&shape.path, "these bounds need too many states");
        let not: Vec<&str> = shape
            .not_values
            .iter()
            .filter_map(|value| if let Value::Number(number) = value { Some(number.as_str()) } else { None })
            .collect();
        if shape.bounds.is_free() && not.is_empty() && !is_fraction {
            let (name, number) = if is_whole { ("integer", &*ANY_WHOLE) } else { ("number", &*ANY_NUMBER) };
            let number = if self.exact_integers { number.both(&EXACT).ok_or_else(too_large)? } else { number.clone() };
            return Ok(self.rules.text(name, number));
        }
        self.note_numbers(shape, is_whole);
        let (mut up, mut down) = shape.bounds.automata(is_whole).ok_or_else(too_large)?;
        if is_fraction {
            let whole = if shape.not_whole { &WHOLE_VALUE } else { &ANY_WHOLE }.complement();
            up = up.both(&whole).ok_or_else(too_large)?;
            down = down.both(&whole).ok_or_else(too_large)?;
        }
        if self.exact_integers {
            up = up.both(&EXACT).ok_or_else(too_large)?;
            down = down.both(&EXACT).ok_or_else(too_large)?;
        }
        if !not.is_empty() {
            up = up.both(&other_than(&not, false).ok_or_else(too_large)?).ok_or_else(too_large)?;
            down = down.both(&other_than(&not, true).ok_or_else(too_large)?).ok_or_else(too_large)?;
        }
        let up = self.rules.text(name, up);
        let down = self.rules.text(&format!("{name}-below"), down);
        Ok(Node::choice([up, Node::sequence([style.literal("-"), down])]))
    }

    /// Notes what the constraints of numbers leave out.
    fn note_numbers(&mut self, shape: &Constraints, is_whole: bool) {
        let bounds = &shape.bounds;
        if is_whole {
            return;
        }
        if bounds.multiple.is_some() {
            let message = "multiples are enforced for whole numbers only";
            self.note(Effect::Looser, &shape.path, "multipleOf", message);
        }
        let keyword = match (&bounds.least, &bounds.most) {
            (Some(_), _) => "minimum",
            (None, Some(_)) => "maximum",
            _ if shape.not_whole || shape.not_values.iter().any(|value| matches!(value, Value::Number(_))) => "not",
            _ => return,
        };
        let message = "constrained numbers are written without an exponent";
        self.note(Effect::Tighter, &shape.path, keyword, message);
    }

    fn array(&mut self, shape: &Constraints, style: &Style, name: &str) -> Result<Node, Problem> {
        if shape.item_count.is_never() {
            return Ok(Node::never());
        }
        self.note_refused(shape, types::ARRAY);
        self.note_calls(shape)?;
        let distinct = match &shape.unique {
            Some(path) => self.distinct(shape, path, style, name)?,
            None => None,
        };
        let body = match distinct {
            Some(items) => items,
            None => self.items(shape, style, name)?,
        };
        let blank = style.blank(self.rules);
        Ok(Node::sequence([style.literal("["), blank.clone(), body, blank, style.literal("]")]))
    }

    /// The items of an array, which may be equal.
    fn items(&mut self, shape: &Constraints, style: &Style, name: &str) -> Result<Node, Problem> {
        let Count { min, max } = shape.item_count;
        let mut members = Vec::new();
        let mut ended = false;
        for (at, schema) in shape.prefix.iter().enumerate() {
            let at = at as u64;
            if max == Some(at) {
                break;
            }
            let node = self.value(schema, style, &format!("{name}-{at}"))?;
            if node.is_never() {
                if at < min {
                    return Ok(Node::never());
                }
                ended = true;
                break;
            }
            members.push((node, at < min));
        }
        let count = members.len() as u64;
        let mut extra = None;
        if !ended && max != Some(count) {
            let schema = shape.items.clone().unwrap_or_else(Schema::anything);
            let item = self.value(&schema, style, &format!("{name}-item"))?;
            if !item.is_never() {
                let (least, most) = shape.item_count.after(count);
                extra = Some((item, least, most));
            }
        }
        if extra.is_none() && min > count {
            return Ok(Node::never());
        }
        let comma = style.comma(self.rules);
        // Items are positional: only trailing ones may be left out.
        let mut body = match extra {
            Some((node, least, most)) if members.is_empty() => {
                in_order(self.rules, name, &[], Some((node, least, most)), &comma)
            }
            Some((node, least, most)) => Node::sequence([comma.clone(), node]).repeat(least, most),
            None => Node::empty(),
        };
        for (at, (node, required)) in members.into_iter().enumerate().rev() {
            let item = if at > 0 { Node::sequence([comma.clone(), node, body]) } else { Node::sequence([node, body]) };
            body = if required { item } else { item.optional() };
        }
        Ok(body)
    }

    /// The lists of different items; `None`, with a note if several are allowed, if their values are not a few listed ones.
    fn distinct(
        &mut self,
        shape: &Constraints,
        path: &str,
        style: &Style,
        name: &str,
    ) -> Result<Option<Node>, Problem> {
        let Some(values) = self.few_values(shape)? else {
            if shape.item_count.max.is_none_or(|max| max > 1) {
                self.note(Effect::Looser, path, "uniqueItems", "items may repeat: a grammar cannot track them");
            }
            return Ok(None);
        };
        let nodes = values.iter().map(|value| style.value(value, self.free_texts));
        let nodes: Vec<Node> = nodes.filter(|node| !node.is_never()).collect();
        let comma = style.comma(self.rules);
        Ok(Some(each_once(self.rules, name, &nodes, &comma, shape.item_count)))
    }

    /// The values that an item may have, if they are few and listed.
    fn few_values(&mut self, shape: &Constraints) -> Result<Option<Vec<Value>>, Problem> {
        let Some(items) = shape.items.as_ref().filter(|_| shape.prefix.is_empty()) else { return Ok(None) };
        let mut values: Vec<Value> = Vec::new();
        for branch in self.shapes(items)? {
            let Some(listed) = &branch.values else { return Ok(None) };
            for value in self.fitting(&branch, listed)? {
                if !values.iter().any(|known| same(known, value)) {
                    values.push(value.clone());
                }
            }
            if values.len() > MOST_DISTINCT {
                return Ok(None);
            }
        }
        Ok(Some(values))
    }

    /// Notes a list of objects in which the parser may find the next call: one after another, whose first member is an
    /// object.
    fn note_calls(&mut self, shape: &Constraints) -> Result<(), Problem> {
        if !self.splits_lists || shape.item_count.max.is_some_and(|max| max < 2) {
            return Ok(());
        }
        let rest = shape.items.clone().unwrap_or_else(Schema::anything);
        for item in shape.prefix.iter().skip(1).chain([&rest]) {
            if self.quietly(|reader| reader.holds_objects(item))? {
                let message =
                    "the parser may read an object in this list as the next call if its first member is an object";
                self.note(Effect::Looser, &shape.path, "items", message);
            }
        }
        Ok(())
    }

    /// Whether a value may be an object with an object as a member.
    fn holds_objects(&mut self, schema: &Schema) -> Result<bool, Problem> {
        let is_object = |shape: &Constraints| shape.types & types::OBJECT != 0;
        for shape in self.shapes(schema)?.iter().filter(|shape| is_object(shape)) {
            let named = self.named_members(shape, false)?.into_iter().map(|(_, schema)| schema);
            let others = self.other_members(shape, "members")?.into_iter().map(|other| other.schema);
            for member in named.chain(others) {
                if self.shapes(&member)?.iter().any(is_object) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Notes that refused values of a type are allowed.
    fn note_refused(&mut self, shape: &Constraints, kind: u8) {
        if shape.not_values.iter().any(|value| type_of(value) & kind != 0) {
            self.note(Effect::Looser, &shape.path, "not", "lists and objects that `not` names are allowed");
        }
    }

    /// A member whose key is one of these texts.
    fn member(&mut self, keys: &Automaton, value: Node, style: &Style, name: &str) -> Result<Node, Problem> {
        if value.is_never() || keys.is_empty() {
            return Ok(Node::never());
        }
        let name = if *keys == Automaton::anything() { "any-key" } else { name };
        let key = if style.bare_keys {
            bare_keys(keys, true)
                .and_then(|keys| style.text(self.rules, &format!("{name}-key"), &keys, self.free_texts))
        } else {
            style.string(self.rules, &format!("{name}-key"), keys, self.free_texts)
        };
        let key = key.ok_or_else(|| Problem::too_large("", "the keys of this object need too many states"))?;
        let colon = style.colon(self.rules);
        Ok(Node::sequence([key, colon, value]))
    }

    /// The members that an object may have in addition to the listed ones.
    fn others(&mut self, shape: &Constraints, style: &Style, name: &str) -> Result<Node, Problem> {
        let mut nodes = Vec::new();
        for other in self.other_members(shape, "members")? {
            let name = format!("{name}-{}", other.label);
            let value = self.value(&other.schema, style, &name)?;
            nodes.push(self.member(&other.keys, value, style, &name)?);
        }
        Ok(Node::choice(nodes))
    }

    pub(crate) fn object(
        &mut self,
        shape: &Constraints,
        style: &Style,
        name: &str,
        order: Order,
    ) -> Result<Node, Problem> {
        self.note_refused(shape, types::OBJECT);
        let mut members = Vec::new();
        for (key, schema) in &self.named_members(shape, style.sorted)? {
            let required = shape.required.contains(key);
            let value = self.value(schema, style, &format!("{name}-{key}"))?;
            let written = style.key(key);
            if written.is_never() && !value.is_never() {
                let path = format!("{}/properties/{}", shape.path, escaped(key));
                let message = "this wire format writes keys without quotes and cannot write this one";
                self.note(Effect::Tighter, &path, "properties", message);
            }
            if value.is_never() || written.is_never() {
                if required {
                    return Ok(Node::never());
                }
                continue;
            }
            let colon = style.colon(self.rules);
            members.push(Member { node: Node::sequence([written, colon, value]), required });
        }
        let extra = self.others(shape, style, name)?;
        let mut others = (!extra.is_never()).then_some((extra, 0, None));
        let Count { min, max } = shape.member_count;
        let required = members.iter().filter(|member| member.required).count() as u64;
        if max == Some(0) {
            if required > 0 || min > 0 {
                return Ok(Node::never());
            }
            members.clear();
            others = None;
        } else if members.is_empty() {
            match &mut others {
                Some((_, least, most)) => (*least, *most) = shape.member_count.after(0),
                None if min > 0 => return Ok(Node::never()),
                None => {}
            }
        } else {
            let message = "the number of members is enforced only if all are optional and have one schema";
            if min > required && !(min == 1 && others.is_none()) {
                self.note(Effect::Looser, &shape.path, "minProperties", message);
            }
            if max.is_some_and(|max| others.is_some() || (members.len() as u64) > max) {
                self.note(Effect::Looser, &shape.path, "maxProperties", message);
            }
        }
        let comma = style.comma(self.rules);
        let blank = style.blank(self.rules);
        let mut body = self.members(name, &members, others.clone(), &comma, order.on_wire(style.sorted));
        if min == 1 && required == 0 && others.is_none() && !members.is_empty() {
            body = at_least_one(self, name, &members, &comma);
        }
        Ok(Node::sequence([style.literal("{"), blank.clone(), body, blank, style.literal("}")]))
    }

    /// The lists of these members, in the requested order if possible.
    pub(crate) fn members(
        &mut self,
        name: &str,
        members: &[Member],
        extra: Option<(Node, u32, Option<u32>)>,
        separator: &Node,
        order: Order,
    ) -> Node {
        if order == Order::Any && members.len() > 1 {
            if members.len() <= MOST_UNORDERED {
                let extra = extra.as_ref().map(|(node, ..)| node);
                return in_any_order(self.rules, name, members, extra, separator);
            }
            let message = format!("more than {MOST_UNORDERED} arguments are written only in the order of the schema");
            self.note(Effect::Tighter, "/properties", "properties", &message);
        }
        match &extra {
            Some((node, ..)) if order == Order::Sorted && !members.is_empty() => {
                in_order_among(self.rules, name, members, node, separator)
            }
            _ => in_order(self.rules, name, members, extra, separator),
        }
    }
}

/// The nonempty lists of optional members.
fn at_least_one(reader: &mut SchemaReader<'_>, name: &str, members: &[Member], comma: &Node) -> Node {
    let ways = (0..members.len()).filter_map(|at| {
        let mut own = members.get(at..)?.to_vec();
        own.first_mut()?.required = true;
        Some(in_order(reader.rules, name, &own, None, comma))
    });
    Node::choice(ways.collect::<Vec<_>>())
}

/// The keys that can be written without quotes.
pub(crate) fn bare_keys(keys: &Automaton, with_digit_first: bool) -> Option<Automaton> {
    let letters = [('A', 'Z'), ('_', '_'), ('a', 'z')];
    let first = if with_digit_first { [&[('0', '9')], &letters[..]].concat() } else { letters.to_vec() };
    let rest = Regular::class(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]).repeat(0, None);
    Automaton::from_pattern(&Regular::Concat(vec![Regular::class(&first), rest]))?.both(keys)
}
