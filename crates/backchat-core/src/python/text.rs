//! Methods of `str` that need only the text. Letters and their cases are those of Rust's Unicode tables, which
//! are newer than Python 3.11's.

use super::space::is_space;
use crate::unicode::WORD;

/// A character that `\w` of Python's `regex` module matches.
pub fn is_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { WORD.contains(c) }
}

/// `str.isdigit()` for ASCII digits, superscripts and subscripts; Python accepts the digits of every script.
pub fn is_digit(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || is_superscript(c))
}

/// `str.istitle()`.
pub fn is_title(text: &str) -> bool {
    text.chars().any(char::is_alphabetic) && title(text) == text
}

fn is_superscript(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}' | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}')
}

/// `str.isidentifier()` with letters and digits for `XID_Start` and `XID_Continue`.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic()) && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// `str.casefold()` as lower case with `ss` for `ß`; Python folds more letters.
pub fn casefold(text: &str) -> String {
    text.to_lowercase().replace('ß', "ss")
}

/// `str.capitalize()`: the first character in title case, the rest in lower case.
pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    title_case(first).chain(chars.as_str().to_lowercase().chars()).collect()
}

/// A character at the head of a word: digraphs have a form between upper and lower case.
fn title_case(c: char) -> impl Iterator<Item = char> {
    let mut upper: Vec<char> = match c {
        'Ǆ' | 'ǅ' | 'ǆ' => vec!['ǅ'],
        'Ǉ' | 'ǈ' | 'ǉ' => vec!['ǈ'],
        'Ǌ' | 'ǋ' | 'ǌ' => vec!['ǋ'],
        'Ǳ' | 'ǲ' | 'ǳ' => vec!['ǲ'],
        c => c.to_uppercase().collect(),
    };
    if let [_, rest @ ..] = upper.as_mut_slice() {
        for c in rest {
            *c = c.to_lowercase().next().unwrap_or(*c);
        }
    }
    upper.into_iter()
}

/// `str.title()`: every run of cased letters begins in title case.
pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(title_case(c));
        }
        inside = c.is_lowercase() || c.is_uppercase();
    }
    out
}

/// `str.swapcase()`.
pub fn swapcase(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
    }
    out
}

/// `str.split(None, limit)` and, with `from_right`, `str.rsplit(None, limit)`: the rest after the limit keeps its inner
/// white space.
pub fn split_space(text: &str, limit: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let trim =
        |rest| if from_right { str::trim_end_matches(rest, is_space) } else { str::trim_start_matches(rest, is_space) };
    let mut rest = trim(text);
    while !rest.is_empty() {
        let cut = match parts.len() < limit {
            true if from_right => rest.rsplit_once(is_space).map(|(before, part)| (part, before)),
            true => rest.split_once(is_space),
            false => None,
        };
        let (part, others) = cut.unwrap_or((rest, ""));
        parts.push(part);
        // Without a cut, the rest is the last part unchanged.
        rest = if cut.is_some() { trim(others) } else { "" };
    }
    if from_right {
        parts.reverse();
    }
    parts
}

/// `str.splitlines(keep_ends)`; stops after more than `most` lines, for the caller to refuse them.
pub fn split_lines(text: &str, keep_ends: bool, most: usize) -> Vec<&str> {
    let boundary =
        |c| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && lines.len() <= most {
        let (line, from_end) = rest.split_at(rest.find(boundary).unwrap_or(rest.len()));
        let mut ends = from_end.chars();
        let after = match ends.next() {
            Some('\r') => from_end.strip_prefix("\r\n").unwrap_or(ends.as_str()),
            _ => ends.as_str(),
        };
        let whole = rest.len() - after.len();
        lines.push(if keep_ends { rest.split_at(whole).0 } else { line });
        rest = after;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_every_boundary_of_python() {
        for (text, plain, kept) in [
            ("", vec![], vec![]),
            ("a", vec!["a"], vec!["a"]),
            ("a\r\nb\rc\n", vec!["a", "b", "c"], vec!["a\r\n", "b\r", "c\n"]),
            ("\n\n", vec!["", ""], vec!["\n", "\n"]),
            (
                "a\u{b}b\u{1e}c\u{1f}d\u{85}e\u{2028}",
                vec!["a", "b", "c\u{1f}d", "e"],
                vec!["a\u{b}", "b\u{1e}", "c\u{1f}d\u{85}", "e\u{2028}"],
            ),
        ] {
            assert_eq!(split_lines(text, false, 9), plain, "{text:?}");
            assert_eq!(split_lines(text, true, 9), kept, "{text:?}");
        }
        assert_eq!(split_lines("a\nb\nc\nd", false, 2).len(), 3);
    }

    #[test]
    fn words_are_split_from_either_end() {
        for (text, limit, left, right) in [
            ("", 9, vec![], vec![]),
            (" \u{1c} ", 9, vec![], vec![]),
            (" a  b c ", 9, vec!["a", "b", "c"], vec!["a", "b", "c"]),
            (" a  b c ", 1, vec!["a", "b c "], vec![" a  b", "c"]),
            (" a  b c ", 0, vec!["a  b c "], vec![" a  b c"]),
            ("a\u{3000}é\u{1f}b", 1, vec!["a", "é\u{1f}b"], vec!["a\u{3000}é", "b"]),
        ] {
            assert_eq!(split_space(text, limit, false), left, "{text:?} {limit}");
            assert_eq!(split_space(text, limit, true), right, "{text:?} {limit}");
        }
    }

    #[test]
    fn case_changes_match_python() {
        for (text, capitalized, titled, swapped) in [
            ("", "", "", ""),
            ("hELLO wORLD's", "Hello world's", "Hello World'S", "Hello World'S"),
            ("ǆx ﬁn", "ǅx ﬁn", "ǅx Fin", "ǄX FIN"),
            ("ß", "Ss", "Ss", "SS"),
        ] {
            assert_eq!(capitalize(text), capitalized, "{text}");
            assert_eq!(title(text), titled, "{text}");
            assert_eq!(swapcase(text), swapped, "{text}");
        }
    }

    #[test]
    fn predicates_match_python() {
        assert!(is_digit("1²₃") && !is_digit("") && !is_digit("½"));
        assert!(is_title("Ab Cd") && !is_title("Ab cd") && !is_title("1"));
        assert!(is_identifier("_é1") && !is_identifier("1a") && !is_identifier(""));
        assert!(is_word('é') && is_word('_') && !is_word('-'));
        assert_eq!(casefold("Straße"), "strasse");
    }
}
