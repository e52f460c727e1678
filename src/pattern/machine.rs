//! Runs a [program](super::program) at one place of a text that may still grow.
//!
//! It backtracks, as Python's `regex` does, so it finds the same match with the same groups. What it adds: where it has to
//! know a character that is not there yet it stops with its whole state kept, and goes on from there when more text has
//! come. So nothing is read twice because it was held, and a match is reported only where no continuation of the text
//! could change it.
//!
//! What has failed at a place fails there again, wherever the attempt began, unless the pattern refers back to its groups.
//! Loops remember their failures ([`Facts`]); that keeps the work linear in the text.

use super::program::{Inst, Program, Run};
use super::tree::{Assertion, Greed};

/// More states than this to come back to are too many.
const MAX_FRAMES: usize = 6_000_000;

/// More calls of groups than this in one attempt are too many.
const MAX_CALLS: usize = 100_000;

/// After an attempt of more steps than this every failure is noted.
const LONG: u64 = 2048;

const UNSET: usize = usize::MAX;

/// What stands behind the last character there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// More may come.
    Open,
    /// Nothing.
    End,
    /// More may come, but `$`, `\Z`, `\b` and `\B` take it for the end, as partial matching of `regex` does.
    Partial,
}

/// The text that is at hand. Places in it count from a beginning that may have been let go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hay<'t> {
    pub text: &'t str,
    /// The place of the first character of `text`.
    pub base: usize,
    pub edge: Edge,
}

impl<'t> Hay<'t> {
    pub fn end(&self) -> usize {
        self.base + self.text.len()
    }

    #[inline]
    pub fn after(&self, place: usize) -> &'t str {
        self.text.get(place.wrapping_sub(self.base)..).unwrap_or("")
    }

    #[inline]
    pub fn bytes_after(&self, place: usize) -> &'t [u8] {
        self.text.as_bytes().get(place.wrapping_sub(self.base)..).unwrap_or(&[])
    }

    fn before(&self, place: usize) -> &'t str {
        self.text.get(..place.wrapping_sub(self.base)).unwrap_or("")
    }

    #[inline]
    pub fn char_at(&self, place: usize) -> Option<char> {
        match self.bytes_after(place).first() {
            Some(&byte) if byte < 128 => Some(byte as char),
            _ => self.after(place).chars().next(),
        }
    }

    fn char_before(&self, place: usize) -> Option<char> {
        self.before(place).chars().next_back()
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Match,
    Fail,
    /// It looked past the end.
    NeedsMore,
    /// The work allowed is used up.
    Exhausted,
}

/// Where loops and looks are known to fail or to match. It holds for one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Whether an attempt took so long that every failure is worth noting.
    all: bool,
    /// A bit for each place and split.
    failed: Vec<u64>,
    failed_base: usize,
    /// A stretch of places for each run: what follows it fails at each of them, and the run cannot go on behind the last.
    runs: Vec<(usize, usize)>,
    /// A stretch of places for each look: at any of them its inside matches.
    spans: Vec<(usize, usize)>,
}

impl Facts {
    pub fn forget(&mut self) {
        self.failed.clear();
        self.runs.clear();
        self.spans.clear();
    }

    fn bit(&self, splits: usize, split: usize, place: usize) -> Option<(usize, u64)> {
        let bit = place.checked_sub(self.failed_base)?.checked_mul(splits)?.checked_add(split)?;
        Some((bit / 64, 1 << (bit % 64)))
    }

    fn has_failed(&self, splits: usize, split: usize, place: usize) -> bool {
        self.bit(splits, split, place).is_some_and(|(word, bit)| self.failed.get(word).is_some_and(|w| w & bit != 0))
    }

    fn note_failure(&mut self, splits: usize, split: usize, place: usize, attempt: usize) {
        if self.failed.is_empty() {
            // No later attempt begins before this one.
            self.failed_base = attempt;
        }
        let Some((word, bit)) = self.bit(splits, split, place) else { return };
        if word >= self.failed.len() {
            self.failed.resize((word + 1).next_power_of_two(), 0);
        }
        if let Some(w) = self.failed.get_mut(word) {
            *w |= bit;
        }
    }
}

/// A stretch of places for each of several things; two that touch become one.
fn note_stretch(stretches: &mut Vec<(usize, usize)>, index: usize, low: usize, high: usize) {
    if stretches.len() <= index {
        stretches.resize(index + 1, (1, 0));
    }
    if let Some(stretch) = stretches.get_mut(index) {
        *stretch =
            if stretch.0 <= high && low <= stretch.1 { (low.min(stretch.0), high.max(stretch.1)) } else { (low, high) };
    }
}

fn has_place(stretches: &[(usize, usize)], index: usize, place: usize) -> bool {
    stretches.get(index).is_some_and(|&(low, high)| low <= place && place <= high)
}

#[derive(Clone, Copy, Debug)]
enum Frame {
    /// Another way from a place.
    Other {
        pc: u32,
        at: usize,
    },
    /// When this is reached, everything from a split on has failed.
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
    /// A lazy run can take more.
    Grow {
        pc: u32,
        low: usize,
        at: usize,
        count: u32,
    },
    Slot {
        slot: u32,
        old: usize,
    },
    Register {
        register: u32,
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
    /// Where to go on behind it.
    back: usize,
    /// The call it was called from.
    within: usize,
    slots: Vec<usize>,
}

/// One attempt, as far as it got.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempt {
    pc: usize,
    at: usize,
    start: usize,
    search_start: usize,
    /// How many steps it has taken.
    steps: u64,
    /// Whether a match of nothing does not count.
    not_empty: bool,
    /// Whether it is on its way back to another choice.
    failing: bool,
    /// The run it is in the middle of: where that began, and how many characters it has.
    run: Option<(usize, u32)>,
    stack: Vec<Frame>,
    /// Every call so far; `call` is one more than the number of the one it is in.
    calls: Vec<Called>,
    call: usize,
    /// Where the match begins.
    kept: usize,
    slots: Vec<usize>,
    registers: Vec<usize>,
}

impl Attempt {
    pub fn begin(&mut self, program: &Program, start: usize, search_start: usize, not_empty: bool) {
        self.pc = 0;
        self.at = start;
        (self.start, self.kept) = (start, start);
        self.calls.clear();
        self.call = 0;
        self.search_start = search_start;
        self.not_empty = not_empty;
        self.failing = false;
        self.steps = 0;
        self.run = None;
        self.stack.clear();
        self.slots.clear();
        self.slots.resize(program.slots, UNSET);
        self.registers.clear();
        self.registers.resize(program.registers, 0);
    }

    /// Where the attempt began.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Where the match begins, which `\K` may have moved.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Where the match ends.
    pub fn end(&self) -> usize {
        self.at
    }

    /// Start and end of a group that took part.
    pub fn group(&self, index: usize) -> Option<(usize, usize)> {
        match (self.slots.get(index * 2), self.slots.get(index * 2 + 1)) {
            (Some(&start), Some(&end)) if start != UNSET && end != UNSET => Some((start, end)),
            _ => None,
        }
    }

    /// Goes on until it is decided or looks past the end. `fuel` is the work it may still do.
    pub fn run(&mut self, program: &Program, hay: Hay<'_>, facts: &mut Facts, fuel: &mut u64) -> Outcome {
        loop {
            if *fuel == 0 || self.stack.len() > MAX_FRAMES {
                return Outcome::Exhausted;
            }
            *fuel -= 1;
            self.steps += 1;
            facts.all |= self.steps > LONG;
            if self.failing {
                match self.backtrack(program, hay, facts) {
                    Some(outcome) => return outcome,
                    None => continue,
                }
            }
            let Some(inst) = program.insts.get(self.pc) else { return Outcome::Fail };
            let passed = match inst {
                Inst::Match if self.not_empty && self.at == self.start => false,
                Inst::Match => return Outcome::Match,
                Inst::Literal(text) => match literal(text.as_bytes(), hay, self.at) {
                    Some(true) => {
                        self.at += text.len();
                        true
                    }
                    Some(false) => false,
                    None => return Outcome::NeedsMore,
                },
                Inst::LiteralBehind(text) => {
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
                    None if hay.edge != Edge::End => return Outcome::NeedsMore,
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
                    self.run_behind(run, hay);
                    continue;
                }
                Inst::Run(run) => {
                    if let Some(entry) = run.entry
                        && self.run.is_none()
                        && facts.all
                    {
                        if facts.has_failed(program.splits, entry, self.at) {
                            self.failing = true;
                            continue;
                        }
                        self.stack.push(Frame::Failed { split: entry as u32, at: self.at });
                    }
                    if self.run_ahead(run, hay, facts) {
                        continue;
                    }
                    return Outcome::NeedsMore;
                }
                Inst::Split { first, second, memo, in_loop } => {
                    let memo = memo.filter(|_| *in_loop || facts.all);
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
                Inst::Save(slot) => {
                    if let Some(place) = self.slots.get_mut(*slot) {
                        let old = std::mem::replace(place, self.at);
                        self.stack.push(Frame::Slot { slot: *slot as u32, old });
                    }
                    true
                }
                Inst::Assert(assertion) => match self.holds(*assertion, hay) {
                    Some(holds) => holds,
                    None => return Outcome::NeedsMore,
                },
                Inst::Look { negate, next, span } => {
                    if span.is_some_and(|span| has_place(&facts.spans, span, self.at)) {
                        self.pc = *next;
                        self.failing = *negate;
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
                    None => return Outcome::NeedsMore,
                },
                Inst::Folded { text, behind } => match self.folded(text, *behind, hay) {
                    Some(found) => found,
                    None => return Outcome::NeedsMore,
                },
                Inst::Keep => {
                    self.stack.push(Frame::Kept { old: self.kept });
                    self.kept = self.at;
                    true
                }
                Inst::Call { group } => {
                    let called =
                        Called { group: *group, back: self.pc + 1, within: self.call, slots: self.slots.clone() };
                    self.calls.push(called);
                    self.stack.push(Frame::Call { old: self.call });
                    self.call = self.calls.len();
                    self.pc = program.entries.get(*group).copied().unwrap_or(0);
                    if self.calls.len() > MAX_CALLS {
                        return Outcome::Exhausted;
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
                    if let Some(place) = self.registers.get_mut(*register) {
                        *place = self.at;
                    }
                    true
                }
                Inst::Note(register) => {
                    self.set(*register, self.at);
                    true
                }
                Inst::Zero(register) => {
                    self.set(*register, 0);
                    true
                }
                Inst::Add(register) => {
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

    fn register(&self, register: usize) -> usize {
        self.registers.get(register).copied().unwrap_or(0)
    }

    fn set(&mut self, register: usize, value: usize) {
        if let Some(place) = self.registers.get_mut(register) {
            let old = std::mem::replace(place, value);
            self.stack.push(Frame::Register { register: register as u32, old });
        }
    }

    /// Goes back to the last choice. `Some` where there is none, or where the next one needs more text.
    fn backtrack(&mut self, program: &Program, hay: Hay<'_>, facts: &mut Facts) -> Option<Outcome> {
        let Some(frame) = self.stack.pop() else { return Some(Outcome::Fail) };
        match frame {
            Frame::Other { pc, at } => {
                (self.pc, self.at, self.failing) = (pc as usize, at, false);
            }
            Frame::Failed { split, at } => facts.note_failure(program.splits, split as usize, at, self.start),
            Frame::Slot { slot, old } => {
                if let Some(place) = self.slots.get_mut(slot as usize) {
                    *place = old;
                }
            }
            Frame::Register { register, old } => {
                if let Some(place) = self.registers.get_mut(register as usize) {
                    *place = old;
                }
            }
            Frame::Atomic => {}
            Frame::Call { old } => self.call = old,
            Frame::Kept { old } => self.kept = old,
            Frame::Look { pc, at } => {
                if let Some(Inst::Look { negate: true, next, .. }) = program.insts.get(pc as usize) {
                    (self.pc, self.at, self.failing) = (*next, at, false);
                }
            }
            Frame::Shrink { pc, low, at, high } => {
                if let Some(Inst::Run(run)) = program.insts.get(pc as usize) {
                    self.shrink(run, pc, [low, at, high], hay, facts);
                }
            }
            Frame::Grow { pc, low, at, count } => {
                if let Some(Inst::Run(run)) = program.insts.get(pc as usize) {
                    let grown = self.grow(run, pc, [low, at], count, hay, facts);
                    if !grown {
                        self.stack.push(frame);
                        return Some(Outcome::NeedsMore);
                    }
                }
            }
        }
        None
    }

    /// Drops a frame and the choices behind it, but keeps what undoes slots and registers.
    fn cut(&mut self, frame: usize) {
        let mut kept = frame;
        for index in frame + 1..self.stack.len() {
            let undo = self.stack.get(index).copied();
            if let Some(
                undo @ (Frame::Slot { .. } | Frame::Register { .. } | Frame::Call { .. } | Frame::Kept { .. }),
            ) = undo
            {
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
        let Some(&Frame::Look { pc, at }) = self.stack.get(frame) else {
            self.failing = true;
            return;
        };
        let Some(Inst::Look { negate, next, span }) = program.insts.get(pc as usize) else { return };
        if let Some(span) = *span {
            note_stretch(&mut facts.spans, span, at, self.register(span));
        }
        if *negate {
            while self.stack.len() > frame {
                match self.stack.pop() {
                    Some(Frame::Slot { slot, old }) => {
                        if let Some(place) = self.slots.get_mut(slot as usize) {
                            *place = old;
                        }
                    }
                    Some(Frame::Register { register, old }) => {
                        if let Some(place) = self.registers.get_mut(register as usize) {
                            *place = old;
                        }
                    }
                    Some(Frame::Call { old }) => self.call = old,
                    Some(Frame::Kept { old }) => self.kept = old,
                    _ => {}
                }
            }
            self.failing = true;
        } else {
            self.cut(frame);
            (self.pc, self.at) = (*next, at);
        }
    }

    /// Takes a run of characters; false where it needs more text.
    fn run_ahead(&mut self, run: &Run, hay: Hay<'_>, facts: &mut Facts) -> bool {
        let (start, mut count) = match self.run.take() {
            Some(begun) => begun,
            None if run.memo.is_some_and(|memo| has_place(&facts.runs, memo, self.at)) => {
                self.failing = true;
                return true;
            }
            None => (self.at, 0),
        };
        let wanted = if run.greed == Greed::Lazy { run.min } else { run.max };
        let (length, taken) = take(run, hay.after(self.at), wanted - count);
        self.at += length;
        count += taken;
        if count < wanted && self.at == hay.end() && hay.edge != Edge::End {
            self.run = Some((start, count));
            return false;
        }
        if count < run.min {
            self.failing = true;
            return true;
        }
        let pc = self.pc as u32;
        match run.greed {
            Greed::Greedy if self.at > start => {
                let mut low = start;
                for c in hay.after(start).chars().take(run.min as usize) {
                    low += c.len_utf8();
                }
                let high = self.at;
                // What is known to fail when the run ends there need not be tried again.
                let failed =
                    run.memo.and_then(|memo| facts.runs.get(memo)).filter(|(from, to)| *from <= high && high <= *to);
                if let Some(&(from, _)) = failed {
                    self.stack.push(Frame::Shrink { pc, low, at: from.max(low), high });
                    self.failing = true;
                    return true;
                }
                self.stack.push(Frame::Shrink { pc, low, at: high, high });
            }
            Greed::Lazy => self.stack.push(Frame::Grow { pc, low: self.at, at: self.at, count }),
            _ => {}
        }
        self.pc += 1;
        true
    }

    /// Lets a greedy run give back characters until what follows could match.
    fn shrink(&mut self, run: &Run, pc: u32, [low, at, high]: [usize; 3], hay: Hay<'_>, facts: &mut Facts) {
        if run.behind {
            if let Some(c) = hay.char_at(at).filter(|_| at < low) {
                let at = at + c.len_utf8();
                self.stack.push(Frame::Shrink { pc, low, at, high });
                (self.pc, self.at, self.failing) = (pc as usize + 1, at, false);
            }
            return;
        }
        let given = hay.bytes_after(low).get(..at.saturating_sub(low)).unwrap_or(&[]);
        let to = match run.next {
            Some(byte) => memchr::memrchr(byte, given).map(|length| low + length),
            None => hay.char_before(at).filter(|_| at > low).map(|c| at - c.len_utf8()),
        };
        match to {
            Some(at) => {
                self.stack.push(Frame::Shrink { pc, low, at, high });
                (self.pc, self.at, self.failing) = (pc as usize + 1, at, false);
            }
            None => {
                if let Some(memo) = run.memo {
                    note_stretch(&mut facts.runs, memo, low, high);
                }
            }
        }
    }

    /// Lets a lazy run take characters until what follows could match; false where it needs more text.
    fn grow(&mut self, run: &Run, pc: u32, [low, at]: [usize; 2], count: u32, hay: Hay<'_>, facts: &mut Facts) -> bool {
        let full = count >= run.max;
        let grown = match run.next {
            _ if full => Err(at),
            Some(byte) if run.is_unbounded() && !run.behind => grow_to(run, byte, at, hay),
            _ if run.behind => match hay.char_before(at).filter(|&c| run.class.contains(c)) {
                Some(c) => Ok(at - c.len_utf8()),
                None => Err(at),
            },
            _ => match hay.char_at(at).filter(|&c| run.class.contains(c)) {
                Some(c) => Ok(at + c.len_utf8()),
                None => Err(at),
            },
        };
        match grown {
            Ok(at) => {
                // An unbounded run need not be counted.
                let count = if run.is_unbounded() { count } else { count + 1 };
                self.stack.push(Frame::Grow { pc, low, at, count });
                (self.pc, self.at, self.failing) = (pc as usize + 1, at, false);
            }
            Err(at) if at == hay.end() && hay.edge != Edge::End && !full && !run.behind => return false,
            Err(at) => {
                if let Some(memo) = run.memo {
                    note_stretch(&mut facts.runs, memo, low, at);
                }
            }
        }
        true
    }

    fn run_behind(&mut self, run: &Run, hay: Hay<'_>) {
        let start = self.at;
        let wanted = if run.greed == Greed::Lazy { run.min } else { run.max };
        let mut count = 0;
        let mut high = start;
        while count < wanted {
            let Some(c) = hay.char_before(self.at).filter(|&c| run.class.contains(c)) else { break };
            self.at -= c.len_utf8();
            count += 1;
            if count == run.min {
                high = self.at;
            }
        }
        if count < run.min {
            self.failing = true;
            return;
        }
        let pc = self.pc as u32;
        match run.greed {
            // Behind, a run shrinks upwards: `low` is the place it may go up to.
            Greed::Greedy => self.stack.push(Frame::Shrink { pc, low: high, at: self.at, high }),
            Greed::Lazy => self.stack.push(Frame::Grow { pc, low: self.at, at: self.at, count }),
            Greed::Possessive => {}
        }
        self.pc += 1;
    }

    /// The end of a group: back behind the call, if this is the group that was called last. The groups are again what
    /// they were before it.
    fn return_from(&mut self, group: usize) {
        let called =
            self.call.checked_sub(1).and_then(|call| self.calls.get(call)).filter(|called| called.group == group);
        let Some(called) = called.cloned() else {
            self.pc += 1;
            return;
        };
        self.stack.push(Frame::Call { old: self.call });
        (self.pc, self.call) = (called.back, called.within);
        for (slot, (now, before)) in self.slots.iter_mut().zip(called.slots).enumerate() {
            if *now != before {
                self.stack.push(Frame::Slot { slot: slot as u32, old: *now });
                *now = before;
            }
        }
    }

    /// Compares by full case folding; `None` where only more text can tell.
    fn folded(&mut self, wanted: &[char], behind: bool, hay: Hay<'_>) -> Option<bool> {
        let mut wanted = wanted.iter();
        let mut at = self.at;
        while wanted.len() > 0 {
            let c = match if behind { hay.char_before(at) } else { hay.char_at(at) } {
                Some(c) => c,
                None if behind || hay.edge == Edge::End => return Some(false),
                None => return None,
            };
            let mut folded: Vec<char> = super::class::full_fold(c).collect();
            if behind {
                folded.reverse();
            }
            if !folded.iter().all(|&c| wanted.next().is_some_and(|&wanted| same(wanted, c, true))) {
                return Some(false);
            }
            at = if behind { at - c.len_utf8() } else { at + c.len_utf8() };
        }
        self.at = at;
        Some(true)
    }

    /// Whether a place is what an assertion says; `None` where only more text can tell.
    fn holds(&self, assertion: Assertion, hay: Hay<'_>) -> Option<bool> {
        let at = self.at;
        let at_end = at == hay.end();
        if at_end
            && hay.edge == Edge::Open
            && !matches!(assertion, Assertion::Start | Assertion::LineStart | Assertion::SearchStart)
        {
            return None;
        }
        let word_before = || hay.char_before(at).is_some_and(is_word);
        let word_after = || hay.char_at(at).is_some_and(is_word);
        Some(match assertion {
            Assertion::Start => at == 0,
            Assertion::LineStart => at == 0 || hay.char_before(at) == Some('\n'),
            Assertion::End => at_end,
            Assertion::EndOrFinalNewline => match hay.bytes_after(at) {
                [] => true,
                [b'\n'] if hay.edge == Edge::Open => return None,
                [b'\n'] => true,
                _ => false,
            },
            Assertion::LineEnd => at_end || hay.bytes_after(at).first() == Some(&b'\n'),
            Assertion::WordBoundary => word_before() != word_after(),
            Assertion::NotWordBoundary => word_before() == word_after(),
            Assertion::WordStart => !word_before() && word_after(),
            Assertion::WordEnd => word_before() && !word_after(),
            Assertion::SearchStart => at == self.search_start,
        })
    }

    /// The text of a group again; `None` where only more text can tell.
    fn backref(&mut self, group: usize, fold: bool, behind: bool, hay: Hay<'_>) -> Option<bool> {
        let Some((start, end)) = self.group(group) else { return Some(false) };
        let wanted = hay.after(start).get(..end.saturating_sub(start)).unwrap_or("");
        if behind {
            let mut at = self.at;
            for c in wanted.chars().rev() {
                match hay.char_before(at) {
                    Some(other) if same(c, other, fold) => at -= other.len_utf8(),
                    _ => return Some(false),
                }
            }
            self.at = at;
            return Some(true);
        }
        let mut at = self.at;
        for c in wanted.chars() {
            match hay.char_at(at) {
                Some(other) if same(c, other, fold) => at += other.len_utf8(),
                None if hay.edge != Edge::End => return None,
                _ => return Some(false),
            }
        }
        self.at = at;
        Some(true)
    }
}

/// Compares a literal with what is there; `None` where only more text can tell.
fn literal(wanted: &[u8], hay: Hay<'_>, at: usize) -> Option<bool> {
    let there = hay.bytes_after(at);
    if there.len() >= wanted.len() {
        return Some(there.starts_with(wanted));
    }
    if hay.edge != Edge::End && wanted.starts_with(there) { None } else { Some(false) }
}

/// How far a run goes: bytes, and characters (of an unbounded run no more are counted than it must have).
fn take(run: &Run, text: &str, wanted: u32) -> (usize, u32) {
    if !run.is_unbounded() || run.greed == Greed::Lazy {
        let taken = text.chars().take(wanted as usize).take_while(|&c| run.class.contains(c));
        return taken.fold((0, 0), |(length, count), c| (length + c.len_utf8(), count + 1));
    }
    let length = if run.any { text.len() } else { run.class.prefix_length(text) };
    let counted = text.get(..length).unwrap_or("").chars().take(run.min as usize).count();
    (length, counted as u32)
}

/// Takes at least one character, up to the next place with that byte or the end of what there is; where that cannot
/// be, the place that ends the run.
fn grow_to(run: &Run, byte: u8, at: usize, hay: Hay<'_>) -> Result<usize, usize> {
    let Some(c) = hay.char_at(at).filter(|&c| run.class.contains(c)) else { return Err(at) };
    let at = at + c.len_utf8();
    if run.any {
        return Ok(memchr::memchr(byte, hay.bytes_after(at)).map_or(hay.end(), |length| at + length));
    }
    let text = hay.after(at);
    for (index, c) in text.char_indices() {
        if text.as_bytes().get(index) == Some(&byte) {
            return Ok(at + index);
        }
        if !run.class.contains(c) {
            return Err(at + index);
        }
    }
    Ok(hay.end())
}

fn is_word(c: char) -> bool {
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}

/// Whether two characters are the same, or with `fold` differ only in case.
fn same(one: char, other: char, fold: bool) -> bool {
    if one == other || !fold {
        return one == other;
    }
    let mut set = super::class::of([(one, one)]);
    super::class::fold(&mut set);
    set.ranges().iter().any(|range| range.start() <= other && other <= range.end())
}
