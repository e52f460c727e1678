//! The data that is read, derived, verified and found for an output, and the background work that produces it.

use super::chunking::Chunking;
use crate::repair::Effect;
use crate::replay::{Recovery, Run};
use backchat_core::diagnostic::{Diagnostic, Fix, line_column};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Chunks, Mode};
use backchat_parser::template::Template;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

/// An output, and what it is parsed with.
#[derive(Clone, Debug)]
pub struct Material {
    pub template: Template,
    /// Its file, as messages name it; empty or in angle brackets if no editor could open it.
    pub template_file: String,
    pub template_text: String,
    /// The bytes of the text that are the template.
    pub template_span: Range<usize>,
    /// A second template to compare with.
    pub other: Option<OtherTemplate>,
    /// The prompt that the output continues.
    pub prefix: String,
    pub output: String,
    /// The lengths of the chunks it came in, in characters, if they were recorded.
    pub chunks: Option<Vec<usize>>,
    /// The tools whose schemas give the types of arguments.
    pub tools: Option<Arc<Tools>>,
    pub recovery: Recovery,
    /// The expected message, if known.
    pub expected: Option<Object>,
    /// Whether a fixture allows it to give another message.
    pub is_excused: bool,
}

/// A text of up to this many characters is cut into single characters by default; a longer one into chunks of 4.
const SHORT: usize = 20_000;

impl Material {
    /// How the output is cut unless the user says otherwise: as recorded, if it was.
    pub fn default_chunking(&self) -> Chunking {
        match &self.chunks {
            Some(_) => Chunking::RECORDED,
            None if self.output.chars().nth(SHORT).is_some() => Chunks::Every(4).into(),
            None => Chunks::Every(1).into(),
        }
    }

    /// The template's text as shown: as in its file, or pretty-printed if it is one long line there.
    pub fn shown_template(&self) -> Cow<'_, str> {
        let written = slice(&self.template_text, self.template_span.clone());
        match written.trim().contains('\n') {
            true => Cow::Borrowed(written),
            false => Cow::Owned(self.template.to_json()),
        }
    }

    /// The number of a line of the shown template in its file, from 1; in what is shown if that is laid out anew.
    pub fn line_in_file(&self, shown: usize) -> usize {
        let first = match self.shown_template() {
            Cow::Borrowed(_) => line_column(&self.template_text, self.template_span.start).0,
            Cow::Owned(_) => 1,
        };
        first + shown
    }

    /// The output as a template reads it.
    pub fn run<'m>(&'m self, template: &'m Template, mode: Mode) -> Run<'m> {
        let (tools, recovery) = (self.tools.clone(), self.recovery);
        Run { template, prefix: &self.prefix, mode, tools, recovery }
    }

    /// Whether an editor could open the template's file.
    pub fn has_template_file(&self) -> bool {
        !self.template_file.is_empty() && !self.template_file.starts_with('<')
    }
}

#[derive(Clone, Debug)]
pub struct OtherTemplate {
    pub name: String,
    pub template: Template,
}

#[derive(Clone, Debug)]
pub struct Derived {
    /// Its status, in a word.
    pub status: String,
    /// The template, if there is one.
    pub template: Option<Value>,
}

/// Verifies a template on generated conversations. `None` if the chat template cannot be rendered.
pub type ProofTask = Task<Proof>;

#[derive(Clone, Debug)]
pub struct Proof {
    /// How many conversations were rendered and parsed back.
    pub cases: usize,
    /// How many parsed back, or lost only what their wire format cannot carry.
    pub passed: usize,
    /// The first problem.
    pub wrong: Option<String>,
    /// The smallest conversation of each failure.
    pub failures: Vec<Conversation>,
}

/// An output and the message it should give, such as a conversation that does not parse back.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The answer, and the difference.
    pub name: String,
    pub prefix: String,
    /// The model's turn.
    pub output: String,
    /// The tools it was given.
    pub tools: Option<Value>,
    /// The message that went in.
    pub expected: Option<Object>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The diagnostic of lint, or of a repair with which more conversations parse back.
    pub said: Diagnostic,
    /// The effect of its repair on the conversations of the proof; `None` if unknown.
    pub effect: Option<Effect>,
    /// The event at which it shows in the open output.
    pub event: Option<usize>,
    /// Whether its repair makes the open output give the expected message.
    pub settles: bool,
}

/// The id of the proof's findings; lint's have the id of their rule.
pub const PROOF: &str = "proof";

impl Finding {
    pub fn fix(&self) -> Option<&Fix> {
        self.said.fix.as_ref()
    }

    /// Whether it is about failing conversations.
    pub fn is_proof(&self) -> bool {
        self.said.id == PROOF
    }

    pub fn line(&self) -> String {
        match self.is_proof() {
            true => self.said.message.clone(),
            false => format!("{} {}", self.said.id, self.said.message),
        }
    }
}

/// The task that finds the repairs of a refuted template, and the effects of lint's.
pub type RepairTask = Task<Vec<Finding>>;

/// A template as its file has it: the file and its text.
pub(super) type TemplateFile = (String, String);

/// The findings about the template of the open output.
#[derive(Default)]
pub(super) struct Inspection {
    /// Lint's findings, and then all with the effects of the repairs.
    pub lint: Background<TemplateFile, Vec<Finding>>,
    pub repairs: Background<TemplateFile, Vec<Finding>>,
    /// The findings, each at its event.
    pub findings: Vec<Finding>,
    /// How often the list was replaced.
    pub version: usize,
    /// The recording in which the events were looked up.
    pub of: Option<u64>,
}

/// A long-running task; it returns `None` if it cannot be done.
pub type Task<T> = Box<dyn FnOnce() -> Option<T> + Send>;

/// Background work for a key, and its result.
pub(super) struct Background<K, T> {
    of: Option<K>,
    running: Option<Receiver<Option<T>>>,
    done: Option<T>,
}

impl<K, T> Default for Background<K, T> {
    fn default() -> Self {
        Self { of: None, running: None, done: None }
    }
}

impl<K: PartialEq, T: Send + 'static> Background<K, T> {
    pub fn done(&self) -> Option<&T> {
        self.done.as_ref()
    }

    /// Takes the result away.
    pub fn take(&mut self) -> Option<T> {
        self.done.take()
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether it is or was about this.
    pub fn is_about(&self, of: &K) -> bool {
        self.of.as_ref() == Some(of)
    }

    /// Starts a task and drops the previous one. Without a task there will be no result.
    pub fn start(&mut self, of: K, task: Option<Task<T>>) {
        let running = task.map(|task| {
            let (sender, receiver) = channel();
            // If the receiver was dropped, another task was started.
            thread::spawn(move || drop(sender.send(task())));
            receiver
        });
        *self = Self { of: Some(of), running, done: None };
    }

    /// Collects the result once it is ready; true if it just arrived.
    pub fn hear(&mut self) -> bool {
        let Some(running) = &self.running else { return false };
        let done = match running.try_recv() {
            Err(TryRecvError::Empty) => return false,
            Ok(done) => done,
            Err(TryRecvError::Disconnected) => None,
        };
        (self.running, self.done) = (None, done);
        true
    }
}
