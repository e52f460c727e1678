//! The marks that a server must leave in the output: every text of the wire that may be one special token. A server
//! that drops one, at an edge of a region or inside a call, gives the parser another text than the model wrote.

use backchat_derive::wire::marks::{Segmentation, is_closing, is_opening};
use backchat_derive::wire::structure::{Arguments, CallPart, Encoding, Pairs, WireFormat};
use backchat_derive::wire::written::{TurnPart, Written};

/// The marks of the model's turn, each once, in the order of the wire.
pub(super) fn preserved(wire: &WireFormat, written: &Written) -> Vec<String> {
    let mut found = Marks { segmentation: wire.segmentation, found: Vec::new() };
    if let Some(reasoning) = &wire.reasoning {
        [&reasoning.open, &reasoning.close].into_iter().for_each(|text| found.add(text));
    }
    [&wire.content.open, &wire.content.close].into_iter().for_each(|text| found.add(text));
    if let Some(calls) = &wire.calls {
        for cut in calls.cuts.iter().take(1) {
            [&cut.section, &cut.open].into_iter().for_each(|text| found.add(text));
            found.pieces(&calls.body.head);
            if let Arguments::Pairs(pairs) = &calls.body.arguments {
                found.pairs(pairs);
            }
            if let Arguments::Dialect { quotes: Some((open, close)), .. } = &calls.body.arguments {
                [open, close].into_iter().for_each(|text| found.add(text));
            }
            found.pieces(&calls.body.tail);
            [&cut.separator, &cut.close, &cut.section_close].into_iter().for_each(|text| found.add(text));
        }
    }
    // What the turn holds beyond the parts of the wire: the answer's frame next to a call, and the text between the
    // two.
    for group in &written.groups {
        for shape in &group.shapes {
            for (at, part) in shape.parts.iter().enumerate() {
                let TurnPart::Text(text) = part else { continue };
                let header = if at == 0 { wire.segmentation.shared_start(text, &group.header).len() } else { 0 };
                found.add(backchat_core::text::slice(text, header..));
            }
        }
    }
    found.found
}

/// The marks found so far.
struct Marks {
    segmentation: Segmentation,
    found: Vec<String>,
}

impl Marks {
    fn add(&mut self, text: &str) {
        for mark in self.segmentation.marks(text) {
            let mark = mark.trim();
            let may_be_a_token = self.segmentation.is_distinctive(mark) || is_bracket(mark);
            if may_be_a_token && !self.found.iter().any(|known| known == mark) {
                self.found.push(mark.to_owned());
            }
        }
    }

    fn pieces(&mut self, pieces: &[CallPart]) {
        pieces.iter().filter_map(CallPart::text).for_each(|text| self.add(text));
    }

    fn pairs(&mut self, pairs: &Pairs) {
        [&pairs.cut.section, &pairs.cut.open, &pairs.gap].into_iter().for_each(|text| self.add(text));
        if let Encoding::Quoted { open, close, .. } = &pairs.values.strings {
            [open, close].into_iter().for_each(|text| self.add(text));
        }
        let cut = &pairs.cut;
        [&cut.close, &cut.separator, &cut.section_close].into_iter().for_each(|text| self.add(text));
    }
}

/// Whether a mark is signs in brackets, without a word: some tokenizers have one for quotes.
fn is_bracket(mark: &str) -> bool {
    let mut characters = mark.chars();
    let edges = characters.next().zip(characters.next_back());
    edges.is_some_and(|(first, last)| is_opening(first) && is_closing(last)) && characters.as_str().contains('|')
}
