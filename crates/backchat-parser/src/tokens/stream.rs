//! The text of a stream of ids: each character as soon as its bytes are complete, and never revised.

use super::table::{Token, Tokens};

pub(crate) trait Sink {
    /// Text of ordinary tokens.
    fn text(&mut self, text: &str);
    /// An added token, by its place among them.
    fn added(&mut self, token: usize);
}

/// The state of a stream of ids.
#[derive(Clone, Debug)]
pub(crate) struct TextStream {
    /// Bytes that are the beginning of a character.
    pending: [u8; 4],
    pending_length: u8,
    /// Whether the next token is the first of the text.
    is_first: bool,
    /// Whether an added token came last.
    after_added: bool,
    /// How many characters are still stripped, if the text continues with them.
    strip: usize,
}

impl TextStream {
    pub fn new(tokens: &Tokens) -> Self {
        let strip = tokens.decoder.strip.map_or(0, |(_, count)| count);
        Self { pending: [0; 4], pending_length: 0, is_first: true, after_added: false, strip }
    }

    /// A stream that continues after a text without ids.
    pub fn after(tokens: &Tokens, text: &str) -> Self {
        if text.is_empty() {
            return Self::new(tokens);
        }
        let after_added = tokens.added().any(|(_, content)| !content.is_empty() && text.ends_with(content));
        Self { pending: [0; 4], pending_length: 0, is_first: false, after_added, strip: 0 }
    }

    /// The text of an id that does not depend on earlier ids and has only common characters, as for most ids; `None`
    /// means unknown.
    #[inline]
    pub fn plain<'t>(&self, tokens: &'t Tokens, id: u32) -> Option<&'t str> {
        let is_plain = self.pending_length == 0 && !self.is_first && !self.after_added && self.strip == 0;
        if is_plain { tokens.common_text(id) } else { None }
    }

    /// Takes an id; whether the tokenizer has it.
    pub fn push(&mut self, tokens: &Tokens, id: u32, sink: &mut impl Sink) -> bool {
        let token = if self.is_first { tokens.first_token(id) } else { tokens.token(id) };
        let Some(token) = token else { return false };
        let is_first = std::mem::replace(&mut self.is_first, false);
        let after_added = std::mem::replace(&mut self.after_added, false);
        match token {
            Token::Added(place) => {
                self.end(tokens, sink);
                if tokens.decoder.spaced && !is_first {
                    self.give(tokens, " ", sink);
                }
                self.strip = 0;
                self.after_added = true;
                sink.added(place);
            }
            Token::Text { text, leads } => {
                self.end(tokens, sink);
                let mut rest = text.chars();
                if leads && after_added && tokens.prepends {
                    rest.next();
                }
                self.give(tokens, rest.as_str(), sink);
            }
            Token::Bytes(bytes) => self.give_bytes(tokens, bytes, sink),
        }
        true
    }

    /// Whether the bytes so far are the beginning of a character.
    pub fn is_inside_character(&self) -> bool {
        self.pending_length > 0
    }

    /// Ends a sequence of bytes: an incomplete character becomes U+FFFD.
    pub fn end(&mut self, tokens: &Tokens, sink: &mut impl Sink) {
        let length = std::mem::take(&mut self.pending_length);
        if length > 0 {
            self.give_bad(tokens, usize::from(length), sink);
        }
    }

    fn give_bytes(&mut self, tokens: &Tokens, mut bytes: &[u8], sink: &mut impl Sink) {
        // The character that is open takes one byte after the other; few tokens have more of it.
        while self.pending_length > 0
            && let [byte, rest @ ..] = bytes
        {
            let length = usize::from(self.pending_length);
            if let Some(place) = self.pending.get_mut(length) {
                *place = *byte;
            }
            let pending = self.pending;
            let whole = pending.get(..=length).unwrap_or_default();
            match str::from_utf8(whole) {
                Ok(text) => {
                    self.pending_length = 0;
                    self.give(tokens, text, sink);
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.pending_length += 1;
                    bytes = rest;
                }
                // The byte does not belong to the character.
                Err(_) => self.end(tokens, sink),
            }
        }
        while !bytes.is_empty() {
            match str::from_utf8(bytes) {
                Ok(text) => {
                    self.give(tokens, text, sink);
                    return;
                }
                Err(error) => {
                    let (good, bad) = bytes.split_at(error.valid_up_to().min(bytes.len()));
                    if let Ok(good) = str::from_utf8(good) {
                        self.give(tokens, good, sink);
                    }
                    let Some(length) = error.error_len() else {
                        for (place, byte) in self.pending.iter_mut().zip(bad) {
                            *place = *byte;
                        }
                        self.pending_length = bad.len() as u8;
                        return;
                    };
                    self.give_bad(tokens, length, sink);
                    bytes = bad.get(length..).unwrap_or_default();
                }
            }
        }
    }

    /// Bytes that cannot become a character: with byte fallback each becomes U+FFFD, otherwise all of them together.
    fn give_bad(&mut self, tokens: &Tokens, length: usize, sink: &mut impl Sink) {
        let count = if tokens.decoder.byte_fallback { length } else { 1 };
        (0..count).for_each(|_| self.give(tokens, "\u{fffd}", sink));
    }

    fn give(&mut self, tokens: &Tokens, mut text: &str, sink: &mut impl Sink) {
        while self.strip > 0
            && let Some((stripped, _)) = tokens.decoder.strip
            && !text.is_empty()
        {
            match text.strip_prefix(stripped) {
                Some(rest) => {
                    text = rest;
                    self.strip -= 1;
                }
                None => self.strip = 0,
            }
        }
        if !text.is_empty() {
            sink.text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte_level() -> Tokens {
        // "é" in two tokens, "😀" in three, a lone continuation byte, and a name that encodes no bytes.
        Tokens::load(
            r#"{"decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"}]}, "model": {"vocab": {
                "a": 0, "Ã": 1, "©": 2, "ðŁ": 3, "ĺ": 4, "Ģ!": 5, "日": 6, "Ġb": 7, "!Ã": 8}},
                "added_tokens": [{"id": 9, "content": "<é>"}, {"id": 4000000000, "content": "<far>"}]}"#,
        )
        .unwrap()
    }

    fn llama() -> Tokens {
        Tokens::load(
            r#"{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}]},
                "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
                "model": {"vocab": {"▁a": 0, "▁": 1, "b": 2, "<0xC3>": 3, "<0xA9>": 4, "<0x20>": 5, "▁▁a": 6}},
                "added_tokens": [{"id": 9, "content": "<m▁x>"}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn ids_as_text() {
        let word_piece = Tokens::load(
            r###"{"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
                "model": {"vocab": {"a": 0, "##b": 1, ".": 2}}, "added_tokens": [{"id": 9, "content": "<m>"}]}"###,
        )
        .unwrap();
        let metaspace = Tokens::load(
            r#"{"decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
                "model": {"vocab": [["▁a", 0.0], ["▁", -1], ["b", -2.5]]}, "added_tokens": [{"id": 9, "content": "<m>"}]}"#,
        )
        .unwrap();
        let none =
            Tokens::load(r#"{"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": [{"id": 9, "content": "<m>"}]}"#)
                .unwrap();
        let (byte_level, llama) = (byte_level(), llama());
        for (name, tokens, ids, text) in [
            ("bytes join", &byte_level, &[0, 1, 2, 3, 4, 5, 7][..], "aé😀! b"),
            ("one for each maximal part", &byte_level, &[3, 4, 0, 2, 2, 1], "\u{fffd}a\u{fffd}\u{fffd}\u{fffd}"),
            ("an added token cuts a character", &byte_level, &[1, 9, 2], "\u{fffd}<é>\u{fffd}"),
            ("a name that disguises nothing", &byte_level, &[6, 8, 2], "日!é"),
            ("ids far away", &byte_level, &[4_000_000_000, 12, 4_000_000_001, 0], "<far>a"),
            ("the start loses one space", &llama, &[6, 0], " a a"),
            ("and only the start", &llama, &[2, 6], "b  a"),
            ("also as a byte", &llama, &[5, 5, 2], " b"),
            ("one space after an added token is no text", &llama, &[9, 0, 9, 6, 9, 1, 0], "<m▁x>a<m▁x> a<m▁x> a"),
            ("also after an id that is none", &llama, &[9, 777, 0], "<m▁x>a"),
            ("bytes before it are", &llama, &[9, 2, 0], "<m▁x>b a"),
            ("one for each byte", &llama, &[3, 3, 4, 3, 2, 4], "\u{fffd}é\u{fffd}b\u{fffd}"),
            ("spaces between words", &word_piece, &[0, 1, 0, 9, 0, 2, 9], "ab a <m> a. <m>"),
            ("the first word", &word_piece, &[1, 0], "##b a"),
            ("the first token", &metaspace, &[0, 0, 2, 1], "a ab "),
            ("after an added token", &metaspace, &[9, 0, 0, 9, 1, 0], "<m>a a<m> a"),
            ("no decoder", &none, &[0, 9, 1], "a <m> b"),
        ] {
            assert_eq!(tokens.decode(ids), text, "{name}");
        }
    }
}
