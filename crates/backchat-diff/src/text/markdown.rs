//! Parts of a comment on a pull request.

use super::lines::visible;

/// Bytes of a Markdown comment; GitHub takes 65,536 characters.
pub(super) const MOST_MARKDOWN: usize = 50_000;

/// A text within a cell of a table.
pub(super) fn cell(text: &str) -> String {
    visible(text).replace('|', "\\|").replace('`', "'").replace('<', "&lt;")
}

/// A change as a whole, which is opened by a click.
pub(super) fn section(number: usize, explained: &str) -> String {
    let body = fenced(explained);
    format!("\n<details><summary>{number}</summary>\n\n{body}\n</details>\n")
}

/// Lines as they are.
pub(super) fn fenced(text: &str) -> String {
    format!("```text\n{}```\n", text.replace("```", "'''"))
}
