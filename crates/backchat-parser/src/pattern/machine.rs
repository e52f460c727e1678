//! Runs a [program](super::program) at one place of a text that may still grow.
//!
//! It backtracks, as Python's `regex` does, so it finds the same match with the same groups. In addition, if it needs a
//! character that has not arrived, it suspends with its whole state and resumes when there is more text. So held text
//! is never rescanned, and a match is reported only if no continuation of the text could change it.
//!
//! A state that failed at a position fails there again in every attempt, unless the pattern refers back to its groups.
//! Runs and loops without end remember their failures ([`Facts`]); that keeps the work of most patterns linear in the
//! text. Others, with back-references, calls, counted groups, or groups and looks that are not entered again, may need
//! more. Every step is charged by what it costs, and every character that it walks over, so that such a search ends in
//! an error and soon.

use super::haystack::{Edge, Haystack};
use super::memo::{Facts, has_place, note_stretch};
use super::program::{Inst, Program};

/// The most states on the backtracking stack.
const MAX_FRAMES: usize = 6_000_000;

/// The most group calls in one attempt.
const MAX_CALLS: usize = 100_000;

/// The most saved group slots: each call keeps the groups from before it.
const MAX_CALLED_SLOTS: usize = 4_000_000;

/// The cost of a step, in units of work; a unit is about a nanosecond.
const STEP: u64 = 3;

/// The extra cost of a query or an entry in the memo of failures.
pub(super) const MEMO: usize = 6;

/// The extra cost of beginning a run, or of shrinking or extending it.
const RUN: usize = 10;

/// The extra cost of counting a round of a group, or of setting a register.
const COUNT: usize = 2;

/// The number of bytes that are compared or searched for a unit of work.
pub(super) const BYTES_PER_UNIT: usize = 16;

/// The extra cost of a call of a group, and of each slot that it keeps.
const CALL: usize = 60;

/// After this many steps in an attempt every failure is recorded.
const LONG: u64 = 2048;

const UNSET: usize = usize::MAX;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Match,
    Fail,
    /// It looked past the end.
    NeedsMore,
    /// It exceeded its work limit.
    Exhausted,
}

/// A choice point to backtrack to, or a change to undo when backtracking.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    /// Another alternative at a position.
    Other {
        pc: u32,
        at: usize,
    },
    /// A marker: when it is reached, everything from a split on has failed.
    Failed {
        split: u32,
        at: usize,
    },
    /// A greedy run can give characters back, down to `low`.
    Shrink {
        pc: u32,
        low: usize,
        at: usize,
        high: usize,
    },
    /// A lazy run can take more characters.
    Grow {
        pc: u32,
        low: usize,
        at: usize,
        count: u32,
    },
    Cell {
        cell: u32,
        old: usize,
    },
    Look {
        pc: u32,
        at: usize,
    },
    Atomic,
    Call {
        old: usize,
    },
    Kept {
        old: usize,
    },
}

/// A group that was called.
#[derive(Clone, Debug)]
struct Called {
    group: usize,
    /// The continuation after it.
    back: usize,
    /// The call it was called from.
    within: usize,
    slots: Vec<usize>,
}

/// One attempt and its state.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempt {
    pub(super) pc: usize,
    pub(super) at: usize,
    start: usize,
    pub(super) search_start: usize,
    /// How many steps it has taken.
    steps: u64,
    /// The extra cost of the last step.
    extra: u64,
    refused: Refused,
    /// Whether it is backtracking.
    pub(super) failing: bool,
    /// The current run: its start, and the number of its characters.
    pub(super) run: Option<(usize, u32)>,
    pub(super) stack: Vec<Frame>,
    /// Every call so far; `call` is one more than the number of the one it is in.
    calls: Vec<Called>,
    call: usize,
    /// The start of the match.
    kept: usize,
    /// The slots of the groups, and the registers after them.
    cells: Vec<usize>,
}

/// Which empty matches are rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Refused {
    /// All count.
    #[default]
    None,
    /// One that consumes nothing from the start of the attempt on.
    Here,
    /// Any, also one that `\K` makes empty.
    All,
}

impl Attempt {
    pub fn begin(&mut self, program: &Program, start: usize, search_start: usize, refused: Refused) {
        self.pc = 0;
        self.at = start;
        (self.start, self.kept) = (start, start);
        self.calls.clear();
        self.call = 0;
        self.search_start = search_start;
        self.refused = refused;
        self.failing = false;
        self.steps = 0;
        self.run = None;
        self.stack.clear();
        self.cells.clear();
        self.cells.resize(program.slots, UNSET);
        self.cells.resize(program.cells, 0);
        self.charge(program.cells / 4);
    }

    /// Clears pending charges, which a restart keeps.
    pub fn renew(&mut self) {
        self.extra = 0;
    }

    /// How much it has room for.
    pub fn size(&self) -> usize {
        self.stack.capacity() + self.calls.capacity() + self.cells.capacity()
    }

    pub fn start(&self) -> usize {
        self.start
    }

    /// The start of the match, which `\K` may have moved.
    pub fn kept(&self) -> usize {
        self.kept
    }

    pub fn end(&self) -> usize {
        self.at
    }

    /// Start and end of a group that took part.
    pub fn group(&self, index: usize) -> Option<(usize, usize)> {
        match (self.cells.get(index * 2), self.cells.get(index * 2 + 1)) {
            (Some(&start), Some(&end)) if start != UNSET && end != UNSET => Some((start, end)),
            _ => None,
        }
    }

    /// Runs until it is decided or looks past the end. `fuel` is the remaining work.
    pub fn run(&mut self, program: &Program, hay: Haystack<'_>, facts: &mut Facts, fuel: &mut u64) -> Ending {
        loop {
            let Some(left) = fuel.checked_sub(STEP + std::mem::take(&mut self.extra)) else {
                return Ending::Exhausted;
            };
            if self.stack.len() > MAX_FRAMES {
                return Ending::Exhausted;
            }
            *fuel = left;
            self.steps += 1;
            facts.all |= self.steps > LONG;
            if self.failing {
                match self.backtrack(program, hay, facts) {
                    Some(outcome) => return outcome,
                    None => continue,
                }
            }
            let Some(inst) = program.insts.get(self.pc) else { return Ending::Fail };
            let passed = match inst {
                Inst::Match if self.refused == Refused::Here && self.at == self.start => false,
                Inst::Match if self.refused == Refused::All && self.at == self.kept => false,
                Inst::Match => return Ending::Match,
                Inst::Literal(text) => match self.literal(text.as_bytes(), hay) {
                    Some(true) => {
                        self.at += text.len();
                        true
                    }
                    Some(false) => false,
                    None => return Ending::NeedsMore,
                },
                Inst::LiteralBehind(text) => {
                    self.charge(text.len() / BYTES_PER_UNIT);
                    let found = hay.before(self.at).ends_with(&**text);
                    if found {
                        self.at -= text.len();
                    }
                    found
                }
                Inst::Class(class) => match hay.char_at(self.at) {
                    Some(c) if class.contains(c) => {
                        self.at += c.len_utf8();
                        true
                    }
                    None if hay.edge != Edge::End => return Ending::NeedsMore,
                    _ => false,
                },
                Inst::ClassBehind(class) => match hay.char_before(self.at) {
                    Some(c) if class.contains(c) => {
                        self.at -= c.len_utf8();
                        true
                    }
                    _ => false,
                },
                Inst::Run(run) if run.behind => {
                    self.charge(RUN);
                    self.run_behind(run, hay);
                    continue;
                }
                Inst::Run(run) => {
                    self.charge(RUN);
                    if let Some(entry) = run.entry
                        && self.run.is_none()
                        && facts.all
                    {
                        self.charge(MEMO);
                        if facts.has_failed(program.splits, entry, self.at) {
                            self.failing = true;
                            continue;
                        }
                        self.stack.push(Frame::Failed { split: entry as u32, at: self.at });
                    }
                    if self.run_ahead(run, hay, facts) {
                        continue;
                    }
                    return Ending::NeedsMore;
                }
                Inst::Split { first, second, memo, in_loop } => {
                    let memo = memo.filter(|_| *in_loop || facts.all);
                    self.charge(memo.map_or(0, |_| MEMO));
                    if memo.is_some_and(|split| facts.has_failed(program.splits, split, self.at)) {
                        false
                    } else {
                        if let Some(split) = memo {
                            self.stack.push(Frame::Failed { split: split as u32, at: self.at });
                        }
                        self.stack.push(Frame::Other { pc: *second as u32, at: self.at });
                        self.pc = *first;
                        continue;
                    }
                }
                Inst::Jump(to) => {
                    self.pc = *to;
                    continue;
                }
                Inst::Save(cell) => {
                    self.set(*cell, self.at);
                    true
                }
                Inst::Assert(assertion) => match self.holds(*assertion, hay) {
                    Some(holds) => holds,
                    None => return Ending::NeedsMore,
                },
                Inst::Look { matched, failed, span, next } => {
                    let byte = hay.bytes_after(self.at).first();
                    if next.zip(byte).is_some_and(|(next, &byte)| !next.has(byte)) {
                        self.go_on(*failed, self.at);
                        continue;
                    }
                    if span.is_some_and(|span| has_place(&facts.spans, span, self.at)) {
                        self.go_on(*matched, self.at);
                        continue;
                    }
                    self.stack.push(Frame::Look { pc: self.pc as u32, at: self.at });
                    true
                }
                Inst::LookEnd => {
                    self.end_look(program, facts);
                    continue;
                }
                Inst::Atomic => {
                    self.stack.push(Frame::Atomic);
                    true
                }
                Inst::AtomicEnd => {
                    let frame = self.stack.iter().rposition(|frame| matches!(frame, Frame::Atomic));
                    self.cut(frame.unwrap_or(0));
                    true
                }
                Inst::Backref { group, fold, behind } => match self.backref(*group, *fold, *behind, hay) {
                    Some(found) => found,
                    None => return Ending::NeedsMore,
                },
                Inst::Folded { text, behind } => match self.folded(text, *behind, hay) {
                    Some(found) => found,
                    None => return Ending::NeedsMore,
                },
                Inst::Keep => {
                    self.stack.push(Frame::Kept { old: self.kept });
                    self.kept = self.at;
                    true
                }
                Inst::Call { group } => {
                    self.charge(CALL + program.slots);
                    let slots = self.cells.get(..program.slots).unwrap_or_default().to_vec();
                    self.calls.push(Called { group: *group, back: self.pc + 1, within: self.call, slots });
                    self.stack.push(Frame::Call { old: self.call });
                    self.call = self.calls.len();
                    self.pc = program.entries.get(*group).copied().unwrap_or(0);
                    if self.calls.len() > MAX_CALLS || self.calls.len() * program.slots > MAX_CALLED_SLOTS {
                        return Ending::Exhausted;
                    }
                    continue;
                }
                Inst::Return { group } => {
                    self.return_from(*group);
                    continue;
                }
                Inst::IfGroup { group, no } => {
                    self.pc = if self.group(*group).is_some() { self.pc + 1 } else { *no };
                    continue;
                }
                Inst::Mark(register) => {
                    if let Some(place) = self.cells.get_mut(*register) {
                        *place = self.at;
                    }
                    true
                }
                Inst::Note(register) => {
                    self.charge(COUNT);
                    self.set(*register, self.at);
                    true
                }
                Inst::Zero(register) => {
                    self.set(*register, 0);
                    true
                }
                Inst::Add(register) => {
                    self.charge(COUNT);
                    self.set(*register, self.register(*register) + 1);
                    true
                }
                Inst::Count { counter, min, max, lazy, exit } => {
                    let count = self.register(*counter);
                    let body = self.pc + 1;
                    if count < *min {
                        self.pc = body;
                    } else if count >= *max {
                        self.pc = *exit;
                    } else {
                        let (first, second) = if *lazy { (*exit, body) } else { (body, *exit) };
                        self.stack.push(Frame::Other { pc: second as u32, at: self.at });
                        self.pc = first;
                    }
                    continue;
                }
                Inst::LeaveIfEmpty { noted, counter, exit } => {
                    let enough = counter.is_none_or(|(counter, min)| self.register(counter) >= min);
                    if enough && self.register(*noted) == self.at {
                        self.pc = *exit;
                        continue;
                    }
                    true
                }
            };
            if passed {
                self.pc += 1;
            } else {
                self.failing = true;
            }
        }
    }

    /// Charges work in addition to the step.
    pub(super) fn charge(&mut self, units: usize) {
        self.extra += units as u64;
    }

    fn register(&self, register: usize) -> usize {
        self.cells.get(register).copied().unwrap_or(0)
    }

    fn set(&mut self, cell: usize, value: usize) {
        if let Some(place) = self.cells.get_mut(cell) {
            let old = std::mem::replace(place, value);
            self.stack.push(Frame::Cell { cell: cell as u32, old });
        }
    }

    /// Backtracks to the last choice. `Some` if there is none, or if the next one needs more text.
    fn backtrack(&mut self, program: &Program, hay: Haystack<'_>, facts: &mut Facts) -> Option<Ending> {
        let Some(frame) = self.stack.pop() else { return Some(Ending::Fail) };
        match frame {
            Frame::Other { pc, at } => {
                (self.pc, self.at, self.failing) = (pc as usize, at, false);
            }
            Frame::Failed { split, at } => {
                let grown = facts.note_failure(program.splits, split as usize, at, self.start);
                self.charge(MEMO + grown);
            }
            Frame::Look { pc, at } => {
                if let Some(Inst::Look { failed, .. }) = program.insts.get(pc as usize) {
                    self.go_on(*failed, at);
                }
            }
            Frame::Shrink { pc, low, at, high } => {
                self.charge(RUN);
                if let Some(Inst::Run(run)) = program.insts.get(pc as usize) {
                    self.shrink(run, pc, [low, at, high], hay, facts);
                }
            }
            Frame::Grow { pc, low, at, count } => {
                self.charge(RUN);
                if let Some(Inst::Run(run)) = program.insts.get(pc as usize) {
                    let grown = self.grow(run, pc, [low, at], count, hay, facts);
                    if !grown {
                        self.stack.push(frame);
                        return Some(Ending::NeedsMore);
                    }
                }
            }
            change => self.undo(change),
        }
        None
    }

    /// Undoes a change; other frames change nothing.
    fn undo(&mut self, frame: Frame) {
        match frame {
            Frame::Cell { cell, old } => {
                if let Some(place) = self.cells.get_mut(cell as usize) {
                    *place = old;
                }
            }
            Frame::Call { old } => self.call = old,
            Frame::Kept { old } => self.kept = old,
            _ => {}
        }
    }

    /// Drops a frame and the choices after it, but keeps the frames that undo slots and registers.
    fn cut(&mut self, frame: usize) {
        self.charge(self.stack.len().saturating_sub(frame) * 2);
        let mut kept = frame;
        for index in frame + 1..self.stack.len() {
            let frame = self.stack.get(index).copied();
            if let Some(undo @ (Frame::Cell { .. } | Frame::Call { .. } | Frame::Kept { .. })) = frame {
                if let Some(place) = self.stack.get_mut(kept) {
                    *place = undo;
                }
                kept += 1;
            }
        }
        self.stack.truncate(kept);
    }

    /// The inside of a look has matched.
    fn end_look(&mut self, program: &Program, facts: &mut Facts) {
        let frame = self.stack.iter().rposition(|frame| matches!(frame, Frame::Look { .. })).unwrap_or(0);
        self.charge(self.stack.len().saturating_sub(frame));
        let Some(&Frame::Look { pc, at }) = self.stack.get(frame) else {
            self.failing = true;
            return;
        };
        let Some(Inst::Look { matched, span, .. }) = program.insts.get(pc as usize) else { return };
        if let Some(span) = *span {
            note_stretch(&mut facts.spans, span, at, self.register(span));
        }
        if matched.is_none() {
            while self.stack.len() > frame
                && let Some(frame) = self.stack.pop()
            {
                self.undo(frame);
            }
        } else {
            self.cut(frame);
        }
        self.go_on(*matched, at);
    }

    /// Continues after a look, or fails.
    fn go_on(&mut self, next: Option<usize>, at: usize) {
        self.failing = next.is_none();
        if let Some(next) = next {
            (self.pc, self.at) = (next, at);
        }
    }

    /// The end of a group: returns to the instruction after the call, if this group was called last. The groups get
    /// back their values from before the call.
    fn return_from(&mut self, group: usize) {
        let called =
            self.call.checked_sub(1).and_then(|call| self.calls.get(call)).filter(|called| called.group == group);
        let Some(called) = called else {
            self.pc += 1;
            return;
        };
        self.stack.push(Frame::Call { old: self.call });
        (self.pc, self.call) = (called.back, called.within);
        for (slot, (now, before)) in self.cells.iter_mut().zip(&called.slots).enumerate() {
            if now != before {
                self.stack.push(Frame::Cell { cell: slot as u32, old: *now });
                *now = *before;
            }
        }
        let slots = called.slots.len();
        self.charge(CALL + slots);
    }
}
