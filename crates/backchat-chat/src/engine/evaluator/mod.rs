//! Runs a compiled template.
//!
//! Every function that runs has an activation: its variables, its loops, and the activation of the function it was
//! declared in, where the names it does not bind are looked up. Text goes straight to the output, or to the buffer of a
//! capturing block.

mod absent;
mod call;
mod callable;
mod expression;
mod loops;
mod output;
mod print;
mod recorded_link;
mod statement;

use std::mem;

use minijinja::Value;

use super::context::Context;
use super::limits::{self, Exceeded};
use super::program::{Body, Function, FunctionId, Name, Otherwise, Program, Scope, Slot, Statement, Upvalue};
use super::run::Run;
use crate::jinja::syntax::tree::Span;
use crate::origin::Rendered;
use crate::values::{Result, error};

use loops::Loop;

/// The number of steps after which the clock and the budget are checked.
const STEPS_BETWEEN_CHECKS: u64 = 4096;

/// How execution continues after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// One run of a function.
#[derive(Debug, Default)]
struct Activation {
    function: FunctionId,
    /// Its variables; `None` until they are set.
    slots: Vec<Option<Value>>,
    /// The loops it is in.
    loops: Vec<Loop>,
    /// The activation of the function it was declared in.
    around: usize,
}

pub(crate) struct Evaluator<'r> {
    program: &'r Program,
    context: &'r Context,
    run: &'r Run,
    activations: Vec<Activation>,
    /// The activation of the function that runs now.
    at: usize,
    /// Finished activations, kept to reuse their memory.
    spare: Vec<Activation>,
    output: output::Output,
    /// The text that the filter of a block applies to.
    captured: Option<Value>,
    steps: u64,
    depth: usize,
    /// The innermost expression or statement that failed, in bytes of the source.
    pub(crate) failed_at: Option<Span>,
    /// The innermost statement that failed.
    failed_in: Option<&'r Statement>,
}

impl<'r> Evaluator<'r> {
    /// An evaluator whose output has room for that many bytes.
    pub(crate) fn new(program: &'r Program, context: &'r Context, run: &'r Run, room: usize) -> Self {
        Self {
            program,
            context,
            run,
            activations: Vec::new(),
            at: 0,
            spare: Vec::new(),
            output: output::Output::new(room, run.traces),
            captured: None,
            steps: 0,
            depth: 0,
            failed_at: None,
            failed_in: None,
        }
    }

    pub(crate) fn template(&mut self) -> Result<()> {
        self.function(0, 0, |_, _| Ok(()))?;
        // Lookups cannot fail: once a limit is exceeded, they find nothing.
        limits::check()
    }

    /// How many steps it has taken, and how many bytes it has written.
    pub(crate) fn cost(&self) -> (u64, usize) {
        (self.steps, self.output_len())
    }

    /// What was printed.
    pub(crate) fn into_rendered(self) -> Rendered {
        self.output.into_rendered()
    }

    /// Records where an error came from; the innermost place wins.
    #[inline(always)]
    fn at_span<T>(&mut self, span: &Span, result: Result<T>) -> Result<T> {
        if result.is_err() && self.failed_at.is_none() {
            self.failed_at = Some(span.clone());
        }
        result
    }

    fn step(&mut self) -> Result<()> {
        self.steps_of(1)
    }

    /// Counts steps of work, such as one for each item of a list.
    fn steps_of(&mut self, count: usize) -> Result<()> {
        let before = self.steps;
        self.steps += count as u64;
        if before / STEPS_BETWEEN_CHECKS != self.steps / STEPS_BETWEEN_CHECKS {
            limits::check_steps(self.steps)?;
        }
        if self.steps > limits::STEPS { limits::exceed(Exceeded::Steps) } else { Ok(()) }
    }

    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == limits::LEVELS {
            return Err(error("the template calls and nests too deep"));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Runs the body of a function that was declared in an activation; `bind` sets its parameters.
    fn function(
        &mut self,
        id: FunctionId,
        around: usize,
        bind: impl FnOnce(&mut Self, &'r Function) -> Result<()>,
    ) -> Result<()> {
        self.running(id, around, |evaluator, function| {
            bind(evaluator, function)?;
            evaluator.body(&function.body).map(drop)
        })
    }

    /// Runs a closure in a new activation of a function that was declared in another one.
    fn running(
        &mut self,
        id: FunctionId,
        around: usize,
        inside: impl FnOnce(&mut Self, &'r Function) -> Result<()>,
    ) -> Result<()> {
        let program = self.program;
        let Some(function) = program.functions.get(id) else { return Err(error("there is no such function")) };
        if self.activations.len() == limits::MAX_ACTIVATIONS {
            return Err(error(format!("more than {} calls of macros that declare others", limits::MAX_ACTIVATIONS)));
        }
        limits::charge_variables(function.slots)?;
        let mut activation = self.spare.pop().unwrap_or_default();
        activation.slots.resize(function.slots, None);
        (activation.function, activation.around) = (id, around);
        let id = self.activations.len();
        self.activations.push(activation);
        let caller = mem::replace(&mut self.at, id);
        self.nested(|evaluator| inside(evaluator, function))?;
        self.at = caller;
        // The variables of a function that declared others outlive it.
        if !function.declares
            && id + 1 == self.activations.len()
            && let Some(mut over) = self.activations.pop()
        {
            over.slots.clear();
            over.loops.clear();
            self.spare.push(over);
        }
        Ok(())
    }

    fn activation(&self) -> Option<&Activation> {
        self.activations.get(self.at)
    }

    fn activation_mut(&mut self) -> Option<&mut Activation> {
        self.activations.get_mut(self.at)
    }

    fn set(&mut self, slot: Slot, value: Value) {
        if let Some(place) = self.activation_mut().and_then(|activation| activation.slots.get_mut(slot)) {
            *place = Some(value);
        }
    }

    /// Enters a scope: its variables are unset.
    fn enter(&mut self, scope: &Scope) -> Result<()> {
        if scope.is_empty() {
            return Ok(());
        }
        limits::charge_variables(scope.len())?;
        if let Some(slots) = self.activation_mut().and_then(|activation| activation.slots.get_mut(scope.clone())) {
            slots.fill(None);
        }
        Ok(())
    }

    fn variable(&self, upvalue: Upvalue) -> Option<&Value> {
        let mut at = self.at;
        for _ in 0..upvalue.out {
            at = self.activations.get(at)?.around;
        }
        self.activations.get(at)?.slots.get(upvalue.slot)?.as_ref()
    }

    /// The value of a name, if it is a variable that is set.
    fn known(&self, name: &'r Name) -> Option<&Value> {
        if let Some(value) = name.upvalues.iter().find_map(|upvalue| self.variable(*upvalue)) {
            return Some(value);
        }
        match name.otherwise {
            Otherwise::Context(number) | Otherwise::Function(number, _) => {
                self.context.variable(number, self.program.context_name(number))
            }
            Otherwise::Blocks | Otherwise::Nothing => None,
        }
    }

    fn body(&mut self, body: &'r Body) -> Result<Flow> {
        for statement in body {
            self.step()?;
            let flow = self.statement(statement);
            if flow.is_err() && self.failed_in.is_none() {
                self.failed_in = Some(statement);
            }
            let flow = self.at_span(&statement.span, flow)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }
}
