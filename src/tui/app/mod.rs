//! The state of the workbench. Keys, the mouse, time and changed files move it; nothing else does.

mod overlay;
mod proof;
mod side;
mod step;
mod work;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::action::{Action, Effect};
use super::clock::Clock;
use super::desk::{Arrival, Desk, Material, Problem};
use super::keys;
use super::panes::{Pane, Panes};
use super::theme::Theme;
use super::view;
use super::{At, ChunkRule, Chunking};
use crate::parser::Chunks;
use crate::replay::{Difference, CutSearch, Moment, Recording, Stop};

pub use overlay::{Ask, Choice, Overlay, Verdict};
pub use side::{Showing, Side, mode_name};

/// With what the workbench opens.
#[derive(Clone, Debug)]
pub struct Start {
    /// The output, counted from 0.
    pub output: usize,
    /// Where to go.
    pub at: Option<At>,
    /// How the output is cut; as recorded, or one character at a time, where nothing is said.
    pub chunking: Option<Chunking>,
    /// Whose answer is shown.
    pub showing: Showing,
    /// How things are marked.
    pub theme: Theme,
    /// What to tell at first.
    pub notice: Option<String>,
    /// Whether the output is typed, from its end on.
    pub typing: bool,
}

/// The state of the workbench.
pub struct App {
    desk: Box<dyn Desk>,
    pub(super) names: Vec<String>,
    pub(super) output: usize,
    pub(super) material: Material,
    pub(super) chunking: Chunking,
    /// Whether somebody asked for this, rather than that nothing was said.
    pub(super) is_cut_as_asked: bool,
    pub(super) showing: Showing,
    /// One recording, or two side by side.
    pub(super) sides: Vec<Side>,
    /// Where the two sides part.
    pub(super) difference: Option<Difference>,
    /// The events that make the message another than expected.
    pub(super) wrong: Vec<usize>,
    pub(super) theme: Theme,
    pub(super) panes: Panes,
    pub(super) overlay: Option<Overlay>,
    /// The number typed before a key.
    pub(super) count: Option<usize>,
    pub(super) stops: Vec<Stop>,
    pub(super) sought: Option<String>,
    /// The match that was gone to last, and the moment that shows it.
    pub(super) found: Option<(Moment, usize)>,
    pub(super) clock: Clock,
    pub(super) hunt: Option<CutSearch>,
    pub(super) is_typing: bool,
    pub(super) show_whitespace: bool,
    pub(super) show_future: bool,
    pub(super) every_event: bool,
    /// What to tell until the next key.
    pub(super) notice: Option<String>,
    /// What keeps the files as they are now from being shown.
    pub(super) problem: Option<Problem>,
    /// What became of each output, in stable mode.
    pub(super) verdicts: Vec<Option<Verdict>>,
    /// What became of the answer that is shown.
    pub(super) shown_verdict: Option<Verdict>,
    pub(super) drawn: view::Drawn,
    /// Counts the recordings that were made.
    pub(super) generation: u64,
    /// The outputs that were typed on, as they are now: their text and its chunks.
    pub(super) edits: HashMap<usize, Edit>,
    /// Whether there is something to open in an editor, and whether the template can be derived again.
    pub(super) can_edit: bool,
    pub(super) can_derive: bool,
    /// The byte of the output that was gone to, and the moment that comes nearest with the chunks there are.
    pub(super) stood: Option<(usize, Moment)>,
    pub(super) prover: proof::Prover,
    /// Whether more of the output may come.
    pub(super) is_awaited: bool,
    /// Where to open, until that is reached.
    pub(super) asked_at: Option<At>,
    /// Before this nothing more of it is read.
    pub(super) rest_until: Option<Instant>,
}

/// An output that was typed on.
#[derive(Clone, Debug)]
pub struct Edit {
    pub text: String,
    pub lengths: Vec<usize>,
}

/// How often it is looked whether more of an output has come.
const AWAITED: Duration = Duration::from_millis(40);

/// A text of up to this many characters is cut into single characters where nothing is said; longer ones by four.
const SHORT: usize = 20_000;

impl App {
    /// Opens an output of a desk. One that cannot be read is shown with its problem, where another can be walked to.
    pub fn new(desk: Box<dyn Desk>, start: &Start) -> Result<Self, Problem> {
        let names = desk.names().to_vec();
        let output = start.output.min(names.len().saturating_sub(1));
        let (material, problem) = match desk.material(output) {
            Ok(material) => (material, None),
            Err(problem) => match (0..names.len()).find_map(|other| desk.material(other).ok()) {
                Some(material) => (material, Some(problem)),
                None => return Err(problem),
            },
        };
        let is_known = |chunking: &&Chunking| chunking.rule != ChunkRule::Recorded || material.chunks.is_some();
        let asked = start.chunking.as_ref().filter(is_known).cloned();
        let mut app = Self {
            is_cut_as_asked: asked.is_some(),
            chunking: asked.unwrap_or_else(|| default_chunking(&material)),
            verdicts: vec![None; names.len()],
            shown_verdict: None,
            desk,
            names,
            output,
            material,
            showing: start.showing,
            sides: Vec::new(),
            difference: None,
            wrong: Vec::new(),
            theme: start.theme,
            panes: Panes::default(),
            overlay: None,
            count: None,
            stops: Vec::new(),
            sought: None,
            found: None,
            clock: Clock::default(),
            hunt: None,
            is_typing: false,
            show_whitespace: false,
            show_future: true,
            every_event: false,
            notice: None,
            problem: None,
            drawn: view::Drawn::default(),
            generation: 0,
            edits: HashMap::new(),
            can_edit: false,
            can_derive: false,
            stood: None,
            prover: proof::Prover::default(),
            is_awaited: false,
            asked_at: start.at,
            rest_until: None,
        };
        if let Some(problem) = problem {
            app.cannot_show(problem);
            return Ok(app);
        }
        app.is_awaited = app.desk.arrival(output) != Arrival::Whole;
        app.record();
        app.look_around();
        if app.is_awaited {
            app.set_moment(|recording, _| recording.end());
        }
        app.go_to_asked();
        match (app.sides.len(), start.at) {
            (2.., None) => app.show_difference(),
            _ => app.tell_what_is_wrong(),
        }
        if start.chunking.is_some() && !app.is_cut_as_asked {
            app.notice = Some("how this output was cut was not recorded".to_owned());
        }
        if app.notice.is_none() {
            app.notice.clone_from(&start.notice);
        }
        if start.typing {
            app.start_typing();
        }
        Ok(app)
    }

    /// The recording whose moment the keys move, and the moment.
    pub(super) fn side(&self) -> Option<&Side> {
        self.sides.first()
    }

    pub(super) fn recording(&self) -> Option<&Recording> {
        self.side().map(|side| &side.recording)
    }

    /// Takes a key; gives what the world has to do.
    pub fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        // Escape and a key right behind it look to a terminal like that key with Alt, on which nothing is.
        let takes_text = self.is_typing || matches!(self.overlay, Some(Overlay::Ask { .. }));
        if key.modifiers.contains(KeyModifiers::ALT) && !takes_text {
            let effect = self.key(KeyCode::Esc.into());
            return effect.or_else(|| self.key(KeyEvent::new(key.code, key.modifiers - KeyModifiers::ALT)));
        }
        self.notice = None;
        if matches!(key.code, KeyCode::Char('c' | 'z')) && key.modifiers == KeyModifiers::CONTROL {
            return keys::action(key.code, key.modifiers).and_then(|action| self.act(action));
        }
        if self.overlay.is_some() {
            return self.overlay_key(key);
        }
        if self.is_typing {
            self.typed(key);
            return None;
        }
        if let KeyCode::Char(digit @ '0'..='9') = key.code
            && (key.modifiers - KeyModifiers::SHIFT).is_empty()
        {
            let digit = digit.to_digit(10).unwrap_or(0) as usize;
            self.count = Some(self.count.unwrap_or(0).saturating_mul(10).saturating_add(digit).min(1_000_000_000));
            return None;
        }
        let effect = match keys::action(key.code, key.modifiers) {
            Some(action) => self.act(action),
            None => {
                self.notice =
                    Some(format!("nothing is on {}; ? lists the keys", keys::Key(key.code, key.modifiers).name()));
                None
            }
        };
        self.count = None;
        effect
    }

    /// Does what a key or a click asks for.
    pub(super) fn act(&mut self, action: Action) -> Option<Effect> {
        use Action as A;
        if !matches!(action, A::Play | A::Faster | A::Slower | A::Copy | A::Help | A::Redraw | A::Suspend) {
            self.clock.stop();
        }
        match action {
            A::NextEvent | A::PreviousEvent | A::NextChunk | A::PreviousChunk | A::NextLine | A::PreviousLine => {
                self.step(action);
            }
            A::NextCharacter => self.step_characters(true),
            A::PreviousCharacter => self.step_characters(false),
            A::ToStart => match self.count {
                Some(offset) => self.go_to(At::Character(offset)),
                None => self.set_moment(|recording, _| recording.start()),
            },
            A::ToEnd => self.set_moment(|recording, _| recording.end()),
            A::GoTo => self.overlay = Some(Overlay::ask(Ask::Offset)),
            A::Play => self.toggle_play(Instant::now()),
            A::Faster | A::Slower => self.change_speed(action == A::Faster),
            A::Continue => self.run_to_stop(true),
            A::ContinueBack => self.run_to_stop(false),
            A::ToggleStop => self.overlay = Some(Overlay::ask(Ask::Stop)),
            A::Stops if self.stops.is_empty() => self.notice = Some("no breakpoint is set; s sets one".to_owned()),
            A::Stops => self.overlay = Some(Overlay::Stops { selected: 0 }),
            A::Search => self.overlay = Some(Overlay::ask(Ask::Search)),
            A::NextMatch => self.go_to_match(true),
            A::PreviousMatch => self.go_to_match(false),
            A::Rechunk => self.overlay = Some(Overlay::choose(Choice::Chunking)),
            A::SearchCut => self.start_hunt(),
            A::SwitchMode => self.switch_mode(),
            A::ToDifference => self.show_difference(),
            A::NextOutput => self.turn_to(true),
            A::PreviousOutput => self.turn_to(false),
            A::Outputs => self.overlay = Some(Overlay::Outputs { selected: self.output }),
            A::Type => self.start_typing(),
            A::Untype => self.untype(),
            A::Edit => return self.edit(),
            A::Derive => self.derive(),
            A::Failures => self.show_failures(),
            A::Bless => self.ask_to_bless(),
            A::Copy => self.overlay = Some(Overlay::choose(Choice::Copy)),
            A::NextPane => self.panes.focus_next(false),
            A::PreviousPane => self.panes.focus_next(true),
            A::Fold => self.panes.fold(),
            A::Zoom => self.panes.is_zoomed = !self.panes.is_zoomed,
            A::MoveOn => self.panes.swap(false),
            A::MoveBack => self.panes.swap(true),
            A::Grow => self.panes.resize(true),
            A::Shrink => self.panes.resize(false),
            A::ScrollDown => self.scroll(self.panes.focus, 1),
            A::ScrollUp => self.scroll(self.panes.focus, -1),
            A::PageDown => self.scroll(self.panes.focus, self.drawn.page(self.panes.focus)),
            A::PageUp => self.scroll(self.panes.focus, -self.drawn.page(self.panes.focus)),
            A::HalfDown => self.scroll(self.panes.focus, self.drawn.page(self.panes.focus) / 2 + 1),
            A::HalfUp => self.scroll(self.panes.focus, -(self.drawn.page(self.panes.focus) / 2 + 1)),
            A::Whitespace => self.show_whitespace = !self.show_whitespace,
            A::Future => self.show_future = !self.show_future,
            A::EveryEvent => self.every_event = !self.every_event,
            A::Details => self.show_details(),
            A::Help => self.overlay = Some(Overlay::Help { top: 0 }),
            A::Leave => self.leave(),
            A::Redraw => return Some(Effect::Redraw),
            A::Suspend => return Some(Effect::Suspend),
            A::Quit => return Some(Effect::Quit),
        }
        None
    }

    /// Draws the whole screen.
    pub fn draw(&mut self, out: &mut ratatui::Frame<'_>) {
        view::draw(out, self);
    }

    /// Takes the mouse; false where nothing changes.
    pub fn mouse(&mut self, event: MouseEvent) -> bool {
        let place = Position::new(event.column, event.row);
        if self.overlay.is_some() {
            return self.overlay_mouse(event.kind);
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.notice = None;
                if self.panes.grab(place) {
                    return true;
                }
                let Some((pane, _)) = self.panes.at(place) else { return false };
                self.panes.focus = pane;
                match pane {
                    Pane::Stream => {
                        if let Some(byte) = self.drawn.byte_at(place) {
                            self.clock.stop();
                            self.set_moment(|recording, _| recording.moment_at(byte));
                        }
                    }
                    Pane::Events => {
                        if let Some(event) = self.drawn.event_at(place) {
                            self.clock.stop();
                            self.set_moment(|recording, _| recording.moment_of_event(event));
                        }
                    }
                    Pane::Message | Pane::Template => {}
                }
                true
            }
            MouseEventKind::Drag(MouseButton::Left) => self.panes.drag(place),
            MouseEventKind::Up(MouseButton::Left) => {
                self.panes.let_go();
                false
            }
            MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
                let Some((pane, _)) = self.panes.at(place) else { return false };
                self.scroll(pane, if event.kind == MouseEventKind::ScrollDown { 3 } else { -3 });
                true
            }
            _ => false,
        }
    }

    fn scroll(&mut self, pane: Pane, rows: isize) {
        let (top, last) = self.drawn.rows(pane);
        self.panes.scroll_to(pane, top.saturating_add_signed(rows).min(last));
    }

    fn leave(&mut self) {
        match () {
            () if self.hunt.take().is_some() => self.notice = Some("the search for a cut was stopped".to_owned()),
            () if self.panes.is_zoomed => self.panes.is_zoomed = false,
            () => self.sought = None,
        }
    }

    /// Does a little of what takes long; true where the screen changes.
    pub fn work(&mut self, now: Instant) -> bool {
        let grown = self.take_more(now);
        let played = self.play(now);
        let hunted = self.hunt_on(now);
        let judged = self.judge_one();
        let proved = self.hear_proof();
        grown || played || hunted || judged || proved
    }

    /// Whether there is work that should not wait.
    pub fn is_busy(&self) -> bool {
        self.hunt.is_some() || self.has_unjudged()
    }

    /// How long until something is due.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let piece = self.is_awaited.then_some(AWAITED);
        self.clock.wait(now).into_iter().chain(piece).min()
    }

    /// The files that are shown.
    pub fn files(&self) -> Vec<std::path::PathBuf> {
        self.desk.files(self.output)
    }
}

fn default_chunking(material: &Material) -> Chunking {
    match &material.chunks {
        Some(_) => Chunking::RECORDED,
        None if material.output.chars().nth(SHORT).is_some() => Chunks::Every(4).into(),
        None => Chunks::Every(1).into(),
    }
}
