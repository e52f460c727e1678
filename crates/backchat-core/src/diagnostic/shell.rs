//! Quotes a word for a shell, so that a command in a message can be pasted as it is.

use super::escape;

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
