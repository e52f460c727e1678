//! An output that arrives through a pipe while it is shown. Reading never blocks the screen, and memory for what is
//! unread is bounded.

use std::cell::RefCell;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::outputs::Arrival;
use crate::input::{self, Problem};

/// How long to wait for the end of a pipe before its output is shown without it.
const PATIENCE: Duration = Duration::from_millis(250);

/// The most that is read at once, and how many unread pieces there may be.
const PIECE: usize = 1 << 16;
const PIECES: usize = 64;

/// What has arrived through a pipe.
pub struct Piped {
    pieces: Receiver<io::Result<Vec<u8>>>,
    came: RefCell<Came>,
}

#[derive(Default)]
struct Came {
    bytes: Vec<u8>,
    is_whole: bool,
    failed: Option<io::Error>,
    /// Whether some of it was not returned yet.
    is_news: bool,
}

impl Piped {
    /// Starts to read. An output that is complete at once is not shown piece by piece.
    pub fn new(mut input: impl Read + Send + 'static) -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        std::thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            loop {
                let read = match input.read(&mut piece) {
                    Ok(0) => break,
                    Ok(count) => Ok(piece.get(..count).unwrap_or(&[]).to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = read.is_err();
                if sender.send(read).is_err() || failed {
                    break;
                }
            }
        });
        let piped = Self { pieces, came: RefCell::default() };
        let deadline = Instant::now() + PATIENCE;
        loop {
            match piped.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => piped.came.borrow_mut().take(piece),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    piped.came.borrow_mut().is_whole = true;
                    break;
                }
            }
        }
        piped
    }

    /// Whether there is more than [`text`](Self::text) returned last, or may be.
    pub fn arrival(&self) -> Arrival {
        let mut came = self.came.borrow_mut();
        while !came.is_whole {
            match self.pieces.try_recv() {
                Ok(piece) => came.take(piece),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => (came.is_whole, came.is_news) = (true, true),
            }
        }
        match (came.is_news, came.is_whole) {
            (true, _) => Arrival::More,
            (false, true) => Arrival::Whole,
            (false, false) => Arrival::Awaited,
        }
    }

    /// The text that has arrived, up to its last complete character.
    pub fn text(&self) -> Result<String, Problem> {
        let mut came = self.came.borrow_mut();
        came.is_news = false;
        if let Some(error) = &came.failed {
            return Err(input::cannot_read("-", error).into());
        }
        let mut bytes = came.bytes.clone();
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
            && !came.is_whole
        {
            bytes.truncate(error.valid_up_to());
        }
        input::of_bytes("-", bytes)
    }
}

impl Came {
    fn take(&mut self, piece: io::Result<Vec<u8>>) {
        self.is_news = true;
        match piece {
            Ok(piece) => self.bytes.extend(piece),
            Err(error) => (self.failed, self.is_whole) = (Some(error), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Waits until it is so that something has come, or that the end has.
    fn more(piped: &Piped) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        while piped.arrival() != Arrival::More {
            assert!(Instant::now() < deadline, "nothing comes");
            std::thread::sleep(Duration::from_millis(1));
        }
        piped.text().unwrap_or_else(|_| panic!("no text"))
    }

    #[test]
    fn a_character_comes_whole() {
        let (read, mut write) = io::pipe().unwrap();
        write.write_all(b"caf\xc3").unwrap();
        let piped = Piped::new(read);
        assert_eq!(piped.text().ok().as_deref(), Some("caf"));
        assert_eq!(piped.arrival(), Arrival::Awaited);
        write.write_all(b"\xa9").unwrap();
        assert_eq!(more(&piped), "café");
        drop(write);
        assert_eq!(more(&piped), "café");
        assert_eq!(piped.arrival(), Arrival::Whole);
    }

    #[test]
    fn bytes_that_are_no_text_are_complained_about_once_no_more_can_come() {
        let (read, mut write) = io::pipe().unwrap();
        write.write_all(b"caf\xc3").unwrap();
        drop(write);
        let piped = Piped::new(read);
        assert!(piped.text().is_err());
        assert_eq!(piped.arrival(), Arrival::Whole);
    }
}
