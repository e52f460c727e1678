//! Runs loops, and evaluates the fields and methods of `loop`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

use super::{Evaluator, Flow};
use crate::engine::program::{Expression, For, FunctionId, LoopField, StatementKind};
use crate::values::equality::equal;
use crate::values::{Kind, Result, build, error, items_of, measure};

/// A list or tuple of a value's items.
fn indexable(value: Value) -> Result<Value> {
    match Kind::of(&value) {
        Kind::List(_) | Kind::Tuple(_) => Ok(value),
        _ => build::list(items_of(&value)?),
    }
}

fn items(value: &Value) -> &[Value] {
    match Kind::of(value) {
        Kind::List(items) | Kind::Tuple(items) => items,
        _ => &[],
    }
}

/// A running loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// A list or tuple.
    items: Value,
    len: usize,
    index: usize,
    depth: usize,
}

impl Loop {
    pub(super) fn field(&self, field: LoopField) -> Value {
        let Self { len, index, depth, .. } = *self;
        let item =
            |index: Option<usize>| index.and_then(|index| items(&self.items).get(index)).cloned().unwrap_or_default();
        match field {
            LoopField::Index => Value::from(index + 1),
            LoopField::Index0 => Value::from(index),
            LoopField::RevIndex => Value::from(len - index),
            LoopField::RevIndex0 => Value::from(len - index - 1),
            LoopField::First => Value::from(index == 0),
            LoopField::Last => Value::from(index + 1 == len),
            LoopField::Length => Value::from(len),
            LoopField::Depth => Value::from(depth + 1),
            LoopField::Depth0 => Value::from(depth),
            LoopField::PrevItem => item(index.checked_sub(1)),
            LoopField::NextItem => item(index.checked_add(1)),
        }
    }
}

/// `loop` as a value, which may outlive the loop.
#[derive(Debug)]
pub(super) struct LoopObject {
    looping: Loop,
    index: AtomicUsize,
    /// The arguments of the last call of `changed`.
    last: Mutex<Option<Vec<Value>>>,
    is_over: AtomicBool,
    /// The function that `loop(…)` runs, and the activation it was declared in.
    recursive: Option<(FunctionId, usize)>,
}

impl LoopObject {
    fn now(&self) -> Loop {
        Loop { index: self.index.load(Ordering::Relaxed), ..self.looping.clone() }
    }

    /// Calls its method with this name, if it has one.
    pub(super) fn call_method(&self, name: &str, arguments: &[Value]) -> Option<Result<Value>> {
        match name {
            "cycle" => Some(self.cycle(arguments)),
            "changed" => Some(self.changed(arguments)),
            _ => None,
        }
    }

    fn cycle(&self, arguments: &[Value]) -> Result<Value> {
        let at = self.index.load(Ordering::Relaxed).checked_rem(arguments.len());
        match at.and_then(|at| arguments.get(at)) {
            Some(chosen) => Ok(chosen.clone()),
            None => Err(error("loop.cycle() has no items to choose from")),
        }
    }

    /// Drops the last arguments of `changed` when the loop ends: loops that refer to each other would be dropped
    /// recursively.
    fn forget(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn changed(&self, arguments: &[Value]) -> Result<Value> {
        // They are kept and compared with the next ones.
        arguments.iter().try_for_each(measure::charge_deep)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = last
            .as_ref()
            .is_some_and(|last| last.len() == arguments.len() && last.iter().zip(arguments).all(|(a, b)| equal(a, b)));
        if !same && !self.is_over.load(Ordering::Relaxed) {
            *last = Some(arguments.to_vec());
        }
        Ok(Value::from(!same))
    }
}

impl Object for LoopObject {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        LoopField::named(key.as_str()?).map(|field| self.now().field(field))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.looping.len)
    }

    fn render(self: &Arc<Self>, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let now = self.now();
        write!(out, "<LoopContext {}/{}>", now.index + 1, now.len)
    }
}

impl<'r> Evaluator<'r> {
    /// Runs a loop over a value; `depth` counts the levels of a recursive one.
    pub(super) fn for_loop(&mut self, node: &'r For, over: Value, depth: usize) -> Result<Flow> {
        let over = indexable(over);
        let mut over = self.at_span(&node.over.span, over)?;
        if let Some(only) = &node.only {
            over = self.kept(node, only, &over)?;
        }
        let len = items(&over).len();
        if let Some(outcomes) = &self.run.outcomes {
            outcomes.items(&node.over.span, len);
        }
        if len == 0 {
            return self.otherwise(node);
        }
        let looping = Loop { items: over, len, index: 0, depth };
        if node.object.is_some() {
            measure::check_held(items(&looping.items))?;
        }
        let object = node.object.map(|slot| {
            let around = self.activation().map_or(0, |activation| activation.around);
            let recursive = node.recursive.map(|function| (function, around));
            let (looping, index, last) = (looping.clone(), AtomicUsize::new(0), Mutex::default());
            (slot, Arc::new(LoopObject { looping, index, last, is_over: AtomicBool::new(false), recursive }))
        });
        if let Some(activation) = self.activation_mut() {
            activation.loops.push(looping);
        }
        let mut any_completed = false;
        for index in 0..len {
            self.step()?;
            self.enter(&node.inside.scope)?;
            let Some(item) = self.begin_iteration(index) else { break };
            if let Some((slot, object)) = &object {
                object.index.store(index, Ordering::Relaxed);
                self.set(*slot, Value::from_dyn_object(object.clone()));
            }
            if let Some(details) = &self.run.details {
                details.value(&node.over.span, &item);
            }
            self.assign(&node.target, item)?;
            match self.body(&node.inside.body)? {
                Flow::Next => any_completed = true,
                Flow::Break => break,
                Flow::Continue => {}
            }
        }
        if let Some(activation) = self.activation_mut() {
            activation.loops.pop();
        }
        if let Some((_, object)) = &object {
            object.forget();
        }
        if any_completed { Ok(Flow::Next) } else { self.otherwise(node) }
    }

    /// The items for which the condition of a loop holds.
    fn kept(&mut self, node: &'r For, only: &'r Expression, over: &Value) -> Result<Value> {
        let mut kept = Vec::new();
        for item in items(over) {
            self.step()?;
            self.enter(&node.inside.scope)?;
            self.assign(&node.target, item.clone())?;
            if self.truth(only)? {
                kept.push(item.clone());
            }
        }
        build::list(kept)
    }

    /// Runs the `else` of a loop that completed no iteration.
    fn otherwise(&mut self, node: &'r For) -> Result<Flow> {
        self.enter(&node.otherwise.scope)?;
        self.body(&node.otherwise.body)
    }

    /// Begins an iteration of the innermost loop, and returns its item.
    fn begin_iteration(&mut self, index: usize) -> Option<Value> {
        let looping = self.activation_mut()?.loops.last_mut()?;
        looping.index = index;
        items(&looping.items).get(index).cloned()
    }

    /// A field of the loop at this depth of its function.
    pub(super) fn loop_field(&self, level: usize, field: LoopField) -> Value {
        let looping = self.activation().and_then(|activation| activation.loops.get(level));
        looping.map_or(Value::UNDEFINED, |looping| looping.field(field))
    }

    /// `loop(value)`
    pub(super) fn recurse(&mut self, object: &LoopObject, over: Value) -> Result<Value> {
        let Some((function, around)) = object.recursive else {
            return Err(error("the loop is not recursive: it has to be declared so with 'recursive'"));
        };
        let depth = object.looping.depth + 1;
        let text = self.capture(|evaluator| evaluator.recursive_loop(function, around, over, depth))?;
        Ok(text.0)
    }

    /// Runs a recursive loop, declared in an activation.
    pub(super) fn recursive_loop(
        &mut self,
        function: FunctionId,
        around: usize,
        over: Value,
        depth: usize,
    ) -> Result<()> {
        let program = self.program;
        let Some(StatementKind::For(node)) =
            program.functions.get(function).and_then(|function| function.body.first()).map(|first| &first.kind)
        else {
            return Err(error("there is no such loop"));
        };
        self.running(function, around, |evaluator, _| evaluator.for_loop(node, over, depth).map(drop))
    }
}
