//! What looks like a marker in a text, whatever template it belongs to.

/// The longest marker, in bytes.
pub const LONGEST_MARKER: usize = 64;

/// What looks like a marker in a text: `<word>`, `</word>`, `<|word|>`, `[WORD]`.
pub fn markers(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices(['<', '[']);
    starts.filter_map(move |(at, open)| {
        let rest = text.get(at..)?;
        let close = if open == "<" { '>' } else { ']' };
        let end = rest
            .char_indices()
            .skip(1)
            .take_while(|(at, _)| *at < LONGEST_MARKER)
            .find(|(_, c)| *c == close || c.is_whitespace() || matches!(c, '<' | '[' | '"' | '\'' | ','))?;
        let marker = rest.get(..=end.0).filter(|_| end.1 == close)?;
        let has_word = marker.chars().filter(|c| c.is_alphabetic()).count() > 1;
        let is_loud = open == "<" || !marker.chars().any(char::is_lowercase);
        (has_word && is_loud).then_some(marker)
    })
}

#[cfg(test)]
mod tests {
    use super::markers;

    #[test]
    fn markers_have_a_word_in_brackets() {
        for (text, found) in [
            ("a <think>b</think> <|im_end|>", &["<think>", "</think>", "<|im_end|>"][..]),
            ("[TOOL_CALLS] [1] [note] [OK", &["[TOOL_CALLS]"]),
            ("a < b > c, <a b>, <>, <x>, <\"no\">", &[]),
        ] {
            assert_eq!(markers(text).collect::<Vec<_>>(), found, "{text}");
        }
        assert_eq!(markers(&format!("<{}>", "x".repeat(100))).count(), 0);
    }
}
