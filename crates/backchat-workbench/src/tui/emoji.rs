//! Emoji of several code points, which a screen shows as one: flags, skin tones, and those that are joined.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Joins two pictographs. Alone, or between other characters, it would be invisible.
const JOINER: char = '\u{200d}';

const SKIN_TONES: RangeInclusive<char> = '\u{1f3fb}'..='\u{1f3ff}';

/// The flag that tags after it make the flag of a region.
const FLAG: char = '\u{1f3f4}';

/// No emoji has more code points than this.
const LONGEST: usize = 12;

/// The bytes at the start of a text that belong to the emoji that begins with `base`, right before the text; 0 if it
/// has no others. `combines` says which characters share the cell of the previous one.
pub fn rest_of(base: char, text: &str, combines: impl Fn(char) -> bool) -> usize {
    let first = text.chars().next();
    if is_regional(base) {
        return first.filter(|c| is_regional(*c)).map_or(0, char::len_utf8);
    }
    if !is_pictograph(base) {
        return 0;
    }
    let mut end = 0;
    let mut characters = text.chars().take(LONGEST).peekable();
    while let Some(c) = characters.next() {
        let joined = (c == JOINER).then(|| characters.next_if(|next| is_pictograph(*next))).flatten();
        let belongs = combines(c) || SKIN_TONES.contains(&c) || (base == FLAG && is_tag(c)) || joined.is_some();
        if !belongs {
            break;
        }
        end += c.len_utf8() + joined.map_or(0, char::len_utf8);
    }
    end
}

/// A text with control characters escaped by `escape`, except for those that join emoji.
pub fn escaped<'t>(text: &'t str, escape: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    if !text.contains(|c: char| c == JOINER || is_tag(c)) {
        return match escape(text) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(safe) => Cow::Owned(safe),
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut plain = 0;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        let after = at + c.len_utf8();
        let length = rest_of(c, text.get(after..).unwrap_or(""), |c| c == '\u{fe0f}');
        if length > 0 {
            out.push_str(&escape(text.get(plain..at).unwrap_or("")));
            out.push_str(text.get(at..after + length).unwrap_or(""));
            plain = after + length;
            while characters.offset() < plain && characters.next().is_some() {}
        }
    }
    out.push_str(&escape(text.get(plain..).unwrap_or("")));
    Cow::Owned(out)
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2194}'..='\u{2195}' | '\u{2600}'..='\u{27bf}' | '\u{2b05}'..='\u{2b55}'
        | '\u{1f000}'..='\u{1f1e5}' | '\u{1f200}'..='\u{1faff}')
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joiners_that_join_nothing_are_escaped() {
        for (text, shown) in [
            ("a👨\u{200d}👩\u{200d}👧b\u{200d}c", "a👨\u{200d}👩\u{200d}👧b\\u{200d}c"),
            ("👍🏽🇫🇷❤\u{fe0f}\u{200d}🔥", "👍🏽🇫🇷❤\u{fe0f}\u{200d}🔥"),
            ("👨\u{200d}", "👨\\u{200d}"),
            ("👨\u{200d}\u{200d}👩", "👨\\u{200d}\\u{200d}👩"),
            ("\u{200d}👩", "\\u{200d}👩"),
            ("a\u{e0041}", "a\\u{e0041}"),
            ("plain\n", "plain\\n"),
        ] {
            assert_eq!(escaped(text, backchat_core::diagnostic::escape), shown, "{text:?}");
        }
    }

    #[test]
    fn an_emoji_has_a_bounded_length() {
        let long = "\u{200d}👩".repeat(1_000);
        assert!(rest_of('👩', &long, |_| false) <= LONGEST * 8);
    }
}
