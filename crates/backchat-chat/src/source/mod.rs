//! Reads chat templates from Jinja files, tokenizer configs, model folders, GGUF files and the Hugging Face cache.

mod beside;
mod config;
mod folder;
mod gguf;
mod hub;
mod other_text;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use backchat_core::diagnostic::{Diagnostic, LARGEST_FILE, NotText, Place, Sources, closest, text};
use backchat_core::files;
use backchat_core::json::{Object, Value};

/// The template that transformers takes by default.
const DEFAULT: &str = "default";
/// The template that transformers takes by default if there are tools.
const TOOL_USE: &str = "tool_use";

/// A chat template, and what was stored with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// The file that holds the template, as messages name it.
    pub file: String,
    /// The template.
    pub template: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Names of the other templates there.
    pub other_names: Vec<String>,
    /// The special tokens, as a template sees them: `bos_token`, `eos_token` and so on.
    pub special_tokens: Object,
    /// The template that transformers would take for a conversation with tools, if that is another one.
    for_tools: Option<Named>,
    /// The special tokens that came from files next to the template.
    tokens_beside: Vec<(String, &'static str)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Named {
    name: String,
    template: String,
    file: String,
}

/// The templates and special tokens of one place, before a template is chosen.
#[derive(Clone, Debug, Default)]
struct Candidates {
    templates: Vec<Named>,
    special_tokens: Object,
}

impl Source {
    /// The text of the token that begins a sequence.
    pub fn bos_token(&self) -> Option<&str> {
        self.special_tokens.get("bos_token").and_then(Value::as_str)
    }

    /// The text of the token that ends a sequence.
    pub fn eos_token(&self) -> Option<&str> {
        self.special_tokens.get("eos_token").and_then(Value::as_str)
    }

    /// The source with the template that transformers takes if the conversation has tools: the one named
    /// `tool_use` if there is one, unless another was requested by name.
    #[must_use]
    pub fn for_tools(mut self) -> Self {
        if let Some(named) = self.for_tools.take() {
            let before = self.name.replace(named.name);
            self.other_names.retain(|name| Some(name) != self.name.as_ref());
            self.other_names.extend(before);
            self.template = named.template;
            self.file = named.file;
        }
        self
    }

    /// The source with its templates changed, each once; the function gets the text and the special tokens.
    #[must_use]
    pub fn map_templates(mut self, change: impl Fn(&str, &Object) -> String) -> Self {
        self.template = change(&self.template, &self.special_tokens);
        if let Some(named) = &mut self.for_tools {
            named.template = change(&named.template, &self.special_tokens);
        }
        self
    }
}

/// Why no chat template could be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceError {
    /// The problems.
    pub diagnostics: Vec<Diagnostic>,
    /// The text they refer to, if it was read.
    pub sources: Sources,
}

/// The kind of a [`SourceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The file cannot be read.
    Unreadable,
    /// There is no such chat template: not in the file, or no such model in the cache.
    NoTemplate,
    /// The file is not in the format that its name promises.
    Invalid,
}

impl SourceError {
    /// The kind of the error.
    pub fn kind(&self) -> SourceErrorKind {
        match self.diagnostics.first().map(|problem| problem.id) {
            Some("unreadable-file") => SourceErrorKind::Unreadable,
            Some("no-chat-template" | "not-in-cache") => SourceErrorKind::NoTemplate,
            _ => SourceErrorKind::Invalid,
        }
    }

    /// A problem with a file as a whole.
    fn about(file: &str, id: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        let diagnostic = Diagnostic::error(id, message).at(Place::file(file)).help(help);
        Self { diagnostics: vec![diagnostic], sources: Sources::none() }
    }

    /// Adds help to the error of a folder without a chat template.
    fn help(mut self, help: String) -> Self {
        for diagnostic in self.diagnostics.iter_mut().filter(|diagnostic| diagnostic.id == "no-chat-template") {
            diagnostic.help = Some(help.clone());
        }
        self
    }
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let messages: Vec<_> = self.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        out.write_str(&messages.join("; "))
    }
}

impl std::error::Error for SourceError {}

/// Reads a chat template from a Jinja file, a `tokenizer_config.json`, a `chat_template.json`, a model folder or a
/// `.gguf` file, or from standard input if `name` is `-`.
///
/// If there is no such file and `name` has the form `ORG/NAME`, the model is looked up in the local Hugging Face cache,
/// which `HF_HUB_CACHE` or `HF_HOME` locate. Nothing is fetched.
///
/// If there are several templates, it takes the one named `template_name`, else the one that transformers would:
/// `default`, or `tool_use` with [`Source::for_tools`].
///
/// ```no_run
/// # mod backchat { pub use backchat_chat as chat; pub use backchat_core::json; }
/// let source = backchat::chat::source::open("models/mine", None)?;
/// println!("{} ({} others)", source.template, source.other_names.len());
/// # Ok::<(), backchat::chat::source::SourceError>(())
/// ```
pub fn open(name: &str, template_name: Option<&str>) -> Result<Source, SourceError> {
    choose(name, find(name)?, template_name)
}

/// Reads every chat template that [`open`] can take, in the order in which they are stored.
pub fn open_all(name: &str) -> Result<Vec<Source>, SourceError> {
    let found = find(name)?;
    let names = found.templates.iter().map(|named| named.name.clone());
    names.map(|template_name| choose(name, found.clone(), Some(&template_name))).collect()
}

/// Whether a name may be that of a model on the Hub, `ORG/NAME`, which is looked up in the cache if no file has that
/// name.
pub fn is_cached_name(name: &str) -> bool {
    hub::is_name(name)
}

/// The folder of the model's files in the local Hugging Face cache.
pub fn cached_folder(name: &str) -> Result<PathBuf, SourceError> {
    hub::snapshot(name)
}

/// Whether transformers renders conversations with tools with another template of the same place.
pub fn leaves_tools_to_another(source: &Source) -> bool {
    source.name.as_deref() != Some(TOOL_USE) && source.other_names.iter().any(|name| name == TOOL_USE)
}

/// The files that [`open`] reads for a name, whether or not they exist.
pub fn files(name: &str) -> Vec<PathBuf> {
    let path = Path::new(name);
    match name {
        "-" => Vec::new(),
        _ if path.is_dir() => folder::files(path),
        _ if hub::is_name(name) && !path.exists() => {
            hub::snapshot(name).map_or_else(|_| Vec::new(), |folder| folder::files(&folder))
        }
        _ => vec![path.to_owned()],
    }
}

fn find(name: &str) -> Result<Candidates, SourceError> {
    if name == "-" {
        return from_text("<stdin>", read_text(io::stdin().lock(), "<stdin>")?);
    }
    let path = Path::new(name);
    if path.is_dir() {
        return folder::read(path);
    }
    if hub::is_name(name) && !path.exists() {
        return folder::read(&hub::snapshot(name)?).map_err(|error| error.help(hub::how_to_fetch(name)));
    }
    from_file(path, name)
}

fn from_file(path: &Path, name: &str) -> Result<Candidates, SourceError> {
    let mut file = files::open(path).map_err(|error| unreadable(name, &error))?;
    let mut start = Vec::new();
    file.by_ref().take(gguf::MAGIC.len() as u64).read_to_end(&mut start).map_err(|error| unreadable(name, &error))?;
    if start == gguf::MAGIC {
        return gguf::read(path, name);
    }
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf")) {
        let message = "this is not a GGUF file: it does not begin with `GGUF`";
        return Err(SourceError::about(name, "invalid-gguf", message, "check that the download is complete"));
    }
    from_text(name, read_text(start.as_slice().chain(file), name)?)
}

/// Reads a text that is either JSON with a `chat_template` or Jinja.
fn from_text(file: &str, text: String) -> Result<Candidates, SourceError> {
    let is_json = Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    // A template may begin with a brace, but not the way an object does.
    let looks_like_object = || {
        let inner = text.trim_start().strip_prefix('{').map(str::trim_start);
        inner.is_some_and(|inner| inner.starts_with(['"', '}']) && !text.trim_start().starts_with("{{"))
    };
    let is_config = is_json || looks_like_object();
    other_text::refuse(file, &text, is_config)?;
    if is_config {
        return config::read(file, &text);
    }
    let template = Named { name: DEFAULT.to_owned(), template: text, file: file.to_owned() };
    Ok(Candidates { templates: vec![template], special_tokens: Object::new() })
}

fn choose(place: &str, found: Candidates, wanted: Option<&str>) -> Result<Source, SourceError> {
    let Candidates { mut templates, special_tokens } = found;
    let names: Vec<String> = templates.iter().map(|named| named.name.clone()).collect();
    let position = |name: &str| names.iter().position(|known| known == name);
    let list = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let chosen = match wanted {
        Some(wanted) => position(wanted).ok_or_else(|| {
            let closest = closest(wanted, names.iter().map(String::as_str));
            let suggestion = closest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            let message = format!("there is no chat template named `{wanted}`{suggestion}");
            SourceError::about(place, "no-chat-template", message, format!("there is: {}", list()))
        })?,
        None => position(DEFAULT).or(if names.len() == 1 { Some(0) } else { None }).ok_or_else(|| {
            let message = "there are several chat templates, and none is the default";
            let help = format!("choose one with `--template-name`, or save one as a .jinja file: {}", list());
            SourceError::about(place, "no-chat-template", message, help)
        })?,
    };
    let for_tools = match wanted {
        None => position(TOOL_USE).filter(|tools| *tools != chosen).and_then(|tools| templates.get(tools).cloned()),
        Some(_) => None,
    };
    let named = templates.swap_remove(chosen);
    let several = names.len() > 1;
    let mut other_names = names;
    other_names.remove(chosen);
    Ok(Source {
        file: named.file,
        template: named.template,
        name: (several || named.name != DEFAULT).then_some(named.name),
        other_names,
        special_tokens,
        for_tools,
        tokens_beside: Vec::new(),
    })
}

fn unreadable(file: &str, error: &io::Error) -> SourceError {
    let help = match error.kind() {
        io::ErrorKind::NotFound => {
            "check the name; a chat template is read from a .jinja file, a tokenizer_config.json, a model folder, a \
             .gguf file, ORG/NAME in the Hugging Face cache, or `-`"
        }
        _ => "check that it is a file you may read",
    };
    SourceError::about(file, "unreadable-file", format!("cannot read the file: {error}"), help)
}

/// Reads a text, which must be UTF-8 and of bounded size.
fn read_text(reader: impl Read, file: &str) -> Result<String, SourceError> {
    let mut bytes = Vec::new();
    reader.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| unreadable(file, &error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        let message = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
        let help = "a chat template is a small text: check the name";
        return Err(SourceError::about(file, "unreadable-file", message, help));
    }
    text(file, bytes).map_err(|NotText { diagnostic, sources }| SourceError { diagnostics: vec![diagnostic], sources })
}
