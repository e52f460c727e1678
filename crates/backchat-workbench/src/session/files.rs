//! Decides which files hold outputs and in which form, and reads recorded chunks.

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use crate::check::{fixture, fixture_files};
use crate::input::{self, Problem};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{self, Value};

/// How much of a file's first row is read to find out what the file is, in bytes.
const LONGEST_ROW: u64 = 1 << 16;

/// Whether a name on the command line means outputs that name their own templates.
pub fn holds_cases(name: &str) -> bool {
    let (path, case) = fixture::split_id(name);
    let path = Path::new(path);
    let is_file = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some(fixture::EXTENSION | fixture::ROWS_EXTENSION))
    };
    match path.is_dir() {
        true => {
            !path.join("tokenizer_config.json").is_file()
                && fixture_files(&[path.to_owned()]).is_ok_and(|files| !files.is_empty())
        }
        false => case.is_some() || is_file(path),
    }
}

/// Whether a file is one output, chunk by chunk: its first row says when it arrived.
pub fn is_recorded(name: &str) -> bool {
    let is_rows = Path::new(name).extension().is_some_and(|extension| extension == fixture::ROWS_EXTENSION);
    let first = is_rows.then(|| std::fs::File::open(name).ok()).flatten();
    let mut line = String::new();
    let read = first.and_then(|file| BufReader::new(file).take(LONGEST_ROW).read_line(&mut line).ok());
    read.is_some() && json::read(&line).is_ok_and(|row| row.get("after_ms").is_some())
}

/// The chunks of a file of rows `{"after_ms", "text"}`.
pub fn recorded(path: &str) -> Result<Vec<String>, Problem> {
    let text = input::text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let chunks = lines.map(|(number, line)| {
        let row = json::read(line).ok();
        let chunk = row.as_ref().and_then(|row| row.get("text")).and_then(Value::as_str).map(str::to_owned);
        chunk.ok_or_else(|| {
            let place = Place { line_column: Some((number + 1, 1)), ..Place::file(path) };
            Diagnostic::error("bad-recording", "this row is not a chunk of a recorded output")
                .at(place)
                .help("a chunk is {\"after_ms\": milliseconds, \"text\": the text that arrived}")
        })
    });
    Ok(chunks.collect::<Result<_, _>>()?)
}
