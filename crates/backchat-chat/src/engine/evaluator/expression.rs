//! Evaluates expressions, in a bounded number of steps and levels.

use std::ops::Deref;

use minijinja::{Error, ErrorKind, Value};

use super::Evaluator;
use super::callable::{Blocks, Builtin};
use super::recorded_link;
use crate::builtins::{filters, methods, tests};
use crate::engine::limits;
use crate::engine::program::{Arguments, Attribute, Expression, ExpressionKind, Link, LinkKind, Name, Otherwise};
use crate::jinja::syntax::tree::{CompareOp, Span};
use crate::values::containers::Dict;
use crate::values::entries::{Entries, Key};
use crate::values::{Result, build, equality, error, operators, type_name};

/// Bytes of text that are compared without a charge: texts of different lengths differ at once.
const SHORT: usize = 256;

/// An operand: a constant of the program or a computed value.
pub(super) enum Operand<'r> {
    Constant(&'r Value),
    Computed(Value),
}

impl Deref for Operand<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Constant(value) => value,
            Self::Computed(value) => value,
        }
    }
}

/// `value.name`
fn attribute(value: &Value, attribute: &Attribute) -> Result<Value> {
    if attribute.is_method {
        return methods::attribute(value, &attribute.name);
    }
    match value.downcast_object_ref::<Dict>() {
        Some(dict) => Ok(dict.get_str(&attribute.name).unwrap_or_default()),
        None => value.get_attr(&attribute.name),
    }
}

/// `value[key]`
fn item(value: &Value, key: &Value) -> Result<Value> {
    match (key.as_str(), value.downcast_object_ref::<Dict>()) {
        (Some(name), Some(dict)) if let Some(found) = dict.get_str(name) => Ok(found),
        _ => methods::item(value, key),
    }
}

/// Whether an expression records its own outcome, or those of its operands, or always has the same one.
fn is_condition(kind: &ExpressionKind) -> bool {
    use ExpressionKind::{And, Compare, Constant, Defined, Not, Or};
    matches!(kind, And(_) | Compare(..) | Constant(_) | Defined(..) | Not(_) | Or(_))
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) if a.len() < SHORT || b.len() < SHORT => a == b,
        _ => equality::equal(a, b),
    }
}

fn compare(operator: CompareOp, a: &Value, b: &Value) -> Result<bool> {
    let ordered = |operator| operators::compare(operator, a, b).map(|order| operators::satisfies(operator, order));
    let answer = match operator {
        CompareOp::Eq => equal(a, b),
        CompareOp::Ne => !equal(a, b),
        CompareOp::Lt => ordered("<")?,
        CompareOp::Le => ordered("<=")?,
        CompareOp::Gt => ordered(">")?,
        CompareOp::Ge => ordered(">=")?,
        CompareOp::In => operators::contains(b, a)?,
        CompareOp::NotIn => !operators::contains(b, a)?,
    };
    limits::charge_units(1)?;
    Ok(answer)
}

impl<'r> Evaluator<'r> {
    pub(super) fn evaluate(&mut self, expression: &'r Expression) -> Result<Value> {
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Name(name) => Ok(self.name(name)),
            ExpressionKind::Loop(level, field) => Ok(self.loop_field(*level, *field)),
            _ => {
                self.step()?;
                let value = self.nested(|evaluator| evaluator.computed(expression));
                self.at_span(&expression.span, value)
            }
        }
    }

    pub(super) fn operand(&mut self, expression: &'r Expression) -> Result<Operand<'r>> {
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(Operand::Constant(value)),
            _ => self.evaluate(expression).map(Operand::Computed),
        }
    }

    fn computed(&mut self, expression: &'r Expression) -> Result<Value> {
        match &expression.kind {
            ExpressionKind::Constant(_) | ExpressionKind::Name(_) | ExpressionKind::Loop(..) => {
                self.evaluate(expression)
            }
            ExpressionKind::List(items) => limits::charged(build::list(self.values(items)?)),
            ExpressionKind::Tuple(items) => limits::charged(build::tuple(self.values(items)?)),
            ExpressionKind::Dict(entries) => {
                self.steps_of(entries.len())?;
                let mut made = Entries::default();
                for (key, value) in entries {
                    let key = Key::of(&*self.operand(key)?)?;
                    let value = self.evaluate(value)?;
                    made.insert(key, value);
                }
                limits::charged(build::dict(made))
            }
            ExpressionKind::Not(_) | ExpressionKind::Compare(..) | ExpressionKind::Defined(..) => {
                self.truth(expression).map(Value::from)
            }
            ExpressionKind::And(parts) => self.connected(parts, false, false),
            ExpressionKind::Or(parts) => self.connected(parts, true, false),
            ExpressionKind::Concat(parts) => {
                let parts = self.values(parts)?;
                limits::charged(operators::concat(&parts, self.run.escapes.get()))
            }
            ExpressionKind::Condition(condition) => {
                if self.truth(&condition.test)? {
                    self.evaluate(&condition.then)
                } else {
                    condition.otherwise.as_ref().map_or(Ok(Value::UNDEFINED), |otherwise| self.evaluate(otherwise))
                }
            }
            ExpressionKind::Captured => Ok(self.captured.take().unwrap_or_default()),
            ExpressionKind::Chain(first, links) => self.chain(first, links),
        }
    }

    /// The value of operands of `and` or `or`, which stops at the first one with this truth. `decides` if something asks for
    /// the truth of the result, as of every operand but the last.
    fn connected(&mut self, parts: &'r [Expression], stops_at: bool, decides: bool) -> Result<Value> {
        let mut value = Value::UNDEFINED;
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.iter().enumerate() {
            self.step()?;
            let decides = decides || at < last;
            let found = match &part.kind {
                ExpressionKind::And(parts) if decides => {
                    self.nested(|evaluator| evaluator.connected(parts, false, true))
                }
                ExpressionKind::Or(parts) if decides => self.nested(|evaluator| evaluator.connected(parts, true, true)),
                _ => self.evaluate(part),
            };
            value = self.at_span(&part.span, found)?;
            let is_true = if decides { self.noted_truth(part, &value) } else { value.is_true() };
            if is_true == stops_at {
                break;
            }
        }
        Ok(value)
    }

    fn values(&mut self, expressions: &'r [Expression]) -> Result<Vec<Value>> {
        self.steps_of(expressions.len())?;
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            values.push(self.evaluate(expression)?);
        }
        Ok(values)
    }

    pub(super) fn truth(&mut self, expression: &'r Expression) -> Result<bool> {
        self.step()?;
        match &expression.kind {
            ExpressionKind::Not(operand) => self.truth(operand).map(|truth| !truth),
            ExpressionKind::And(parts) => {
                for part in parts {
                    if !self.truth(part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ExpressionKind::Or(parts) => {
                for part in parts {
                    if self.truth(part)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            ExpressionKind::Compare(first, rest) => {
                let answer = self.nested(|evaluator| evaluator.comparison(&expression.span, first, rest));
                self.at_span(&expression.span, answer)
            }
            ExpressionKind::Defined(name, wanted) => {
                let mut is_defined = self.is_defined(name);
                if let Some(outcomes) = &self.run.outcomes {
                    is_defined = outcomes.definition(&expression.span, is_defined);
                }
                Ok(is_defined == *wanted)
            }
            ExpressionKind::Name(name) if let Some(value) = self.known(name) => Ok(self.noted_truth(expression, value)),
            _ => {
                let value = self.evaluate(expression)?;
                Ok(self.noted_truth(expression, &value))
            }
        }
    }

    fn note_lookup(&self, link: &Link, dict: &Value, key: &Value) {
        if let Some(outcomes) = &self.run.outcomes {
            outcomes.lookup(&link.span, dict, key);
        }
    }

    /// Whether the render assumes the outcome of a condition, so that it may ask about values that are absent.
    fn assumes(&self) -> bool {
        self.run.outcomes.as_ref().is_some_and(|outcomes| outcomes.assumes())
    }

    /// The truth of an operand, recorded unless it is a condition itself.
    fn noted_truth(&self, expression: &Expression, value: &Value) -> bool {
        match &self.run.outcomes {
            Some(outcomes) if !is_condition(&expression.kind) => outcomes.truth(&expression.span, value),
            _ => value.is_true(),
        }
    }

    /// `a < b < c` is `a < b and b < c`.
    fn comparison(&mut self, span: &Span, first: &'r Expression, rest: &'r [(CompareOp, Expression)]) -> Result<bool> {
        let mut left = self.operand(first)?;
        for (operator, right) in rest {
            let right = self.operand(right)?;
            let mut answer = match compare(*operator, &left, &right) {
                Err(_) if self.assumes() => false,
                answer => answer?,
            };
            if let Some(outcomes) = &self.run.outcomes {
                answer = outcomes.comparison(span, *operator, [&left, &right], answer);
            }
            if !answer {
                return Ok(false);
            }
            left = right;
        }
        Ok(true)
    }

    pub(super) fn name(&self, name: &'r Name) -> Value {
        match (self.known(name), &name.otherwise) {
            (Some(value), _) => value.clone(),
            (None, Otherwise::Context(_) | Otherwise::Nothing) => Value::UNDEFINED,
            (None, Otherwise::Function(number, function)) => {
                Value::from_object(Builtin { name: self.program.context_name(*number).to_owned(), function: *function })
            }
            (None, Otherwise::Blocks) => Value::from_object(Blocks(self.program.blocks.clone())),
        }
    }

    fn is_defined(&self, name: &'r Name) -> bool {
        let look = || match (self.known(name), &name.otherwise) {
            (Some(value), _) => !value.is_undefined(),
            (None, otherwise) => !matches!(otherwise, Otherwise::Context(_) | Otherwise::Nothing),
        };
        match &self.run.recorder {
            Some(recorder) => recorder.testing(look),
            None => look(),
        }
    }

    pub(super) fn chain(&mut self, first: &'r Expression, links: &'r [Link]) -> Result<Value> {
        let (mut value, rest) = self.chain_start(first, links)?;
        for link in rest {
            let result = self.apply_link(value, link);
            value = self.at_span(&link.span, result)?;
        }
        Ok(value)
    }

    /// The value of a chain's first steps, and the remaining links. Attributes of a variable are read without copying
    /// it.
    fn chain_start(&mut self, first: &'r Expression, links: &'r [Link]) -> Result<(Value, &'r [Link])> {
        if let (ExpressionKind::Name(name), Some((link, rest))) = (&first.kind, links.split_first()) {
            let looked = match &link.kind {
                LinkKind::Attribute(name_of) => self.known(name).map(|value| attribute(value, name_of)),
                LinkKind::Item(key) if let ExpressionKind::Constant(key) = &key.kind => {
                    self.known(name).map(|value| item(value, key))
                }
                LinkKind::Call(arguments) => Some(self.call_by_name(name, arguments)),
                _ => None,
            };
            if let Some(looked) = looked {
                return self.at_span(&link.span, looked).map(|value| (value, rest));
            }
        }
        Ok((self.evaluate(first)?, links))
    }

    /// `name(…)`
    fn call_by_name(&mut self, name: &'r Name, arguments: &'r Arguments) -> Result<Value> {
        let called = self.callee(name)?;
        let arguments = self.arguments(arguments)?;
        self.call(&called, &arguments)
    }

    pub(super) fn callee(&self, name: &'r Name) -> Result<Value> {
        match (self.known(name), &name.otherwise) {
            (None, Otherwise::Context(number)) => {
                Err(error(format!("there is no function `{}`", self.program.context_name(*number))))
            }
            (None, Otherwise::Nothing) => Err(error("call of a variable that is not set yet")),
            (Some(value), Otherwise::Context(number)) if value.as_object().is_none() => Err(error(format!(
                "'{}' object is not callable: there is no function `{}`",
                type_name(value),
                self.program.context_name(*number)
            ))),
            _ => Ok(self.name(name)),
        }
    }

    fn apply_link(&mut self, value: Value, link: &'r Link) -> Result<Value> {
        if self.run.outcomes.is_none() {
            return self.applied(value, link);
        }
        let before = value.clone();
        let after = match self.applied(value, link) {
            Err(_) if before.is_undefined() && self.assumes() => Value::UNDEFINED,
            after => after?,
        };
        Ok(match &self.run.outcomes {
            Some(outcomes) => recorded_link::recorded(outcomes, link, &before, after),
            None => after,
        })
    }

    fn applied(&mut self, value: Value, link: &'r Link) -> Result<Value> {
        self.step()?;
        match &link.kind {
            LinkKind::Unary(operator) => limits::charged(operator(&value)),
            LinkKind::Binary(operator, right) => limits::charged(operator(&value, &*self.operand(right)?)),
            LinkKind::Add(right) => limits::charged(operators::add(&value, &*self.operand(right)?)),
            LinkKind::Attribute(name) => attribute(&value, name),
            LinkKind::Item(key) => {
                let key = self.operand(key)?;
                let found = item(&value, &key)?;
                self.note_lookup(link, &value, &key);
                Ok(found)
            }
            LinkKind::Slice(bounds) => {
                let mut given = [Value::from(()), Value::from(()), Value::from(())];
                for (bound, given) in bounds.iter().zip(&mut given) {
                    if let Some(bound) = bound {
                        *given = self.evaluate(bound)?;
                    }
                }
                limits::charge(std::slice::from_ref(&value))?;
                limits::charged(operators::slice(&value, given.each_ref()))
            }
            LinkKind::Call(arguments) => {
                let arguments = self.arguments(arguments)?;
                self.call(&value, &arguments)
            }
            LinkKind::Method(name, arguments) => {
                let arguments = self.arguments(arguments)?;
                let answer = self.method(&value, name, &arguments)?;
                if let Some(key) = arguments.first().filter(|_| &*name.name == "get") {
                    self.note_lookup(link, &value, key);
                }
                Ok(answer)
            }
            LinkKind::Filter(filter, name, arguments) => {
                let arguments = self.arguments(arguments)?;
                match filter {
                    Some(filter) => filters::apply(*filter, self.run, &value, &arguments),
                    None => Err(Error::new(ErrorKind::UnknownFilter, format!("there is no filter named '{name}'"))),
                }
            }
            LinkKind::Test(test, name, arguments) => {
                let arguments = self.arguments(arguments)?;
                match test {
                    Some(test) => tests::run(*test, &value, &arguments).map(Value::from),
                    None => Err(Error::new(ErrorKind::UnknownTest, format!("there is no test named '{name}'"))),
                }
            }
        }
    }
}
