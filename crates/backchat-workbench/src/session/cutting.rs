//! Changes the cuts of the output: by rule, where the reference's answer changes, or by typing.

use super::chunking::{ChunkRule, Chunking};
use super::playback::{RunningSearch, Showing};
use super::session::{Edit, Session};
use crate::replay::{CutSearch, CutSearchResult};
use std::time::{Duration, Instant};

/// How long the search may block the screen.
const PATIENCE: Duration = Duration::from_millis(40);

/// Cuts the output in another way, or where the reference's answer changes.
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

    /// Cuts the output by a rule in the syntax of the command line.
    pub fn rechunk_as(&mut self, text: &str) {
        match text.parse() {
            Ok(chunking) => self.rechunk(chunking),
            Err(wrong) => self.say(wrong),
        }
    }

    /// Starts to search for the cut that changes the reference's answer.
    pub fn start_cut_search(&mut self) {
        if self.library.percent_read().is_some() && self.awaits_more() {
            return;
        }
        let material = &self.library.material;
        let Some(recording) = self.recording() else { return };
        let search = CutSearch::new(recording, material.tools.clone());
        self.playback.cut_search = Some(RunningSearch { search, began: Instant::now() });
    }

    /// Continues the search for a while; true if the screen changes.
    pub fn go_on_searching(&mut self, now: Instant) -> bool {
        let Some(running) = &mut self.playback.cut_search else { return false };
        let deadline = now + PATIENCE;
        let found = loop {
            if let Some(found) = running.search.step() {
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

    /// Cuts the output where the reference's answer changes, and goes there.
    fn show_cuts(&mut self, cuts: &[usize]) {
        let Some(recording) = self.recording() else { return };
        let offsets = cuts.iter().map(|cut| usize::try_from(recording.offset_of(*cut)).unwrap_or(0));
        self.playback.chunking = Chunking::at(offsets);
        self.playback.showing = Showing::Modes;
        self.record();
        let first = cuts.first().copied().unwrap_or(0);
        self.set_moment(|recording, _| recording.moment_at(first));
        self.say(format!("{}: transformers gives another answer for this output", self.playback.chunking));
    }
}

impl RunningSearch {
    /// The estimated remaining time of the search, from the cuts tried so far. `None` before the first.
    pub fn remaining(&self, now: Instant) -> Option<Duration> {
        let (tried, _) = self.search.progress();
        let each = now.saturating_duration_since(self.began).checked_div(u32::try_from(tried).ok()?)?;
        Some(each * u32::try_from(self.search.left()).unwrap_or(u32::MAX))
    }
}

/// Typing more output: each key is a chunk, and nothing is written to a file.
impl Session {
    /// Switches to typing at the end of the output.
    pub fn start_typing(&mut self) {
        if self.playback.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.editing.is_typing = true;
        self.set_moment(|recording, _| recording.before_end());
        self.say("type or paste; each key is a chunk, esc ends");
    }

    /// Whether an operation has to wait for the end of the output; shows a notice if so.
    pub(super) fn awaits_more(&mut self) -> bool {
        self.notice = match self.library.percent_read() {
            Some(percent) => Some(format!("{percent} % of this output was read; that has to wait for its end")),
            None if self.library.is_awaited => {
                Some("more of this output may arrive; that has to wait for its end".to_owned())
            }
            None => self.notice.take(),
        };
        self.library.is_partial()
    }

    /// Ends typing, and goes to the end of the output.
    pub fn stop_typing(&mut self) {
        self.editing.is_typing = false;
        self.set_moment(|recording, _| recording.end());
    }

    /// Appends text that was pasted, as one chunk.
    pub fn paste(&mut self, text: &str) {
        if self.playback.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.editing.is_typing = true;
        // Terminals send a carriage return for each line of a paste.
        self.append(&text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Appends one chunk to the output.
    pub fn append(&mut self, text: &str) {
        let lengths = self.lengths().into_iter().chain([text.chars().count()]).collect();
        self.library.material.output.push_str(text);
        self.retype(lengths);
    }

    pub fn take_back(&mut self) {
        let mut lengths = self.lengths();
        if self.library.material.output.pop().is_some() {
            match lengths.last_mut() {
                Some(last) if *last > 1 => *last -= 1,
                _ => drop(lengths.pop()),
            }
        }
        self.retype(lengths);
    }

    /// The lengths of the chunks, in characters.
    fn lengths(&self) -> Vec<usize> {
        let output = &self.library.material.output;
        let mut start = 0;
        let ends = self.playback.chunking.ends(output, self.library.material.chunks.as_deref());
        let lengths = ends.map(|end| {
            let chunk = output.get(start..end);
            debug_assert!(chunk.is_some(), "chunks end on the borders of characters, one after another");
            start = end;
            chunk.map_or(0, |chunk| chunk.chars().count())
        });
        lengths.collect()
    }

    /// Records the output again, with its chunks as typed.
    fn retype(&mut self, lengths: Vec<usize>) {
        self.editing
            .edits
            .insert(self.library.output, Edit { text: self.library.material.output.clone(), lengths: lengths.clone() });
        self.library.material.chunks = Some(lengths);
        self.library.material.expected = None;
        self.playback.chunking = Chunking::RECORDED;
        self.record();
        self.set_moment(|recording, _| recording.before_end());
    }

    /// Undoes typing: shows the output of the file.
    pub(super) fn untype(&mut self) {
        match self.editing.edits.remove(&self.library.output) {
            Some(_) => {
                self.open(self.library.output);
                self.say("what was typed is undone");
            }
            None => self.say("nothing was typed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Recording, Run};
    use backchat_parser::template::Template;

    #[test]
    fn the_time_left_follows_from_the_cuts_tried() {
        let template = Template::load(r#"{"start_anchor": "<a>", "fields": {"content": {}}}"#).unwrap().template;
        let run = Run {
            template: &template,
            prefix: "",
            mode: Default::default(),
            tools: None,
            recovery: Default::default(),
        };
        let recording = Recording::new(&run, ["0123456789"]).unwrap();
        let began = Instant::now();
        let mut running = RunningSearch { search: CutSearch::new(&recording, None), began };
        assert_eq!(running.remaining(began), None, "nothing was tried yet");
        assert_eq!(running.search.step(), None);
        assert_eq!(running.remaining(began + Duration::from_secs(2)), Some(Duration::from_secs(18)));
    }
}
