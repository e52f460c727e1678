//! Names and the scopes that bind them.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::symbols::Symbols;
use super::{Compiler, LOOP, SELF};
use crate::builtins::functions::FUNCTIONS;
use crate::engine::program::{Name, Otherwise, Scope, Slot, Target, Upvalue};
use crate::jinja::syntax::tree;

/// A function whose body is being compiled.
#[derive(Default)]
pub(super) struct OpenFunction<'s> {
    pub(super) scopes: Vec<Names<'s>>,
    pub(super) slots: usize,
    pub(super) loops: usize,
    pub(super) declares: bool,
    /// Whether it is the template or a block: in Jinja2, names that it does not bind are variables of the context.
    pub(super) is_whole: bool,
}

/// The names of a scope.
#[derive(Default)]
pub(super) struct Names<'s> {
    pub(super) bound: HashMap<&'s str, Slot, RandomState>,
    /// Names that its own statements mention.
    mentioned: HashSet<&'s str, RandomState>,
    /// Names that are undefined before they are bound here, even if the context has such a variable.
    hidden: HashSet<&'s str, RandomState>,
    /// The loop whose scope this is, by its depth inside the function.
    pub(super) level: Option<usize>,
    /// Whether that loop is used as a value.
    pub(super) asks_for_loop: bool,
}

impl<'s> Compiler<'s> {
    pub(super) fn innermost(&mut self) -> Option<&mut OpenFunction<'s>> {
        self.open_functions.last_mut()
    }

    /// Opens a scope with these parameters and the variables that its statements bind.
    pub(super) fn enter(&mut self, parameters: &[&'s str], symbols: Symbols<'s>) -> Scope {
        let Some(around) = self.open_functions.last_mut() else { return 0..0 };
        let start = around.slots;
        around.scopes.push(Names::default());
        self.bind(parameters);
        self.add(symbols);
        start..self.open_functions.last().map_or(start, |around| around.slots)
    }

    /// Declares variables with these names in the innermost scope, unless they exist.
    fn bind(&mut self, names: &[&'s str]) {
        let Some(around) = self.open_functions.last_mut() else { return };
        let Some(scope) = around.scopes.last_mut() else { return };
        for name in names {
            scope.bound.entry(name).or_insert_with(|| {
                around.slots += 1;
                around.slots - 1
            });
        }
    }

    /// Declares what the statements of the innermost scope bind.
    pub(super) fn add(&mut self, symbols: Symbols<'s>) {
        let Symbols { bound, first } = symbols;
        let is_parameter = |name: &str| self.scopes().next().is_some_and(|scope| scope.bound.contains_key(name));
        let hidden = bound.iter().filter(|name| {
            first.get(**name) == Some(&true) && **name != SELF && !is_parameter(name) && !self.is_known_around(name)
        });
        let hidden = hidden.copied().collect();
        self.bind(&bound);
        if let Some(scope) = self.open_functions.last_mut().and_then(|around| around.scopes.last_mut()) {
            scope.hidden = hidden;
            scope.mentioned = first.into_keys().collect();
        }
    }

    /// Makes names of the innermost scope undefined before they are bound.
    pub(super) fn hide(&mut self, names: &[&'s str]) {
        if let Some(scope) = self.open_functions.last_mut().and_then(|around| around.scopes.last_mut()) {
            scope.hidden.extend(names);
        }
    }

    /// The enclosing scopes up to the template or block, innermost first.
    fn scopes(&self) -> impl Iterator<Item = &Names<'s>> {
        let whole = self.open_functions.iter().rposition(|around| around.is_whole).unwrap_or(0);
        self.open_functions.iter().skip(whole).rev().flat_map(|around| around.scopes.iter().rev())
    }

    /// Whether a scope around the innermost one knows a name, so that the name refers to it until it is bound here.
    fn is_known_around(&self, name: &str) -> bool {
        self.scopes().skip(1).any(|scope| scope.bound.contains_key(name) || scope.mentioned.contains(name))
    }

    pub(super) fn leave(&mut self) -> Names<'s> {
        self.innermost().and_then(|around| around.scopes.pop()).unwrap_or_default()
    }

    /// The variable of a name in the innermost scope that has one.
    pub(super) fn bound(&self, name: &str) -> Option<Slot> {
        self.open_functions.last()?.scopes.iter().rev().find_map(|scope| scope.bound.get(name).copied())
    }

    pub(super) fn name(&mut self, text: &'s str) -> Name {
        let mut upvalues = Vec::new();
        let (mut is_outside, mut is_hidden) = (false, false);
        'functions: for (out, around) in self.open_functions.iter_mut().rev().enumerate() {
            for scope in around.scopes.iter_mut().rev() {
                let Some(slot) = scope.bound.get(text).copied() else { continue };
                upvalues.push(Upvalue { out, slot });
                // Inside a loop, `loop` is always set.
                if text == LOOP && scope.level.is_some() {
                    scope.asks_for_loop = true;
                    break 'functions;
                }
                if !is_outside && scope.hidden.contains(text) {
                    is_hidden = true;
                    break 'functions;
                }
            }
            is_outside |= around.is_whole;
        }
        let otherwise = if text == SELF {
            Otherwise::Blocks
        } else if is_hidden {
            Otherwise::Nothing
        } else {
            let (number, _) = self.context_names.insert_full(text);
            match FUNCTIONS.find(text) {
                Some(function) => Otherwise::Function(number, function),
                None => Otherwise::Context(number),
            }
        };
        Name { upvalues: upvalues.into(), otherwise }
    }

    pub(super) fn target(&mut self, target: &tree::Target<'s>) -> Target {
        match target {
            tree::Target::Name(name) => Target::Variable(self.bound(name).unwrap_or_default()),
            tree::Target::Tuple(parts) => Target::Tuple(parts.iter().map(|part| self.target(part)).collect()),
            tree::Target::Field(namespace, name) => Target::Field(self.name(namespace), (*name).into()),
        }
    }
}
