//! The content parsers: a table of what each is, and each with its arguments as a template gives them. `content` computes
//! the values.
//!
//! Other modules query these facts instead of naming parsers, so that a new one needs only its row here, its arguments, and
//! its computation.

use std::sync::Arc;

use super::keys::{Key, Kind, key};
use crate::pattern::Pattern;
use backchat_core::json::Value;

/// The facts about a content parser.
struct Facts {
    name: &'static str,
    gives: Gives,
    arguments: &'static [Key],
    /// The arguments without which no body gives a value.
    required: &'static [&'static str],
    /// The characters with which a body can begin, if its arguments add none; empty if they are not limited.
    begins: &'static str,
    /// The characters that enclose a string, in which a backslash escapes them.
    quotes: &'static str,
}

/// The values of a content parser.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The text of the body.
    Text,
    /// One number or bool.
    Scalar,
    /// Any JSON value.
    Json,
    /// An object whose values are texts, or what a value parser makes of them.
    Entries,
    /// A list of objects, one for each call.
    Calls,
}

/// Declares the content parsers: the sentence and the name of each, and its facts.
macro_rules! content_parsers {
    ($(#[doc = $about:literal] $parser:ident: $facts:expr;)*) => {
        /// The name of a content parser: how a region's body becomes a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ContentParser {
            $(#[doc = $about] $parser,)*
        }

        impl ContentParser {
            /// Every parser, in the order of the format's documentation.
            pub const ALL: &'static [Self] = &[$(Self::$parser),*];

            fn facts(self) -> &'static Facts {
                match self {
                    $(Self::$parser => const { &$facts },)*
                }
            }
        }
    };
}

content_parsers! {
    /// The body itself.
    Text: Facts { name: "text", gives: Gives::Text, ..SCALAR };
    /// An integer, as Python's `int` reads it.
    Int: Facts { name: "int", ..SCALAR };
    /// A double, as Python's `float` reads it.
    Float: Facts { name: "float", ..SCALAR };
    /// True if the body is `true` or `1`.
    Bool: Facts { name: "bool", ..SCALAR };
    /// JSON, or a dialect of it.
    Json: Facts {
        name: "json",
        gives: Gives::Json,
        arguments: &[
            STRIP,
            key("unquoted_keys", Kind::Flag, "Whether keys may lack quotes."),
            key("string_delims", Kind::Pairs, "Pairs of delimiters that enclose a string."),
            key("allow_non_json", Kind::Flag, "Whether a body that is not JSON becomes text."),
        ],
        required: &[],
        begins: "{[\"",
        quotes: "\"",
    };
    /// An object of tagged values.
    XmlInline: Facts {
        name: TAGGED,
        arguments: &[
            key("tag_pattern", Kind::Pattern, "Matches each entry; its groups are `key` and `value`."),
            VALUE_PARSER,
            key("merge_duplicates", Kind::Flag, "Whether the values of a repeated key become a list."),
        ],
        required: &["tag_pattern"],
        ..ENTRIES
    };
    /// An object of lines with a key and a value.
    KvLines: Facts {
        name: "kv-lines",
        arguments: &[
            key("line_sep", Kind::LineSeparator, "What separates two lines; a newline by default."),
            key("kv_sep", Kind::Separator, "What separates a key from its value; `:` by default."),
            key("strip", Kind::Flag, "Whether white space around lines, keys and values is removed; `true` by default."),
            VALUE_PARSER,
        ],
        ..ENTRIES
    };
    /// A list of Python calls with keyword arguments.
    CallList: Facts { name: "python-call-list", gives: Gives::Calls, begins: "[", quotes: "'\"", arguments: &[], ..SCALAR };
}

/// The name of the parser of tags, for drafts of templates.
pub const TAGGED: &str = "xml-inline";

const SCALAR: Facts =
    Facts { name: "", gives: Gives::Scalar, arguments: &[STRIP], required: &[], begins: "", quotes: "" };

const ENTRIES: Facts = Facts { gives: Gives::Entries, arguments: &[], ..SCALAR };

const STRIP: Key = key("strip", Kind::Flag, "Whether white space around the body is removed; `true` by default.");

const VALUE_PARSER: Key =
    key("value_parser", Kind::ValueParser, "The content parser of each value; without it, values are text.");

impl ContentParser {
    /// Its name in a template.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The parser of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        parsers().find(|parser| parser.name() == name)
    }

    /// Its arguments.
    pub(crate) fn arguments(self) -> &'static [Key] {
        self.facts().arguments
    }

    /// The arguments without which no body gives a value.
    pub(crate) fn required_arguments(self) -> &'static [&'static str] {
        self.facts().required
    }

    /// Whether a field or a value without a parser has this one.
    pub(crate) fn is_default(self) -> bool {
        self == Self::Text
    }

    /// Whether a chunk of such a region is raw text of a structured value, not yet the value's own text.
    pub fn is_structured(self) -> bool {
        matches!(self.facts().gives, Gives::Json | Gives::Entries | Gives::Calls)
    }

    /// Whether a value can be text, which `join` needs.
    pub(crate) fn may_give_text(self) -> bool {
        matches!(self.facts().gives, Gives::Text | Gives::Json)
    }

    /// Whether a value can be a list of objects, which `transform_each` needs.
    pub(crate) fn may_give_objects(self) -> bool {
        matches!(self.facts().gives, Gives::Json | Gives::Calls)
    }
}

/// Every content parser.
pub(crate) fn parsers() -> impl Iterator<Item = ContentParser> {
    ContentParser::ALL.iter().copied()
}

/// The name of every content parser.
pub(crate) fn parser_names() -> Vec<&'static str> {
    parsers().map(ContentParser::name).collect()
}

/// The names of the content parsers that have this argument.
pub(crate) fn parsers_with_argument(name: &str) -> Vec<&'static str> {
    let has_it = |parser: &ContentParser| parser.arguments().iter().any(|key| key.name == name);
    parsers().filter(has_it).map(ContentParser::name).collect()
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
    XmlInline(TagArgs),
    /// An object of lines with a key and a value.
    KvLines(LineArgs),
    /// A list of Python calls.
    CallList,
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

impl JsonArgs {
    /// Whether they specify anything but JSON's own grammar.
    pub fn is_dialect(&self) -> bool {
        self.unquoted_keys || !self.string_delims.is_empty()
    }

    /// Whether bodies are read as JSON and nothing else.
    pub fn is_plain(&self) -> bool {
        !self.allow_non_json && !self.is_dialect()
    }
}

/// Arguments of `xml-inline`.
#[derive(Clone, Debug)]
pub struct TagArgs {
    /// Finds each tagged value. It needs a group `key` only if it matches.
    pub tag_pattern: Pattern,
    /// The content parser of each value; without it, values are text.
    pub value_parser: Option<Arc<ContentSpec>>,
    /// Whether a key's second value makes a list.
    pub merge_duplicates: bool,
}

/// Why arguments of a content parser cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable(pub String);

/// Arguments of `kv-lines`.
#[derive(Clone, Debug)]
pub struct LineArgs {
    /// The text that separates two lines; any run of white space if absent.
    pub line_sep: Option<String>,
    /// The text that separates a key from its value, or why no line can be split.
    pub kv_sep: Result<String, Unusable>,
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
            Self::CallList => ContentParser::CallList,
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
            Self::XmlInline(args) => Self::XmlInline(TagArgs {
                tag_pattern: respell.pattern(&args.tag_pattern)?,
                value_parser: inner(&args.value_parser, respell)?,
                merge_duplicates: args.merge_duplicates,
            }),
            Self::KvLines(args) => Self::KvLines(LineArgs {
                line_sep: args.line_sep.as_deref().map(|line_sep| respell.text(line_sep)),
                kv_sep: args.kv_sep.as_deref().map(|kv_sep| respell.text(kv_sep)).map_err(Clone::clone),
                strip: args.strip,
                value_parser: inner(&args.value_parser, respell)?,
            }),
            Self::Text { .. }
            | Self::Int { .. }
            | Self::Float { .. }
            | Self::Bool { .. }
            | Self::CallList
            | Self::Unusable { .. } => self.clone(),
        })
    }

    /// The name of its parser, if it is one.
    pub fn name(&self) -> Option<&'static str> {
        self.parser().map(ContentParser::name)
    }

    /// The keys of its arguments.
    pub(super) fn arguments(&self) -> &'static [Key] {
        self.parser().map_or(&[], ContentParser::arguments)
    }

    /// Whether no body gives a value.
    pub fn is_unusable(&self) -> bool {
        matches!(self, Self::Unusable { .. })
    }

    /// Whether a chunk of such a region is raw text of a structured value; true for an unknown parser.
    pub fn is_structured(&self) -> bool {
        self.parser().is_none_or(ContentParser::is_structured)
    }

    /// Whether a body is its own value.
    pub fn is_text(&self) -> bool {
        self.strips_text().is_some()
    }

    /// Whether a body that is its own value is trimmed; `None` if it is not its own value.
    pub fn strips_text(&self) -> Option<bool> {
        match self {
            Self::Text { strip } => Some(*strip),
            _ => None,
        }
    }

    /// Its arguments, if bodies are JSON or a dialect of it.
    pub fn json(&self) -> Option<&JsonArgs> {
        match self {
            Self::Json(args) => Some(args),
            _ => None,
        }
    }

    /// Its arguments, if bodies consist of tags.
    pub fn tags(&self) -> Option<&TagArgs> {
        match self {
            Self::XmlInline(args) => Some(args),
            _ => None,
        }
    }

    /// Whether bodies are lists of Python calls.
    pub fn is_call_list(&self) -> bool {
        matches!(self, Self::CallList)
    }

    /// The parser of each value in a body that consists of keys and values.
    pub fn value_parser(&self) -> Option<&Arc<Self>> {
        match self {
            Self::XmlInline(args) => args.value_parser.as_ref(),
            Self::KvLines(args) => args.value_parser.as_ref(),
            _ => None,
        }
    }

    /// The characters that enclose a string, in which a backslash escapes them; empty if bodies have no strings.
    pub fn quotes(&self) -> &'static str {
        self.usable().map_or("", |parser| parser.facts().quotes)
    }

    /// Pairs of delimiters that enclose a string without escapes.
    pub fn string_delims(&self) -> &[(String, String)] {
        self.json().map_or(&[], |args| &args.string_delims)
    }

    /// Whether the end of a body shows in the body: one that is cut has no value.
    pub fn delimits_itself(&self) -> bool {
        !self.quotes().is_empty()
    }

    /// Whether any body has a value.
    pub fn takes_any_text(&self) -> bool {
        self.json().is_some_and(|args| args.allow_non_json)
    }

    /// The characters with which a body can begin after white space; `None` if they are not limited, or not known here.
    pub fn first_characters(&self) -> Option<Vec<char>> {
        let begins = self.usable().filter(|_| !self.takes_any_text()).map_or("", |parser| parser.facts().begins);
        let delims = self.string_delims().iter().filter_map(|(open, _)| open.chars().next());
        (!begins.is_empty()).then(|| delims.chain(begins.chars()).collect())
    }

    /// A typical body and what it consists of, if it can contain anything.
    pub fn typical_body(&self) -> Option<(String, &'static str)> {
        Some(match self {
            Self::Text { .. } => (TEXT_BODY.to_owned(), "plain text"),
            Self::Json(_) => (JSON_BODY.to_owned(), "JSON"),
            Self::XmlInline(args) => (args.tag_pattern.examples().concat(), "its own tags"),
            Self::KvLines(args) => {
                let (line, pair) = (args.line_sep.as_deref().unwrap_or("\n"), args.kv_sep.as_deref().unwrap_or(":"));
                (format!("key{pair} one two{line}other{pair} 3{line}last{pair} x, y{line}"), "its own lines")
            }
            Self::CallList => (CALL_LIST_BODY.to_owned(), "calls"),
            Self::Int { .. } | Self::Float { .. } | Self::Bool { .. } | Self::Unusable { .. } => return None,
        })
    }

    /// A body with this text in a string, if bodies have strings in quotes.
    pub fn body_with_string(&self, text: &str) -> Option<String> {
        match self {
            Self::Json(_) => Some(Value::from([("text", text.into())]).to_string()),
            Self::CallList => Some(format!("[f(text={})]", Value::from(text))),
            _ => None,
        }
    }

    fn usable(&self) -> Option<ContentParser> {
        self.parser().filter(|_| !self.is_unusable())
    }
}

const JSON_BODY: &str =
    "{\"name\": \"f\", \"arguments\": {\"a\": {\"b\": [1, 2]}, \"c\": \"x, (y) [z].\\n`k`: 'v' <b>\"}, \"d\": {}}";

const CALL_LIST_BODY: &str = "[f(a={'b': [1, 2]}, c='x, (y) [z].\\n`k`: <b>'), g(d={})]";

const TEXT_BODY: &str = "Hello, world.\n\nIt's 3 < 4 & 5 > 2: `code` [1] (see {x}).\n- one\n- two\n\n```\nf(\"a\")\n```\n# Title\n<b>bold</b> | 7%\n";
