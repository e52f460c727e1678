//! The sources of templates: a JSON file, or a model's `tokenizer_config.json`.

#[cfg(feature = "write")]
mod edit;
mod format;
#[cfg(feature = "write")]
mod replace;

use std::io::{self, Read};
use std::path::{Path as FilePath, PathBuf};

#[cfg(feature = "write")]
use super::Template;
use super::load::{self, TemplateText};
use super::{Loaded, keys};
use backchat_core::diagnostic::{
    Diagnostic, LARGEST_FILE, NotText, OUTPUTS_ALONE, Place, Severity, Sources, has_jinja, in_file, invalid_json,
    is_page, is_rows, text,
};
use backchat_core::files;
use backchat_core::json::{self, Entry, Path, Value};

pub use format::{Format, format_of};
#[cfg(feature = "write")]
pub use replace::replace_file;

/// The key of a `tokenizer_config.json` that holds the response template.
pub const KEY: &str = "response_template";

/// The key that held a response schema before.
pub const SCHEMA_KEY: &str = "response_schema";

/// The last entry of a name; `None` if its value is null. A null key counts as absent.
pub fn given_entry<'e>(entries: &'e [Entry], name: &str, text: &str) -> Option<&'e Entry> {
    let last = entries.iter().rfind(|entry| entry.name == name)?;
    (text.get(last.value.clone()) != Some("null")).then_some(last)
}

/// The file of a model folder that holds it.
const CONFIG: &str = "tokenizer_config.json";

/// A template and the text it was read from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The template and its warnings.
    pub loaded: Loaded,
    /// The file as messages name it.
    pub file: String,
    /// The text of the file, which diagnostics point into.
    pub sources: Sources,
    /// The position of the template in the file.
    #[doc(hidden)]
    pub path: Path,
}

/// Why no template could be read, or written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceError {
    /// All problems.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the file, if it was read.
    pub sources: Sources,
}

/// Why a template cannot be read from a name, or written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The file cannot be read.
    Unreadable,
    /// There is no response template in it.
    NoTemplate,
    /// The template in it, or the file, is not valid.
    Invalid,
    /// The file cannot be written.
    Unwritable,
}

impl SourceError {
    /// Why the template cannot be read from the name, or written to it.
    pub fn kind(&self) -> SourceErrorKind {
        match self.diagnostics.first().map(|problem| problem.id) {
            Some("unreadable-file") => SourceErrorKind::Unreadable,
            Some("no-template" | "response-schema") => SourceErrorKind::NoTemplate,
            Some("unwritable-file") => SourceErrorKind::Unwritable,
            _ => SourceErrorKind::Invalid,
        }
    }

    /// All problems, and the texts that they refer to.
    pub fn new(diagnostics: Vec<Diagnostic>, sources: Sources) -> Self {
        Self { diagnostics, sources }
    }

    fn without_text(diagnostic: Diagnostic) -> Self {
        Self::new(vec![diagnostic], Sources::none())
    }
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let messages: Vec<_> = self.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        out.write_str(&messages.join("; "))
    }
}

impl std::error::Error for SourceError {}

/// Reads a template from its own JSON, from a `tokenizer_config.json` that holds one, from a model folder, or from
/// standard input if `name` is `-`.
pub fn open(name: &str) -> Result<Opened, SourceError> {
    let (file, text) = read(name)?;
    from_text(file, text)
}

/// The path and the text of the file that a name refers to.
pub fn read(name: &str) -> Result<(String, String), SourceError> {
    if name == "-" {
        return Ok(("<stdin>".to_owned(), read_text(io::stdin().lock(), "<stdin>")?));
    }
    read_file(&file_of(name)?)
}

fn read_file(path: &FilePath) -> Result<(String, String), SourceError> {
    let file = path.display().to_string();
    let opened = files::open(path).map_err(|error| unreadable(&file, &error))?;
    let text = read_text(opened, &file)?;
    Ok((file, text))
}

/// Reads a template from the text of a file of either kind.
///
/// ```
/// # use backchat_parser as backchat;
/// use backchat::template::source;
///
/// let config = r#"{"response_template": {"start_anchor": "<|a|>", "fields": {"content": {}}}}"#;
/// let opened = source::from_text("tokenizer_config.json".to_owned(), config.to_owned())?;
/// assert_eq!(opened.loaded.template.fields().len(), 1);
/// # Ok::<(), source::SourceError>(())
/// ```
pub fn from_text(file: String, text: String) -> Result<Opened, SourceError> {
    let result = find(&file, &text);
    let sources = Sources::none().with(file.clone(), text);
    match result {
        Ok((loaded, path)) => Ok(Opened { loaded, file, sources, path }),
        Err(diagnostics) => Err(SourceError::new(diagnostics, sources)),
    }
}

fn find(file: &str, text: &str) -> Result<(Loaded, Path), Vec<Diagnostic>> {
    let not_json = |error| vec![other_text(file, text).unwrap_or_else(|| in_file(invalid_json(text, &error), file))];
    let (document, entries) = json::read_entries(text).map_err(not_json)?;
    let entry = |name: &str| given_entry(entries.as_deref()?, name, text);
    let (span, path) = match (entry(KEY), entry(SCHEMA_KEY)) {
        (Some(entry), _) => (entry.value.clone(), Path::root().key(KEY)),
        (None, Some(entry)) => {
            let place = Place::span(text, entry.key.clone()).in_file(file).path(SCHEMA_KEY);
            return Err(vec![schema_instead(place, file)]);
        }
        (None, None) => (document, Path::root()),
    };
    let both = entry(KEY).and(entry(SCHEMA_KEY));
    let place = || Place::span(text, span.start..span.start + 1).in_file(file).path(path.to_string());
    if path == Path::root() && entries.as_ref().is_some_and(|entries| holds_something_else(file, entries)) {
        let message = format!("no response template here: the file has no key `{KEY}`");
        let help = "pass a file that has one, or add one with `backchat derive MODEL --write`";
        return Err(vec![Diagnostic::error("no-template", message).at(place()).help(help)]);
    }
    if span.len() > load::LARGEST {
        return Err(load::too_large(place()).diagnostics);
    }
    let (value, places) = json::read_with_places_at(text, span.start).map_err(not_json)?;
    match format_of(&value) {
        Format::Schema => return Err(vec![schema_instead(place(), file)]),
        Format::Both => return Err(vec![both_formats(place())]),
        Format::Neither if is_of_neither(&value) => return Err(vec![neither_format(&value, place())]),
        _ => {}
    }
    match load::load_value(&value, &path, Some(TemplateText { text, places: &places })) {
        Ok(mut loaded) => {
            loaded.warnings.extend(both.map(|entry| schema_beside(text, entry)));
            Ok((loaded.in_file(file), path))
        }
        Err(error) => Err(error.in_file(file).diagnostics),
    }
}

/// The finding about a text that is given for a response template by mistake; `None` if it may be JSON with an error.
fn other_text(file: &str, text: &str) -> Option<Diagnostic> {
    let start = text.trim_start();
    let is_jinja = ["{{", "{%", "{#"].iter().any(|tag| start.starts_with(tag));
    let is_plain = start.starts_with(|c: char| c == '<' || c.is_alphabetic());
    let (message, help) = if is_rows(start) {
        ("this is a JSON Lines file, not a response template", OUTPUTS_ALONE.to_owned())
    } else if is_page(start) {
        let help = "download the raw file, not the page that shows it";
        ("this is an HTML page, not a response template", help.to_owned())
    } else if file.ends_with(".jinja") || is_jinja || (is_plain && has_jinja(start)) {
        let file = backchat_core::diagnostic::shell_word(file);
        let help = format!("derive a response template from it: `backchat derive {file}`");
        ("this is a chat template, not a response template", help)
    } else if is_plain {
        ("this is text, such as the output of a model, not a response template", OUTPUTS_ALONE.to_owned())
    } else {
        return None;
    };
    Some(Diagnostic::error("no-template", message).at(Place::file(file)).help(help))
}

/// A response schema was given instead of a response template.
fn schema_instead(place: Place, file: &str) -> Diagnostic {
    let message = "expected a response template, found a response schema: \
                   a response schema reads the whole output; convert it to stream";
    let file = backchat_core::diagnostic::shell_word(file);
    let help = format!("convert it to a response template: `backchat convert {file} -o response_template.json`");
    Diagnostic::error("response-schema", message).at(place).help(help)
}

/// The config has a response template and a response schema.
fn schema_beside(text: &str, entry: &Entry) -> Diagnostic {
    let message = format!("the file also has a `{SCHEMA_KEY}`; the `{KEY}` is used");
    Diagnostic::new(Severity::Note, "response-schema-beside", message)
        .at(Place::span(text, entry.key.clone()).path(SCHEMA_KEY))
        .help("remove the response schema; nothing reads it any more")
}

const BOTH_LOOK: &str = "a response template has `fields`; a response schema has none, and has `type`, `properties`, \
                         `const` or a key that begins with `x-`";

fn both_formats(place: Place) -> Diagnostic {
    let message = "the object has `fields`, as a response template has, and keys of a response schema";
    Diagnostic::error("two-formats", message).at(place).help(BOTH_LOOK)
}

/// Whether a value has no key at all that a response template could have.
fn is_of_neither(value: &Value) -> bool {
    let known = |key: &str| {
        let names = keys::TEMPLATE.iter().map(|known| known.name);
        backchat_core::diagnostic::closest(key, names).is_some()
    };
    value.as_object().is_some_and(|entries| !entries.is_empty() && !entries.keys().any(known))
}

fn neither_format(value: &Value, place: Place) -> Diagnostic {
    const MOST: usize = 5;
    let keys = value.as_object().into_iter().flat_map(|entries| entries.keys());
    let shown: Vec<String> =
        keys.take(MOST).map(|key| format!("`{}`", backchat_core::diagnostic::shortened(key, 40))).collect();
    let message =
        format!("the object is neither a response template nor a response schema: it has {}", shown.join(", "));
    Diagnostic::error("no-template", message).at(place).help(BOTH_LOOK)
}

/// Whether an object without a `response_template` is an unrelated file, not a template with mistakes.
fn holds_something_else(file: &str, entries: &[Entry]) -> bool {
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let is_config = FilePath::new(file).file_name().is_some_and(|name| name == CONFIG);
    let is_foreign = has("chat_template") || has("tokenizer_class");
    is_config || is_foreign && !keys::TEMPLATE.iter().any(|key| has(key.name))
}

/// The token that ends a sequence, if a tokenizer_config.json names it.
pub fn stop_token(config: &Value) -> Option<String> {
    let token = config.get("eos_token")?;
    token.as_str().or_else(|| token.get("content").and_then(Value::as_str)).map(str::to_owned)
}

/// Writes a template into a `tokenizer_config.json`, or into that of a model folder.
///
/// Only the bytes of the key `response_template` change; a missing key is added. The file is replaced
/// as a whole, so it is never half-written.
#[cfg(feature = "write")]
pub fn write_into(name: &str, template: &Template) -> Result<(), SourceError> {
    change(name, |text| edit::edit(text, KEY, &template.to_value())).map(|_| ())
}

/// Removes the response schema from a `tokenizer_config.json`, or from that of a model folder; no other byte changes.
/// Returns whether there was one.
#[cfg(feature = "write")]
pub fn remove_schema_from(name: &str) -> Result<bool, SourceError> {
    change(name, |text| edit::remove(text, SCHEMA_KEY))
}

/// Edits the file of a name; returns whether that changed it.
#[cfg(feature = "write")]
fn change(name: &str, edit: impl Fn(&str) -> Result<String, Diagnostic>) -> Result<bool, SourceError> {
    let path = file_of(name)?;
    let (file, text) = read_file(&path)?;
    let edited = edit(&text).map_err(|diagnostic| SourceError {
        diagnostics: vec![in_file(diagnostic, &file)],
        sources: Sources::none().with(file.clone(), text.clone()),
    })?;
    if edited == text {
        return Ok(false);
    }
    replace_file(&path, edited.as_bytes()).map(|()| true).map_err(|error| {
        let message = format!("cannot write the file: {error}");
        SourceError::without_text(
            Diagnostic::error("unwritable-file", message)
                .at(Place::file(&file))
                .help("the file is unchanged; check that you may write to its folder"),
        )
    })
}

/// The file of a name: itself, or the config of a model folder.
fn file_of(name: &str) -> Result<PathBuf, SourceError> {
    let path = PathBuf::from(name);
    if !path.is_dir() {
        return Ok(path);
    }
    let config = path.join(CONFIG);
    if files::is_file(&config) {
        return Ok(config);
    }
    let diagnostic = Diagnostic::error("no-template", format!("the folder has no `{CONFIG}`"))
        .at(Place::file(name))
        .help("pass a model folder that has one, or the file with the response template");
    Err(SourceError::without_text(diagnostic))
}

fn unreadable(file: &str, error: &io::Error) -> SourceError {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "check the name; a template is read from a JSON file, a model folder, or `-`",
        _ => "check that it is a file you may read",
    };
    let diagnostic = Diagnostic::error("unreadable-file", format!("cannot read the file: {error}"));
    SourceError::without_text(diagnostic.at(Place::file(file)).help(help))
}

/// Reads a text that must be UTF-8 and of bounded size.
fn read_text(reader: impl Read, file: &str) -> Result<String, SourceError> {
    let mut bytes = Vec::new();
    reader.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| unreadable(file, &error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        let message = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
        let diagnostic = Diagnostic::error("unreadable-file", message).at(Place::file(file));
        return Err(SourceError::without_text(
            diagnostic.help("a response template is a small JSON file: check the name"),
        ));
    }
    text(file, bytes).map_err(|NotText { diagnostic, sources }| SourceError { diagnostics: vec![diagnostic], sources })
}
