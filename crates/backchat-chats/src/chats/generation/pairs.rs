//! The two places of a block in the source, and which pairs of places cover every span and nothing else.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::case::{Case, fit};
use super::condition::Condition;
use super::source::{self, Piece};
use super::traces::Trace;
use backchat_chat::{charge, ended};
use backchat_core::push_new;
use backchat_core::text::slice;

/// How many places before a text are tried as the beginning of its span.
pub(super) const MOST_STARTS: usize = 200;

/// How many pairs are tested on every conversation for each choice.
pub(super) const MOST_CHECKS: usize = 300;

/// How many places or bytes are compared in the time of one step of the evaluator.
pub(super) const PLACES_PER_STEP: usize = 16;

/// The two places of a block in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) condition: Condition,
    /// How many characters at the start and the end of the text are not the model's. If there are any, the text is
    /// captured and split.
    pub(super) around: (usize, usize),
    /// Texts after these characters that only some turns have and that are not the model's either, the longest first.
    pub(super) leads: [Option<Stretch>; 2],
}

impl Pair {
    pub(super) fn plain(from: usize, to: usize, condition: Condition) -> Self {
        Self { from, to, condition, around: (0, 0), leads: [None; 2] }
    }

    pub(super) fn is_apart(&self, other: &Self) -> bool {
        self.to <= other.from || self.from >= other.to
    }

    /// The texts that only some turns have after their header.
    pub(super) fn leads<'c>(&self, cases: &'c [Case]) -> Vec<&'c str> {
        self.leads.iter().flatten().map(|lead| lead.text(cases)).collect()
    }
}

/// A stretch of a conversation's render, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Stretch {
    pub(super) case: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Stretch {
    pub(super) fn text(self, cases: &[Case]) -> &str {
        cases.get(self.case).map_or("", |case| slice(&case.text, self.start..self.end))
    }
}

/// Chooses pairs of places that cover every span and nothing else; `skip` leaves out the first choices.
pub(super) fn choose(pieces: &[Piece], cases: &[Case], traces: &[Trace], skip: usize) -> Option<Vec<Pair>> {
    // Each pair with the spans it covers, and its cost.
    let mut found: BTreeMap<Pair, Spans> = BTreeMap::new();
    let mut costs: HashMap<Pair, usize> = HashMap::new();
    for (case_index, (case, trace)) in cases.iter().zip(traces).enumerate() {
        for (span_index, span) in case.spans.iter().enumerate() {
            let steps = trace.iter().copied().enumerate();
            let starts: Vec<_> = steps.filter(|(_, (at, _))| *at <= span.text).collect();
            for (first, (start, from)) in starts.into_iter().rev().take(MOST_STARTS) {
                if ended().is_some() {
                    return None;
                }
                let mut seen: Vec<usize> = Vec::new();
                for (end, to) in trace.iter().skip(first + 1).copied() {
                    if end > span.end {
                        break;
                    }
                    if seen.contains(&to) || to <= from {
                        continue;
                    }
                    charge(seen.len() / PLACES_PER_STEP + 1);
                    seen.push(to);
                    let Some(cost) = fit(case, span, start, end) else { continue };
                    for condition in [Condition::Always, Condition::Own] {
                        let pair = Pair::plain(from, to, condition);
                        if push_new(found.entry(pair).or_default(), (case_index, span_index)) {
                            *costs.entry(pair).or_default() += cost;
                        }
                    }
                }
            }
        }
    }
    let bodies: HashMap<usize, Vec<usize>> =
        (0..=pieces.len()).filter_map(|at| Some((at, source::body_at(pieces, at)?))).collect();
    found.retain(|pair, _| {
        let variable = !pair.condition.is_any() || message_loop(pieces, pair.from).is_some();
        variable && bodies.get(&pair.from) == bodies.get(&pair.to)
    });
    let mut valid: HashMap<Pair, bool> = HashMap::new();
    let rank = |pair: &Pair| (pair.condition, costs.get(pair).copied(), divided(pieces, pair), pair.to - pair.from);
    cover(cases, &found, skip, rank, |pair| {
        *valid.entry(*pair).or_insert_with(|| marks_only_answers(pieces, pair, cases, traces))
    })
}

/// Spans by the numbers of their case and in it.
pub(super) type Spans = Vec<(usize, usize)>;

/// Chooses pairs that cover every span one by one: of those that cover most, the best by rank that fits; `skip` leaves
/// out the first choices.
pub(super) fn cover<K: Ord>(
    cases: &[Case],
    found: &BTreeMap<Pair, Spans>,
    mut skip: usize,
    rank: impl Fn(&Pair) -> K,
    mut fits: impl FnMut(&Pair) -> bool,
) -> Option<Vec<Pair>> {
    let spans_of = |(index, case): (usize, &Case)| (0..case.spans.len()).map(move |span| (index, span));
    let mut left: Spans = cases.iter().enumerate().flat_map(spans_of).collect();
    let mut chosen: Vec<Pair> = Vec::new();
    while !left.is_empty() {
        let apart = found.iter().filter(|(pair, _)| chosen.iter().all(|other| pair.is_apart(other)));
        let counted = apart.map(|(pair, spans)| (pair, spans.iter().filter(|span| left.contains(span)).count()));
        let mut ranked: Vec<(&Pair, usize)> = counted.filter(|(_, covered)| *covered > 0).collect();
        ranked.sort_by_key(|(pair, covered)| (Reverse(*covered), rank(pair)));
        let best = *ranked.into_iter().take(MOST_CHECKS).map(|(pair, _)| pair).filter(|pair| fits(pair)).nth(skip)?;
        skip = 0;
        let covered = found.get(&best)?;
        left.retain(|span| !covered.contains(span));
        chosen.push(best);
    }
    chosen.sort();
    Some(chosen)
}

/// How many expressions a pair splits.
pub(super) fn divided(pieces: &[Piece], pair: &Pair) -> usize {
    [pair.from, pair.to].into_iter().filter(|at| divides(pieces, *at).is_some()).count()
}

/// The expression that a tag in front of a piece would split.
pub(super) fn divides(pieces: &[Piece], at: usize) -> Option<usize> {
    let expression = pieces.get(at)?.expression()?;
    let before = pieces.get(at.checked_sub(1)?)?;
    (before.expression() == Some(expression)).then_some(expression)
}

/// Whether every stretch between the places of a pair is a span or, under a condition, belongs to no answer.
pub(super) fn marks_only_answers(pieces: &[Piece], pair: &Pair, cases: &[Case], traces: &[Trace]) -> bool {
    let messages = message_loop(pieces, pair.from);
    let leads = pair.leads(cases);
    cases.iter().zip(traces).all(|(case, trace)| {
        charge(trace.len() + case.text.len() / PLACES_PER_STEP);
        let iterations = messages.as_ref().map_or_else(Vec::new, |messages| messages.iterations(trace));
        let mut start = None;
        trace.iter().all(|(at, place)| {
            if *place == pair.from {
                start = Some(*at);
                return true;
            }
            let Some(begin) = start.filter(|_| *place == pair.to) else { return true };
            start = None;
            let fits = case.spans.iter().any(|span| {
                let (before, after) = pair.around;
                let (mut begin, end) = (case.later(begin, before), case.earlier(*at, after));
                let text = case.text.get(begin..*at).unwrap_or_default();
                begin += leads.iter().find(|lead| text.starts_with(**lead)).map_or(0, |lead| lead.len());
                fit(case, span, begin, end).is_some()
            });
            fits || begin == *at
                || (pair.condition.is_any() && case.is_foreign((begin, *at), pair.condition, &iterations))
        })
    })
}

pub(super) struct MessageLoop {
    /// The piece that opens it.
    pub(super) block: usize,
    /// Its variable.
    pub(super) variable: String,
}

impl MessageLoop {
    /// The positions in a render at which its iterations begin.
    pub(super) fn iterations(&self, trace: &Trace) -> Vec<usize> {
        trace.iter().filter(|(_, place)| *place == self.block + 1).map(|(at, _)| *at).collect()
    }
}

pub(super) fn message_loop(pieces: &[Piece], at: usize) -> Option<MessageLoop> {
    let body = source::body_at(pieces, at)?;
    body.iter().rev().find_map(|number| {
        let block = pieces.get(*number)?;
        let name = block.text.split_whitespace().skip_while(|word| *word != "for").nth(1)?;
        let is_loop = block.keyword() == "for" && !name.contains(',');
        let asks = [format!("{name}.role"), format!("{name}['role']"), format!("{name}[\"role\"]")];
        let asked = pieces.iter().any(|piece| asks.iter().any(|ask| piece.text.contains(ask.as_str())));
        (is_loop && asked).then(|| MessageLoop { block: *number, variable: name.to_owned() })
    })
}

/// The loop over the messages that ends before a place.
pub(super) fn loop_before(pieces: &[Piece], at: usize) -> Option<MessageLoop> {
    let block = (0..at).rev().find(|block| message_loop(pieces, block + 1).is_some_and(|it| it.block == *block))?;
    message_loop(pieces, block + 1)
}
