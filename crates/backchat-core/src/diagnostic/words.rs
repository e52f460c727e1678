//! Words in messages: shortened text, names quoted for a shell, counts, and the closest known name.

use std::borrow::Cow;

use super::escape;
use crate::text::slice;

/// The beginning of a text that may be long, of at most this many characters, and an ellipsis if it is longer.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", slice(text, ..end)).into(),
        None => text.into(),
    }
}

/// A word of a command line, as a person can paste it into a shell.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::diagnostic::shell_word;
///
/// assert_eq!(shell_word("a/b.fixture#two-calls"), "a/b.fixture#two-calls");
/// assert_eq!(shell_word("my model"), "'my model'");
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,#".contains(c);
    // A `#` inside a word is not a comment.
    match !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('#') {
        true => word.to_owned(),
        false => format!("'{}'", escape(word).replace('\'', r"'\''")),
    }
}

/// A number of things: `1 case`, `2 cases`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// The name among `names` that `typed` was probably meant to be.
pub fn closest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if typed.len() > 40 {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let typed = plain(typed);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&typed, &plain(name)), name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1) && *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The shortest name that one edit makes a misspelling: shorter ones are too similar to each other.
const SHORTEST: usize = 4;

/// The name among `names` that differs from `typed` in one edit, or in two adjacent characters that are swapped; `None` if
/// `typed` is among them.
pub fn one_edit_from<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let mut meant = None;
    for name in names {
        if name == typed {
            return None;
        }
        if meant.is_none()
            && typed.len().min(name.len()) >= SHORTEST
            && typed.len().abs_diff(name.len()) < 8
            && strsim::damerau_levenshtein(typed, name) == 1
        {
            meant = Some(name);
        }
    }
    meant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_pluralized() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "case")), ["0 cases", "1 case", "2 cases"]);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, short) in [("", ""), ("äöü", "äöü"), ("äöüß", "äöü…")] {
            assert_eq!(shortened(text, 3), short);
        }
    }

    #[test]
    fn the_closest_name_is_suggested() {
        let names = ["x", "output", "tool_calls", "tool"];
        for (typed, meant) in [
            ("ouptut", Some("output")),
            ("Tool-Calls", Some("tool_calls")),
            ("tools", Some("tool")),
            ("y", None),
            ("prefix", None),
            (&"output".repeat(10), None),
        ] {
            assert_eq!(closest(typed, names), meant, "{typed}");
        }
    }

    #[test]
    fn one_edit_is_a_misspelling_unless_the_name_is_known_or_short() {
        let names = ["content", "tool_calls", "tools", "id"];
        for (typed, meant) in [
            ("contnet", Some("content")),
            ("tool_cals", Some("tool_calls")),
            ("tool_callls", Some("tool_calls")),
            ("tools", None),
            ("tool", Some("tools")),
            ("contetnn", None),
            ("idd", None),
        ] {
            assert_eq!(one_edit_from(typed, names), meant, "{typed}");
        }
    }
}
