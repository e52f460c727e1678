//! The content parsers and their arguments as a template names them; `content` computes the values.

use std::sync::Arc;

use crate::pattern::Pattern;

/// The name of a content parser: how a region's body becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentParser {
    /// The body itself.
    Text,
    /// An integer, as Python's `int` reads it.
    Int,
    /// A double, as Python's `float` reads it.
    Float,
    /// True if the body is `true` or `1`.
    Bool,
    /// JSON, or a dialect of it.
    Json,
    /// An object of tagged values.
    XmlInline,
    /// An object of lines with a key and a value.
    KvLines,
}

impl ContentParser {
    /// Every parser, in the order of the format's documentation.
    pub const ALL: [Self; 7] =
        [Self::Text, Self::Int, Self::Float, Self::Bool, Self::Json, Self::XmlInline, Self::KvLines];

    /// Its name in a template.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Json => "json",
            Self::XmlInline => "xml-inline",
            Self::KvLines => "kv-lines",
        }
    }

    /// The parser of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parser| parser.name() == name)
    }

    /// Whether a chunk of such a region is raw text of a structured value, not yet the value's own text.
    pub fn is_structured(self) -> bool {
        matches!(self, Self::Json | Self::XmlInline | Self::KvLines)
    }
}

/// A respelling of the texts and patterns that a parser looks for.
pub(crate) trait Respell {
    /// Why something cannot be respelled.
    type Error;
    /// A text.
    fn text(&mut self, text: &str) -> String;
    /// A pattern.
    fn pattern(&mut self, pattern: &Pattern) -> Result<Pattern, Self::Error>;
}

/// A content parser with its arguments, ready to run.
///
/// The reference checks most arguments only when a region closes. Such a mistake is a warning of the loader, and is
/// kept here as the reason why every region will be malformed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ContentSpec {
    /// The body itself.
    Text {
        /// Whether the body is trimmed.
        strip: bool,
    },
    /// An integer.
    Int {
        /// Whether the body is trimmed.
        strip: bool,
    },
    /// A double.
    Float {
        /// Whether the body is trimmed.
        strip: bool,
    },
    /// True or false, never an error.
    Bool {
        /// Whether the body is trimmed.
        strip: bool,
    },
    /// JSON, or a dialect of it.
    Json(JsonArgs),
    /// An object of tagged values.
    XmlInline(XmlInlineArgs),
    /// An object of lines with a key and a value.
    KvLines(KvLinesArgs),
    /// Its arguments are such that no body gives a value.
    Unusable {
        /// The requested parser, if it exists.
        parser: Option<ContentParser>,
        /// Why every region fails.
        reason: String,
    },
}

/// Arguments of `json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonArgs {
    /// Whether the body is trimmed.
    pub strip: bool,
    /// Whether keys may lack quotes.
    pub unquoted_keys: bool,
    /// Pairs of delimiters that enclose a string, besides `"`.
    pub string_delims: Vec<(String, String)>,
    /// Whether a body that is not JSON is given as text.
    pub allow_non_json: bool,
}

/// Arguments of `xml-inline`.
#[derive(Clone, Debug)]
pub struct XmlInlineArgs {
    /// Finds each tagged value. It needs a group `key` only if it matches.
    pub tag_pattern: Pattern,
    /// The content parser of each value; without it, values are text.
    pub value_parser: Option<Arc<ContentSpec>>,
    /// Whether a key's second value makes a list.
    pub merge_duplicates: bool,
}

/// Arguments of `kv-lines`.
#[derive(Clone, Debug)]
pub struct KvLinesArgs {
    /// The text that separates two lines; any run of white space if absent.
    pub line_sep: Option<String>,
    /// The text that separates a key from its value, or why no line can be split.
    pub kv_sep: Result<String, String>,
    /// Whether lines, keys and values are trimmed.
    pub strip: bool,
    /// The content parser of each value; without it, values are text.
    pub value_parser: Option<Arc<ContentSpec>>,
}

impl ContentSpec {
    /// Which parser it is, if it is one.
    pub fn parser(&self) -> Option<ContentParser> {
        Some(match self {
            Self::Text { .. } => ContentParser::Text,
            Self::Int { .. } => ContentParser::Int,
            Self::Float { .. } => ContentParser::Float,
            Self::Bool { .. } => ContentParser::Bool,
            Self::Json(_) => ContentParser::Json,
            Self::XmlInline(_) => ContentParser::XmlInline,
            Self::KvLines(_) => ContentParser::KvLines,
            Self::Unusable { parser, .. } => return *parser,
        })
    }

    /// The same parser with other texts and patterns to look for.
    pub(super) fn respelled<R: Respell>(&self, respell: &mut R) -> Result<Self, R::Error> {
        let inner = |parser: &Option<Arc<Self>>, respell: &mut R| {
            parser.as_ref().map(|parser| parser.respelled(respell).map(Arc::new)).transpose()
        };
        Ok(match self {
            Self::Json(args) => {
                let delims = args.string_delims.iter();
                let string_delims = delims.map(|(open, close)| (respell.text(open), respell.text(close))).collect();
                Self::Json(JsonArgs { string_delims, ..args.clone() })
            }
            Self::XmlInline(args) => Self::XmlInline(XmlInlineArgs {
                tag_pattern: respell.pattern(&args.tag_pattern)?,
                value_parser: inner(&args.value_parser, respell)?,
                merge_duplicates: args.merge_duplicates,
            }),
            Self::KvLines(args) => Self::KvLines(KvLinesArgs {
                line_sep: args.line_sep.as_deref().map(|line_sep| respell.text(line_sep)),
                kv_sep: args.kv_sep.as_deref().map(|kv_sep| respell.text(kv_sep)).map_err(String::clone),
                strip: args.strip,
                value_parser: inner(&args.value_parser, respell)?,
            }),
            Self::Text { .. } | Self::Int { .. } | Self::Float { .. } | Self::Bool { .. } | Self::Unusable { .. } => {
                self.clone()
            }
        })
    }

    /// Whether a chunk of such a region is raw text of a structured value; true for an unknown parser.
    pub fn is_structured(&self) -> bool {
        self.parser().is_none_or(ContentParser::is_structured)
    }
}
