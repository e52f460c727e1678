//! Turns whose parts all have the same header, with a different word between the same two marks.
//!
//! A template writes only the words that its messages need. Models also write other words, and put the name of a call
//! before or inside the header: the draft reads every order.

use super::pattern::escape;
use crate::wire::structure::WireFormat;
use backchat_core::text;

/// The header that reasoning, content and calls share.
#[derive(Debug, PartialEq)]
pub(super) struct Channels<'w> {
    before: &'w str,
    after: &'w str,
    /// The word for calls.
    called: &'w str,
}

impl<'w> Channels<'w> {
    /// Finds the header; `None` if a part has no such header, or two parts have the same word.
    pub fn find(wire: &'w WireFormat) -> Option<Self> {
        let header = |text| header(wire, text);
        let (before, thought, after) = header(wire.reasoning.as_ref()?.open.trim())?;
        let (first, said, last) = header(wire.content.open.trim())?;
        let called = wire.calls.as_ref()?.body.head.iter().find_map(|piece| {
            piece.text()?.trim().strip_prefix(before)?.strip_suffix(after)?.split_whitespace().next()
        })?;
        let is_one = (before, after) == (first, last) && is_word(called) && ![thought, said].contains(&called);
        is_one.then_some(Self { before, after, called })
    }

    /// The header with the word for calls but without a name, which opens content.
    pub fn without_call(&self) -> String {
        format!("{}{}{}", self.before, self.called, self.after)
    }

    /// A part of the header before the name of a call.
    pub fn before_name(&self) -> String {
        format!("(?:{}\\w+\\s+)?", escape(self.before))
    }

    /// The rest of the header after the name: an optional word and the format of the arguments.
    pub fn after_name(&self) -> String {
        let word = self.before.trim_matches(|c: char| !c.is_alphanumeric());
        let mark = escape(self.before).replacen(&escape(word), "\\w+", 1);
        format!("\\s*(?:{}\\w+\\s*)?(?:{mark})?\\w*\\s*{}", escape(self.before), escape(self.after))
    }

    /// Whether a text of a call is the header.
    pub fn is_header(&self, text: &str) -> bool {
        let inner = text.trim().strip_prefix(self.before).and_then(|text| text.strip_suffix(self.after));
        inner.is_some_and(|inner| inner.split_whitespace().all(is_word))
    }
}

/// A word between two marks.
fn header<'t>(wire: &WireFormat, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
    match wire.segmentation.marks(text).as_slice() {
        [before, word, after] if wire.is_token(before) && wire.is_token(after) && is_word(word) => {
            Some((before, word, after))
        }
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(text::is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{self, draft, named_body, read, reasoning, said_calls, wire_with};
    use crate::wire::structure::{Arguments, Content};
    use backchat_core::json::Value;

    /// A wire whose parts begin with `<|part|>`, a word and `<|text|>`.
    fn wire(said: &str, called: &str) -> WireFormat {
        let body = named_body(called, Arguments::Json);
        WireFormat {
            reasoning: Some(reasoning("<|part|>weigh<|text|>", "<|over|>")),
            content: Content { open: said.to_owned(), ..Content::default() },
            ..wire_with(["", " to=tools.", "", "", ""], body)
        }
    }

    #[test]
    fn parts_share_a_header_with_different_words() {
        let known = wire("<|part|>say<|text|>", "<|part|>act json<|text|>");
        let channels = Channels { before: "<|part|>", after: "<|text|>", called: "act" };
        assert_eq!(Channels::find(&known), Some(channels));
        for (said, called) in [
            // The same word twice, other marks, no word.
            ("<|part|>say<|text|>", "<|part|>say json<|text|>"),
            ("<|piece|>say<|text|>", "<|part|>act<|text|>"),
            ("<|part|><|text|>", "<|part|>act<|text|>"),
            ("<|part|>say<|text|>", "<|text|>"),
            // Tags that people write do not form a header.
            ("<part>say<text>", "<part>act<text>"),
        ] {
            assert_eq!(Channels::find(&wire(said, called)), None, "{said} {called}");
        }
    }

    #[test]
    fn a_call_is_read_in_every_order_of_its_header() {
        let draft = draft(&wire("<|part|>say<|text|>", "<|part|>act json<|text|>"));
        for text in [
            " to=tools.f<|part|>act json<|text|>{\"a\": 1}<end>",
            " to=tools.f<|part|>weigh<|text|>{\"a\": 1}<end>",
            " to=tools.f<|part|>weigh <|form|>json<|text|>{\"a\": 1}<end>",
            "<|part|>act to=tools.f<|text|>{\"a\": 1}<end>",
            "<|part|>weigh to=tools.f <|form|>json<|text|>{\"a\": 1}<end>",
        ] {
            let message = read(&draft, text);
            assert_eq!(said_calls(&message), ["f{\"a\": 1}"], "{text}");
            assert_eq!((message.get("content"), message.get("thinking")), (None, None), "{text}");
        }
        // Content may have the header of calls beside them.
        let mut beside = wire("<|part|>say<|text|>", "<|part|>act json<|text|>");
        beside.content.beside_calls = Some(("<|part|>act<|text|>".to_owned(), "<|over|>".to_owned()));
        let opens = |draft: &Value| draft.get("fields")?.get("content")?.get("open").cloned();
        assert_eq!(opens(&by_hand::draft(&beside)), opens(&draft));
        for (text, part) in [
            ("<|part|>act<|text|>I look it up.<end>", "content"),
            ("<|part|>say<|text|>I look it up.<end>", "content"),
            ("<|part|>weigh<|text|>I look it up.<|over|>", "thinking"),
        ] {
            let message = read(&draft, text);
            assert_eq!(message.get(part).and_then(|text| text.as_str()), Some("I look it up."), "{text}");
        }
    }
}
