//! The settings of the client over those of `backchat.toml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::super::lint_config::Config;
use super::convert::{to_ours, uri_of};
use backchat_derive::targets::Target;
use backchat_editor::{Level, ProofMode, Settings};
use backchat_workbench::lint;
use backchat_workbench::report::Playground;

/// The name of the file with settings.
pub const FILE: &str = "backchat.toml";

/// What the setting `playground` should be.
pub const PLAYGROUND: &str =
    "should be an address that begins with `https://`, `http://` or `file://`, or an absolute path";

/// The settings of every folder of the workspace.
#[derive(Debug, Default)]
pub struct Workspace {
    folders: Vec<(PathBuf, Arc<Settings>)>,
    /// Those of the client, which are the same everywhere.
    pub client: Arc<Settings>,
    /// The page that opens chat templates.
    pub playground: Option<Playground>,
}

impl Workspace {
    /// Reads the settings of folders. Returns a message for each file, and each setting of the client, with errors, too.
    pub fn read(folders: &[PathBuf], client: &Value) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut of_folder = |folder: &PathBuf| {
            let (settings, problem) = read(folder, client);
            problems.extend(problem.filter(|problem| !problems.contains(problem)));
            (folder.clone(), Arc::new(settings))
        };
        let folders = folders.iter().map(&mut of_folder).collect();
        let mut of_all = Settings::default();
        of_client(&mut of_all, client);
        let place = section(client).get("playground").and_then(Value::as_str).filter(|place| !place.is_empty());
        let playground = place.and_then(playground);
        if let Some(place) = place.filter(|_| playground.is_none()) {
            problems.push(format!("the editor's setting `playground` {PLAYGROUND}, not `{place}`"));
        }
        (Self { folders, client: Arc::new(of_all), playground }, problems)
    }

    /// The settings for a file: those of the innermost folder around it, or of the first folder if none is.
    pub fn of(&self, file: &Path) -> &Arc<Settings> {
        let around = self.folders.iter().filter(|(folder, _)| file.starts_with(folder));
        let innermost = around.max_by_key(|(folder, _)| folder.components().count());
        innermost.or(self.folders.first()).map_or(&self.client, |(_, settings)| settings)
    }
}

/// The settings for a folder. A file with errors counts as none; its errors are returned.
fn read(folder: &Path, client: &Value) -> (Settings, Option<String>) {
    let mut settings = Settings::default();
    let file = folder.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file());
    let mut problem = None;
    if let Some(file) = file {
        match Config::read(Some(&file)) {
            Ok(config) => {
                settings.targets.clone_from(&config.targets);
                let levels = config.levels.iter().map(|(id, level)| ((*id).to_owned(), level.map(Level::from)));
                settings.levels.extend(levels);
            }
            Err(_) => {
                problem = Some(format!(
                    "{} has errors, and its settings do not count: `backchat lint` shows them",
                    file.display()
                ))
            }
        }
    }
    of_client(&mut settings, client);
    (settings, problem)
}

/// The playground at an address or a path.
fn playground(place: &str) -> Option<Playground> {
    if Path::new(place).is_absolute() {
        return Playground::at(&uri_of(Path::new(place)));
    }
    // An address without a scheme would be relative to a page.
    Playground::at(place).filter(|_| place.contains("://"))
}

/// The settings in what a client sends.
fn section(client: &Value) -> &Value {
    client.get("backchat").unwrap_or(client)
}

fn of_client(settings: &mut Settings, client: &Value) {
    let client = section(client);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let rules = client.pointer("/lint/rules").or_else(|| client.get("lint.rules")).and_then(Value::as_object);
    for (name, level) in rules.into_iter().flatten() {
        let id = lint::rule(name).map_or_else(|| name.clone(), |rule| rule.id.to_owned());
        let level = match level.as_str() {
            Some("error") => Some(Level::Error),
            Some("warning") => Some(Level::Warning),
            Some("note" | "information") => Some(Level::Information),
            Some("off") => None,
            _ => continue,
        };
        settings.levels.push((id, level));
    }
    let targets: Vec<String> = match client.get("target") {
        Some(Value::String(target)) => vec![target.clone()],
        Some(Value::Array(targets)) => targets.iter().filter_map(text).collect(),
        _ => Vec::new(),
    };
    let targets: Vec<&'static Target> = targets.iter().filter_map(|name| Target::named(name)).collect();
    if !targets.is_empty() {
        settings.targets = targets;
    }
    let set = client.get("set").and_then(Value::as_object).into_iter().flatten();
    settings.set.extend(set.map(|(name, value)| (name.clone(), to_ours(value))));
    if let Some(now) = client.get("now").and_then(text).filter(|now| backchat_chat::check_time(now).is_ok()) {
        settings.now = now;
    }
    settings.proof = match client.get("proof").and_then(Value::as_str) {
        Some("onSave") => ProofMode::OnSave,
        Some("off") => ProofMode::Off,
        _ => ProofMode::OnType,
    };
    settings.delay = client.get("delay").and_then(Value::as_u64).unwrap_or(settings.delay).min(5_000);
}
