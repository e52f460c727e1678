//! Compares two texts piece by piece: the edits from one to the other, and as a unified diff.

use std::collections::HashMap;
use std::ops::Range;

use similar::algorithms::{Capture, Compact, Replace, myers};
pub use similar::{DiffOp, DiffTag};

/// The lines of a text, with their ends.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The operations that turn the first pieces into the second.
///
/// Pieces are compared by number: the algorithm is compiled once for all of them, not for each type and each caller.
pub fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let mut numbered = |pieces: &[&str]| -> Vec<usize> {
        let number = |piece: &&str| {
            let next = numbers.len();
            *numbers.entry((*piece).to_owned()).or_insert(next)
        };
        pieces.iter().map(number).collect()
    };
    let (old, new) = (numbered(old), numbered(new));
    let mut found = Compact::new(Replace::new(Capture::new()), &old, &new);
    let Ok(()) = myers::diff(&mut found, &old, 0..old.len(), &new, 0..new.len());
    found.into_inner().into_inner().into_ops()
}

/// The unified diff of two texts with `around` context lines; empty if they are equal.
pub fn unified(old: &str, new: &str, around: usize, file: Option<&str>) -> String {
    use std::fmt::Write;

    let (old, new) = (lines(old), lines(new));
    let mut out = String::new();
    for group in similar::group_diff_ops(operations(&old, &new), around) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        // Writing to a string cannot fail.
        if let Some(file) = file.filter(|_| out.is_empty()) {
            // `patch` ends a name at a space unless a tab follows.
            let end = if file.contains(' ') { "\t" } else { "" };
            let _ = write!(out, "--- {file}{end}\n+++ {file}{end}\n");
        }
        let old_lines = hunk_range(first.old_range().start..last.old_range().end);
        let new_lines = hunk_range(first.new_range().start..last.new_range().end);
        let _ = writeln!(out, "@@ -{old_lines} +{new_lines} @@");
        for op in group {
            let (before, after) = (old.get(op.old_range()), new.get(op.new_range()));
            let sides: &[_] = match op.tag() {
                DiffTag::Equal => &[(' ', before)],
                _ => &[('-', before), ('+', after)],
            };
            for (sign, line) in sides.iter().flat_map(|(sign, side)| side.unwrap_or(&[]).iter().map(move |l| (sign, l)))
            {
                let _ = write!(out, "{sign}{line}");
                if !line.ends_with('\n') {
                    out.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
    }
    out
}

/// A range of lines in the header of a hunk: the first line, counted from 1, and the number of lines unless it is one. An
/// empty range names the line before it.
fn hunk_range(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.end),
        length => format!("{},{length}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_the_changed_lines_and_their_context() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        for (new, around, patch) in [
            (old, 1, ""),
            ("a\nb\nC\nd\ne\nf\ng\nh\n", 1, "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"),
            ("b\nc\nd\ne\nf\ng\nh\ni", 0, "@@ -1 +0,0 @@\n-a\n@@ -8,0 +8 @@\n+i\n\\ No newline at end of file\n"),
        ] {
            assert_eq!(unified(old, new, around, None), patch, "{new:?}");
        }
        assert_eq!(unified("a\n", "b\n", 3, Some("f")), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(unified("a\n", "b\n", 3, Some("a b")), "--- a b\t\n+++ a b\t\n@@ -1 +1 @@\n-a\n+b\n");
    }

    #[test]
    fn operations_turn_one_text_into_the_other() {
        let (old, new) = (["a", "b", "b", "c"], ["b", "c", "a", "c"]);
        let mut made = Vec::new();
        for op in operations(&old, &new) {
            let side = if op.tag() == DiffTag::Equal { &old[op.old_range()] } else { &new[op.new_range()] };
            made.extend_from_slice(side);
        }
        assert_eq!(made, new);
    }
}
