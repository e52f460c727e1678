//! A file of rows, written by its own thread: answers never wait for the disk. A file that is full makes room for a new one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// How many rows may wait for the disk.
const MOST_ROWS: usize = 4096;

/// The writer of a file of rows.
#[derive(Debug)]
pub struct Rows {
    rows: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
    dropped: Arc<AtomicU64>,
}

impl Rows {
    /// Opens the file, which only its owner may read, to append to it. A row that would make it longer than `limit` bytes
    /// begins a new file; the full one gets the end `.1`, in the place of the one before.
    pub fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let mut file = Rotating::open(path, limit)?;
        let (rows, queue) = sync_channel::<String>(MOST_ROWS);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&dropped);
        let thread = thread::Builder::new().name("rows".to_owned()).spawn(move || {
            for row in queue {
                if file.write(&row).is_err() {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Self { rows: Some(rows), thread: Some(thread), dropped })
    }

    /// Hands over a row. If too many wait, it is dropped and counted.
    pub fn write(&self, row: String) {
        let Some(rows) = &self.rows else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = rows.try_send(row) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many rows are not in the file.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Rows {
    /// Writes what waits.
    fn drop(&mut self) {
        self.rows = None;
        if let Some(thread) = self.thread.take() {
            // A thread that failed has already lost its rows.
            let _ = thread.join();
        }
    }
}

/// The file that is written now.
struct Rotating {
    path: PathBuf,
    file: File,
    length: u64,
    limit: u64,
}

impl Rotating {
    fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, limit })
    }

    fn write(&mut self, row: &str) -> io::Result<()> {
        let length = row.len() as u64;
        // A stream, such as /dev/stderr, has no length and is never full.
        if self.length > 0 && self.length + length > self.limit && self.path.is_file() {
            let mut full = self.path.clone().into_os_string();
            full.push(".1");
            std::fs::rename(&self.path, full)?;
            self.file = open(&self.path)?;
            self.length = 0;
        }
        // A row is written at once, so that followers of the file read whole lines.
        self.file.write_all(row.as_bytes())?;
        self.length += length;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_makes_room_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        for (row, expected) in [
            ("one\n", ["one\n", ""]),
            ("two\n", ["one\ntwo\n", ""]),
            ("three\n", ["three\n", "one\ntwo\n"]),
            // A row that is longer than the limit is whole, too.
            ("a long one\n", ["a long one\n", "three\n"]),
            ("four\n", ["four\n", "a long one\n"]),
        ] {
            // Each writer goes on where the one before it stopped.
            let rows = Rows::open(&path, 8).unwrap();
            rows.write(row.to_owned());
            drop(rows);
            assert_eq!([text("record.jsonl"), text("record.jsonl.1")], expected, "{row}");
        }
    }
}
