//! A model folder is one thing: which chat template, response template and tokens belong to a document.

use std::path::{Path, PathBuf};

use backchat_chat::source::{self, Source};
use backchat_core::{files, json};
use backchat_derive::derive::Options;

use crate::chat_text::ChatText;
use crate::document::{Document, is_response_template};
use crate::settings::Settings;

/// The files of a folder that may hold a response template by their names.
const RESPONSES: [&str; 2] = ["response_template.json", "tokenizer_config.json"];

/// The chat template of a document with the tokens of its folder.
pub fn source_of(document: &Document, text: &ChatText) -> Source {
    let mut own = Source::default();
    own.file = document.path.display().to_string();
    own.template = text.source.to_string();
    if !document.is_file {
        return own;
    }
    let path = document.path.display().to_string();
    let opened = match folder_of(document) {
        Some(folder) => source::open(&folder.display().to_string(), text.name.as_deref()),
        None => source::open(&path, text.name.as_deref()),
    };
    own.special_tokens = opened.map(|opened| opened.special_tokens).unwrap_or_default();
    own.with_tokens_beside()
}

/// The model folder of a chat template that is one of its files.
fn folder_of(document: &Document) -> Option<&Path> {
    let folder = document.path.parent()?;
    match document.name().as_str() {
        "chat_template.jinja" | "tokenizer_config.json" | "chat_template.json" => Some(folder),
        _ if folder.ends_with("additional_chat_templates") => folder.parent(),
        _ => None,
    }
}

/// The chat template of the folder that a response template is in.
pub fn chat_template_beside(path: &Path) -> Option<Source> {
    let folder = path.parent()?;
    source::open(&folder.display().to_string(), None).ok().map(|source| source.for_tools().with_tokens_beside())
}

/// The files with response templates in the folder of a chat template.
pub fn responses_beside(path: &Path) -> Vec<PathBuf> {
    let Some(folder) = path.parent() else { return Vec::new() };
    let folder = if folder.ends_with("additional_chat_templates") { folder.parent().unwrap_or(folder) } else { folder };
    let mut found: Vec<PathBuf> =
        RESPONSES.iter().map(|name| folder.join(name)).filter(|path| files::is_file(path)).collect();
    for path in files::in_folder(folder).unwrap_or_default() {
        let is_json = path.extension().is_some_and(|end| end == "json") && !found.contains(&path);
        if is_json
            && read(&path).and_then(|text| json::read(&text).ok()).is_some_and(|value| is_response_template(&value))
        {
            found.push(path);
        }
    }
    found.retain(|path| read(path).is_some_and(|text| text.contains("\"fields\"")));
    found
}

/// Files that are larger hold no templates.
const LARGEST: u64 = 4 << 20;

/// The text of a file or of its document.
pub fn read(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    files::open(path).ok()?.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LARGEST { None } else { String::from_utf8(bytes).ok() }
}

/// The options of a derivation or a proof.
pub fn options(source: &Source, settings: &Settings) -> Options {
    let mut variables = source.special_tokens.clone();
    variables.extend(settings.set.iter().cloned());
    let options = Options::for_source(source).variables(variables).now(Some(settings.now.clone()));
    options.targets(settings.targets.clone())
}
