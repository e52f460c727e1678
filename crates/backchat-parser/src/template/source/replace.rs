//! Replaces files atomically.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces the content of a file atomically: a reader sees the old content or the new.
///
/// Permissions are kept, and a symbolic link stays one. Anything but a file, such as a pipe or `/dev/null`, is written
/// into.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = target(path)?;
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_dir()) {
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(content);
    }
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let message = format!("there is no folder `{}`", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".backchat-");
    // A temporary file is private to its owner; a new file gets the permissions of the process's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The error would name the temporary file instead of the requested one.
    let new = builder.tempfile_in(folder).map_err(|error| error.kind())?;
    if let Some(old) = old {
        new.as_file().set_permissions(old.permissions())?;
    }
    // Written through the file itself, whose errors do not name a temporary file either.
    new.as_file().write_all(content)?;
    new.as_file().sync_all()?;
    new.persist(&target)?;
    Ok(())
}

/// The file that a path refers to after links; it need not exist.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    loop {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // A cycle of links is another kind of error.
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_dangling_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("second", path("first")).unwrap();
        std::os::unix::fs::symlink(path("file"), path("second")).unwrap();
        replace_file(&path("first"), b"new").unwrap();
        assert!(path("first").is_symlink() && path("second").is_symlink());
        assert_eq!(fs::read(path("file")).unwrap(), b"new");
        std::os::unix::fs::symlink("circle", path("circle")).unwrap();
        assert!(replace_file(&path("circle"), b"new").is_err());
    }
}
