//! Regular text as deterministic automata over code points, so that constraints on the same text are an intersection.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{HashMap, HashTable};

use crate::pattern::Regular;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The last code point.
pub(crate) const LAST: u32 = 0x10_FFFF;

/// How many states an automaton may have: text with more of them is described in another way.
pub(crate) const MOST_STATES: usize = 4000;

/// How many states of a pattern may be looked at on the way to an automaton.
const MOST_WORK: usize = 400_000;

/// An automaton; it begins in its first state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Automaton {
    pub states: Vec<State>,
}

/// A place in the text: what may come next, and whether the text may end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Disjoint and in order.
    pub edges: Vec<Edge>,
    pub accepts: bool,
}

/// The target of the characters from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    pub low: u32,
    pub high: u32,
    pub to: usize,
}

/// An automaton with more than one way to go, which patterns become first.
#[derive(Default)]
struct Loose {
    states: Vec<LooseState>,
}

#[derive(Default)]
struct LooseState {
    edges: Vec<Edge>,
    free: Vec<usize>,
    ends: bool,
}

impl Loose {
    fn state(&mut self) -> usize {
        self.states.push(LooseState::default());
        self.states.len() - 1
    }

    fn free(&mut self, from: usize, to: usize) {
        if let Some(state) = self.states.get_mut(from) {
            state.free.push(to);
        }
    }

    fn edge(&mut self, from: usize, low: u32, high: u32, to: usize) {
        if let Some(state) = self.states.get_mut(from) {
            state.edges.push(Edge { low, high, to });
        }
    }

    /// Adds the matches of a pattern from one state on; gives their end state.
    fn add(&mut self, pattern: &Regular, from: usize) -> Option<usize> {
        if self.states.len() > 8 * MOST_STATES {
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
                    self.free(end, to);
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
                        self.free(at, around);
                        let end = self.add(node, around)?;
                        self.free(end, around);
                        let to = self.state();
                        self.free(around, to);
                        to
                    }
                    Some(max) => {
                        let to = self.state();
                        self.free(at, to);
                        for _ in *min..*max {
                            at = self.add(node, at)?;
                            self.free(at, to);
                        }
                        to
                    }
                }
            }
        })
    }

    /// Adds what is reached for free; `seen` marks the states of this round.
    fn closure(&self, from: &mut Vec<usize>, seen: &mut Vec<usize>, round: usize) {
        seen.resize(self.states.len(), 0);
        for state in from.iter() {
            if let Some(mark) = seen.get_mut(*state) {
                *mark = round;
            }
        }
        let mut at = 0;
        while let Some(state) = from.get(at).copied() {
            at += 1;
            for to in self.states.get(state).map_or(&[][..], |state| &state.free) {
                if let Some(mark) = seen.get_mut(*to).filter(|mark| **mark != round) {
                    *mark = round;
                    from.push(*to);
                }
            }
        }
        from.sort_unstable();
    }

    /// The same with one way to go; with `without`, texts in which no pattern has ended.
    fn determined(&self, start: usize, without: bool) -> Option<Automaton> {
        let ends = |set: &[usize]| set.iter().any(|state| self.states.get(*state).is_some_and(|state| state.ends));
        let hasher = foldhash::fast::FixedState::default();
        let (mut seen, mut round, mut work) = (Vec::new(), 1, 0);
        let mut first = vec![start];
        self.closure(&mut first, &mut seen, round);
        if without && ends(&first) {
            return Some(Automaton::nothing());
        }
        // The sets of states that are states of the automaton, in order, and their places in that list.
        let mut sets: Vec<Vec<usize>> = Vec::new();
        let mut known: HashTable<(u64, usize)> = HashTable::new();
        known.insert_unique(hasher.hash_one(&first), (hasher.hash_one(&first), 0), |(hash, _)| *hash);
        sets.push(first);
        let mut states: Vec<State> = Vec::new();
        let (mut edges, mut bounds, mut to): (Vec<Edge>, Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(set) = sets.get(states.len()) {
            edges.clear();
            bounds.clear();
            for edge in set.iter().filter_map(|state| self.states.get(*state)).flat_map(|state| &state.edges) {
                edges.push(*edge);
                bounds.extend([edge.low, edge.high + 1]);
            }
            bounds.sort_unstable();
            bounds.dedup();
            let mut state = State { edges: Vec::new(), accepts: without || ends(set) };
            for (low, next) in bounds.iter().zip(bounds.iter().skip(1)) {
                to.clear();
                for edge in edges.iter().filter(|edge| edge.low <= *low && *low <= edge.high) {
                    if !to.contains(&edge.to) {
                        to.push(edge.to);
                    }
                }
                if to.is_empty() {
                    continue;
                }
                round += 1;
                self.closure(&mut to, &mut seen, round);
                work += to.len();
                if work > MOST_WORK {
                    return None;
                }
                if without && ends(&to) {
                    continue;
                }
                let hash = hasher.hash_one(&to);
                let is_same = |(_, place): &(u64, usize)| sets.get(*place) == Some(&to);
                let target = match known.find(hash, is_same) {
                    Some((_, known)) => *known,
                    None => {
                        let number = sets.len();
                        if number > MOST_STATES {
                            return None;
                        }
                        known.insert_unique(hash, (hash, number), |(hash, _)| *hash);
                        sets.push(to.clone());
                        number
                    }
                };
                state.push(*low, next - 1, target);
            }
            states.push(state);
        }
        Some(Automaton { states })
    }
}

impl State {
    /// Adds an edge after the others.
    pub fn push(&mut self, low: u32, high: u32, to: usize) {
        match self.edges.last_mut() {
            Some(last) if last.to == to && last.high + 1 == low => last.high = high,
            _ => self.edges.push(Edge { low, high, to }),
        }
    }

    /// The target of a character.
    pub fn next(&self, c: char) -> Option<usize> {
        let c = u32::from(c);
        let at = self.edges.partition_point(|edge| edge.high < c);
        self.edges.get(at).filter(|edge| edge.low <= c).map(|edge| edge.to)
    }
}

impl Automaton {
    /// The target of a text from a state.
    pub fn after(&self, at: usize, text: &str) -> Option<usize> {
        text.chars().try_fold(at, |at, c| self.states.get(at)?.next(c))
    }

    /// No text at all.
    pub fn nothing() -> Self {
        Self { states: vec![State::default()] }
    }

    /// Any text.
    pub fn anything() -> Self {
        Self { states: vec![State { edges: vec![Edge { low: 0, high: LAST, to: 0 }], accepts: true }] }
    }

    /// The texts that a pattern matches as a whole; nothing if there are too many states.
    pub fn of(pattern: &Regular) -> Option<Self> {
        let mut loose = Loose::default();
        let start = loose.state();
        let end = loose.add(pattern, start)?;
        loose.states.get_mut(end)?.ends = true;
        Some(loose.determined(start, false)?.trimmed().minimized())
    }

    /// The texts in which no pattern matches anywhere; those of `first` not at the beginning.
    pub fn without(anywhere: &[Regular], first: &[Regular]) -> Option<Self> {
        let mut loose = Loose::default();
        let (start, around) = (loose.state(), loose.state());
        loose.free(start, around);
        loose.edge(around, 0, LAST, around);
        for (from, patterns) in [(around, anywhere), (start, first)] {
            for pattern in patterns {
                let end = loose.add(pattern, from)?;
                loose.states.get_mut(end)?.ends = true;
            }
        }
        Some(loose.determined(start, true)?.minimized())
    }

    /// One of several texts.
    pub fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut states = vec![State::default()];
        for text in texts {
            let mut at = 0;
            for c in text.chars() {
                let next = states.get(at).and_then(|state| state.next(c));
                at = match next {
                    Some(next) => next,
                    None => {
                        let number = states.len();
                        states.push(State::default());
                        if let Some(state) = states.get_mut(at) {
                            let c = u32::from(c);
                            let place = state.edges.partition_point(|edge| edge.high < c);
                            state.edges.insert(place, Edge { low: c, high: c, to: number });
                        }
                        number
                    }
                };
            }
            if let Some(state) = states.get_mut(at) {
                state.accepts = true;
            }
        }
        Self { states }.minimized()
    }

    /// The texts that it does not accept.
    pub fn complement(&self) -> Self {
        let sink = self.states.len();
        let mut states: Vec<State> = Vec::with_capacity(sink + 1);
        for state in &self.states {
            let mut own = State { edges: Vec::new(), accepts: !state.accepts };
            let mut at = 0;
            for edge in &state.edges {
                if edge.low > at {
                    own.push(at, edge.low - 1, sink);
                }
                own.push(edge.low, edge.high, edge.to);
                at = edge.high + 1;
            }
            if at <= LAST {
                own.push(at, LAST, sink);
            }
            states.push(own);
        }
        states.push(State { edges: vec![Edge { low: 0, high: LAST, to: sink }], accepts: true });
        Self { states }.trimmed().minimized()
    }

    /// The texts that both accept; nothing if there are too many states.
    pub fn both(&self, other: &Self) -> Option<Self> {
        let mut known: Map<(usize, usize), usize> = Map::default();
        let mut order = vec![(0, 0)];
        known.insert((0, 0), 0);
        let mut states = Vec::new();
        let mut at = 0;
        while let Some((a, b)) = order.get(at).copied() {
            let (a, b) = (self.states.get(a)?, other.states.get(b)?);
            let mut state = State { edges: Vec::new(), accepts: a.accepts && b.accepts };
            let (mut left, mut right) = (a.edges.iter().peekable(), b.edges.iter().peekable());
            while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
                let (low, high) = (x.low.max(y.low), x.high.min(y.high));
                if low <= high {
                    let number = order.len();
                    let to = *known.entry((x.to, y.to)).or_insert(number);
                    if to == number {
                        order.push((x.to, y.to));
                    }
                    state.push(low, high, to);
                }
                if x.high < y.high {
                    left.next();
                } else {
                    right.next();
                }
            }
            if order.len() > MOST_STATES {
                return None;
            }
            states.push(state);
            at += 1;
        }
        Some(Self { states }.trimmed().minimized())
    }

    /// Whether it accepts no text.
    pub fn is_empty(&self) -> bool {
        !self.states.iter().any(|state| state.accepts)
    }

    /// Without what leads nowhere.
    fn trimmed(self) -> Self {
        let mut useful: Vec<bool> = self.states.iter().map(|state| state.accepts).collect();
        // Edges lead mostly to later states, so that few rounds are needed.
        let mut grows = true;
        while grows {
            grows = false;
            for (at, state) in self.states.iter().enumerate().rev() {
                if !item(&useful, at) && state.edges.iter().any(|edge| item(&useful, edge.to)) {
                    put(&mut useful, at, true);
                    grows = true;
                }
            }
        }
        if useful.iter().all(|useful| *useful) {
            return self;
        }
        if useful.first() != Some(&true) {
            return Self::nothing();
        }
        let mut numbers = vec![0; useful.len()];
        let mut count = 0;
        for (number, useful) in numbers.iter_mut().zip(&useful) {
            *number = count;
            count += usize::from(*useful);
        }
        let states = self.states.into_iter().enumerate().filter(|(at, _)| item(&useful, *at)).map(|(_, mut state)| {
            state.edges.retain(|edge| item(&useful, edge.to));
            state.edges.iter_mut().for_each(|edge| edge.to = item(&numbers, edge.to));
            state
        });
        Self { states: states.collect() }
    }

    /// With as few states as it takes, numbered in the order in which they are reached.
    fn minimized(self) -> Self {
        let (class, count) = self.classes();
        let mut numbers: Vec<Option<usize>> = vec![None; count];
        let mut waiting = VecDeque::from([0]);
        let mut found = 1;
        put(&mut numbers, item(&class, 0), Some(0));
        let mut states = Vec::new();
        while let Some(state) = waiting.pop_front().and_then(|at: usize| self.states.get(at)) {
            let mut own = State { edges: Vec::new(), accepts: state.accepts };
            for edge in &state.edges {
                let Some(number) = numbers.get_mut(item(&class, edge.to)) else { continue };
                let to = *number.get_or_insert_with(|| {
                    waiting.push_back(edge.to);
                    found += 1;
                    found - 1
                });
                own.push(edge.low, edge.high, to);
            }
            states.push(own);
        }
        Self { states }
    }

    /// The class of each state, and how many classes there are: states of one class accept the same texts.
    fn classes(&self) -> (Vec<usize>, usize) {
        let first = self.states.first().is_some_and(|state| state.accepts);
        let mut class: Vec<usize> = self.states.iter().map(|state| usize::from(state.accepts != first)).collect();
        let mut count = 1 + usize::from(class.contains(&1));
        // The states whose class changed in the last round. Only what has an edge to one of them can change in the
        // next, and what has none is like the others of its class that have none.
        let mut changed = vec![true; class.len()];
        // What tells the states of a round apart: their classes, and edges to classes, which lie one after another.
        let (mut kinds, mut edges): (Vec<(usize, Range<usize>)>, Vec<Edge>) = (Vec::new(), Vec::new());
        let mut known: HashTable<(u64, usize, usize)> = HashTable::new();
        let hasher = foldhash::fast::FixedState::default();
        let mut is_first = true;
        while count < class.len() {
            let is_open = |state: &State| is_first || state.edges.iter().any(|edge| item(&changed, edge.to));
            let open: Vec<bool> = self.states.iter().map(is_open).collect();
            let mut splits = vec![false; count];
            for (class, _) in class.iter().zip(&open).filter(|(_, open)| **open) {
                put(&mut splits, *class, true);
            }
            kinds.clear();
            edges.clear();
            known.clear();
            let mut next = class.clone();
            let mut is_kept = vec![false; count];
            // Of the states of a class that cannot change, the first is enough; it comes before those that can.
            for wanted in [false, true] {
                for (at, state) in self.states.iter().enumerate().filter(|(at, _)| item(&open, *at) == wanted) {
                    let old = item(&class, at);
                    if !wanted && (!item(&splits, old) || item(&is_kept, old)) {
                        continue;
                    }
                    let start = edges.len();
                    for edge in &state.edges {
                        let to = item(&class, edge.to);
                        let own = edges.get_mut(start..).and_then(<[Edge]>::last_mut);
                        match own.filter(|last| last.to == to && last.high + 1 == edge.low) {
                            Some(last) => last.high = edge.high,
                            None => edges.push(Edge { to, ..*edge }),
                        }
                    }
                    let (others, own) = edges.split_at(start);
                    let hash = hasher.hash_one((old, own));
                    let is_same = |(_, kind, _): &(u64, usize, usize)| {
                        kinds
                            .get(*kind)
                            .is_some_and(|(class, place)| *class == old && others.get(place.clone()) == Some(own))
                    };
                    let number = match known.find(hash, is_same) {
                        Some((_, _, number)) => {
                            edges.truncate(start);
                            *number
                        }
                        None => {
                            let number = if item(&is_kept, old) { count } else { old };
                            count += usize::from(number == count);
                            put(&mut is_kept, old, true);
                            known.insert_unique(hash, (hash, kinds.len(), number), |(hash, ..)| *hash);
                            kinds.push((old, start..edges.len()));
                            number
                        }
                    };
                    put(&mut next, at, number);
                }
            }
            changed = class.iter().zip(&next).map(|(old, new)| old != new).collect();
            class = next;
            is_first = false;
            if !changed.contains(&true) {
                break;
            }
        }
        (class, count)
    }

    /// The texts of JSON or Python strings: each character literal or escaped, or by its number if any character is
    /// allowed.
    pub fn spelled(&self, plain: &dyn Fn(u32, u32) -> Vec<(u32, u32)>, escapes: &[(char, &str)]) -> Option<Self> {
        self.written(plain, escapes, true)
    }

    /// Each character replaced by the way to write it.
    pub fn respelled(&self, plain: &dyn Fn(u32, u32) -> Vec<(u32, u32)>, escapes: &[(char, &str)]) -> Option<Self> {
        self.written(plain, escapes, false)
    }

    fn written(
        &self,
        plain: &dyn Fn(u32, u32) -> Vec<(u32, u32)>,
        escapes: &[(char, &str)],
        numbers: bool,
    ) -> Option<Self> {
        let mut loose = Loose::default();
        for _ in &self.states {
            loose.state();
        }
        for (at, state) in self.states.iter().enumerate() {
            loose.states.get_mut(at)?.ends = state.accepts;
            for edge in &state.edges {
                for (low, high) in plain(edge.low, edge.high) {
                    loose.edge(at, low, high, edge.to);
                }
                let held = escapes.iter().filter(|(c, _)| edge.low <= u32::from(*c) && u32::from(*c) <= edge.high);
                for (_, text) in held {
                    loose.spell(at, text, edge.to);
                }
                // Any character may be written by its number if every character is allowed.
                if edge.low == 0 && edge.high == LAST && numbers {
                    loose.numbered(at, edge.to);
                }
            }
            if loose.states.len() > 8 * MOST_STATES {
                return None;
            }
        }
        Some(loose.determined(0, false)?.trimmed().minimized())
    }
}

/// The item of a list that is as long as the automaton it is about.
fn item<T: Copy + Default>(list: &[T], at: usize) -> T {
    debug_assert!(at < list.len(), "an automaton of {} states has no state {at}", list.len());
    list.get(at).copied().unwrap_or_default()
}

fn put<T>(list: &mut [T], at: usize, value: T) {
    debug_assert!(at < list.len(), "an automaton of {} states has no state {at}", list.len());
    if let Some(item) = list.get_mut(at) {
        *item = value;
    }
}

impl Loose {
    /// One exact text from a state to another.
    fn spell(&mut self, from: usize, text: &str, to: usize) {
        let mut at = from;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let next = if rest.peek().is_none() { to } else { self.state() };
            self.edge(at, u32::from(c), u32::from(c), next);
            at = next;
        }
    }

    /// `\u` and four hexadecimal digits; a pair of halves counts as one character.
    fn numbered(&mut self, from: usize, to: usize) {
        const HEX: [(char, char); 3] = [('0', '9'), ('A', 'F'), ('a', 'f')];
        let digits = |loose: &mut Self, mut at: usize, count: usize, to: usize| {
            for left in (0..count).rev() {
                let next = if left == 0 { to } else { loose.state() };
                HEX.iter().for_each(|(low, high)| loose.edge(at, u32::from(*low), u32::from(*high), next));
                at = next;
            }
        };
        let mark = |loose: &mut Self, from: usize| {
            let (slash, u) = (loose.state(), loose.state());
            loose.edge(from, u32::from('\\'), u32::from('\\'), slash);
            loose.edge(slash, u32::from('u'), u32::from('u'), u);
            u
        };
        let ranges = |loose: &mut Self, from: usize, ranges: &[(char, char)], to: usize| {
            ranges.iter().for_each(|(low, high)| loose.edge(from, u32::from(*low), u32::from(*high), to));
        };
        let u = mark(self, from);
        let plain = self.state();
        ranges(self, u, &[('0', '9'), ('A', 'C'), ('E', 'F'), ('a', 'c'), ('e', 'f')], plain);
        digits(self, plain, 3, to);
        let d = self.state();
        ranges(self, u, &[('D', 'D'), ('d', 'd')], d);
        let low = self.state();
        ranges(self, d, &[('0', '7')], low);
        digits(self, low, 2, to);
        let (half, rest) = (self.state(), self.state());
        ranges(self, d, &[('8', '9'), ('A', 'B'), ('a', 'b')], half);
        digits(self, half, 2, rest);
        let u = mark(self, rest);
        let d = self.state();
        ranges(self, u, &[('D', 'D'), ('d', 'd')], d);
        let last = self.state();
        ranges(self, d, &[('C', 'F'), ('c', 'f')], last);
        digits(self, last, 2, to);
    }
}

/// The ranges of one that none of the others, given in order, touches.
pub(crate) fn except(low: u32, high: u32, others: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    let mut at = low;
    for (a, b) in others {
        if *b < at || *a > high {
            continue;
        }
        if *a > at {
            ranges.push((at, a - 1));
        }
        at = b + 1;
    }
    if at <= high {
        ranges.push((at, high));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An automaton over `a` to `d`; an edge to no state is left out.
    fn automaton(states: &[([usize; 4], bool)]) -> Automaton {
        let state = |(targets, accepts): &([usize; 4], bool)| {
            let mut own = State { edges: Vec::new(), accepts: *accepts };
            for (c, to) in ('a'..='d').zip(targets).filter(|(_, to)| **to < states.len()) {
                own.push(u32::from(c), u32::from(c), *to);
            }
            own
        };
        Automaton { states: states.iter().map(state).collect() }
    }

    /// Every text over `a` to `d` of up to that many characters.
    fn texts(most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = 0;
        for _ in 0..most {
            let longer: Vec<String> =
                all[last..].iter().flat_map(|text| ('a'..='d').map(move |c| format!("{text}{c}"))).collect();
            last = all.len();
            all.extend(longer);
        }
        all
    }

    proptest! {
        #[test]
        fn fewer_states_accept_the_same_texts_and_no_two_of_them_alike(
            states in prop::collection::vec((prop::array::uniform4(0_usize..7), any::<bool>()), 1..6),
        ) {
            let whole = automaton(&states);
            let small = whole.clone().trimmed().minimized();
            prop_assert!(small.states.len() <= whole.states.len());
            // Two of five states, or one and the end, differ in a text of up to five characters or never.
            let texts = texts(5);
            for text in &texts {
                prop_assert_eq!(whole.accepts(text), small.accepts(text), "{:?}", text);
            }
            let accepted = |at: usize| -> Vec<bool> {
                let ends = |text: &String| small.after(at, text).is_some_and(|end| small.states[end].accepts);
                texts.iter().map(ends).collect()
            };
            let all: Vec<Vec<bool>> = (0..small.states.len()).map(accepted).collect();
            for (at, own) in all.iter().enumerate() {
                prop_assert!(!all[..at].contains(own), "{:?}", small);
            }
        }
    }
}
