//! How far a string is written as itself. Eight bytes are looked at together, as most rows of a log are one long
//! string.

/// A word in which every byte is this one.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Flags the bytes of a word that are below a limit of at most 0x80. The lowest flag is exact; a borrow may set those
/// above it.
const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(each(limit)) & !word & each(0x80)
}

/// Flags the bytes of a word that are this one, as [`below`] does.
const fn is(word: u64, byte: u8) -> u64 {
    below(word ^ each(byte), 1)
}

/// The bytes that end a run in reading and writing: quotes, backslashes and control characters.
const fn is_special(word: u64) -> u64 {
    below(word, 0x20) | is(word, b'"') | is(word, b'\\')
}

/// How many bytes come before the first that `flags` finds in its word; it finds every quote.
fn length(bytes: &[u8], flags: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let in_word = |word: [u8; 8]| match flags(u64::from_le_bytes(word)) {
        0 => None,
        found => Some(found.trailing_zeros() as usize / 8),
    };
    for (at, word) in words.iter().enumerate() {
        if let Some(within) = in_word(*word) {
            return at * 8 + within;
        }
    }
    let mut last = [b'"'; 8];
    last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    words.len() * 8 + in_word(last).unwrap_or_default()
}

/// How many leading bytes of a string in a JSON text need no escape.
pub(super) fn read_length(bytes: &[u8]) -> usize {
    length(bytes, is_special)
}

/// How many leading bytes of a text can be written into a string unexamined. DEL must be examined, and the first bytes
/// of the C1 controls and of U+2028 and U+2029.
pub(super) fn written_length(bytes: &[u8]) -> usize {
    length(bytes, |word| is_special(word) | is(word, 0x7F) | is(word, 0xC2) | is(word, 0xE2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_plain_text_is_found_at_every_place() {
        type Length = fn(&[u8]) -> usize;
        let ends = ["\"", "\\", "\n", "\0", "\u{1f}"];
        let fillers = ["a", " ", "é", "!", "#", "]", "日", "~", "\u{10ffff}"];
        let cases: [(Length, &[&str], &[&str]); 2] = [
            (read_length, &[], &["\u{7f}", "\u{80}", "’"]),
            (written_length, &["\u{7f}", "\u{80}", "£", "’", "\u{2028}"], &[]),
        ];
        for (length_of, more_ends, more_fillers) in cases {
            for end in ends.iter().chain(more_ends) {
                for filler in fillers.iter().chain(more_fillers) {
                    for length in 0..20 {
                        let plain: String = filler.repeat(length);
                        assert_eq!(length_of(plain.as_bytes()), plain.len(), "{filler:?} {length}");
                        let text = format!("{plain}{end}{end}a");
                        assert_eq!(length_of(text.as_bytes()), plain.len(), "{filler:?} {length} {end:?}");
                    }
                }
            }
        }
    }
}
