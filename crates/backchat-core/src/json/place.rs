//! Paths of values, and the bytes each value occupies in the text it was read from.

use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use super::Map;

/// One step down into a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value of an object's key.
    Key(String),
    /// The element of a list, counted from 0.
    Index(usize),
}

/// The way from a document's root to one of its values, written `fields.tool_calls.open[1]`; the root itself is `$`.
///
/// A path shares its beginning with the paths it was made from, so walking a document costs a step for each value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Option<Arc<(Path, Step)>>);

impl Path {
    /// The path of the document itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// The path of a key's value below this one.
    #[must_use]
    pub fn key(&self, name: &str) -> Self {
        self.step(Step::Key(name.to_owned()))
    }

    /// The path of a list's element below this one.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    /// The path one step below this one.
    #[must_use]
    pub fn step(&self, step: Step) -> Self {
        Self(Some(Arc::new((self.clone(), step))))
    }

    /// The path of the value that holds this one, and the step from there.
    pub fn split_last(&self) -> Option<(&Path, &Step)> {
        self.0.as_deref().map(|(above, step)| (above, step))
    }

    /// The steps from the root.
    pub fn steps(&self) -> Vec<&Step> {
        let mut steps: Vec<_> =
            std::iter::successors(self.split_last(), |(above, _)| above.split_last()).map(|(_, step)| step).collect();
        steps.reverse();
        steps
    }

    /// This path in a document whose `base` is its root.
    #[must_use]
    pub fn below(&self, base: &Path) -> Self {
        self.steps().into_iter().fold(base.clone(), |path, step| path.step(step.clone()))
    }
}

impl Display for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps();
        if steps.is_empty() {
            return out.write_str("$");
        }
        for (i, step) in steps.into_iter().enumerate() {
            match step {
                Step::Index(index) => write!(out, "[{index}]")?,
                Step::Key(key) if is_plain(key) => write!(out, "{}{key}", if i > 0 { "." } else { "" })?,
                Step::Key(key) => write!(out, "[{}]", super::Value::from(key.as_str()))?,
            }
        }
        Ok(())
    }
}

/// Whether a key needs no quotes in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// The positions of a value, its key, and everything below it in the text they were read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The bytes of the value.
    pub value: Range<usize>,
    /// The bytes of the key it is the value of, quotes included.
    pub key: Option<Range<usize>>,
    /// In an object: keys that a later key of the same name overrides.
    pub overridden: Vec<(String, Range<usize>)>,
    below: Below,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Below {
    #[default]
    Nothing,
    List(Vec<Places>),
    Object(Map<Places>),
}

impl Places {
    pub(super) fn new(value: Range<usize>, below: Below, overridden: Vec<(String, Range<usize>)>) -> Self {
        Self { value, key: None, overridden, below }
    }

    /// The places of the values one step below.
    pub fn below(&self) -> Vec<(Step, &Places)> {
        match &self.below {
            Below::Nothing => Vec::new(),
            Below::List(items) => items.iter().enumerate().map(|(i, item)| (Step::Index(i), item)).collect(),
            Below::Object(entries) => entries.iter().map(|(key, item)| (Step::Key(key.to_owned()), item)).collect(),
        }
    }

    /// The places of the value at the end of `path`, if the document has it.
    pub fn at(&self, path: &Path) -> Option<&Places> {
        path.steps().into_iter().try_fold(self, |here, step| match (&here.below, step) {
            (Below::List(items), Step::Index(index)) => items.get(*index),
            (Below::Object(entries), Step::Key(key)) => entries.get(key),
            _ => None,
        })
    }
}

/// The byte of a string as it was written, quotes included, that corresponds to the byte `offset` of its text.
pub fn offset_as_written(written: &str, offset: usize) -> usize {
    let mut at = 1;
    let mut decoded = 0;
    while decoded < offset {
        // A string may be asked for a byte past its end.
        let Some(rest) = written.get(at..) else { break };
        let (step, bytes) = match rest.strip_prefix('\\') {
            None => match rest.chars().next() {
                Some(c) => (c.len_utf8(), c.len_utf8()),
                None => break,
            },
            Some(escape) if escape.starts_with('u') => unicode_escape(escape),
            Some(_) => (2, 1),
        };
        at += step;
        decoded += bytes;
    }
    at.min(written.len())
}

/// How many bytes the escape whose text follows a backslash takes up, and how many its character has in UTF-8.
fn unicode_escape(escape: &str) -> (usize, usize) {
    let code = escape.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0);
    let low =
        escape.get(5..11).and_then(|low| low.strip_prefix("\\u")).and_then(|low| u32::from_str_radix(low, 16).ok());
    match (code, low) {
        (0xD800..0xDC00, Some(0xDC00..0xE000)) => (12, 4),
        _ => (6, char::from_u32(code).unwrap_or('\u{FFFD}').len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_maps_to_the_written_string() {
        let written = r#""a\n\u00e9\ud83d\ude00é\\b""#;
        let text = crate::json::read(written).unwrap();
        let text = text.as_str().unwrap();
        for (character, found) in [("a", "a"), ("\n", r"\n"), ("😀", r"\ud83d\ude00"), ("\\", r"\\"), ("b", "b")] {
            let at = offset_as_written(written, text.find(character).unwrap());
            assert!(written[at..].starts_with(found), "{character:?} found at {}", &written[at..]);
        }
        assert_eq!(offset_as_written(written, text.len()), written.len() - 1);
        assert_eq!(offset_as_written(written, 10_000), written.len());
    }
}
