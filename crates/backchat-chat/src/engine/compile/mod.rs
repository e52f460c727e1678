//! Compiles the tree of a template: resolves names to slots and filters to functions, and evaluates constants.
//!
//! Scopes are Jinja2's: a macro, a block and the body of a call block are functions; loops, `with`, and whatever
//! captures text have variables of their own inside the enclosing function; a condition has none.

mod expression;
mod names;
mod symbols;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::program::{
    Body, Expression, ExpressionKind, For, Function, FunctionId, LinkKind, Parameter, Program, Scoped, Statement,
    StatementKind,
};
use crate::jinja::syntax::tree::{self, Expr, Parameters};

use names::OpenFunction;
use symbols::{Symbols, reads_before_binding};

/// `self`: the template's name for itself.
const SELF: &str = "self";
/// The name of the innermost loop.
const LOOP: &str = "loop";
/// A macro's names for arguments beyond its parameters, and for the body of a call block.
const VARARGS: &str = "varargs";
const KWARGS: &str = "kwargs";
const CALLER: &str = "caller";

pub(crate) fn compile(body: &tree::Body<'_>) -> Program {
    let mut compiler = Compiler::default();
    compiler.function(None, &Vec::new(), &[], body, true);
    Program {
        functions: compiler.functions.into_iter().map(Arc::new).collect(),
        context_names: compiler.context_names.into_iter().map(Into::into).collect(),
        blocks: Arc::new(compiler.blocks),
        has_generation_blocks: compiler.has_generation_blocks,
    }
}

#[derive(Default)]
struct Compiler<'s> {
    functions: Vec<Function>,
    /// The enclosing functions, innermost last.
    open_functions: Vec<OpenFunction<'s>>,
    context_names: IndexSet<&'s str, RandomState>,
    blocks: HashMap<Box<str>, FunctionId>,
    has_generation_blocks: bool,
    /// The number of enclosing `autoescape` blocks.
    escapes: usize,
}

/// A loop of the source, but for what it runs over.
#[derive(Clone, Copy)]
struct Loop<'t, 's> {
    target: &'t tree::Target<'s>,
    only: Option<&'t Expr<'s>>,
    body: &'t tree::Body<'s>,
    otherwise: &'t tree::Body<'s>,
}

impl<'s> Compiler<'s> {
    /// Compiles a function with these parameters and, in `more`, further variables. `is_whole` is true for the template
    /// and for blocks, false for macros.
    fn function(
        &mut self,
        name: Option<&str>,
        parameters: &Parameters<'s>,
        more: &[&'s str],
        body: &tree::Body<'s>,
        is_whole: bool,
    ) -> FunctionId {
        self.declare_function(name, |compiler, function| {
            if let Some(around) = compiler.innermost() {
                around.is_whole = is_whole;
            }
            let mut bound: Vec<&'s str> = parameters.iter().map(|(name, _)| *name).collect();
            bound.extend_from_slice(more);
            let mut symbols = Symbols::default();
            parameters.iter().filter_map(|(_, default)| default.as_ref()).for_each(|default| symbols.read(default));
            symbols.body(body);
            compiler.enter(&bound, symbols);
            function.parameters = parameters
                .iter()
                .map(|(name, default)| Parameter {
                    name: (*name).into(),
                    default: default.as_ref().map(|default| compiler.expression(default)),
                })
                .collect();
            let special = |name: &str| {
                let is_parameter = parameters.iter().any(|(parameter, _)| *parameter == name);
                (more.contains(&name) && !is_parameter).then(|| compiler.bound(name)).flatten()
            };
            (function.varargs, function.kwargs, function.caller) = (special(VARARGS), special(KWARGS), special(CALLER));
            function.body = compiler.body(body);
            compiler.leave();
        })
    }

    /// Numbers a function and compiles its body.
    fn declare_function(&mut self, name: Option<&str>, inside: impl FnOnce(&mut Self, &mut Function)) -> FunctionId {
        if let Some(around) = self.innermost() {
            around.declares = true;
        }
        let id = self.functions.len();
        self.functions.push(Function::default());
        self.open_functions.push(OpenFunction::default());
        let mut function = Function { name: name.map(Into::into), may_escape: self.escapes > 0, ..Function::default() };
        inside(self, &mut function);
        let around = self.open_functions.pop().unwrap_or_default();
        (function.slots, function.declares) = (around.slots, around.declares);
        if let Some(place) = self.functions.get_mut(id) {
            *place = function;
        }
        id
    }

    /// Compiles something that sees the template's own variables, but not those of the enclosing scopes.
    fn at_top_level<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        let inner = self.open_functions.split_off(self.open_functions.len().min(1));
        let scopes = match self.open_functions.first_mut() {
            Some(top) => top.scopes.split_off(top.scopes.len().min(1)),
            None => Vec::new(),
        };
        let compiled = compile(self);
        if let Some(top) = self.open_functions.first_mut() {
            top.scopes.extend(scopes);
        }
        self.open_functions.extend(inner);
        compiled
    }

    /// A macro, or the body of a call block.
    fn macro_function(&mut self, name: Option<&str>, parameters: &Parameters<'s>, body: &tree::Body<'s>) -> FunctionId {
        let more: Vec<&'s str> =
            [VARARGS, KWARGS, CALLER].into_iter().filter(|name| reads_before_binding(body, name)).collect();
        self.function(name, parameters, &more, body, false)
    }

    fn scoped(&mut self, body: &tree::Body<'s>) -> Scoped {
        self.within(&[], Symbols::collect(body), body, |_| ()).0
    }

    /// A body in a scope with these names and those that its statements bind, and the result of compiling something
    /// after it in the same scope.
    fn within<T>(
        &mut self,
        names: &[&'s str],
        symbols: Symbols<'s>,
        body: &tree::Body<'s>,
        after: impl FnOnce(&mut Self) -> T,
    ) -> (Scoped, T) {
        let scope = self.enter(names, symbols);
        let body = self.body(body);
        let after = after(self);
        self.leave();
        (Scoped { scope, body }, after)
    }

    fn body(&mut self, body: &tree::Body<'s>) -> Body {
        body.iter()
            .map(|statement| Statement { kind: self.statement(&statement.kind), span: statement.span.clone() })
            .collect()
    }

    fn statement(&mut self, statement: &tree::StatementKind<'s>) -> StatementKind {
        match statement {
            tree::StatementKind::Text(text) => StatementKind::Text((*text).into()),
            tree::StatementKind::Output(value) => StatementKind::Output(self.expression(value)),
            tree::StatementKind::Set(target, value) => {
                let value = self.expression(value);
                StatementKind::Set(self.target(target), value)
            }
            tree::StatementKind::SetBlock { target, filter, body } => {
                let target = self.target(target);
                // The filter sees the variables of the body.
                let filter = |compiler: &mut Self| filter.as_ref().map(|filter| compiler.expression(filter));
                let (inside, filter) = self.within(&[], Symbols::collect(body), body, filter);
                StatementKind::Capture { target, filter, inside }
            }
            tree::StatementKind::If { branches, otherwise } => StatementKind::If {
                branches: branches.iter().map(|(test, body)| (self.expression(test), self.body(body))).collect(),
                otherwise: self.body(otherwise),
            },
            tree::StatementKind::For { target, over, only, recursive, body, otherwise } => {
                let over = self.expression(over);
                let own = Loop { target, only: only.as_ref(), body, otherwise };
                if *recursive {
                    self.recursive_loop(own, over)
                } else {
                    StatementKind::For(Box::new(self.for_loop(own, over, None)))
                }
            }
            tree::StatementKind::Macro { name, parameters, body } => {
                let id = self.macro_function(Some(name), parameters, body);
                StatementKind::Macro(self.bound(name).unwrap_or_default(), id)
            }
            tree::StatementKind::CallBlock { parameters, call, body } => self.call_block(parameters, call, body),
            tree::StatementKind::Generation(body) => self.generation(body),
            tree::StatementKind::With { bindings, body } => self.with(bindings, body),
            tree::StatementKind::FilterBlock { filter, body } => self.filter_block(filter, body),
            tree::StatementKind::AutoEscape { enabled, body } => self.auto_escape(enabled, body),
            tree::StatementKind::Block { name, required: true, .. } => StatementKind::Refuse(
                format!("no other template overrides the block '{name}', which is required").into(),
            ),
            tree::StatementKind::Block { name, scoped, body, .. } => self.block(name, *scoped, body),
            tree::StatementKind::Load(tag) => {
                StatementKind::Refuse(format!("'{tag}' needs other templates, and a chat template has none").into())
            }
            tree::StatementKind::Break => StatementKind::Break,
            tree::StatementKind::Continue => StatementKind::Continue,
        }
    }

    fn call_block(&mut self, parameters: &Parameters<'s>, call: &Expr<'s>, body: &tree::Body<'s>) -> StatementKind {
        let caller = self.macro_function(None, parameters, body);
        let mut call = self.expression(call);
        if let ExpressionKind::Chain(_, links) = &mut call.kind
            && let Some(LinkKind::Call(arguments) | LinkKind::Method(_, arguments)) =
                links.last_mut().map(|link| &mut link.kind)
        {
            arguments.caller = Some(caller);
        }
        StatementKind::Output(call)
    }

    fn generation(&mut self, body: &tree::Body<'s>) -> StatementKind {
        self.has_generation_blocks = true;
        // Jinja2 compiles it to a call block that is called without a caller.
        let hidden: &[_] = if reads_before_binding(body, CALLER) { &[CALLER] } else { &[] };
        let scope = self.enter(hidden, Symbols::collect(body));
        self.hide(hidden);
        let body = self.body(body);
        self.leave();
        StatementKind::Generation(Scoped { scope, body })
    }

    fn with(&mut self, bindings: &[(tree::Target<'s>, Expr<'s>)], body: &tree::Body<'s>) -> StatementKind {
        let values: Vec<_> = bindings.iter().map(|(_, value)| self.expression(value)).collect();
        let bound: Vec<_> = bindings.iter().flat_map(|(target, _)| target.names()).collect();
        let (inside, targets) = self.within(&bound, Symbols::collect(body), body, |compiler| {
            bindings.iter().map(|(target, _)| compiler.target(target)).collect::<Vec<_>>()
        });
        StatementKind::With { bindings: targets.into_iter().zip(values).collect(), inside }
    }

    fn filter_block(&mut self, filter: &Expr<'s>, body: &tree::Body<'s>) -> StatementKind {
        let mut symbols = Symbols::collect(body);
        symbols.read(filter);
        // It sees the variables of the body.
        let (inside, filter) = self.within(&[], symbols, body, |compiler| compiler.expression(filter));
        StatementKind::Filter { filter, inside }
    }

    fn auto_escape(&mut self, enabled: &Expr<'s>, body: &tree::Body<'s>) -> StatementKind {
        let mut symbols = Symbols::default();
        symbols.read(enabled);
        symbols.body(body);
        let enabled = self.expression(enabled);
        self.escapes += 1;
        let (inside, ()) = self.within(&[], symbols, body, |_| ());
        self.escapes -= 1;
        StatementKind::AutoEscape { enabled, inside }
    }

    fn block(&mut self, name: &str, scoped: bool, body: &tree::Body<'s>) -> StatementKind {
        let compile = |compiler: &mut Self| compiler.function(Some(name), &Vec::new(), &[], body, true);
        // Blocks ignore an enclosing `autoescape`.
        let escapes = std::mem::take(&mut self.escapes);
        let id = if scoped { compile(self) } else { self.at_top_level(compile) };
        self.escapes = escapes;
        self.blocks.insert(name.into(), id);
        StatementKind::Block(id, scoped)
    }

    /// A loop that its body may call: a function of the iterated value.
    fn recursive_loop(&mut self, own: Loop<'_, 's>, over: Expression) -> StatementKind {
        let span = over.span.clone();
        let id = self.functions.len();
        let id = self.declare_function(None, |compiler, function| {
            let over = Expression { kind: ExpressionKind::Captured, span: span.clone() };
            let inner = compiler.for_loop(own, over, Some(id));
            function.body = vec![Statement { kind: StatementKind::For(Box::new(inner)), span }];
        });
        StatementKind::Recursive(over, id)
    }

    fn for_loop(&mut self, own: Loop<'_, 's>, over: Expression, recursive: Option<FunctionId>) -> For {
        let Loop { target, only, body, otherwise } = own;
        // The condition does not see names bound in the body, nor the body those of the condition.
        let mut symbols = Symbols::default();
        only.iter().for_each(|only| symbols.read(only));
        let mut scope = self.enter(&target.names(), symbols);
        let target = self.target(target);
        // In the condition, `loop` refers to the enclosing loop.
        let only = only.map(|only| self.expression(only));
        self.add(Symbols::collect(body));
        let mut object = None;
        if let Some(around) = self.open_functions.last_mut() {
            if let Some(names) = around.scopes.last_mut()
                && !names.bound.contains_key(LOOP)
            {
                object = Some(around.slots);
                names.bound.insert(LOOP, around.slots);
                names.level = Some(around.loops);
                around.slots += 1;
            }
            scope.end = around.slots;
            around.loops += 1;
        }
        let body = self.body(body);
        let names = self.leave();
        if let Some(around) = self.innermost() {
            around.loops -= 1;
        }
        let object = object.filter(|_| names.asks_for_loop);
        let otherwise = self.scoped(otherwise);
        For { target, over, only, object, recursive, inside: Scoped { scope, body }, otherwise }
    }
}
