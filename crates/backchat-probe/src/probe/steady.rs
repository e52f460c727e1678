//! Replaces varying text in renders with a placeholder character, so that comparisons ignore it. In the response
//! template, the placeholder becomes a pattern. Unicode reserves noncharacters for internal use; control characters may be
//! marks of a chat template.

mod echoes;

use std::ops::Range;
use std::sync::LazyLock;

use backchat_chat::clock_words;
use backchat_core::push_new;
use backchat_core::text::{runs, slice};
pub use echoes::echo;

/// Represents a number that varies.
pub const NUMBER: char = '\u{fdd0}';

/// Represents a word that varies.
pub const WORD: char = '\u{fdd1}';

/// Represents a word of the value of a variable.
pub const VALUE: char = '\u{fdd2}';

/// Represents the name of a call itself in texts whose echoes are searched for.
pub const OWN: char = '\u{fffe}';

/// The lists of words that a clock writes, with a character that represents any word of the list.
static CLOCK: LazyLock<Vec<(char, Vec<String>)>> = LazyLock::new(|| {
    let cases: [fn(&str) -> String; 3] = [str::to_owned, str::to_uppercase, str::to_lowercase];
    let spelled = |words: Vec<&str>| cases.map(|case| words.iter().map(|word| case(word)).collect());
    ('\u{fdd3}'..).zip(clock_words().into_iter().flat_map(spelled)).collect()
});

/// Whether a character represents text that varies.
pub fn is_varying(c: char) -> bool {
    c == NUMBER || is_varying_word(c) || echo(c).is_some()
}

/// Whether a character represents a word that varies: any word, that of a value, or a clock's.
pub fn is_varying_word(c: char) -> bool {
    matches!(c, WORD | VALUE) || words(c).is_some()
}

/// The words that a character represents, if they are those of a clock.
pub fn words(c: char) -> Option<&'static [String]> {
    CLOCK.iter().find_map(|(sign, words)| (*sign == c).then_some(words.as_slice()))
}

/// The character that represents a word of a clock.
pub fn clock_word(word: &str) -> Option<char> {
    CLOCK.iter().find_map(|(sign, words)| words.iter().any(|known| known == word).then_some(*sign))
}

/// The character that represents two words.
fn placeholder(one: &str, two: &str) -> char {
    match clock_word(one).filter(|sign| clock_word(two) == Some(*sign)) {
        Some(sign) => sign,
        None if is_number(one) && is_number(two) => NUMBER,
        None if is_value(one) || is_value(two) => VALUE,
        None => WORD,
    }
}

/// A wire text for display, with its varying parts named.
pub fn readable(text: &str) -> String {
    text.replace(NUMBER, "{number}").replace(is_varying_word, "{word}").replace(|c| echo(c).is_some(), "{text}")
}

/// The varying texts of one chat template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Varying {
    places: Vec<VaryingPlace>,
}

/// A place in the template's own text whose content varies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VaryingPlace {
    /// The text before it on its line, back to the nearest word. A number in it may vary, too, and is a placeholder.
    before: String,
    /// The placeholders, and the text between them.
    middle: String,
    /// The sign after it.
    after: String,
}

/// Varying texts on one line are one text if fewer bytes than this separate them.
const NEAR: usize = 6;

impl Varying {
    /// Compares the numbers on both sides of two values, up to where other text differs.
    pub fn around(&mut self, one: &(String, String), two: &(String, String)) {
        let same = |(a, b): &(&&str, &&str)| a == b || is_number(a) && is_number(b);
        let (a, b) = (numbers(&one.0), numbers(&two.0));
        let count = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
        let last = |tokens: &[&str]| tokens.len() - count;
        self.compare(a.get(last(&a)..).unwrap_or_default(), b.get(last(&b)..).unwrap_or_default(), &is_number);
        let (a, b) = (numbers(&one.1), numbers(&two.1));
        let count = a.iter().zip(b.iter()).take_while(same).count();
        self.compare(a.get(..count).unwrap_or_default(), b.get(..count).unwrap_or_default(), &is_number);
    }

    /// Compares the words on both sides of three values, up to where other text differs. What counts them is another word
    /// beside each: one that two of them share is a mark of its own, as between the first call and all others.
    pub fn beside(&mut self, three: &[(&str, &str); 3]) {
        let before = three.map(|(before, _)| tokens(before).into_iter().rev().collect::<Vec<_>>());
        let [mut a, mut b, _] = alike(before);
        a.reverse();
        b.reverse();
        self.compare(&a, &b, &|_| true);
        let [a, b, _] = alike(three.map(|(_, after)| tokens(after)));
        self.compare(&a, &b, &|_| true);
    }

    /// Compares two texts that differ only in varying parts, token by token.
    pub fn compare(&mut self, one: &[&str], two: &[&str], may_vary: &dyn Fn(&str) -> bool) {
        if one.len() != two.len() || one == two {
            return;
        }
        let differs = |at: usize| one.get(at) != two.get(at);
        let mut at = 0;
        while at < one.len() {
            if !differs(at) {
                at += 1;
                continue;
            }
            let start = at;
            let mut middle = String::new();
            let mut end = at;
            // Varying texts with little in between are one text, such as a date.
            while let (Some(a), Some(b)) = (one.get(at), two.get(at)) {
                if differs(at) {
                    if !(is_word(a) && is_word(b) && may_vary(a) && may_vary(b)) {
                        return;
                    }
                    middle.push_str(&one.get(end..at).unwrap_or_default().concat());
                    middle.push(placeholder(a, b));
                    end = at + 1;
                } else if *a == "\n" || is_value(a) || one.get(end..at).is_some_and(|gap| gap.concat().len() >= NEAR) {
                    break;
                }
                at += 1;
            }
            let place = VaryingPlace::new(one, start..end, middle);
            if !place.before.is_empty() && !self.places.contains(&place) {
                self.places.push(place);
            }
        }
    }

    /// Compares texts that differ only in what their marks repeat of a conversation.
    pub fn echoes(&mut self, texts: &[String]) {
        let steady: Vec<String> = texts.iter().map(|text| self.steady(text.clone())).collect();
        let steady: Vec<&str> = steady.iter().map(String::as_str).collect();
        for place in echoes::find(&steady) {
            push_new(&mut self.places, place);
        }
    }

    /// The places where only numbers and a clock's words vary.
    #[must_use]
    pub fn without_words(&self) -> Self {
        Self { places: self.places.iter().filter(|place| !place.has_words()).cloned().collect() }
    }

    /// Whether any words vary.
    pub fn has_words(&self) -> bool {
        self.places.iter().any(VaryingPlace::has_words)
    }

    /// A render with one placeholder character for each varying text.
    pub fn steady(&self, text: String) -> String {
        self.places.iter().fold(text, |text, place| place.steady(text))
    }
}

impl VaryingPlace {
    fn new(tokens: &[&str], range: Range<usize>, middle: String) -> Self {
        let followers = || tokens.get(range.end..).unwrap_or_default().iter().take_while(|token| !is_value(token));
        let to_word = followers().position(|token| is_word(token)).map(|at| at + 1);
        // A place is recognized by a number or a clock's word in it or a word before it, otherwise by the next word of its
        // mark.
        let is_known = middle.contains(|c| c == NUMBER || words(c).is_some());
        let is_recognizable = |before: &str| is_known || before.contains(|c: char| c.is_alphanumeric() || c == NUMBER);
        let mut before = String::new();
        for token in tokens.get(..range.start).unwrap_or_default().iter().rev().take_while(|token| !is_value(token)) {
            match is_number(token) && token.len() == 1 {
                true => before.insert(0, NUMBER),
                false => before.insert_str(0, token),
            }
            // A bracket opens a mark of which one letter may be the name.
            let opens = token.starts_with(['<', '[', '{', '(']) && (is_recognizable(&before) || to_word.is_some());
            if *token == "\n" || is_word(token) && token.len() > 1 || opens {
                break;
            }
        }
        let after =
            followers().take(if is_recognizable(&before) { 1 } else { to_word.unwrap_or(1) }).copied().collect();
        Self { before, middle, after }
    }

    fn has_words(&self) -> bool {
        self.middle.contains([WORD, VALUE])
    }

    fn steady(&self, text: String) -> String {
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(end) = self.end_of_before(rest) {
            let (kept, from) = rest.split_at(end);
            out.push_str(kept);
            rest = from;
            if let Some(length) = self.length(from).filter(|length| slice(from, *length..).starts_with(&self.after)) {
                out.push_str(&self.middle);
                rest = slice(from, length..);
            }
        }
        if out.is_empty() { text } else { out + rest }
    }

    /// The length of the varying text at the start of a text.
    fn length(&self, text: &str) -> Option<usize> {
        match self.middle.chars().next().filter(|sign| echo(*sign).is_some()) {
            Some(sign) => echoes::length(sign, text, &self.after),
            None => length(&self.middle, text),
        }
    }

    /// The end of the first text that is the one before the place.
    fn end_of_before(&self, text: &str) -> Option<usize> {
        let (lead, others) = self.before.split_at(self.before.find([NUMBER, OWN]).unwrap_or(self.before.len()));
        text.match_indices(lead).find_map(|(at, lead)| {
            let end = at + lead.len();
            Some(end + length(others, slice(text, end..))?)
        })
    }
}

/// The length of the text that begins here and that these placeholders and the text between them represent, if it does.
fn length(placeholders: &str, text: &str) -> Option<usize> {
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let mut rest = text;
    for c in placeholders.chars() {
        let length = match c {
            c if rest.starts_with(c) => c.len_utf8(),
            NUMBER => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            OWN => rest.find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c))).unwrap_or(rest.len()),
            VALUE if is_below_zero(rest) => 1 + word(slice(rest, 1..)),
            WORD | VALUE => word(rest),
            c => {
                let starts = words(c).unwrap_or_default().iter().filter(|word| rest.starts_with(*word));
                starts.map(String::len).max().unwrap_or(0)
            }
        };
        rest = rest.get(length..).filter(|_| length > 0)?;
    }
    Some(text.len() - rest.len())
}

fn is_below_zero(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// The tokens up to the first place where three texts neither agree nor have three different words.
fn alike(three: [Vec<&str>; 3]) -> [Vec<&str>; 3] {
    let [a, b, c] = &three;
    let is_alike = |at: &usize| match [a, b, c].map(|tokens| tokens.get(*at)) {
        [Some(a), Some(b), Some(c)] => {
            a == b && b == c || a != b && b != c && a != c && [a, b, c].map(|t| is_word(t)) == [true; 3]
        }
        _ => false,
    };
    let count = (0..a.len()).take_while(is_alike).count();
    three.map(|tokens| tokens.into_iter().take(count).collect())
}

/// Runs of letters and digits, and every other character alone.
pub fn tokens(text: &str) -> Vec<&str> {
    runs(text, |c| c.is_alphanumeric().then_some(0))
}

/// The same, with numbers apart from the letters next to them.
pub fn numbers(text: &str) -> Vec<&str> {
    runs(text, |c| if c.is_ascii_digit() { Some(1) } else { c.is_alphanumeric().then_some(0) })
}

/// Whether a token is a value of a probe.
fn is_value(token: &str) -> bool {
    token.get(..2).is_some_and(|lead| lead.eq_ignore_ascii_case("qz"))
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphanumeric)
}

pub fn is_number(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_recognized_by_the_text_around_it() {
        let place =
            VaryingPlace { before: "day ".to_owned(), middle: "\u{fdd0}-\u{fdd0}".to_owned(), after: "|".to_owned() };
        for (text, steady) in [
            ("<day 03-12|>", "<day \u{fdd0}-\u{fdd0}|>"),
            ("day 4 and day 03-12|day 1-2|", "day 4 and day \u{fdd0}-\u{fdd0}|day \u{fdd0}-\u{fdd0}|"),
            ("day 03-12.", "day 03-12."),
            ("03-12|", "03-12|"),
        ] {
            assert_eq!(place.steady(text.to_owned()), steady, "{text}");
        }
    }

    #[test]
    fn words_of_a_clock_are_told_from_other_words() {
        let [day, short, upper] = ["Monday", "Mon", "MON"].map(|word| clock_word(word).unwrap());
        for (one, two, place) in [
            ("Monday", "Friday", day),
            ("Tue", "Thu", short),
            ("TUE", "THU", upper),
            ("Monday", "someday", WORD),
            ("Monday", "Fri", WORD),
            ("you", "Qzsetting", VALUE),
            ("4", "12", NUMBER),
        ] {
            assert_eq!(placeholder(one, two), place, "{one} {two}");
        }
        let of = |text: &str| length(&format!("{day} {NUMBER}"), text);
        assert_eq!([of("Friday 13."), of("someday 13."), of("Fri 13.")], [Some(9), None, None]);
    }

    #[test]
    fn a_number_before_a_place_may_be_another_one() {
        let mut found = Varying::default();
        found.compare(&tokens("<c 1 2026-01-02>"), &tokens("<c 1 2027-03-04>"), &|_| true);
        let steady = |text: &str| found.steady(text.to_owned()).replace(NUMBER, "N");
        assert_eq!([steady("<c 3 2026-01-02>"), steady("<c 12 2026-01-02>")], ["<c 3 N-N-N>", "<c 12 N-N-N>"]);
        assert_eq!([steady("<c x 2026-01-02>"), steady("<d 3 2026-01-02>")], ["<c x 2026-01-02>", "<d 3 2026-01-02>"]);
    }
}
