//! Rows of JSON lines in, one answer a row out: in parallel, in order, holding no more than a few batches of them.
//!
//! Lines go to the workers in batches, in turn; the answers are fetched from them in the same turn. So the order keeps
//! itself, and since every channel is short, nobody runs far ahead of the slowest.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::progress::Progress;
use super::{Failure, Global};

/// How many bytes of lines make a batch. A longer line is a batch by itself.
const BATCH: usize = 64 * 1024;

/// How many batches may wait in front of a worker and after it.
const WAITING: usize = 2;

/// One line of the input, without its end.
pub struct Line {
    /// Its number, from 1; empty lines count.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has its answer.
    Answered,
    /// Its answer says what is wrong.
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

struct Batch {
    lines: Vec<Line>,
    /// The number of its input bytes.
    length: u64,
}

struct Answers {
    text: Vec<u8>,
    tally: Tally,
    length: u64,
}

/// Answers every line of `input`, a file or `-`, on standard output.
///
/// `worker` makes one answerer for each thread; an answerer appends the answer's line, with its end, to the text.
pub fn answer<A>(input: &str, global: &Global, worker: impl Fn() -> A + Sync) -> Result<Tally, Failure>
where
    A: FnMut(Line, &mut Vec<u8>) -> Outcome,
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
    let mut progress = Progress::new(global, "rows", length);
    let written = thread::scope(|scope| {
        let (mut to_workers, mut from_workers) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (send_batch, receive_batch) = sync_channel(WAITING);
            let (send_answers, receive_answers) = sync_channel(WAITING);
            to_workers.push(send_batch);
            from_workers.push(receive_answers);
            let worker = &worker;
            scope.spawn(move || work(&receive_batch, &send_answers, worker()));
        }
        let reading = scope.spawn(move || read_batches(BufReader::with_capacity(BATCH, reader), &to_workers));
        let written = write_answers(from_workers, &mut progress);
        let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and_then(|tally| read.map(|()| tally))
    });
    written.map_err(|error| match error {
        Fault::Read(error) => super::input::cannot_read(input, &error).into(),
        Fault::Write(error) => Failure::Io(error),
    })
}

enum Fault {
    Read(io::Error),
    Write(io::Error),
}

fn read_batches(mut reader: BufReader<Box<dyn Read + Send>>, workers: &[SyncSender<Batch>]) -> Result<(), Fault> {
    let mut number = 0;
    for worker in workers.iter().cycle() {
        let Some(batch) = read_batch(&mut reader, &mut number).map_err(Fault::Read)? else { break };
        if worker.send(batch).is_err() {
            // Nobody wants the answers any more.
            break;
        }
    }
    Ok(())
}

/// Reads lines until a batch is full, or until the next line would have to be waited for.
fn read_batch(reader: &mut BufReader<Box<dyn Read + Send>>, number: &mut u64) -> io::Result<Option<Batch>> {
    let mut batch = Batch { lines: Vec::new(), length: 0 };
    loop {
        let mut bytes = Vec::new();
        let length = reader.read_until(b'\n', &mut bytes)?;
        if length == 0 {
            return Ok((batch.length > 0).then_some(batch));
        }
        *number += 1;
        batch.length += length as u64;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        batch.lines.push(Line { number: *number, bytes });
        if batch.length >= BATCH as u64 || !reader.buffer().contains(&b'\n') {
            return Ok(Some(batch));
        }
    }
}

fn work<A>(batches: &Receiver<Batch>, answers: &SyncSender<Answers>, mut answerer: A)
where
    A: FnMut(Line, &mut Vec<u8>) -> Outcome,
{
    for batch in batches {
        let mut done = Answers { text: Vec::new(), tally: Tally::default(), length: batch.length };
        for line in batch.lines {
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            done.tally.rows += 1;
            done.tally.failed += u64::from(answerer(line, &mut done.text) == Outcome::Failed);
        }
        if answers.send(done).is_err() {
            return;
        }
    }
}

fn write_answers(workers: Vec<Receiver<Answers>>, progress: &mut Progress) -> Result<Tally, Fault> {
    let mut out = BufWriter::with_capacity(BATCH, io::stdout().lock());
    let mut tally = Tally::default();
    for worker in workers.iter().cycle() {
        let Ok(answers) = worker.recv() else { break };
        progress.make_room();
        out.write_all(&answers.text).and_then(|()| out.flush()).map_err(Fault::Write)?;
        tally.rows += answers.tally.rows;
        tally.failed += answers.tally.failed;
        progress.advance(answers.length, tally.rows);
    }
    progress.finish();
    Ok(tally)
}
