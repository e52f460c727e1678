//! Breakpoints.

use std::fmt;
use std::str::FromStr;

use super::recording::{Kind, Moment, Recording};
use backchat_parser::pattern::Pattern;

/// Where to stop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Stop {
    /// At every event of a kind.
    Kind(Kind),
    /// At every event of a field except chunks.
    Field(String),
    /// Once this many characters of the output have arrived.
    Offset(usize),
    /// Once a match of a pattern is complete.
    Pattern(Pattern),
}

/// Why a text is not a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopError(pub String);

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StopError {}

/// Reads `open`, `chunk`, `close`, `malformed`, a number of characters, `/pattern/`, or the name of a field.
impl FromStr for Stop {
    type Err = StopError;

    fn from_str(text: &str) -> Result<Self, StopError> {
        let text = text.trim();
        Ok(match text {
            "open" => Self::Kind(Kind::Open),
            "chunk" => Self::Kind(Kind::Chunk),
            "close" => Self::Kind(Kind::Close),
            "malformed" => Self::Kind(Kind::Malformed),
            "" => return Err(StopError("nothing to stop at".to_owned())),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Self::Offset(text.parse().map_err(|_| StopError(format!("{text} is too large")))?)
            }
            _ => match text.strip_prefix('/') {
                Some(pattern) => {
                    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
                    Self::Pattern(Pattern::new(pattern).map_err(|error| StopError(error.to_string()))?)
                }
                None => Self::Field(text.to_owned()),
            },
        })
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => f.write_str(kind.short()),
            Self::Field(name) => f.write_str(name),
            Self::Offset(offset) => write!(f, "{offset}"),
            Self::Pattern(pattern) => write!(f, "/{}/", pattern.source()),
        }
    }
}

impl Recording {
    /// The first moment after this one at which a breakpoint is hit, and which.
    pub fn next_stop(&self, stops: &[Stop], moment: Moment) -> Option<(Moment, usize)> {
        let met = stops.iter().enumerate().filter_map(|(at, stop)| Some((self.stop_after(stop, moment)?, at)));
        met.min()
    }

    /// The last moment before this one at which a breakpoint is hit, and which.
    pub fn previous_stop(&self, stops: &[Stop], moment: Moment) -> Option<(Moment, usize)> {
        let met = stops.iter().enumerate().filter_map(|(at, stop)| Some((self.stop_before(stop, moment)?, at)));
        met.max()
    }

    /// Whether an event itself hits a breakpoint.
    pub fn stops_at(&self, stops: &[Stop], event: usize) -> bool {
        stops.iter().any(|stop| self.meets(stop, event))
    }

    /// The byte of the text that must have arrived for a breakpoint on a character to be hit.
    pub fn stop_place(&self, stop: &Stop) -> Option<usize> {
        match stop {
            Stop::Offset(offset) => Some(self.byte_at(*offset)),
            Stop::Kind(_) | Stop::Field(_) | Stop::Pattern(_) => None,
        }
    }

    fn stop_after(&self, stop: &Stop, moment: Moment) -> Option<Moment> {
        match stop {
            Stop::Kind(_) | Stop::Field(_) => {
                let event = (moment.event..self.entries.len()).find(|event| self.meets(stop, *event))?;
                Some(self.moment_of_event(event))
            }
            Stop::Offset(offset) => self.moment_of_offset(*offset).filter(|found| *found > moment),
            Stop::Pattern(pattern) => self.matches(pattern).find(|found| *found > moment),
        }
    }

    fn stop_before(&self, stop: &Stop, moment: Moment) -> Option<Moment> {
        match stop {
            Stop::Kind(_) | Stop::Field(_) => {
                let events = self.initial_count()..moment.event;
                let event =
                    events.rev().find(|event| self.meets(stop, *event) && self.moment_of_event(*event) < moment)?;
                Some(self.moment_of_event(event))
            }
            Stop::Offset(offset) => self.moment_of_offset(*offset).filter(|found| *found < moment),
            Stop::Pattern(pattern) => self.matches(pattern).take_while(|found| *found < moment).last(),
        }
    }

    /// The moment at which this many characters of the output had arrived. `None` if the output is shorter.
    fn moment_of_offset(&self, offset: usize) -> Option<Moment> {
        let byte = self.byte_at(offset);
        (self.characters_before(byte) == offset).then(|| self.moment_at(byte))
    }

    fn meets(&self, stop: &Stop, event: usize) -> bool {
        let Some(entry) = self.entries.get(event) else { return false };
        match stop {
            Stop::Kind(kind) => entry.kind == *kind,
            Stop::Field(name) => entry.kind != Kind::Chunk && self.field_name(entry.field.into()) == name,
            Stop::Offset(_) | Stop::Pattern(_) => false,
        }
    }

    /// The moments at which a match of the pattern in the output is complete.
    fn matches<'r>(&'r self, pattern: &'r Pattern) -> impl Iterator<Item = Moment> + 'r {
        let output = self.slice(self.output..self.text.len());
        pattern.matches(output).map_while(Result::ok).map(|found| self.moment_at(self.output + found.span().1))
    }
}
