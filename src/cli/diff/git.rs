//! Revisions of files and folders, asked of `git` itself. No filter, hook or textconv of the repository runs: its objects
//! are read as they are stored.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use super::sides::Place;
use crate::cli::Failure;
use backchat_core::diagnostic::{Diagnostic, Place as At, escape};

/// The largest object that is read.
const LARGEST: usize = 200 << 20;

/// The files of a model that a comparison reads.
const MODEL_FILES: [&str; 10] = [
    "tokenizer_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "response_template.json",
    "response_schema.json",
    "tokenizer.json",
];

/// What there is to compare.
pub(super) enum Pair {
    Both(Place, Place),
    /// A sentence: the path is on one side only.
    Alone(String),
}

fn failure(id: &'static str, message: String, help: &str) -> Failure {
    Diagnostic::error(id, message).help(help.to_owned()).into()
}

fn git(arguments: &[&str]) -> Result<Output, Failure> {
    let done = Command::new("git").args(arguments).output();
    done.map_err(|error: io::Error| {
        failure("no-git", format!("cannot run `git`: {error}"), "install git, or name two files")
    })
}

/// The standard output of git, or what it says is wrong.
fn answer(arguments: &[&str]) -> Result<Vec<u8>, Failure> {
    let done = git(arguments)?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = escape(said.trim()).into_owned();
    Err(failure("git-failed", format!("git: {said}"), "check the revision, and that this is a git repository"))
}

/// The commit of a revision.
fn commit(revision: &str) -> Result<String, Failure> {
    if revision.starts_with('-') || revision.is_empty() {
        let message = format!("`{}` is not a revision", escape(revision));
        return Err(failure("bad-revision", message, "name a branch, a tag or a commit"));
    }
    let found = answer(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}"), "--"]);
    let found = found.or_else(|_| answer(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")]));
    let text = String::from_utf8_lossy(&found?).into_owned();
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The two sides of `diff [REV [REV]] -- PATH`.
pub(super) fn revisions(revisions: &[String], path: &str) -> Result<Pair, Failure> {
    let (old, new) = match revisions {
        [] => ("HEAD", None),
        [old] => (old.as_str(), None),
        [old, new] => (old.as_str(), Some(new.as_str())),
        more => {
            let message = format!("expected at most two revisions before `--`, got {}", more.len());
            return Err(failure("bad-revision", message, "`backchat diff OLD NEW -- PATH`"));
        }
    };
    let old_commit = commit(old)?;
    let new_commit = new.map(commit).transpose()?;
    let new_place = match (&new_commit, new) {
        (Some(id), Some(name)) => stored(id, name, path)?,
        _ => Path::new(path).exists().then(|| Place::plain(path)),
    };
    let renamed = match &new_place {
        Some(_) => renamed_from(&old_commit, new_commit.as_deref(), path)?,
        None => None,
    };
    let old_place = stored(&old_commit, old, renamed.as_deref().unwrap_or(path))?;
    let shown = escape(path);
    match (old_place, new_place) {
        (Some(old), Some(new)) => Ok(Pair::Both(old, new)),
        (None, Some(_)) => Ok(Pair::Alone(format!("new: {shown} is not in {}", escape(old)))),
        (Some(_), None) => Ok(Pair::Alone(format!("gone: {shown} is only in {}", escape(old)))),
        (None, None) => {
            let message = format!("{shown} is on neither side");
            let help = "check the path, which is relative to this folder";
            Err(Diagnostic::error("no-such-path", message).at(At::file(path)).help(help).into())
        }
    }
}

/// The name that a path had in the old revision, if git finds that it was renamed.
fn renamed_from(old: &str, new: Option<&str>, path: &str) -> Result<Option<String>, Failure> {
    let mut arguments =
        vec!["diff", "--no-ext-diff", "--no-textconv", "--find-renames", "--name-status", "-z", "--relative", old];
    arguments.extend(new);
    arguments.push("--");
    let text = String::from_utf8_lossy(&answer(&arguments)?).into_owned();
    let mut fields = text.split('\0');
    while let Some(status) = fields.next() {
        if status.starts_with(['R', 'C']) {
            let (from, to) = (fields.next(), fields.next());
            if to == Some(path) && status.starts_with('R') {
                return Ok(from.map(str::to_owned));
            }
        } else {
            fields.next();
        }
    }
    Ok(None)
}

/// A file or folder of a commit, written beside the working tree; none if it is not there.
fn stored(commit: &str, revision: &str, path: &str) -> Result<Option<Place>, Failure> {
    let clean = path.trim_end_matches('/');
    let listed = answer(&["ls-tree", "-z", commit, "--", clean])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let Some((kind, object)) = listed.split('\0').next().and_then(entry) else { return Ok(None) };
    let folder = tempfile::tempdir().map_err(Failure::Io)?;
    let name = Path::new(clean).file_name().map_or_else(|| PathBuf::from("template"), PathBuf::from);
    let target = folder.path().join(name);
    match kind {
        "blob" => write(object, &target)?,
        "tree" => {
            std::fs::create_dir_all(&target).map_err(Failure::Io)?;
            let inside = answer(&["ls-tree", "-z", object, "--"])?;
            for line in String::from_utf8_lossy(&inside).split('\0') {
                let Some((_, file)) = line.split_once('\t') else { continue };
                if let Some(("blob", object)) = entry(line)
                    && MODEL_FILES.contains(&file)
                {
                    write(object, &target.join(file))?;
                }
            }
        }
        _ => return Ok(None),
    }
    let path = target.to_string_lossy().into_owned();
    Ok(Some(Place { path, shown: format!("{revision}:{clean}"), folder: Some(Arc::new(folder)) }))
}

/// The type and the name of an object in a line of `ls-tree`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split('\t').next()?.split(' ');
    let (_, kind, object) = (words.next()?, words.next()?, words.next()?);
    Some((kind, object))
}

fn write(object: &str, target: &Path) -> Result<(), Failure> {
    let size = String::from_utf8_lossy(&answer(&["cat-file", "-s", object])?).trim().parse().unwrap_or(usize::MAX);
    if size > LARGEST {
        let message = format!("the file is larger than {} MB", LARGEST >> 20);
        return Err(failure("too-large", message, "a template is a small text: check the path"));
    }
    std::fs::write(target, answer(&["cat-file", "blob", object])?).map_err(Failure::Io)
}

/// The two sides that git passes to an external diff: path, old file, old object, old mode, new file, new object, new
/// mode, and after a rename its new path and what it was.
pub(super) fn external(arguments: &[String]) -> Result<Pair, Failure> {
    let (path, old, new, renamed) = match arguments {
        [path, old, _, _, new, _, _] => (path, old, new, None),
        [path, old, _, _, new, _, _, renamed, ..] => (path, old, new, Some(renamed)),
        [path] => return Ok(Pair::Alone(format!("unmerged: {}", escape(path)))),
        other => {
            let message = format!("expected the seven arguments that git passes, got {}", other.len());
            let help = "set `git config diff.backchat.command \"backchat diff --git\"`";
            return Err(failure("git-arguments", message, help));
        }
    };
    let shown = renamed.unwrap_or(path);
    let is_none = |file: &str| file == "/dev/null" || file == "nul";
    match (is_none(old), is_none(new)) {
        (true, _) => Ok(Pair::Alone(format!("new: {}", escape(shown)))),
        (_, true) => Ok(Pair::Alone(format!("gone: {}", escape(shown)))),
        _ => {
            let place = |file: &str, shown: &str| {
                named_like(file, path).map(|(path, folder)| Place { path, shown: shown.to_owned(), folder })
            };
            Ok(Pair::Both(place(old, path)?, place(new, shown)?))
        }
    }
}

/// A temporary file of git, under the name that it has in the repository: its ending says what it holds.
fn named_like(file: &str, path: &str) -> Result<(String, Option<Arc<tempfile::TempDir>>), Failure> {
    let end = |name: &str| Path::new(name).extension().map(|end| end.to_string_lossy().into_owned());
    if end(file) == end(path) {
        return Ok((file.to_owned(), None));
    }
    let folder = tempfile::tempdir().map_err(Failure::Io)?;
    let target = folder.path().join(Path::new(path).file_name().unwrap_or_default());
    std::fs::copy(file, &target).map_err(Failure::Io)?;
    Ok((target.to_string_lossy().into_owned(), Some(Arc::new(folder))))
}
