//! Files as a program sees them that holds unsaved texts of some: an editor's documents override what is on the disk.
//!
//! The thread holds the open documents, as it holds the budget of an examination: they concern every file that a model
//! consists of, however deep inside the code that opens it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The texts of open documents by the paths of their files.
pub type Documents = HashMap<PathBuf, Arc<str>>;

thread_local! {
    static OPEN: RefCell<Option<Arc<Documents>>> = const { RefCell::new(None) };
}

/// Puts back what was open before, also after a panic.
struct Restore(Option<Arc<Documents>>);

impl Drop for Restore {
    fn drop(&mut self) {
        OPEN.replace(self.0.take());
    }
}

/// Runs something that sees these documents in the place of their files.
pub fn with_documents<T>(documents: Arc<Documents>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(OPEN.replace(Some(documents)));
    work()
}

/// The text of an open document.
fn open_text(path: &Path) -> Option<Arc<str>> {
    OPEN.with_borrow(|open| open.as_ref()?.get(path).cloned())
}

/// A file, or the text of its document.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match open_text(path) {
        Some(text) => Ok(Box::new(Cursor::new(text.as_bytes().to_vec()))),
        None => Ok(Box::new(File::open(path)?)),
    }
}

/// Whether a path names a file, or an open document.
pub fn is_file(path: &Path) -> bool {
    open_text(path).is_some() || path.is_file()
}

/// When a file was last changed, and how long it is.
pub type Stamp = (SystemTime, u64);

/// The stamp of a file on the disk: another one means that it changed.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// The names of the files in a folder, with those of open documents that are not saved yet.
pub fn in_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(folder);
    let of_documents = OPEN.with_borrow(|open| {
        let documents = open.iter().flat_map(|documents| documents.keys());
        documents.filter(|path| path.parent() == Some(folder)).cloned().collect::<Vec<PathBuf>>()
    });
    let mut paths = match listed {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) if of_documents.is_empty() => return Err(error),
        Err(_) => Vec::new(),
    };
    for path in of_documents {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> Option<String> {
        let mut text = String::new();
        open(path).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn documents_override_files_while_work_runs() {
        let folder = std::env::temp_dir().join(format!("backchat_files_{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (saved, unsaved) = (folder.join("saved"), folder.join("unsaved"));
        fs::write(&saved, "disk").unwrap();
        let documents = [(saved.clone(), "editor".into()), (unsaved.clone(), "new".into())];
        let seen = with_documents(Arc::new(documents.into()), || {
            let listed = in_folder(&folder).unwrap();
            (text(&saved), text(&unsaved), is_file(&unsaved), listed.contains(&unsaved))
        });
        assert_eq!(seen, (Some("editor".to_owned()), Some("new".to_owned()), true, true));
        assert_eq!((text(&saved), text(&unsaved), is_file(&unsaved)), (Some("disk".to_owned()), None, false));
        fs::remove_dir_all(&folder).unwrap();
    }
}
