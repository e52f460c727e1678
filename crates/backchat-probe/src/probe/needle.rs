//! Needles: words that no template contains. A needle in a render comes from the message that holds it, and its position
//! shows the text around a value.

use std::fmt::Write as _;

pub const SYSTEM: &str = "Qzsystemq";
pub const USER: &str = "Qzuserq";
pub const LATER: &str = "Qzlaterq";
pub const OTHER: &str = "Qzotherq";
pub const CONTENT: &str = "Qzcontentq";
pub const ANSWER: &str = "Qzanswerq";
pub const EARLIER: &str = "Qzearlierq";
pub const REASONING: &str = "Qzreasonq";
pub const BEFORE: &str = "Qzbeforeq";
pub const AFTER: &str = "Qzafterq";
/// A second text in the same value.
pub const SECOND: &str = "Qzsecondq";
pub const RESULT: &str = "Qzresultq";
pub const DOCUMENT: &str = "Qzdocumentq";
pub const SETTING: &str = "Qzsettingq";
/// The value of a variable, to see whether the template prints it.
pub const PRINTED: &str = "Qzprintedq";
/// The value of a missing variable; no delimiter may contain it.
pub const FILLED: &str = "Qzfilledq";
/// A missing special token.
pub const TOKEN: &str = "Qztokenq";
pub const DESCRIPTIONS: [&str; 2] = ["Qzdescribesoneq", "Qzdescribestwoq"];
pub const NAMES: [&str; 3] = ["qzname_one", "qzname_two", "qzname_tre"];
pub const KEYS: [&str; 3] = ["qzkey_one", "qzkey_two", "qzkey_tre"];
pub const VALUES: [&str; 3] = ["Qzvalueoneq", "Qzvaluetwoq", "Qzvaluetreq"];
/// A text inside a list or an object.
pub const ITEM: &str = "Qzitemq";
/// Two keys out of alphabetical order.
pub const INNER_KEYS: [&str; 2] = ["qzb", "qza"];
/// A text with every character that some encoding escapes.
pub const ODD: &str = "Qzo\"d'd \\<&>\né]q";
/// A character beyond ASCII.
pub const ACCENTED: &str = "Qzé";
/// Appended to a text to make it longer.
pub const MORE: &str = ", then Qzsome more words, all of them q";
pub const INTEGER: u64 = 73591;
/// The id, the name, a key and its value of a call that was answered before.
pub const EARLIER_CALL: [&str; 4] = ["qzId9zzzz", "qzname_nil", "qzkey_nil", "Qzvaluenilq"];
/// Nine letters and digits: some templates refuse any other id.
pub const IDS: [&str; 3] = ["qzId1aaaa", "qzId2bbbb", "qzId3cccc"];
/// The suffix that makes ids longer than the conversation's own.
pub(super) const LONGER_ID: &str = "Qzlongerq0000000";
/// A key that no template reads.
pub(super) const UNREAD: &str = "qzunread";
/// The prefixes of all needles.
pub const BEGINNINGS: [&str; 5] = ["Qz", "qzname_", "qzkey_", "qzId", "qzspace"];

/// One of three needles, in turn.
pub fn pick([first, second, third]: [&'static str; 3], index: usize) -> &'static str {
    match index % 3 {
        0 => first,
        1 => second,
        _ => third,
    }
}

/// Generates needles of equal length that do not occur in a text.
pub struct Needles {
    salt: String,
    next: usize,
}

impl Needles {
    pub fn new(avoid: &str) -> Self {
        let mut salt = "Qz".to_owned();
        while avoid.contains(&salt) {
            salt.push('z');
        }
        Self { salt, next: 0 }
    }

    pub fn draw(&mut self) -> String {
        let mut needle = self.salt.clone();
        let _ = write!(needle, "{:06}q", self.next);
        self.next += 1;
        needle
    }

    /// The positions of needles in a render: the needle's number, its start and its end.
    pub fn find(&self, text: &str) -> Vec<(usize, (usize, usize))> {
        let mut found = Vec::new();
        for (start, _) in text.match_indices(&self.salt) {
            let digits = start + self.salt.len();
            let Some(number) = text.get(digits..digits + 6).and_then(|digits| digits.parse().ok()) else { continue };
            if text.get(digits + 6..digits + 7) == Some("q") {
                found.push((number, (start, digits + 7)));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_needle_occurs_in_another_and_all_have_a_known_prefix() {
        let single = [
            SYSTEM, USER, LATER, OTHER, CONTENT, ANSWER, EARLIER, REASONING, BEFORE, AFTER, SECOND, RESULT, DOCUMENT,
            SETTING, PRINTED, FILLED, TOKEN, ITEM,
        ];
        let several = [NAMES, KEYS, VALUES, IDS].concat();
        let all = [single.as_slice(), several.as_slice(), DESCRIPTIONS.as_slice()].concat();
        for (at, one) in all.iter().enumerate() {
            assert!(BEGINNINGS.iter().any(|beginning| one.starts_with(beginning)), "{one}");
            let other = all.iter().enumerate().find(|(other, text)| *other != at && one.contains(*text));
            assert_eq!(other, None, "{one} contains it");
        }
    }

    #[test]
    fn generated_needles_are_found_and_the_original_text_has_none() {
        for (text, first) in [("Hello", "Qz000000q"), ("a Qz word", "Qzz000000q"), ("Qzz000000q", "Qzzz000000q")] {
            let mut needles = Needles::new(text);
            assert_eq!(needles.find(text), [], "{text}");
            let (one, two) = (needles.draw(), needles.draw());
            assert_eq!((one.as_str(), one.len()), (first, two.len()));
            let length = one.len();
            let found = [(1, (1, 1 + length)), (0, (2 + length, 2 + 2 * length))];
            assert_eq!(needles.find(&format!("<{two}>{one}")), found, "{text}");
        }
    }
}
