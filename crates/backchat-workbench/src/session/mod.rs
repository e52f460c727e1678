//! A session of the workbench: outputs that are replayed, edited, blessed and verified. Data and operations,
//! independent of the terminal; it prints nothing.
//!
//! [`Session`] is the state, and each file adds its operations. [`Outputs`] is its input: [`OutputSet`] implements it for the
//! outputs of a command line, tests and benchmarks bring their own. `tui` draws a session, and `cli/replay` opens one.

mod editing;
mod findings;
mod opening;
mod output_set;
mod playback;
mod recording;
mod search;

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::findings::Inspection;
use crate::replay::{Chunking, Recording, Recovery, Run, Side};
use backchat_core::diagnostic::{Diagnostic, Place, line_column};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Chunks, Mode};
use backchat_parser::template::Template;

pub use self::editing::{Change, Editing};
pub use self::findings::{ChatTemplate, Finding, Proof, ProofState, ProofTask, RepairTask};
pub use self::opening::{Library, Start};
pub use self::output_set::{GeneratedOutput, Origin, OutputSet, Request, Stdin, derived};
pub use self::playback::{Playback, Position, Step};
pub use self::recording::{Showing, Verdict, mode_name};
pub use self::search::{Hit, Search};
pub use crate::input::{Arrival, Problem};
pub use crate::repair::Effect;

pub struct Session {
    /// The outputs, and what was read of the open one.
    pub library: Library,
    /// The recordings, and the position in them.
    pub playback: Playback,
    pub editing: Editing,
    /// The findings about the template.
    inspection: Inspection,
    /// The notice shown until the next key.
    pub notice: Option<String>,
}

/// How often to check whether more of an output has arrived.
const AWAITED: Duration = Duration::from_millis(40);

impl Session {
    /// Shows a notice until the next key.
    pub fn say(&mut self, notice: impl Into<String>) {
        self.notice = Some(notice.into());
    }

    /// Shows why an operation has no result.
    fn refuse<T>(&mut self, notice: impl Into<String>) -> Option<T> {
        self.say(notice);
        None
    }

    /// The recording that is stepped through, and its moment. A second side follows it.
    pub fn side(&self) -> Option<&Side> {
        self.playback.sides.first()
    }

    pub fn recording(&self) -> Option<&Recording> {
        self.side().map(|side| &side.recording)
    }

    /// Does a slice of background work.
    pub fn work(&mut self, now: Instant) -> Worked {
        let grown = self.read_arrived(now) | self.take_added() | self.take_background_read();
        let played = self.play(now);
        let searched = self.continue_cut_search(now);
        let judged = self.judge_one();
        let inspected = self.continue_inspection();
        let is_news = judged == Some(self.library.output) || (judged.is_some() && !self.has_unjudged());
        Worked { changed: grown || played || searched || inspected || is_news, judged: judged.is_some() }
    }

    /// Whether there is work that should not wait.
    pub fn is_busy(&self) -> bool {
        self.playback.cut_search.is_some() || self.has_unjudged()
    }

    /// How long until something is due.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let piece = self.library.is_partial().then_some(AWAITED);
        self.playback.clock.wait(now).into_iter().chain(piece).min()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// Whether the view of the open output changed.
    pub changed: bool,
    /// Whether an output of the list was judged.
    pub judged: bool,
}

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

    /// The chat template that the template of an output is proved with. `None` if it is not known.
    fn chat_template(&self, _index: usize) -> Option<ChatTemplate> {
        None
    }

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

/// An output and the message it should give, such as a conversation that does not parse back.
#[derive(Clone, Debug, Default, PartialEq)]
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
