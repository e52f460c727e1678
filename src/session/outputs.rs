use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::content::coerce::Tools;
use crate::diagnostic::{Diagnostic, Sources};
use crate::json::{Object, Value};
use crate::template::Template;

use super::{At, Chunking, Showing};

/// What lies on the bench: outputs, the template that reads them, and what can be done to either.
pub trait Desk {
    /// The outputs, by name.
    fn names(&self) -> &[String];

    /// Reads an output and all that belongs to it, as the files are now.
    fn material(&self, index: usize) -> Result<Material, Problem>;

    /// Whether all of an output is there.
    fn arrival(&self, _index: usize) -> Arrival {
        Arrival::Whole
    }

    /// The files that it is read from.
    fn files(&self, index: usize) -> Vec<PathBuf>;

    /// Where the output itself stands: its file, and the line from 1. None where it is in no file.
    fn place(&self, index: usize) -> Option<(PathBuf, usize)>;

    /// Whether the template can be derived again.
    fn can_derive(&self, index: usize) -> bool;

    /// Writes what a message should be into the output's fixture; gives what to tell the user.
    fn bless(&self, index: usize, material: &Material, message: &Object) -> Result<String, Problem>;

    /// Derives the template from the chat template again.
    fn derive(&self, index: usize) -> Result<Derived, Problem>;

    /// The work of proving a template against the chat template of an output; none where that is not known.
    fn prove(&self, _index: usize, _template: &Template) -> Option<Proving> {
        None
    }

    /// Puts conversations after the outputs, in place of those that were put there before; gives the index of the first.
    /// They belong to the template of an output.
    fn lay_out(&mut self, _conversations: Vec<Conversation>, _of: usize) -> usize {
        self.names().len()
    }

    /// The command line that shows what is on the screen, or why there is none.
    fn command(&self, index: usize, view: &View) -> Result<String, String>;
}

/// A proof that is still to be made; none where the chat template cannot be rendered.
pub type Proving = Box<dyn FnOnce() -> Option<Proof> + Send>;

/// What a proof came to.
#[derive(Clone, Debug)]
pub struct Proof {
    /// How many conversations were rendered and parsed back.
    pub cases: usize,
    /// How many came back, or lost only what their wire format cannot carry.
    pub passed: usize,
    /// What is wrong first, where something is.
    pub wrong: Option<String>,
    /// The smallest conversation of each failure.
    pub failures: Vec<Conversation>,
}

/// A conversation that does not come back as it went in.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// What was said, and what differs.
    pub name: String,
    /// The prompt.
    pub prefix: String,
    /// The model's turn.
    pub output: String,
    /// The tools it was given.
    pub tools: Option<Value>,
    /// The message that went in.
    pub expected: Option<Object>,
}

/// How much of an output is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// All of it.
    Whole,
    /// As much as was read; more may come.
    Awaited,
    /// More than was read.
    More,
}

/// An output, and what it is read with.
#[derive(Clone, Debug)]
pub struct Material {
    /// The template.
    pub template: Template,
    /// Its file, as messages name it; none where it is no file that an editor could open.
    pub template_file: String,
    /// The text of the file.
    pub template_text: String,
    /// Where in the text the template stands.
    pub template_span: Range<usize>,
    /// A second template to compare with.
    pub rival: Option<Rival>,
    /// The prompt that the output continues.
    pub prefix: String,
    /// What the model wrote.
    pub output: String,
    /// The lengths of the chunks it came in, in characters, where they were recorded.
    pub chunks: Option<Vec<usize>>,
    /// The tools whose schemas say what types arguments have.
    pub tools: Option<Arc<Tools>>,
    /// The message it should give, where that is known.
    pub expected: Option<Object>,
    /// Whether it is known to give another message than it should, and that is let pass.
    pub is_excused: bool,
}

/// A second template.
#[derive(Clone, Debug)]
pub struct Rival {
    /// Its file.
    pub name: String,
    /// The template.
    pub template: Template,
}

/// What a derivation gave.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Whether it was proved, in a word.
    pub status: String,
    /// The template, where there is one.
    pub template: Option<Value>,
}

/// Something that could not be done, and why.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What is wrong, and where.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts it is about.
    pub sources: Sources,
}

impl From<Diagnostic> for Problem {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], sources: Sources::none() }
    }
}

impl Problem {
    /// The problem in one line.
    pub fn line(&self) -> String {
        let Some(first) = self.diagnostics.first() else { return "it failed".to_owned() };
        let place = first.place.as_ref();
        let file = place.and_then(|place| place.file.as_deref()).unwrap_or("");
        let line = place.and_then(|place| place.line_column).map(|(line, column)| format!(":{line}:{column}"));
        let separator = if file.is_empty() { "" } else { ": " };
        let more = match self.diagnostics.len() {
            ..=1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        format!("{file}{}{separator}{}{more}", line.unwrap_or_default(), first.message)
    }
}

/// What is on the screen, as far as a command line can say it.
#[derive(Clone, Debug)]
pub struct View {
    /// The moment.
    pub at: At,
    /// How the output is cut.
    pub chunking: Chunking,
    /// Whose answer is shown.
    pub showing: Showing,
}
