//! The interface to the input of a session: outputs, the templates that parse them, and their operations.
//!
//! [`OutputSet`](super::OutputSet) implements this for files; tests and benchmarks bring their own.

use super::Showing;
use super::background::Task;
use super::playback::Position;
use crate::input::{Arrival, Problem};
use crate::repair::Effect;
use crate::replay::{Chunking, Recovery, Run};
use backchat_core::diagnostic::{Diagnostic, Fix, Place, line_column};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Chunks, Mode};
use backchat_parser::template::Template;
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A list of outputs, counted from 0.
pub trait Outputs {
    /// The outputs, by name.
    fn names(&self) -> &[String];

    /// Reads an output, its template and its fixture from the current files.
    fn material(&self, index: usize) -> Result<Material, Problem>;

    /// Whether an output is complete.
    fn arrival(&self, _index: usize) -> Arrival {
        Arrival::Whole
    }

    /// Adds the outputs that are new since the last call; returns their indices. Later ones are renumbered.
    fn take_added(&mut self) -> Range<usize> {
        0..0
    }

    /// The files that an output is read from; the workbench reads an output again when one changes.
    fn files(&self, index: usize) -> Vec<PathBuf>;

    /// The file of the output itself and the line it starts on, counted from 1. `None` if it is in no file.
    fn place(&self, index: usize) -> Option<(PathBuf, usize)>;

    /// Whether [`derive`](Self::derive) has a chat template to work with.
    fn can_derive(&self, index: usize) -> bool;

    /// Writes the expected message into the output's fixture; returns the message for the user.
    fn bless(&self, index: usize, material: &Material, message: &Object) -> Result<String, Problem>;

    /// Derives the template from the chat template again.
    fn derive(&self, index: usize) -> Result<Derived, Problem>;

    /// The task that verifies a template against the chat template of an output. `None` if that is not known.
    fn proof_task(&self, _index: usize, _template: &Template) -> Option<ProofTask> {
        None
    }

    /// The task that finds the repairs of a template, and the effects of lint's. `None` without a chat template.
    fn repair_task(&self, _index: usize, _material: &Material, _linted: &[Finding]) -> Option<RepairTask> {
        None
    }

    /// Writes the text of a template's file, if the file still holds the text before.
    fn write_template(&self, file: &Path, _before: &str, _after: &str) -> Result<(), Problem> {
        let place = Place::file(file.display().to_string());
        Err(Diagnostic::error("read-only", "the template of these outputs cannot be written").at(place).into())
    }

    /// Appends conversations to the outputs, in place of those appended before; returns the index of the first. They
    /// are parsed with the template of the output `of`.
    fn append_conversations(&mut self, _conversations: Vec<Conversation>, _of: usize) -> usize {
        self.names().len()
    }

    /// The command line that shows the same view, or why there is none.
    fn command(&self, index: usize, view: &View) -> Result<String, String>;
}

/// The current view, as far as a command line can express it.
#[derive(Clone, Debug)]
pub struct View {
    pub at: Position,
    pub chunking: Chunking,
    pub showing: Showing,
}

/// An output with its template, prompt, tools and expectation.
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
    /// The lengths of its recorded chunks, in characters.
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
    /// The chunking unless the user chooses one: as recorded, if it was.
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
        if written.trim().contains('\n') { Cow::Borrowed(written) } else { Cow::Owned(self.template.to_json()) }
    }

    /// The number of a line of the shown template in its file, from 1; in the shown text if that was reformatted.
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
        if self.is_proof() { self.said.message.clone() } else { format!("{} {}", self.said.id, self.said.message) }
    }
}

/// The task that finds the repairs of a refuted template, and the effects of lint's.
pub type RepairTask = Task<Vec<Finding>>;
