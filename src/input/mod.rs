//! Reads what the user names: a file, `-` for standard input, a model folder, or a model in the Hugging Face cache.
//!
//! One size limit holds for every file, and each failure has one wording, with the file it is about and what to do.

mod problem;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

pub use problem::Problem;

use crate::chat;
use crate::diagnostic::{self, Diagnostic, LARGEST_FILE, NotText, Place, Sources};
use crate::json::Value;
use crate::schema;
use crate::template::source::{self, Opened, SourceError};

/// The text of a file, or of standard input.
pub fn text(path: &str) -> Result<String, Problem> {
    of_bytes(path, bytes(path)?)
}

/// The bytes of a file, or of standard input. One limit holds for all files that are read as a whole.
fn bytes(path: &str) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    match path {
        "-" => io::stdin().lock().take(LARGEST_FILE + 1).read_to_end(&mut bytes),
        path => File::open(path).and_then(|file| {
            // Room for all of it at once: growing would take twice the memory.
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            bytes.reserve_exact(usize::try_from(length.min(LARGEST_FILE)).unwrap_or(0) + 1);
            file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)
        }),
    }
    .map_err(|error| cannot_read(path, &error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        let message = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
        let diagnostic = Diagnostic::error("unreadable-file", message).at(Place::file(name(path)));
        return Err(diagnostic
            .help("check that it is the file you mean; put many outputs into a JSON Lines file")
            .into());
    }
    Ok(bytes)
}

/// The text that the bytes of a file are.
pub fn of_bytes(path: &str, bytes: Vec<u8>) -> Result<String, Problem> {
    diagnostic::text(name(path), bytes)
        .map_err(|NotText { diagnostic, sources }| Problem { diagnostics: vec![diagnostic], sources })
}

/// The JSON value of a file, or of standard input.
pub fn json(path: &str) -> Result<Value, Problem> {
    json_of(path, text(path)?)
}

/// The JSON value that the text of a file is.
pub fn json_of(path: &str, text: String) -> Result<Value, Problem> {
    crate::json::read(&text).map_err(|error| Problem {
        diagnostics: vec![
            Diagnostic::error("invalid-json", format!("not valid JSON: {}", error.message))
                .at(Place::span(&text, error.offset..error.offset).in_file(name(path)))
                .help("correct the JSON here; nothing after this place was read"),
        ],
        sources: Sources::none().with(name(path), text),
    })
}

/// A list of tools, from a file or from standard input.
pub fn tools(path: &str) -> Result<Value, Problem> {
    match json(path)? {
        tools @ (Value::List(_) | Value::Null) => Ok(tools),
        other => Err(Diagnostic::error("wrong-type", format!("expected a list of tools, not {}", other.kind()))
            .at(Place::file(name(path)))
            .help("write the tools in brackets, even a single one: `[{\"type\": \"function\", …}]`")
            .into()),
    }
}

/// Whether a name is that of a model in the Hugging Face cache, and of no file.
pub fn is_cached(name: &str) -> bool {
    chat::source::is_cached_name(name) && !Path::new(name).exists()
}

/// The response template of a name.
pub fn template(name: &str) -> Result<Opened, SourceError> {
    source::open(&place(name)?)
}

/// The response template or response schema that a name means.
pub fn template_or_schema(name: &str) -> Result<schema::source::Source, SourceError> {
    schema::source::open(&place(name)?)
}

/// The file or folder that a name means, which may be that of a model in the cache.
pub fn place(name: &str) -> Result<String, SourceError> {
    if !is_cached(name) {
        return Ok(name.to_owned());
    }
    let folder = chat::source::cached_folder(name)
        .map_err(|chat::source::SourceError { diagnostics, sources }| SourceError { diagnostics, sources })?;
    Ok(folder.to_string_lossy().into_owned())
}

/// How a file is named to the user.
pub fn name(path: &str) -> &str {
    if path == "-" { "<stdin>" } else { path }
}

/// The one thing to say about a file that cannot be read.
pub fn cannot_read(path: &str, error: &io::Error) -> Diagnostic {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "check the name; `-` means standard input",
        io::ErrorKind::PermissionDenied => "check that you may read it",
        io::ErrorKind::IsADirectory => "name a file in it",
        _ => "check that it can be read, for instance with `cat`",
    };
    Diagnostic::error("unreadable-file", format!("cannot read the file: {error}"))
        .at(Place::file(name(path)))
        .help(help)
}

/// The one thing to say about a file that cannot be written.
pub fn cannot_write(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error("unwritable-file", format!("cannot write the file: {error}"))
        .at(Place::file(path))
        .help("check that its folder exists and that you may write there")
}

/// A file's path as a file in a folder names it.
pub fn path_from(folder: &Path, path: &Path) -> String {
    let full = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (folder, path) = (full(if folder == Path::new("") { Path::new(".") } else { folder }), full(path));
    let common = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(common)).collect();
    relative.display().to_string()
}
