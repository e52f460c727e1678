//! What two renders differ in: pieces, pairs of old and new tokens in which the conversation's own words and numbers are
//! placeholders, so that the same edit is the same piece in every conversation.

use std::collections::HashMap;

use backchat_core::json::Value;
use backchat_core::python::space::is_space;
use backchat_core::python::text::{is_digit, is_word};
use backchat_core::text::slice;

/// Characters of a piece's side that are compared.
const LONGEST: usize = 160;

/// Above so many pairs of tokens the beginning of the difference is its only piece.
const LARGEST: usize = 4_000_000;

/// How many tokens of it are compared then.
const BEGINNING: usize = 40;

/// The longest mark without its brackets.
const LONGEST_MARK: usize = 40;

/// The tokens of a text, each with its place: marks such as `<|end|>`, words, single spaces and other characters.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '<' {
            mark(rest).unwrap_or(1)
        } else if is_of_word(first) {
            rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after;
    }
    found
}

/// A character of a word; most are ASCII.
fn is_of_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { is_word(c) }
}

/// The length of the mark at the beginning of a text.
fn mark(text: &str) -> Option<usize> {
    let mut length = 0;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '>' => return (length > 0).then_some(at + 1),
            '<' => return None,
            c if is_space(c) || length == LONGEST_MARK => return None,
            _ => length += 1,
        }
    }
    None
}

/// A token as pieces show it.
fn shown(token: &str) -> String {
    if token.starts_with("zq") {
        return "w".to_owned();
    }
    if is_digit(token) {
        return "0".to_owned();
    }
    match token.chars().all(is_space) {
        true => {
            let written = Value::from(token).to_string();
            slice(&written, 1..written.len() - 1).to_owned()
        }
        false => token.to_owned(),
    }
}

/// Tokens as pieces show them.
fn normal(tokens: &[&str]) -> String {
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match *token {
            " " => out.push(' '),
            "\n" => out.push_str("\\n"),
            token => out.push_str(&shown(token)),
        }
        if out.len() > LONGEST * 4 {
            break;
        }
    }
    out
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => slice(&text, 0..end).to_owned(),
        None => text,
    }
}

/// A range of tokens that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: (usize, usize),
    pub(crate) new: (usize, usize),
}

/// The hunks between two lists of tokens, as the longest common runs separate them.
pub(crate) fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let most = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
    let inner = |tokens: &[&str]| (start, tokens.len() - end);
    let (x, y) = (inner(old), inner(new));
    let whole = Hunk { old: x, new: y };
    if x.0 == x.1 || y.0 == y.1 {
        return if x == y { Vec::new() } else { vec![whole] };
    }
    if (x.1 - x.0) * (y.1 - y.0) > LARGEST {
        return vec![whole];
    }
    let (a, b) = numbered(old.get(x.0..x.1).unwrap_or_default(), new.get(y.0..y.1).unwrap_or_default());
    let mut found = Vec::new();
    let (mut i, mut j) = (0, 0);
    let mut blocks = Matcher::new(&a, &b).blocks();
    blocks.push((a.len(), b.len(), 0));
    for (at, to, size) in blocks {
        if i < at || j < to {
            found.push(Hunk { old: (start + i, start + at), new: (start + j, start + to) });
        }
        (i, j) = (at + size, to + size);
    }
    found
}

/// Tokens as numbers, equal ones by the same.
fn numbered(old: &[&str], new: &[&str]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers: HashMap<&str, usize, foldhash::fast::FixedState> = HashMap::default();
    let mut all = Vec::with_capacity(old.len() + new.len());
    for token in old.iter().chain(new) {
        let next = numbers.len();
        all.push(*numbers.entry(token).or_insert(next));
    }
    let second = all.split_off(old.len());
    (all, second)
}

/// The lengths of runs that are looked up as one: a run of spaces is common, eight equal tokens in a row are rare.
const GRAMS: [usize; 3] = [8, 3, 1];

/// The runs of one length in both texts, by number.
struct Grams {
    length: usize,
    old: Vec<usize>,
    /// The places of each run in the new text.
    places: Vec<Vec<usize>>,
}

impl Grams {
    fn new(length: usize, old: &[usize], new: &[usize]) -> Self {
        let mut numbers: HashMap<&[usize], usize, foldhash::fast::FixedState> = HashMap::default();
        let mut places: Vec<Vec<usize>> = Vec::new();
        for (at, run) in new.windows(length).enumerate() {
            let number = *numbers.entry(run).or_insert(places.len());
            match places.get_mut(number) {
                Some(places) => places.push(at),
                None => places.push(vec![at]),
            }
        }
        // A run that the new text lacks has no places.
        let old = old.windows(length).map(|run| numbers.get(run).copied().unwrap_or(usize::MAX)).collect();
        Self { length, old, places }
    }
}

/// Finds the longest common run, then the longest ones before and after it, and so on; of several the first.
struct Matcher {
    lengths: (usize, usize),
    grams: Vec<Grams>,
    /// The length of the run that begins before a place of the new text, for the previous token of the old one and for
    /// this.
    runs: [Vec<usize>; 2],
}

impl Matcher {
    fn new(old: &[usize], new: &[usize]) -> Self {
        let zeros = || vec![0; new.len() + 1];
        Self {
            lengths: (old.len(), new.len()),
            grams: GRAMS.iter().map(|length| Grams::new(*length, old, new)).collect(),
            runs: [zeros(), zeros()],
        }
    }

    /// The common runs in order, each with its places and its length; adjacent ones are one.
    fn blocks(mut self) -> Vec<(usize, usize, usize)> {
        let mut todo = vec![((0, self.lengths.0), (0, self.lengths.1))];
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        while let Some((a, b)) = todo.pop() {
            let (i, j, size) = self.longest(a, b);
            if size == 0 {
                continue;
            }
            found.push((i, j, size));
            if a.0 < i && b.0 < j {
                todo.push(((a.0, i), (b.0, j)));
            }
            if i + size < a.1 && j + size < b.1 {
                todo.push(((i + size, a.1), (j + size, b.1)));
            }
        }
        found.sort_unstable();
        let mut joined: Vec<(usize, usize, usize)> = Vec::new();
        for (i, j, size) in found {
            match joined.last_mut() {
                Some((a, b, length)) if *a + *length == i && *b + *length == j => *length += size,
                _ => joined.push((i, j, size)),
            }
        }
        joined
    }

    /// The longest common run within two ranges: one that is as long as a gram consists of such grams.
    fn longest(&mut self, a: (usize, usize), b: (usize, usize)) -> (usize, usize, usize) {
        for grams in &self.grams {
            let found = longest_of(grams, &mut self.runs, a, b);
            if found.2 > 0 {
                return found;
            }
        }
        (a.0, b.0, 0)
    }
}

fn longest_of(
    grams: &Grams,
    runs: &mut [Vec<usize>; 2],
    a: (usize, usize),
    b: (usize, usize),
) -> (usize, usize, usize) {
    let mut best = (a.0, b.0, 0);
    let more = grams.length - 1;
    let (a, b) = ((a.0, a.1.saturating_sub(more)), (b.0, b.1.saturating_sub(more)));
    let [before, now] = runs;
    let clear = |lengths: &mut [usize], places: &[usize]| {
        for place in places {
            if let Some(length) = lengths.get_mut(*place + 1) {
                *length = 0;
            }
        }
    };
    let mut set_before: &[usize] = &[];
    for i in a.0..a.1 {
        let places = grams.old.get(i).and_then(|run| grams.places.get(*run)).map_or(&[][..], Vec::as_slice);
        let from = places.partition_point(|place| *place < b.0);
        let places = places.get(from..).unwrap_or_default();
        let to = places.partition_point(|place| *place < b.1);
        let places = places.get(..to).unwrap_or_default();
        for j in places {
            let length = before.get(*j).copied().unwrap_or(0) + 1;
            if let Some(slot) = now.get_mut(*j + 1) {
                *slot = length;
            }
            if length + more > best.2 {
                best = (i + 1 - length, j + 1 - length, length + more);
            }
        }
        clear(before, set_before);
        std::mem::swap(before, now);
        set_before = places;
    }
    clear(before, set_before);
    best
}

/// Numbers for pieces: the same edit has the same number in every conversation.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    numbers: HashMap<(String, String), usize>,
    all: Vec<(String, String)>,
}

impl Pieces {
    /// The number of a piece.
    pub(crate) fn number(&mut self, old: String, new: String) -> usize {
        let next = self.all.len();
        let key = (old, new);
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        self.all.push(key.clone());
        self.numbers.insert(key, next);
        next
    }

    /// A piece by its number.
    pub(crate) fn get(&self, number: usize) -> Option<&(String, String)> {
        self.all.get(number)
    }

    /// The pieces between two renders, each once.
    pub(crate) fn between(&mut self, old: &str, new: &str) -> Vec<usize> {
        let (old, new) = (tokens(old), tokens(new));
        let side = |tokens: &[&str], (from, to): (usize, usize)| tokens.get(from..to).map(normal).unwrap_or_default();
        let mut found = Vec::new();
        for hunk in hunks(&old, &new) {
            let is_large = (hunk.old.1 - hunk.old.0) * (hunk.new.1 - hunk.new.0) > LARGEST;
            let start =
                |(from, to): (usize, usize)| if is_large { (from, to.min(from + BEGINNING)) } else { (from, to) };
            let (old, new) = (side(&old, start(hunk.old)), side(&new, start(hunk.new)));
            let (old, new) = if is_large { (old, new) } else { (cut(old), cut(new)) };
            backchat_core::push_new(&mut found, self.number(old, new));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_marks_words_spaces_and_single_characters() {
        for (text, expected) in [
            ("<|im_end|>\n", &["<|im_end|>", "\n"][..]),
            ("a1_b  c", &["a1_b", " ", " ", "c"]),
            ("<a <b>", &["<", "a", " ", "<b>"]),
            ("<>x", &["<", ">", "x"]),
            ("é…", &["é", "…"]),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
        assert_eq!(tokens(&format!("<{}>", "x".repeat(40))).len(), 1);
        assert_eq!(tokens(&format!("<{}>", "x".repeat(41))).len(), 3);
    }

    #[test]
    fn pieces_are_the_same_in_every_conversation() {
        let mut pieces = Pieces::default();
        let one = pieces.between("<u>zqu1<e>", "<u>zqu1 <e>");
        let other = pieces.between("<s><u>zqu2<e>x", "<s><u>zqu2 <e>x");
        assert_eq!(one, other);
        assert_eq!(pieces.get(one[0]), Some(&(String::new(), " ".to_owned())));
        let words = pieces.between("zqa1\n7", "zqb2\n\t8");
        let shown: Vec<_> = words.iter().map(|number| pieces.get(*number).unwrap().clone()).collect();
        let own = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        assert_eq!(shown, [own("w", "w"), own("0", "\\t 0")]);
    }

    #[test]
    fn hunks_are_what_is_between_the_longest_common_runs() {
        for (old, new, expected) in [
            ("a b c", "a b c", vec![]),
            ("a b c", "a x c", vec![((2, 3), (2, 3))]),
            ("a b", "a b c", vec![((3, 3), (3, 5))]),
            ("x a b c y a", "a b c z a b", vec![((0, 2), (0, 0)), ((8, 9), (6, 7)), ((11, 11), (9, 11))]),
        ] {
            let found: Vec<_> =
                hunks(&tokens(old), &tokens(new)).into_iter().map(|hunk| (hunk.old, hunk.new)).collect();
            assert_eq!(found, expected, "{old} / {new}");
        }
    }
}
