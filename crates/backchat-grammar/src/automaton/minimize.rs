//! Minimization: removes dead states, and merges states that accept the same texts.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::HashTable;

use super::{Automaton, Edge, State};

impl Automaton {
    /// The minimal automaton that accepts the same texts.
    pub fn minimize(&self) -> Self {
        self.without_dead_states().as_ref().unwrap_or(self).minimize_trimmed()
    }

    /// Without its dead states, which reach no end; `None` if it has none.
    fn without_dead_states(&self) -> Option<Self> {
        let mut useful: Vec<bool> = self.states().map(|state| state.accepts).collect();
        // Most edges lead to later states, so few rounds are needed.
        let mut grows = true;
        while grows {
            grows = false;
            for at in (0..self.len()).rev() {
                let leads = |state: State<'_>| state.edges.iter().any(|edge| item(&useful, edge.to));
                if !item(&useful, at) && self.state(at).is_some_and(leads) {
                    put(&mut useful, at, true);
                    grows = true;
                }
            }
        }
        if useful.iter().all(|useful| *useful) {
            return None;
        }
        if useful.first() != Some(&true) {
            return Some(Self::nothing());
        }
        let mut numbers = vec![0; useful.len()];
        let mut count = 0;
        for (number, useful) in numbers.iter_mut().zip(&useful) {
            *number = count;
            count += usize::from(*useful);
        }
        let mut made = Self::default();
        for (state, _) in self.states().zip(&useful).filter(|(_, useful)| **useful) {
            for edge in state.edges.iter().filter(|edge| item(&useful, edge.to)) {
                made.edge(edge.low, edge.high, item(&numbers, edge.to));
            }
            made.end_state(state.accepts);
        }
        Some(made)
    }

    /// Merges equivalent states of an automaton without dead ones, and numbers them in the order in which they are
    /// reached.
    pub fn minimize_trimmed(&self) -> Self {
        let classes = self.classes();
        let class = &classes.of;
        let mut numbers: Vec<Option<usize>> = vec![None; classes.sizes.len()];
        let mut waiting = VecDeque::from([0]);
        let mut found = 1;
        put(&mut numbers, item(class, 0), Some(0));
        let mut made = Self::with_room(classes.sizes.len(), self.edges.len());
        while let Some(state) = waiting.pop_front().and_then(|at: usize| self.state(at)) {
            for edge in state.edges {
                let Some(number) = numbers.get_mut(item(class, edge.to)) else { continue };
                let to = *number.get_or_insert_with(|| {
                    waiting.push_back(edge.to);
                    found += 1;
                    found - 1
                });
                made.edge(edge.low, edge.high, to);
            }
            made.end_state(state.accepts);
        }
        made
    }

    /// The class of each state: states of one class accept the same texts.
    fn classes(&self) -> Classes {
        let first = self.ends_in(0);
        let mut classes = Classes::new(self.states().map(|state| usize::from(state.accepts != first)).collect());
        let before = Predecessors::new(self);
        // The states that may leave their class, because one of their edges leads to a state that did. The others of
        // the class are still equivalent.
        let mut open: Vec<usize> = (0..self.len()).collect();
        let mut is_open = vec![false; self.len()];
        let mut kinds = Kinds::with_room(self);
        let mut moved: Vec<(usize, usize)> = Vec::new();
        while !open.is_empty() && classes.sizes.len() < self.len() {
            let mut staying = classes.sizes.clone();
            for at in &open {
                change(&mut staying, item(&classes.of, *at), |staying| *staying -= 1);
            }
            kinds.clear();
            for at in open.drain(..) {
                put(&mut is_open, at, false);
                let Some(state) = self.state(at) else { continue };
                let old = item(&classes.of, at);
                let number = kinds.number(old, state, &classes.of, || {
                    // If none stays, the first kind keeps the number.
                    if item(&staying, old) == 0 {
                        put(&mut staying, old, 1);
                        return old;
                    }
                    classes.sizes.push(0);
                    classes.sizes.len() - 1
                });
                if number != old {
                    moved.push((at, number));
                }
            }
            for (at, number) in moved.drain(..) {
                classes.put(at, number);
                for from in before.get(at) {
                    if !item(&is_open, *from) {
                        put(&mut is_open, *from, true);
                        open.push(*from);
                    }
                }
            }
            open.sort_unstable();
        }
        classes
    }
}

/// The class of each state, and the size of each class.
struct Classes {
    of: Vec<usize>,
    sizes: Vec<usize>,
}

impl Classes {
    fn new(of: Vec<usize>) -> Self {
        let mut sizes = vec![0; of.iter().max().map_or(0, |last| last + 1)];
        of.iter().for_each(|own| change(&mut sizes, *own, |size| *size += 1));
        Self { of, sizes }
    }

    fn put(&mut self, at: usize, number: usize) {
        change(&mut self.sizes, item(&self.of, at), |size| *size -= 1);
        change(&mut self.sizes, number, |size| *size += 1);
        put(&mut self.of, at, number);
    }
}

/// What distinguishes the states of a round: their classes, and the classes that their edges lead to.
struct Kinds {
    /// The class of each kind, and the place of its edges, which lie one after another.
    kinds: Vec<(usize, Range<usize>)>,
    edges: Vec<Edge>,
    /// Kinds by their hashes, with their numbers.
    known: HashTable<(u64, usize, usize)>,
}

impl Kinds {
    /// With room for all states and edges of an automaton, which the first round visits.
    fn with_room(automaton: &Automaton) -> Self {
        let states = automaton.len();
        Self {
            kinds: Vec::with_capacity(states),
            edges: Vec::with_capacity(automaton.edges.len()),
            known: HashTable::with_capacity(states),
        }
    }

    fn clear(&mut self) {
        self.kinds.clear();
        self.edges.clear();
        self.known.clear();
    }

    /// The number of a state's kind; an unknown kind gets a new one.
    fn number(&mut self, old: usize, state: State<'_>, class: &[usize], new: impl FnOnce() -> usize) -> usize {
        let start = self.edges.len();
        for edge in state.edges {
            let to = item(class, edge.to);
            let own = self.edges.get_mut(start..).and_then(<[Edge]>::last_mut);
            match own.filter(|last| last.to == to && last.high + 1 == edge.low) {
                Some(last) => last.high = edge.high,
                None => self.edges.push(Edge { to, ..*edge }),
            }
        }
        let (others, own) = self.edges.split_at(start);
        let hash = foldhash::fast::FixedState::default().hash_one((old, own));
        let is_same = |(_, kind, _): &(u64, usize, usize)| {
            let kind = self.kinds.get(*kind);
            kind.is_some_and(|(class, place)| *class == old && others.get(place.clone()) == Some(own))
        };
        if let Some((_, _, number)) = self.known.find(hash, is_same) {
            self.edges.truncate(start);
            return *number;
        }
        let number = new();
        self.known.insert_unique(hash, (hash, self.kinds.len(), number), |(hash, ..)| *hash);
        self.kinds.push((old, start..self.edges.len()));
        number
    }
}

/// For each state, the states with an edge to it.
struct Predecessors {
    states: Vec<usize>,
    /// The end of each state's list.
    ends: Vec<usize>,
}

impl Predecessors {
    fn new(automaton: &Automaton) -> Self {
        let mut ends = vec![0; automaton.len() + 1];
        for edge in &automaton.edges {
            change(&mut ends, edge.to + 1, |count| *count += 1);
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        let mut states = vec![0; total];
        // Each end is where the next list begins, until that is filled.
        for (from, state) in automaton.states().enumerate() {
            for edge in state.edges {
                let place = item(&ends, edge.to);
                put(&mut states, place, from);
                put(&mut ends, edge.to, place + 1);
            }
        }
        Self { states, ends }
    }

    fn get(&self, at: usize) -> &[usize] {
        let start = at.checked_sub(1).map_or(0, |before| item(&self.ends, before));
        self.states.get(start..item(&self.ends, at)).unwrap_or(&[])
    }
}

/// The item of a list that is as long as the automaton it is about.
fn item<T: Copy + Default>(list: &[T], at: usize) -> T {
    debug_assert!(at < list.len(), "an automaton of {} states has no state {at}", list.len());
    list.get(at).copied().unwrap_or_default()
}

fn change<T>(list: &mut [T], at: usize, change: impl FnOnce(&mut T)) {
    debug_assert!(at < list.len(), "an automaton of {} states has no state {at}", list.len());
    if let Some(item) = list.get_mut(at) {
        change(item);
    }
}

fn put<T>(list: &mut [T], at: usize, value: T) {
    change(list, at, |item| *item = value);
}
