//! Moves through the replay: by event, chunk, character and line, to positions, and as it plays.

use super::playback::Position;
use super::session::Session;
use crate::replay::{Moment, Recording, Stop, quoted};
use std::time::Instant;

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
        let Some(recording) = self.recording() else { return };
        let Some(moment) = self.side().map(|side| side.moment) else { return };
        // Inside a chunk the place is where the last event ended.
        let here = match recording.is_inside_feed(moment) {
            true => recording.settled(moment),
            false => recording.arrived(moment),
        };
        let (output, length) = (recording.output_start(), recording.text().len());
        let (there, at_end) = if forward {
            let rest = recording.slice(here..length);
            (rest.char_indices().nth(count).map_or(length, |(at, _)| here + at), rest.is_empty())
        } else {
            let before = recording.slice(output..here);
            let there = match count.checked_sub(1) {
                Some(count) => before.char_indices().nth_back(count).map_or(output, |(at, _)| output + at),
                None => here,
            };
            (there, false)
        };
        if at_end {
            return self.set_moment(|recording, _| recording.end());
        }
        let found = recording.moment_at(there).min(recording.before_end());
        if recording.arrived(found) != there {
            self.cut_at(there);
        }
        self.set_moment(|recording, _| recording.moment_at(there).min(recording.before_end()));
    }

    fn cut_at(&mut self, byte: usize) {
        let Some(offset) = self.recording().map(|recording| recording.offset_of(byte)) else { return };
        self.playback.chunking.cut(usize::try_from(offset).unwrap_or(0));
        let tools = &self.library.material.tools;
        match self.playback.sides.iter_mut().all(|side| side.recording.cut(tools.clone(), byte)) {
            true => self.look_over(),
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
        if isize::try_from(offset).map_or(true, |offset| offset > recording.offset_of(byte)) {
            return self.set_moment(|recording, _| recording.end());
        }
        self.set_moment(|recording, _| recording.moment_at(byte).min(recording.before_end()));
        self.playback.target =
            self.side().map(|side| (byte.saturating_sub(side.recording.output_start()), side.moment));
        let Some(side) = self.side() else { return };
        let reached = side.recording.offset_of(side.recording.arrived(side.moment));
        if isize::try_from(offset).is_ok_and(|offset| offset < reached) {
            self.say(format!("character {offset} came in a chunk that ends at {reached}"));
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
            let stop =
                if self.playback.stops.is_empty() { None } else { recording.next_stop(&self.playback.stops, moment) };
            if let Some((at, stop)) = stop.filter(|(at, _)| *at <= next) {
                moment = at;
                met = self.playback.stops.get(stop).map(|stop| format!("stopped at {}", quoted(&stop.to_string())));
                break;
            }
            moment = next;
        }
        let ended = moment == recording.end();
        self.set_moment(|_, _| moment);
        if met.is_some() || ended {
            self.playback.clock.stop();
            self.notice = met;
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
                self.notice =
                    self.playback.stops.get(stop).map(|stop| format!("stopped at {}", quoted(&stop.to_string())));
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
