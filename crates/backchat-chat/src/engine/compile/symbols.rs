//! How statements use names, and in which order, as Jinja2 analyzes them before it runs a template.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::jinja::syntax::tree::{self, Expr, ExprKind};

/// How the statements of a scope use names, in order; nested scopes do not count.
#[derive(Default)]
pub(super) struct Symbols<'s> {
    pub(super) bound: Vec<&'s str>,
    /// Every name, and whether its first use binds it on every path.
    pub(super) first: HashMap<&'s str, bool, RandomState>,
}

impl<'s> Symbols<'s> {
    pub(super) fn collect(body: &tree::Body<'s>) -> Self {
        let mut symbols = Self::default();
        symbols.body(body);
        symbols
    }

    pub(super) fn body(&mut self, body: &tree::Body<'s>) {
        self.statements(body, true);
    }

    /// The names that an expression reads.
    pub(super) fn read(&mut self, expression: &Expr<'s>) {
        if let ExprKind::Name(name) = &expression.kind {
            self.first.entry(name).or_insert(false);
        }
        expression.children(&mut |child| self.read(child));
    }

    fn bind(&mut self, name: &'s str, on_every_path: bool) {
        self.bound.push(name);
        self.first.entry(name).or_insert(on_every_path);
    }

    fn target(&mut self, target: &tree::Target<'s>, on_every_path: bool) {
        match target {
            tree::Target::Name(name) => self.bind(name, on_every_path),
            tree::Target::Tuple(parts) => parts.iter().for_each(|part| self.target(part, on_every_path)),
            tree::Target::Field(namespace, _) => {
                self.first.entry(namespace).or_insert(false);
            }
        }
    }

    fn statements(&mut self, body: &tree::Body<'s>, on_every_path: bool) {
        for statement in body {
            match &statement.kind {
                tree::StatementKind::Output(value)
                | tree::StatementKind::For { over: value, .. }
                | tree::StatementKind::CallBlock { call: value, .. }
                | tree::StatementKind::FilterBlock { filter: value, .. } => self.read(value),
                tree::StatementKind::With { bindings, .. } => bindings.iter().for_each(|(_, value)| self.read(value)),
                tree::StatementKind::Set(target, value) => {
                    self.read(value);
                    self.target(target, on_every_path);
                }
                tree::StatementKind::SetBlock { target, .. } => self.target(target, on_every_path),
                tree::StatementKind::Macro { name, .. } => self.bind(name, on_every_path),
                tree::StatementKind::If { branches, otherwise } => {
                    for (test, body) in branches {
                        self.read(test);
                        self.statements(body, false);
                    }
                    self.statements(otherwise, false);
                }
                tree::StatementKind::Text(_)
                | tree::StatementKind::Generation(_)
                | tree::StatementKind::AutoEscape { .. }
                | tree::StatementKind::Block { .. }
                | tree::StatementKind::Load(_)
                | tree::StatementKind::Break
                | tree::StatementKind::Continue => {}
            }
        }
    }
}

/// Whether a body reads a name before it binds it, anywhere except in blocks, in the order in which Jinja2 visits it.
pub(super) fn reads_before_binding(body: &tree::Body<'_>, name: &str) -> bool {
    first_use(body, name) == Some(Use::Read)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Bound,
}

fn first_use(body: &tree::Body<'_>, name: &str) -> Option<Use> {
    let read = |expression: &Expr<'_>| reads(expression, name).then_some(Use::Read);
    let bound = |target: &tree::Target<'_>| target.names().contains(&name).then_some(Use::Bound);
    let parameters = |parameters: &tree::Parameters<'_>| {
        let is_bound = parameters.iter().any(|(parameter, _)| *parameter == name);
        let mut defaults = parameters.iter().filter_map(|(_, default)| default.as_ref());
        is_bound.then_some(Use::Bound).or_else(|| defaults.find_map(read))
    };
    let inside = |body: &tree::Body<'_>| first_use(body, name);
    body.iter().find_map(|statement| match &statement.kind {
        tree::StatementKind::Output(value) => read(value),
        tree::StatementKind::Set(target, value) => bound(target).or_else(|| read(value)),
        tree::StatementKind::SetBlock { target, filter, body } => {
            bound(target).or_else(|| filter.as_ref().and_then(read)).or_else(|| inside(body))
        }
        tree::StatementKind::If { branches, otherwise } => {
            let in_branch = |(test, body): &(Expr<'_>, tree::Body<'_>)| read(test).or_else(|| inside(body));
            branches.iter().find_map(in_branch).or_else(|| inside(otherwise))
        }
        tree::StatementKind::For { target, over, only, body, otherwise, .. } => bound(target)
            .or_else(|| read(over))
            .or_else(|| inside(body))
            .or_else(|| inside(otherwise))
            .or_else(|| only.as_ref().and_then(read)),
        tree::StatementKind::Macro { parameters: own, body, .. } => parameters(own).or_else(|| inside(body)),
        tree::StatementKind::CallBlock { parameters: own, call, body } => {
            read(call).or_else(|| parameters(own)).or_else(|| inside(body))
        }
        tree::StatementKind::Generation(body) => inside(body),
        tree::StatementKind::With { bindings, body } => bindings
            .iter()
            .find_map(|(target, _)| bound(target))
            .or_else(|| bindings.iter().find_map(|(_, value)| read(value)))
            .or_else(|| inside(body)),
        tree::StatementKind::FilterBlock { filter, body } => inside(body).or_else(|| read(filter)),
        tree::StatementKind::AutoEscape { enabled, body } => read(enabled).or_else(|| inside(body)),
        tree::StatementKind::Text(_)
        | tree::StatementKind::Block { .. }
        | tree::StatementKind::Load(_)
        | tree::StatementKind::Break
        | tree::StatementKind::Continue => None,
    })
}

fn reads(expression: &Expr<'_>, name: &str) -> bool {
    let mut found = matches!(&expression.kind, ExprKind::Name(known) if *known == name);
    expression.children(&mut |child| found = found || reads(child, name));
    found
}
