//! Turns a pattern that was read into instructions.

use super::program::{Inst, Program, Run, SHORT_RUN};
use super::read_regex::ParsedPattern;
use super::tree::{Assertion, Greed, Node};

/// Groups repeated a counted number of times are written out up to this many instructions, and counted beyond.
const MAX_WRITTEN_OUT: usize = 600;

/// From this many instructions on, no group is written out.
const MAX_INSTS: usize = 20_000;

/// A sequence that is one instruction, or a node of its own.
enum Piece<'n> {
    Literal(String),
    Folded(Vec<char>),
    Item(&'n Node),
}

impl Program {
    pub fn compile(parsed: &ParsedPattern) -> Self {
        let calls = parsed.node.any(&|node| matches!(node, Node::Call(_)));
        // Whether the rest of the pattern may depend on what a group captured, or on the position of `\K`, by which a
        // match is empty or not.
        let has_memory = |node: &Node| matches!(node, Node::Backref { .. } | Node::IfGroup { .. } | Node::Keep);
        let plain = !calls && !parsed.node.any(&has_memory);
        let groups = parsed.groups as usize;
        let program = Self { cells: groups * 2, slots: groups * 2, entries: vec![0; groups], ..Self::default() };
        let mut compiler = Compiler { program, plain, calls };
        compiler.node(&parsed.node, false);
        if calls {
            compiler.push(Inst::Return { group: 0 });
        }
        compiler.push(Inst::Match);
        let mut program = compiler.program;
        program.note_next_bytes();
        program
    }
}

struct Compiler {
    program: Program,
    /// Whether groups are called, and so need a return address.
    calls: bool,
    /// Whether a position that failed once always fails, regardless of the path to it.
    plain: bool,
}

impl Compiler {
    fn here(&self) -> usize {
        self.program.insts.len()
    }

    fn push(&mut self, inst: Inst) -> usize {
        self.program.insts.push(inst);
        self.here() - 1
    }

    fn register(&mut self) -> usize {
        self.program.cells += 1;
        self.program.cells - 1
    }

    fn split(&mut self) -> usize {
        self.push(Inst::Split { first: 0, second: 0, memo: None, in_loop: false })
    }

    /// Sets the two targets of a split, in the order in which they are tried.
    fn patch(&mut self, split: usize, to_first: usize, to_second: usize, is_loop: bool) {
        let number = self.memo();
        if let Some(Inst::Split { first, second, memo, in_loop }) = self.program.insts.get_mut(split) {
            (*first, *second, *memo, *in_loop) = (to_first, to_second, number, is_loop);
        }
    }

    /// A number under which failures are recorded, if they hold for every attempt.
    fn memo(&mut self) -> Option<usize> {
        self.plain.then(|| {
            self.program.splits += 1;
            self.program.splits - 1
        })
    }

    fn aim_jump(&mut self, jump: usize, target: usize) {
        match self.program.insts.get_mut(jump) {
            Some(Inst::Jump(to)) => *to = target,
            Some(Inst::IfGroup { no, .. }) => *no = target,
            Some(Inst::Count { exit, .. } | Inst::LeaveIfEmpty { exit, .. }) => *exit = target,
            _ => {}
        }
    }

    fn group(&mut self, index: usize, node: &Node, behind: bool) {
        let (start, end) = (index * 2, index * 2 + 1);
        if let Some(entry) = self.program.entries.get_mut(index) {
            *entry = self.program.insts.len();
        }
        self.push(Inst::Save(if behind { end } else { start }));
        self.node(node, behind);
        self.push(Inst::Save(if behind { start } else { end }));
        if self.calls {
            self.push(Inst::Return { group: index });
        }
    }

    /// An atomic repeat is a possessive one.
    fn atomic(&mut self, node: &Node, behind: bool) {
        if let Node::Repeat { node, min, max, greed: Greed::Greedy } = node {
            self.repeat(node, *min, *max, Greed::Possessive, behind);
            return;
        }
        self.push(Inst::Atomic);
        self.node(node, behind);
        self.push(Inst::AtomicEnd);
    }

    fn node(&mut self, node: &Node, behind: bool) {
        match node {
            Node::Empty => {}
            Node::Char(c) => self.literal(c.to_string(), behind),
            Node::Class(class) => {
                let class = class.clone();
                self.push(if behind { Inst::ClassBehind(class) } else { Inst::Class(class) });
            }
            Node::Assert(assertion) => {
                self.program.depends_on_search_start |= *assertion == Assertion::SearchStart;
                self.program.asks_for_end |=
                    matches!(assertion, Assertion::End | Assertion::EndOrFinalNewline | Assertion::LineEnd);
                self.push(Inst::Assert(*assertion));
            }
            Node::Group { index, node } => self.group(*index as usize, node, behind),
            Node::Folded(c) => self.folded(std::iter::once(*c), behind),
            Node::Keep => {
                self.push(Inst::Keep);
            }
            Node::Call(group) => {
                self.push(Inst::Call { group: *group as usize });
            }
            Node::Concat(items) => self.concat(items, behind),
            Node::Alternate(items) => self.alternate(items, behind),
            Node::Repeat { node, min, max, greed } => self.repeat(node, *min, *max, *greed, behind),
            Node::Look { node, behind, negate } => {
                let look = self.look(node, *behind);
                let next = Some(self.here());
                let (matched, failed) = if *negate { (None, next) } else { (next, None) };
                self.aim_look(look, matched, failed);
            }
            Node::Atomic(node) => self.atomic(node, behind),
            Node::Backref { group, fold } => {
                self.push(Inst::Backref { group: *group as usize, fold: *fold, behind });
            }
            Node::IfGroup { group, yes, no } => {
                let test = self.push(Inst::IfGroup { group: *group as usize, no: 0 });
                self.node(yes, behind);
                let end = self.push(Inst::Jump(0));
                self.aim_jump(test, self.here());
                self.node(no, behind);
                self.aim_jump(end, self.here());
            }
            Node::IfLook { look, behind: look_behind, yes, no } => {
                let test = self.look(look, *look_behind);
                let matched = self.here();
                self.node(yes, behind);
                let end = self.push(Inst::Jump(0));
                self.aim_look(test, Some(matched), Some(self.here()));
                self.node(no, behind);
                self.aim_jump(end, self.here());
            }
        }
    }

    /// Sets the continuation after a look that matches, and after one that does not.
    fn aim_look(&mut self, look: usize, to_matched: Option<usize>, to_failed: Option<usize>) {
        if let Some(Inst::Look { matched, failed, .. }) = self.program.insts.get_mut(look) {
            (*matched, *failed) = (to_matched, to_failed);
        }
    }

    fn literal(&mut self, text: String, behind: bool) {
        let text = text.into();
        self.push(if behind { Inst::LiteralBehind(text) } else { Inst::Literal(text) });
    }

    fn folded(&mut self, chars: impl Iterator<Item = char>, behind: bool) {
        let mut text: Vec<char> = chars.flat_map(super::class::full_fold).collect();
        if behind {
            text.reverse();
        }
        self.push(Inst::Folded { text, behind });
    }

    fn concat(&mut self, items: &[Node], behind: bool) {
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        for item in items {
            match (item, pieces.last_mut()) {
                (Node::Char(c), Some(Piece::Literal(text))) => text.push(*c),
                (Node::Char(c), _) => pieces.push(Piece::Literal(c.to_string())),
                (Node::Folded(c), Some(Piece::Folded(chars))) => chars.push(*c),
                (Node::Folded(c), _) => pieces.push(Piece::Folded(vec![*c])),
                (item, _) => pieces.push(Piece::Item(item)),
            }
        }
        if behind {
            pieces.reverse();
        }
        for piece in pieces {
            match piece {
                Piece::Literal(text) => self.literal(text, behind),
                Piece::Folded(chars) => self.folded(chars.into_iter(), behind),
                Piece::Item(item) => self.node(item, behind),
            }
        }
    }

    fn alternate(&mut self, items: &[Node], behind: bool) {
        let mut ends = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if index + 1 == items.len() {
                self.node(item, behind);
            } else {
                let split = self.split();
                self.node(item, behind);
                ends.push(self.push(Inst::Jump(0)));
                self.patch(split, split + 1, self.here(), false);
            }
        }
        for end in ends {
            self.aim_jump(end, self.here());
        }
    }

    /// A look, without its continuation.
    fn look(&mut self, node: &Node, behind: bool) -> usize {
        let span = self.plain && !behind && !node.any(&|node| matches!(node, Node::Group { .. }));
        let (run, rest) = match node {
            Node::Concat(items) => match items.split_first() {
                Some((run @ Node::Repeat { node, min: 0, max: None, greed }, rest))
                    if span && is_single(node) && *greed != Greed::Possessive =>
                {
                    (Some(run), rest)
                }
                _ => (None, [].as_slice()),
            },
            _ => (None, [].as_slice()),
        };
        let Some(run) = run else {
            let look = self.push(Inst::Look { matched: None, failed: None, span: None, next: None });
            self.node(node, behind);
            self.push(Inst::LookEnd);
            return look;
        };
        // The end of the run is remembered: had the look begun anywhere in the run, it would match as well.
        let mark = self.register();
        let look = self.push(Inst::Look { matched: None, failed: None, span: Some(mark), next: None });
        self.node(run, false);
        self.push(Inst::Mark(mark));
        self.concat(rest, false);
        self.push(Inst::LookEnd);
        look
    }

    fn repeat(&mut self, node: &Node, min: u32, max: Option<u32>, greed: Greed, behind: bool) {
        if max == Some(0) {
            return;
        }
        if let Some(class) = node.class() {
            let is_long = max.is_none_or(|max| max > SHORT_RUN);
            // A bounded possessive run is followed at one place only.
            let is_followed = max.is_none() || greed != Greed::Possessive;
            let memo = (self.plain && is_long && is_followed && !behind).then_some(self.program.runs);
            self.program.runs += usize::from(memo.is_some());
            let extent = (is_long && !behind).then_some(self.program.extents);
            self.program.extents += 2 * usize::from(extent.is_some());
            let entry = if max.is_some() && !behind { self.memo() } else { None };
            let any = class.is_any();
            let max = max.unwrap_or(u32::MAX);
            self.push(Inst::Run(Run {
                class,
                any,
                min,
                max,
                greed,
                behind,
                memo,
                extent,
                entry,
                next: None,
                tail: None,
            }));
            return;
        }
        if greed == Greed::Possessive {
            self.push(Inst::Atomic);
            self.repeat(node, min, max, Greed::Greedy, behind);
            self.push(Inst::AtomicEnd);
            return;
        }
        let copies = max.map_or(min as usize, |max| max as usize).max(1);
        if copies > 1 && (copies.saturating_mul(size(node)) > MAX_WRITTEN_OUT || self.here() > MAX_INSTS) {
            self.counted(node, min, max, greed, behind);
            return;
        }
        // All but the last of an open-ended repeat's own rounds come first: `X{2,}` is `X` and `X+`.
        let ahead = if max.is_none() { min.saturating_sub(1) } else { min };
        for _ in 0..ahead {
            self.node(node, behind);
        }
        match max {
            None => self.open_loop(node, min > 0, greed, behind),
            Some(max) => self.optional(node, max - min, greed, behind),
        }
    }

    /// `X?`, up to this many times: each only after the one before it.
    fn optional(&mut self, node: &Node, times: u32, greed: Greed, behind: bool) {
        let mut splits = Vec::new();
        for _ in 0..times {
            splits.push(self.split());
            self.node(node, behind);
        }
        let end = self.here();
        for split in splits {
            let (first, second) = if greed == Greed::Lazy { (end, split + 1) } else { (split + 1, end) };
            self.patch(split, first, second, false);
        }
    }

    /// `X*`, or `X+` if `at_least_once`.
    fn open_loop(&mut self, node: &Node, at_least_once: bool, greed: Greed, behind: bool) {
        let enter = at_least_once.then(|| self.push(Inst::Jump(0)));
        let split = self.split();
        let body = self.here();
        if let Some(enter) = enter {
            self.aim_jump(enter, body);
        }
        let plain = self.plain;
        self.plain &= !node.can_be_empty();
        let exit = self.round(node, split, None, behind);
        let (first, second) = if greed == Greed::Lazy { (exit, body) } else { (body, exit) };
        self.plain = plain;
        self.patch(split, first, second, true);
    }

    /// One round of a loop, which continues at an instruction, or leaves if the round took nothing and enough rounds
    /// were counted; returns the end of the loop.
    fn round(&mut self, node: &Node, again: usize, counter: Option<(usize, usize)>, behind: bool) -> usize {
        let noted = node.can_be_empty().then(|| self.register());
        if let Some(noted) = noted {
            self.push(Inst::Note(noted));
        }
        self.node(node, behind);
        let leave = noted.map(|noted| self.push(Inst::LeaveIfEmpty { noted, counter, exit: 0 }));
        self.push(Inst::Jump(again));
        if let Some(leave) = leave {
            self.aim_jump(leave, self.here());
        }
        self.here()
    }

    fn counted(&mut self, node: &Node, min: u32, max: Option<u32>, greed: Greed, behind: bool) {
        let plain = std::mem::replace(&mut self.plain, false);
        let counter = self.register();
        self.push(Inst::Zero(counter));
        let (min, max) = (min as usize, max.map_or(usize::MAX, |max| max as usize));
        let count = self.push(Inst::Count { counter, min, max, lazy: greed == Greed::Lazy, exit: 0 });
        self.push(Inst::Add(counter));
        let exit = self.round(node, count, Some((counter, min)), behind);
        self.aim_jump(count, exit);
        self.plain = plain;
    }
}

fn is_single(node: &Node) -> bool {
    matches!(node, Node::Char(_) | Node::Class(_))
}

/// The approximate number of instructions of a node.
fn size(node: &Node) -> usize {
    match node {
        Node::Group { node, .. } | Node::Atomic(node) | Node::Look { node, .. } => size(node) + 2,
        Node::Repeat { node, min, max, .. } if !is_single(node) => {
            let copies = max.map_or(*min, |max| max).max(1) as usize;
            let once = size(node);
            let written_out = copies.saturating_mul(once + 1);
            if written_out > MAX_WRITTEN_OUT { once + 6 } else { written_out + 4 }
        }
        Node::Concat(items) | Node::Alternate(items) => items.iter().map(|item| size(item) + 2).sum(),
        Node::IfGroup { yes, no, .. } => size(yes) + size(no) + 2,
        Node::IfLook { look, yes, no, .. } => size(look) + size(yes) + size(no) + 3,
        _ => 1,
    }
}
