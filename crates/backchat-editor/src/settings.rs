//! What a user sets for the server, in the editor or in `backchat.toml`.

use backchat_core::json::Value;
use backchat_derive::targets::Target;

use crate::finding::{Finding, Level};

/// When templates are proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProofMode {
    #[default]
    OnType,
    OnSave,
    Off,
}

/// The settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Levels of findings by their ids; `None` turns one off. The last one counts.
    pub levels: Vec<(String, Option<Level>)>,
    pub targets: Vec<&'static Target>,
    /// Variables of the chat template.
    pub set: Vec<(String, Value)>,
    /// The clock that it sees.
    pub now: String,
    pub proof: ProofMode,
    /// Milliseconds without an edit before anything is rendered.
    pub delay: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            levels: Vec::new(),
            targets: Vec::new(),
            set: Vec::new(),
            now: backchat_workbench::answers::NOW.to_owned(),
            proof: ProofMode::default(),
            delay: 100,
        }
    }
}

impl Settings {
    /// A finding at the user's level; `None` if it is off.
    pub fn level(&self, mut finding: Finding) -> Option<Finding> {
        if let Some((_, level)) = self.levels.iter().rfind(|(id, _)| *id == finding.code) {
            finding.level = (*level)?;
        }
        Some(finding)
    }
}
