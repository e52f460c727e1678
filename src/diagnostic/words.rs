//! What a sentence needs of texts that others wrote.

use std::borrow::Cow;

/// The beginning of a text that may be long, in so many characters at most, and a mark where it goes on.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, short) in [("", ""), ("äöü", "äöü"), ("äöüß", "äöü…")] {
            assert_eq!(shortened(text, 3), short);
        }
    }
}
