//! Reads the chat templates of a model folder in the order in which `from_pretrained` looks for them.

use std::path::{Path, PathBuf};

use backchat_core::files;

use super::{Candidates, DEFAULT, Named, SourceError, config, from_file, read_text, unreadable};

const TEMPLATE: &str = "chat_template.jinja";
const NAMED_TEMPLATES: &str = "additional_chat_templates";
const TOKENIZER: &str = "tokenizer_config.json";
const TOKENS: &str = "special_tokens_map.json";
const PROCESSOR: &str = "chat_template.json";

/// Reads a folder's templates: those in files of their own, else those of the tokenizer's config, else the
/// processor's, else those of a `.gguf` file. The special tokens are the tokenizer's.
pub(super) fn read(folder: &Path) -> Result<Candidates, SourceError> {
    let mut found = Candidates::default();
    if let Some((file, text)) = text_of(&folder.join(TOKENIZER))? {
        found = config::parse(&file, &text)?;
    }
    if let Some((_, text)) = text_of(&folder.join(TOKENS))?
        && let Ok(backchat_core::json::Value::Object(map)) = backchat_core::json::read(&text)
    {
        for (name, token) in config::special_tokens(&map) {
            found.special_tokens.entry(name).or_insert(token);
        }
    }
    let own = own_files(folder)?;
    if !own.is_empty() {
        found.templates = own;
    }
    if found.templates.is_empty()
        && let Some((file, text)) = text_of(&folder.join(PROCESSOR))?
    {
        found.templates = config::parse(&file, &text)?.templates;
    }
    if found.templates.is_empty()
        && let Some(path) = gguf_file(folder)
    {
        return from_file(&path, &path.display().to_string());
    }
    if found.templates.is_empty() {
        let message =
            format!("the folder has no chat template: neither {TEMPLATE}, nor one in {TOKENIZER}, nor a .gguf file");
        let help = "name a model folder that has one; base models often have none";
        return Err(SourceError::about(&folder.display().to_string(), "no-chat-template", message, help));
    }
    Ok(found)
}

/// The files that [`read`] reads, whether or not they exist.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let named = [TEMPLATE, TOKENIZER, TOKENS, PROCESSOR].map(|name| folder.join(name));
    named.into_iter().chain(named_templates(folder)).chain(gguf_file(folder)).collect()
}

/// The first `.gguf` file of a folder. Several are one model in several sizes or parts, and the first has the template.
fn gguf_file(folder: &Path) -> Option<PathBuf> {
    let paths = files::in_folder(folder).ok()?.into_iter();
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "gguf")).min()
}

/// The templates in files of their own.
fn own_files(folder: &Path) -> Result<Vec<Named>, SourceError> {
    let mut templates = Vec::new();
    if let Some((file, template)) = text_of(&folder.join(TEMPLATE))? {
        templates.push(Named { name: DEFAULT.to_owned(), template, file });
    }
    for path in named_templates(folder) {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some((file, template)) = text_of(&path)? {
            templates.push(Named { name, template, file });
        }
    }
    Ok(templates)
}

fn named_templates(folder: &Path) -> Vec<PathBuf> {
    let Ok(paths) = files::in_folder(&folder.join(NAMED_TEMPLATES)) else { return Vec::new() };
    let paths = paths.into_iter();
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "jinja")).collect();
    paths.sort();
    paths
}

/// The name and text of a file; `None` if there is no such file.
pub(super) fn text_of(path: &Path) -> Result<Option<(String, String)>, SourceError> {
    let name = path.display().to_string();
    if !files::is_file(path) {
        return if path.is_symlink() { Err(dangling(&name)) } else { Ok(None) };
    }
    let file = files::open(path).map_err(|error| unreadable(&name, &error))?;
    let text = read_text(file, &name)?;
    Ok(Some((name, text)))
}

/// The error about a link to no file, as a copy of a cached model has them if its files were not copied.
fn dangling(name: &str) -> SourceError {
    let message = "this is a link to a file that is not there";
    SourceError::about(
        name,
        "unreadable-file",
        message,
        "copy models from the cache with `cp -L`, or download it again",
    )
}
