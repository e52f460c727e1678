//! How strings are quoted, and how the characters between the quotes are written.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::automaton::{Automaton, difference};
use backchat_parser::pattern::Regular;

/// How strings are quoted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Strings {
    Json,
    /// In one of these quotes, escaped as Python does.
    Python(&'static [char]),
    /// Between single quotes, unescaped, or as JSON.
    Single,
    /// Between two markers, unescaped.
    Marked(String, String),
}

impl Strings {
    /// The delimiters of a string; those of JSON if there are several kinds.
    pub fn marks(&self) -> (&str, &str) {
        match self {
            Self::Python(['\'', ..]) => ("'", "'"),
            Self::Json | Self::Python(_) | Self::Single => ("\"", "\""),
            Self::Marked(open, close) => (open, close),
        }
    }
}

/// How the characters between two quotes are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Json,
    /// As Python does inside this quote.
    Python(char),
    /// Unescaped; this text must not occur.
    Raw(String),
}

impl Spelling {
    /// The texts as they are written; `None` if they need too many states.
    pub fn spell(&self, text: &Automaton) -> Option<Automaton> {
        match self {
            Self::Json if *text == Automaton::anything() => Some(ANY_JSON.clone()),
            Self::Json => json_text(text),
            Self::Python(quote) => {
                let sign = u32::from(*quote);
                let mut escaped = [(0, 8), (10, 31), (sign, sign), (92, 92)];
                escaped.sort_unstable();
                text.respelled(&|low, high| difference(low, high, &escaped), &PYTHON_ESCAPES, &|_, _| false)
            }
            // A string always has quotes here: the text is raw.
            Self::Raw(close) if close.is_empty() => Some(text.clone()),
            Self::Raw(close) => text.both(&Automaton::without(&[&Regular::text(close)], &[])?),
        }
    }
}

const PYTHON_ESCAPES: [(char, &str); 6] =
    [('\'', "\\'"), ('"', "\\\""), ('\\', "\\\\"), ('\n', "\\n"), ('\r', "\\r"), ('\t', "\\t")];

const JSON_ESCAPES: [(char, &str); 8] = [
    ('"', "\\\""),
    ('\\', "\\\\"),
    ('\n', "\\n"),
    ('\r', "\\r"),
    ('\t', "\\t"),
    ('/', "\\/"),
    ('\u{8}', "\\b"),
    ('\u{c}', "\\f"),
];

/// The characters that JSON strings hold unescaped.
fn json_plain(low: u32, high: u32) -> Vec<(u32, u32)> {
    difference(low, high, &[(0, 31), (34, 34), (92, 92)])
}

/// Whether JSON writers use `\u` and a number for one of these characters: control characters, those that HTML or JSON
/// reserves, and all beyond ASCII. They write other characters as they are, and each number needs several states.
fn json_numbered(low: u32, high: u32) -> bool {
    !difference(low, high, &[(32, 33), (35, 37), (40, 59), (61, 61), (63, 91), (93, 126)]).is_empty()
}

/// Text as it is written between the quotes of a JSON string, in every spelling that JSON writers use.
fn json_text(text: &Automaton) -> Option<Automaton> {
    text.respelled(&json_plain, &JSON_ESCAPES, &json_numbered)
}

/// The same in the usual spelling alone.
pub(crate) fn within_json(text: &Automaton) -> Option<Automaton> {
    let [usual @ .., _, _, _] = &JSON_ESCAPES;
    text.respelled(&json_plain, usual, &|_, _| false)
}

/// Any text between the quotes of a JSON string.
static ANY_JSON: LazyLock<Automaton> =
    LazyLock::new(|| json_text(&Automaton::anything()).unwrap_or_else(Automaton::nothing));

/// The texts that may occur between the quotes of a JSON string; `None` if they need too many states.
pub(crate) fn in_json(text: &Automaton) -> Option<Automaton> {
    ANY_JSON.both(text)
}

/// The texts of quoted strings made so far that may hold anything but marks, or have a format. They are the most
/// expensive part of a request's grammar, and the same in every request to a model, which has a handful of them.
#[derive(Debug, Default)]
pub(crate) struct SharedTexts(Mutex<Vec<SharedText>>);

#[derive(Debug)]
struct SharedText {
    /// The unquoted text.
    unquoted: Automaton,
    spelling: Spelling,
    /// Inside a JSON string.
    inside: bool,
    /// The texts that contain no marker.
    free_texts: Automaton,
    /// `None` if it needs too many states.
    text: Option<Arc<Automaton>>,
}

impl SharedTexts {
    /// The spelling of some texts in one place, made on first use.
    pub fn get(
        &self,
        unquoted: &Automaton,
        spelling: &Spelling,
        inside: bool,
        free_texts: &Automaton,
        make: impl FnOnce() -> Option<Automaton>,
    ) -> Option<Arc<Automaton>> {
        // Entries are only added complete, so a poisoned lock does no harm.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &&SharedText| {
            known.spelling == *spelling
                && known.inside == inside
                && known.unquoted == *unquoted
                && known.free_texts == *free_texts
        };
        if let Some(known) = known.iter().find(is_same) {
            return known.text.clone();
        }
        let text = make().map(Arc::new);
        let (unquoted, spelling, free_texts) = (unquoted.clone(), spelling.clone(), free_texts.clone());
        known.push(SharedText { unquoted, spelling, inside, free_texts, text: text.clone() });
        text
    }
}
