//! Resolves and reads the names that users give: a file, `-` for standard input, a model folder, or a model in the Hugging Face cache.
//!
//! One size limit holds for every file, and each failure has one wording, with the file it is about and what to do.

mod piped;
mod problem;
mod tokenizer;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

pub use piped::{Arrival, Piped};
pub use problem::Problem;
pub use tokenizer::{chat_control_tokens, tokenizer, tokenizer_json, tokens};

use backchat_core::diagnostic::{self, Diagnostic, LARGEST_FILE, NotText, Place, Sources, in_file, invalid_json};
use backchat_core::json::{self, Value};
use backchat_legacy::schema;
use backchat_parser::template::source::{self, Opened, SourceError};

/// The text of a file, or of standard input.
pub fn text(path: &str) -> Result<String, Problem> {
    of_bytes(path, bytes_up_to(path, LARGEST_FILE)?)
}

/// The bytes of a file, or of standard input, if there are not too many.
fn bytes_up_to(path: &str, largest: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    match path {
        "-" => io::stdin().lock().take(largest + 1).read_to_end(&mut bytes),
        path => File::open(path).and_then(|file| {
            // Allocates all at once: growing would take twice the memory.
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            bytes.reserve_exact(usize::try_from(length.min(largest)).unwrap_or(0) + 1);
            file.take(largest + 1).read_to_end(&mut bytes)
        }),
    }
    .map_err(|error| cannot_read(path, &error))?;
    if bytes.len() as u64 > largest {
        let message = format!("the file is larger than {} MiB", largest >> 20);
        let diagnostic = Diagnostic::error("unreadable-file", message).at(Place::file(name(path)));
        return Err(diagnostic
            .help("check that it is the file you mean; put many outputs into a JSON Lines file")
            .into());
    }
    Ok(bytes)
}

/// Decodes the bytes of a file as text.
pub fn of_bytes(path: &str, bytes: Vec<u8>) -> Result<String, Problem> {
    diagnostic::text(name(path), bytes)
        .map_err(|NotText { diagnostic, sources }| Problem { diagnostics: vec![diagnostic], sources })
}

/// The JSON value of a file, or of standard input.
pub fn json(path: &str) -> Result<Value, Problem> {
    json_of(path, text(path)?)
}

/// Parses the text of a file as JSON.
pub fn json_of(path: &str, text: String) -> Result<Value, Problem> {
    backchat_core::json::read(&text).map_err(|error| Problem {
        diagnostics: vec![in_file(invalid_json(&text, &error), name(path))],
        sources: Sources::none().with(name(path), text),
    })
}

/// A list of tools, from a file or from standard input.
pub fn tools(path: &str) -> Result<Value, Problem> {
    let text = text(path)?;
    let tools = json_of(path, text.clone())?;
    let items = match &tools {
        Value::List(items) => items.as_slice(),
        Value::Null => &[],
        other => {
            return Err(Diagnostic::error("wrong-type", format!("expected a list of tools, not {}", other.kind()))
                .at(Place::file(name(path)))
                .help("write the tools in brackets, even a single one: `[{\"type\": \"function\", …}]`")
                .into());
        }
    };
    let wrong = (0..).zip(items).filter_map(|(index, tool)| wrong_tool(tool, &json::Path::root().index(index)));
    let help = "write each tool as `{\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": {…}}}`";
    let diagnostic =
        |(value, message)| Diagnostic::error("wrong-tool", message).at(place_in_json(path, &text, &value)).help(help);
    let diagnostics: Vec<_> = wrong.map(diagnostic).collect();
    if diagnostics.is_empty() {
        return Ok(tools);
    }
    Err(Problem { diagnostics, sources: Sources::none().with(name(path), text) })
}

/// The problem of a tool and its position; tools of other types than functions, which servers know, are accepted.
fn wrong_tool(tool: &Value, path: &json::Path) -> Option<(json::Path, String)> {
    let wrong = |path: json::Path, message: String| Some((path, message));
    if tool.as_object().is_none() {
        return wrong(path.clone(), format!("a tool is an object, not {}", tool.kind()));
    }
    let (function, path) = match tool.get("function") {
        Some(function) => (function, path.key("function")),
        None if tool.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "function") => return None,
        None => (tool, path.clone()),
    };
    match function.get("name") {
        _ if function.as_object().is_none() => {
            return wrong(path, format!("`function` is an object, not {}", function.kind()));
        }
        Some(Value::String(_)) => {}
        Some(other) => return wrong(path.key("name"), format!("the name of a tool is text, not {}", other.kind())),
        None => return wrong(path, "the tool has no `name`".to_owned()),
    }
    match function.get("parameters") {
        None | Some(Value::Object(_) | Value::Null) => None,
        Some(other) => wrong(path.key("parameters"), format!("`parameters` is a JSON schema, not {}", other.kind())),
    }
}

/// The place of a value in a JSON file.
fn place_in_json(path: &str, text: &str, value: &json::Path) -> Place {
    let places = json::read_with_places(text).map(|(_, places)| places).unwrap_or_default();
    let span = places.at(value).map(|place| place.value.clone());
    span.map_or_else(|| Place::file(name(path)), |span| Place::span(text, span).in_file(name(path)))
}

/// Whether a name is that of a model in the Hugging Face cache, and of no file.
pub fn is_cached(name: &str) -> bool {
    backchat_chat::source::is_cached_name(name) && !Path::new(name).exists()
}

/// The response template that a name refers to.
pub fn template(name: &str) -> Result<Opened, SourceError> {
    source::open(&place(name)?)
}

/// The response template or response schema that a name refers to.
pub fn template_or_schema(name: &str) -> Result<schema::source::Stored, SourceError> {
    schema::source::open(&place(name)?)
}

/// Parses a text as a response template or response schema; messages name no file.
pub fn template_or_schema_in(text: String) -> Result<schema::source::Stored, SourceError> {
    schema::source::from_text(String::new(), text)
}

/// The file or folder that a name refers to, which may be that of a model in the cache.
pub fn place(name: &str) -> Result<String, SourceError> {
    if !is_cached(name) {
        return Ok(name.to_owned());
    }
    let folder = backchat_chat::source::cached_folder(name)
        .map_err(|error| SourceError::new(error.diagnostics, error.sources))?;
    Ok(folder.to_string_lossy().into_owned())
}

/// The name of a model without its place: that of its folder or file, or of the folder of a file with a generic name.
pub fn model_name(model: &str) -> String {
    let path = Path::new(model);
    // `.` and `..` are not names.
    let full = std::path::absolute(path).ok().filter(|full| full.file_name().is_some());
    let full = full.or_else(|| path.canonicalize().ok()).unwrap_or_else(|| path.to_owned());
    match (without_ending(&full).as_str(), full.parent().and_then(Path::file_name)) {
        ("chat_template" | "tokenizer_config", Some(folder)) => folder.to_string_lossy().into_owned(),
        (name, _) => name.to_owned(),
    }
}

/// The name of a file without the extension of a chat template, or of a folder. Other dots belong to the name.
pub fn without_ending(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends = [".jinja", ".json", ".gguf"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// The name of a file in messages.
pub fn name(path: &str) -> &str {
    if path == "-" { "<stdin>" } else { path }
}

/// The error if several inputs are standard input, which can be read only once.
pub fn stdin_once<'i>(inputs: impl IntoIterator<Item = Option<&'i str>>, help: &str) -> Result<(), Diagnostic> {
    match inputs.into_iter().filter(|input| *input == Some("-")).count() {
        0 | 1 => Ok(()),
        _ => Err(Diagnostic::error("input-read-twice", "standard input is named more than once").help(help)),
    }
}

/// Refuses to change a file that is no longer as it was read.
pub fn is_unchanged(name: &str, before: &str) -> Result<(), Problem> {
    if text(name)? == before {
        return Ok(());
    }
    let problem = Diagnostic::error("file-changed", "the file changed since it was read; nothing was written");
    Err(problem.at(Place::file(name)).help("look at it again as it is now").into())
}

/// The error about a file that cannot be read.
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

/// The error about a file that cannot be written.
pub fn cannot_write(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error("unwritable-file", format!("cannot write the file: {error}"))
        .at(Place::file(path))
        .help("check that its folder exists and that you may write there")
}

/// A file's path as a file in a folder names it.
pub fn path_from(folder: &Path, path: &Path) -> String {
    let (folder, path) = (full(folder), full(path));
    let common = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(common)).collect();
    relative.display().to_string()
}

/// An absolute path with links resolved, as far as it exists.
fn full(path: &Path) -> PathBuf {
    let path = if path == Path::new("") { Path::new(".") } else { path };
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(full), ..) => full,
        (Err(_), Some(above), Some(name)) => full(above).join(name),
        (Err(_), ..) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_after_its_folder_if_its_file_has_a_generic_name() {
        let cases = [
            ("models/mine-1.5", "mine-1.5"),
            ("models/mine/tokenizer_config.json", "mine"),
            ("models/mine/chat_template.jinja", "mine"),
            ("templates/mine-1.5.jinja", "mine-1.5"),
            ("mine.Q4_K_M.gguf", "mine.Q4_K_M"),
            ("ORG/mine-1.5", "mine-1.5"),
        ];
        for (model, expected) in cases {
            assert_eq!(model_name(model), expected, "{model}");
        }
        let here = std::env::current_dir().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!((model_name("."), model_name("src/..")), (here.clone(), here));
    }

    #[test]
    fn a_missing_folder_has_relative_paths() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("model")).unwrap();
        let path = |name: &str| project.path().join(name);
        assert_eq!(path_from(&path("new/folder"), &path("model")), "../../model");
        assert_eq!(path_from(&path("new"), &path("new/model.json")), "model.json");
    }
}
