//! The decoder of a tokenizer: maps the name of each ordinary token in the vocabulary to its text.

use std::borrow::Cow;

use super::error::TokensError;
use backchat_core::json::Value;

/// The character that SentencePiece writes for a space.
pub(super) const SPACE: char = '▁';

/// The part of the decoder that concerns single tokens and the start of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoder {
    steps: Vec<Step>,
    /// Whether a token's characters encode bytes, so that bytes of several tokens form a character.
    pub byte_level: bool,
    /// Whether tokens such as `<0xE6>` are bytes.
    pub byte_fallback: bool,
    /// Whether a space is put before every token but the first, added ones included.
    pub spaced: bool,
    /// The character that is stripped from the start of a text, and how often.
    pub strip: Option<(char, usize)>,
    /// Whether the whole text is one string from here on.
    fused: bool,
}

/// A change to the text of a single token.
#[derive(Clone, Debug)]
enum Step {
    Replace {
        from: String,
        to: String,
    },
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    Metaspace {
        replacement: char,
        prepends: bool,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    /// A space before every token but the first.
    Spaced,
}

/// The replacements of `WordPiece`'s clean-up in each token, in this order.
const CLEANUP: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

impl Decoder {
    /// Reads the key `decoder`.
    pub fn read(value: &Value) -> Result<Self, TokensError> {
        let mut decoder = Self::default();
        if value.is_null() {
            decoder.steps.push(Step::Spaced);
            decoder.spaced = true;
        } else {
            decoder.add(value, "decoder")?;
        }
        Ok(decoder)
    }

    fn add(&mut self, value: &Value, path: &str) -> Result<(), TokensError> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let kind = text("type").ok_or_else(|| TokensError::at(path, "it has no `type`"))?;
        let refused = |what: &str| {
            Err(TokensError::at(
                path,
                format!("{what} is not supported; ids can be parsed with decoders that give each token its own text"),
            ))
        };
        if self.byte_level && kind != "Fuse" {
            return refused(&format!("`{kind}` after `ByteLevel`"));
        }
        if self.fused && !matches!(kind, "Fuse" | "Strip" | "ByteFallback") {
            return refused(&format!("`{kind}` after `Fuse`"));
        }
        match kind {
            "Sequence" => {
                let decoders = value.get("decoders").and_then(Value::as_list);
                let decoders = decoders.ok_or_else(|| TokensError::at(path, "it has no list `decoders`"))?;
                for (index, decoder) in decoders.iter().enumerate() {
                    if decoder.get("type").and_then(Value::as_str) == Some("Sequence") {
                        return refused("a `Sequence` in a `Sequence`");
                    }
                    self.add(decoder, &format!("{path}.decoders[{index}]"))?;
                }
            }
            "ByteLevel" => self.byte_level = true,
            "ByteFallback" => self.byte_fallback = true,
            "Fuse" => self.fused = true,
            "Replace" => {
                let Some(from) = value.get("pattern").and_then(|pattern| pattern.get("String")?.as_str()) else {
                    return refused("`Replace` by a regular expression");
                };
                let (from, to) = (from.to_owned(), text("content").unwrap_or_default().to_owned());
                self.steps.push(Step::Replace { from, to });
            }
            "Strip" => {
                let count = |key: &str| value.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
                let content = text("content").and_then(|content| content.chars().next()).unwrap_or(' ');
                let (start, stop) = (count("start").unwrap_or(0), count("stop").unwrap_or(0));
                match (self.fused, stop) {
                    (false, _) => self.steps.push(Step::Strip { content, start, stop }),
                    (true, 0) => self.strip = Some((content, start)),
                    (true, _) => return refused("`Strip` at the end of the text"),
                }
            }
            "Metaspace" => {
                let replacement = text("replacement").and_then(|text| text.chars().next()).unwrap_or(SPACE);
                self.steps.push(Step::Metaspace { replacement, prepends: prepend_scheme(value) != "never" });
            }
            "WordPiece" => {
                let cleanup = value.get("cleanup").and_then(Value::as_bool).unwrap_or(true);
                let prefix = text("prefix").unwrap_or("##").to_owned();
                self.steps.push(Step::WordPiece { prefix, cleanup });
                self.spaced = true;
            }
            other => return refused(&format!("the decoder `{other}`")),
        }
        Ok(())
    }

    /// Whether the first token of a text is decoded differently from the others.
    pub fn has_first(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Spaced | Step::WordPiece { .. } | Step::Metaspace { prepends: true, .. }))
    }

    /// The text of a token; byte-level characters are not decoded.
    pub fn text<'t>(&self, token: &'t str, is_first: bool) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(token);
        for step in &self.steps {
            match step {
                Step::Replace { from, to } if !from.is_empty() && text.contains(from.as_str()) => {
                    text = text.replace(from.as_str(), to).into();
                }
                Step::Replace { .. } => {}
                Step::Strip { content, start, stop } => {
                    let lead: usize = text.chars().take(*start).take_while(|c| c == content).map(char::len_utf8).sum();
                    let kept = text.get(lead..).unwrap_or_default();
                    let tail: usize =
                        kept.chars().rev().take(*stop).take_while(|c| c == content).map(char::len_utf8).sum();
                    text = kept.get(..kept.len() - tail).unwrap_or_default().to_owned().into();
                }
                Step::Metaspace { replacement, prepends } if text.contains(*replacement) => {
                    text = text.replace(*replacement, if is_first && *prepends { "" } else { " " }).into();
                }
                Step::Metaspace { .. } => {}
                Step::WordPiece { prefix, cleanup } => {
                    if !is_first {
                        text = match text.strip_prefix(prefix.as_str()) {
                            Some(rest) => rest.to_owned(),
                            None => format!(" {text}"),
                        }
                        .into();
                    }
                    for (from, to) in CLEANUP.iter().filter(|_| *cleanup) {
                        if text.contains(from) {
                            text = text.replace(from, to).into();
                        }
                    }
                }
                Step::Spaced if is_first => {}
                Step::Spaced => text = format!(" {text}").into(),
            }
        }
        text
    }

    /// The byte that a token encodes.
    pub fn byte(&self, text: &str) -> Option<u8> {
        let hex = text.strip_prefix("<0x")?.strip_suffix('>')?;
        let is_hex = hex.len() == 2 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        if self.byte_fallback && is_hex { u8::from_str_radix(hex, 16).ok() } else { None }
    }
}

/// When a `Metaspace` puts its mark before a text; older files say it with `add_prefix_space`.
fn prepend_scheme(value: &Value) -> &str {
    match (value.get("prepend_scheme").and_then(Value::as_str), value.get("add_prefix_space")) {
        (Some(scheme), _) => scheme,
        (None, Some(Value::Bool(false))) => "never",
        _ => "always",
    }
}

/// Whether encoding puts a space before the text after an added token.
pub(super) fn prepends_after_added(normalizer: &Value, pre_tokenizer: &Value, decoder: &Value) -> bool {
    let any = |value: &Value, list: &str, has: &dyn Fn(&Value) -> bool| match value.get(list).and_then(Value::as_list) {
        Some(parts) => parts.iter().any(has),
        None => has(value),
    };
    let is = |value: &Value, kind: &str| value.get("type").and_then(Value::as_str) == Some(kind);
    let prepends = |value: &Value| {
        is(value, "Prepend")
            && matches!(value.get("prepend").and_then(Value::as_str), Some(prepended) if prepended.starts_with([SPACE, ' ']))
    };
    let always = |value: &Value| is(value, "Metaspace") && prepend_scheme(value) == "always";
    any(normalizer, "normalizers", &prepends)
        || any(pre_tokenizer, "pretokenizers", &always)
        || any(decoder, "decoders", &always)
}

/// The byte that each character of a byte-level vocabulary encodes.
pub(super) fn encoded_byte(c: char) -> Option<u8> {
    // Printable characters of Latin-1 are themselves; the others come from U+0100 on, in their order.
    let is_itself = |c: u32| matches!(c, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    match c as u32 {
        c if is_itself(c) => u8::try_from(c).ok(),
        c @ 0x100..=0x120 => Some((c - 0x100) as u8),
        c @ 0x121..=0x142 => Some((c - 0x121 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json::read;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes: Vec<u8> = (0..0x200).filter_map(char::from_u32).filter_map(encoded_byte).collect();
        assert_eq!(bytes.len(), 256);
        bytes.sort_unstable();
        bytes.dedup();
        assert_eq!(bytes.len(), 256);
        for (c, byte) in [('Ġ', b' '), ('Ċ', b'\n'), ('a', b'a'), ('é', 0xE9), ('Ń', 0xAD), ('ł', 0xA0), ('ġ', 0x7F)]
        {
            assert_eq!(encoded_byte(c), Some(byte), "{c}");
        }
    }

    #[test]
    fn texts_of_tokens() {
        for (decoder, token, first, later) in [
            ("null", "ab", "ab", " ab"),
            (r#"{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}"#, "▁a▁b", "ab", " a b"),
            (r#"{"type": "Metaspace", "replacement": "▁", "add_prefix_space": false}"#, "▁a", " a", " a"),
            (r###"{"type": "WordPiece", "prefix": "##", "cleanup": true}"###, "##a", "##a", "a"),
            (r###"{"type": "WordPiece", "prefix": "##", "cleanup": true}"###, ".", ".", "."),
            (r###"{"type": "WordPiece", "prefix": "##", "cleanup": false}"###, ".", ".", " ."),
            (r#"{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}"#, "▁a▁", " a ", " a "),
            (r#"{"type": "Strip", "content": "a", "start": 1, "stop": 2}"#, "aabaaa", "aba", "aba"),
        ] {
            let decoder = Decoder::read(&read(decoder).unwrap()).unwrap();
            assert_eq!(
                (decoder.text(token, true), decoder.text(token, false)),
                (first.into(), later.into()),
                "{token}"
            );
        }
    }

    #[test]
    fn an_unsupported_decoder_is_rejected_by_name() {
        for (decoder, path, name) in [
            (r#"{"type": "CTC"}"#, "decoder", "`CTC`"),
            (r#"{"type": "BPEDecoder", "suffix": "</w>"}"#, "decoder", "`BPEDecoder`"),
            (
                r#"{"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "a"}}]}"#,
                "decoder.decoders[1]",
                "`Replace` after `Fuse`",
            ),
            (r#"{"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}"#, "decoder", "regular expression"),
            (r#"{"kind": "x"}"#, "decoder", "no `type`"),
        ] {
            let error = Decoder::read(&read(decoder).unwrap()).unwrap_err();
            assert!(error.path == path && error.message.contains(name), "{decoder}: {error}");
        }
    }
}
