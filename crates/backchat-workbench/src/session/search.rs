//! A search for a text or a pattern between slashes, and its matches: plain data, filled by `searching`.

use backchat_parser::pattern::Pattern;
use std::fmt;
use std::ops::Range;

#[derive(Debug)]
pub struct Search {
    pub(super) query: Query,
    /// The matches in the output, then in the events, then in the template, each in order.
    pub(super) hits: Vec<Hit>,
    /// The recording and the text of the template that were searched.
    pub(super) of: (u64, String),
    /// The match that was visited last, and the move counter at that time.
    pub(super) at: Option<(usize, u64)>,
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
