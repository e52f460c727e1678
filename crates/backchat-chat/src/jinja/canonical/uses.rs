//! The names that a template uses: those that it binds, and those whose spelling may show in what it prints.

use std::collections::HashSet;

use crate::jinja::syntax::tree::{Argument, Body, Expr, ExprKind, Parameters, Statement, StatementKind};

/// The names that a template binds, and those whose spelling may show.
#[derive(Default)]
pub(super) struct Uses<'s> {
    pub bound: HashSet<&'s str>,
    macros: HashSet<&'s str>,
    pub kept: HashSet<&'s str>,
}

impl<'s> Uses<'s> {
    pub fn body(&mut self, body: &Body<'s>) {
        // A macro shows its name unless it is called.
        for statement in body {
            if let StatementKind::Macro { name, .. } = &statement.kind {
                self.macros.insert(name);
            }
        }
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn parameters(&mut self, parameters: &Parameters<'s>) {
        for (name, default) in parameters {
            self.bound.insert(name);
            default.iter().for_each(|default| self.expression(default));
        }
    }

    fn statement(&mut self, statement: &Statement<'s>) {
        match &statement.kind {
            StatementKind::Text(_) | StatementKind::Load(_) | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Output(value) => self.expression(value),
            StatementKind::Set(target, value) => {
                self.bound.extend(target.names());
                self.expression(value);
            }
            StatementKind::SetBlock { target, filter, body } => {
                self.bound.extend(target.names());
                filter.iter().for_each(|filter| self.expression(filter));
                self.body(body);
            }
            StatementKind::If { branches, otherwise } => {
                for (test, body) in branches {
                    self.expression(test);
                    self.body(body);
                }
                self.body(otherwise);
            }
            StatementKind::For { target, over, only, body, otherwise, .. } => {
                self.bound.extend(target.names());
                self.expression(over);
                only.iter().for_each(|only| self.expression(only));
                self.body(body);
                self.body(otherwise);
            }
            StatementKind::Macro { name, parameters, body } => {
                self.bound.insert(name);
                self.parameters(parameters);
                self.body(body);
            }
            StatementKind::CallBlock { parameters, call, body } => {
                self.parameters(parameters);
                self.expression(call);
                self.body(body);
            }
            StatementKind::With { bindings, body } => {
                for (target, value) in bindings {
                    self.bound.extend(target.names());
                    self.expression(value);
                }
                self.body(body);
            }
            StatementKind::FilterBlock { filter: head, body } | StatementKind::AutoEscape { enabled: head, body } => {
                self.expression(head);
                self.body(body);
            }
            StatementKind::Generation(body) | StatementKind::Block { body, .. } => self.body(body),
        }
    }

    fn expression(&mut self, expression: &Expr<'s>) {
        match &expression.kind {
            ExprKind::Name(name) if self.macros.contains(name) => {
                self.kept.insert(name);
            }
            ExprKind::Call(of, arguments) => {
                if !matches!(of.kind, ExprKind::Name(_)) {
                    self.expression(of);
                }
                for argument in arguments {
                    match argument {
                        // Parameters are named by calls, and namespaces by what is looked up in them.
                        Argument::Keyword(name, _) => {
                            self.kept.insert(name);
                        }
                        Argument::KeywordSpread(_) => self.kept.extend(self.bound.iter()),
                        Argument::Positional(_) | Argument::Spread(_) => {}
                    }
                    self.expression(argument.value());
                }
            }
            _ => expression.children(&mut |child| self.expression(child)),
        }
    }
}
