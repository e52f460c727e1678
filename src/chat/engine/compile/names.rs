//! Names and the scopes that bind them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{Compiler, LOOP, SELF};
use crate::chat::builtins::functions;
use crate::chat::engine::program::{Name, Otherwise, Place, Scope, Slot, Target};
use crate::chat::jinja::syntax::tree::{self, Expr, ExprKind};

/// A function whose body is being compiled.
#[derive(Default)]
pub(super) struct Around<'s> {
    pub(super) scopes: Vec<Names<'s>>,
    pub(super) slots: usize,
    pub(super) loops: usize,
    pub(super) declares: bool,
}

/// The names of a scope.
#[derive(Default)]
pub(super) struct Names<'s> {
    pub(super) bound: HashMap<&'s str, Slot, RandomState>,
    /// The loop that this is the scope of, by its depth inside the function.
    pub(super) level: Option<usize>,
    /// Whether that loop is asked for as a value.
    pub(super) asks_for_loop: bool,
}

/// The names that the statements of a body bind in the scope of the body itself.
pub(super) fn stores<'s>(body: &tree::Body<'s>, names: &mut Vec<&'s str>) {
    for statement in body {
        match &statement.kind {
            tree::StatementKind::Set(target, _) | tree::StatementKind::SetBlock { target, .. } => {
                names.extend(target.names());
            }
            tree::StatementKind::Macro { name, .. } => names.push(name),
            tree::StatementKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| stores(body, names));
                stores(otherwise, names);
            }
            _ => {}
        }
    }
}

/// Whether a name occurs anywhere in a body.
pub(super) fn mentions(body: &tree::Body<'_>, name: &str) -> bool {
    fn within(expression: &Expr<'_>, name: &str) -> bool {
        let mut found = matches!(&expression.kind, ExprKind::Name(known) if *known == name);
        expression.children(&mut |child| found = found || within(child, name));
        found
    }
    body.iter().any(|statement| {
        let mut found = false;
        let mut bodies = Vec::new();
        statement.parts(&mut |expression| found = found || within(expression, name), &mut |body| bodies.push(body));
        found || bodies.into_iter().any(|body| mentions(body, name))
    })
}

impl<'s> Compiler<'s> {
    pub(super) fn here(&mut self) -> Option<&mut Around<'s>> {
        self.around.last_mut()
    }

    /// Opens a scope with variables of these names.
    pub(super) fn enter(&mut self, names: &[&'s str]) -> Scope {
        let Some(around) = self.around.last_mut() else { return 0..0 };
        let start = around.slots;
        let mut scope = Names::default();
        for name in names {
            scope.bound.entry(name).or_insert_with(|| {
                around.slots += 1;
                around.slots - 1
            });
        }
        around.scopes.push(scope);
        start..around.slots
    }

    pub(super) fn leave(&mut self) -> Names<'s> {
        self.here().and_then(|around| around.scopes.pop()).unwrap_or_default()
    }

    /// The variable of a name in the innermost scope that has one.
    pub(super) fn bound(&self, name: &str) -> Option<Slot> {
        self.around.last()?.scopes.iter().rev().find_map(|scope| scope.bound.get(name).copied())
    }

    pub(super) fn name(&mut self, text: &'s str) -> Name {
        let mut places = Vec::new();
        'functions: for (out, around) in self.around.iter_mut().rev().enumerate() {
            for scope in around.scopes.iter_mut().rev() {
                let Some(slot) = scope.bound.get(text).copied() else { continue };
                places.push(Place { out, slot });
                // Inside a loop, `loop` is always set.
                if text == LOOP && scope.level.is_some() {
                    scope.asks_for_loop = true;
                    break 'functions;
                }
            }
        }
        let otherwise = if text == SELF {
            Otherwise::Blocks
        } else {
            let (asked, _) = self.asked.insert_full(text);
            match functions::find(text) {
                Some(function) => Otherwise::Function(asked, function),
                None => Otherwise::Context(asked),
            }
        };
        Name { places: places.into(), otherwise }
    }

    pub(super) fn target(&mut self, target: &tree::Target<'s>) -> Target {
        match target {
            tree::Target::Name(name) => Target::Variable(self.bound(name).unwrap_or_default()),
            tree::Target::Tuple(parts) => Target::Tuple(parts.iter().map(|part| self.target(part)).collect()),
            tree::Target::Field(namespace, name) => Target::Field(self.name(namespace), (*name).into()),
        }
    }
}
