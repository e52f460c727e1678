//! The smallest kinds that differ: those with a piece that no kind within them has.

use std::collections::{HashMap, HashSet};

use super::Comparison;
use crate::kinds::Kind;

/// A kind from which nothing can be taken, and the pieces that need all of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Minimal {
    pub(crate) kind: Kind,
    pub(crate) pieces: Vec<usize>,
}

/// The smallest kinds that differ, the smaller ones first. Kinds with one dimension less are rendered if they were not.
pub(crate) fn minimal(comparison: &mut Comparison<'_>) -> Vec<Minimal> {
    let mut shrunk = HashSet::new();
    loop {
        let found = smallest(comparison);
        let before = comparison.order.len();
        for minimal in &found {
            if shrunk.insert(minimal.kind) {
                shrink(comparison, minimal.kind);
            }
        }
        if comparison.order.len() == before {
            return found;
        }
    }
}

/// Of the kinds that were rendered, those with a piece that no kind within them has.
fn smallest(comparison: &Comparison<'_>) -> Vec<Minimal> {
    let pieces = |kind: &Kind| comparison.known.get(kind).map_or(&[][..], |known| &known.pieces);
    let mut differing: Vec<Kind> = comparison.order.iter().copied().filter(|kind| !pieces(kind).is_empty()).collect();
    differing.sort_by_key(|kind| kind.len());
    let mut holders: HashMap<usize, Vec<Kind>> = HashMap::new();
    let mut found = Vec::new();
    for kind in differing {
        let mut own = Vec::new();
        for piece in pieces(&kind) {
            let holders = holders.entry(*piece).or_default();
            if !holders.iter().any(|holder| holder.is_within(kind)) {
                holders.push(kind);
                own.push(*piece);
            }
        }
        if !own.is_empty() {
            found.push(Minimal { kind, pieces: own });
        }
    }
    found
}

/// Renders the kinds with one dimension less, and what needs it.
fn shrink(comparison: &mut Comparison<'_>, kind: Kind) {
    for bit in kind.bits() {
        let alone = Kind::NONE.with_bit(bit);
        let mut less = kind.minus(alone);
        for dim in kind.dims() {
            let dim = Kind::of(&[dim]);
            if alone.is_within(dim.closed()) {
                less = less.minus(dim);
            }
        }
        let less = less.closed();
        if less != kind && less.is_within(kind) {
            comparison.add(less);
        }
    }
}
