//! The destination of text: the output of the render, or the capture of a block.

use std::mem;

use minijinja::Value;

use super::Evaluator;
use crate::engine::limits::{self, Exceeded};
use crate::jinja::syntax::tree::Span;
use crate::origin::{Origin, Rendered};
use crate::values::text::to_str;
use crate::values::{Result, markup};

/// Bytes of text in a template that are captured without being counted.
const SHORT_TEXT: usize = 64;

/// The render so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    text: String,
    /// The nesting depth of capturing blocks.
    captures: usize,
    /// How many bytes of the output are counted, and their number of code points.
    counted: (usize, usize),
    /// The number of code points in the output when the current `at_fixed_position` began.
    reached: Option<usize>,
    spans: Vec<(usize, usize)>,
    /// The origins of the text, if they are recorded.
    origins: Option<Vec<Origin>>,
}

impl Output {
    pub(super) fn new(room: usize, traces: bool) -> Self {
        Self { text: String::with_capacity(room), origins: traces.then(Vec::new), ..Self::default() }
    }

    pub(super) fn into_rendered(self) -> Rendered {
        Rendered { text: self.text, assistant_spans: self.spans, origins: self.origins.unwrap_or_default() }
    }

    fn push(&mut self, text: &str) -> Result<()> {
        if self.text.len() + text.len() > limits::MAX_TEXT {
            return limits::exceed(Exceeded::Output);
        }
        self.text.push_str(text);
        Ok(())
    }

    /// The number of code points in the output, without text that a macro or block is capturing.
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
    /// Writes a text of the template, from this position.
    pub(super) fn text(&mut self, text: &str, place: &Span) -> Result<()> {
        if self.output.captures > 0 && text.len() > SHORT_TEXT {
            limits::charge_printed(text)?;
        }
        self.output.push(text)?;
        if self.output.captures == 0
            && let Some(origins) = &mut self.output.origins
        {
            let (mut to, mut from) = (self.output.text.len() - text.len(), place.start);
            for line in text.split_inclusive('\n') {
                origins.push(Origin { text: to..to + line.len(), source: from..from + line.len() });
                (to, from) = (to + line.len(), from + line.len());
            }
        }
        Ok(())
    }

    pub(super) fn print(&mut self, value: &Value) -> Result<()> {
        let text = to_str(value);
        if self.run.escapes.get() && !value.is_safe() {
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

    /// The position at the end of the text printed so far.
    pub(super) fn output_len(&self) -> usize {
        self.output.text.len()
    }

    /// Attributes all text that has no origin yet to the expression or block at this position.
    pub(super) fn attribute_to(&mut self, place: &Span) {
        let Output { text, captures: 0, origins: Some(origins), .. } = &mut self.output else { return };
        let start = origins.last().map_or(0, |last| last.text.end);
        if start < text.len() {
            origins.push(Origin { text: start..text.len(), source: place.clone() });
        }
    }

    /// Removes the text after this position from the output.
    pub(super) fn remove_since(&mut self, start: usize) -> String {
        if self.output.captures == 0
            && let Some(origins) = &mut self.output.origins
        {
            origins.truncate(origins.partition_point(|origin| origin.text.end <= start));
        }
        self.output.text.split_off(start)
    }

    /// Runs a closure and returns what it printed as a value, with its result.
    pub(super) fn capture<T>(&mut self, print: impl FnOnce(&mut Self) -> Result<T>) -> Result<(Value, T)> {
        self.at_fixed_position(|evaluator| {
            let outer = mem::take(&mut evaluator.output.text);
            evaluator.output.captures += 1;
            let printed = print(evaluator);
            evaluator.output.captures -= 1;
            let text = mem::replace(&mut evaluator.output.text, outer);
            let text = if evaluator.run.escapes.get() { Value::from_safe_string(text) } else { Value::from(text) };
            Ok((text, printed?))
        })
    }

    /// Runs a macro, a recursive loop or a capture, or prints an expression in parts. Generation blocks inside count
    /// from where it began.
    pub(super) fn at_fixed_position<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if !self.program.has_generation_blocks || self.output.reached.is_some() {
            return run(self);
        }
        self.output.reached = Some(self.output.code_points());
        let result = run(self);
        self.output.reached = None;
        result
    }

    /// Marks the text that a closure prints as the assistant's.
    pub(super) fn generation(&mut self, print: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let start = self.output.code_points();
        let from = self.output.text.len();
        self.at_fixed_position(print)?;
        let body = self.output.text.get(from..).unwrap_or_default().chars().count();
        self.output.spans.push((start, start + body));
        Ok(())
    }
}
