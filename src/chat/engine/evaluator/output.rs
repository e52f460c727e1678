//! Where text goes: the output of the render, or what a block captures.

use std::mem;

use minijinja::Value;

use super::Evaluator;
use crate::chat::engine::limits;
use crate::chat::values::text::to_str;
use crate::chat::values::{Result, markup};

/// Bytes of text in a template that are captured without being counted.
const SHORT_TEXT: usize = 64;

/// The text so far, and the spans of generation blocks in it.
#[derive(Debug)]
pub(super) struct Output {
    text: String,
    /// How many blocks capture what is printed, one inside the other.
    captures: usize,
    /// Bytes of the output that are counted, and how many code points they are.
    counted: (usize, usize),
    /// The code points of the output when what is going on `apart` began.
    reached: Option<usize>,
    spans: Vec<(usize, usize)>,
}

impl Output {
    pub(super) fn new(room: usize) -> Self {
        Self { text: String::with_capacity(room), captures: 0, counted: (0, 0), reached: None, spans: Vec::new() }
    }

    pub(super) fn into_rendered(self) -> (String, Vec<(usize, usize)>) {
        (self.text, self.spans)
    }

    fn push(&mut self, text: &str) -> Result<()> {
        if self.text.len() + text.len() > limits::MAX_TEXT {
            return limits::too_much_text();
        }
        self.text.push_str(text);
        Ok(())
    }

    /// How many code points have reached the output; text that a macro or block captures has not yet.
    fn code_points(&mut self) -> usize {
        if let Some(reached) = self.reached {
            return reached;
        }
        let (bytes, code_points) = self.counted;
        let more = self.text.get(bytes..).unwrap_or_default().chars().count();
        self.counted = (self.text.len(), code_points + more);
        self.counted.1
    }
}

impl<'r> Evaluator<'r> {
    /// Writes text of the template.
    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        if self.output.captures > 0 && text.len() > SHORT_TEXT {
            limits::charge_printed(text)?;
        }
        self.output.push(text)
    }

    /// Prints a value.
    pub(super) fn print(&mut self, value: &Value) -> Result<()> {
        let text = to_str(value);
        if self.run.escapes() && !value.is_safe() {
            limits::charge_printed(&text)?;
            let mut escaped = String::new();
            markup::escape_into(&mut escaped, &text);
            return self.output.push(&escaped);
        }
        self.print_text(&text)
    }

    /// Prints text as it is.
    pub(super) fn print_text(&mut self, text: &str) -> Result<()> {
        limits::charge_printed(text)?;
        self.output.push(text)
    }

    /// How far the text has got that is printed now.
    pub(super) fn printed_so_far(&self) -> usize {
        self.output.text.len()
    }

    /// Takes what was printed from there on back from the output.
    pub(super) fn take_back(&mut self, start: usize) -> String {
        self.output.text.split_off(start)
    }

    /// What is printed meanwhile, as a value, and what came of it.
    pub(super) fn capture<T>(&mut self, print: impl FnOnce(&mut Self) -> Result<T>) -> Result<(Value, T)> {
        self.apart(|evaluator| {
            let outer = mem::take(&mut evaluator.output.text);
            evaluator.output.captures += 1;
            let printed = print(evaluator);
            evaluator.output.captures -= 1;
            let text = mem::replace(&mut evaluator.output.text, outer);
            let text = if evaluator.run.escapes() { Value::from_safe_string(text) } else { Value::from(text) };
            Ok((text, printed?))
        })
    }

    /// Runs a macro, a recursive loop, a capture or what prints an expression part by part: for generation blocks inside,
    /// the output is what was written before.
    pub(super) fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if !self.program.has_generation_blocks || self.output.reached.is_some() {
            return run(self);
        }
        self.output.reached = Some(self.output.code_points());
        let result = run(self);
        self.output.reached = None;
        result
    }

    /// Marks what is printed meanwhile as the assistant's.
    pub(super) fn generation(&mut self, print: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let start = self.output.code_points();
        let from = self.output.text.len();
        self.apart(print)?;
        let body = self.output.text.get(from..).unwrap_or_default().chars().count();
        self.output.spans.push((start, start + body));
        Ok(())
    }
}
