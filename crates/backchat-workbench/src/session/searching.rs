//! Searches the output, the events and the template.

use super::search::{Hit, Query, Search};
use super::session::Session;
use crate::replay::{Kind, Recording, quoted, shown};

impl Session {
    /// Runs the typed search, and goes to the first match from here on.
    pub fn search(&mut self, typed: &str) {
        self.playback.search = None;
        match Query::read(typed) {
            Ok(query) => {
                self.playback.search = Some(self.searched(query));
                self.go_to_match(true);
            }
            Err(wrong) => self.say(wrong),
        }
    }

    /// The match that the search jumped to last, unless the user has moved since.
    pub fn hit(&self) -> Option<&Hit> {
        let search = self.playback.search.as_ref()?;
        let (at, _) = search.at.filter(|(_, moves)| *moves == self.playback.moves)?;
        search.hits.get(at)
    }

    /// Goes to the next or the previous match, wrapping around.
    pub fn go_to_match(&mut self, forward: bool) {
        let Some(mut search) = self.playback.search.take() else {
            self.say("nothing to search for yet; / asks for a text");
            return;
        };
        if search.of != self.searchable() {
            search = self.searched(search.query);
        }
        let last = search.at.filter(|(_, moves)| *moves == self.playback.moves).map(|(at, _)| at);
        let next = match last {
            Some(at) if forward => Some(at + 1).filter(|at| *at < search.hits.len()),
            Some(at) => at.checked_sub(1),
            None => self.nearest(&search.hits, forward),
        };
        let other_end = if forward { 0 } else { search.hits.len().saturating_sub(1) };
        let at = next.unwrap_or(other_end);
        match search.hits.get(at).cloned() {
            None => {
                let query = quoted(&search.query.to_string());
                self.say(format!("{query} occurs neither in the output, the events nor the template"));
            }
            Some(hit) => {
                let place = self.show_hit(&hit);
                let wrapped = match (next, forward) {
                    (Some(_), _) => "",
                    (None, true) => "; the search continued from the start",
                    (None, false) => "; the search continued from the end",
                };
                self.say(format!("match {} of {}, {place}{wrapped}", at + 1, search.hits.len()));
                search.at = Some((at, self.playback.moves));
            }
        }
        self.playback.search = Some(search);
    }

    /// The first match after the position, or the last before it.
    fn nearest(&self, hits: &[Hit], forward: bool) -> Option<usize> {
        let side = self.side()?;
        let arrived = side.recording.arrived(side.moment);
        let before = side.recording.arrived(side.recording.previous_feed(side.moment));
        match forward {
            true => hits.iter().position(|hit| !matches!(hit, Hit::Output(span) if span.end <= arrived)),
            false => hits.iter().rposition(|hit| matches!(hit, Hit::Output(span) if span.end <= before)),
        }
    }

    /// Goes to a match; returns its position in words.
    fn show_hit(&mut self, hit: &Hit) -> String {
        match hit {
            Hit::Output(span) => {
                self.set_moment(|recording, _| recording.moment_at(span.end).min(recording.before_end()));
                let offset = self.recording().map_or(0, |recording| recording.offset_of(span.start));
                let is_inside = self.side().is_some_and(|side| side.recording.arrived(side.moment) != span.end);
                let inside = if is_inside { ", inside this chunk" } else { "" };
                format!("at character {offset}{inside}")
            }
            Hit::Event(event) => {
                self.set_moment(|recording, _| recording.moment_of_event(*event));
                format!("in event {}", self.event_number(*event))
            }
            Hit::Template(line) => {
                format!("in line {} of the template", self.library.material.line_in_file(*line))
            }
        }
    }

    fn searchable(&self) -> (u64, String) {
        (self.playback.generation, self.library.material.shown_template().into_owned())
    }

    fn searched(&self, query: Query) -> Search {
        let of = self.searchable();
        let mut hits = Vec::new();
        if let Some(recording) = self.recording() {
            let output = recording.output_start();
            let spans = query.spans(recording.slice(output..recording.text().len()));
            hits.extend(spans.into_iter().map(|span| Hit::Output(output + span.start..output + span.end)));
            let events = (0..recording.event_count())
                .filter(|event| in_words(recording, *event).is_some_and(|words| query.occurs(&words)));
            hits.extend(events.map(Hit::Event));
        }
        let lines = of.1.split('\n').enumerate().filter(|(_, line)| query.occurs(line));
        hits.extend(lines.map(|(line, _)| Hit::Template(line)));
        Search { query, hits, of, at: None }
    }
}

/// The searchable text of an event: its kind, its field and its value. Chunks repeat the text of the output.
fn in_words(recording: &Recording, event: usize) -> Option<String> {
    let seen = recording.event(event).filter(|seen| seen.kind != Kind::Chunk)?;
    let value = seen.value.map(|_| shown(recording, event..event + 1)).unwrap_or_default();
    Some(format!("{} {} {value}", seen.kind.short(), recording.field_name(seen.field)))
}
