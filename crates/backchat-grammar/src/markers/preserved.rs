//! The markers that a server must leave in the output: every text of the wire that may be one special token. If a
//! server drops one, at the edge of a region or inside a call, the parser does not see the text that the model wrote.

use backchat_core::text::slice;
use backchat_derive::wire::marks::{is_closing, is_opening};
use backchat_derive::wire::structure::{Arguments, CallPart, Encoding, WireFormat};
use backchat_derive::wire::written::{TurnPart, Written};

/// The markers of the model's turn, each once, in the order of the wire.
pub(crate) fn preserved(wire: &WireFormat, written: &Written) -> Vec<String> {
    let mut texts: Vec<&str> = Vec::new();
    texts.extend(wire.reasoning.iter().flat_map(|reasoning| [&reasoning.open, &reasoning.close]).map(String::as_str));
    texts.extend([&*wire.content.open, &*wire.content.close]);
    if let Some(calls) = &wire.calls
        && let Some(cut) = calls.cuts.first()
    {
        texts.extend([&*cut.section, &*cut.open]);
        texts.extend(calls.body.head.iter().filter_map(CallPart::text));
        match &calls.body.arguments {
            Arguments::Pairs(pairs) => {
                texts.extend([&*pairs.cut.section, &*pairs.cut.open, &*pairs.gap]);
                if let Encoding::Quoted { open, close, .. } = &pairs.values.strings {
                    texts.extend([&**open, &**close]);
                }
                texts.extend([&*pairs.cut.close, &*pairs.cut.separator, &*pairs.cut.section_close]);
            }
            Arguments::Dialect { quotes: Some((open, close)), .. } => texts.extend([&**open, &**close]),
            _ => {}
        }
        texts.extend(calls.body.tail.iter().filter_map(CallPart::text));
        texts.extend([&*cut.separator, &*cut.close, &*cut.section_close]);
    }
    // Text of the turn beyond the parts of the wire: the answer's frame next to a call, and the text between the two.
    for group in &written.groups {
        for shape in &group.shapes {
            for (at, part) in shape.parts.iter().enumerate() {
                let TurnPart::Text(text) = part else { continue };
                let header = if at == 0 { wire.segmentation.shared_start(text, &group.header).len() } else { 0 };
                texts.push(slice(text, header..));
            }
        }
    }
    let mut found: Vec<String> = Vec::new();
    for mark in texts.into_iter().flat_map(|text| wire.segmentation.marks(text)).map(str::trim) {
        let may_be_a_token = wire.segmentation.is_distinctive(mark) || is_bracket(mark);
        if may_be_a_token && !found.iter().any(|known| known == mark) {
            found.push(mark.to_owned());
        }
    }
    found
}

/// Whether a mark consists of signs in brackets, without a word: some tokenizers have one for quotes.
fn is_bracket(mark: &str) -> bool {
    let mut characters = mark.chars();
    let edges = characters.next().zip(characters.next_back());
    edges.is_some_and(|(first, last)| is_opening(first) && is_closing(last)) && characters.as_str().contains('|')
}
