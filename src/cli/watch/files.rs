//! The files that a command may read, as paths of its arguments show, and when each was last changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backchat_core::files::{Stamp, stamp};

/// The files by their paths.
pub type Stamps = BTreeMap<PathBuf, Stamp>;

/// The ends of the files that a command reads from a folder.
const ENDS: [&str; 8] = ["jinja", "j2", "json", "jsonl", "fixture", "toml", "gguf", "txt"];

/// How deep folders are looked into, and at how many of their entries: it is done ten times a second.
const DEEPEST: usize = 6;
const MOST: usize = 10_000;

/// What is watched: files, the files beside them that belong to the same model, and folders.
#[derive(Debug)]
pub struct Watched {
    paths: Vec<PathBuf>,
    /// Files that the command writes, and folders of them.
    written: Vec<PathBuf>,
}

impl Watched {
    /// What these arguments name. An argument that is neither a file nor a folder is not watched.
    pub fn new<P: AsRef<Path>>(arguments: impl IntoIterator<Item = P>) -> Self {
        let paths = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
        Self { paths: paths.filter(|path| path.exists()).collect(), written: Vec::new() }
    }

    /// Leaves out what the command itself writes: a file, or all in a folder.
    pub fn without<P: AsRef<Path>>(mut self, written: impl IntoIterator<Item = P>) -> Self {
        let full = |path: P| std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        self.written.extend(written.into_iter().map(full));
        self
    }

    /// When each file was last changed, now; empty if nothing is watched.
    pub fn stamps(&self) -> Stamps {
        let mut found = Stamps::new();
        let mut left = MOST;
        for path in &self.paths {
            if path.is_dir() {
                self.collect(path, DEEPEST, &mut left, &mut found);
            } else {
                self.add(path.clone(), &mut found);
                let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
                self.collect(folder, 1, &mut left, &mut found);
            }
        }
        if !self.paths.is_empty()
            && let Ok(here) = std::env::current_dir()
        {
            here.ancestors().for_each(|folder| self.add(folder.join("backchat.toml"), &mut found));
        }
        found
    }

    fn collect(&self, folder: &Path, depth: usize, left: &mut usize, found: &mut Stamps) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Some(fewer) = left.checked_sub(1) else { return };
            *left = fewer;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            // A link to a folder above would never end.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !is_hidden && depth > 1 {
                self.collect(&path, depth - 1, left, found);
            } else if path.extension().is_some_and(|end| ENDS.iter().any(|known| end == *known)) {
                self.add(path, found);
            }
        }
    }

    fn add(&self, path: PathBuf, found: &mut Stamps) {
        let path = std::path::absolute(&path).unwrap_or(path);
        if let Some(stamp) = stamp(&path).filter(|_| !self.written.iter().any(|written| path.starts_with(written))) {
            found.insert(path, stamp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_watched_with_those_beside_it_and_a_folder_with_those_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("model/below")).unwrap();
        for name in ["a.jinja", "b.json", "notes.md", "model/c.jinja", "model/below/d.fixture", ".hidden.json"] {
            fs::write(at(name), "").unwrap();
        }
        let names = |watched: &Watched| {
            let inside = |path: &PathBuf| path.strip_prefix(folder.path()).ok().map(|path| path.display().to_string());
            watched.stamps().keys().filter_map(inside).collect::<Vec<_>>()
        };
        assert_eq!(names(&Watched::new([at("a.jinja")])), [".hidden.json", "a.jinja", "b.json"]);
        assert_eq!(names(&Watched::new([at("model")])), ["model/below/d.fixture", "model/c.jinja"]);
        // A file that the command writes would make it run for ever.
        assert_eq!(names(&Watched::new([at("a.jinja")]).without([at("b.json")])), [".hidden.json", "a.jinja"]);
        assert_eq!(names(&Watched::new([at("model")]).without([at("model/below")])), ["model/c.jinja"]);
        assert!(Watched::new([at("absent.jinja")]).stamps().is_empty());
    }

    #[test]
    fn a_change_a_new_file_and_a_removed_one_change_the_stamps() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jinja");
        fs::write(&file, "one").unwrap();
        let watched = Watched::new([&file]);
        let mut known = watched.stamps();
        let mut changes = |change: &dyn Fn()| {
            change();
            let now = watched.stamps();
            std::mem::replace(&mut known, now) != known
        };
        assert!(!changes(&|| {}));
        assert!(changes(&|| fs::write(&file, "other").unwrap()));
        assert!(changes(&|| fs::write(folder.path().join("b.json"), "{}").unwrap()));
        assert!(changes(&|| fs::remove_file(&file).unwrap()));
    }
}
