//! What is read, derived and verified: plain data.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::background::Task;
use super::chunking::Chunking;
use crate::replay::Recovery;
use backchat_core::diagnostic::line_column;
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::Chunks;
use backchat_parser::template::Template;

/// An output, and what it is parsed with.
#[derive(Clone, Debug)]
pub struct Material {
    /// The template.
    pub template: Template,
    /// Its file, as messages name it; empty or in angle brackets if no editor could open it.
    pub template_file: String,
    /// The text of the file.
    pub template_text: String,
    /// The bytes of the text that are the template.
    pub template_span: Range<usize>,
    /// A second template to compare with.
    pub other: Option<OtherTemplate>,
    /// The prompt that the output continues.
    pub prefix: String,
    /// What the model wrote.
    pub output: String,
    /// The lengths of the chunks it came in, in characters, if they were recorded.
    pub chunks: Option<Vec<usize>>,
    /// The tools whose schemas say what types arguments have.
    pub tools: Option<Arc<Tools>>,
    /// How text is read that departs from the format.
    pub recovery: Recovery,
    /// The message it should give, if that is known.
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

    /// The template's text as it is shown: as in its file, or in several lines if it is one long line there.
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

    /// Whether an editor could open the template's file.
    pub fn has_template_file(&self) -> bool {
        !self.template_file.is_empty() && !self.template_file.starts_with('<')
    }
}

/// A second template.
#[derive(Clone, Debug)]
pub struct OtherTemplate {
    /// Its file.
    pub name: String,
    /// The template.
    pub template: Template,
}

/// The result of a derivation.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Whether it was verified, in a word.
    pub status: String,
    /// The template, if there is one.
    pub template: Option<Value>,
}

/// Verifies a template on generated conversations. Gives nothing if the chat template cannot be rendered.
pub type ProofTask = Task<Proof>;

/// The result of a proof.
#[derive(Clone, Debug)]
pub struct Proof {
    /// How many conversations were rendered and parsed back.
    pub cases: usize,
    /// How many came back, or lost only what their wire format cannot carry.
    pub passed: usize,
    /// The first thing that is wrong.
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
