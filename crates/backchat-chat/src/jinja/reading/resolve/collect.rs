//! Collects names from the tree: where each is bound and read, and in which scope. Scopes are Jinja2's: loops, macros and
//! all that captures text have one of their own, conditions have none.

use std::ops::Range;

use super::super::Literal;
use super::{BindingKind, Role, Scope};
use crate::jinja::syntax::tree::Literal as Constant;
use crate::jinja::syntax::tree::{
    Argument, BinaryOp, Body, Expr, ExprKind, Parameters, Statement, StatementKind, Target, UnaryOp,
};
use backchat_core::text::{slice, within};

/// Where a name gets its value.
#[derive(Clone, Copy)]
pub(in crate::jinja::reading) enum From<'t, 's> {
    Nothing,
    Value(&'t Expr<'s>),
    /// An item of a value, which is read in the scope around.
    Item(&'t Expr<'s>),
    /// The argument at a place of the calls of its macro.
    Argument(usize),
}

/// A place that binds a name.
pub(in crate::jinja::reading) struct Store<'t, 's> {
    pub(super) name: &'s str,
    pub(super) span: Range<usize>,
    pub(super) scope: usize,
    pub(super) kind: BindingKind,
    pub(super) from: From<'t, 's>,
    /// Whether it runs whenever its scope runs this far.
    pub(super) is_certain: bool,
    /// From which byte on the name is bound.
    pub(super) since: usize,
}

/// A place that reads a name.
pub(in crate::jinja::reading) struct Read<'s> {
    pub(super) name: &'s str,
    pub(super) span: Range<usize>,
    pub(super) scope: usize,
    pub(super) role: Role,
    /// Whether a test of the same name guards it, or it is such a test.
    pub(super) is_guard: bool,
}

/// A key that a value is asked for.
pub(in crate::jinja::reading) struct KeyRead<'t, 's> {
    pub(super) of: &'t Expr<'s>,
    pub(super) span: Range<usize>,
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) scope: usize,
}

/// An attribute of a namespace that is set, by its target or by an argument of `namespace(…)`.
pub(in crate::jinja::reading) struct FieldStore<'s> {
    /// The name of the namespace.
    pub(super) of: &'s str,
    pub(super) name: &'s str,
    pub(super) span: Range<usize>,
    pub(super) scope: usize,
}

/// A call of a name with its arguments.
pub(in crate::jinja::reading) struct Called<'t, 's> {
    pub(super) name: &'s str,
    pub(super) arguments: &'t [Argument<'s>],
    pub(super) scope: usize,
}

pub(in crate::jinja::reading) struct Collector<'t, 's> {
    pub(super) source: &'s str,
    pub(super) scopes: Vec<Scope>,
    pub(super) stores: Vec<Store<'t, 's>>,
    pub(super) reads: Vec<Read<'s>>,
    pub(super) keys: Vec<KeyRead<'t, 's>>,
    pub(super) fields: Vec<FieldStore<'s>>,
    pub(super) calls: Vec<Called<'t, 's>>,
    pub(super) literals: Vec<Literal>,
    scope: usize,
    /// How many conditions are open in the innermost scope.
    conditions: usize,
}

impl<'t, 's> Collector<'t, 's> {
    pub(in crate::jinja::reading) fn new(source: &'s str) -> Self {
        let whole = Scope { span: 0..source.len(), ..Scope::default() };
        Self {
            source,
            scopes: vec![whole],
            stores: Vec::new(),
            reads: Vec::new(),
            keys: Vec::new(),
            fields: Vec::new(),
            calls: Vec::new(),
            literals: Vec::new(),
            scope: 0,
            conditions: 0,
        }
    }

    fn span(&self, name: &str) -> Option<Range<usize>> {
        within(self.source, name).filter(|span| !span.is_empty())
    }

    fn store(&mut self, name: &'s str, kind: BindingKind, from: From<'t, 's>, since: usize) {
        let Some(span) = self.span(name) else { return };
        let (scope, is_certain) = (self.scope, self.conditions == 0);
        self.stores.push(Store { name, span, scope, kind, from, is_certain, since });
    }

    fn target(&mut self, target: &Target<'s>, kind: BindingKind, from: From<'t, 's>, since: usize) {
        match target {
            Target::Name(name) => self.store(name, kind, from, since),
            Target::Tuple(parts) => {
                parts.iter().for_each(|part| self.target(part, kind, From::Nothing, since));
            }
            Target::Field(of, name) => {
                let (Some(of_span), Some(span)) = (self.span(of), self.span(name)) else { return };
                let scope = self.scope;
                let read = Read { name: of, span: of_span, scope, role: Role::Holder, is_guard: false };
                self.reads.push(read);
                self.fields.push(FieldStore { of, name, span, scope });
            }
        }
    }

    /// Collects in a scope of its own.
    fn scoped(&mut self, span: Range<usize>, is_function: bool, is_isolated: bool, collect: impl FnOnce(&mut Self)) {
        let around = self.scope;
        self.scopes.push(Scope { span, around: Some(around), is_function, is_isolated, bindings: Vec::new() });
        let conditions = std::mem::take(&mut self.conditions);
        self.scope = self.scopes.len() - 1;
        collect(self);
        self.scope = around;
        self.conditions = conditions;
    }

    pub(in crate::jinja::reading) fn body(&mut self, body: &'t Body<'s>) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'t Statement<'s>) {
        let span = statement.span.clone();
        match &statement.kind {
            StatementKind::Text(text) => {
                if let Some(span) = self.span(text) {
                    self.literals.push(Literal { span, text: (*text).to_owned(), is_string: false });
                }
            }
            StatementKind::Load(_) | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Output(value) => self.expression(value, false),
            StatementKind::Set(target, value) => {
                self.expression(value, false);
                self.namespace(target, value);
                self.target(target, BindingKind::Variable, From::Value(value), span.end);
            }
            StatementKind::SetBlock { target, filter, body } => {
                self.scoped(span.clone(), false, false, |inside| {
                    inside.body(body);
                    filter.iter().for_each(|filter| inside.expression(filter, false));
                });
                self.target(target, BindingKind::Variable, From::Nothing, span.end);
            }
            StatementKind::If { branches, otherwise } => self.branches(branches, otherwise),
            StatementKind::For { target, over, only, body, otherwise, .. } => {
                self.expression(over, false);
                let inside = over.span.end..span.end;
                let since = over.span.end;
                self.scoped(inside.clone(), false, false, |inside| {
                    inside.target(target, BindingKind::Loop, From::Item(over), since);
                    only.iter().for_each(|only| inside.expression(only, true));
                    inside.body(body);
                });
                if let (Some(first), Some(last)) = (otherwise.first(), otherwise.last()) {
                    let span = first.span.start..last.span.end;
                    self.scoped(span, false, false, |inside| inside.body(otherwise));
                }
            }
            StatementKind::Macro { name, parameters, body } => {
                self.store(name, BindingKind::Macro, From::Nothing, span.start);
                self.function(span, parameters, body);
            }
            StatementKind::CallBlock { parameters, call, body } => {
                self.expression(call, false);
                self.function(span, parameters, body);
            }
            StatementKind::Generation(body) => self.scoped(span, true, false, |inside| inside.body(body)),
            StatementKind::Block { scoped, body, .. } => {
                self.scoped(span, true, !scoped, |inside| inside.body(body));
            }
            StatementKind::With { bindings, body } => self.with(span, bindings, body),
            StatementKind::FilterBlock { filter: head, body } | StatementKind::AutoEscape { enabled: head, body } => {
                self.scoped(span, false, false, |inside| {
                    inside.expression(head, false);
                    inside.body(body);
                });
            }
        }
    }

    fn branches(&mut self, branches: &'t [(Expr<'s>, Body<'s>)], otherwise: &'t Body<'s>) {
        for (at, (test, body)) in branches.iter().enumerate() {
            // Only the first test always runs.
            self.conditions += usize::from(at > 0);
            self.expression(test, true);
            self.conditions += usize::from(at == 0);
            self.body(body);
            self.conditions -= 1;
        }
        self.conditions += 1;
        self.body(otherwise);
        self.conditions -= 1;
    }

    /// The values of `with` are read in the scope around.
    fn with(&mut self, span: Range<usize>, bindings: &'t [(Target<'s>, Expr<'s>)], body: &'t Body<'s>) {
        bindings.iter().for_each(|(_, value)| self.expression(value, false));
        let since = span.start;
        self.scoped(span, false, false, |inside| {
            for (target, value) in bindings {
                inside.target(target, BindingKind::Variable, From::Value(value), since);
            }
            inside.body(body);
        });
    }

    fn function(&mut self, span: Range<usize>, parameters: &'t Parameters<'s>, body: &'t Body<'s>) {
        let since = span.start;
        self.scoped(span, true, false, |inside| {
            for (at, (name, _)) in parameters.iter().enumerate() {
                inside.store(name, BindingKind::Parameter, From::Argument(at), since);
            }
            for (_, default) in parameters {
                default.iter().for_each(|default| inside.expression(default, false));
            }
            inside.body(body);
        });
    }

    /// The attributes of a namespace that is assigned to a name.
    fn namespace(&mut self, target: &Target<'s>, value: &'t Expr<'s>) {
        let (Target::Name(of), ExprKind::Call(callee, arguments)) = (target, &value.kind) else { return };
        if !matches!(callee.kind, ExprKind::Name("namespace")) {
            return;
        }
        for argument in arguments {
            if let Argument::Keyword(name, _) = argument
                && let Some(span) = self.span(name)
            {
                self.fields.push(FieldStore { of, name, span, scope: self.scope });
            }
        }
    }

    fn read(&mut self, name: &'s str, role: Role, is_guard: bool) {
        let Some(span) = self.span(name) else { return };
        self.reads.push(Read { name, span, scope: self.scope, role, is_guard });
    }

    fn key(&mut self, of: &'t Expr<'s>, span: &Range<usize>, key: &str, key_span: Range<usize>) {
        let key = key.to_owned();
        self.keys.push(KeyRead { of, span: span.clone(), key, key_span, scope: self.scope });
    }

    /// What a lookup looks into.
    fn holder(&mut self, of: &'t Expr<'s>) {
        match &of.kind {
            ExprKind::Name(name) => self.read(name, Role::Holder, false),
            _ => self.expression(of, false),
        }
    }

    fn expression(&mut self, expression: &'t Expr<'s>, is_condition: bool) {
        match &expression.kind {
            ExprKind::Name(name) => self.read(name, Role::Read, is_condition),
            ExprKind::Literal(Constant::Str(text)) => {
                let span = expression.span.clone();
                self.literals.push(Literal { span, text: text.clone(), is_string: true });
            }
            ExprKind::Attribute(of, key) => {
                if let Some(key_span) = self.span(key) {
                    self.key(of, &expression.span, key, key_span);
                }
                self.holder(of);
            }
            ExprKind::Item(of, key) => {
                if let ExprKind::Literal(Constant::Str(text)) = &key.kind {
                    // The key is written in quotes, once.
                    let written = slice(self.source, key.span.clone());
                    if written.len() == text.len() + 2 {
                        self.key(of, &expression.span, text, key.span.start + 1..key.span.end - 1);
                    }
                } else {
                    self.expression(key, false);
                }
                self.holder(of);
            }
            ExprKind::Call(callee, arguments) => self.call(expression, callee, arguments),
            ExprKind::Condition { test, then, otherwise } => {
                self.expression(test, true);
                self.expression(then, is_condition);
                otherwise.iter().for_each(|otherwise| self.expression(otherwise, is_condition));
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), operands) => {
                self.expression(&operands.0, is_condition || *op == BinaryOp::Or);
                self.expression(&operands.1, is_condition);
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.expression(operand, true),
            ExprKind::Test(of, name, arguments) => {
                let guards = matches!(name.as_str(), "defined" | "undefined" | "none" | "true" | "false");
                self.expression(of, guards);
                arguments.iter().for_each(|argument| self.expression(argument.value(), false));
            }
            ExprKind::Filter(Some(of), name, arguments) if matches!(name.as_str(), "default" | "d") => {
                self.expression(of, true);
                arguments.iter().for_each(|argument| self.expression(argument.value(), false));
            }
            _ => expression.children(&mut |child| self.expression(child, false)),
        }
    }

    fn call(&mut self, call: &'t Expr<'s>, callee: &'t Expr<'s>, arguments: &'t [Argument<'s>]) {
        match &callee.kind {
            ExprKind::Name(name) => {
                self.read(name, Role::Called, false);
                self.calls.push(Called { name, arguments, scope: self.scope });
            }
            _ => self.expression(callee, false),
        }
        if let (ExprKind::Attribute(of, "get"), Some(Argument::Positional(key))) = (&callee.kind, arguments.first())
            && let ExprKind::Literal(Constant::Str(text)) = &key.kind
            && key.span.len() == text.len() + 2
        {
            self.key(of, &call.span, text, key.span.start + 1..key.span.end - 1);
        }
        arguments.iter().for_each(|argument| self.expression(argument.value(), false));
    }
}
