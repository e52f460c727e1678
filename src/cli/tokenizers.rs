//! The tokenizers of a run, each read once and shared by all threads.

use std::sync::Arc;

use super::known::Known;
use backchat_workbench::input::Problem;

/// How many tokenizers are kept: a table of one takes some megabytes.
const REMEMBERED: usize = 8;

/// Tokenizers by their names, and why those that could not be read were not.
#[derive(Debug)]
pub struct Tokenizers<T>(Known<String, Result<Arc<T>, String>, REMEMBERED>);

impl<T> Default for Tokenizers<T> {
    fn default() -> Self {
        Self(Known::default())
    }
}

impl<T> Tokenizers<T> {
    /// The tokenizer of a name, or one line that says what is wrong with it.
    pub fn get(&self, name: &str, read: impl Fn(&str) -> Result<T, Problem>) -> Result<Arc<T>, String> {
        self.0.get(name.to_owned(), || match name {
            "-" => Err("a row cannot read a file from standard input".to_owned()),
            name => read(name).map(Arc::new).map_err(|problem| problem.line()),
        })
    }
}
