//! Rows of JSON lines in, one answer per row out: in parallel, in order, holding at most a few blocks.
//!
//! A worker reads a block of lines itself, answers it, and writes its answers when it is their turn. So no row is
//! passed between threads, and each worker allocates its own memory. The buffers of blocks are reused, because threads
//! contend for the allocator.

mod blocks;
mod turns;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::progress::Progress;
use super::{Failure, Global};
use blocks::Blocks;
use turns::{Answers, Turns};

/// One line of the input, without its end.
pub struct Line<'b> {
    /// Its number, from 1; empty lines count.
    pub number: u64,
    /// Its bytes; owned if it is the only line in its block, as it may be long.
    pub bytes: Cow<'b, [u8]>,
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// It has its answer.
    Answered,
    /// Its answer is an error.
    Failed,
}

/// The counts of all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many there were.
    pub rows: u64,
    /// How many of them failed.
    pub failed: u64,
}

/// Buffers larger than this are not reused, or the memory of one long row would be kept to the end.
const MAX_SPARE: usize = 4 * blocks::BLOCK;

/// A block that took less than this is followed by a larger one.
const SHORT: Duration = Duration::from_millis(2);

/// A block that took more than this is followed by a smaller one, unless it was a single row.
const LONG: Duration = Duration::from_millis(50);

enum Fault {
    Read(io::Error),
    Write(io::Error),
}

/// Answers every line of `input`, a file or `-`, on standard output.
///
/// `worker` makes one answerer for each thread; an answerer appends the answer's line, with its end, to the text.
pub fn answer<A>(input: &str, global: &Global, worker: impl Fn() -> A + Sync) -> Result<Tally, Failure>
where
    A: FnMut(Line<'_>, &mut String) -> RowState,
{
    let noting = || {
        let mut answerer = worker();
        move |line: Line<'_>, text: &mut String, _: &mut Vec<()>| answerer(line, text)
    };
    answer_noting(input, global, noting, drop)
}

/// Like [`answer`]; passes what the answerers note about rows to `take`, in the order of the rows.
pub fn answer_noting<A, N: Send>(
    input: &str,
    global: &Global,
    worker: impl Fn() -> A + Sync,
    take: impl FnMut(N) + Send,
) -> Result<Tally, Failure>
where
    A: FnMut(Line<'_>, &mut String, &mut Vec<N>) -> RowState,
{
    let (reader, length): (Box<dyn Read + Send>, Option<u64>) = match input {
        "-" => (Box::new(io::stdin()), None),
        path => {
            let file = File::open(path).map_err(|error| super::input::cannot_read(path, &error))?;
            let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
            (Box::new(file), length)
        }
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let blocks = Mutex::new(Blocks::new(reader));
    let out = io::stdout();
    let on_terminal = out.is_terminal();
    let turns = Turns::new(out, on_terminal, take, Progress::new(global, "rows", length), workers);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(&blocks, &turns, worker()));
        }
    });
    turns.end().map_err(|error| match error {
        Fault::Read(error) => super::input::cannot_read(input, &error).into(),
        Fault::Write(error) => Failure::Io(error),
    })
}

/// How many lines a worker takes at once, given how long a block of `lines` took: many if a row takes microseconds, and
/// one if it takes milliseconds, because otherwise few workers would get all the rows of a short file.
fn next_lines(lines: usize, taken: Duration) -> usize {
    match taken {
        taken if taken < SHORT => lines.saturating_mul(8),
        taken if taken > LONG => (lines / 8).max(1),
        _ => lines,
    }
}

/// Answers blocks until there are no more or the output is closed.
fn work<A, N, F: FnMut(N)>(blocks: &Mutex<Blocks>, turns: &Turns<io::Stdout, N, F>, mut answerer: A)
where
    A: FnMut(Line<'_>, &mut String, &mut Vec<N>) -> RowState,
{
    let _stops = turns.stop_on_panic();
    let mut spare = Vec::new();
    let mut lines = 1;
    loop {
        let block = match blocks.lock().unwrap_or_else(PoisonError::into_inner).next_block(spare, lines) {
            Ok(Some(block)) => block,
            Ok(None) => return,
            Err(error) => return turns.fail(Fault::Read(error)),
        };
        let Some(mut text) = turns.wait_for_room(block.turn) else { return };
        let (turn, length) = (block.turn, block.length);
        let (mut notes, mut tally) = (Vec::new(), Tally::default());
        let begun = Instant::now();
        spare = block.for_each_line(|line| {
            if !line.bytes.trim_ascii().is_empty() {
                tally.rows += 1;
                tally.failed += u64::from(answerer(line, &mut text, &mut notes) == RowState::Failed);
            }
        });
        lines = next_lines(lines, begun.elapsed());
        turns.deliver(turn, Answers { text, notes, tally, length });
    }
}
