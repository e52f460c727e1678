//! Types on an output: each key is a chunk, and nothing is written to a file.

use super::chunking::Chunking;
use super::editing::Edit;
use super::session::Session;

impl Session {
    /// Makes keys text, from the end of the output on.
    pub fn start_typing(&mut self) {
        if self.playback.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.editing.is_typing = true;
        self.set_moment(|recording, _| recording.before_end());
        self.notice = Some("type or paste; each key is a chunk, esc ends".to_owned());
    }

    /// Whether an operation has to wait for the end of the output; says so.
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

    /// Removes the last character.
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

    /// Records the output anew, with its chunks as they were typed.
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

    /// Undoes what was typed: shows the output as its file has it.
    pub(super) fn untype(&mut self) {
        match self.editing.edits.remove(&self.library.output) {
            Some(_) => {
                self.open(self.library.output);
                self.notice = Some("what was typed is undone".to_owned());
            }
            None => self.notice = Some("nothing was typed".to_owned()),
        }
    }
}
