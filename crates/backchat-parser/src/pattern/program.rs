//! A pattern as instructions for the [machine](super::machine).

use super::bytes::Bytes;
use super::class::Class;
use super::tree::{Assertion, Greed};

#[derive(Clone, Debug)]
pub(super) enum Inst {
    Literal(Box<str>),
    LiteralBehind(Box<str>),
    Class(Class),
    ClassBehind(Class),
    Run(Run),
    /// Continues at `first`, and at `second` if that fails. In a loop failures are always recorded, elsewhere once
    /// attempts become long.
    Split {
        first: usize,
        second: usize,
        memo: Option<usize>,
        in_loop: bool,
    },
    Jump(usize),
    /// Saves the position in a slot: two slots per group, its start and its end.
    Save(usize),
    Assert(Assertion),
    /// A look whose inside follows, up to `LookEnd`: the continuation if that matches, and if it does not; `None` is a
    /// failure. `span` numbers the positions at which its inside is known to match; `next` has the bytes with which the
    /// inside must start, if known.
    Look {
        matched: Option<usize>,
        failed: Option<usize>,
        span: Option<usize>,
        next: Option<Bytes>,
    },
    LookEnd,
    /// A group whose inside follows, up to `AtomicEnd`.
    Atomic,
    AtomicEnd,
    Backref {
        group: usize,
        fold: bool,
        behind: bool,
    },
    IfGroup {
        group: usize,
        no: usize,
    },
    /// Characters compared by full case folding.
    Folded {
        text: Vec<char>,
        behind: bool,
    },
    /// The match begins here.
    Keep,
    /// Calls a group and returns to the next instruction.
    Call {
        group: usize,
    },
    /// The end of a group: back, if it was called.
    Return {
        group: usize,
    },
    /// Puts the position into a register, without undoing it on backtracking.
    Mark(usize),
    /// Puts the position into a register.
    Note(usize),
    Zero(usize),
    Add(usize),
    /// Begins another iteration of a counted group, which follows, or leaves it.
    Count {
        counter: usize,
        min: usize,
        max: usize,
        lazy: bool,
        exit: usize,
    },
    /// Leaves the loop if an iteration consumed nothing.
    LeaveIfEmpty {
        noted: usize,
        counter: Option<(usize, usize)>,
        exit: usize,
    },
    Match,
}

/// A run of up to this many characters is faster to rescan than to record.
pub(super) const SHORT_RUN: u32 = 16;

/// A repeat of one character set.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub class: Class,
    /// Whether every character is in the set.
    pub any: bool,
    pub min: u32,
    pub max: u32,
    pub greed: Greed,
    pub behind: bool,
    /// The number under which positions are recorded at which the rest fails.
    pub memo: Option<usize>,
    /// The number under which the extent of the run is recorded; the next one is for its minimum.
    pub extent: Option<usize>,
    /// The number under which failures of a bounded run are noted, place by place.
    pub entry: Option<usize>,
    /// The bytes with which the rest must start, if known.
    pub next: Option<Bytes>,
    /// The literal that follows a lazy run without a limit.
    pub tail: Option<Box<str>>,
}

impl Run {
    pub fn is_unbounded(&self) -> bool {
        self.max == u32::MAX
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub insts: Vec<Inst>,
    /// How many cells an attempt has: the slots of the groups, and the registers after them.
    pub cells: usize,
    pub slots: usize,
    /// How many splits and bounded runs remember the positions at which they fail.
    pub splits: usize,
    /// How many runs do.
    pub runs: usize,
    /// How many numbers there are for how far runs go.
    pub extents: usize,
    /// Whether a failure at a place depends on where the search began.
    pub depends_on_search_start: bool,
    /// Whether a match may depend on the end of the text.
    pub asks_for_end: bool,
    /// The starts of the groups that can be called.
    pub entries: Vec<usize>,
}

impl Program {
    /// Notes the successor of each run, and the beginning of each look.
    pub fn note_next_bytes(&mut self) {
        let nexts: Vec<_> =
            (0..self.insts.len()).map(|at| (self.next_bytes(at + 1, 8), self.literal_at(at + 1))).collect();
        for (inst, (next, literal)) in self.insts.iter_mut().zip(nexts) {
            match inst {
                Inst::Run(run) => {
                    run.next = next.filter(|_| !run.behind);
                    run.tail = literal.filter(|_| !run.behind && run.greed == Greed::Lazy && run.is_unbounded());
                }
                Inst::Look { next: inside, .. } => *inside = next,
                _ => {}
            }
        }
    }

    fn literal_at(&self, at: usize) -> Option<Box<str>> {
        match self.insts.get(at)? {
            Inst::Literal(text) => Some(text.clone()),
            Inst::Save(_) => self.literal_at(at + 1),
            _ => None,
        }
    }

    /// The bytes with which everything begins that can match from an instruction on and is not at the end of the text.
    fn next_bytes(&self, at: usize, depth: usize) -> Option<Bytes> {
        let depth = depth.checked_sub(1)?;
        match self.insts.get(at)? {
            Inst::Literal(text) => text.bytes().next().map(Bytes::one),
            Inst::Assert(Assertion::End) => Some(Bytes::default()),
            Inst::Assert(Assertion::EndOrFinalNewline) => Some(Bytes::one(b'\n')),
            Inst::Jump(to) => self.next_bytes(*to, depth),
            Inst::Save(_) | Inst::Mark(_) => self.next_bytes(at + 1, depth),
            Inst::Split { first, second, .. } => self.next_bytes(*first, depth)?.or(self.next_bytes(*second, depth)?),
            _ => None,
        }
    }
}
