//! Two texts compared line by line, as rows of a screen.

use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::theme::Theme;
use backchat_core::diagnostic::escape;
use backchat_core::text::slice;
use backchat_probe::diff::{self, DiffOp};

/// Equal lines shown before and after a change.
const CONTEXT: usize = 3;

enum DiffPart<'t> {
    Same(&'t [&'t str]),
    /// Omitted equal lines.
    Gap(usize),
    /// Lines of one text, and the lines of the other in their place.
    Changed(&'t [&'t str], &'t [&'t str]),
}

/// The rows of a comparison, at most `width` columns wide: side by side, or the lines of one text above the other's.
pub fn rows(expected: &str, found: &str, width: usize, side_by_side: bool, theme: Theme) -> Vec<Line<'static>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let mut rows = Vec::new();
    for part in parts(&diff::operations(&old, &new), &old, &new) {
        match part {
            DiffPart::Gap(count) => rows.push(Line::styled(format!("  … {count} equal lines"), theme.quiet())),
            DiffPart::Same(lines) if side_by_side => {
                let half = half(width);
                for line in lines {
                    let cells = wrapped(" ", &[(line, Style::new())], half);
                    rows.extend(beside(cells.clone(), cells, half, theme));
                }
            }
            DiffPart::Same(lines) => {
                rows.extend(lines.iter().flat_map(|line| wrapped(" ", &[(line, Style::new())], width)));
            }
            DiffPart::Changed(old, new) => {
                let pair = |at: usize| (old.get(at).copied(), new.get(at).copied());
                let side = |sign, line: Option<&str>, other: Option<&str>, style: Style, width| match line {
                    Some(line) => wrapped(sign, &parted(line, other, style), width),
                    None => Vec::new(),
                };
                let pairs = (0..old.len().max(new.len())).map(pair);
                if side_by_side {
                    let half = half(width);
                    for (old, new) in pairs {
                        let left = side("-", old, new, theme.bad(), half);
                        rows.extend(beside(left, side("+", new, old, theme.good(), half), half, theme));
                    }
                } else {
                    rows.extend(pairs.clone().flat_map(|(old, new)| side("-", old, new, theme.bad(), width)));
                    rows.extend(pairs.flat_map(|(old, new)| side("+", new, old, theme.good(), width)));
                }
            }
        }
    }
    rows
}

/// How many columns a side has.
pub fn half(width: usize) -> usize {
    width.saturating_sub(1) / 2
}

fn parts<'t>(ops: &[DiffOp], old: &'t [&'t str], new: &'t [&'t str]) -> Vec<DiffPart<'t>> {
    let mut parts = Vec::new();
    let lines = |all: &'t [&'t str], range: Range<usize>| {
        let found = all.get(range);
        debug_assert!(found.is_some(), "a comparison names lines of its texts");
        found.unwrap_or(&[])
    };
    let last = ops.len().saturating_sub(1);
    for (at, op) in ops.iter().enumerate() {
        if !matches!(op, DiffOp::Equal { .. }) {
            parts.push(DiffPart::Changed(lines(old, op.old_range()), lines(new, op.new_range())));
            continue;
        }
        let range = op.old_range();
        // Before the first change and after the last, only one side of a gap is next to a change.
        let (head, tail) = (if at == 0 { 0 } else { CONTEXT }, if at == last { 0 } else { CONTEXT });
        let gap = range.len().saturating_sub(head + tail);
        if gap < 2 {
            parts.push(DiffPart::Same(lines(old, range)));
            continue;
        }
        parts.push(DiffPart::Same(lines(old, range.start..range.start + head)));
        parts.push(DiffPart::Gap(gap));
        parts.push(DiffPart::Same(lines(old, range.start + head + gap..range.end)));
    }
    parts
}

/// A line with the part that differs from its counterpart highlighted.
fn parted<'l>(line: &'l str, other: Option<&str>, style: Style) -> Vec<(&'l str, Style)> {
    let Some(other) = other else { return vec![(line, style)] };
    let same = |(a, b): &(char, char)| a == b;
    let length = |c: (char, char)| c.0.len_utf8();
    let start: usize = line.chars().zip(other.chars()).take_while(same).map(length).sum();
    let (rest, others) = (slice(line, start..line.len()), slice(other, start..other.len()));
    let end: usize = rest.chars().rev().zip(others.chars().rev()).take_while(same).map(length).sum();
    let (own, tail) = (slice(rest, 0..rest.len() - end), slice(rest, rest.len() - end..rest.len()));
    vec![(slice(line, 0..start), style), (own, style.add_modifier(Modifier::REVERSED)), (tail, style)]
}

/// A line after its sign, in as many rows as it needs.
fn wrapped(sign: &'static str, parts: &[(&str, Style)], width: usize) -> Vec<Line<'static>> {
    let style = parts.first().map_or(Style::new(), |(_, style)| *style);
    let room = width.saturating_sub(2).max(1);
    let mut rows: Vec<Vec<Span<'static>>> = vec![vec![Span::styled(format!("{sign} "), style)]];
    let mut used = 0;
    for (text, style) in parts {
        let mut piece = String::new();
        for c in escape(text).chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > room {
                let full = Span::styled(std::mem::take(&mut piece), *style);
                rows.last_mut().into_iter().for_each(|row| row.push(full.clone()));
                rows.push(vec![Span::raw("  ")]);
                used = 0;
            }
            piece.push(c);
            used += wide;
        }
        rows.last_mut().into_iter().for_each(|row| row.push(Span::styled(piece.clone(), *style)));
    }
    rows.into_iter().map(Line::from).collect()
}

/// Two sides in the same rows, with a line between them.
fn beside(left: Vec<Line<'static>>, right: Vec<Line<'static>>, half: usize, theme: Theme) -> Vec<Line<'static>> {
    let count = left.len().max(right.len());
    // The shorter side ends in blank rows.
    let (mut left, mut right) = (left, right);
    left.resize(count, Line::default());
    right.resize(count, Line::default());
    let row = |(mut row, other): (Line<'static>, Line<'static>)| {
        let used: usize = row.spans.iter().map(|span| span.content.width()).sum();
        row.spans.push(Span::raw(" ".repeat(half.saturating_sub(used))));
        row.spans.push(Span::styled("│", theme.quiet()));
        row.spans.extend(other.spans);
        row
    };
    left.into_iter().zip(right).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(expected: &str, found: &str, width: usize, side_by_side: bool) -> Vec<String> {
        let rows = rows(expected, found, width, side_by_side, Theme::Plain);
        let mark = |span: &Span<'_>| match span.style.add_modifier.contains(Modifier::REVERSED) {
            true if !span.content.is_empty() => format!("[{}]", span.content),
            _ => span.content.to_string(),
        };
        rows.iter().map(|row| row.spans.iter().map(mark).collect::<String>().trim_end().to_owned()).collect()
    }

    #[test]
    fn lines_show_what_changes_within_them() {
        assert_eq!(shown("a\nHallo\nz", "a\nHello\nz", 40, false), ["  a", "- H[a]llo", "+ H[e]llo", "  z"]);
        assert_eq!(shown("", "a\nb", 40, false), ["+ a", "+ b"]);
        assert_eq!(shown("a\nb", "", 40, false), ["- a", "- b"]);
        assert_eq!(shown("a", "a", 40, false), ["  a"]);
        assert_eq!(shown("aa", "aaa", 40, false), ["- aa", "+ aa[a]"]);
    }

    #[test]
    fn sides_share_their_rows() {
        assert_eq!(
            shown("a\nabcdefgh\nz", "a\nX\nY\nz", 15, true),
            ["  a    │  a", "- [abcde]│+ [X]", "  [fgh]  │", "       │+ Y", "  z    │  z"]
        );
    }

    #[test]
    fn distant_equal_lines_are_left_out() {
        let text = |middle: &str| {
            let line = |n: usize| if n == 8 { middle.to_owned() } else { n.to_string() };
            (0..20).map(line).collect::<Vec<_>>().join("\n")
        };
        let rows = shown(&text("old"), &text("new"), 40, false);
        assert_eq!(rows.first().map(String::as_str), Some("  … 5 equal lines"));
        assert_eq!(rows.last().map(String::as_str), Some("  … 8 equal lines"));
        assert_eq!(rows.len(), 10);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a", "\u{1b}[2J", 40, false), ["- [a]", "+ [\\u{1b}[2J]"]);
    }
}
