//! The recognizer: decides character by character which texts the rules allow, by following all alternatives in
//! parallel.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};

use super::{Node, Rules};
use backchat_core::text::{common_start, slice};

/// A position in the rules: the next node, and the rest after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum StackItem<'r> {
    Node(&'r Node),
    /// A literal from one of its bytes on.
    Literal(&'r str, usize),
    Text(usize, usize),
    Repeat(&'r Node, u32, Option<u32>),
}

/// A stack: its top item, and the cell below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell<'r> {
    item: StackItem<'r>,
    below: Option<usize>,
}

type Fast = foldhash::fast::RandomState;

/// The key under which two cells are the same.
type Key = (usize, u8, usize, u64, Option<usize>);

/// Follows a text through the rules.
#[derive(Clone, Debug)]
pub(crate) struct Machine<'r> {
    rules: &'r Rules,
    cells: Vec<Cell<'r>>,
    known: HashMap<Key, usize, Fast>,
    /// The stacks whose top takes a character next.
    tops: Vec<usize>,
    may_end: bool,
}

impl<'r> Machine<'r> {
    pub fn new(rules: &'r Rules, start: &'r Node) -> Self {
        let mut machine =
            Self { rules, cells: Vec::new(), known: HashMap::default(), tops: Vec::new(), may_end: false };
        let cell = machine.cell(StackItem::Node(start), None);
        machine.expand(vec![Some(cell)]);
        machine
    }

    /// Whether the text may end here.
    pub fn may_end(&self) -> bool {
        self.may_end
    }

    /// Whether any text may follow, the empty one included.
    pub fn is_alive(&self) -> bool {
        self.may_end || !self.tops.is_empty()
    }

    /// Consumes a text; false if the rules do not allow it.
    pub fn feed_text(&mut self, text: &str) -> bool {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = match self.only_literal() {
                Some((literal, at, below)) => {
                    let own = slice(literal, at..);
                    let length = common_start(own, rest).len();
                    if length == 0 {
                        return false;
                    }
                    let is_over = length == own.len();
                    let next =
                        if is_over { below } else { Some(self.cell(StackItem::Literal(literal, at + length), below)) };
                    self.expand(vec![next]);
                    length
                }
                None if self.feed(c) => c.len_utf8(),
                None => return false,
            };
            rest = slice(rest, length..);
        }
        self.is_alive()
    }

    /// If only a literal may come next: the literal, the offset in it, and the cell below it.
    fn only_literal(&self) -> Option<(&'r str, usize, Option<usize>)> {
        let [top] = self.tops.as_slice() else { return None };
        match self.cells.get(*top)? {
            Cell { item: StackItem::Literal(text, at), below } => Some((text, *at, *below)),
            _ => None,
        }
    }

    /// Consumes a character; false if the rules do not allow it. The expected texts remain available.
    pub fn feed(&mut self, c: char) -> bool {
        let mut next = Vec::new();
        for at in 0..self.tops.len() {
            let top = self.tops.get(at).and_then(|top| self.cells.get(*top));
            let Some(Cell { item, below }) = top.copied() else { continue };
            match item {
                StackItem::Literal(text, at) => {
                    if text.get(at..).is_some_and(|rest| rest.starts_with(c)) {
                        let at = at + c.len_utf8();
                        next.push(match at == text.len() {
                            true => below,
                            false => Some(self.cell(StackItem::Literal(text, at), below)),
                        });
                    }
                }
                StackItem::Text(text, state) => {
                    let to = self.rules.automaton(text).and_then(|text| text.state(state)?.next(c));
                    if let Some(to) = to {
                        next.push(Some(self.cell(StackItem::Text(text, to), below)));
                    }
                }
                StackItem::Node(_) | StackItem::Repeat(..) => {}
            }
        }
        if next.is_empty() {
            return false;
        }
        self.expand(next);
        self.is_alive()
    }

    /// The texts that may come next, for messages.
    pub fn expected(&self) -> Vec<String> {
        let mut words = BTreeSet::new();
        for top in &self.tops {
            let word = match self.cells.get(*top).map(|cell| cell.item) {
                Some(StackItem::Literal(text, at)) => format!("{:?}", slice(text, at..)),
                Some(StackItem::Text(text, _)) => self.rules.text_name(text).to_owned(),
                _ => continue,
            };
            words.insert(word);
        }
        words.into_iter().collect()
    }

    /// The possible rest, as a node of the same rules.
    pub fn rest(&self) -> Node {
        let mut ways = Vec::new();
        if self.may_end {
            ways.push(Node::empty());
        }
        for top in &self.tops {
            let mut items = Vec::new();
            let mut at = Some(*top);
            while let Some(Cell { item, below }) = at.and_then(|at| self.cells.get(at)) {
                items.push(match item {
                    StackItem::Node(node) => (*node).clone(),
                    StackItem::Literal(text, from) => Node::literal(slice(text, *from..)),
                    StackItem::Text(text, state) => Node::Text(*text, *state),
                    StackItem::Repeat(node, min, max) => (*node).clone().repeat(*min, *max),
                });
                at = *below;
            }
            ways.push(Node::sequence(items));
        }
        Node::choice(ways)
    }

    fn cell(&mut self, item: StackItem<'r>, below: Option<usize>) -> usize {
        let (kind, place, more) = match item {
            StackItem::Node(node) => (0, std::ptr::from_ref(node) as usize, 0),
            StackItem::Literal(text, at) => (1, text.as_ptr() as usize, at as u64),
            StackItem::Text(text, state) => (2, text, state as u64),
            StackItem::Repeat(node, min, max) => {
                let max = max.map_or(u64::from(u32::MAX), u64::from);
                (3, std::ptr::from_ref(node) as usize, u64::from(min) << 32 | max)
            }
        };
        let length = if let StackItem::Literal(text, _) = item { text.len() } else { 0 };
        let key = (place, kind, length, more, below);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.cells.push(Cell { item, below });
        self.known.insert(key, self.cells.len() - 1);
        self.cells.len() - 1
    }

    /// Expands items until the top of every stack takes a character.
    fn expand(&mut self, stacks: Vec<Option<usize>>) {
        self.may_end = false;
        self.tops.clear();
        let mut seen: HashSet<usize, Fast> = HashSet::default();
        let mut waiting = stacks;
        while let Some(stack) = waiting.pop() {
            match stack {
                None => self.may_end = true,
                Some(top) if seen.insert(top) => self.open(top, &mut waiting),
                Some(_) => {}
            }
        }
        self.tops.sort_unstable();
    }

    /// Expands the item on top of a stack: its first parts are queued, unless it takes a character itself.
    fn open(&mut self, top: usize, waiting: &mut Vec<Option<usize>>) {
        let Some(Cell { item, below }) = self.cells.get(top).copied() else { return };
        match item {
            StackItem::Literal(..) => self.tops.push(top),
            StackItem::Text(text, state) => {
                let state = self.rules.automaton(text).and_then(|text| text.state(state));
                if state.is_some_and(|state| state.accepts) {
                    waiting.push(below);
                }
                if state.is_some_and(|state| !state.edges.is_empty()) {
                    self.tops.push(top);
                }
            }
            StackItem::Repeat(node, min, max) => {
                if min == 0 {
                    waiting.push(below);
                }
                if max != Some(0) {
                    let rest = match (min, max) {
                        (0, None) => top,
                        (min, max) => {
                            let (min, max) = (min.saturating_sub(1), max.map(|max| max - 1));
                            self.cell(StackItem::Repeat(node, min, max), below)
                        }
                    };
                    waiting.push(Some(self.cell(StackItem::Node(node), Some(rest))));
                }
            }
            // A rule that is not filled in yet.
            StackItem::Node(node @ Node::Rule(number)) if self.rules.node(*number) == Some(node) => {
                self.tops.push(top);
            }
            StackItem::Node(node) => self.open_node(node, below, waiting),
        }
    }

    /// Expands a node above the rest of a stack.
    fn open_node(&mut self, node: &'r Node, below: Option<usize>, waiting: &mut Vec<Option<usize>>) {
        let next = match node {
            Node::Literal(text) if text.is_empty() => return waiting.push(below),
            Node::Sequence(items) => {
                let stack = items.iter().rev().fold(below, |stack, item| Some(self.cell(StackItem::Node(item), stack)));
                return waiting.push(stack);
            }
            Node::Choice(items) => {
                return waiting.extend(items.iter().map(|item| Some(self.cell(StackItem::Node(item), below))));
            }
            Node::Literal(text) => StackItem::Literal(text, 0),
            Node::Repeat(node, min, max) => StackItem::Repeat(node, *min, *max),
            Node::Text(text, state) => StackItem::Text(*text, *state),
            Node::Rule(number) => match self.rules.node(*number) {
                Some(node) => StackItem::Node(node),
                None => return,
            },
        };
        waiting.push(Some(self.cell(next, below)));
    }
}
