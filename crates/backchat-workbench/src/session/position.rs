//! A position in a replay, as the command line and the `:` key take it.

use std::fmt;
use std::str::FromStr;

/// A position in a replay, independent of how the output is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// After this many characters of the output.
    Character(usize),
    /// After this many events, with every chunk counted. It can be inside a chunk of the output.
    Event(usize),
    /// The end.
    End,
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "use a number of characters, `end`, or `event:N` for a number of events".to_owned();
        match (text.trim(), text.trim().strip_prefix("event:")) {
            ("end", _) => Ok(Self::End),
            (_, Some(events)) => events.parse().map(Self::Event).map_err(|_| wrong()),
            (characters, None) => characters.parse().map(Self::Character).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(characters) => write!(f, "{characters}"),
            Self::Event(events) => write!(f, "event:{events}"),
            Self::End => f.write_str("end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_they_are_written() {
        for (text, at) in [("17", Position::Character(17)), ("event:3", Position::Event(3)), ("end", Position::End)] {
            assert_eq!(text.parse(), Ok(at));
            assert_eq!(at.to_string(), text);
        }
        for wrong in ["", "-1", "event:", "event:x", "start"] {
            assert!(wrong.parse::<Position>().is_err(), "{wrong}");
        }
    }
}
