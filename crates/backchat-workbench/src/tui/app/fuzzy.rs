//! Fuzzy matching of typed words against the names of a list: each word's letters in order, not necessarily adjacent.

/// The indices of the matching texts, the best first; equal ones keep their order.
pub fn ranked<'t>(texts: impl Iterator<Item = &'t str>, typed: &str) -> Vec<usize> {
    let mut found: Vec<(usize, i64)> =
        texts.enumerate().filter_map(|(at, text)| Some((at, score(text, typed)?))).collect();
    found.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
    found.into_iter().map(|(at, _)| at).collect()
}

/// The rest of longer texts is ignored.
const LONGEST: usize = 1_000;

/// The score of a text; `None` if a word does not match.
fn score(text: &str, typed: &str) -> Option<i64> {
    let text: Vec<char> = text.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let mut total = 0;
    for word in typed.split_whitespace() {
        let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
        total += whole(&text, &word).or_else(|| scattered(&text, &word))?;
    }
    Some(total)
}

/// A literal occurrence scores higher than scattered letters.
const WHOLE: i64 = 1_000;
/// It scores even higher at the start of a word.
const AT_START: i64 = 100;

fn whole(text: &[char], word: &[char]) -> Option<i64> {
    let places = text.windows(word.len().max(1)).enumerate().filter(|(_, part)| *part == word);
    places.map(|(at, _)| WHOLE + if begins(text, at) { AT_START } else { 0 }).max()
}

/// The letters in their order: the closer together, the better.
fn scattered(text: &[char], word: &[char]) -> Option<i64> {
    let starts = text.iter().enumerate().filter(|(_, c)| word.first() == Some(c));
    let spans = starts.filter_map(|(start, _)| {
        let mut at = start;
        for letter in word {
            at += text.get(at..)?.iter().position(|c| c == letter)? + 1;
        }
        let gaps = i64::try_from(at - start - word.len()).ok()?;
        Some(if begins(text, start) { AT_START } else { 0 } - gaps)
    });
    spans.max()
}

/// Whether a word begins at a place of a text.
fn begins(text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    before.is_none_or(|before| !before.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::ranked;

    #[test]
    fn the_best_match_comes_first() {
        let names = ["chats/two_calls.fixture#rome", "chats/call.fixture#oslo", "plain.fixture#recall", "Tool-Calls"];
        for (typed, found) in [
            ("", &[0, 1, 2, 3][..]),
            ("call", &[0, 1, 3, 2]),
            ("CALLS", &[0, 3, 1]),
            ("rome chats", &[0]),
            ("tlcl", &[3]),
            ("tcf", &[0, 1]),
            ("cfo", &[1, 0]),
            ("rome oslo", &[]),
            ("zz", &[]),
            ("ö", &[]),
        ] {
            assert_eq!(ranked(names.into_iter(), typed), found, "{typed}");
        }
    }

    #[test]
    fn a_long_name_is_matched_fast() {
        let long = "ab".repeat(1_000_000);
        assert_eq!(ranked([long.as_str()].into_iter(), &"a".repeat(501)), [0; 0]);
        assert_eq!(ranked([long.as_str()].into_iter(), "aab"), [0]);
    }
}
