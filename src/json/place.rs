use std::fmt::{self, Display};
use std::ops::Range;

use indexmap::IndexMap;

/// One step down into a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value of an object's key.
    Key(String),
    /// The element of a list, counted from 0.
    Index(usize),
}

/// The way from a document's root to one of its values, written `fields.tool_calls.open[1]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

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

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this is the document itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(out, "[{index}]")?,
                Step::Key(key) if is_plain(key) => write!(out, "{}{key}", if i > 0 { "." } else { "" })?,
                Step::Key(key) => write!(out, "[{}]", super::Value::from(key.as_str()))?,
            }
        }
        Ok(())
    }
}

/// Whether a key can stand in a path without quotes.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Where a value, its key, and everything below it stand in the text they were read from.
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
    Object(IndexMap<String, Places>),
}

impl Places {
    pub(super) fn new(value: Range<usize>, below: Below, overridden: Vec<(String, Range<usize>)>) -> Self {
        Self { value, key: None, overridden, below }
    }

    /// The places of the value at the end of `path`, where the document has it.
    pub fn at(&self, path: &Path) -> Option<&Places> {
        path.steps().iter().try_fold(self, |here, step| match (&here.below, step) {
            (Below::List(items), Step::Index(index)) => items.get(*index),
            (Below::Object(entries), Step::Key(key)) => entries.get(key),
            _ => None,
        })
    }
}
