//! Changes the file of a response template, and shows the change.

use std::path::Path;

use super::{Failure, Global, input, signals};
use backchat_core::diagnostic::{Diagnostic, Place, escape, escape_lines};
use backchat_probe::diff::unified;

/// Refuses a template that cannot be changed: one of a model in the cache, or standard input.
pub fn may_change(name: &str, help: &str) -> Result<(), Diagnostic> {
    let (id, message) = match name {
        "-" => ("no-file", "standard input cannot be changed"),
        _ if input::is_cached(name) => ("cache-is-not-written", "the Hugging Face cache is read-only"),
        _ => return Ok(()),
    };
    Err(Diagnostic::error(id, message).at(Place::file(input::name(name))).help(help))
}

/// Writes the changed text into the file, unless the file is no longer as it was read, and shows the change on standard
/// error.
pub fn write(file: &str, before: &str, after: &str, message: &str, global: &Global) -> Result<(), Failure> {
    input::is_unchanged(file, before)?;
    signals::write(Path::new(file), after)?;
    tell!(global, "{}", escape_lines(unified(before, after, 3, Some(file)).trim_end()));
    tell!(global, "repaired {}: {}", escape(file), escape(message));
    Ok(())
}
