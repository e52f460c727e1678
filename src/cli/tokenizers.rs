//! The tokenizers of a run, each read once and shared by all threads.

use std::sync::Arc;

use super::known::Known;
use backchat_workbench::input::Problem;

/// How many tokenizers are kept: a table of one takes some megabytes.
const REMEMBERED: usize = 8;

/// Tokenizers by their names, and why those that could not be read were not.
pub type Tokenizers<T> = Known<String, Result<Arc<T>, String>, REMEMBERED>;

impl<T> Tokenizers<T> {
    /// The tokenizer of a name, or one line that says what is wrong with it.
    pub fn read(&self, name: &str, load: impl Fn(&str) -> Result<T, Problem>) -> Result<Arc<T>, String> {
        self.get(name.to_owned(), || match name {
            "-" => Err("a row cannot read a file from standard input".to_owned()),
            name => load(name).map(Arc::new).map_err(|problem| problem.line()),
        })
    }
}
