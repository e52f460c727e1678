//! Nondeterministic automata (NFAs), built from patterns, and the subset construction that makes them deterministic.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::{Automaton, Edge, MOST_STATES, difference};
use backchat_parser::pattern::Regular;

/// How many NFA states the subset construction may visit.
const MOST_WORK: usize = 400_000;

/// The code points that JSON writes as two numbers, the halves of a surrogate pair.
const PAIRED: u32 = 0x1_0000;

/// The halves of surrogate pairs, which stand for no character alone.
const HALVES: (u32, u32) = (0xD800, 0xDFFF);

/// An NFA. Edges and epsilon transitions are linked lists in shared vectors: most states have one edge and no epsilon
/// transition, and an allocation for each state would cost more than the rest.
#[derive(Default)]
pub(super) struct Nfa {
    states: Vec<NfaState>,
    /// Edges, each with the next of its state.
    edges: Vec<(Edge, Option<usize>)>,
    /// Targets of epsilon transitions, each with the next of its state.
    epsilon: Vec<(usize, Option<usize>)>,
}

#[derive(Default)]
struct NfaState {
    /// The last of its edges and of its epsilon transitions.
    edge: Option<usize>,
    epsilon: Option<usize>,
    ends: bool,
}

impl Nfa {
    pub fn state(&mut self) -> usize {
        self.states.push(NfaState::default());
        self.states.len() - 1
    }

    pub fn epsilon(&mut self, from: usize, to: usize) {
        if let Some(state) = self.states.get_mut(from) {
            self.epsilon.push((to, state.epsilon.replace(self.epsilon.len())));
        }
    }

    pub fn edge(&mut self, from: usize, low: u32, high: u32, to: usize) {
        if let Some(state) = self.states.get_mut(from) {
            self.edges.push((Edge { low, high, to }, state.edge.replace(self.edges.len())));
        }
    }

    pub fn end_in(&mut self, at: usize) {
        if let Some(state) = self.states.get_mut(at) {
            state.ends = true;
        }
    }

    /// Whether it has too many states to be made deterministic.
    pub fn is_too_large(&self) -> bool {
        self.states.len() > 8 * MOST_STATES
    }

    /// Adds the matches of a pattern from one state on; returns their end state.
    pub fn add(&mut self, pattern: &Regular, from: usize) -> Option<usize> {
        if self.is_too_large() {
            return None;
        }
        Some(match pattern {
            Regular::Empty => from,
            Regular::Never => self.state(),
            Regular::Class(ranges) => {
                let to = self.state();
                ranges.iter().for_each(|(low, high)| self.edge(from, *low, *high, to));
                to
            }
            Regular::Concat(items) => items.iter().try_fold(from, |at, item| self.add(item, at))?,
            Regular::Alternate(items) => {
                let to = self.state();
                for item in items {
                    let end = self.add(item, from)?;
                    self.epsilon(end, to);
                }
                to
            }
            Regular::Repeat { node, min, max } => {
                let mut at = from;
                for _ in 0..*min {
                    at = self.add(node, at)?;
                }
                match max {
                    None => {
                        let around = self.state();
                        self.epsilon(at, around);
                        let end = self.add(node, around)?;
                        self.epsilon(end, around);
                        let to = self.state();
                        self.epsilon(around, to);
                        to
                    }
                    Some(max) => {
                        let to = self.state();
                        self.epsilon(at, to);
                        for _ in *min..*max {
                            at = self.add(node, at)?;
                            self.epsilon(at, to);
                        }
                        to
                    }
                }
            }
        })
    }

    /// Adds a pattern whose end ends the text. Patterns that were added like this share common prefixes: as a
    /// character's target is reached only by that character, everything that leads there has the same prefix.
    pub fn add_end(&mut self, pattern: &Regular, from: usize) -> Option<()> {
        if let Regular::Alternate(items) = pattern {
            return items.iter().try_for_each(|item| self.add_end(item, from));
        }
        let items = if let Regular::Concat(items) = pattern { items } else { std::slice::from_ref(pattern) };
        let mut at = from;
        let mut own = items;
        while let Some((Regular::Class(ranges), rest)) = own.split_first() {
            let [(low, high)] = ranges.as_slice() else { break };
            let same = self.edges_of(at).find(|edge| low == high && (edge.low, edge.high) == (*low, *high));
            let known = same.filter(|own| self.edges_of(at).filter(|edge| edge.to == own.to).count() == 1);
            let Some(edge) = known else { break };
            (at, own) = (edge.to, rest);
        }
        let end = own.iter().try_fold(at, |at, item| self.add(item, at))?;
        self.end_in(end);
        Some(())
    }

    /// One exact text from a state to another.
    pub fn spell(&mut self, from: usize, text: &str, to: usize) {
        let mut at = from;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let next = if rest.peek().is_none() { to } else { self.state() };
            self.edge(at, u32::from(c), u32::from(c), next);
            at = next;
        }
    }

    /// The state after JSON's `\u`.
    pub fn number(&mut self, from: usize) -> usize {
        let digits = self.state();
        self.spell(from, "\\u", digits);
        digits
    }

    /// The numbers of the characters from `low` to `high`, after `\u`; a pair of halves counts as one character.
    pub fn numbered(&mut self, from: usize, low: u32, high: u32, to: usize) {
        for (low, high) in difference(low, high.min(PAIRED - 1), &[HALVES]) {
            self.digits(from, (low, high), 4, to);
        }
        if high < PAIRED {
            return;
        }
        let (low, high) = (low.max(PAIRED) - PAIRED, high - PAIRED);
        let mut at = low;
        while at <= high {
            // All first halves but the outermost ones are followed by any second half.
            let is_whole = at % 0x400 == 0 && high - at >= 0x3FF;
            let last = if is_whole { (high + 1) / 0x400 - 1 } else { at / 0x400 };
            let end = high.min(last * 0x400 + 0x3FF);
            let second = self.state();
            self.digits(from, (0xD800 + at / 0x400, 0xD800 + last), 4, second);
            let digits = self.number(second);
            let low = 0xDC00 + at % 0x400;
            self.digits(digits, (low, low + (end - at).min(0x3FF)), 4, to);
            at = end + 1;
        }
    }

    /// The numbers of a range as this many hexadecimal digits.
    fn digits(&mut self, from: usize, (low, high): (u32, u32), count: u32, to: usize) {
        let Some(rest) = count.checked_sub(1) else { return self.epsilon(from, to) };
        let unit = 1 << (4 * rest);
        let mut at = low;
        while at <= high {
            // All first digits but the outermost ones are followed by any digits.
            let is_whole = at % unit == 0 && high - at >= unit - 1;
            let last = if is_whole { (high + 1) / unit - 1 } else { at / unit };
            let end = high.min(last * unit + unit - 1);
            let next = self.state();
            self.digit(from, at / unit, last, next);
            self.digits(next, (at % unit, end % unit), rest, to);
            at = end + 1;
        }
    }

    /// One hexadecimal digit of a range, in either case.
    fn digit(&mut self, from: usize, first: u32, last: u32, to: usize) {
        for (low, high, sign) in [(0, 9, '0'), (10, 15, 'A'), (10, 15, 'a')] {
            let (low, high, sign) = (first.max(low), last.min(high), u32::from(sign) - low);
            if low <= high {
                self.edge(from, sign + low, sign + high, to);
            }
        }
    }

    /// The same texts as a deterministic automaton.
    pub fn determinize(&self, start: usize) -> Option<Automaton> {
        Determinizer::new(self).run(start, false)
    }

    /// The complement as a deterministic automaton: any text in which no pattern has ended.
    pub fn without_ends(&self, start: usize) -> Option<Automaton> {
        Determinizer::new(self).run(start, true)
    }

    /// The items of a state's list.
    fn listed<T: Copy>(items: &[(T, Option<usize>)], last: Option<usize>) -> impl Iterator<Item = T> {
        let mut next = last.and_then(|at| items.get(at));
        std::iter::from_fn(move || {
            let (item, before) = *next?;
            next = before.and_then(|at| items.get(at));
            Some(item)
        })
    }

    fn edges_of(&self, state: usize) -> impl Iterator<Item = Edge> {
        Self::listed(&self.edges, self.states.get(state).and_then(|state| state.edge))
    }

    fn epsilons_of(&self, state: usize) -> impl Iterator<Item = usize> {
        Self::listed(&self.epsilon, self.states.get(state).and_then(|state| state.epsilon))
    }
}

/// The subset construction.
struct Determinizer<'l> {
    nfa: &'l Nfa,
    /// The round in which each state was last reached.
    reached: Vec<usize>,
    round: usize,
    /// The sets that are states of the automaton, one after the other, and the end of each.
    sets: Vec<usize>,
    ends: Vec<usize>,
    /// Their places by their hashes.
    known: HashTable<(u64, usize)>,
    /// The last state that a character led to alone, and the place of its set.
    last_alone: Option<(usize, Option<usize>)>,
    /// How many states were visited.
    work: usize,
}

impl<'l> Determinizer<'l> {
    fn new(nfa: &'l Nfa) -> Self {
        // Most patterns are literals, with about as many sets as states, and one or two states per set.
        let count = nfa.states.len();
        Self {
            nfa,
            reached: vec![0; count],
            round: 0,
            sets: Vec::with_capacity(2 * count),
            ends: Vec::with_capacity(count),
            known: HashTable::with_capacity(count),
            last_alone: None,
            work: 0,
        }
    }

    /// The set of a place.
    fn set(&self, at: usize) -> Option<&[usize]> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.sets.get(start..end)
    }

    fn has_end(&self, set: &[usize]) -> bool {
        set.iter().any(|state| self.nfa.states.get(*state).is_some_and(|state| state.ends))
    }

    /// Adds the states that epsilon transitions reach, and sorts.
    fn close(&mut self, set: &mut Vec<usize>) {
        self.round += 1;
        let mut reach = |state: usize| {
            let reached = self.reached.get_mut(state).filter(|round| **round != self.round);
            reached.is_some_and(|reached| std::mem::replace(reached, self.round) != self.round)
        };
        set.retain(|state| reach(*state));
        let mut at = 0;
        while let Some(state) = set.get(at).copied() {
            at += 1;
            set.extend(self.nfa.epsilons_of(state).filter(|to| reach(*to)));
        }
        set.sort_unstable();
    }

    /// The index of a set, which is added if it is new.
    fn place(&mut self, set: &[usize]) -> usize {
        let hash = foldhash::fast::FixedState::default().hash_one(set);
        if let Some((_, place)) = self.known.find(hash, |(_, place)| self.set(*place) == Some(set)) {
            return *place;
        }
        let place = self.ends.len();
        self.sets.extend_from_slice(set);
        self.ends.push(self.sets.len());
        self.known.insert_unique(hash, (hash, place), |(hash, _)| *hash);
        place
    }

    /// The index of the set that a character leads to, or nothing if a text ends there and must not; `None` if there
    /// are too many states.
    fn target(&mut self, to: &mut Vec<usize>, without: bool) -> Option<Option<usize>> {
        // Most characters of a text without markers begin none.
        let alone = if let [state] = to.as_slice() { Some(*state) } else { None };
        if let Some((_, target)) = self.last_alone.filter(|(state, _)| alone == Some(*state)) {
            return Some(target);
        }
        self.close(to);
        self.work += to.len();
        if self.work > MOST_WORK {
            return None;
        }
        let target = (!(without && self.has_end(to))).then(|| self.place(to));
        if target > Some(MOST_STATES) {
            return None;
        }
        if let Some(state) = alone {
            self.last_alone = Some((state, target));
        }
        Some(target)
    }

    /// The automaton from a state on; with `without`, texts in which nothing has ended.
    fn run(mut self, start: usize, without: bool) -> Option<Automaton> {
        let mut to = vec![start];
        self.close(&mut to);
        if without && self.has_end(&to) {
            return Some(Automaton::nothing());
        }
        self.place(&to);
        let count = self.nfa.states.len();
        let mut made = Automaton::with_room(count, 2 * count);
        let (mut edges, mut bounds): (Vec<Edge>, Vec<u32>) = (Vec::new(), Vec::new());
        while let Some(set) = self.set(made.len()) {
            let accepts = without || self.has_end(set);
            edges.clear();
            edges.extend(set.iter().flat_map(|state| self.nfa.edges_of(*state)));
            bounds.clear();
            bounds.extend(edges.iter().flat_map(|edge| [edge.low, edge.high + 1]));
            bounds.sort_unstable();
            bounds.dedup();
            for (low, next) in bounds.iter().zip(bounds.iter().skip(1)) {
                to.clear();
                to.extend(edges.iter().filter(|edge| edge.low <= *low && *low <= edge.high).map(|edge| edge.to));
                if to.is_empty() {
                    continue;
                }
                if let Some(target) = self.target(&mut to, without)? {
                    made.edge(*low, next - 1, target);
                }
            }
            made.end_state(accepts);
        }
        Some(made)
    }
}
