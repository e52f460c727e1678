//! Grammars as JSON: the rules themselves, for engines without a writer.

use std::collections::HashSet;

use super::Grammar;
use super::rules::{Node, Rules};
use backchat_core::json::{Object, Value};

/// The JSON Schema (draft 7) of a grammar as JSON.
pub const SCHEMA: &str = include_str!("json.schema.json");

impl Grammar {
    /// The rules as JSON: `start` and `rules`, of nodes `lit`, `class`, `seq`, `alt`, `repeat` and `rule`.
    pub fn to_json(&self) -> Value {
        let mut writer =
            JsonWriter { rules: &self.rules, out: Object::new(), waiting: Vec::new(), seen: HashSet::new() };
        let start = writer.node(&self.root);
        while let Some((text, at)) = writer.waiting.pop() {
            match text {
                None => writer.rule(at),
                Some(text) => writer.state(text, at),
            }
        }
        Value::from([("start", start), ("rules", Value::Object(writer.out))])
    }
}

struct JsonWriter<'r> {
    rules: &'r Rules,
    out: Object,
    /// Rules by their number, or states of a text.
    waiting: Vec<(Option<usize>, usize)>,
    seen: HashSet<(Option<usize>, usize)>,
}

impl JsonWriter<'_> {
    fn want(&mut self, text: Option<usize>, at: usize) -> Value {
        if self.seen.insert((text, at)) {
            self.waiting.push((text, at));
        }
        Value::from([("rule", self.name(text, at).into())])
    }

    fn name(&self, text: Option<usize>, at: usize) -> String {
        match text {
            None => self.rules.rules.get(at).map_or(String::new(), |rule| rule.name.clone()),
            Some(text) => {
                let name = self.rules.text_name(text);
                if at == 0 { name.to_owned() } else { format!("{name}-{at}") }
            }
        }
    }

    fn node(&mut self, node: &Node) -> Value {
        match node {
            Node::Literal(text) => Value::from([("lit", text.as_str().into())]),
            Node::Sequence(items) => {
                let items = items.iter().map(|item| self.node(item)).collect();
                Value::from([("seq", Value::List(items))])
            }
            Node::Choice(items) => {
                let items = items.iter().map(|item| self.node(item)).collect();
                Value::from([("alt", Value::List(items))])
            }
            Node::Repeat(node, min, max) => {
                let own = self.node(node);
                let repeat = Value::from([("node", own), ("min", (*min).into()), ("max", (*max).into())]);
                Value::from([("repeat", repeat)])
            }
            Node::Rule(number) => self.want(None, *number),
            Node::Text(text, state) => self.want(Some(*text), *state),
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
            let next = self.want(Some(text), edge.to);
            ways.push(Value::from([("seq", Value::List(vec![class, next]))]));
        }
        if state.accepts {
            ways.push(Value::from([("seq", Value::List(Vec::new()))]));
        }
        let name = self.name(Some(text), at);
        self.out.insert(name, Value::from([("alt", Value::List(ways))]));
    }
}
