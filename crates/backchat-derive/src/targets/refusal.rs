//! The objections of a reader to a template: why it refuses it, what it drops, what it misreads.

use super::Reader;
use backchat_core::json::Path;

/// One reason why a reader refuses a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The reader that refuses it.
    pub reader: Reader,
    /// The value that it refuses, as a path in the template.
    pub place: Path,
    /// The kind of construct that it refuses.
    pub reason: Reason,
    /// The reader's own words.
    pub words: String,
}

/// The kind of construct that a reader refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A field whose name it does not know; [`Refusal::place`] is the field.
    Field,
    /// A key of `defaults` that it does not know.
    Default,
    /// A key that this field may not have there: `content`, `transform` or `join`.
    Construct,
    /// A field that needs an `open` and has none.
    NeedsOpen,
    /// A pattern: an open or close pattern, the start anchor or a `tag_pattern`.
    Pattern,
    /// Open and close of a field that can both match nothing.
    EmptyMatch,
    /// A value that would occur in the message twice.
    SharedValue,
    /// An argument of a content parser.
    Argument,
    /// Something else in the template.
    Other,
}

/// Something that goes wrong in a reader that loads the template.
#[derive(Clone, Debug, PartialEq)]
pub struct Caution {
    /// The reader that has the problem.
    pub reader: Reader,
    /// The value that causes the problem, as a path in the template; the root if something is missing.
    pub place: Path,
    /// The effect.
    pub effect: String,
    /// The replacement.
    pub help: String,
}

impl Caution {
    pub(super) fn new(reader: Reader, place: Path, effect: impl Into<String>, help: &str) -> Self {
        Self { reader, place, effect: effect.into(), help: help.to_owned() }
    }
}

/// The role of a pattern. Readers search for a delimiter while the text grows, and for the others once it is
/// complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// An `open_pattern` or a `close_pattern`.
    Delimiter,
    /// The `start_anchor_pattern`.
    Anchor,
    /// A `tag_pattern`.
    Tag,
}
