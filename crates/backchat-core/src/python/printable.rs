//! The characters that Python's `str.isprintable` accepts, which `repr` leaves unescaped.

use std::sync::LazyLock;

use crate::unicode::{CharSet, property, union};

/// Whether `repr` leaves a character as it is.
pub fn is_printable(c: char) -> bool {
    PRINTABLE.contains(c)
}

/// Every character that Unicode 14 assigns, the version of Python 3.11, except those of the categories "other" and "separator". The
/// space is printable.
static PRINTABLE: LazyLock<CharSet> = LazyLock::new(|| {
    let mut set = property("Age=14.0").unwrap_or_default();
    set.subtract(&union(&["C", "Z"]));
    set.add(' ', ' ');
    set
});

#[cfg(test)]
mod tests {
    use super::is_printable;

    #[test]
    fn ranges_are_exact_at_their_edges() {
        for (c, printable) in [
            ('\u{0}', false),
            ('\u{1f}', false),
            (' ', true),
            ('~', true),
            ('\u{7f}', false),
            ('\u{a0}', false),
            ('¡', true),
            ('\u{ad}', false),
            ('é', true),
            ('\u{200b}', false),
            ('\u{200d}', false),
            ('\u{2028}', false),
            ('\u{3000}', false),
            ('漢', true),
            ('😀', true),
            ('\u{e000}', false),
            ('\u{fffd}', true),
            ('\u{10ffff}', false),
        ] {
            assert_eq!(is_printable(c), printable, "{c:?}");
        }
    }

    /// `sum(chr(code).isprintable() for code in range(0x110000))` under Python 3.11.
    #[test]
    fn the_count_of_printable_characters_matches_python() {
        assert_eq!(('\0'..=char::MAX).filter(|c| is_printable(*c)).count(), 144_516);
    }
}
