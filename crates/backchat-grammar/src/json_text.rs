//! The texts of JSON strings, as they are written between the quotes.

use std::sync::LazyLock;

use super::automaton::{Automaton, difference};

const JSON_ESCAPES: [(char, &str); 8] = [
    ('"', "\\\""),
    ('\\', "\\\\"),
    ('/', "\\/"),
    ('\u{8}', "\\b"),
    ('\u{c}', "\\f"),
    ('\n', "\\n"),
    ('\r', "\\r"),
    ('\t', "\\t"),
];

/// The texts of JSON strings without their quotes.
pub(super) fn json_text(text: &Automaton) -> Option<Automaton> {
    let plain = |low, high| difference(low, high, &[(0, 31), (34, 34), (92, 92)]);
    text.respelled(&plain, &JSON_ESCAPES, true)
}

/// Those of any string.
pub(super) static ANY_JSON: LazyLock<Automaton> =
    LazyLock::new(|| json_text(&Automaton::anything()).unwrap_or_else(Automaton::nothing));

/// What of a regular text can be inside the quotes of a JSON string, as it is written there; `None` if it needs too many
/// states.
pub(super) fn in_json(text: &Automaton) -> Option<Automaton> {
    ANY_JSON.both(text)
}
