//! What the user typed onto outputs, and what can be edited. Plain data; `typing` changes it.

use std::collections::HashMap;
use std::path::PathBuf;

/// The edits of a session.
#[derive(Debug, Default)]
pub struct Editing {
    /// Whether keys are text.
    pub is_typing: bool,
    /// The repairs that were applied, the last of them last.
    pub(super) applied: Vec<Applied>,
    /// The outputs that were typed on, as they are now.
    pub edits: HashMap<usize, Edit>,
    /// Whether there is a file to open in an editor.
    pub can_edit: bool,
    /// Whether the template can be derived again.
    pub can_derive: bool,
}

/// An output that was typed on.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The whole text.
    pub text: String,
    /// The lengths of its chunks, in characters.
    pub lengths: Vec<usize>,
}

/// A repair that was applied.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The file.
    pub(super) file: PathBuf,
    /// Its text before and after.
    pub(super) before: String,
    pub(super) after: String,
    /// The change in words.
    pub(super) message: String,
    /// Whether the proof after it was reported.
    pub(super) is_proved: bool,
}
