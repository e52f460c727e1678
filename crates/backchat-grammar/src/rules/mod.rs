//! Grammars before they are written: rules over literals, regular text, sequences and alternatives.

mod excluded;
mod factored;
mod finite;
mod machine;
mod spelling;

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet, HashTable};
use indexmap::IndexSet;

use crate::automaton::Automaton;
use backchat_core::json::Value;

pub(crate) use excluded::{Excluded, Forbidden, openings, without};
pub(crate) use factored::factored;
pub(crate) use machine::Machine;
pub(crate) use spelling::{SharedTexts, Spelling, Strings, within_json};

/// The least number of blanks allowed in one place.
const MOST_BLANKS: u32 = 8;

/// One part of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Literal(String),
    Sequence(Vec<Node>),
    /// One of these; an empty list matches nothing, not even the empty text.
    Choice(Vec<Node>),
    /// A repetition with its minimum and maximum.
    Repeat(Box<Node>, u32, Option<u32>),
    Rule(usize),
    /// Regular text, from one of its states on.
    Text(usize, usize),
}

/// A rule and its name.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub name: String,
    pub node: Node,
}

/// Regular text that rules refer to.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub name: String,
    pub automaton: Automaton,
}

/// The rules of one grammar.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub rules: Vec<Rule>,
    pub texts: Vec<Text>,
    /// How often each name was requested.
    names: HashMap<String, usize, foldhash::fast::RandomState>,
    /// The places of texts, each with the hash of its automaton.
    known: HashTable<(u64, usize)>,
    /// The strings of any text so far, by their quotes, whether they are inside a JSON string, and what they exclude.
    pub free_strings: Vec<(Strings, bool, Automaton, Node)>,
    /// How much white space is allowed between two tokens, if renders indent more than usual.
    pub most_blanks: u32,
    /// Texts that are free except for literal markers.
    pub excluded: Arc<Vec<Excluded>>,
    /// The texts of quoted strings, shared by the grammars of a model.
    pub shared_texts: Arc<SharedTexts>,
    /// The rules with an equivalent format of xgrammar.
    pub native: HashMap<usize, Value, foldhash::fast::RandomState>,
    /// White space between two tokens, outside of a JSON string and inside.
    pub spaces: [Option<Node>; 2],
}

impl Node {
    pub fn empty() -> Self {
        Self::Sequence(Vec::new())
    }

    pub fn never() -> Self {
        Self::Choice(Vec::new())
    }

    pub fn literal(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    /// A flat sequence, with adjacent literals joined.
    pub fn sequence(items: impl IntoIterator<Item = Node>) -> Self {
        let mut all: Vec<Node> = Vec::new();
        let mut add = |item: Node| match (all.last_mut(), item) {
            (_, Node::Literal(text)) if text.is_empty() => {}
            (Some(Node::Literal(known)), Node::Literal(text)) => known.push_str(&text),
            (_, item) => all.push(item),
        };
        for item in items {
            match item {
                Node::Sequence(items) => items.into_iter().for_each(&mut add),
                item => add(item),
            }
        }
        if all.iter().any(Node::is_never) {
            return Self::never();
        }
        match all.len() {
            1 => all.pop().unwrap_or_else(Self::empty),
            _ => Self::Sequence(all),
        }
    }

    /// Flat alternatives, each once.
    pub fn choice(items: impl IntoIterator<Item = Node>) -> Self {
        let mut all: IndexSet<Node, foldhash::fast::RandomState> = IndexSet::default();
        for item in items {
            match item {
                Node::Choice(items) => all.extend(items),
                item => drop(all.insert(item)),
            }
        }
        match all.len() {
            1 => all.pop().unwrap_or_else(Self::never),
            _ => Self::Choice(all.into_iter().collect()),
        }
    }

    pub fn optional(self) -> Self {
        if self == Self::empty() || self == Self::literal("") || self.is_never() {
            Self::empty()
        } else {
            Self::Repeat(Box::new(self), 0, Some(1))
        }
    }

    pub fn repeat(self, min: u32, max: Option<u32>) -> Self {
        match (min, max) {
            (_, Some(0)) => Self::empty(),
            (1, Some(1)) => self,
            (0, _) if self.is_never() => Self::empty(),
            _ if self.is_never() => Self::never(),
            _ => Self::Repeat(Box::new(self), min, max),
        }
    }

    pub fn is_never(&self) -> bool {
        matches!(self, Self::Choice(items) if items.is_empty())
    }
}

impl Rules {
    /// An unused name of letters, digits and dashes.
    pub fn name(&mut self, wanted: &str) -> String {
        let mut name = String::new();
        for c in wanted.chars() {
            if c.is_ascii_alphanumeric() {
                name.push(c.to_ascii_lowercase());
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
            if name.len() > 40 {
                break;
            }
        }
        let mut name = name.trim_end_matches('-').to_owned();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, "r-");
        }
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        let mut number = *count;
        if number == 1 {
            return name;
        }
        // The number comes after truncation, so that long names with a common beginning differ.
        loop {
            let numbered = format!("{name}-n{number}");
            if !self.names.contains_key(&numbered) {
                self.names.insert(numbered.clone(), 1);
                self.names.insert(name, number);
                return numbered;
            }
            number += 1;
        }
    }

    /// Adds a rule under this name, or a similar one if it is taken.
    pub fn add(&mut self, name: &str, node: Node) -> Node {
        if let Node::Rule(_) | Node::Text(..) = node {
            return node;
        }
        let number = self.reserve(name);
        self.set(number, node);
        Node::Rule(number)
    }

    /// The same with an equivalent format of xgrammar.
    pub fn add_native(&mut self, name: &str, node: Node, native: Option<Value>) -> Node {
        let Some(native) = native else { return node };
        let node = match node {
            Node::Text(..) => node,
            node => self.add(name, node),
        };
        if let Node::Rule(number) = &node {
            self.native.insert(*number, native);
        }
        node
    }

    /// The literals that a text must not contain, if they exclude exactly what it excludes.
    pub fn excludes(&self, free_texts: &Automaton) -> Option<&[String]> {
        self.excluded(free_texts).filter(|known| !known.in_json_only).map(|known| known.texts.as_slice())
    }

    /// The same for the text of JSON strings.
    pub fn excludes_in_json(&self, free_texts: &Automaton) -> Option<&[String]> {
        self.excluded(free_texts).map(|known| known.texts.as_slice())
    }

    fn excluded(&self, free_texts: &Automaton) -> Option<&Excluded> {
        self.excluded.iter().find(|known| known.free_texts == *free_texts)
    }

    /// How much white space is allowed between two tokens.
    pub fn blanks(&self) -> u32 {
        MOST_BLANKS.max(self.most_blanks)
    }

    /// A rule that is filled in later, so that others can refer to it.
    pub fn reserve(&mut self, name: &str) -> usize {
        let name = self.name(name);
        self.rules.push(Rule { name, node: Node::never() });
        self.rules.len() - 1
    }

    /// A rule that refers to itself until it is filled in: the recognizer stops before it.
    pub fn open(&mut self, name: &str) -> usize {
        let number = self.reserve(name);
        self.set(number, Node::Rule(number));
        number
    }

    pub fn set(&mut self, number: usize, node: Node) {
        if let Some(rule) = self.rules.get_mut(number) {
            rule.node = node;
        }
    }

    /// Adds regular text, unless it is known.
    pub fn text(&mut self, name: &str, automaton: Automaton) -> Node {
        if automaton.is_empty() {
            return Node::never();
        }
        let hash = foldhash::fast::FixedState::default().hash_one(&automaton);
        let is_same =
            |(_, place): &(u64, usize)| self.texts.get(*place).is_some_and(|text| text.automaton == automaton);
        if let Some((_, known)) = self.known.find(hash, is_same) {
            return Node::Text(*known, 0);
        }
        if let Some(literal) = only_text(&automaton) {
            return Node::Literal(literal);
        }
        let name = self.name(name);
        self.known.insert_unique(hash, (hash, self.texts.len()), |(hash, _)| *hash);
        self.texts.push(Text { name, automaton });
        Node::Text(self.texts.len() - 1, 0)
    }

    /// Whether any literal of these rules satisfies a predicate.
    pub fn any_literal(&self, roots: &[&Node], is_one: &dyn Fn(&str) -> bool) -> bool {
        fn any(node: &Node, is_one: &dyn Fn(&str) -> bool) -> bool {
            match node {
                Node::Literal(literal) => is_one(literal),
                Node::Sequence(items) | Node::Choice(items) => items.iter().any(|item| any(item, is_one)),
                Node::Repeat(node, ..) => any(node, is_one),
                Node::Rule(_) | Node::Text(..) => false,
            }
        }
        roots.iter().copied().chain(self.rules.iter().map(|rule| &rule.node)).any(|node| any(node, is_one))
    }

    /// The name of a rule that a node of these rules refers to.
    pub fn rule_name(&self, number: usize) -> &str {
        debug_assert!(number < self.rules.len(), "a node refers to rule {number} of {}", self.rules.len());
        self.rules.get(number).map_or("rule", |rule| &rule.name)
    }

    /// The regular text that a node of these rules refers to.
    pub fn automaton(&self, number: usize) -> Option<&Automaton> {
        self.texts.get(number).map(|text| &text.automaton)
    }

    /// The name of a regular text that a node of these rules refers to.
    pub fn text_name(&self, number: usize) -> &str {
        debug_assert!(number < self.texts.len(), "a node refers to text {number} of {}", self.texts.len());
        self.texts.get(number).map_or("text", |text| &text.name)
    }

    pub fn node(&self, number: usize) -> Option<&Node> {
        self.rules.get(number).map(|rule| &rule.node)
    }
}

/// The queue of nodes that still need a rule in a written grammar, each once.
#[derive(Default)]
pub(crate) struct NodeQueue {
    nodes: Vec<Node>,
    seen: HashSet<Node, foldhash::fast::RandomState>,
}

impl NodeQueue {
    pub fn push(&mut self, node: &Node) {
        if self.seen.insert(node.clone()) {
            self.nodes.push(node.clone());
        }
    }

    pub fn next(&mut self) -> Option<Node> {
        self.nodes.pop()
    }
}

/// The only text that an automaton accepts.
fn only_text(automaton: &Automaton) -> Option<String> {
    let mut text = String::new();
    let mut at = 0;
    loop {
        let state = automaton.state(at)?;
        match (state.accepts, state.edges) {
            (true, []) => return Some(text),
            (false, [edge]) if edge.low == edge.high && text.len() < 4000 => {
                text.push(char::from_u32(edge.low)?);
                at = edge.to;
            }
            _ => return None,
        }
    }
}
