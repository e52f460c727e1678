//! The text of ids with the place of each in it.

use super::stream::{Sink, TextStream};
use super::table::Tokens;

/// Ids as text.
#[derive(Debug, Default)]
pub struct Placed {
    pub text: String,
    /// The span of each id's text, in bytes. An id that only begins a character has the span of the whole character.
    pub spans: Vec<(usize, usize)>,
    /// Whether the ids end inside a character.
    pub is_cut: bool,
}

struct Texts<'t> {
    tokens: &'t Tokens,
    out: String,
}

impl Sink for Texts<'_> {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn added(&mut self, token: usize) {
        self.out.push_str(self.tokens.added_content(token));
    }
}

impl Placed {
    /// The text of ids that follow each other, from the start of a text.
    pub fn new(tokens: &Tokens, ids: &[u32]) -> Self {
        let mut stream = TextStream::new(tokens);
        let mut texts = Texts { tokens, out: String::new() };
        let mut spans: Vec<(usize, usize)> = Vec::with_capacity(ids.len());
        // The first id of a character that is incomplete.
        let mut open = 0;
        for id in ids {
            let start = texts.out.len();
            stream.push(tokens, *id, &mut texts);
            let end = texts.out.len();
            if end > start {
                spans.get_mut(open..).unwrap_or_default().iter_mut().for_each(|(_, last)| *last = end);
            }
            spans.push((start, end));
            if !stream.is_inside_character() {
                open = spans.len();
            }
        }
        let is_cut = stream.is_inside_character();
        stream.end(tokens, &mut texts);
        Self { text: texts.out, spans, is_cut }
    }
}

impl Tokens {
    /// The text of ids that follow each other, from the start of a text. Ids that the tokenizer lacks have none.
    pub fn decode(&self, ids: &[u32]) -> String {
        Placed::new(self, ids).text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_share_a_character_share_its_place() {
        let json = r#"{"added_tokens": [{"id": 9, "content": "<end>"}], "decoder": {"type": "ByteLevel"},
            "model": {"vocab": {"a": 0, "Ã": 1, "©": 2, "ðŁ": 3, "ĺ": 4, "Ģ": 5, "!Ã": 6}}}"#;
        let tokens = Tokens::load(json).unwrap();
        let placed = Placed::new(&tokens, &[0, 1, 2, 3, 4, 5, 9, 7, 0]);
        assert_eq!(placed.text, "aé😀<end>a");
        let wanted = [(0, 1), (1, 3), (1, 3), (3, 7), (3, 7), (3, 7), (7, 12), (12, 12), (12, 13)];
        assert_eq!((placed.spans.as_slice(), placed.is_cut), (wanted.as_slice(), false));
        assert!(Placed::new(&tokens, &[0, 3, 4]).is_cut);
        // One that begins a character after others keeps theirs.
        assert_eq!(Placed::new(&tokens, &[6, 2]).spans, [(0, 3), (1, 3)]);
        // Invalid bytes become a character of their own.
        assert_eq!(Placed::new(&tokens, &[1, 0]).text, "\u{fffd}a");
    }
}
