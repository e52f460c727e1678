//! Text that arrives through a pipe while it is shown: reading never blocks, and memory for unread text is bounded.

use std::cell::RefCell;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::{Problem, cannot_read, of_bytes};

/// How much of a text has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// All of it.
    Whole,
    /// Everything so far; more may arrive.
    Awaited,
    /// Not all of it.
    More,
}

/// How long to wait for the end of a pipe before showing its output.
const PATIENCE: Duration = Duration::from_millis(250);

/// The most that is read at once, and how many unread pieces there may be.
const PIECE: usize = 1 << 16;
const PIECES: usize = 64;

/// Standard input, read on its own thread.
pub struct Piped {
    pieces: Receiver<io::Result<Vec<u8>>>,
    received: RefCell<Received>,
}

#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    is_whole: bool,
    failed: Option<io::Error>,
    /// Whether text arrived that was not returned yet.
    has_news: bool,
}

impl Piped {
    /// Starts reading, and waits briefly for the end, so that a short output is shown whole.
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
        let piped = Self { pieces, received: RefCell::default() };
        let deadline = Instant::now() + PATIENCE;
        loop {
            match piped.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => piped.received.borrow_mut().take(piece),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    piped.received.borrow_mut().is_whole = true;
                    break;
                }
            }
        }
        piped
    }

    /// Whether text arrived since the last call of [`text`](Self::text), or may still arrive.
    pub fn arrival(&self) -> Arrival {
        let mut received = self.received.borrow_mut();
        while !received.is_whole {
            match self.pieces.try_recv() {
                Ok(piece) => received.take(piece),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => (received.is_whole, received.has_news) = (true, true),
            }
        }
        match (received.has_news, received.is_whole) {
            (true, _) => Arrival::More,
            (false, true) => Arrival::Whole,
            (false, false) => Arrival::Awaited,
        }
    }

    /// The text that has arrived, up to its last complete character.
    pub fn text(&self) -> Result<String, Problem> {
        let mut received = self.received.borrow_mut();
        received.has_news = false;
        if let Some(error) = &received.failed {
            return Err(cannot_read("-", error).into());
        }
        let mut bytes = received.bytes.clone();
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
            && !received.is_whole
        {
            bytes.truncate(error.valid_up_to());
        }
        of_bytes("-", bytes)
    }
}

impl Received {
    fn take(&mut self, piece: io::Result<Vec<u8>>) {
        self.has_news = true;
        match piece {
            Ok(piece) => self.bytes.extend(piece),
            Err(error) => (self.failed, self.is_whole) = (Some(error), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Waits until data or the end has arrived.
    fn more(piped: &Piped) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        while piped.arrival() != Arrival::More {
            assert!(Instant::now() < deadline, "nothing arrives");
            std::thread::sleep(Duration::from_millis(1));
        }
        piped.text().unwrap_or_else(|_| panic!("no text"))
    }

    #[test]
    fn an_incomplete_character_waits_for_its_rest() {
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
    fn invalid_bytes_are_an_error_once_the_input_has_ended() {
        let (read, mut write) = io::pipe().unwrap();
        write.write_all(b"caf\xc3").unwrap();
        drop(write);
        let piped = Piped::new(read);
        assert!(piped.text().is_err());
        assert_eq!(piped.arrival(), Arrival::Whole);
    }
}
