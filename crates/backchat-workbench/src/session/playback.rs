//! The recordings that are stepped through, and the position in them: moves by event, chunk, character and line, to
//! positions and breakpoints, and as the replay plays.

use super::recording::Showing;
use super::search::Search;
use super::{Session, View};
use crate::replay::{Chunking, CutSearch, Difference, Moment, Recording, Side, Stop, quoted};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The recordings of an output, and the position in them.
#[derive(Default)]
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
    /// The search for a cut that changes the reference's answer, and when it began.
    pub cut_search: Option<(CutSearch, Instant)>,
    /// A counter of new and changed recordings.
    pub generation: u64,
    /// A counter of moves: equal counts mean no move in between, not even to the same moment.
    pub moves: u64,
    /// The requested byte of the output, and the nearest moment that the chunks allow.
    pub(super) target: Option<(usize, Moment)>,
    /// Where to open, until that is reached.
    pub(super) opening_at: Option<Position>,
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

/// A step to the next or the previous one of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    NextEvent,
    PreviousEvent,
    NextChunk,
    PreviousChunk,
    NextLine,
    PreviousLine,
}

impl Session {
    /// Moves to a moment; the other side follows to the same text.
    pub fn set_moment(&mut self, to: impl FnOnce(&Recording, Moment) -> Moment) {
        let Some((first, rest)) = self.playback.sides.split_first_mut() else { return };
        first.moment = to(&first.recording, first.moment);
        for side in rest {
            side.moment = side.recording.moment_like(&first.recording, first.moment);
        }
        self.playback.moves += 1;
    }

    /// The number by which the list shows an event.
    pub fn event_number(&self, event: usize) -> usize {
        let row = self.recording().map_or(0, |recording| recording.row_of(event));
        1 + if self.playback.every_event { event } else { row }
    }

    /// Takes a number of steps, fewer at the end of the recording.
    pub fn step(&mut self, step: Step, count: usize) {
        let every_event = self.playback.every_event;
        let one = |recording: &Recording, moment: Moment| match step {
            Step::NextEvent if every_event => recording.next_event(moment),
            Step::NextEvent => recording.next_row(moment),
            Step::PreviousEvent if every_event => recording.previous_event(moment),
            Step::PreviousEvent => recording.previous_row(moment),
            Step::NextChunk => recording.next_feed(moment),
            Step::PreviousChunk => recording.previous_feed(moment),
            Step::NextLine => recording.next_line(moment),
            Step::PreviousLine => recording.previous_line(moment),
        };
        self.set_moment(|recording, mut moment| {
            for _ in 0..count {
                let next = one(recording, moment);
                if next == moment {
                    break;
                }
                moment = next;
            }
            moment
        });
    }

    /// Steps by character. A moment exists only at the end of a chunk, so a longer chunk is cut there.
    pub fn step_characters(&mut self, forward: bool, count: usize) {
        let Some(Side { recording, moment, .. }) = self.side() else { return };
        // Inside a chunk the place is where the last event ended.
        let here = match recording.is_inside_feed(*moment) {
            true => recording.settled(*moment),
            false => recording.arrived(*moment),
        };
        let (output, length) = (recording.output_start(), recording.text().len());
        if forward && here == length {
            return self.set_moment(|recording, _| recording.end());
        }
        let there = match (forward, count.checked_sub(1)) {
            (_, None) => here,
            (true, _) => recording.slice(here..length).char_indices().nth(count).map_or(length, |(at, _)| here + at),
            (false, Some(last)) => {
                let before = recording.slice(output..here);
                before.char_indices().nth_back(last).map_or(output, |(at, _)| output + at)
            }
        };
        if recording.arrived(recording.moment_before_end(there)) != there {
            self.cut_at(there);
        }
        self.set_moment(|recording, _| recording.moment_before_end(there));
    }

    fn cut_at(&mut self, byte: usize) {
        let Some(offset) = self.recording().map(|recording| recording.characters_before(byte)) else { return };
        self.playback.chunking.cut(offset);
        let tools = &self.library.material.tools;
        match self.playback.sides.iter_mut().all(|side| side.recording.cut(tools.clone(), byte)) {
            true => self.recordings_changed(),
            false => self.record(),
        }
    }

    /// Goes to a position, or to the end if the output is shorter.
    pub fn go_to(&mut self, at: Position) {
        match at {
            Position::Character(offset) => self.go_to_character(offset),
            Position::Event(0) => self.set_moment(|recording, _| recording.start()),
            Position::Event(count) => self.set_moment(|recording, _| match count <= recording.event_count() {
                true => recording.moment_of_event(count - 1),
                false => recording.end(),
            }),
            Position::End => self.set_moment(|recording, _| recording.end()),
        }
    }

    fn go_to_character(&mut self, offset: usize) {
        let Some(recording) = self.recording() else { return };
        let byte = recording.byte_at(offset);
        if offset > recording.characters_before(byte) {
            return self.set_moment(|recording, _| recording.end());
        }
        self.set_moment(|recording, _| recording.moment_before_end(byte));
        let Some(Side { recording, moment, .. }) = self.side() else { return };
        let reached = recording.characters_before(recording.arrived(*moment));
        self.playback.target = Some((byte.saturating_sub(recording.output_start()), *moment));
        if offset < reached {
            self.say(format!("character {offset} came in a chunk that ends at {reached}"));
        }
    }

    /// The command line that shows the same view.
    pub fn command(&mut self) -> Option<String> {
        let side = self.side()?;
        if self.editing.edits.contains_key(&self.library.output) {
            return self.refuse("no command shows typed text; save it in a file, and replay that");
        }
        let arrived = side.recording.characters_before(side.recording.arrived(side.moment));
        let at = match side.moment {
            moment if moment == side.recording.end() => Position::End,
            moment if side.recording.is_inside_feed(moment) => Position::Event(moment.event),
            _ => Position::Character(arrived),
        };
        let view = View { at, chunking: self.playback.chunking.clone(), showing: self.playback.showing };
        match self.library.outputs.command(self.library.output, &view) {
            Ok(text) => Some(text),
            Err(reason) => self.refuse(reason),
        }
    }

    pub fn toggle_play(&mut self, now: Instant) {
        if self.playback.clock.is_playing() {
            return self.playback.clock.stop();
        }
        if self.side().is_some_and(|side| side.moment == side.recording.end()) {
            self.set_moment(|recording, _| recording.start());
        }
        self.playback.clock.play(now);
    }

    pub fn change_speed(&mut self, faster: bool) {
        self.playback.clock.change_speed(faster);
        self.say(format!("{} chunks a second", self.playback.clock.speed()));
    }

    /// Plays the chunks that are due, up to a breakpoint or the end; true if the screen changes.
    pub fn play(&mut self, now: Instant) -> bool {
        let due = self.playback.clock.due(now);
        if due == 0 {
            return false;
        }
        let mut met = None;
        let mut moment = self.side().map(|side| side.moment).unwrap_or_default();
        let Some(recording) = self.recording() else { return false };
        for _ in 0..due {
            let next = recording.next_feed(moment);
            let stop = recording.next_stop(&self.playback.stops, moment);
            if let Some((at, stop)) = stop.filter(|(at, _)| *at <= next) {
                moment = at;
                met = Some(stop);
                break;
            }
            moment = next;
        }
        let ended = moment == recording.end();
        self.set_moment(|_, _| moment);
        if met.is_some() || ended {
            self.playback.clock.stop();
            self.notice = met.and_then(|stop| self.stopped_at(stop));
        }
        true
    }

    /// Goes to the next or the previous breakpoint.
    pub fn run_to_stop(&mut self, forward: bool) {
        if self.playback.stops.is_empty() {
            self.say("no breakpoint is set; s sets one");
            return;
        }
        let Some(side) = self.side() else { return };
        let found = match forward {
            true => side.recording.next_stop(&self.playback.stops, side.moment),
            false => side.recording.previous_stop(&self.playback.stops, side.moment),
        };
        match found {
            Some((moment, stop)) => {
                self.set_moment(|_, _| moment);
                self.notice = self.stopped_at(stop);
            }
            None if forward => {
                self.set_moment(|recording, _| recording.end());
                self.say("no breakpoint up to the end");
            }
            None => {
                self.set_moment(|recording, _| recording.start());
                self.say("no breakpoint back to the start");
            }
        }
    }

    fn stopped_at(&self, stop: usize) -> Option<String> {
        self.playback.stops.get(stop).map(|stop| format!("stopped at {}", quoted(&stop.to_string())))
    }

    /// Sets a breakpoint, or removes it if it is set.
    pub fn toggle_stop(&mut self, text: &str) {
        match text.parse::<Stop>() {
            Ok(Stop::Field(name)) if self.library.material.template.field(&name).is_none() => {
                self.say(format!(
                    "{} is not a field; use open, close, chunk, malformed, a field's name, a number or /pattern/",
                    quoted(&name)
                ));
            }
            Ok(stop) => {
                let written = stop.to_string();
                let before = self.playback.stops.len();
                self.playback.stops.retain(|other| other.to_string() != written);
                let removed = self.playback.stops.len() < before;
                if !removed {
                    self.playback.stops.push(stop);
                }
                let done = if removed { "no longer stops at" } else { "stops at" };
                self.say(format!("{done} {}; c continues to it", quoted(&written)));
            }
            Err(error) => self.say(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_parsed_and_written() {
        for (text, at) in [("17", Position::Character(17)), ("event:3", Position::Event(3)), ("end", Position::End)] {
            assert_eq!(text.parse(), Ok(at));
            assert_eq!(at.to_string(), text);
        }
        for wrong in ["", "-1", "event:", "event:x", "start"] {
            assert!(wrong.parse::<Position>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_clock_follows_the_speed() {
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
