//! A source with the tags of chosen pairs.

use super::case::Case;
use super::pairs::{Pair, divides, message_loop};
use super::source::{self, Piece, PieceKind};
use super::{Patched, gathered};
use backchat_core::push_new;

/// The source with blocks at the pairs.
pub(super) fn build(pieces: &[Piece], pairs: &[Pair], cases: &[Case]) -> Option<Patched> {
    let mut rewritten = Vec::new();
    let mut template = String::new();
    let mut at = 0;
    for pair in pairs {
        for place in [pair.from, pair.to] {
            if let Some(expression) = divides(pieces, place) {
                let whole = source::expression(pieces, expression);
                push_new(&mut rewritten, whole);
            }
        }
        // A position inside an expression splits the expression.
        let none = |place: usize| (place == pair.from).then(String::new);
        template += &source::join(pieces, at, pair.from, &none);
        let inside = source::join(pieces, pair.from, pair.to, &|_| None);
        let (left, right) = (source::marks(pieces, pair.from).0, source::marks(pieces, pair.to).1);
        let data = |piece: Option<&Piece>| piece.is_some_and(|piece| piece.kind == PieceKind::Data);
        let begins = if data(pieces.get(pair.from)) { "+" } else { "" };
        let ends = if data(pieces.get(pair.to.checked_sub(1)?)) { "+" } else { "" };
        let is_gathered = pair.around != (0, 0) || pair.leads != [None; 2];
        let leads = pair.leads(cases);
        if pair.condition.is_any() || is_gathered {
            rewritten.push(inside.trim().to_owned());
        }
        if pair.condition.is_any() {
            let test = pair.condition.test(&message_loop(pieces, pair.from).map_or_else(String::new, |it| it.variable));
            let block = if is_gathered {
                gathered::block(pieces, pair, &leads, &inside, [("", begins), (ends, "")])?
            } else {
                format!("{{% generation {begins}%}}{inside}{{%{ends} endgeneration %}}")
            };
            template +=
                &format!("{{%{left} if {test} %}}{block}{{% else {begins}%}}{inside}{{%{ends} endif {right}%}}");
        } else if is_gathered {
            template += &gathered::block(pieces, pair, &leads, &inside, [(left, begins), (ends, right)])?;
        } else {
            let (begins, ends) = (source::marks(pieces, pair.from).1, source::marks(pieces, pair.to).0);
            template += &format!("{{%{left} generation {begins}%}}{inside}{{%{ends} endgeneration {right}%}}");
        }
        at = pair.to;
    }
    template += &source::join(pieces, at, pieces.len(), &|_| None);
    Some(Patched { template, conversations: 0, rewritten, had_blocks: false, begins_in_header: false })
}
