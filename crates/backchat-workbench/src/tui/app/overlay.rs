//! Overlays of the screen: questions, choices, lists, texts. Plain data; `overlay_keys` handles the keys.

use super::picker::Picker;
use crate::session::Departure;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    Help {
        top: usize,
    },
    /// A question answered by a line of text.
    Ask {
        ask: Ask,
        typed: String,
    },
    Choose(Choice),
    Outputs(Picker),
    /// Every action.
    Palette(Picker),
    Stops {
        selected: usize,
    },
    /// The changes of blessing, and the question whether to make them.
    Bless {
        title: String,
        /// The change, in lines that are safe to show.
        lines: Vec<String>,
        top: usize,
    },
    /// A finding about the template, and its repair.
    Finding {
        index: usize,
        top: usize,
        /// The findings of which it was drawn as one: `F` applies what is on the screen, or nothing.
        version: usize,
    },
    Text {
        title: String,
        /// The expected value, shown above the lines.
        departure: Option<Departure>,
        /// Its lines, safe to show.
        lines: Vec<String>,
        top: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Stop,
    Search,
    Chunking,
}

/// The list to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Chunking,
    Copy,
}

impl Ask {
    pub fn words(self) -> &'static str {
        match self {
            Ask::Stop => "Stop at open, chunk, close, malformed, a field's name, a number of characters or /pattern/",
            Ask::Search => "Search for a text or a /pattern/",
            Ask::Chunking => "Cut: whole, recorded, a number of characters, random:SEED or cut:N,N",
        }
    }
}

impl Choice {
    /// The options: a key, and its meaning.
    pub fn options(self) -> &'static [(char, &'static str)] {
        match self {
            Choice::Chunking => &[
                ('w', "the whole output in one chunk"),
                ('1', "one character at a time"),
                ('n', "another number of characters, or a rule"),
                ('r', "at random; again for the next seed"),
                ('o', "as recorded"),
                ('x', "where the reference's answer changes"),
            ],
            Choice::Copy => {
                &[('r', "the text of the region"), ('m', "the message"), ('c', "the command that shows this view")]
            }
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Choice::Chunking => "Cut the output",
            Choice::Copy => "Copy",
        }
    }
}

impl Overlay {
    pub fn ask(ask: Ask) -> Self {
        Self::Ask { ask, typed: String::new() }
    }

    pub fn text(title: impl Into<String>, lines: Vec<String>) -> Self {
        Self::Text { title: title.into(), departure: None, lines, top: 0 }
    }

    /// The first line that is shown of a text; drawing keeps it within the text.
    pub fn top(&mut self) -> Option<&mut usize> {
        match self {
            Self::Help { top } | Self::Bless { top, .. } | Self::Finding { top, .. } | Self::Text { top, .. } => {
                Some(top)
            }
            Self::Ask { .. } | Self::Choose(_) | Self::Outputs(_) | Self::Palette(_) | Self::Stops { .. } => None,
        }
    }
}
