//! The interface to what a session works on: outputs, the templates that parse them, and their operations.
//!
//! [`OutputSet`](super::OutputSet) implements this for files; tests and benchmarks bring their own.

use super::chunking::Chunking;
use super::material::{Conversation, Derived, Finding, Material, ProofTask, RepairTask};
use super::playback::{Position, Showing};
use crate::input::Problem;
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::Object;
use backchat_parser::template::Template;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A list of outputs, counted from 0.
pub trait Outputs {
    /// The outputs, by name.
    fn names(&self) -> &[String];

    /// Reads an output and everything that belongs to it from the files as they are now.
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

/// How much of an output has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// All of it.
    Whole,
    /// Everything so far; more may arrive.
    Awaited,
    /// Not all of it.
    More,
}

/// The current view, as far as a command line can express it.
#[derive(Clone, Debug)]
pub struct View {
    pub at: Position,
    pub chunking: Chunking,
    pub showing: Showing,
}
