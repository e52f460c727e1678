//! Where each place of a source writes: a render with a marker at every place between its pieces.

use super::case::Case;
use super::source::{self, Piece};
use backchat_chat::{ChatTemplate, RenderOptions};

/// The positions in a render at which each place of the source was reached, in order.
pub(super) type Trace = Vec<(usize, usize)>;

/// The character that represents a place of the source in a traced render.
pub(super) fn marker(place: usize) -> Option<char> {
    char::from_u32(0xF_0000 + u32::try_from(place).ok()?)
}

/// Renders every case with a marker at every place of the source, if that changes nothing else.
pub(super) fn trace(pieces: &[Piece], source: &str, cases: &[Case], options: &RenderOptions) -> Option<Vec<Trace>> {
    if source.chars().any(|character| ('\u{F0000}'..='\u{FFFFD}').contains(&character)) {
        return None;
    }
    let captured = |at: usize| {
        let gathers = |block: &Piece| matches!(block.keyword(), "macro" | "set" | "call" | "filter");
        source::body_at(pieces, at).is_some_and(|body| body.iter().any(|block| pieces.get(*block).is_some_and(gathers)))
    };
    // Text that is captured before it is written may be stripped or compared; then only other text is marked.
    [false, true].into_iter().find_map(|outside_only| {
        let tag = |at: usize| {
            if outside_only && captured(at) {
                return None;
            }
            let (left, right) = source::marks(pieces, at);
            Some(format!("{{%{left} if true %}}{}{{% endif {right}%}}", marker(at)?))
        };
        let traced = source::join(pieces, 0, pieces.len(), &tag);
        let template = ChatTemplate::compile(&traced).ok()?;
        cases.iter().map(|case| read_trace(&template.render(&case.context, options).ok()?.text, &case.text)).collect()
    })
}

/// The markers of a traced render, if the rest of it is the plain render.
pub(super) fn read_trace(traced: &str, plain: &str) -> Option<Trace> {
    let mut trace = Trace::new();
    let mut at = 0;
    for character in traced.chars() {
        match u32::from(character).checked_sub(0xF_0000) {
            Some(place) if character <= '\u{FFFFD}' => trace.push((at, usize::try_from(place).ok()?)),
            _ => {
                if plain.get(at..)?.chars().next()? != character {
                    return None;
                }
                at += character.len_utf8();
            }
        }
    }
    (at == plain.len()).then_some(trace)
}
