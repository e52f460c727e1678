//! Reads the input of rows in blocks of complete lines.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memchr_iter, memrchr};

use super::{Line, MAX_SPARE};

/// How many bytes are read at once. A longer line is a block by itself.
pub(super) const BLOCK: usize = 256 * 1024;

/// Reads blocks.
pub(super) struct Blocks {
    reader: Box<dyn Read + Send>,
    /// The beginning of a line whose end is not read yet.
    rest: Vec<u8>,
    /// How many lines and blocks have been read.
    lines: u64,
    turn: u64,
    ended: bool,
}

/// Whole lines that follow each other.
pub(super) struct Block {
    /// Its number, from 0.
    pub turn: u64,
    /// The number of its input bytes.
    pub length: u64,
    /// The number of its first line.
    first: u64,
    /// The lines, without the end of the last.
    bytes: Vec<u8>,
}

impl Blocks {
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, rest: Vec::new(), lines: 0, turn: 0, ended: false }
    }

    /// The lines available now; waits for more only if there is no complete line among them.
    ///
    /// They replace the contents of `bytes`. After an error there is nothing more.
    pub fn next_block(&mut self, mut bytes: Vec<u8>) -> io::Result<Option<Block>> {
        if self.ended {
            return Ok(None);
        }
        bytes.clear();
        bytes.append(&mut self.rest);
        loop {
            let before = bytes.len();
            if let Err(error) = self.read_more(&mut bytes) {
                self.ended = true;
                return Err(error);
            }
            let read = bytes.get(before..).unwrap_or_default();
            if read.is_empty() {
                self.ended = true;
                return Ok((!bytes.is_empty()).then(|| self.block(bytes, 0)));
            }
            if let Some(end) = memrchr(b'\n', read) {
                self.rest.extend(bytes.drain(before + end + 1..));
                bytes.pop();
                return Ok(Some(self.block(bytes, 1)));
            }
        }
    }

    /// Appends what one read gives; nothing at the end.
    fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let before = bytes.len();
        bytes.resize(before + BLOCK, 0);
        let read = loop {
            match self.reader.read(bytes.get_mut(before..).unwrap_or_default()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        bytes.truncate(before + read.as_ref().map_or(0, |read| *read));
        read.map(drop)
    }

    /// The block of these lines, whose last one has an end of that many bytes.
    fn block(&mut self, bytes: Vec<u8>, end: u64) -> Block {
        let block = Block { turn: self.turn, length: bytes.len() as u64 + end, first: self.lines + 1, bytes };
        self.turn += 1;
        self.lines += memchr_iter(b'\n', &block.bytes).count() as u64 + 1;
        block
    }
}

impl Block {
    /// Visits its lines one by one; returns the buffer, unless a line has taken it or it is too large to keep.
    pub fn for_each_line(self, mut take: impl FnMut(Line<'_>)) -> Vec<u8> {
        if memchr(b'\n', &self.bytes).is_none() {
            take(Line { number: self.first, bytes: Cow::Owned(self.bytes) });
            return Vec::new();
        }
        let mut begin = 0;
        for (number, end) in (self.first..).zip(memchr_iter(b'\n', &self.bytes).chain([self.bytes.len()])) {
            let bytes = self.bytes.get(begin..end).unwrap_or_default();
            take(Line { number, bytes: Cow::Borrowed(bytes) });
            begin = end + 1;
        }
        if self.bytes.capacity() <= MAX_SPARE { self.bytes } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Gives its pieces one by one, as a pipe does.
    struct Pieces(VecDeque<&'static str>);

    impl Read for Pieces {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                Some("!") => Err(io::Error::other("gone")),
                Some(piece) => piece.as_bytes().read(out),
                None => Ok(0),
            }
        }
    }

    /// The lines of each block with their numbers, and the length of the block.
    fn read(pieces: &[&'static str]) -> Vec<String> {
        let mut blocks = Blocks::new(Box::new(Pieces(pieces.iter().copied().collect())));
        let mut read = Vec::new();
        let mut spare = b"left over".to_vec();
        loop {
            match blocks.next_block(std::mem::take(&mut spare)) {
                Ok(Some(block)) => {
                    let mut listed = format!("{} of {}:", block.turn, block.length);
                    spare = block.for_each_line(|line| {
                        listed += &format!(" {}={}", line.number, String::from_utf8_lossy(&line.bytes));
                    });
                    read.push(listed);
                }
                Ok(None) => return read,
                Err(error) => read.push(error.to_string()),
            }
        }
    }

    #[test]
    fn a_block_has_the_lines_that_need_no_waiting() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&[], &[]),
            (&["a\nb\n", "c\n"], &["0 of 4: 1=a 2=b", "1 of 2: 3=c"]),
            (&["a\nb", "c", "d\n\n", "e"], &["0 of 2: 1=a", "1 of 5: 2=bcd 3=", "2 of 1: 4=e"]),
            (&["\n"], &["0 of 1: 1="]),
            (&["a\r\nb\r\n"], &["0 of 6: 1=a\r 2=b\r"]),
            (&["a\nb", "!", "c\n"], &["0 of 2: 1=a", "gone"]),
        ];
        for (pieces, expected) in cases {
            assert_eq!(read(pieces), expected, "{pieces:?}");
        }
    }
}
