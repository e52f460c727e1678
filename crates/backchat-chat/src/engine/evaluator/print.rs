//! Prints expressions without building a string that is only printed.

use minijinja::Value;

use super::Evaluator;
use super::expression::Operand;
use crate::engine::limits;
use crate::engine::program::{Arguments, Expression, ExpressionKind, Link, LinkKind, Name};
use crate::jinja::syntax::tree::Span;
use crate::values::{Result, operators};

/// Text that is joined to other text as it is.
fn is_plain(value: &Value) -> bool {
    value.as_str().is_some() && !value.is_safe()
}

impl<'r> Evaluator<'r> {
    pub(super) fn print_expression(&mut self, expression: &'r Expression) -> Result<()> {
        // Escaping depends on which parts are markup.
        if self.run.escapes.get() {
            let value = self.evaluate(expression)?;
            self.print(&value)?;
        } else {
            self.step()?;
            let printed = self.nested(|evaluator| evaluator.printed(expression));
            self.at_span(&expression.span, printed)?;
        }
        self.attribute_to(&expression.span);
        Ok(())
    }

    fn printed(&mut self, expression: &'r Expression) -> Result<()> {
        match &expression.kind {
            ExpressionKind::Constant(value) => self.print(value),
            ExpressionKind::Concat(parts) => self.at_fixed_position(|evaluator| {
                parts.iter().try_for_each(|part| {
                    let value = evaluator.operand(part)?;
                    evaluator.print(&value)?;
                    evaluator.attribute_to(&part.span);
                    Ok(())
                })
            }),
            ExpressionKind::Condition(condition) => {
                if self.truth(&condition.test)? {
                    self.print_expression(&condition.then)
                } else {
                    condition.otherwise.as_ref().map_or(Ok(()), |otherwise| self.print_expression(otherwise))
                }
            }
            ExpressionKind::Chain(first, links) => self.print_chain(first, links),
            _ => {
                let value = self.evaluate(expression)?;
                self.print(&value)
            }
        }
    }

    fn print_chain(&mut self, first: &'r Expression, links: &'r [Link]) -> Result<()> {
        let sum = links.iter().rev().take_while(|link| matches!(link.kind, LinkKind::Add(_))).count();
        let (before, added) = links.split_at(links.len() - sum);
        if !added.is_empty() {
            let value = if before.is_empty() { self.evaluate(first)? } else { self.chain(first, before)? };
            let place = before.last().map_or(&first.span, |link| &link.span);
            return self.at_fixed_position(|evaluator| evaluator.print_sum(value, place, added));
        }
        let Some((Link { kind: LinkKind::Call(arguments), span }, before)) = links.split_last() else {
            let value = self.chain(first, links)?;
            return self.print(&value);
        };
        let printed = match (&first.kind, before) {
            (ExpressionKind::Name(name), []) => self.print_call_by_name(name, arguments),
            _ => self.chain(first, links).and_then(|value| self.print(&value)),
        };
        self.at_span(span, printed)
    }

    /// Prints the result of `name(…)`.
    fn print_call_by_name(&mut self, name: &'r Name, arguments: &'r Arguments) -> Result<()> {
        let called = self.callee(name)?;
        let arguments = self.arguments(arguments)?;
        self.print_call(&called, &arguments)
    }

    /// Prints `value + …`, with the value at this position: part by part as long as all parts are plain text.
    fn print_sum(&mut self, value: Value, place: &Span, added: &'r [Link]) -> Result<()> {
        let start = self.output_len();
        let mut sum = Operand::Computed(value);
        let mut is_printed = false;
        for link in added {
            let LinkKind::Add(right) = &link.kind else { continue };
            let part = &right.span;
            let right = self.operand(right)?;
            if (is_printed || is_plain(&sum)) && is_plain(&right) {
                if !is_printed {
                    self.print(&sum)?;
                    self.attribute_to(place);
                    is_printed = true;
                }
                self.print(&right)?;
                self.attribute_to(part);
                continue;
            }
            if is_printed {
                sum = Operand::Computed(Value::from(self.remove_since(start)));
                is_printed = false;
            }
            let added = limits::charged(operators::add(&sum, &right));
            sum = Operand::Computed(self.at_span(&link.span, added)?);
        }
        if is_printed { Ok(()) } else { self.print(&sum) }
    }
}
