//! Every key of the format: what the loader accepts, what it suggests, and what `backchat schema` prints.

use super::ContentParser;

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
    ContentParser,
    /// The arguments of the field's content parser.
    ContentArgs,
    /// Any JSON value, with placeholders.
    Shape,
    /// A list of `[open, close]` pairs of strings.
    Pairs,
    /// A content parser and its arguments.
    ValueParser,
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
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
    key("close_pattern", Kind::Pattern, "The same as `close`, as a pattern."),
    key("repeats", Kind::Flag, "Whether the field is a list and each region appends to it."),
    key("join", Kind::TextOrNull, "With `repeats`: joins text regions into one string with this between them."),
    key("optional", Kind::Flag, "Whether the message may lack the field; `true` by default."),
    key(
        "content",
        Kind::ContentParser,
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

const STRIP: Key = key("strip", Kind::Flag, "Whether white space around the body is removed; `true` by default.");

const VALUE_PARSER_ARGUMENT: Key =
    key("value_parser", Kind::ValueParser, "The content parser of each value; without it, values are text.");

const SCALAR_ARGUMENTS: &[Key] = &[STRIP];

const JSON_ARGUMENTS: &[Key] = &[
    STRIP,
    key("unquoted_keys", Kind::Flag, "Whether keys may lack quotes."),
    key("string_delims", Kind::Pairs, "Pairs of delimiters that enclose a string."),
    key("allow_non_json", Kind::Flag, "Whether a body that is not JSON becomes text."),
];

const XML_INLINE_ARGUMENTS: &[Key] = &[
    key("tag_pattern", Kind::Pattern, "Matches each entry; its groups are `key` and `value`."),
    VALUE_PARSER_ARGUMENT,
    key("merge_duplicates", Kind::Flag, "Whether the values of a repeated key become a list."),
];

const KV_LINES_ARGUMENTS: &[Key] = &[
    key("line_sep", Kind::LineSeparator, "What separates two lines; a newline by default."),
    key("kv_sep", Kind::Separator, "What separates a key from its value; `:` by default."),
    key("strip", Kind::Flag, "Whether white space around lines, keys and values is removed; `true` by default."),
    VALUE_PARSER_ARGUMENT,
];

/// Arguments of a content parser.
pub(crate) fn arguments(parser: Option<ContentParser>) -> &'static [Key] {
    match parser {
        None => &[],
        Some(ContentParser::Text | ContentParser::Int | ContentParser::Float | ContentParser::Bool) => SCALAR_ARGUMENTS,
        Some(ContentParser::Json) => JSON_ARGUMENTS,
        Some(ContentParser::XmlInline) => XML_INLINE_ARGUMENTS,
        Some(ContentParser::KvLines) => KV_LINES_ARGUMENTS,
    }
}

/// Keys of a `value_parser`.
pub(crate) const VALUE_PARSER: &[Key] = &[
    key("name", Kind::ContentParser, "The content parser; `text` by default."),
    key("args", Kind::ContentArgs, "Its arguments."),
];
