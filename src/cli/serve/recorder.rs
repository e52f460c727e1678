//! The file of the record, written by its own thread: streams never wait for the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// How many rows may wait for the disk.
const MOST_ROWS: usize = 4096;

/// The writer of a record.
#[derive(Debug)]
pub struct Recorder {
    rows: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
    dropped: Arc<AtomicU64>,
}

impl Recorder {
    /// Opens the file, which only its owner may read, to append to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = open(path)?;
        let (rows, queue) = sync_channel::<String>(MOST_ROWS);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&dropped);
        let thread = thread::Builder::new().name("record".to_owned()).spawn(move || {
            for row in queue {
                // A row is written at once, so that followers of the file read whole lines.
                if file.write_all(row.as_bytes()).is_err() {
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

impl Drop for Recorder {
    /// Writes what waits.
    fn drop(&mut self) {
        self.rows = None;
        if let Some(thread) = self.thread.take() {
            // A thread that failed has already lost its rows.
            let _ = thread.join();
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
