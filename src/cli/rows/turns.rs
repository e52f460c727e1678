//! Writes answers in order: an early worker leaves its answers to the worker whose turn it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{Fault, MAX_SPARE, Tally};
use crate::cli::progress::Progress;
use backchat_core::diagnostic::escape_json;

/// How many blocks each worker may be ahead of the slowest.
const AHEAD: usize = 4;

pub(super) struct Answers<N> {
    pub text: String,
    /// What was noted about the rows.
    pub notes: Vec<N>,
    pub tally: Tally,
    /// The number of input bytes they answer.
    pub length: u64,
}

/// Writes answers to `W` and passes notes of type `N` to `F`, in the order of their blocks.
pub(super) struct Turns<W, N, F> {
    state: Mutex<State<W, N, F>>,
    /// Signals that the turn has changed, or that there are no more turns.
    moved: Condvar,
    ahead: u64,
    /// Whether a terminal shows the answers: what affects it is an escape then.
    on_terminal: bool,
}

struct State<W, N, F> {
    /// Absent while a worker writes to it; no thread waits for that.
    out: Option<(W, F, Progress)>,
    /// The block whose answers are written next.
    turn: u64,
    /// Answers that came early.
    early: BTreeMap<u64, Answers<N>>,
    /// Buffers of written answers, for reuse.
    spare: Vec<String>,
    /// How many workers wait for space.
    waiting: usize,
    tally: Tally,
    /// Whether further answers are discarded.
    stopped: bool,
    fault: Option<Fault>,
}

impl<W: Write, N, F: FnMut(N)> Turns<W, N, F> {
    pub fn new(out: W, on_terminal: bool, take: F, progress: Progress, workers: usize) -> Self {
        let state = State {
            out: Some((out, take, progress)),
            turn: 0,
            early: BTreeMap::new(),
            spare: Vec::new(),
            waiting: 0,
            tally: Tally::default(),
            stopped: false,
            fault: None,
        };
        let ahead = (AHEAD * workers) as u64;
        Self { state: Mutex::new(state), moved: Condvar::new(), ahead, on_terminal }
    }

    fn state(&self) -> MutexGuard<'_, State<W, N, F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the answers of this block may be stored, and returns an empty buffer for them; `None` if they will
    /// be discarded.
    pub fn wait_for_room(&self, turn: u64) -> Option<String> {
        let mut state = self.state();
        while !state.stopped && turn >= state.turn + self.ahead {
            state.waiting += 1;
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        (!state.stopped).then(|| state.spare.pop().unwrap_or_default())
    }

    /// Leaves the answers of a block, and writes those whose turn it is unless another worker does.
    pub fn deliver(&self, turn: u64, answers: Answers<N>) {
        let mut state = self.state();
        state.early.insert(turn, answers);
        let Some((mut out, mut take, mut progress)) = state.out.take() else { return };
        while !state.stopped
            && let Some(mut answers) = state.take_next()
        {
            let rows = state.tally.rows;
            let is_awaited = state.waiting > 0;
            drop(state);
            if is_awaited {
                self.moved.notify_all();
            }
            if !answers.text.is_empty() {
                progress.make_room();
            }
            let shown = if self.on_terminal { escape_json(&answers.text) } else { Cow::Borrowed(&*answers.text) };
            let written = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
            drop(shown);
            answers.notes.into_iter().for_each(&mut take);
            progress.advance(answers.length, rows);
            answers.text.clear();
            state = self.state();
            if answers.text.capacity() <= MAX_SPARE {
                state.spare.push(answers.text);
            }
            if let Err(error) = written {
                state.stopped = true;
                state.fault = Some(Fault::Write(error));
                self.moved.notify_all();
            }
        }
        state.out = Some((out, take, progress));
    }

    /// Records the first error of reading or writing.
    pub fn fail(&self, fault: Fault) {
        self.state().fault.get_or_insert(fault);
    }

    /// Wakes all workers if this one panics, because its turn would never end.
    pub fn stop_on_panic(&self) -> Stop<'_, W, N, F> {
        Stop(self)
    }

    /// The counts of all rows, once the workers are done.
    pub fn end(self) -> Result<Tally, Fault> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.fault.map_or(Ok(state.tally), Err)
    }
}

impl<W, N, F> State<W, N, F> {
    /// The answers whose turn it is, if they are ready.
    fn take_next(&mut self) -> Option<Answers<N>> {
        let answers = self.early.remove(&self.turn)?;
        self.turn += 1;
        self.tally.rows += answers.tally.rows;
        self.tally.failed += answers.tally.failed;
        Some(answers)
    }
}

pub(super) struct Stop<'t, W: Write, N, F: FnMut(N)>(&'t Turns<W, N, F>);

impl<W: Write, N, F: FnMut(N)> Drop for Stop<'_, W, N, F> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.state().stopped = true;
            self.0.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Color, Global};

    fn answers(text: &str) -> Answers<String> {
        let (notes, tally) = (vec![text.to_owned()], Tally { rows: 1, failed: 0 });
        Answers { text: text.to_owned(), notes, tally, length: 1 }
    }

    fn progress() -> Progress {
        Progress::new(&Global { color: Color::Never, quiet: true }, "rows", None)
    }

    fn turns<W: Write>(out: W) -> Turns<W, String, impl FnMut(String)> {
        Turns::new(out, false, drop, progress(), 1)
    }

    #[test]
    fn answers_and_notes_come_in_order() {
        let (mut out, mut noted) = (Vec::new(), String::new());
        let turns = Turns::new(&mut out, false, |note: String| noted.push_str(&note), progress(), 1);
        for (turn, text) in [(2, "c"), (1, "b"), (0, "a"), (4, "e"), (3, "d")] {
            assert_eq!(turns.wait_for_room(turn).as_deref(), Some(""));
            turns.deliver(turn, answers(text));
        }
        assert!(turns.end().is_ok_and(|tally| tally.rows == 5));
        assert_eq!((out.as_slice(), noted.as_str()), (&b"abcde"[..], "abcde"));
    }

    #[test]
    fn answers_on_a_terminal_cannot_affect_it() {
        for (on_terminal, shown) in [(false, "[\"a\u{202e}b\"]\n"), (true, "[\"a\\u202eb\"]\n")] {
            let mut out = Vec::new();
            let turns = Turns::new(&mut out, on_terminal, drop, progress(), 1);
            turns.deliver(0, answers("[\"a\u{202e}b\"]\n"));
            assert!(turns.end().is_ok());
            assert_eq!(out, shown.as_bytes());
        }
    }

    #[test]
    fn a_worker_that_is_far_ahead_waits() {
        let turns = turns(Vec::new());
        thread::scope(|scope| {
            let early = scope.spawn(|| turns.wait_for_room(AHEAD as u64));
            while turns.state().waiting == 0 {
                thread::yield_now();
            }
            assert!(!early.is_finished());
            turns.deliver(0, answers("a"));
            assert!(early.join().unwrap().is_some());
        });
    }

    #[test]
    fn waiting_ends_if_writing_fails_or_a_worker_panics() {
        /// Accepts nothing.
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("full"))
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let full = turns(Full);
        full.deliver(0, answers("a"));
        assert_eq!(full.wait_for_room(99), None);
        assert!(matches!(full.end(), Err(Fault::Write(error)) if error.to_string() == "full"));

        let turns = turns(Vec::new());
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _stops = turns.stop_on_panic();
                panic!("the worker is gone");
            });
            assert_eq!(turns.wait_for_room(99), None);
            assert!(worker.join().is_err());
        });
    }
}
