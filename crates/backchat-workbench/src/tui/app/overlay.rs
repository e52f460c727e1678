//! Overlays of the screen: questions, choices, lists, texts; and the keys and the mouse while one is open.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};
use ratatui::layout::Position as Cell;

use super::super::keys::moved;
use super::super::mismatch::Mismatch;
use super::picker::Picker;
use super::{App, Effect};
use crate::replay::{ChunkRule, Chunking};
use crate::session::Session;
use backchat_parser::parser::Chunks;

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
        mismatch: Option<Mismatch>,
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
        Self::Text { title: title.into(), mismatch: None, lines, top: 0 }
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

impl App {
    pub(super) fn overlay_key(&mut self, key: KeyEvent) -> Option<Effect> {
        let overlay = self.layout.overlay.take()?;
        if key.code == KeyCode::Esc {
            return None;
        }
        match overlay {
            Overlay::Ask { ask, typed } => self.asked(ask, typed, key),
            Overlay::Choose(choice) => return self.chosen(choice, key.code),
            Overlay::Outputs(picker) => self.outputs_key(picker, key),
            Overlay::Palette(picker) => return self.palette_key(picker, key),
            Overlay::Stops { selected } => self.stops_key(selected, key.code),
            Overlay::Bless { .. } if key.code == KeyCode::Char('y') => self.attempt("Bless", Session::bless),
            Overlay::Bless { .. } if matches!(key.code, KeyCode::Char('n' | 'q')) => {
                self.session.say("nothing was written");
            }
            Overlay::Finding { index, top, version } => self.finding_key(index, top, version, key.code),
            text => self.text_key(text, key.code),
        }
        None
    }

    /// Scrolls a text, or closes it; a question stays until it is answered.
    pub(super) fn text_key(&mut self, mut text: Overlay, key: KeyCode) {
        let is_question = matches!(text, Overlay::Bless { .. });
        let Some(top) = text.top() else { return };
        match moved(*top, key, self.layout.drawn.overlay_page()) {
            Some(moved) => *top = moved,
            None if is_question => {}
            None => return,
        }
        self.layout.overlay = Some(text);
    }

    fn asked(&mut self, ask: Ask, mut typed: String, key: KeyEvent) {
        match key.code {
            KeyCode::Enter => return self.answered(ask, &typed),
            KeyCode::Backspace if typed.is_empty() => return,
            KeyCode::Backspace => {
                typed.pop();
            }
            KeyCode::Char('u' | 'w') if key.modifiers == KeyModifiers::CONTROL => typed.clear(),
            KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => typed.push(c),
            _ => {}
        }
        self.layout.overlay = Some(Overlay::Ask { ask, typed });
    }

    fn answered(&mut self, ask: Ask, typed: &str) {
        match ask {
            Ask::Stop => self.session.toggle_stop(typed),
            Ask::Search if typed.is_empty() => self.session.playback.search = None,
            Ask::Search => {
                self.session.search(typed);
                self.look_at_match();
            }
            Ask::Chunking => match typed.parse() {
                Ok(chunking) => self.session.rechunk(chunking),
                Err(wrong) => self.session.say(wrong),
            },
        }
    }

    fn chosen(&mut self, choice: Choice, key: KeyCode) -> Option<Effect> {
        let KeyCode::Char(key) = key else {
            self.layout.overlay = Some(Overlay::Choose(choice));
            return None;
        };
        match (choice, key) {
            (Choice::Chunking, 'w') => self.session.rechunk(Chunks::Whole.into()),
            (Choice::Chunking, 'n') => self.layout.overlay = Some(Overlay::ask(Ask::Chunking)),
            (Choice::Chunking, 'r') => {
                let seed = match self.session.playback.chunking.rule {
                    ChunkRule::Asked(Chunks::Random(seed)) => seed.wrapping_add(1),
                    _ => 1,
                };
                self.session.rechunk(Chunks::Random(seed).into());
            }
            (Choice::Chunking, 'o') => self.session.rechunk(Chunking::RECORDED),
            (Choice::Chunking, 'x') => self.session.start_cut_search(),
            (Choice::Chunking, digit) => match digit.to_digit(10).filter(|digit| *digit > 0) {
                Some(length) => self.session.rechunk(Chunks::Every(length as usize).into()),
                None => self.layout.overlay = Some(Overlay::Choose(choice)),
            },
            (Choice::Copy, 'r') => return self.copy_region(),
            (Choice::Copy, 'm') => return self.copy_message(),
            (Choice::Copy, 'c') => return self.copy_command(),
            (Choice::Copy, _) => self.layout.overlay = Some(Overlay::Choose(choice)),
        }
        None
    }

    fn stops_key(&mut self, selected: usize, key: KeyCode) {
        match key {
            KeyCode::Char('d' | 'x') | KeyCode::Delete | KeyCode::Backspace
                if selected < self.session.playback.stops.len() =>
            {
                drop(self.session.playback.stops.remove(selected));
            }
            KeyCode::Char('D') => self.session.playback.stops.clear(),
            KeyCode::Char('S') => return,
            key => {
                let last = self.session.playback.stops.len().saturating_sub(1);
                let selected = moved(selected, key, self.layout.drawn.overlay_page());
                self.layout.overlay = selected.map(|selected| Overlay::Stops { selected: selected.min(last) });
                return;
            }
        }
        match self.session.playback.stops.len() {
            0 => self.session.say("no breakpoints left"),
            count => self.layout.overlay = Some(Overlay::Stops { selected: selected.min(count - 1) }),
        }
    }

    pub(super) fn overlay_mouse(&mut self, kind: MouseEventKind, place: Cell) -> (bool, Option<Effect>) {
        let by: isize = match kind {
            MouseEventKind::ScrollDown => 3,
            MouseEventKind::ScrollUp => -3,
            MouseEventKind::Down(_) => return (true, self.click_on_list(place)),
            _ => return (false, None),
        };
        match &mut self.layout.overlay {
            Some(Overlay::Stops { selected }) => {
                *selected = selected.saturating_add_signed(by).min(self.session.playback.stops.len().saturating_sub(1));
            }
            Some(Overlay::Outputs(_) | Overlay::Palette(_)) => self.move_mark(by.signum()),
            overlay => match overlay.as_mut().and_then(Overlay::top) {
                Some(top) => *top = top.saturating_add_signed(by),
                None => return (false, None),
            },
        }
        (true, None)
    }
}
