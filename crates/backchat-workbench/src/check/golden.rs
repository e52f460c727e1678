//! Checks whether a derived template is still what deriving gives.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::fixture_files::{Entries, entries, is_passed_over};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json;
use backchat_derive::derive::{self, Options};
use backchat_diff::messages::differences;

/// The folder of derived templates, and the one next to it with their chat templates.
const DERIVED: &str = "derived";
const CHAT_TEMPLATES: &str = "chat_templates";

/// A derived template and the chat template it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The response template.
    pub file: PathBuf,
    /// The chat template.
    pub chat_template: PathBuf,
}

/// The derived templates below some paths: `derived/NAME.json` with a `chat_templates/NAME.jinja` next to the
/// folder. Unreadable folders hold none.
pub fn derived_files(paths: &[PathBuf]) -> Vec<Derived> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() { walk(path, &mut found) } else { found.extend(derived(path)) }
    }
    // Two paths to one folder name its files differently.
    let mut seen = HashSet::new();
    found.retain(|derived| seen.insert(derived.file.canonicalize().unwrap_or_else(|_| derived.file.clone())));
    found
}

fn walk(folder: &Path, found: &mut Vec<Derived>) {
    for (path, kind) in readable(entries(folder)) {
        match kind.is_dir() {
            true if is_passed_over(&path) => {}
            true => walk(&path, found),
            false if kind.is_symlink() => {}
            false => found.extend(derived(&path)),
        }
    }
}

/// The entries that can be read, of a folder that can be.
fn readable(entries: io::Result<impl Iterator<Item = io::Result<(PathBuf, FileType)>>>) -> Entries {
    entries.into_iter().flatten().flatten().collect()
}

fn derived(file: &Path) -> Option<Derived> {
    let folder = file.parent()?;
    // `.` has no name, so the current folder gets its name from the system.
    let named = folder
        .file_name()
        .map(|name| name.to_owned())
        .or_else(|| Some(folder.canonicalize().or_else(|_| std::env::current_dir()).ok()?.file_name()?.to_owned()))?;
    let beside = match folder.parent() {
        Some(above) if folder.file_name().is_some() => above.join(CHAT_TEMPLATES),
        _ => Path::new("..").join(CHAT_TEMPLATES),
    };
    let chat_template = beside.join(file.file_stem()?).with_extension("jinja");
    let is_derived = named == DERIVED && file.extension().is_some_and(|end| end == "json");
    (is_derived && chat_template.is_file()).then(|| Derived { file: file.to_owned(), chat_template })
}

/// The finding about a derived template; the error if it cannot be checked.
pub fn check_derived(derived: &Derived) -> Result<Option<Diagnostic>, Vec<Diagnostic>> {
    let (file, source) = (derived.file.display().to_string(), derived.chat_template.display().to_string());
    let text = fs::read_to_string(&derived.file).map_err(|error| {
        let problem = Diagnostic::error("unreadable-file", format!("cannot read the file: {error}"));
        vec![problem.at(Place::file(&file)).help("check that it is a text file you may read")]
    })?;
    let opened = backchat_chat::source::open(&source, None).map_err(|error| error.diagnostics)?.for_tools();
    let derivation = derive::derive(&opened.template, &Options::for_source(&opened));
    let command = format!("derive it again with `backchat derive {source} -o {file}`, and review the change");
    let drifted =
        |message: String| Some(Diagnostic::error("check-drift", message).at(Place::file(&file)).help(&command));
    let Some(draft) = derivation.response_template else {
        let message = format!("{source} no longer gives a template: {}", derivation.status.name());
        return Ok(drifted(message));
    };
    if text == draft.to_pretty("  ") + "\n" {
        return Ok(None);
    }
    let known = json::read(&text).unwrap_or_default();
    let first = differences(&draft, &known).into_iter().next();
    Ok(drifted(match first {
        Some(first) => format!("{source} derives to a different template: {first}"),
        None => format!("{source} derives to this template with other formatting"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_entry_hides_no_other() {
        let kind = fs::metadata(".").unwrap().file_type();
        let entry = |name: &str| Ok((PathBuf::from(name), kind));
        let entries = [entry("b.json"), Err(io::ErrorKind::PermissionDenied.into()), entry("a.json")];
        let found: Vec<PathBuf> = readable(Ok(entries.into_iter())).into_keys().collect();
        assert_eq!(found, [Path::new("a.json"), Path::new("b.json")]);
    }
}
