//! Runs statements.

use minijinja::Value;

use super::{Evaluator, Flow};
use crate::engine::limits;
use crate::engine::program::{Body, Expression, Scoped, Statement, StatementKind, Target};
use crate::jinja::syntax::tree::Span;
use crate::values::namespace::Namespace;
use crate::values::{Result, error, items_of, measure, type_name};

impl<'r> Evaluator<'r> {
    pub(super) fn statement(&mut self, statement: &'r Statement) -> Result<Flow> {
        match &statement.kind {
            StatementKind::Text(text) => self.text(text, &statement.span)?,
            StatementKind::Output(value) => self.print_expression(value)?,
            StatementKind::Set(target, value) => {
                let value = self.evaluate(value)?;
                if let Some(details) = &self.run.details {
                    details.value(&statement.span, &value);
                }
                self.assign(target, value)?;
            }
            StatementKind::If { branches, otherwise } => return self.choose(&statement.span, branches, otherwise),
            StatementKind::For(node) => {
                let over = self.evaluate(&node.over)?;
                return self.nested(|evaluator| evaluator.for_loop(node, over, 0));
            }
            StatementKind::Recursive(over, function) => {
                let over = self.evaluate(over)?;
                let around = self.at;
                self.at_fixed_position(|evaluator| evaluator.recursive_loop(*function, around, over, 0))?;
            }
            StatementKind::Macro(slot, function) => {
                let declared = self.declared(*function)?;
                self.set(*slot, declared);
            }
            StatementKind::Capture { target, filter, inside } => {
                let (text, flow) = self.captured(inside, filter.as_ref())?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
                self.assign(target, text)?;
            }
            StatementKind::Filter { filter, inside } => return self.filter_block(filter, inside, statement),
            StatementKind::Generation(inside) => {
                self.generation(|evaluator| evaluator.scoped(inside).map(drop))?;
            }
            StatementKind::With { bindings, inside } => return self.with(bindings, inside),
            StatementKind::AutoEscape { enabled, inside } => {
                let enabled = self.truth(enabled)?;
                let outer = self.run.escapes.replace(enabled);
                let flow = self.scoped(inside)?;
                self.run.escapes.set(outer);
                return Ok(flow);
            }
            StatementKind::Block(function, scoped) => {
                self.block(*function, if *scoped { self.at } else { 0 })?;
            }
            StatementKind::Refuse(message) => return Err(error(message.as_ref())),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn filter_block(&mut self, filter: &'r Expression, inside: &'r Scoped, statement: &'r Statement) -> Result<Flow> {
        let (text, flow) = self.captured(inside, Some(filter))?;
        if flow != Flow::Next {
            return Ok(flow);
        }
        // Jinja2 concatenates it unchanged: it is neither converted to a string nor escaped.
        let Some(text) = text.as_str() else {
            return Err(error(format!("the filter of a filter block gave a '{}', not text", type_name(&text))));
        };
        self.print_text(text)?;
        self.attribute_to(&statement.span);
        Ok(Flow::Next)
    }

    /// The values of a `with` do not see its names.
    fn with(&mut self, bindings: &'r [(Target, Expression)], inside: &'r Scoped) -> Result<Flow> {
        let values: Vec<Value> = bindings.iter().map(|(_, value)| self.evaluate(value)).collect::<Result<_>>()?;
        self.enter(&inside.scope)?;
        for ((target, _), value) in bindings.iter().zip(values) {
            self.assign(target, value)?;
        }
        self.nested(|evaluator| evaluator.body(&inside.body))
    }

    /// Runs the first branch whose condition holds, or else `otherwise`.
    #[inline]
    fn choose(&mut self, span: &Span, branches: &'r [(Expression, Body)], otherwise: &'r Body) -> Result<Flow> {
        for (branch, (test, body)) in branches.iter().enumerate() {
            if self.truth(test)? {
                self.take_branch(span, branch);
                return self.nested(|evaluator| evaluator.body(body));
            }
        }
        self.take_branch(span, branches.len());
        self.nested(|evaluator| evaluator.body(otherwise))
    }

    fn take_branch(&self, condition: &Span, branch: usize) {
        if let Some(details) = &self.run.details {
            details.branch(condition, branch);
        }
    }

    fn scoped(&mut self, inside: &'r Scoped) -> Result<Flow> {
        self.enter(&inside.scope)?;
        self.nested(|evaluator| evaluator.body(&inside.body))
    }

    /// The output of a block, passed through its filter. It is dropped if the block broke out of a loop.
    fn captured(&mut self, inside: &'r Scoped, filter: Option<&'r Expression>) -> Result<(Value, Flow)> {
        let (text, flow) = self.capture(|evaluator| evaluator.scoped(inside))?;
        match filter {
            Some(filter) if flow == Flow::Next => {
                self.captured = Some(text);
                Ok((self.evaluate(filter)?, flow))
            }
            _ => Ok((text, flow)),
        }
    }

    /// Binds a target to a value, which it may unpack.
    pub(super) fn assign(&mut self, target: &'r Target, value: Value) -> Result<()> {
        match target {
            Target::Variable(slot) => {
                self.set(*slot, value);
                Ok(())
            }
            Target::Tuple(targets) => {
                let items = items_of(&value)?;
                limits::charge_units(items.len())?;
                if items.len() != targets.len() {
                    return Err(error(format!("{} values to unpack into {} names", items.len(), targets.len())));
                }
                targets.iter().zip(items).try_for_each(|(target, item)| self.assign(target, item))
            }
            Target::Field(namespace, field) => {
                let namespace = self.name(namespace);
                let Some(namespace) = namespace.downcast_object_ref::<Namespace>() else {
                    return Err(error("cannot assign attribute on non-namespace object"));
                };
                limits::charge(std::slice::from_ref(&value))?;
                let around = measure::checked([&value])?;
                namespace.set(field, value, around)
            }
        }
    }
}
