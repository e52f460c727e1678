//! How the output is cut into chunks: by rule, at added cuts, or where the reference's answer changes.

use super::{Session, Showing};
use crate::replay::{ChunkRule, Chunking, CutSearch, CutSearchResult};
use std::time::{Duration, Instant};

/// How long the search may block the screen.
const PATIENCE: Duration = Duration::from_millis(40);

impl Session {
    pub fn rechunk(&mut self, chunking: Chunking) {
        if chunking.rule == ChunkRule::Recorded && self.library.material.chunks.is_none() {
            return self.say("the chunks of this output were not recorded");
        }
        self.playback.chunking = chunking;
        self.playback.is_cut_as_asked = true;
        self.record();
        self.say(self.playback.chunking.to_string());
    }

    /// Starts to search for the cut that changes the reference's answer.
    pub fn start_cut_search(&mut self) {
        if self.library.percent_read().is_some() && self.awaits_more() {
            return;
        }
        let material = &self.library.material;
        let Some(recording) = self.recording() else { return };
        self.playback.cut_search = Some((CutSearch::new(recording, material.tools.clone()), Instant::now()));
    }

    /// Continues the search for a while; true if the screen changes.
    pub fn continue_cut_search(&mut self, now: Instant) -> bool {
        let Some((search, _)) = &mut self.playback.cut_search else { return false };
        let deadline = now + PATIENCE;
        let found = loop {
            if let Some(found) = search.step() {
                break found;
            }
            if Instant::now() >= deadline {
                return true;
            }
        };
        self.playback.cut_search = None;
        match found {
            CutSearchResult::Cuts(cuts) => self.show_cuts(&cuts),
            CutSearchResult::Nothing { tried, possible } if tried == possible => {
                self.say(format!("no cut changes the reference's answer: all {possible} and one character at a time"));
            }
            CutSearchResult::Nothing { tried, possible } => {
                self.say(format!("none of the {tried} likeliest cuts of {possible} changes the reference's answer"));
            }
        }
        true
    }

    /// Cuts the output where the reference's answer changes, and goes to the first cut.
    fn show_cuts(&mut self, cuts: &[usize]) {
        let Some(recording) = self.recording() else { return };
        self.playback.chunking = Chunking::at(cuts.iter().map(|cut| recording.characters_before(*cut)));
        self.playback.showing = Showing::Modes;
        self.record();
        let first = cuts.first().copied().unwrap_or(0);
        self.set_moment(|recording, _| recording.moment_at(first));
        self.say(format!("{}: transformers gives another answer for this output", self.playback.chunking));
    }
}
