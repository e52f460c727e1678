//! What lies over the screen: questions, choices, lists, texts.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};

use super::super::action::Effect;
use super::super::{ChunkRule, Chunking};
use super::App;
use crate::parser::Chunks;

/// What lies over the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// The keys.
    Help {
        /// The first line that is shown.
        top: usize,
    },
    /// A question that a line of text answers.
    Ask {
        /// What is asked.
        ask: Ask,
        /// What was typed.
        typed: String,
    },
    /// One of a few.
    Choose(Choice),
    /// The list of outputs.
    Outputs {
        /// The one that is marked.
        selected: usize,
    },
    /// The breakpoints.
    Stops {
        /// The one that is marked.
        selected: usize,
    },
    /// What blessing changes, and the question whether to do it.
    Bless {
        /// The change, in lines that are safe to show.
        lines: Vec<String>,
        /// The first line that is shown.
        top: usize,
    },
    /// A text to read.
    Text {
        /// Its heading.
        title: String,
        /// Its lines, safe to show.
        lines: Vec<String>,
        /// The first line that is shown.
        top: usize,
    },
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Offset,
    Stop,
    Search,
    Chunking,
}

/// What is chosen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Chunking,
    Copy,
}

/// What became of an output of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It gives the message it should.
    Passed,
    /// It does not.
    Failed,
    /// It does not, and that is known and let pass.
    Excused,
    /// What it should give is not known; every region gave a value, nothing is missing, and no event looks wrong.
    InOrder,
    /// What it should give is not known, and an event looks wrong.
    Odd,
    /// It cannot be read.
    Broken,
}

impl Ask {
    /// The question.
    pub fn words(self) -> &'static str {
        match self {
            Ask::Offset => "Go to character",
            Ask::Stop => "Stop at open, chunk, close, malformed, a field's name, a number of characters or /pattern/",
            Ask::Search => "Search",
            Ask::Chunking => "Cut: whole, recorded, a number of characters, random:SEED or cut:N,N",
        }
    }
}

impl Choice {
    /// What can be chosen: the key, and what it stands for.
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

    /// The heading.
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

    pub fn choose(choice: Choice) -> Self {
        Self::Choose(choice)
    }
}

impl App {
    /// Takes a key while something lies over the screen.
    pub(super) fn overlay_key(&mut self, key: KeyEvent) -> Option<Effect> {
        let overlay = self.overlay.take()?;
        if key.code == KeyCode::Esc {
            return None;
        }
        match overlay {
            Overlay::Ask { ask, typed } => self.asked(ask, typed, key),
            Overlay::Choose(choice) => return self.chosen(choice, key.code),
            Overlay::Outputs { selected } => self.outputs_key(selected, key.code),
            Overlay::Stops { selected } => self.stops_key(selected, key.code),
            Overlay::Bless { lines, top } => match key.code {
                KeyCode::Char('y') => self.bless(),
                KeyCode::Char('n' | 'q') => self.notice = Some("nothing was written".to_owned()),
                code => {
                    let last = lines.len().saturating_sub(1);
                    let top = moved(top, code, self.drawn.overlay_page()).unwrap_or(top).min(last);
                    self.overlay = Some(Overlay::Bless { lines, top });
                }
            },
            Overlay::Help { top } => {
                self.overlay = moved(top, key.code, self.drawn.overlay_page()).map(|top| Overlay::Help { top });
            }
            Overlay::Text { title, lines, top } => {
                let last = lines.len().saturating_sub(1);
                self.overlay = moved(top, key.code, self.drawn.overlay_page()).map(|top| Overlay::Text {
                    title,
                    lines,
                    top: top.min(last),
                });
            }
        }
        None
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
        self.overlay = Some(Overlay::Ask { ask, typed });
    }

    fn answered(&mut self, ask: Ask, typed: &str) {
        match ask {
            Ask::Offset => match typed.parse() {
                Ok(at) => self.go_to(at),
                Err(wrong) => self.notice = Some(wrong),
            },
            Ask::Stop => self.toggle_stop(typed),
            Ask::Search if typed.is_empty() => self.sought = None,
            Ask::Search => {
                self.sought = Some(typed.to_owned());
                self.found = None;
                self.go_to_match(true);
            }
            Ask::Chunking => self.rechunk_as(typed),
        }
    }

    fn chosen(&mut self, choice: Choice, key: KeyCode) -> Option<Effect> {
        let KeyCode::Char(key) = key else {
            self.overlay = Some(Overlay::Choose(choice));
            return None;
        };
        match (choice, key) {
            (Choice::Chunking, 'w') => self.rechunk(Chunks::Whole.into()),
            (Choice::Chunking, 'n') => self.overlay = Some(Overlay::ask(Ask::Chunking)),
            (Choice::Chunking, 'r') => {
                let seed = match self.chunking.rule {
                    ChunkRule::Asked(Chunks::Random(seed)) => seed.wrapping_add(1),
                    _ => 1,
                };
                self.rechunk(Chunks::Random(seed).into());
            }
            (Choice::Chunking, 'o') => self.rechunk(Chunking::RECORDED),
            (Choice::Chunking, 'x') => self.start_hunt(),
            (Choice::Chunking, digit) => match digit.to_digit(10).filter(|digit| *digit > 0) {
                Some(length) => self.rechunk(Chunks::Every(length as usize).into()),
                None => self.overlay = Some(Overlay::Choose(choice)),
            },
            (Choice::Copy, 'r') => return self.copy_region(),
            (Choice::Copy, 'm') => return self.copy_message(),
            (Choice::Copy, 'c') => return self.copy_command(),
            (Choice::Copy, _) => self.overlay = Some(Overlay::Choose(choice)),
        }
        None
    }

    fn outputs_key(&mut self, selected: usize, key: KeyCode) {
        let last = self.names.len().saturating_sub(1);
        let selected = match key {
            KeyCode::Enter => return self.open(selected),
            KeyCode::Char('q' | 'o') => return,
            KeyCode::Char('n') => {
                (selected + 1..=last).chain(0..=selected).find(|at| self.has_failed(*at)).unwrap_or(selected)
            }
            key => match moved(selected, key, self.drawn.overlay_page()) {
                Some(selected) => selected.min(last),
                None => selected,
            },
        };
        self.overlay = Some(Overlay::Outputs { selected });
    }

    fn stops_key(&mut self, selected: usize, key: KeyCode) {
        match key {
            KeyCode::Char('d' | 'x') | KeyCode::Delete | KeyCode::Backspace if selected < self.stops.len() => {
                drop(self.stops.remove(selected));
            }
            KeyCode::Char('D') => self.stops.clear(),
            KeyCode::Char('S') => return,
            key => match moved(selected, key, self.drawn.overlay_page()) {
                Some(selected) => {
                    let selected = selected.min(self.stops.len().saturating_sub(1));
                    self.overlay = Some(Overlay::Stops { selected });
                    return;
                }
                None => return,
            },
        }
        match self.stops.len() {
            0 => self.notice = Some("no breakpoints any more".to_owned()),
            count => self.overlay = Some(Overlay::Stops { selected: selected.min(count - 1) }),
        }
    }

    /// Takes the mouse while something lies over the screen.
    pub(super) fn overlay_mouse(&mut self, kind: MouseEventKind) -> bool {
        let by: isize = match kind {
            MouseEventKind::ScrollDown => 3,
            MouseEventKind::ScrollUp => -3,
            MouseEventKind::Down(_) => {
                self.overlay = None;
                return true;
            }
            _ => return false,
        };
        match &mut self.overlay {
            Some(Overlay::Help { top }) => *top = top.saturating_add_signed(by),
            Some(Overlay::Text { lines, top, .. } | Overlay::Bless { lines, top }) => {
                *top = top.saturating_add_signed(by).min(lines.len().saturating_sub(1));
            }
            Some(Overlay::Stops { selected }) => {
                *selected = selected.saturating_add_signed(by).min(self.stops.len().saturating_sub(1));
            }
            Some(Overlay::Outputs { selected }) => {
                *selected = selected.saturating_add_signed(by).min(self.names.len().saturating_sub(1));
            }
            _ => return false,
        }
        true
    }
}

/// Where a key moves to in a list or a text; none where it puts it away.
fn moved(at: usize, key: KeyCode, page: usize) -> Option<usize> {
    Some(match key {
        KeyCode::Char('j') | KeyCode::Down => at + 1,
        KeyCode::Char('k') | KeyCode::Up => at.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => at + page,
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => usize::MAX / 2,
        KeyCode::Char('q' | '?') | KeyCode::Enter | KeyCode::F(1) => return None,
        _ => at,
    })
}
