//! One conversation of an agent, what a healthy render of it is, and what a render turns out to be.

use super::problem::Problem;
use crate::doctor::probe::{Chat, Outcome};
use crate::probe::needle;

/// What becomes of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// All of it is shown.
    Shown,
    /// The template raises.
    Refused,
    /// A text is missing.
    Dropped,
    /// Words such as `None`, or a Python list, stand in the prompt.
    Printed,
    /// It reads as if an assistant had said it.
    AsAssistant,
    /// All texts are there, but not in the order of the conversation.
    Moved,
}

impl Fate {
    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
            Self::Printed => "printed",
            Self::AsAssistant => "as_assistant",
            Self::Moved => "moved",
        }
    }

    /// Whether a repair should change it.
    pub fn is_problem(self) -> bool {
        !matches!(self, Self::Shown | Self::Moved)
    }
}

/// A conversation, with the texts that a healthy template may render.
#[derive(Clone, Debug)]
pub struct Case {
    pub problem: Problem,
    pub shape: &'static str,
    pub chat: Chat,
    /// Renders that say the same, the one to prefer first; empty if none is known.
    pub accepted: Vec<String>,
    /// The texts that must be shown.
    pub needles: Vec<&'static str>,
    /// The render of the conversation in which an assistant says it.
    pub as_assistant: Option<String>,
}

/// What a template prints by mistake instead of a text.
fn misprints() -> [String; 6] {
    let key = needle::KEYS[0];
    ["None", "{'type'", "{\"type\": \"text\"", &format!("\\\"{key}"), &format!("{{'{key}"), "Undefined"]
        .map(str::to_owned)
}

impl Case {
    /// What a render makes of the conversation.
    pub fn fate(&self, outcome: &Outcome) -> Fate {
        let Ok(text) = outcome else { return Fate::Refused };
        if self.accepted.contains(text) {
            return Fate::Shown;
        }
        if !self.shows_all(text) || matches!(self.problem, Problem::GenerationPrompt | Problem::Stop) {
            return Fate::Dropped;
        }
        if let Some(twin) = self.accepted.first() {
            let misprinted = |word: &String| text.matches(word).count() > twin.matches(word).count();
            if misprints().iter().any(misprinted) {
                return Fate::Printed;
            }
        }
        if self.as_assistant.as_ref() == Some(text) {
            return Fate::AsAssistant;
        }
        let places: Vec<_> = self.needles.iter().map(|needle| text.find(needle)).collect();
        if self.problem.is_about_order() && !places.is_sorted() { Fate::Moved } else { Fate::Shown }
    }

    /// Whether any render that shows all texts will do.
    fn is_loose(&self) -> bool {
        self.problem == Problem::Tools && self.accepted.is_empty()
    }

    /// Whether it is known what a repair should give.
    pub fn has_healthy_render(&self) -> bool {
        self.is_loose() || !self.accepted.is_empty()
    }

    /// Whether a render is what a repair should give.
    pub fn is_healthy(&self, text: &str) -> bool {
        (self.is_loose() && self.shows_all(text)) || self.accepted.iter().any(|other| other == text)
    }

    fn shows_all(&self, text: &str) -> bool {
        self.needles.iter().all(|needle| text.contains(needle))
    }
}
