//! The two sides of a comparison: what a file, a folder or a revision of one holds.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::cli::chat_options::Given;
use crate::cli::{Failure, input};
use backchat_chat::source::{self, Source};
use backchat_core::diagnostic::{Diagnostic, Place as At, escape};
use backchat_core::json;
use backchat_diff::{Chat, Model};
use backchat_legacy::schema::source::Stored;
use backchat_parser::template::Template;
use backchat_workbench::answers;

/// Where a side is, and how messages name it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// What is opened.
    pub path: String,
    /// What is shown.
    pub shown: String,
    /// The file whose neighbors hold its special tokens.
    pub home: String,
    /// What is removed once the comparison is done.
    pub _folder: Option<Arc<tempfile::TempDir>>,
}

impl Place {
    pub(super) fn plain(path: &str) -> Self {
        Self { path: path.to_owned(), shown: path.to_owned(), home: path.to_owned(), _folder: None }
    }

    /// A copy of a file whose name does not say what it holds, with a name that does. A pipe is read only here: nothing
    /// is left in it.
    fn copy(&self) -> Result<Option<Self>, Failure> {
        let path = Path::new(&self.path);
        let is_named = path.extension().is_some_and(|end| ["jinja", "j2", "json"].iter().any(|own| end == *own));
        if is_named && path.is_file() || is_gguf(path) || path.is_dir() || !path.exists() {
            return Ok(None);
        }
        let text = input::text(&self.path)?;
        let is_object = json::read(&text).is_ok_and(|value| value.as_object().is_some());
        let name = if is_object { "source.json" } else { "source.jinja" };
        let (path, folder) = temporary(name.as_ref(), text.as_bytes())?;
        Ok(Some(Self { path, _folder: Some(folder), ..self.clone() }))
    }
}

/// Writes a file of this name into a folder of its own, which is removed once nothing holds it.
pub(super) fn temporary(name: &OsStr, content: &[u8]) -> Result<(String, Arc<tempfile::TempDir>), Failure> {
    let folder = tempfile::tempdir().map_err(Failure::Io)?;
    let file = folder.path().join(name);
    std::fs::write(&file, content).map_err(Failure::Io)?;
    Ok((file.to_string_lossy().into_owned(), Arc::new(folder)))
}

/// A side as it was opened.
pub(super) struct Opened {
    pub model: Model,
    /// The source of its chat template, for messages about it.
    pub source: Option<Source>,
    /// Its response template, for the linter.
    pub stored: Option<Stored>,
    /// Whether it is a response template and nothing else.
    pub is_response_file: bool,
    /// Whether it is a chat template and nothing else.
    is_template_file: bool,
}

impl Opened {
    fn new(place: &Place, given: &Given, template_name: Option<&str>) -> Result<Self, Failure> {
        let copy = place.copy()?;
        let place = copy.as_ref().unwrap_or(place);
        Self::read(place, given, template_name).map_err(|failure| failure.shown_as(&place.path, &place.shown))
    }

    fn read(place: &Place, given: &Given, template_name: Option<&str>) -> Result<Self, Failure> {
        let mut source = match template_name {
            Some(name) => Some(source::open(&place.path, Some(name))?),
            // Standard input and files without a known name hold chat templates unless they are JSON.
            None if holds_chat_alone(&place.path) => Some(source::open(&place.path, None)?.for_tools()),
            None => answers::chat_template(&place.path)?,
        };
        let has_chat = source.is_some();
        let folder = Path::new(&place.path);
        if !has_chat && folder.is_dir() && !folder.join("tokenizer_config.json").exists() {
            let message = "the folder holds neither a chat template nor a response template";
            let problem = Diagnostic::error("no-template", message).at(At::file(&place.path));
            return Err(problem.help("pass a model folder, or a file").into());
        }
        let stored = if holds_chat_alone(&place.path) { None } else { answers::response(&place.path, has_chat)? };
        let response = stored.as_ref().and_then(|stored| match stored {
            Stored::Template(opened) => Some(opened.loaded.template.clone()),
            Stored::Schema(_) => None,
        });
        if let Some(mut own) = source.take() {
            if place.home != place.path {
                own.file.clone_from(&place.home);
            }
            own = own.with_tokens_beside();
            if place.shown != place.path {
                own.file.clone_from(&place.shown);
            }
            source = Some(own);
        }
        let mut chat = source.as_ref().map(|source| chat_of(source, given));
        if let Some(chat) = &mut chat {
            chat.token_ids = answers::token_ids(&place.path)?;
        }
        let is_response_file = chat.is_none() && response.is_some();
        let is_template_file = is_jinja(&place.path);
        Ok(Self { model: Model { chat, response }, source, stored, is_response_file, is_template_file })
    }

    /// Takes the special tokens of the other side, if this one is a file of its own, without a model's files beside it:
    /// without them every conversation would differ. Returns its name.
    fn share_tokens(&mut self, other: &Self) -> Option<&str> {
        let (source, chat) = (self.source.as_ref()?, self.model.chat.as_mut()?);
        let tokens = &other.source.as_ref()?.special_tokens;
        let is_alone = self.is_template_file && source.special_tokens.is_empty();
        let is_named = tokens.keys().any(|name| chat.template.contains(name) && !chat.variables.contains_key(name));
        if !is_alone || !is_named {
            return None;
        }
        let given = std::mem::replace(&mut chat.variables, tokens.clone());
        chat.variables.extend(given);
        Some(&source.file)
    }

    /// What the linter says of its response template.
    pub(super) fn advice(&self) -> Vec<String> {
        match &self.stored {
            Some(Stored::Template(opened)) => {
                let found = answers::LintOptions::default().find(opened);
                found.into_iter().map(|finding| format!("{}: {}", finding.id, finding.message)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Adds the chat template that a response template belongs to.
    pub(super) fn add_chat(&mut self, name: &str, given: &Given) -> Result<(), Failure> {
        let source = source::open(name, None)?.for_tools();
        self.model.chat = Some(chat_of(&source, given));
        Ok(())
    }
}

/// Whether a path names a chat template and nothing else.
pub(super) fn is_jinja(path: &str) -> bool {
    path == "-" || Path::new(path).extension().is_some_and(|end| end == "jinja" || end == "j2")
}

/// Whether a file is a GGUF file, whatever its name. A pipe is none, and is not read.
fn is_gguf(path: &Path) -> bool {
    let mut start = [0; 4];
    let is_read = path.is_file() && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok());
    is_read && start == *b"GGUF"
}

/// Whether a path holds chat templates and nothing else.
fn holds_chat_alone(path: &str) -> bool {
    is_jinja(path) || is_gguf(Path::new(path))
}

fn chat_of(source: &Source, given: &Given) -> Chat {
    let name = source.file.clone();
    Chat { template: source.template.clone(), variables: given.variables(source), name, ..Chat::default() }
}

/// Opens both sides. One that is a chat template alone takes the special tokens of the other, and the answer names it.
pub(super) fn both(
    places: [&Place; 2],
    given: &Given,
    template_name: Option<&str>,
) -> Result<([Opened; 2], Option<String>), Failure> {
    let open = |place| Opened::new(place, given, template_name);
    let [mut old, mut new] = [open(places[0])?, open(places[1])?];
    let shared = old.share_tokens(&new).map(str::to_owned);
    let shared = shared.or_else(|| new.share_tokens(&old).map(str::to_owned));
    Ok(([old, new], shared))
}

/// The response template that reads the renders of both.
pub(super) fn response_template(file: &str) -> Result<Template, Failure> {
    match answers::response(file, false)? {
        Some(Stored::Template(opened)) => Ok(opened.loaded.template),
        _ => {
            let message = format!("{} holds no response template", escape(file));
            let help = "pass a response template, such as one that `backchat derive -o` writes";
            Err(Diagnostic::error("no-response-template", message).help(help).into())
        }
    }
}

/// The ids of the special tokens in a tokenizer's file, or in those of a model folder.
pub(super) fn token_ids(file: &str) -> Result<Vec<(String, u32)>, Failure> {
    let ids = match Path::new(file).is_dir() {
        true => answers::token_ids(file)?,
        false => answers::token_ids_of(&input::json(file)?),
    };
    if ids.is_empty() {
        let message = format!("{} lists no special tokens", escape(file));
        let help = "pass a tokenizer.json or a tokenizer_config.json, or the folder that holds one";
        return Err(Diagnostic::error("no-special-tokens", message).help(help).into());
    }
    Ok(ids)
}
