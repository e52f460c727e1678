//! Reads the input of rows in blocks of complete lines.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memchr_iter};

use super::{Line, MAX_SPARE};

/// How many bytes are read at once. A longer line is a block by itself.
pub(super) const BLOCK: usize = 256 * 1024;

/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

pub(super) struct Blocks {
    reader: Box<dyn Read + Send>,
    /// Lines that no block has taken yet, and the beginning of one whose end is not read.
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

    /// The first `most` of the lines available now; waits for more only if there is no complete line among them.
    ///
    /// They replace the contents of `bytes`. After an error there is nothing more.
    pub fn next_block(&mut self, mut bytes: Vec<u8>, most: usize) -> io::Result<Option<Block>> {
        bytes.clear();
        bytes.append(&mut self.rest);
        let mut searched = 0;
        while !self.ended {
            let lines = memchr_iter(b'\n', bytes.get(searched..).unwrap_or_default()).take(most);
            if let Some((before, end)) = lines.enumerate().last() {
                let end = searched + end;
                self.rest.extend_from_slice(bytes.get(end + 1..).unwrap_or_default());
                bytes.truncate(end);
                return Ok(Some(self.block(bytes, before as u64 + 1, 1)));
            }
            searched = bytes.len();
            match self.read_more(&mut bytes) {
                Ok(read) => self.ended = read == 0,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok((!bytes.is_empty()).then(|| self.block(bytes, 1, 0)))
    }

    /// Appends the bytes of one read; returns their number, which is 0 at the end.
    fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let before = bytes.len();
        bytes.resize(before + BLOCK, 0);
        let read = loop {
            match self.reader.read(bytes.get_mut(before..).unwrap_or_default()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        bytes.truncate(before + read.as_ref().map_or(0, |read| *read));
        read
    }

    /// A block of this many lines, the last of which has a terminator of `end` bytes.
    fn block(&mut self, mut bytes: Vec<u8>, lines: u64, end: u64) -> Block {
        let length = bytes.len() as u64 + end;
        // Editors may write a byte order mark.
        if self.turn == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let block = Block { turn: self.turn, length, first: self.lines + 1, bytes };
        self.turn += 1;
        self.lines += lines;
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
    fn read(pieces: &[&'static str], most: usize) -> Vec<String> {
        let mut blocks = Blocks::new(Box::new(Pieces(pieces.iter().copied().collect())));
        let mut read = Vec::new();
        let mut spare = b"left over".to_vec();
        loop {
            match blocks.next_block(std::mem::take(&mut spare), most) {
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
    fn a_block_has_the_lines_available_without_waiting() {
        let cases: [(&[&str], &[&str]); 8] = [
            (&[], &[]),
            (&["a\nb\n", "c\n"], &["0 of 4: 1=a 2=b", "1 of 2: 3=c"]),
            (&["a\nb", "c", "d\n\n", "e"], &["0 of 2: 1=a", "1 of 5: 2=bcd 3=", "2 of 1: 4=e"]),
            (&["\n"], &["0 of 1: 1="]),
            (&["a\r\nb\r\n"], &["0 of 6: 1=a\r 2=b\r"]),
            (&["a\nb", "!", "c\n"], &["0 of 2: 1=a", "gone"]),
            // Only the first byte order mark is one.
            (&["\u{feff}a\n", "\u{feff}b"], &["0 of 5: 1=a", "1 of 4: 2=\u{feff}b"]),
            (&["\u{feff}"], &["0 of 3: 1="]),
        ];
        for (pieces, expected) in cases {
            assert_eq!(read(pieces, usize::MAX), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_block_has_at_most_the_requested_lines() {
        let pieces = &["a\nb\n\nc\nd", "e\n", "f"];
        assert_eq!(
            read(pieces, 1),
            ["0 of 2: 1=a", "1 of 2: 2=b", "2 of 1: 3=", "3 of 2: 4=c", "4 of 3: 5=de", "5 of 1: 6=f"]
        );
        assert_eq!(read(pieces, 3), ["0 of 5: 1=a 2=b 3=", "1 of 2: 4=c", "2 of 3: 5=de", "3 of 1: 6=f"]);
    }
}
