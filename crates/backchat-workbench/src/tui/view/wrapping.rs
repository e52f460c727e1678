//! The row starts of a text at a width, recomputed only if the text or the width changed.

use std::sync::Arc;

use super::super::line::clusters;
use backchat_core::text::slice;

/// The row starts of a text, for the width it was last shown in.
#[derive(Default)]
pub struct Wrapping {
    text: Option<Arc<str>>,
    start: usize,
    width: u16,
    whitespace: bool,
    rows: Vec<u32>,
}

impl Wrapping {
    /// Breaks a text, from `start` on, into rows of `width` columns; does nothing if nothing changed.
    pub fn update(&mut self, text: &Arc<str>, start: usize, width: u16, whitespace: bool) {
        let same = self.text.as_ref().is_some_and(|before| Arc::ptr_eq(before, text));
        if same && (self.start, self.width, self.whitespace) == (start, width, whitespace) {
            return;
        }
        (self.text, self.start, self.width, self.whitespace) = (Some(text.clone()), start, width, whitespace);
        self.rows.clear();
        let mut row = |at: usize| self.rows.push(u32::try_from(at).unwrap_or(u32::MAX));
        row(start);
        let width = usize::from(width.max(1));
        let mut used = 0;
        for cluster in clusters(slice(text, start..text.len()), whitespace) {
            let at = start + cluster.at;
            // The symbol for a line break never needs its own row.
            if used + cluster.width > width && used > 0 && cluster.base != '\n' {
                row(at);
                used = 0;
            }
            used += cluster.width;
            if cluster.base == '\n' {
                row(at + 1);
                used = 0;
            }
        }
    }

    pub fn count(&self) -> usize {
        self.rows.len()
    }

    pub fn row_of(&self, byte: usize) -> usize {
        self.rows.partition_point(|row| *row as usize <= byte).saturating_sub(1)
    }

    pub fn row(&self, row: usize) -> std::ops::Range<usize> {
        let length = self.text.as_ref().map_or(0, |text| text.len());
        let at = |row: usize| self.rows.get(row).map_or(length, |at| *at as usize);
        at(row)..at(row + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_into_rows() {
        let shown = |text: &str, width, whitespace| {
            let text: Arc<str> = text.into();
            let mut wrapping = Wrapping::default();
            wrapping.update(&text, 0, width, whitespace);
            (0..wrapping.count()).map(|row| text[wrapping.row(row)].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown("abcdef", 4, false), ["abcd", "ef"]);
        assert_eq!(shown("abcd\nef", 4, true), ["abcd\n", "ef"]);
        assert_eq!(shown("a\n\nb\n", 4, false), ["a\n", "\n", "b\n", ""]);
        assert_eq!(shown("日本語", 4, false), ["日本", "語"]);
        assert_eq!(shown("\u{1b}\u{1b}", 7, false), ["\u{1b}", "\u{1b}"], "an escape is six columns wide");
        assert_eq!(shown("\u{1b}", 3, false), ["\u{1b}"]);
        assert_eq!(shown("e\u{301}e\u{301}e\u{301}", 2, false), ["e\u{301}e\u{301}", "e\u{301}"]);
        assert_eq!(shown("", 4, false), [""]);
    }
}
