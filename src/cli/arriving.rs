//! Reads the output as it arrives: standard input piece by piece, a file in blocks. An output may have any size.

use std::fs::File;
use std::io::{self, ErrorKind, Read};

use crate::cli::input;
use backchat_workbench::input::Problem;

/// How many bytes of standard input are read at once at most.
const PIECE: usize = 64 << 10;

/// How many bytes of a file are read at once: nearly every output is one piece.
const BLOCK: u64 = 32 << 20;

/// A text that is read while it is parsed.
pub struct Arriving<'p> {
    path: &'p str,
    reader: Box<dyn Read>,
    /// The text so far, for excerpts.
    text: String,
    /// The beginning of an incomplete character.
    rest: Vec<u8>,
    problem: Option<Problem>,
}

impl<'p> Arriving<'p> {
    pub fn open(path: &'p str) -> Result<Self, Problem> {
        let reader: Box<dyn Read> = match path {
            "-" => Box::new(io::stdin()),
            path => Box::new(File::open(path).map_err(|error| input::cannot_read(path, &error))?),
        };
        Ok(Self { path, reader, text: String::new(), rest: Vec::new(), problem: None })
    }

    /// A complete text.
    pub fn whole(path: &'p str) -> Result<String, Problem> {
        let mut arriving = Self::open(path)?;
        while arriving.next_piece().is_some() {}
        arriving.finish()
    }

    /// The next piece; `None` at the end, or after a problem.
    pub fn next_piece(&mut self) -> Option<String> {
        while self.problem.is_none() {
            match self.read() {
                Ok(0) if self.rest.is_empty() => return None,
                Ok(0) => self.refuse(),
                Ok(_) => {
                    if let Some(piece) = self.whole_characters() {
                        self.text.push_str(&piece);
                        return Some(piece);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.problem = Some(input::cannot_read(self.path, &error).into()),
            }
        }
        None
    }

    /// Appends the available input, or the next block of a file.
    fn read(&mut self) -> io::Result<usize> {
        if self.path != "-" {
            return self.reader.by_ref().take(BLOCK).read_to_end(&mut self.rest);
        }
        let before = self.rest.len();
        self.rest.resize(before + PIECE, 0);
        let read = self.reader.read(self.rest.get_mut(before..).unwrap_or_default());
        self.rest.truncate(before + read.as_ref().map_or(0, |read| *read));
        read
    }

    /// Takes the complete characters of the rest.
    fn whole_characters(&mut self) -> Option<String> {
        let end = match str::from_utf8(&self.rest) {
            Ok(_) => self.rest.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => {
                self.refuse();
                return None;
            }
        };
        let after = self.rest.split_off(end);
        let piece = String::from_utf8(std::mem::replace(&mut self.rest, after)).ok()?;
        (!piece.is_empty()).then_some(piece)
    }

    /// The rest is not UTF-8.
    fn refuse(&mut self) {
        let bytes = [self.text.as_bytes(), &self.rest].concat();
        self.problem = input::of_bytes(self.path, bytes).err();
    }

    /// All of the text, or why it could not be read to its end.
    pub fn finish(self) -> Result<String, Problem> {
        self.problem.map_or(Ok(self.text), Err)
    }
}
