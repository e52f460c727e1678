//! Why a body has no value: one variant for each cause, in both modes, with the data that its message needs.

use std::fmt;

use backchat_core::text::slice;

/// Why a region's body has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// `int`: the text is not an integer.
    NotInteger(String),
    /// `float`: the text is not a number.
    NotNumber(String),
    /// An integer of this many digits, which the reference does not convert.
    TooManyDigits(usize),
    /// `json`: the text is not JSON, at this byte of it.
    NotJson {
        /// The problem.
        message: String,
        /// The byte of `text` at which it is wrong.
        offset: usize,
        /// The text that was parsed, after any rewriting of the dialect.
        text: String,
    },
    /// `python-call-list`: the text is not a list of calls, at this byte of it.
    NotCallList {
        /// The problem.
        message: &'static str,
        /// The byte of `text` at which it is wrong.
        offset: usize,
        /// The text that was parsed.
        text: String,
    },
    /// `json`: arrays and objects nest too deep.
    TooDeep,
    /// `json` with `string_delims`: the text contains U+0001 or U+0002, which the reference uses internally.
    Sentinel,
    /// With the template's `content_args` no body gives a value; the text says why.
    Unusable(String),
    /// A tag without the group `key`.
    NoKey {
        /// The tag pattern.
        pattern: String,
    },
    /// The group `value` took no part in the match of a tag, and the value parser needs a text.
    NoValue {
        /// The key whose value it would have been.
        key: String,
    },
    /// A search with the tag pattern exceeded its step limit.
    Pattern(String),
    /// `transform`: a placeholder is undefined.
    Undefined {
        /// The placeholder, with its braces.
        placeholder: String,
        /// The names it could use.
        available: Vec<String>,
    },
    /// `transform`: a dotted placeholder asks for a key that is not there.
    MissingKey {
        /// The placeholder, with its braces.
        placeholder: String,
        /// The key that is not there.
        key: String,
    },
    /// `transform`: a dotted placeholder looks into something that is not an object.
    NotObject {
        /// The placeholder, with its braces.
        placeholder: String,
        /// The key it looks for.
        key: String,
        /// The value at that key.
        found: &'static str,
    },
    /// `transform_each`: the value is not a list.
    EachNeedsList {
        /// The kind of the value.
        found: &'static str,
    },
    /// `transform_each`: an element is not an object.
    EachNeedsObjects {
        /// The kind of the element.
        found: &'static str,
        /// Which element, from 0.
        index: usize,
    },
    /// A tool's JSON schema is invalid.
    Tools(String),
}

impl Reason {
    /// Whether a search exceeded its step limit, which says nothing about the text.
    pub fn is_exhausted_pattern(&self) -> bool {
        matches!(self, Reason::Pattern(_))
    }
}

impl std::error::Error for Reason {}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotInteger(text) => write!(out, "not an integer: {}", Excerpt(text, 0)),
            Reason::NotNumber(text) => write!(out, "not a number: {}", Excerpt(text, 0)),
            Reason::TooManyDigits(count) => write!(
                out,
                "an integer of {count} digits; transformers reads at most {} (stable mode reads any)",
                backchat_core::python::number::MAX_DIGITS
            ),
            Reason::NotJson { message, offset, text } => {
                write!(out, "not JSON: {message}, at {}", Excerpt(text, *offset))
            }
            Reason::NotCallList { message, offset, text } => {
                write!(out, "not a list of calls: {message}, at {}", Excerpt(text, *offset))
            }
            Reason::TooDeep => write!(out, "the JSON nests more than {} levels deep", backchat_core::json::MAX_DEPTH),
            Reason::Sentinel => out.write_str(
                "the text contains U+0001 or U+0002, which transformers refuses with string_delims (stable mode reads it)",
            ),
            Reason::Unusable(why) => out.write_str(why),
            Reason::NoKey { pattern } => {
                write!(out, "tag_pattern matched without its named group `key`: {}", Excerpt(pattern, 0))
            }
            Reason::NoValue { key } => {
                write!(out, "the group `value` did not take part in the match for {}, but value_parser needs a text", Excerpt(key, 0))
            }
            Reason::Pattern(message) => write!(out, "tag_pattern: {message}"),
            Reason::Undefined { placeholder, available } => {
                write!(out, "the transform's {placeholder} is not defined here; ")?;
                match available.as_slice() {
                    [] => out.write_str("no names are defined"),
                    names => write!(out, "defined: {}", names.join(", ")),
                }
            }
            Reason::MissingKey { placeholder, key } => {
                write!(out, "the transform's {placeholder} is missing key '{key}': the object does not have it")
            }
            Reason::NotObject { placeholder, key, found } => {
                write!(out, "the transform's {placeholder} cannot index into {} at '{key}'", in_python(found))
            }
            Reason::EachNeedsList { found } => write!(out, "transform_each needs a list, but the body is {found}"),
            Reason::EachNeedsObjects { found, index } => {
                write!(out, "transform_each needs a list of objects, but element {index} is {found}")
            }
            Reason::Tools(message) => out.write_str(message),
        }
    }
}

/// Python's name of a kind of value, for which users of transformers search.
fn in_python(kind: &'static str) -> &'static str {
    match kind {
        "null" => "NoneType",
        "a bool" => "bool",
        "a string" => "str",
        "a list" => "list",
        other => other,
    }
}

/// An excerpt of model output for a message, shortened and with control characters escaped.
struct Excerpt<'a>(&'a str, usize);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LENGTH: usize = 40;
        let Excerpt(text, offset) = *self;
        let rest = slice(text, offset..);
        if rest.is_empty() {
            return out.write_str(if text.is_empty() { "an empty text" } else { "the end of the text" });
        }
        let end = rest.char_indices().nth(LENGTH).map_or(rest.len(), |(at, _)| at);
        let shown = slice(rest, ..end).escape_debug();
        write!(out, "\"{shown}\"{}", if end < rest.len() { "…" } else { "" })
    }
}
