//! Line ends: a changed template keeps those of its file.

use backchat_chat::ChatTemplate;
use backchat_core::text::slice;
use backchat_probe::diff::{self, DiffTag};

/// A normalized source with the line ends, and the end, of the file that it came from.
pub(crate) fn as_in_file(source: &str, file: &str) -> String {
    let normal = ChatTemplate::normalize(file);
    if normal == source {
        return file.to_owned();
    }
    // Each kept line has its own end; a new line has the end of most.
    let ends = line_ends(file);
    let usual = if ends.iter().filter(|end| **end == "\r\n").count() * 2 > ends.len() { "\r\n" } else { "\n" };
    let (old, new) = (diff::lines(&normal), diff::lines(source));
    let mut out = String::with_capacity(file.len() + source.len());
    for operation in diff::operations(&old, &new) {
        for (offset, at) in operation.new_range().enumerate() {
            let line = new.get(at).copied().unwrap_or_default();
            let kept = (operation.tag() == DiffTag::Equal).then(|| ends.get(operation.old_range().start + offset));
            let end = kept.flatten().copied().unwrap_or(usual);
            out += line.strip_suffix('\n').unwrap_or(line);
            out += if line.ends_with('\n') { end } else { "" };
        }
    }
    // The last line end of a file is no part of the normalized source.
    if file.ends_with(['\n', '\r']) {
        out += ends.last().copied().unwrap_or_default();
    }
    out
}

/// The ends of the lines of a text.
fn line_ends(text: &str) -> Vec<&str> {
    let mut ends = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        let length = if slice(rest, at..).starts_with("\r\n") { 2 } else { 1 };
        ends.push(slice(rest, at..at + length));
        rest = slice(rest, at + length..);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_the_end_of_the_file_stay() {
        for (file, source, wanted) in [
            ("a\r\nb\r\n", "a\nx\nb", "a\r\nx\r\nb\r\n"),
            ("a\nb", "a", "a"),
            ("a\nb\n", "a\nc", "a\nc\n"),
            ("a\r\nb\nc\nd\n", "a\nb\nx\nc\nd", "a\r\nb\nx\nc\nd\n"),
            ("a\n\n", "b\n", "b\n\n"),
            ("a\r\nb\r\nc\n", "a\nb\nx", "a\r\nb\r\nx\n"),
        ] {
            assert_eq!(as_in_file(source, file), wanted, "{file:?}");
        }
    }
}
