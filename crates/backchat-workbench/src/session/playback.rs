//! The state of a replay: recordings, the position, and the clock that plays it. Plain data, changed by the operations
//! of a session.

use super::chunking::Chunking;
use super::search::Search;
use crate::replay::{CutSearch, Difference, Moment, Recording, Stop};
use backchat_parser::parser::Mode;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The recordings of an output, and the position in them.
pub struct Playback {
    pub chunking: Chunking,
    /// Whether the user chose the chunking, rather than left it to the default.
    pub is_cut_as_asked: bool,
    pub showing: Showing,
    /// One recording, or two side by side; none while the output cannot be read.
    pub sides: Vec<Side>,
    pub difference: Option<Difference>,
    /// The events that make the message differ from the expected one, or look wrong if none is known.
    pub wrong: Vec<usize>,
    /// Whether steps and numbers count every chunk, rather than adjacent chunks as one.
    pub every_event: bool,
    pub stops: Vec<Stop>,
    pub search: Option<Search>,
    /// When the next chunk is due.
    pub clock: Clock,
    /// The search for a cut that changes the reference's answer.
    pub cut_search: Option<RunningSearch>,
    /// A counter of new and changed recordings.
    pub generation: u64,
    /// A counter of moves: equal counts mean no move in between, not even to the same moment.
    pub moves: u64,
    /// The requested byte of the output, and the nearest moment that the chunks allow.
    pub(super) target: Option<(usize, Moment)>,
    /// Where to open, until that is reached.
    pub(super) opening_at: Option<Position>,
}

pub struct RunningSearch {
    pub search: CutSearch,
    pub began: Instant,
}

impl Playback {
    /// Nothing recorded yet.
    pub(super) fn new(chunking: Chunking, is_cut_as_asked: bool, showing: Showing, at: Option<Position>) -> Self {
        Self {
            chunking,
            is_cut_as_asked,
            showing,
            sides: Vec::new(),
            difference: None,
            wrong: Vec::new(),
            every_event: false,
            stops: Vec::new(),
            search: None,
            clock: Clock::default(),
            cut_search: None,
            generation: 0,
            moves: 0,
            target: None,
            opening_at: at,
        }
    }
}

pub struct Side {
    /// Its name if there are two.
    pub name: String,
    pub recording: Recording,
    pub moment: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    One(Mode),
    /// Stable and reference, side by side.
    Modes,
    /// The template and a second one, side by side.
    Templates(Mode),
    /// Without recovery policies and with all of them, side by side.
    Recovery,
}

impl Showing {
    pub(super) fn modes(self) -> Vec<Mode> {
        match self {
            Showing::One(mode) => vec![mode],
            Showing::Modes => vec![Mode::Stable, Mode::Reference],
            Showing::Templates(mode) => vec![mode, mode],
            Showing::Recovery => vec![Mode::Stable, Mode::Stable],
        }
    }

    /// Which answer a command line would show.
    pub fn mode(self) -> Mode {
        match self {
            Showing::One(mode) | Showing::Templates(mode) => mode,
            Showing::Modes | Showing::Recovery => Mode::Stable,
        }
    }
}

pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Stable => "stable",
        Mode::Reference => "reference",
    }
}

/// A position in a replay, independent of how the output is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// After this many characters of the output.
    Character(usize),
    /// After this many events, with every chunk counted. It can be inside a chunk of the output.
    Event(usize),
    End,
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "use a number of characters, `end`, or `event:N` for a number of events".to_owned();
        match (text.trim(), text.trim().strip_prefix("event:")) {
            ("end", _) => Ok(Self::End),
            (_, Some(events)) => events.parse().map(Self::Event).map_err(|_| wrong()),
            (characters, None) => characters.parse().map(Self::Character).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(characters) => write!(f, "{characters}"),
            Self::Event(events) => write!(f, "event:{events}"),
            Self::End => f.write_str("end"),
        }
    }
}

/// How many chunks a second, slowest first.
const SPEEDS: [u32; 9] = [1, 2, 4, 8, 15, 30, 60, 250, 1000];

/// The most steps taken before the screen is drawn again.
const MOST_AT_ONCE: u32 = 100;

/// Plays a recording: says how many chunks are due.
#[derive(Clone, Debug)]
pub struct Clock {
    speed: usize,
    /// When the next chunk is due; none while paused.
    due: Option<Instant>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { speed: 4, due: None }
    }
}

impl Clock {
    pub fn is_playing(&self) -> bool {
        self.due.is_some()
    }

    pub fn play(&mut self, now: Instant) {
        self.due = Some(now + self.pause());
    }

    pub fn stop(&mut self) {
        self.due = None;
    }

    pub fn change_speed(&mut self, faster: bool) {
        self.speed = if faster { (self.speed + 1).min(SPEEDS.len() - 1) } else { self.speed.saturating_sub(1) };
    }

    /// Chunks a second.
    pub fn speed(&self) -> u32 {
        SPEEDS.get(self.speed).copied().unwrap_or(1)
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(1) / self.speed()
    }

    /// How long until the next chunk.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    /// How many chunks are due.
    pub fn due(&mut self, now: Instant) -> u32 {
        let pause = self.pause();
        let Some(due) = &mut self.due else { return 0 };
        let mut steps = 0;
        while *due <= now && steps < MOST_AT_ONCE {
            *due += pause;
            steps += 1;
        }
        // A stall is not caught up.
        *due = (*due).max(now);
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_they_are_written() {
        for (text, at) in [("17", Position::Character(17)), ("event:3", Position::Event(3)), ("end", Position::End)] {
            assert_eq!(text.parse(), Ok(at));
            assert_eq!(at.to_string(), text);
        }
        for wrong in ["", "-1", "event:", "event:x", "start"] {
            assert!(wrong.parse::<Position>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn as_many_chunks_as_the_speed_says() {
        let start = Instant::now();
        let mut clock = Clock::default();
        assert_eq!((clock.speed(), clock.due(start), clock.wait(start)), (15, 0, None));
        clock.play(start);
        assert_eq!(clock.due(start), 0);
        assert_eq!(clock.due(start + Duration::from_millis(1005)), 15);
        (0..20).for_each(|_| clock.change_speed(false));
        assert_eq!(clock.speed(), 1);
        (0..20).for_each(|_| clock.change_speed(true));
        assert_eq!(clock.speed(), 1000);
        assert_eq!(clock.due(start + Duration::from_secs(60)), MOST_AT_ONCE);
        clock.stop();
        assert!(!clock.is_playing());
    }
}
