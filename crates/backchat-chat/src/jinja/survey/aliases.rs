//! What the own names of a template stand for: the variables that statements, namespaces, dictionaries, loops and calls of
//! macros give them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use super::{Survey, path};
use crate::jinja::arithmetic::Step;
use crate::jinja::syntax::tree::{Argument, Body, Expr, ExprKind, Literal, Parameters, Target};
use crate::switches::{GIVEN, LISTS};
use backchat_core::text::slice;

/// How many times a template is surveyed at most: each time, what macros are given reaches the macros that they call.
const MOST_SURVEYS: usize = 4;

/// A value that is read from a path, and the arithmetic that is done to it, the first step first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Computed {
    pub path: String,
    pub steps: Vec<Step>,
}

/// Which parameter of a macro an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slot<'s> {
    At(usize),
    Named(&'s str),
}

/// What the calls of macros give to their parameters.
pub(super) type Passed<'s> = HashMap<(&'s str, Slot<'s>), Option<Computed>>;

/// What names stood for before other ones of the same spelling.
type Shadowed = Vec<(String, Option<Option<Computed>>)>;

/// Adds what a name is given. One that is given several things stands for none of them.
fn give<K: Eq + Hash>(known: &mut HashMap<K, Option<Computed>>, name: K, variable: Option<Computed>) {
    match known.entry(name) {
        Entry::Vacant(entry) => drop(entry.insert(variable)),
        Entry::Occupied(mut known) if *known.get() != variable => drop(known.insert(None)),
        Entry::Occupied(_) => {}
    }
}

impl<'s> Survey<'s> {
    pub(crate) fn new(body: &Body<'s>) -> Self {
        let mut survey = Self::with_given(body, Passed::new());
        for _ in 1..MOST_SURVEYS {
            if survey.passed == survey.given {
                break;
            }
            survey = Self::with_given(body, survey.passed);
        }
        survey
    }

    fn with_given(body: &Body<'s>, given: Passed<'s>) -> Self {
        let mut survey = Self { scopes: vec![Default::default()], given, ..Self::default() };
        survey.body(body);
        survey
    }

    /// Remembers what a target is given, if that is a variable.
    pub(super) fn alias(&mut self, target: &Target<'s>, value: &Expr<'s>) {
        match (target, &value.kind) {
            (Target::Name(name), _) => {
                self.alias_name((*name).to_owned(), value);
                self.alias_members(name, value);
            }
            (Target::Field(of, name), _) => self.alias_name(format!("{of}.{name}"), value),
            (Target::Tuple(parts), ExprKind::List(values) | ExprKind::Tuple(values)) => {
                parts.iter().zip(values).for_each(|(part, value)| self.alias(part, value));
            }
            (Target::Tuple(_), _) => {}
        }
    }

    /// Lets the names of a `with` stand for what they are given. It is read before they hide others of their spelling, which are
    /// returned.
    pub(super) fn alias_bindings(&mut self, bindings: &[(Target<'s>, Expr<'s>)], own: &[&str]) -> Shadowed {
        let given: Vec<_> = bindings.iter().map(|(_, value)| self.given_by(value)).collect();
        let shadowed = self.shadow(own);
        for ((target, value), given) in bindings.iter().zip(given) {
            match (target, given) {
                (Target::Name(name), Some(variable)) => {
                    give(&mut self.aliases, (*name).to_owned(), variable);
                    self.alias_members(name, value);
                }
                _ => self.alias(target, value),
            }
        }
        shadowed
    }

    fn alias_name(&mut self, name: String, value: &Expr<'s>) {
        if let Some(variable) = self.given_by(value) {
            give(&mut self.aliases, name, variable);
        }
    }

    /// The variable that a value is computed from: `Some(None)` if it is computed from something else, `None` if it reads nothing.
    fn given_by(&self, value: &Expr<'s>) -> Option<Option<Computed>> {
        let computed = self.computed(value)?;
        Some(Some(computed).filter(|computed| self.is_setting(&computed.path)))
    }

    /// Remembers what the members of a dictionary or a namespace are given.
    fn alias_members(&mut self, name: &str, value: &Expr<'s>) {
        match &value.kind {
            ExprKind::Dict(entries) => {
                for (key, value) in entries {
                    if let ExprKind::Literal(Literal::Str(key)) = &key.kind {
                        self.alias_name(format!("{name}.{key}"), value);
                    }
                }
            }
            ExprKind::Call(made, arguments) if matches!(made.kind, ExprKind::Name("namespace" | "dict")) => {
                for argument in arguments {
                    match argument {
                        Argument::Keyword(key, value) => self.alias_name(format!("{name}.{key}"), value),
                        Argument::Positional(members) => self.alias_members(name, members),
                        Argument::Spread(_) | Argument::KeywordSpread(_) => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Remembers what the target of a loop is given: the items of a variable, or those that the template lists.
    pub(super) fn alias_items(&mut self, target: &Target<'s>, over: &Expr<'s>) {
        match &over.kind {
            ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().for_each(|item| self.alias(target, item)),
            ExprKind::Call(method, _) => {
                if let (ExprKind::Attribute(of, "items"), Target::Tuple(parts)) = (&method.kind, target)
                    && let (ExprKind::Dict(entries), Some(part)) = (&of.kind, parts.get(1))
                {
                    entries.iter().for_each(|(_, value)| self.alias(part, value));
                }
            }
            _ => {}
        }
        if let (Target::Name(name), Some(of)) = (target, self.path(over).filter(|of| self.is_setting(of))) {
            let items = Computed { path: format!("{of}[]"), steps: Vec::new() };
            self.aliases.insert((*name).to_owned(), Some(items));
        }
    }

    /// Remembers what a call gives to the parameters of a macro.
    pub(super) fn pass(&mut self, name: &'s str, arguments: &[Argument<'s>]) {
        for (at, argument) in arguments.iter().enumerate() {
            let slot = match argument {
                Argument::Positional(_) => Slot::At(at),
                Argument::Keyword(name, _) => Slot::Named(name),
                Argument::Spread(_) | Argument::KeywordSpread(_) => continue,
            };
            if let Some(variable) = self.given_by(argument.value()) {
                give(&mut self.passed, (name, slot), variable);
            }
        }
    }

    /// Lets parameters of a macro stand for what its calls give them, or else for their defaults.
    pub(super) fn alias_parameters(&mut self, of: &'s str, parameters: &Parameters<'s>) {
        for (at, (name, default)) in parameters.iter().enumerate() {
            let slots = [Slot::At(at), Slot::Named(name)];
            let given: Vec<_> = slots.iter().filter_map(|slot| self.given.get(&(of, *slot)).cloned()).collect();
            match default {
                Some(default) if given.is_empty() => self.alias_name((*name).to_owned(), default),
                _ => given.into_iter().for_each(|variable| give(&mut self.aliases, (*name).to_owned(), variable)),
            }
        }
    }

    /// Forgets what these names stand for, which other ones have from here on.
    pub(super) fn shadow(&mut self, names: &[&str]) -> Shadowed {
        names.iter().map(|name| ((*name).to_owned(), self.aliases.remove(*name))).collect()
    }

    pub(super) fn restore(&mut self, shadowed: Shadowed) {
        for (name, known) in shadowed {
            match known {
                Some(known) => drop(self.aliases.insert(name, known)),
                None => drop(self.aliases.remove(&name)),
            }
        }
    }

    /// Whether a path begins with a variable of the context beside the conversation, or with one in whose place the template has
    /// set a default.
    pub(super) fn is_setting(&self, path: &str) -> bool {
        let root = path.split(['.', '[']).next().unwrap_or_default();
        let is_own = || self.aliases.get(root).is_some_and(|of| of.as_ref().is_some_and(|of| of.path == root));
        let is_data = GIVEN.contains(&root) && !LISTS.contains(&root);
        !path.contains('[') && !is_data && (self.is_variable(root) || is_own())
    }

    /// The path of a value from a variable, or else from a name of the template. What is computed from one has none.
    pub(super) fn path(&self, expression: &Expr<'s>) -> Option<String> {
        let path = path(expression)?;
        let ends = path.match_indices(['.', '[']).map(|(end, _)| end).chain([path.len()]);
        let Some((of, end)) = ends.filter_map(|end| Some((self.alias_of(slice(&path, ..end))?, end))).next() else {
            return Some(path);
        };
        of.steps.is_empty().then(|| format!("{}{}", of.path, slice(&path, end..)))
    }

    fn alias_of(&self, name: &str) -> Option<&Computed> {
        self.aliases.get(name)?.as_ref()
    }

    /// The path of what a value is computed from, and how.
    pub(super) fn computed(&self, expression: &Expr<'s>) -> Option<Computed> {
        if let ExprKind::Condition { then, otherwise, .. } = &expression.kind {
            return self.computed(then).or_else(|| self.computed(otherwise.as_ref()?));
        }
        if let Some((step, of)) = Step::last(expression) {
            let mut computed = self.computed(of)?;
            computed.steps.extend(step);
            return Some(computed);
        }
        let known = path(expression).and_then(|path| self.alias_of(&path));
        known.cloned().or_else(|| Some(Computed { path: self.path(expression)?, steps: Vec::new() }))
    }
}
