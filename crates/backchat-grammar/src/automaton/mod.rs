//! Regular text as deterministic automata over code points, so that constraints on the same text are an intersection.

pub(crate) mod char_class;
pub(crate) mod format;
mod minimize;
mod nfa;
pub(crate) mod number;
pub(crate) mod regex;

use hashbrown::HashMap;

use backchat_core::text::slice;
use backchat_parser::pattern::Regular;
use nfa::Nfa;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The last code point.
pub(crate) const LAST: u32 = 0x10_FFFF;

/// How many states an automaton may have; text that needs more is approximated.
pub(crate) const MOST_STATES: usize = 4000;

/// A deterministic automaton, which begins in its first state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Automaton {
    /// The edges of all states, in order of the states: so a state is two numbers, and a copy two allocations.
    edges: Vec<Edge>,
    /// The end of each state's edges, and whether the text may end there.
    ends: Vec<(usize, bool)>,
}

/// A place in the text: what may come next, and whether the text may end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<'a> {
    /// Disjoint and in order.
    pub edges: &'a [Edge],
    pub accepts: bool,
}

/// The target of the characters from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    pub low: u32,
    pub high: u32,
    pub to: usize,
}

impl State<'_> {
    /// The target of a character.
    pub fn next(&self, c: char) -> Option<usize> {
        let c = u32::from(c);
        let at = self.edges.partition_point(|edge| edge.high < c);
        self.edges.get(at).filter(|edge| edge.low <= c).map(|edge| edge.to)
    }
}

/// Reading.
impl Automaton {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn state(&self, at: usize) -> Option<State<'_>> {
        let (end, accepts) = *self.ends.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(end, _)| *end);
        Some(State { edges: self.edges.get(start..end)?, accepts })
    }

    /// The states in order.
    pub fn states(&self) -> impl Iterator<Item = State<'_>> {
        (0..self.len()).filter_map(|at| self.state(at))
    }

    /// The target of a text from a state.
    pub fn after(&self, at: usize, text: &str) -> Option<usize> {
        text.chars().try_fold(at, |at, c| self.state(at)?.next(c))
    }

    /// Whether a text may end in a state.
    pub fn ends_in(&self, at: usize) -> bool {
        self.state(at).is_some_and(|state| state.accepts)
    }

    /// Whether a text is accepted as a whole.
    pub fn accepts(&self, text: &str) -> bool {
        self.after(0, text).is_some_and(|end| self.ends_in(end))
    }

    /// Whether it accepts no text.
    pub fn is_empty(&self) -> bool {
        !self.ends.iter().any(|(_, accepts)| *accepts)
    }
}

/// Building, one state after the other.
impl Automaton {
    fn with_room(states: usize, edges: usize) -> Self {
        Self { edges: Vec::with_capacity(edges), ends: Vec::with_capacity(states) }
    }

    /// Adds an edge after the others of the current state.
    pub fn edge(&mut self, low: u32, high: u32, to: usize) {
        let start = self.ends.last().map_or(0, |(end, _)| *end);
        match self.edges.get_mut(start..).and_then(<[Edge]>::last_mut) {
            Some(last) if last.to == to && last.high + 1 == low => last.high = high,
            _ => self.edges.push(Edge { low, high, to }),
        }
    }

    /// Ends the current state.
    pub fn end_state(&mut self, accepts: bool) {
        self.ends.push((self.edges.len(), accepts));
    }

    /// No text at all.
    pub fn nothing() -> Self {
        Self { edges: Vec::new(), ends: vec![(0, false)] }
    }

    /// Any text.
    pub fn anything() -> Self {
        Self { edges: vec![Edge { low: 0, high: LAST, to: 0 }], ends: vec![(1, true)] }
    }

    /// The texts that a pattern matches as a whole; `None` if there are too many states.
    pub fn from_pattern(pattern: &Regular) -> Option<Self> {
        let mut nfa = Nfa::default();
        let start = nfa.state();
        let end = nfa.add(pattern, start)?;
        nfa.end_in(end);
        Some(nfa.determinize(start)?.minimize())
    }

    /// The texts in which no pattern matches anywhere; those of `first` not at the beginning.
    pub fn without(anywhere: &[&Regular], first: &[&Regular]) -> Option<Self> {
        let mut nfa = Nfa::default();
        let (start, around) = (nfa.state(), nfa.state());
        nfa.epsilon(start, around);
        nfa.edge(around, 0, LAST, around);
        for (from, patterns) in [(around, anywhere), (start, first)] {
            for pattern in patterns {
                nfa.add_end(pattern, from)?;
            }
        }
        Some(nfa.without_ends(start)?.minimize_trimmed())
    }

    /// One of several texts.
    pub fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut texts: Vec<&str> = texts.into_iter().collect();
        texts.sort_unstable();
        texts.dedup();
        // Texts with a common prefix are adjacent: the texts of each state, and the length of their prefix.
        let mut waiting = vec![(0..texts.len(), 0)];
        let mut made = Self::default();
        let mut next = 0;
        while let Some((own, length)) = waiting.get(next).cloned() {
            next += 1;
            let (mut accepts, mut last) = (false, None);
            for at in own {
                let rest = texts.get(at).map_or("", |text| slice(text, length..));
                let Some(c) = rest.chars().next() else {
                    accepts = true;
                    continue;
                };
                if last == Some(c)
                    && let Some((others, _)) = waiting.last_mut()
                {
                    others.end = at + 1;
                    continue;
                }
                last = Some(c);
                made.edge(u32::from(c), u32::from(c), waiting.len());
                waiting.push((at..at + 1, length + c.len_utf8()));
            }
            made.end_state(accepts);
        }
        made.minimize_trimmed()
    }
}

/// Combining.
impl Automaton {
    /// The texts that it does not accept.
    pub fn complement(&self) -> Self {
        let sink = self.len();
        let mut made = Self::default();
        for state in self.states() {
            let mut at = 0;
            for edge in state.edges {
                if edge.low > at {
                    made.edge(at, edge.low - 1, sink);
                }
                made.edge(edge.low, edge.high, edge.to);
                at = edge.high + 1;
            }
            if at <= LAST {
                made.edge(at, LAST, sink);
            }
            made.end_state(!state.accepts);
        }
        made.edge(0, LAST, sink);
        made.end_state(true);
        made.minimize()
    }

    /// The texts that both accept; `None` if there are too many states.
    pub fn both(&self, other: &Self) -> Option<Self> {
        let mut known: Map<(usize, usize), usize> = Map::default();
        let mut order = vec![(0, 0)];
        known.insert((0, 0), 0);
        let mut made = Self::default();
        while let Some((a, b)) = order.get(made.len()).copied() {
            let (a, b) = (self.state(a)?, other.state(b)?);
            let (mut left, mut right) = (a.edges.iter().peekable(), b.edges.iter().peekable());
            while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
                let (low, high) = (x.low.max(y.low), x.high.min(y.high));
                if low <= high {
                    let number = order.len();
                    let to = *known.entry((x.to, y.to)).or_insert(number);
                    if to == number {
                        order.push((x.to, y.to));
                    }
                    made.edge(low, high, to);
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
            made.end_state(a.accepts && b.accepts);
        }
        Some(made.minimize())
    }

    /// The texts that one of both accepts; `None` if there are too many states.
    pub fn either(&self, other: &Self) -> Option<Self> {
        Some(self.complement().both(&other.complement())?.complement())
    }

    /// Replaces each character by its spellings: literal, escaped or, in ranges that `numbered` selects, as `\u` and its
    /// number.
    pub fn respelled(
        &self,
        plain: &dyn Fn(u32, u32) -> Vec<(u32, u32)>,
        escapes: &[(char, &str)],
        numbered: &dyn Fn(u32, u32) -> bool,
    ) -> Option<Self> {
        let mut nfa = Nfa::default();
        for _ in 0..self.len() {
            nfa.state();
        }
        for (at, state) in self.states().enumerate() {
            if state.accepts {
                nfa.end_in(at);
            }
            let mut digits = None;
            for edge in state.edges {
                for (low, high) in plain(edge.low, edge.high) {
                    nfa.edge(at, low, high, edge.to);
                }
                let held = escapes.iter().filter(|(c, _)| edge.low <= u32::from(*c) && u32::from(*c) <= edge.high);
                for (_, text) in held {
                    nfa.spell(at, text, edge.to);
                }
                if numbered(edge.low, edge.high) {
                    let digits = *digits.get_or_insert_with(|| nfa.number(at));
                    nfa.numbered(digits, edge.low, edge.high, edge.to);
                }
            }
            if nfa.is_too_large() {
                return None;
            }
        }
        Some(nfa.determinize(0)?.minimize())
    }
}

/// Set difference: the parts of `low..=high` that none of the sorted `others` covers.
pub(crate) fn difference(low: u32, high: u32, others: &[(u32, u32)]) -> Vec<(u32, u32)> {
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
        let mut made = Automaton::default();
        for (targets, accepts) in states {
            for (c, to) in ('a'..='d').zip(targets).filter(|(_, to)| **to < states.len()) {
                made.edge(u32::from(c), u32::from(c), *to);
            }
            made.end_state(*accepts);
        }
        made
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
        fn minimization_keeps_the_texts_and_distinguishes_all_states(
            states in prop::collection::vec((prop::array::uniform4(0_usize..7), any::<bool>()), 1..6),
        ) {
            let whole = automaton(&states);
            let small = whole.clone().minimize();
            prop_assert!(small.len() <= whole.len());
            // Two of five states, or one and the end, differ in a text of up to five characters or never.
            let texts = texts(5);
            for text in &texts {
                prop_assert_eq!(whole.accepts(text), small.accepts(text), "{:?}", text);
            }
            let accepted = |at: usize| -> Vec<bool> {
                let ends = |text: &String| small.after(at, text).is_some_and(|end| small.ends_in(end));
                texts.iter().map(ends).collect()
            };
            let all: Vec<Vec<bool>> = (0..small.len()).map(accepted).collect();
            for (at, own) in all.iter().enumerate() {
                prop_assert!(!all[..at].contains(own), "{:?}", small);
            }
        }
    }

    /// A pattern of one class of `a` to `d` after the other, each as the characters that it has.
    fn classes() -> impl Strategy<Value = Vec<Vec<char>>> {
        let class = prop::sample::subsequence(vec!['a', 'b', 'c', 'd'], 1..3);
        prop::collection::vec(class, 1..4)
    }

    fn pattern(classes: &[Vec<char>]) -> Regular {
        let class = |chars: &Vec<char>| Regular::Class(chars.iter().map(|c| (u32::from(*c), u32::from(*c))).collect());
        Regular::Concat(classes.iter().map(class).collect())
    }

    /// Whether a text begins with what the pattern matches.
    fn begins(text: &str, classes: &[Vec<char>]) -> bool {
        text.len() >= classes.len() && text.chars().zip(classes).all(|(c, class)| class.contains(&c))
    }

    proptest! {
        #[test]
        fn without_accepts_texts_in_which_no_pattern_matches(
            anywhere in prop::collection::vec(classes(), 0..4),
            first in prop::collection::vec(classes(), 0..2),
            alternated in any::<bool>(),
        ) {
            let mut patterns: Vec<Regular> = anywhere.iter().map(|classes| pattern(classes)).collect();
            if alternated {
                patterns = vec![Regular::Alternate(patterns)];
            }
            let at_start: Vec<Regular> = first.iter().map(|classes| pattern(classes)).collect();
            let made = Automaton::without(&patterns.iter().collect::<Vec<_>>(), &at_start.iter().collect::<Vec<_>>());
            let made = made.unwrap();
            for text in texts(5) {
                let held = (0..text.len()).any(|at| anywhere.iter().any(|classes| begins(&text[at..], classes)));
                let is_free = !held && !first.iter().any(|classes| begins(&text, classes));
                prop_assert_eq!(made.accepts(&text), is_free, "{:?}", text);
            }
        }

        #[test]
        fn one_of_accepts_its_texts_and_its_complement_all_others(
            chosen in prop::collection::vec("[a-d]{0,4}", 0..6),
        ) {
            let made = Automaton::one_of(chosen.iter().map(String::as_str));
            let others = made.complement();
            for text in texts(5) {
                prop_assert_eq!(made.accepts(&text), chosen.contains(&text), "{:?}", text);
                prop_assert_eq!(others.accepts(&text), !chosen.contains(&text), "{:?}", text);
            }
        }
    }

    #[test]
    fn a_range_has_the_numbers_of_its_characters() {
        let ranges = [
            (0, LAST),
            (0, 9),
            (0xB, LAST),
            (0x1B, 0x1B),
            (0x7F, 0xFF),
            (0xE9, 0x2027),
            (0xD7FF, 0xE000),
            (0xFFFF, 0x1_0000),
            (0x1_03FF, 0x1_0400),
            (0x1_F600, 0x1_F64F),
            (0x1_0401, LAST - 1),
        ];
        let near = |at: u32| [at.saturating_sub(1), at, at + 1];
        let probes: Vec<char> = ranges
            .iter()
            .flat_map(|(low, high)| [near(*low), near(*high)])
            .flatten()
            .filter_map(char::from_u32)
            .collect();
        for (low, high) in ranges {
            let mut made = Automaton::default();
            made.edge(low, high, 1);
            made.end_state(false);
            made.end_state(true);
            let made = made.respelled(&|_, _| Vec::new(), &[], &|_, _| true).unwrap();
            for c in &probes {
                let text: String = c.encode_utf16(&mut [0; 2]).iter().map(|half| format!("\\u{half:04x}")).collect();
                let is_inside = (low..=high).contains(&u32::from(*c));
                assert_eq!(made.accepts(&text), is_inside, "{low:x}-{high:x}: {text}");
                let upper = text.to_uppercase().replace("\\U", "\\u");
                assert_eq!(made.accepts(&upper), is_inside, "{low:x}-{high:x}: {upper}");
            }
            for half in [r"\ud800", r"\udfff", r"\udc00\ud800", r"\ud800\u0041", "\\u"] {
                assert!(!made.accepts(half), "{low:x}-{high:x}: {half}");
            }
        }
    }
}
