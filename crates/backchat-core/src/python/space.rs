//! White space in Python, which differs between `str.isspace` and the number parsers.

/// `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.split()`.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// `str.isspace()` of one character: Unicode's white space and the four separators U+001C to U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The text that `int()` and `float()` read: they skip white space at both ends, but not the four separators.
pub(crate) fn trim(text: &str) -> &str {
    text.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strip_removes_exactly_what_python_removes() {
        let taken = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\
                     \u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
        let all: String = ('\0'..=char::MAX).filter(|&c| strip(c.encode_utf8(&mut [0; 4])).is_empty()).collect();
        assert_eq!(all, taken);
        for kept in ["\u{200b}", "\u{feff}", "\u{180e}", "\0"] {
            assert_eq!(strip(kept), kept);
        }
        assert_eq!(strip("\u{1c} a b\n"), "a b");
    }

    #[test]
    fn trim_leaves_the_four_separators() {
        let difference: String = ('\0'..=char::MAX)
            .filter(|c| {
                let text = c.to_string();
                strip(&text).len() != trim(&text).len()
            })
            .collect();
        assert_eq!(difference, "\u{1c}\u{1d}\u{1e}\u{1f}");
    }
}
