//! Moves through the replay: by event, chunk, character and line, and to positions.

use super::position::Position;
use super::session::Session;
use crate::replay::{Moment, Recording};

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
    /// Takes a number of steps; fewer if the recording ends before.
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

    /// Adds a cut to the chunking.
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
            self.notice = Some(format!("character {offset} came in a chunk that ends at {reached}"));
        }
    }
}
