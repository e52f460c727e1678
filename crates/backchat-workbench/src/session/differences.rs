//! Finds where two sides differ, or where the message is not the expected one, and goes there.

use super::recording::Verdict;
use super::{Session, Showing};
use crate::replay::{Recording, quoted};
use backchat_parser::parser::Mode;

/// The notice about the stable mode.
pub(super) const STABLE: &str = "stable: one answer however the output is cut";

impl Session {
    /// Whether the last event is not as expected; at the end, whether the message is not.
    pub fn is_mismatch(&self) -> bool {
        let Some(side) = self.side().filter(|_| self.library.material.expected.is_some()) else { return false };
        match side.recording.has_ended(side.moment) {
            true => matches!(self.verdict(), Some(Verdict::Failed | Verdict::Excused)),
            false => {
                let last = side.recording.last_event(side.moment);
                last.is_some_and(|event| self.playback.wrong.binary_search(&event).is_ok())
            }
        }
    }
}

impl Session {
    /// Shows the next of: stable, reference, both, and two templates if there are two.
    pub fn switch_mode(&mut self) {
        let templates = self.library.material.other.is_some();
        self.playback.showing = match self.playback.showing {
            Showing::One(Mode::Stable) => Showing::One(Mode::Reference),
            Showing::One(Mode::Reference) => Showing::Modes,
            Showing::Modes if templates => Showing::Templates(Mode::Stable),
            Showing::Templates(Mode::Stable) => Showing::Templates(Mode::Reference),
            Showing::Modes | Showing::Templates(Mode::Reference) | Showing::Recovery => Showing::One(Mode::Stable),
        };
        self.record();
        if self.playback.sides.len() > 1 {
            self.show_difference();
        } else {
            self.say(match self.playback.showing.mode() {
                Mode::Stable => STABLE,
                Mode::Reference => "reference: transformers' answer for these chunks",
            });
        }
    }

    /// Moves to the next point of interest: for one side, the next wrong event; for two, their first difference, and
    /// from there to their end, where the messages show the result.
    pub fn show_next_difference(&mut self) {
        let has_parted = self.playback.difference.zip(self.side()).is_some_and(|(difference, side)| {
            side.moment >= difference.first && !side.recording.has_ended(side.moment)
        });
        if has_parted {
            self.set_moment(|recording, _| recording.end());
            self.say("the end of both sides; x goes back to their first difference");
        } else {
            self.show_difference();
        }
    }

    /// Moves to the first difference of the two sides, or to the next event that is not as expected.
    pub fn show_difference(&mut self) {
        if self.playback.sides.len() < 2 {
            return self.show_wrong();
        }
        let Some(difference) = self.playback.difference else {
            if !self.playback.wrong.is_empty() {
                return self.show_wrong();
            }
            return self.say("the two sides agree from start to end");
        };
        self.set_moment(|_, _| difference.first);
        if let Some(other) = self.playback.sides.get_mut(1) {
            other.moment = difference.second;
        }
        self.notice = Some(match self.recording().map(Recording::row_count) {
            Some(rows) if difference.row < rows => {
                let event = self.recording().map_or(0, |recording| recording.row(difference.row).start);
                format!("the two sides first differ at event {}", self.event_number(event))
            }
            _ => "the two sides first differ at the end".to_owned(),
        });
    }

    /// Moves to the next event that is wrong or looks wrong, wrapping around.
    fn show_wrong(&mut self) {
        let Some(side) = self.side() else { return };
        let next =
            self.playback.wrong.iter().find(|event| **event >= side.moment.event).or(self.playback.wrong.first());
        if let Some(event) = next.copied() {
            self.set_moment(|recording, _| recording.moment_of_event(event));
            let left = self.recording().and_then(|recording| recording.leftover(event)).map(quoted);
            let looks = match (self.library.material.expected.is_some(), left) {
                (true, _) => "is not as expected".to_owned(),
                (false, None) => "looks wrong".to_owned(),
                (false, Some(mark)) => format!("looks wrong: {mark} is left in its text"),
            };
            self.say(format!("event {} {looks}", self.event_number(event)));
        } else if self.verdict() == Some(Verdict::Failed) {
            self.set_moment(|recording, _| recording.end());
            self.say("every event is as expected, but an expected one is missing");
        } else {
            self.say(match self.verdict() {
                Some(_) => "the message is as expected",
                None => "no event looks wrong; there is no expected message",
            });
        }
    }

    /// Sets the notice of an opened output: whether it has a problem.
    pub(super) fn set_verdict_notice(&mut self) {
        let verdict = self.verdict();
        let (mark, one, several) = match verdict {
            Some(Verdict::Failed) => ("✗", "is not as expected", "are not as expected"),
            Some(Verdict::Excused) => {
                ("·", "is not as expected, which is allowed", "are not as expected, which is allowed")
            }
            _ => ("!", "looks wrong", "look wrong"),
        };
        self.notice = match self.playback.wrong.len() {
            0 if verdict == Some(Verdict::Failed) => Some("✗ not as expected: x shows where".to_owned()),
            0 => None,
            1 => Some(format!("{mark} 1 event {one}: x goes there")),
            count => Some(format!("{mark} {count} events {several}: x goes to the first")),
        };
    }

    /// The number by which the list shows an event.
    pub fn event_number(&self, event: usize) -> usize {
        let row = self.recording().map_or(0, |recording| recording.row_of(event));
        1 + if self.playback.every_event { event } else { row }
    }
}
