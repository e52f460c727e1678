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
}
