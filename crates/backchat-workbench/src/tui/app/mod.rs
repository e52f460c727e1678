//! The workbench: a session and its layout on the screen. Only keys and the mouse change them.

mod fuzzy;
mod lists;
mod overlay;
mod picker;
mod session_actions;

use std::path::PathBuf;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position as Cell;

use super::keys::{self, Action};
use super::panes::{Pane, Panes};
use super::theme::Theme;
use super::view::drawn::Drawn;
use crate::session::{Hit, Outputs, Position, Problem, Session, Start};

pub(super) use self::lists::{Command, commands};
pub use self::overlay::{Ask, Choice, Overlay};
pub use self::picker::Picker;

pub struct App {
    pub(super) session: Session,
    pub(super) layout: Layout,
}

/// How the session is laid out on the screen: panes, overlays, and the last drawing.
pub struct Layout {
    pub theme: Theme,
    pub panes: Panes,
    pub overlay: Option<Overlay>,
    /// The number typed before a key.
    pub count: Option<usize>,
    pub show_whitespace: bool,
    /// Whether text that has not arrived is shown.
    pub show_future: bool,
    pub drawn: Drawn,
    /// The move counter that the panes have followed.
    followed: u64,
}

impl Layout {
    pub fn new(theme: Theme) -> Self {
        Self {
            theme,
            panes: Panes::default(),
            overlay: None,
            count: None,
            show_whitespace: false,
            show_future: true,
            drawn: Drawn::default(),
            followed: 0,
        }
    }

    /// The row that a side of a pane begins with, so that the current one is in view unless it was scrolled by hand. A
    /// second side begins with the same row as the first.
    pub fn first_row(&mut self, pane: Pane, side: usize, row: usize, count: usize, height: u16) -> usize {
        match side {
            0 => self.drawn.follow(pane, self.panes.scrolled(pane), row, count, height),
            _ => self.drawn.rows(pane).0,
        }
    }

    /// Undoes scrolling by hand once the position has changed.
    pub fn follow(&mut self, moves: u64) {
        if self.followed != moves {
            self.panes.follow();
            self.followed = moves;
        }
    }
}

/// The effect of an action outside the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Restore the terminal and exit.
    Quit,
    /// Restore the terminal and suspend the process.
    Suspend,
    Redraw,
    /// Open an editor on a line of a file.
    Edit {
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Put a text on the clipboard.
    Copy(String),
}

impl App {
    /// Opens an output. If it cannot be read but another one can, the workbench opens with the problem.
    pub fn new(outputs: Box<dyn Outputs>, start: &Start, theme: Theme) -> Result<Self, Problem> {
        Ok(Self { session: Session::new(outputs, start)?, layout: Layout::new(theme) })
    }

    /// Handles a key; returns the effect that the caller has to perform.
    pub fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        // A terminal reports escape and a key right after it as that key with Alt, which is bound to nothing.
        let takes_text = self.session.editing.is_typing
            || matches!(self.layout.overlay, Some(Overlay::Ask { .. } | Overlay::Outputs(_) | Overlay::Palette(_)));
        if key.modifiers.contains(KeyModifiers::ALT) && !takes_text {
            let effect = self.key(KeyCode::Esc.into());
            return effect.or_else(|| self.key(KeyEvent::new(key.code, key.modifiers - KeyModifiers::ALT)));
        }
        self.session.notice = None;
        if matches!(key.code, KeyCode::Char('c' | 'z')) && key.modifiers == KeyModifiers::CONTROL {
            return keys::action(key.code, key.modifiers).and_then(|action| self.act(action));
        }
        if self.layout.overlay.is_some() {
            return self.overlay_key(key);
        }
        if self.session.editing.is_typing {
            self.typed(key);
            return None;
        }
        if let KeyCode::Char(digit @ '0'..='9') = key.code
            && (key.modifiers - KeyModifiers::SHIFT).is_empty()
        {
            let digit = digit.to_digit(10).unwrap_or(0) as usize;
            self.layout.count =
                Some(self.layout.count.unwrap_or(0).saturating_mul(10).saturating_add(digit).min(1_000_000_000));
            return None;
        }
        let effect = match keys::action(key.code, key.modifiers) {
            Some(action) => self.act(action),
            None => {
                self.session
                    .say(format!("{} is not bound; ? lists the keys", keys::Key(key.code, key.modifiers).name()));
                None
            }
        };
        self.layout.count = None;
        effect
    }

    pub(super) fn act(&mut self, action: Action) -> Option<Effect> {
        use Action as A;
        if !matches!(action, A::Play | A::Faster | A::Slower | A::Copy | A::Help | A::Redraw | A::Suspend) {
            self.session.playback.clock.stop();
        }
        let (count, focus) = (self.layout.count.unwrap_or(1), self.layout.panes.focus);
        match action {
            A::Step(step) => self.session.step(step, count),
            A::Character(forward) => self.session.step_characters(forward, count),
            A::ToStart => match self.layout.count {
                Some(offset) => self.session.go_to(Position::Character(offset)),
                None => self.session.set_moment(|recording, _| recording.start()),
            },
            A::ToEnd => self.session.set_moment(|recording, _| recording.end()),
            A::Palette => self.layout.overlay = Some(Overlay::Palette(Picker::default())),
            A::Play => self.session.toggle_play(Instant::now()),
            A::Faster | A::Slower => self.session.change_speed(action == A::Faster),
            A::Continue(forward) => self.session.run_to_stop(forward),
            A::ToggleStop => self.layout.overlay = Some(Overlay::ask(Ask::Stop)),
            A::Stops if self.session.playback.stops.is_empty() => self.session.say("no breakpoint is set; s sets one"),
            A::Stops => self.layout.overlay = Some(Overlay::Stops { selected: 0 }),
            A::Search => self.layout.overlay = Some(Overlay::ask(Ask::Search)),
            A::Match(forward) => {
                self.session.go_to_match(forward);
                self.look_at_match();
            }
            A::Rechunk => self.layout.overlay = Some(Overlay::Choose(Choice::Chunking)),
            A::SearchCut => self.session.start_cut_search(),
            A::SwitchMode => self.session.switch_mode(),
            A::SwitchRecovery => self.session.switch_recovery(),
            A::ToProblem => self.session.show_problem(),
            A::ToDifference => self.session.show_next_difference(),
            A::Output(forward) => self.session.turn_to(forward, count),
            A::Outputs => self.layout.overlay = Some(Overlay::Outputs(Picker::at(self.session.library.output))),
            A::Type => self.session.start_typing(),
            A::Findings => self.show_findings(),
            A::Repair => self.repair_here(),
            A::Undo => self.attempt("Undo", Session::undo),
            A::Edit => return self.session.place_to_edit().map(|(file, line)| Effect::Edit { file, line }),
            A::Derive => self.derive(),
            A::Failures => self.show_failures(),
            A::Bless => self.ask_to_bless(),
            A::Copy => self.layout.overlay = Some(Overlay::Choose(Choice::Copy)),
            A::Pane(forward) => self.layout.panes.focus_next(forward),
            A::Fold => self.layout.panes.fold(),
            A::Zoom => self.layout.panes.is_zoomed = !self.layout.panes.is_zoomed,
            A::Move(forward) => self.layout.panes.swap(forward),
            A::Grow | A::Shrink => self.layout.panes.resize(action == A::Grow),
            A::Scroll(rows) => self.scroll(focus, rows),
            A::Page(pages) => self.scroll(focus, pages * self.layout.drawn.page(focus)),
            A::HalfPage(halves) => self.scroll(focus, halves * (self.layout.drawn.page(focus) / 2 + 1)),
            A::Whitespace => self.layout.show_whitespace = !self.layout.show_whitespace,
            A::Future => self.layout.show_future = !self.layout.show_future,
            A::EveryEvent => self.session.playback.every_event = !self.session.playback.every_event,
            A::Details => self.show_details(),
            A::Help => self.layout.overlay = Some(Overlay::Help { top: 0 }),
            A::Leave => self.leave(),
            A::Redraw => return Some(Effect::Redraw),
            A::Suspend => return Some(Effect::Suspend),
            A::Quit => return Some(Effect::Quit),
        }
        None
    }

    /// Handles the mouse; returns whether anything changes, and the effect that the caller has to perform.
    pub fn mouse(&mut self, event: MouseEvent) -> (bool, Option<Effect>) {
        let place = Cell::new(event.column, event.row);
        match self.layout.overlay {
            Some(_) => self.overlay_mouse(event.kind, place),
            None => (self.pane_mouse(event.kind, place), None),
        }
    }

    /// Handles the mouse on the panes; false if nothing changes.
    fn pane_mouse(&mut self, kind: MouseEventKind, place: Cell) -> bool {
        match kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.session.notice = None;
                if self.layout.panes.grab(place) {
                    return true;
                }
                let Some((pane, _)) = self.layout.panes.at(place) else { return false };
                self.layout.panes.focus = pane;
                let drawn = &self.layout.drawn;
                let clicked = self.session.recording().and_then(|recording| match pane {
                    Pane::Stream => drawn.byte_at(place).map(|byte| recording.moment_at(byte)),
                    Pane::Events => drawn.event_at(place).map(|event| recording.moment_of_event(event)),
                    Pane::Message | Pane::Template => None,
                });
                if let Some(moment) = clicked {
                    self.session.playback.clock.stop();
                    self.session.set_moment(|_, _| moment);
                }
                true
            }
            MouseEventKind::Drag(MouseButton::Left) => self.layout.panes.drag(place),
            MouseEventKind::Up(MouseButton::Left) => {
                self.layout.panes.let_go();
                false
            }
            MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
                let Some((pane, _)) = self.layout.panes.at(place) else { return false };
                self.scroll(pane, if kind == MouseEventKind::ScrollDown { 3 } else { -3 });
                true
            }
            _ => false,
        }
    }

    /// Focuses the pane of the match.
    fn look_at_match(&mut self) {
        self.layout.panes.focus = match self.session.hit() {
            Some(Hit::Output(_)) => Pane::Stream,
            Some(Hit::Event(_)) => Pane::Events,
            Some(Hit::Template(_)) => Pane::Template,
            None => return,
        };
    }

    fn scroll(&mut self, pane: Pane, rows: isize) {
        self.layout.follow(self.session.playback.moves);
        let (top, last) = self.layout.drawn.rows(pane);
        self.layout.panes.scroll_to(pane, top.saturating_add_signed(rows).min(last));
    }

    fn leave(&mut self) {
        match () {
            () if self.session.playback.cut_search.take().is_some() => {
                self.session.say("the search for a cut was stopped")
            }
            () if self.layout.panes.is_zoomed => self.layout.panes.is_zoomed = false,
            () => self.session.playback.search = None,
        }
    }

    pub fn reload(&mut self) {
        if matches!(self.layout.overlay, Some(Overlay::Bless { .. })) {
            self.layout.overlay = None;
        }
        self.session.reload();
    }

    /// Handles a key while the output is typed.
    fn typed(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => self.session.stop_typing(),
            KeyCode::Enter => self.session.append("\n"),
            KeyCode::Tab => self.session.append("\t"),
            KeyCode::Backspace => self.session.take_back(),
            KeyCode::Char(c)
                if (key.modifiers - KeyModifiers::SHIFT).is_empty() || key.modifiers == KeyModifiers::ALT =>
            {
                self.session.append(c.encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
    }

    pub fn paste(&mut self, text: &str) {
        match &mut self.layout.overlay {
            Some(Overlay::Ask { typed, .. }) => typed.push_str(text),
            Some(Overlay::Outputs(picker) | Overlay::Palette(picker)) => picker.add(text),
            Some(_) => {}
            None => self.session.paste(text),
        }
    }

    /// Continues long work a little; true if the screen changes.
    pub fn work(&mut self, now: Instant) -> bool {
        let worked = self.session.work(now);
        worked.changed || (worked.judged && matches!(self.layout.overlay, Some(Overlay::Outputs(_))))
    }
}
