//! Outputs in rows of JSON: those of a file that others append to, and one output in the chunks that were recorded.

use crate::check::fixture::{self, Broken, Case, Shared};
use crate::input::{self, Problem};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{self, Value};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    start: u64,
    length: u64,
    /// Its line, counted from 1.
    pub line: usize,
}

#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    /// The end of the last row that was read.
    end: u64,
    /// The number of lines before it.
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rows that were appended since the last call. A file that cannot be read has none: it may reappear.
    pub fn take_rows(&mut self) -> Vec<RowPlace> {
        let mut rows = Vec::new();
        // The rows before an error are complete.
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

    /// Reads a row. `change` adds to the defaults of its folder.
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

/// How much of a file's first row is read to find out what the file is, in bytes.
const LONGEST_ROW: u64 = 1 << 16;

/// Whether a file is one output, chunk by chunk: its first row says when it arrived.
pub fn is_recorded(name: &str) -> bool {
    let is_rows = Path::new(name).extension().is_some_and(|extension| extension == fixture::ROWS_EXTENSION);
    let first = is_rows.then(|| std::fs::File::open(name).ok()).flatten();
    let mut line = String::new();
    let read = first.and_then(|file| BufReader::new(file).take(LONGEST_ROW).read_line(&mut line).ok());
    read.is_some() && json::read(&line).is_ok_and(|row| row.get("after_ms").is_some())
}

/// The output in a file of rows `{"after_ms", "text"}`, and the lengths of its chunks, in characters.
pub fn recorded(path: &str) -> Result<(String, Vec<usize>), Problem> {
    let (mut output, mut lengths) = (String::new(), Vec::new());
    for (number, line) in input::text(path)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = json::read(line).ok();
        let chunk = row.as_ref().and_then(|row| row.get("text")).and_then(Value::as_str).ok_or_else(|| {
            let place = Place { line_column: Some((number + 1, 1)), ..Place::file(path) };
            Diagnostic::error("bad-recording", "this row is not a chunk of a recorded output")
                .at(place)
                .help("a chunk is {\"after_ms\": milliseconds, \"text\": the text that arrived}")
        })?;
        output.push_str(chunk);
        lengths.push(chunk.chars().count());
    }
    Ok((output, lengths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::TemplateSource;
    use std::fs;
    use std::io::Write;

    fn names(followed: &mut Followed) -> Vec<String> {
        let shared = |shared: Shared| shared.standing_in(TemplateSource::File("t.json".into()), Some(String::new()));
        let rows = followed.take_rows();
        rows.into_iter()
            .map(|row| followed.case(row, shared).map_or_else(|broken| broken.id, |case| case.id))
            .map(|id| id.rsplit('#').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn a_row_is_read_once_its_line_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        fs::write(&path, "").unwrap();
        let mut followed = Followed::open(path.to_str().unwrap()).unwrap_or_else(|_| panic!("the file exists"));
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let mut append = |text: &str| file.write_all(text.as_bytes()).unwrap();
        assert_eq!(names(&mut followed), [""; 0]);
        append("{\"id\": \"a\", \"text\": \"é\"}\n\n{\"id\": \"b\", \"te");
        assert_eq!(names(&mut followed), ["a"]);
        append("xt\": \"2\"}\noops\n{\"id\": \"c\", \"text\": \"3\"}\n");
        assert_eq!(names(&mut followed), ["b", "4", "c"]);
        assert_eq!(names(&mut followed), [""; 0]);
        fs::write(&path, "{\"id\": \"d\", \"text\": \"\"}\n").unwrap();
        assert_eq!(names(&mut followed), ["d"], "a file that was truncated");
        fs::remove_file(&path).unwrap();
        assert_eq!(names(&mut followed), [""; 0]);
    }

    #[test]
    fn a_problem_of_a_row_names_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        fs::write(&path, "{}\n\n  oops\n").unwrap();
        let mut followed = Followed::open(path.to_str().unwrap()).unwrap_or_else(|_| panic!("the file exists"));
        let rows = followed.take_rows();
        let broken = followed.case(rows[1], |shared| shared).unwrap_err();
        let place = broken.diagnostics[0].place.clone().unwrap();
        assert_eq!((place.line_column, place.file), (Some((3, 3)), Some(path.display().to_string())));
    }
}
