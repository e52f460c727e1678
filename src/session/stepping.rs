//! Moving about: steps, play, breakpoints, search.

use std::time::{Duration, Instant};

use super::super::action::Action;
use super::super::{At, ChunkRule, Chunking};
use super::App;
use crate::replay::{CutSearch, Moment, Recording, Stop, CutSearchResult, quoted};

/// How long the search for a cut may keep the screen waiting.
const PATIENCE: Duration = Duration::from_millis(40);

impl App {
    /// Takes as many steps as the number before the key says.
    pub(super) fn step(&mut self, action: Action) {
        let every_event = self.every_event;
        let one = |recording: &Recording, moment: Moment| match action {
            Action::NextEvent if every_event => recording.next_event(moment),
            Action::NextEvent => recording.next_row(moment),
            Action::PreviousEvent if every_event => recording.previous_event(moment),
            Action::PreviousEvent => recording.previous_row(moment),
            Action::NextChunk => recording.next_feed(moment),
            Action::PreviousChunk => recording.previous_feed(moment),
            Action::NextLine => recording.next_line(moment),
            _ => recording.previous_line(moment),
        };
        let count = self.count.unwrap_or(1);
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

    /// Steps by character. Between chunks there is no moment to stand at, so where a chunk is longer the output is cut
    /// there.
    pub(super) fn step_characters(&mut self, forward: bool) {
        let Some(recording) = self.recording() else { return };
        let Some(moment) = self.side().map(|side| side.moment) else { return };
        let count = self.count.unwrap_or(1);
        // Inside a chunk one stands where the last event ended.
        let here = match recording.is_inside_feed(moment) {
            true => recording.settled(moment),
            false => recording.arrived(moment),
        };
        let text = recording.text();
        let output = recording.output_start();
        let (there, at_end) = if forward {
            let rest = text.get(here..).unwrap_or("");
            (rest.char_indices().nth(count).map_or(text.len(), |(at, _)| here + at), rest.is_empty())
        } else {
            let before = text.get(output..here).unwrap_or("");
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

    /// Adds a cut to the chunks there are.
    fn cut_at(&mut self, byte: usize) {
        let Some(offset) = self.recording().map(|recording| recording.offset_of(byte)) else { return };
        self.chunking.cut(usize::try_from(offset).unwrap_or(0));
        let tools = &self.material.tools;
        match self.sides.iter_mut().all(|side| side.recording.cut(tools.clone(), byte)) {
            true => self.look_over(),
            false => self.record(),
        }
    }

    /// Goes to a moment; to the end where it is not reached.
    pub(super) fn go_to(&mut self, at: At) {
        match at {
            At::Character(offset) => self.go_to_character(offset),
            At::Event(0) => self.set_moment(|recording, _| recording.start()),
            At::Event(count) => self.set_moment(|recording, _| match count <= recording.event_count() {
                true => recording.moment_of_event(count - 1),
                false => recording.end(),
            }),
            At::End => self.set_moment(|recording, _| recording.end()),
        }
    }

    fn go_to_character(&mut self, offset: usize) {
        let Some(recording) = self.recording() else { return };
        let byte = recording.byte_at(offset);
        if isize::try_from(offset).map_or(true, |offset| offset > recording.offset_of(byte)) {
            return self.set_moment(|recording, _| recording.end());
        }
        self.set_moment(|recording, _| recording.moment_at(byte).min(recording.before_end()));
        self.stood = self.side().map(|side| (byte.saturating_sub(side.recording.output_start()), side.moment));
        let Some(side) = self.side() else { return };
        let reached = side.recording.offset_of(side.recording.arrived(side.moment));
        if isize::try_from(offset).is_ok_and(|offset| offset < reached) {
            self.notice = Some(format!("character {offset} came in a chunk that ends at {reached}"));
        }
    }

    pub(super) fn toggle_play(&mut self, now: Instant) {
        if self.clock.is_playing() {
            return self.clock.stop();
        }
        if self.side().is_some_and(|side| side.moment == side.recording.end()) {
            self.set_moment(|recording, _| recording.start());
        }
        self.clock.play(now);
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        if faster {
            self.clock.faster()
        } else {
            self.clock.slower()
        }
        self.notice = Some(format!("{} chunks a second", self.clock.speed()));
    }

    /// Plays what is due; stops at breakpoints and at the end.
    pub(super) fn play(&mut self, now: Instant) -> bool {
        let due = self.clock.due(now);
        if due == 0 {
            return false;
        }
        let mut met = None;
        let mut moment = self.side().map(|side| side.moment).unwrap_or_default();
        let Some(recording) = self.recording() else { return false };
        for _ in 0..due {
            let next = recording.next_feed(moment);
            let stop = if self.stops.is_empty() { None } else { recording.next_stop(&self.stops, moment) };
            if let Some((at, stop)) = stop.filter(|(at, _)| *at <= next) {
                moment = at;
                met = self.stops.get(stop).map(|stop| format!("stopped at {}", quoted(&stop.to_string())));
                break;
            }
            moment = next;
        }
        let ended = moment == recording.end();
        self.set_moment(|_, _| moment);
        if met.is_some() || ended {
            self.clock.stop();
            self.notice = met;
        }
        true
    }

    /// On or back to a breakpoint.
    pub(super) fn run_to_stop(&mut self, forward: bool) {
        if self.stops.is_empty() {
            self.notice = Some("no breakpoint is set; s sets one".to_owned());
            return;
        }
        let Some(side) = self.side() else { return };
        let found = match forward {
            true => side.recording.next_stop(&self.stops, side.moment),
            false => side.recording.previous_stop(&self.stops, side.moment),
        };
        match found {
            Some((moment, stop)) => {
                self.set_moment(|_, _| moment);
                self.notice = self.stops.get(stop).map(|stop| format!("stopped at {}", quoted(&stop.to_string())));
            }
            None if forward => {
                self.set_moment(|recording, _| recording.end());
                self.notice = Some("no breakpoint up to the end".to_owned());
            }
            None => {
                self.set_moment(|recording, _| recording.start());
                self.notice = Some("no breakpoint back to the start".to_owned());
            }
        }
    }

    /// Sets a breakpoint, or takes it away where it is set.
    pub(super) fn toggle_stop(&mut self, text: &str) {
        match text.parse::<Stop>() {
            Ok(Stop::Field(name)) if self.material.template.field(&name).is_none() => {
                self.notice = Some(format!(
                    "{} is no field; use open, close, chunk, malformed, a field's name, a number or /pattern/",
                    quoted(&name)
                ));
            }
            Ok(stop) => {
                let written = stop.to_string();
                let before = self.stops.len();
                self.stops.retain(|other| other.to_string() != written);
                let removed = self.stops.len() < before;
                if !removed {
                    self.stops.push(stop);
                }
                let done = if removed { "no longer stops at" } else { "stops at" };
                self.notice = Some(format!("{done} {}; c goes on to it", quoted(&written)));
            }
            Err(error) => self.notice = Some(error.to_string()),
        }
    }

    /// Goes to the next place where the sought text stands, or the one before.
    pub(super) fn go_to_match(&mut self, forward: bool) {
        let Some(sought) = self.sought.clone() else {
            self.notice = Some("nothing is sought; / asks for a text".to_owned());
            return;
        };
        let Some(side) = self.side() else { return };
        let recording = &side.recording;
        let output = recording.output_start();
        // A chunk can hold several matches; they are gone through though the moment stays.
        let last = self.found.filter(|(moment, _)| *moment == side.moment).map(|(_, at)| at);
        let found = match (forward, last) {
            (true, Some(at)) => find(recording.text(), &sought, at + 1, true),
            (true, None) => {
                let from = (recording.arrived(side.moment) + 1).saturating_sub(sought.len());
                find(recording.text(), &sought, from.max(output), true)
            }
            (false, Some(at)) => {
                let before = (at + sought.len()).saturating_sub(1);
                find(recording.text(), &sought, before, false).filter(|at| *at >= output)
            }
            (false, None) => {
                let before = recording.arrived(recording.previous_feed(side.moment));
                find(recording.text(), &sought, before, false).filter(|at| *at >= output)
            }
        };
        // At either end of the output the search goes on from the other.
        let wrapped = || match forward {
            true => find(recording.text(), &sought, output, true),
            false => find(recording.text(), &sought, recording.text().len(), false).filter(|at| *at >= output),
        };
        let has_wrapped = found.is_none();
        let Some(at) = found.or_else(wrapped) else {
            self.notice = Some(format!("{} does not occur", quoted(&sought)));
            return;
        };
        let end = at + sought.len();
        let stands_at = recording.offset_of(at);
        self.set_moment(|recording, _| recording.moment_at(end).min(recording.before_end()));
        self.found = self.side().map(|side| (side.moment, at));
        if self.side().is_some_and(|side| side.recording.arrived(side.moment) != end) {
            self.notice = Some(format!("{} stands at character {stands_at}, inside this chunk", quoted(&sought)));
        } else if has_wrapped {
            let from = if forward { "start" } else { "end" };
            self.notice = Some(format!("the search went on from the {from}"));
        }
    }

    /// Cuts the output another way.
    pub(super) fn rechunk(&mut self, chunking: Chunking) {
        if chunking.rule == ChunkRule::Recorded && self.material.chunks.is_none() {
            self.notice = Some("how this output was cut was not recorded".to_owned());
            return;
        }
        self.chunking = chunking;
        self.is_cut_as_asked = true;
        self.record();
        self.notice = Some(self.chunking.to_string());
    }

    /// Begins to look for the cut that changes the reference's answer.
    pub(super) fn start_hunt(&mut self) {
        let material = &self.material;
        let Some(recording) = self.recording() else { return };
        self.hunt = Some(CutSearch::new(recording, material.tools.clone()));
    }

    /// Looks on for a while.
    pub(super) fn hunt_on(&mut self, now: Instant) -> bool {
        let Some(hunt) = &mut self.hunt else { return false };
        let deadline = now + PATIENCE;
        let found = loop {
            if let Some(found) = hunt.step() {
                break found;
            }
            if Instant::now() >= deadline {
                return true;
            }
        };
        self.hunt = None;
        match found {
            CutSearchResult::Cuts(cuts) => self.show_worst(&cuts),
            CutSearchResult::Nothing { tried, possible } if tried == possible => {
                self.notice =
                    Some(format!("no cut changes the reference's answer: all {possible} and one character at a time"));
            }
            CutSearchResult::Nothing { tried, possible } => {
                self.notice =
                    Some(format!("none of the {tried} likeliest cuts of {possible} changes the reference's answer"));
            }
        }
        true
    }

    /// Cuts the output where the reference's answer changes, and goes there.
    fn show_worst(&mut self, cuts: &[usize]) {
        let Some(recording) = self.recording() else { return };
        let offsets = cuts.iter().map(|cut| usize::try_from(recording.offset_of(*cut)).unwrap_or(0));
        self.chunking = Chunking::at(offsets);
        self.showing = super::Showing::Modes;
        self.record();
        let first = cuts.first().copied().unwrap_or(0);
        self.set_moment(|recording, _| recording.moment_at(first));
        self.notice = Some(format!("{}: transformers gives another answer for this output", self.chunking));
    }

    /// The rule that a text names, as the command line does.
    pub(super) fn rechunk_as(&mut self, text: &str) {
        match text.parse() {
            Ok(chunking) => self.rechunk(chunking),
            Err(wrong) => self.notice = Some(wrong),
        }
    }
}

/// Where a text stands: the first place from one on, or the last up to one. Capitals count only where some are sought.
fn find(text: &str, sought: &str, from: usize, forward: bool) -> Option<usize> {
    let any_case = !sought.chars().any(char::is_uppercase);
    let here = |at: usize| {
        text.get(at..at + sought.len()).is_some_and(|found| match any_case {
            true => found.eq_ignore_ascii_case(sought),
            false => found == sought,
        })
    };
    if sought.is_empty() {
        return None;
    }
    match forward {
        true => (from..=text.len().saturating_sub(sought.len())).find(|at| here(*at)),
        false => (0..=from.checked_sub(sought.len())?).rev().find(|at| here(*at)),
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_text_is_found_both_ways() {
        let text = "aé<B> <b> aé";
        for (sought, from, forward, found) in [
            ("<b>", 0, true, Some(3)),
            ("<b>", 4, true, Some(7)),
            ("<B>", 4, true, None),
            ("<b>", 10, false, Some(7)),
            ("<b>", 9, false, Some(3)),
            ("é", 2, true, Some(12)),
            ("", 0, true, None),
            ("longer than the text", 0, true, None),
            ("longer than the text", 5, false, None),
        ] {
            assert_eq!(find(text, sought, from, forward), found, "{sought} {from} {forward}");
        }
    }
}
