//! The templates in a folder, for commands that take a folder of them.

use std::io;
use std::path::{Path, PathBuf};

use super::{Failure, input};
use backchat_core::diagnostic::{Diagnostic, Place};

/// How deep folders are searched.
const DEPTH: usize = 8;

/// The files of a model folder that hold a chat template.
const MODEL_FILES: [&str; 4] = ["chat_template.jinja", "chat_template.json", "tokenizer_config.json", "chat_templates"];

/// Whether a source is a folder of templates, and not that of a model.
pub(super) fn is_collection(source: &Path) -> bool {
    source.is_dir() && !is_model(source)
}

/// The model folders, and the files that hold a chat template, or that `is_also` names, below a folder.
pub(super) fn templates_in(folder: &str, is_also: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let is_template = |file: &Path| holds_chat_template(file) || is_also(file);
    let mut found = Vec::new();
    collect(Path::new(folder), DEPTH, &is_template, &mut found).map_err(|error| input::cannot_read(folder, &error))?;
    if found.is_empty() {
        return Err(Diagnostic::error("no-templates", "this folder has no templates")
            .at(Place::file(folder))
            .help("pass files, or a folder that contains .jinja or .gguf files or model folders")
            .into());
    }
    Ok(found)
}

fn is_model(folder: &Path) -> bool {
    MODEL_FILES.iter().any(|name| folder.join(name).exists())
}

fn holds_chat_template(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "jinja" || end == "gguf")
}

fn collect(
    folder: &Path,
    depth: usize,
    is_template: &impl Fn(&Path) -> bool,
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() && is_model(&path) || path.is_file() && is_template(&path) {
            found.push(path);
        } else if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, is_template, found)?;
        }
    }
    Ok(())
}
