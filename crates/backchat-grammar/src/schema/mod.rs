//! Compiles a JSON Schema to the rules of the values it allows.

mod fitting;
mod keywords;
mod listed;
mod members;
mod names;
mod shape;
mod texts;
mod write;

use std::collections::HashMap;

use crate::automaton::Automaton;
use crate::custom::Input;
use crate::notes::{Effect, Note};
use crate::rules::{Node, Rules};
use crate::value::{Style, native};
use backchat_core::json::Value;
use backchat_core::push_new;

pub(crate) use members::{Member, Order};
pub(crate) use shape::{Constraints, Schema, escaped, types};
pub(crate) use write::bare_keys;

/// Why a schema cannot be turned into rules.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// The JSON pointer of the place.
    pub path: String,
    pub message: String,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The schema is invalid, or no value satisfies it.
    Schema,
    /// The wire format cannot write such a value, whatever the schema says.
    Wire,
    /// Values satisfy the schema, but a grammar of them would be too large. Without the tool, the grammar would forbid
    /// calls that the schema allows.
    Limit,
}

impl Problem {
    pub fn at(path: &str, message: &str) -> Self {
        Self { path: path.to_owned(), message: message.to_owned(), cause: Cause::Schema }
    }

    pub fn of_wire(path: &str, message: &str) -> Self {
        Self { cause: Cause::Wire, ..Self::at(path, message) }
    }

    pub fn too_large(path: &str, message: &str) -> Self {
        Self { cause: Cause::Limit, ..Self::at(path, message) }
    }
}

/// Compiles the schemas of one tool into rules.
pub(crate) struct SchemaReader<'r> {
    pub rules: &'r mut Rules,
    /// The root document of references.
    pub document: &'r Value,
    /// The name of the tool, which the names of its rules begin with.
    pub tool: String,
    /// The texts that contain no marker.
    pub free_texts: &'r Automaton,
    /// Whether absent `additionalProperties` allow any member.
    pub open: bool,
    /// The input, if the tool is a custom one.
    pub input: Option<&'r Input>,
    /// Whether whole numbers must be such that a double holds them exactly.
    pub exact_integers: bool,
    /// Whether the parser may take objects in a list for calls.
    pub splits_lists: bool,
    pub notes: Vec<Note>,
    /// The rules of schemas already written or being written, by their places and style.
    known: HashMap<(String, Style), RuleState>,
    depth: usize,
    /// How many values were written, which bounds schemas that multiply.
    written: usize,
    is_quiet: bool,
    /// Whether a value refers to a rule that contains it.
    is_recursive: bool,
}

#[derive(Clone, Debug)]
enum RuleState {
    /// It is being written, as this rule once something refers to it.
    Open(Option<usize>),
    Done(Node),
}

/// How deep values may nest without recursion, and how many one tool may have. A level takes up to 8 KB of stack in an
/// unoptimized build, and a thread has 2 MB.
const MOST_DEPTH: usize = 200;
const MOST_VALUES: usize = 100_000;

/// Into how many cases one value may branch.
const MOST_BRANCHES: usize = 256;

impl<'r> SchemaReader<'r> {
    pub fn new(rules: &'r mut Rules, document: &'r Value, tool: &str, free_texts: &'r Automaton, open: bool) -> Self {
        Self {
            rules,
            document,
            tool: tool.to_owned(),
            free_texts,
            open,
            input: None,
            exact_integers: false,
            splits_lists: false,
            notes: Vec::new(),
            known: HashMap::new(),
            depth: 0,
            written: 0,
            is_quiet: false,
            is_recursive: false,
        }
    }

    /// Adds a note about a place of the schema, once.
    pub(crate) fn note(&mut self, effect: Effect, path: &str, keyword: &str, message: &str) {
        if self.is_quiet {
            return;
        }
        let note = Note {
            effect,
            tool: Some(self.tool.clone()),
            path: Some(path.to_owned()),
            keyword: Some(keyword.to_owned()),
            message: message.to_owned(),
        };
        push_new(&mut self.notes, note);
    }

    fn quietly<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let was = std::mem::replace(&mut self.is_quiet, true);
        let result = act(self);
        self.is_quiet = was;
        result
    }

    /// The shapes that a value can have, one for each branch.
    pub fn shapes(&mut self, schema: &Schema) -> Result<Vec<Constraints>, Problem> {
        let shape = self.merged(schema)?;
        let mut found = Vec::new();
        self.branches(shape, &mut found)?;
        Ok(found)
    }

    fn branches(&mut self, mut shape: Constraints, found: &mut Vec<Constraints>) -> Result<(), Problem> {
        if found.len() > MOST_BRANCHES || shape.branched > MOST_BRANCHES {
            let message = format!("this schema branches into more than {MOST_BRANCHES} cases");
            return Err(Problem::too_large(&shape.path, &message));
        }
        if shape.choices.is_empty() {
            found.push(shape);
            return Ok(());
        }
        let first = shape.choices.remove(0);
        for branch in first {
            let mut own = shape.clone();
            own.branched += 1;
            for (value, path) in &branch.all {
                self.apply(&mut own, value, path)?;
            }
            self.branches(own, found)?;
        }
        Ok(())
    }

    /// The rule or node of a value.
    pub fn value(&mut self, schema: &Schema, style: &Style, name: &str) -> Result<Node, Problem> {
        let schema = self.followed(schema)?;
        // The prefix distinguishes the root, whose path is empty, from no schema.
        let places: Vec<String> = schema.all.iter().map(|(_, path)| format!("&{path}")).collect();
        let key = (places.concat(), style.clone());
        match self.known.get(&key) {
            Some(RuleState::Done(node)) => return Ok(node.clone()),
            Some(RuleState::Open(Some(number))) => return Ok(Node::Rule(*number)),
            Some(RuleState::Open(None)) => {
                self.is_recursive = true;
                let number = self.rules.reserve(name);
                self.known.insert(key, RuleState::Open(Some(number)));
                return Ok(Node::Rule(number));
            }
            None => {}
        }
        self.depth += 1;
        self.written += 1;
        if self.depth > MOST_DEPTH {
            return Err(Problem::too_large(schema.path(), &format!("values nest more than {MOST_DEPTH} deep")));
        }
        if self.written > MOST_VALUES {
            return Err(Problem::too_large(schema.path(), &format!("the schema has more than {MOST_VALUES} values")));
        }
        self.known.insert(key.clone(), RuleState::Open(None));
        let shapes = self.shapes(&schema)?;
        let mut nodes = Vec::new();
        for shape in &shapes {
            nodes.push(self.shape(shape, style, name)?);
        }
        let mut node = Node::choice(nodes);
        self.depth -= 1;
        if let Some(RuleState::Open(Some(number))) = self.known.get(&key) {
            let number = *number;
            self.rules.set(number, node);
            node = Node::Rule(number);
        } else if !matches!(node, Node::Literal(_)) && !node.is_never() {
            node = self.rules.add(name, node);
        }
        if schema.all.is_empty() {
            let native = native::free(false, style, self.rules, self.free_texts);
            node = self.rules.add_native(name, node, native);
        }
        self.known.insert(key, RuleState::Done(node.clone()));
        Ok(node)
    }

    /// The node without values that contain themselves without end.
    pub fn finite(&mut self, node: Node) -> Node {
        if self.is_recursive { self.rules.finite(&node) } else { node }
    }

    /// The target of a schema that is only a reference; any other schema itself.
    fn followed(&mut self, schema: &Schema) -> Result<Schema, Problem> {
        let mut schema = schema.clone();
        for _ in 0..64 {
            let [(Value::Object(entries), path)] = schema.all.as_slice() else { return Ok(schema) };
            let Some(target) = entries.get("$ref").and_then(Value::as_str) else { return Ok(schema) };
            let other = |key: &str| !matches!(key, "$ref" | "description" | "title" | "default" | "examples");
            if entries.keys().any(other) || !target.starts_with('#') {
                return Ok(schema);
            }
            let (value, pointer) = self.resolve(target, &path.clone())?;
            schema = Schema::new(&value, pointer);
        }
        Err(Problem::at(schema.path(), "this reference refers only to itself"))
    }
}
