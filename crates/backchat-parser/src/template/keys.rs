//! Every key of the format: what the loader accepts, what it suggests, and what `backchat schema` prints.

/// One key of an object of the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    /// Its meaning, in one sentence.
    pub about: &'static str,
}

/// The kind of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The number 1.
    Version,
    /// An object with any content.
    Object,
    /// A string, or a list of strings; none empty, and at least one.
    Literals,
    /// A pattern in the Python dialect.
    Pattern,
    /// The fields of the template by name, at least one.
    Fields,
    /// `true` or `false`.
    Flag,
    /// A string or null.
    TextOrNull,
    /// A string that is not empty.
    Separator,
    /// A string that is not empty, or null for any run of white space.
    LineSeparator,
    /// The name of a content parser.
    ParserName,
    /// The arguments of the field's content parser.
    ContentArgs,
    /// Any JSON value, with placeholders.
    Shape,
    /// A list of `[open, close]` pairs of strings.
    Pairs,
    /// A content parser and its arguments.
    ValueParser,
}

pub(super) const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, about }
}

/// Keys of the template itself.
pub(crate) const TEMPLATE: &[Key] = &[
    key("version", Kind::Version, "The version of the format."),
    key("defaults", Kind::Object, "Values that every message has, such as its role."),
    key("start_anchor", Kind::Literals, "The message begins after the last occurrence of any of these in the prompt."),
    key("start_anchor_pattern", Kind::Pattern, "The same as `start_anchor`, as a pattern."),
    key("fields", Kind::Fields, "One entry for each key of the message."),
];

/// Keys of a field.
pub(crate) const FIELD: &[Key] = &[
    key("open", Kind::Literals, "Opens a region. A field without an opening takes the text outside the other regions."),
    key("open_pattern", Kind::Pattern, "The same as `open`, as a pattern; named groups can be used in `transform`."),
    key("close", Kind::Literals, "Closes a region. A field without a closing runs to the end of the output."),
    key("close_pattern", Kind::Pattern, "The same as `close`, as a pattern; named groups can be used in `transform`."),
    key("repeats", Kind::Flag, "Whether the field is a list and each region appends to it."),
    key("join", Kind::TextOrNull, "With `repeats`: joins text regions into one string with this between them."),
    key("optional", Kind::Flag, "Whether the message may lack the field; `true` by default."),
    key(
        "content",
        Kind::ParserName,
        "The content parser that turns the body of a region into a value; `text` by default.",
    ),
    key("content_args", Kind::ContentArgs, "Arguments of the content parser."),
    key(
        "transform",
        Kind::Shape,
        "The shape of the value. A string that is exactly `{name}` or `{name.key}` is replaced by `content` or a capture.",
    ),
    key("transform_each", Kind::Flag, "Whether `transform` is applied to each object of a list."),
];

/// Keys of a `value_parser`.
pub(crate) const VALUE_PARSER: &[Key] = &[
    key("name", Kind::ParserName, "The content parser; `text` by default."),
    key("args", Kind::ContentArgs, "Its arguments."),
];
