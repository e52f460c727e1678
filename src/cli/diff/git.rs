//! Revisions of files and folders, asked of `git` itself. No filter, hook or textconv of the repository runs: its objects
//! are read as they are stored.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use super::sides::{Place, is_jinja, temporary};
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

/// The folder of a model's chat templates that have names.
const NAMED_TEMPLATES: &str = "additional_chat_templates";

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
    let found = git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])?;
    if !found.status.success() {
        // Outside of a repository git has more to say.
        answer(&["rev-parse", "--git-dir"])?;
        let message = format!("there is no revision `{}`", escape(revision));
        return Err(failure("bad-revision", message, "name a branch, a tag or a commit"));
    }
    Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned())
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
    let object = object(commit, clean)?;
    let kind = git(&["cat-file", "-t", &object])?;
    let folder = tempfile::tempdir().map_err(Failure::Io)?;
    let name = Path::new(clean).file_name().map_or_else(|| PathBuf::from("template"), PathBuf::from);
    let target = folder.path().join(name);
    match kind.stdout.trim_ascii() {
        b"blob" => {
            // A chat template is nothing without the special tokens of the files next to it.
            let parent = Path::new(clean).parent().map(|parent| parent.to_string_lossy().into_owned());
            if let (true, Some(parent)) = (is_jinja(clean), parent) {
                write_model(&self::object(commit, &parent)?, folder.path())?;
            }
            write(&object, &target)?;
        }
        b"tree" => write_model(&object, &target)?,
        _ => return Ok(None),
    }
    let path = target.to_string_lossy().into_owned();
    let shown = format!("{revision}:{clean}");
    Ok(Some(Place { home: path.clone(), path, shown, _folder: Some(Arc::new(folder)) }))
}

/// How git names a path of a commit. Relative paths begin at the current folder.
fn object(commit: &str, path: &str) -> Result<String, Failure> {
    if Path::new(path).is_relative() {
        return Ok(format!("{commit}:./{path}"));
    }
    let top = String::from_utf8_lossy(&answer(&["rev-parse", "--show-toplevel"])?).trim().to_owned();
    match Path::new(path).strip_prefix(&top) {
        Ok(inside) => Ok(format!("{commit}:{}", inside.to_string_lossy())),
        Err(_) => {
            let message = format!("{} is outside of the repository {}", escape(path), escape(&top));
            Err(failure("no-such-path", message, "pass a path inside of the repository"))
        }
    }
}

/// Writes the files of a model folder that a comparison reads.
fn write_model(tree: &str, target: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(target).map_err(Failure::Io)?;
    for (kind, object, name) in listed(tree)? {
        match kind.as_str() {
            "blob" if MODEL_FILES.contains(&name.as_str()) => write(&object, &target.join(name))?,
            "tree" if name == NAMED_TEMPLATES => {
                std::fs::create_dir_all(target.join(NAMED_TEMPLATES)).map_err(Failure::Io)?;
                for (kind, object, file) in listed(&object)? {
                    if kind == "blob" && is_jinja(&file) {
                        write(&object, &target.join(NAMED_TEMPLATES).join(file))?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The type, the object and the name of each entry of a folder.
fn listed(tree: &str) -> Result<Vec<(String, String, String)>, Failure> {
    let lines = answer(&["ls-tree", "--full-tree", "-z", tree])?;
    let lines = String::from_utf8_lossy(&lines).into_owned();
    let entry = |line: &str| {
        let (about, name) = line.split_once('\t')?;
        let mut words = about.split(' ').skip(1).map(str::to_owned);
        Some((words.next()?, words.next()?, name.to_owned()))
    };
    Ok(lines.split('\0').filter_map(entry).collect())
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
                // The working tree's files beside it hold the special tokens: git tells no commit.
                let home = shown.to_owned();
                named_like(file, path).map(|(path, _folder)| Place { path, shown: shown.to_owned(), home, _folder })
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
    let name = Path::new(path).file_name().unwrap_or_default();
    let (copy, folder) = temporary(name, &std::fs::read(file).map_err(Failure::Io)?)?;
    Ok((copy, Some(folder)))
}
