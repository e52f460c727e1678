//! Writes grammars as JSON: the rules themselves, for engines without a writer of their own.

use crate::grammar::Grammar;
use crate::rules::{Node, NodeQueue, Rules};
use backchat_core::json::{Object, Value};

/// The JSON Schema (draft 7) of a grammar as JSON.
pub const SCHEMA: &str = include_str!("json.schema.json");

impl Grammar {
    /// The rules as JSON: `start` and `rules`, of nodes `lit`, `class`, `seq`, `alt`, `repeat` and `rule`.
    pub fn to_json(&self) -> Value {
        let mut writer = JsonWriter { rules: &self.rules, out: Object::new(), waiting: NodeQueue::default() };
        let start = writer.node(&self.root);
        while let Some(next) = writer.waiting.next() {
            match next {
                Node::Rule(number) => writer.rule(number),
                Node::Text(text, state) => writer.state(text, state),
                // Other nodes are written in place.
                _ => {}
            }
        }
        Value::from([("start", start), ("rules", Value::Object(writer.out))])
    }
}

struct JsonWriter<'r> {
    rules: &'r Rules,
    out: Object,
    waiting: NodeQueue,
}

impl JsonWriter<'_> {
    /// The name of a state of regular text.
    fn name(&self, text: usize, state: usize) -> String {
        let name = self.rules.text_name(text);
        if state == 0 { name.to_owned() } else { format!("{name}-{state}") }
    }

    fn node(&mut self, node: &Node) -> Value {
        match node {
            Node::Literal(text) => Value::from([("lit", text.as_str().into())]),
            Node::Sequence(items) | Node::Choice(items) => {
                let kind = if matches!(node, Node::Sequence(_)) { "seq" } else { "alt" };
                Value::from([(kind, Value::List(items.iter().map(|item| self.node(item)).collect()))])
            }
            Node::Repeat(node, min, max) => {
                let own = self.node(node);
                let repeat = Value::from([("node", own), ("min", (*min).into()), ("max", (*max).into())]);
                Value::from([("repeat", repeat)])
            }
            Node::Rule(number) => {
                self.waiting.push(node);
                Value::from([("rule", self.rules.rule_name(*number).into())])
            }
            Node::Text(text, state) => {
                self.waiting.push(node);
                Value::from([("rule", self.name(*text, *state).into())])
            }
        }
    }

    fn rule(&mut self, number: usize) {
        let Some(rule) = self.rules.rules.get(number) else { return };
        let node = self.node(&rule.node);
        self.out.insert(rule.name.clone(), node);
    }

    /// One state of regular text.
    fn state(&mut self, text: usize, at: usize) {
        let Some(state) = self.rules.automaton(text).and_then(|text| text.state(at)) else { return };
        let mut ways = Vec::new();
        for edge in state.edges {
            let range = [edge.low, edge.high].map(|c| Value::from(u64::from(c)));
            let class = Value::from([("class", Value::List(vec![Value::List(range.to_vec())]))]);
            let next = self.node(&Node::Text(text, edge.to));
            ways.push(Value::from([("seq", Value::List(vec![class, next]))]));
        }
        if state.accepts {
            ways.push(Value::from([("seq", Value::List(Vec::new()))]));
        }
        let name = self.name(text, at);
        self.out.insert(name, Value::from([("alt", Value::List(ways))]));
    }
}
