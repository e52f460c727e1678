//! Records the open output, keeps the place across recordings, and finds where two sides or an expectation differ.

use super::playback::{Showing, Side, mode_name};
use super::session::Session;
use super::verdict::Verdict;
use crate::replay::{Moment, Recording, Recovery, Run, TooLarge, first_difference, quoted};
use backchat_core::diagnostic::Diagnostic;
use backchat_parser::parser::{Mode, Policies};
use backchat_parser::template::Template;

impl Session {
    /// Parses anew and keeps the place: the same text has come, and at the end it is the end.
    pub(super) fn record(&mut self) {
        let before = match self.recordings() {
            Ok(sides) => std::mem::replace(&mut self.playback.sides, sides),
            Err(TooLarge) => {
                self.library.problem = Some(Diagnostic::error("too-large", TooLarge.to_string()).into());
                return;
            }
        };
        self.judge_shown();
        self.look_over();
        let Some(Side { recording: before, moment, .. }) = before.into_iter().next() else {
            return self.set_moment(|recording, _| recording.start());
        };
        let has_same_text = |new: &Recording| new.text() == before.text();
        if moment == before.end() {
            self.set_moment(|recording, _| recording.end());
        } else if before.is_inside_feed(moment) && self.recording().is_some_and(has_same_text) {
            self.set_moment(|recording, _| recording.moment_like(&before, moment));
        } else {
            // Longer chunks may have carried the moment on from the place that was gone to.
            let target = self.playback.target.filter(|(_, target)| *target == moment).map(|(byte, _)| byte);
            let byte = target.unwrap_or_else(|| before.arrived(moment).saturating_sub(before.output_start()));
            self.set_moment(|recording, _| {
                recording.moment_at(recording.output_start() + byte).min(recording.before_end())
            });
            self.playback.target = self.side().map(|side| (byte, side.moment));
        }
    }

    /// Takes note of recordings that are new, or were changed.
    pub(super) fn look_over(&mut self) {
        self.playback.generation += 1;
        self.playback.difference = match self.playback.sides.as_slice() {
            [one, other] => first_difference(&one.recording, &other.recording),
            _ => None,
        };
        self.judge_events();
        self.playback.moves += 1;
    }

    /// Finds the events that are wrong, or look it.
    pub(super) fn judge_events(&mut self) {
        self.playback.wrong = match (&self.library.material.expected, self.recording()) {
            // What more text would make good is not wrong yet.
            _ if self.library.is_awaited => Vec::new(),
            (Some(_), _) if self.verdict() == Some(Verdict::Passed) => Vec::new(),
            (Some(expected), Some(recording)) => recording.wrong_events(expected),
            (None, Some(recording)) => recording.suspicious_events(),
            (_, None) => Vec::new(),
        };
    }

    /// The open output read with a template.
    pub(super) fn run<'a>(&'a self, template: &'a Template, mode: Mode, recovery: Recovery) -> Run<'a> {
        let material = &self.library.material;
        Run { template, prefix: &material.prefix, mode, tools: material.tools.clone(), recovery }
    }

    fn recordings(&self) -> Result<Vec<Side>, TooLarge> {
        let material = &self.library.material;
        let text = match self.recording() {
            // If the text is the same, it is shared with the recording before.
            Some(before) if is_joined(before.text(), &material.prefix, &material.output) => before.text().clone(),
            _ => [material.prefix.as_str(), &material.output].concat().into(),
        };
        let record_with = |template: &Template, mode: Mode, recovery: Recovery, name: String| {
            let run = self.run(template, mode, recovery);
            let ends = self.playback.chunking.ends(&material.output, material.chunks.as_deref());
            let ends = ends.map(|end| material.prefix.len() + end);
            let recording = match self.library.is_awaited {
                true => Recording::of_open_text(&run, text.clone(), ends)?,
                false => Recording::of_text(&run, text.clone(), ends)?,
            };
            Ok(Side { name, moment: recording.start(), recording })
        };
        let record = |template: &Template, mode, name: String| record_with(template, mode, material.recovery, name);
        match (self.playback.showing, &material.other) {
            (Showing::Recovery, _) => {
                let with = |policies| Recovery { policies, ..material.recovery };
                let [off, on] = [Policies::none(), Policies::all()].map(with);
                Ok(vec![
                    record_with(&material.template, Mode::Stable, off, "without policies".to_owned())?,
                    record_with(&material.template, Mode::Stable, on, "with all policies".to_owned())?,
                ])
            }
            (Showing::Templates(mode), Some(other)) => Ok(vec![
                record(&material.template, mode, material.template_file.clone())?,
                record(&other.template, mode, other.name.clone())?,
            ]),
            (showing, _) => {
                let modes = showing.modes();
                let sides = modes.into_iter().map(|mode| record(&material.template, mode, mode_name(mode).to_owned()));
                sides.collect()
            }
        }
    }

    /// Moves to a moment; the other side follows to the same text.
    pub fn set_moment(&mut self, to: impl FnOnce(&Recording, Moment) -> Moment) {
        let Some((first, rest)) = self.playback.sides.split_first_mut() else { return };
        first.moment = to(&first.recording, first.moment);
        for side in rest {
            side.moment = side.recording.moment_like(&first.recording, first.moment);
        }
        self.playback.moves += 1;
    }

    /// Shows the next of: stable, reference, both; and two templates, if there are two.
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
            self.notice = Some(match self.playback.showing.mode() {
                Mode::Stable => "stable: one answer however the output is cut".to_owned(),
                Mode::Reference => "reference: the answer of transformers for these chunks".to_owned(),
            });
        }
    }

    /// Moves to the next place worth a look: of one side, the next event that is wrong; of two, where they part, and
    /// from there to their end, where the messages show what became of it.
    pub fn show_next_difference(&mut self) {
        let has_parted = self.playback.difference.zip(self.side()).is_some_and(|(difference, side)| {
            side.moment >= difference.first && !side.recording.has_ended(side.moment)
        });
        if has_parted {
            self.set_moment(|recording, _| recording.end());
            self.notice = Some("the end of both sides; x goes back to where they part".to_owned());
        } else {
            self.show_difference();
        }
    }

    /// Moves to where the two sides part, or to the next event that is not as expected.
    pub fn show_difference(&mut self) {
        if self.playback.sides.len() < 2 {
            return self.show_wrong();
        }
        let Some(difference) = self.playback.difference else {
            if !self.playback.wrong.is_empty() {
                return self.show_wrong();
            }
            self.notice = Some("the two sides say the same from start to end".to_owned());
            return;
        };
        self.set_moment(|_, _| difference.first);
        if let Some(other) = self.playback.sides.get_mut(1) {
            other.moment = difference.second;
        }
        self.notice = Some(match self.recording().map(Recording::row_count) {
            Some(rows) if difference.row < rows => {
                let event = self.recording().map_or(0, |recording| recording.row(difference.row).start);
                format!("the two sides part at event {}", self.event_number(event))
            }
            _ => "the two sides part at the end".to_owned(),
        });
    }

    /// Moves to the next event that is wrong or looks it, and from the last to the first.
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
            self.notice = Some(format!("event {} {looks}", self.event_number(event)));
        } else if self.verdict() == Some(Verdict::Failed) {
            self.set_moment(|recording, _| recording.end());
            self.notice = Some("every event is as expected, and something expected never comes".to_owned());
        } else {
            self.notice = Some(match self.verdict() {
                Some(_) => "the message is as expected".to_owned(),
                None => "no event looks wrong; what the message should be is not said".to_owned(),
            });
        }
    }

    /// Sets the notice of an output that was opened: whether it needs looking at.
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

fn is_joined(text: &str, first: &str, second: &str) -> bool {
    text.len() == first.len() + second.len() && text.starts_with(first) && text.ends_with(second)
}
