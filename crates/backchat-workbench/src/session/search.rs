//! Searches the output, the events and the template for a text, or for a pattern between slashes.

use super::Session;
use crate::replay::{Kind, Recording, quoted, shown};
use backchat_parser::pattern::Pattern;
use std::fmt;
use std::ops::Range;

#[derive(Debug)]
pub struct Search {
    query: Query,
    /// The matches in the output, then in the events, then in the template, each in order.
    hits: Vec<Hit>,
    /// The recording and the text of the template that were searched.
    of: (u64, String),
    /// The match that was visited last, and the move counter at that time.
    at: Option<(usize, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// Bytes of the recorded text.
    Output(Range<usize>),
    /// An event: its kind, its field or its value.
    Event(usize),
    /// A line of the template as it is shown, from 0.
    Template(usize),
}

impl Search {
    /// The bytes of the recorded text that match.
    pub fn in_output(&self) -> impl Iterator<Item = &Range<usize>> {
        self.hits.iter().filter_map(|hit| match hit {
            Hit::Output(span) => Some(span),
            _ => None,
        })
    }

    /// The match that was visited last, unless there were moves since.
    fn current(&self, moves: u64) -> Option<usize> {
        self.at.filter(|(_, before)| *before == moves).map(|(at, _)| at)
    }

    pub fn has_event_in(&self, events: &Range<usize>) -> bool {
        self.hits.iter().any(|hit| matches!(hit, Hit::Event(at) if events.contains(at)))
    }

    pub fn has_line(&self, line: usize) -> bool {
        self.hits.contains(&Hit::Template(line))
    }
}

#[derive(Clone, Debug)]
pub enum Query {
    /// A text. Case counts only if it has capital letters.
    Text(String),
    Pattern(Pattern),
}

impl Query {
    /// Parses what was typed; the error is about an invalid pattern.
    pub fn read(typed: &str) -> Result<Self, String> {
        match typed.strip_prefix('/') {
            // A single slash is searched as text.
            Some(pattern) if !pattern.is_empty() => {
                let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
                Pattern::new(pattern).map(Self::Pattern).map_err(|error| error.to_string())
            }
            _ => Ok(Self::Text(typed.to_owned())),
        }
    }

    /// The matches from left to right; none is empty, and none overlaps another.
    pub fn spans(&self, text: &str) -> Vec<Range<usize>> {
        match self {
            Self::Text(query) if query.is_empty() => Vec::new(),
            Self::Text(query) => {
                let of = |text: &str, query: &str| {
                    text.match_indices(query).map(|(at, found)| at..at + found.len()).collect()
                };
                match query.chars().any(char::is_uppercase) {
                    true => of(text, query),
                    // The lengths stay: only ASCII changes.
                    false => of(&text.to_ascii_lowercase(), &query.to_ascii_lowercase()),
                }
            }
            // A step limit ends the search.
            Self::Pattern(pattern) => {
                let found = pattern.matches(text).map_while(Result::ok).map(|found| found.span());
                found.filter(|(start, end)| start < end).map(|(start, end)| start..end).collect()
            }
        }
    }

    pub fn occurs(&self, text: &str) -> bool {
        !self.spans(text).is_empty()
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Pattern(pattern) => write!(f, "/{}/", pattern.source()),
        }
    }
}

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
        search.hits.get(search.current(self.playback.moves)?)
    }

    /// Goes to the next or the previous match, wrapping around.
    pub fn go_to_match(&mut self, forward: bool) {
        let Some(mut search) = self.playback.search.take() else {
            self.say("no search yet; / starts one");
            return;
        };
        if search.of != self.searchable() {
            search = self.searched(search.query);
        }
        let next = match search.current(self.playback.moves) {
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
                self.set_moment(|recording, _| recording.moment_before_end(span.end));
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

/// The searchable text of an event: kind, field and value. `None` for a chunk, whose text is in the output.
fn in_words(recording: &Recording, event: usize) -> Option<String> {
    let seen = recording.event(event).filter(|seen| seen.kind != Kind::Chunk)?;
    let value = seen.value.map(|_| shown(recording, event..event + 1)).unwrap_or_default();
    Some(format!("{} {} {value}", seen.kind.short(), recording.field_name(seen.field)))
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn texts_and_patterns_are_found() {
        let text = "aé<B> <b> aé/7";
        for (query, found) in [
            ("<b>", &[(3, 6), (7, 10)][..]),
            ("<B>", &[(3, 6)]),
            ("é", &[(1, 3), (12, 14)]),
            ("", &[]),
            ("/", &[(14, 15)]),
            ("/<./", &[(3, 5), (7, 9)]),
            ("/\\d", &[(15, 16)]),
            ("/x*/", &[]),
            ("longer than the text is", &[]),
        ] {
            let spans = Query::read(query).unwrap().spans(text);
            let spans: Vec<(usize, usize)> = spans.into_iter().map(|span| (span.start, span.end)).collect();
            assert_eq!(spans, found, "{query}");
        }
        assert!(Query::read("/(").is_err());
    }
}
