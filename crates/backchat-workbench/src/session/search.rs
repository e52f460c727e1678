//! Finds places in the replay and goes there: matches of a text or a pattern, events that are wrong, differences of two
//! sides, problems, and the cut that changes the reference's answer.

use super::Session;
use super::recording::{Showing, Verdict};
use crate::replay::{Chunking, CutSearch, CutSearchResult, Kind, Recording, problem_in_words, quoted, shown};
use backchat_parser::parser;
use backchat_parser::pattern::Pattern;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

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

/// Differences, wrong events and problems.
impl Session {
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

    /// Goes to the next problem of the output, wrapping around.
    pub fn show_problem(&mut self) {
        let Some(side) = self.side() else { return };
        let (recording, moment) = (&side.recording, side.moment);
        let place = |problem: &parser::Problem| {
            let end = recording.problem_span(problem).end.max(recording.output_start());
            recording.moment_at(end).min(recording.end())
        };
        let problems: Vec<_> =
            recording.problems().iter().map(|problem| (place(problem), problem_in_words(problem))).collect();
        let next = problems.iter().find(|(place, _)| *place > moment).or(problems.first()).cloned();
        let Some((place, words)) = next else {
            return self.say("nothing went wrong in this output");
        };
        self.set_moment(|_: &Recording, _| place);
        self.say(words);
    }
}

/// How long the search may block the screen.
const PATIENCE: Duration = Duration::from_millis(40);

impl Session {
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
