//! Finds models in the local Hugging Face cache by their name on the Hub. Never fetches anything.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::SourceError;

/// The revision of a name without one.
const REVISION: &str = "main";

/// Whether a name could be that of a model on the Hub: `ORG/NAME`.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.chars().all(plain) && !part.starts_with(['.', '-']) && !part.ends_with(['.', '-'])
    };
    let is_file = |name: &str| [".jinja", ".json", ".gguf"].iter().any(|extension| name.ends_with(extension));
    matches!(name.split_once('/'), Some((org, name)) if is_part(org) && is_part(name) && !is_file(name))
}

pub(super) fn snapshot(name: &str) -> Result<PathBuf, SourceError> {
    snapshot_in(cache(|name| env::var_os(name).map(PathBuf::from)).as_deref(), name)
}

/// The command that fetches the files of a model that are read here.
pub(super) fn how_to_fetch(name: &str) -> String {
    format!(
        "fetch it with `hf download {name} --include tokenizer_config.json --include special_tokens_map.json \
         --include '*chat_template*'`"
    )
}

/// The folder of the cache: `HF_HUB_CACHE`, or `hub` in `HF_HOME`, or that in the user's cache.
fn cache(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.as_os_str().is_empty());
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    // The libraries that fill the cache expand `~` where the shell has not.
    let expand = |path: PathBuf| match path.strip_prefix("~") {
        Ok(rest) => home().map_or_else(|| path.clone(), |home| home.join(rest)),
        Err(_) => path,
    };
    let own = || set("HF_HUB_CACHE").or_else(|| set("HUGGINGFACE_HUB_CACHE")).map(expand);
    let in_home = || set("HF_HOME").map(|folder| expand(folder).join("hub"));
    let in_cache = || {
        let caches = set("XDG_CACHE_HOME").map(expand).or_else(|| Some(home()?.join(".cache")));
        caches.map(|folder| folder.join("huggingface").join("hub"))
    };
    own().or_else(in_home).or_else(in_cache)
}

fn snapshot_in(cache: Option<&Path>, name: &str) -> Result<PathBuf, SourceError> {
    let missing = |message: String| {
        let help = format!("check the name, or {}", how_to_fetch(name));
        SourceError::about(name, "not-in-cache", message, help)
    };
    let Some(cache) = cache else {
        return Err(missing("there is no file of this name, and no folder for the Hugging Face cache is known".into()));
    };
    let model = cache.join(format!("models--{}", name.replace('/', "--")));
    if !model.is_dir() {
        let message = format!("there is no file of this name, and no such model in the cache {}", cache.display());
        return Err(missing(message));
    }
    let snapshots = model.join("snapshots");
    let commit = fs::read_to_string(model.join("refs").join(REVISION)).ok();
    let named = commit.map(|commit| snapshots.join(commit.trim())).filter(|folder| folder.is_dir());
    named
        .or_else(|| only_folder(&snapshots))
        .ok_or_else(|| missing(format!("the cache {} has no snapshot of the model's `{REVISION}`", cache.display())))
}

/// The only folder in a folder: a model fetched at a commit has no ref to it.
fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut folders =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()).filter(|path| path.is_dir()));
    let first = folders.next()?;
    folders.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hub_names_are_distinguished_from_paths() {
        for name in ["org/model", "some-org/Model_1.5-7B"] {
            assert!(is_name(name), "{name}");
        }
        let paths =
            ["model", "./model", "../model", "/org/model", "a/b/c", "org/", "a/b.jinja", "a b/c", "-", "a/c.gguf"];
        for path in paths {
            assert!(!is_name(path), "{path}");
        }
    }

    #[test]
    fn the_environment_locates_the_cache() {
        type Variables = &'static [(&'static str, &'static str)];
        let cases: [(Variables, Option<&str>); 7] = [
            (&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/h"), ("HOME", "/u")], Some("/c")),
            (&[("HUGGINGFACE_HUB_CACHE", "/old"), ("HOME", "/u")], Some("/old")),
            (&[("HF_HUB_CACHE", ""), ("HF_HOME", "/h"), ("HOME", "/u")], Some("/h/hub")),
            (&[("HF_HOME", "~/models"), ("HOME", "/u")], Some("/u/models/hub")),
            (&[("XDG_CACHE_HOME", "/x"), ("HOME", "/u")], Some("/x/huggingface/hub")),
            (&[("HOME", "/u")], Some("/u/.cache/huggingface/hub")),
            (&[], None),
        ];
        for (variables, expected) in cases {
            let find =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(*value));
            assert_eq!(cache(find), expected.map(PathBuf::from), "{variables:?}");
        }
    }
}
