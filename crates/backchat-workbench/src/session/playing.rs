//! Plays the recording, and stops at breakpoints.

use std::time::Instant;

use super::session::Session;
use crate::replay::{Stop, quoted};

impl Session {
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
        if faster {
            self.playback.clock.faster()
        } else {
            self.playback.clock.slower()
        }
        self.notice = Some(format!("{} chunks a second", self.playback.clock.speed()));
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
            self.notice = Some("no breakpoint is set; s sets one".to_owned());
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
                self.notice = Some("no breakpoint up to the end".to_owned());
            }
            None => {
                self.set_moment(|recording, _| recording.start());
                self.notice = Some("no breakpoint back to the start".to_owned());
            }
        }
    }

    /// Sets a breakpoint, or removes it if it is set.
    pub fn toggle_stop(&mut self, text: &str) {
        match text.parse::<Stop>() {
            Ok(Stop::Field(name)) if self.library.material.template.field(&name).is_none() => {
                self.notice = Some(format!(
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
                self.notice = Some(format!("{done} {}; c goes on to it", quoted(&written)));
            }
            Err(error) => self.notice = Some(error.to_string()),
        }
    }
}
