//! A file of rows that is followed while others append to it. Only rows whose line has ended are seen; a file that is
//! shorter than it was is read from its beginning again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::check::fixture::{self, Broken, Case, Shared};
use crate::input::{self, Problem};
use backchat_core::diagnostic::{Diagnostic, Place};

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    start: u64,
    length: u64,
    /// Its line, counted from 1.
    pub line: usize,
}

/// A file that is followed.
#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    /// The end of the last row that was seen.
    end: u64,
    /// How many lines there were up to there.
    lines: usize,
}

impl Followed {
    /// Follows a file from its beginning.
    pub fn open(path: &str) -> Result<Self, Problem> {
        let cannot_read = |error: io::Error| input::cannot_read(path, &error);
        let data = File::open(path).and_then(|file| file.metadata()).map_err(cannot_read)?;
        if !data.is_file() {
            let problem = Diagnostic::error("not-a-file", "only a file can be followed").at(Place::file(path));
            return Err(problem.help("name the file that `backchat serve --record` writes").into());
        }
        Ok(Self { path: PathBuf::from(path), end: 0, lines: 0 })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rows that were appended since this was asked last. A file that cannot be read has none: it may come back.
    pub fn take_rows(&mut self) -> Vec<RowPlace> {
        let mut rows = Vec::new();
        // What was read up to an error was whole rows, and is kept.
        let _ = self.read_rows(&mut rows);
        rows
    }

    fn read_rows(&mut self, rows: &mut Vec<RowPlace>) -> io::Result<()> {
        let length = std::fs::metadata(&self.path)?.len();
        if length < self.end {
            (self.end, self.lines) = (0, 0);
        }
        if length == self.end {
            return Ok(());
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.end))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)? as u64;
            if line.last() != Some(&b'\n') {
                return Ok(());
            }
            self.lines += 1;
            if !line.trim_ascii().is_empty() {
                rows.push(RowPlace { start: self.end, length, line: self.lines });
            }
            self.end += length;
        }
    }

    /// Reads a row. `change` adds what its folder does not share.
    pub fn case(&self, row: RowPlace, change: impl FnOnce(Shared) -> Shared) -> Result<Case, Broken> {
        let name = self.path.display().to_string();
        let text = self
            .text(row)
            .map_err(|problem| Broken { id: format!("{name}#{}", row.line), diagnostics: problem.diagnostics })?;
        fixture::read_row(&self.path, &text, row.line, change)
    }

    fn text(&self, row: RowPlace) -> Result<String, Problem> {
        let name = self.path.display().to_string();
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(row.start))?;
            file.take(row.length).read_to_end(&mut bytes)
        });
        read.map_err(|error| input::cannot_read(&name, &error))?;
        input::of_bytes(&name, bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::check::fixture::TemplateSource;

    fn names(followed: &mut Followed) -> Vec<String> {
        let shared = |shared: Shared| shared.standing_in(TemplateSource::File("t.json".into()), Some(String::new()));
        let rows = followed.take_rows();
        rows.into_iter()
            .map(|row| followed.case(row, shared).map_or_else(|broken| broken.id, |case| case.id))
            .map(|id| id.rsplit('#').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn rows_are_seen_once_when_their_line_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        fs::write(&path, "").unwrap();
        let mut followed = Followed::open(path.to_str().unwrap()).unwrap_or_else(|_| panic!("it is there"));
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let mut append = |text: &str| file.write_all(text.as_bytes()).unwrap();
        assert_eq!(names(&mut followed), [""; 0]);
        append("{\"id\": \"a\", \"text\": \"é\"}\n\n{\"id\": \"b\", \"te");
        assert_eq!(names(&mut followed), ["a"]);
        append("xt\": \"2\"}\noops\n{\"id\": \"c\", \"text\": \"3\"}\n");
        assert_eq!(names(&mut followed), ["b", "4", "c"]);
        assert_eq!(names(&mut followed), [""; 0]);
        fs::write(&path, "{\"id\": \"d\", \"text\": \"\"}\n").unwrap();
        assert_eq!(names(&mut followed), ["d"], "a file that was begun anew");
        fs::remove_file(&path).unwrap();
        assert_eq!(names(&mut followed), [""; 0]);
    }

    #[test]
    fn a_problem_of_a_row_names_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        fs::write(&path, "{}\n\n  oops\n").unwrap();
        let mut followed = Followed::open(path.to_str().unwrap()).unwrap_or_else(|_| panic!("it is there"));
        let rows = followed.take_rows();
        let broken = followed.case(rows[1], |shared| shared).unwrap_err();
        let place = broken.diagnostics[0].place.clone().unwrap();
        assert_eq!((place.line_column, place.file), (Some((3, 3)), Some(path.display().to_string())));
    }
}
