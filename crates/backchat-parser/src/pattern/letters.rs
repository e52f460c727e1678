//! Markers as letters: a pattern that spells a marker has one special character instead, which ordinary text never
//! contains.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::class::Class;
use super::read_regex::ParsedPattern;
use super::tree::Node;

/// The first letter. The letters are of plane 13, in which Unicode assigns no characters.
const FIRST: u32 = 0xD_0000;

/// How many markers can have a letter.
const MOST: u32 = 0x4000;

/// Announces a character of the text that is itself a letter: the next character is that one, shifted by [`SHIFT`].
const ANNOUNCES: char = '\u{D4000}';
const SHIFT: u32 = 0x8000;

/// The first byte, in UTF-8, of every letter.
const LEAD: u8 = 0xF3;

/// How many texts an alternation of literals may be expanded to.
const MOST_TEXTS: usize = 64;

/// How many texts of one part are looked at to find out whether a marker begins there.
const MOST_SEEN: usize = 4096;

/// A marker for each letter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Letters {
    markers: Vec<String>,
    /// The markers by their first character, the longest first.
    by_first: HashMap<char, Vec<usize>>,
}

/// A pattern spells a marker in too many ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyWays;

impl Letters {
    /// The letters of some markers, of which none is empty.
    pub fn new(markers: Vec<String>) -> Self {
        let mut by_first: HashMap<char, Vec<usize>> = HashMap::new();
        for (index, marker) in markers.iter().enumerate().take(MOST as usize) {
            if let Some(first) = marker.chars().next() {
                by_first.entry(first).or_default().push(index);
            }
        }
        for same in by_first.values_mut() {
            same.sort_by_key(|index| std::cmp::Reverse(markers.get(*index).map_or(0, String::len)));
        }
        Self { markers, by_first }
    }

    /// The letter of a marker, by its place.
    pub fn letter(index: usize) -> char {
        u32::try_from(index).ok().and_then(|index| char::from_u32(FIRST + index)).unwrap_or(ANNOUNCES)
    }

    fn marker(&self, letter: char) -> Option<&str> {
        self.markers.get(self.place(letter)?).map(String::as_str)
    }

    /// The longest marker that a text begins with.
    fn at_start(&self, text: &str) -> Option<usize> {
        let same = self.by_first.get(&text.chars().next()?)?;
        same.iter()
            .copied()
            .find(|index| self.markers.get(*index).is_some_and(|marker| text.starts_with(marker.as_str())))
    }

    /// A text with each marker that it spells as its letter: the leftmost first, then the longest.
    pub fn spell(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = match self.at_start(rest) {
                Some(index) => {
                    out.push(Self::letter(index));
                    self.markers.get(index).map_or(1, String::len)
                }
                None => {
                    self.write_char(c, &mut out);
                    c.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        out
    }

    /// The markers that a text spells, by their places.
    pub fn spelled(&self, text: &str) -> Vec<usize> {
        self.spell(text).chars().filter_map(|c| self.place(c)).collect()
    }

    fn place(&self, letter: char) -> Option<usize> {
        let place = (letter as u32).checked_sub(FIRST)? as usize;
        (place < self.markers.len()).then_some(place)
    }

    /// Appends text whose characters are not letters of markers, even if they look like it.
    pub fn write(&self, text: &str, out: &mut String) {
        if self.markers.is_empty() || !text.as_bytes().contains(&LEAD) {
            out.push_str(text);
        } else {
            text.chars().for_each(|c| self.write_char(c, out));
        }
    }

    fn write_char(&self, c: char, out: &mut String) {
        let is_letter = (FIRST..=ANNOUNCES as u32).contains(&(c as u32)) && !self.markers.is_empty();
        match char::from_u32(c as u32 + SHIFT).filter(|_| is_letter) {
            Some(shifted) => out.extend([ANNOUNCES, shifted]),
            None => out.push(c),
        }
    }

    /// A text with each letter as its marker; `write` appends a marker.
    pub fn read<'t>(&self, text: &'t str, write: impl Fn(&str, &mut String)) -> Cow<'t, str> {
        if !Self::may_have_letters(text) || self.markers.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len() + 16);
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match self.marker(c) {
                Some(marker) => write(marker, &mut out),
                None if c == ANNOUNCES => {
                    out.extend(chars.next().and_then(|shifted| char::from_u32((shifted as u32).checked_sub(SHIFT)?)));
                }
                None => out.push(c),
            }
        }
        Cow::Owned(out)
    }

    /// A sentence that quotes text with letters, as text: a quotation escapes letters, which Unicode does not assign.
    pub fn read_quoting(&self, sentence: &str) -> String {
        let mut out = String::with_capacity(sentence.len());
        let mut rest = sentence;
        while let Some((before, after)) = rest.split_once("\\u{") {
            let is_escaped = before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
            let code = after.split_once('}').filter(|_| !is_escaped);
            let letter = code.and_then(|(hex, beyond)| {
                let letter = char::from_u32(u32::from_str_radix(hex, 16).ok()?)?;
                self.place(letter).map(|_| (letter, beyond))
            });
            out.push_str(before);
            rest = match letter {
                Some((letter, beyond)) => {
                    out.push(letter);
                    beyond
                }
                None => {
                    out.push_str("\\u{");
                    after
                }
            };
        }
        out.push_str(rest);
        self.read(&out, |marker, out| out.push_str(marker)).into_owned()
    }

    /// Whether a text may have letters; most have none.
    #[inline]
    pub fn may_have_letters(text: &str) -> bool {
        // Most tokens are too short for a vectorized search to pay off.
        match text.len() {
            ..16 => text.bytes().any(|byte| byte == LEAD),
            _ => memchr::memchr(LEAD, text.as_bytes()).is_some(),
        }
    }

    /// The letters of a text: the end of each, and by how many bytes its marker is longer.
    pub fn lengths<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, isize)> + 't {
        let mut announced = false;
        text.char_indices().filter_map(move |(at, c)| {
            let was_announced = std::mem::replace(&mut announced, false);
            let longer = |length: usize| length as isize - c.len_utf8() as isize;
            let growth = match self.marker(c) {
                Some(marker) => longer(marker.len()),
                None if c == ANNOUNCES => {
                    announced = true;
                    longer(0)
                }
                None if was_announced => 0,
                None => return None,
            };
            Some((at + c.len_utf8(), growth))
        })
    }

    /// A set for texts with letters: it has a letter if it has every character of the marker.
    fn set(&self, class: &Class) -> Class {
        if class.is_any() {
            return class.clone();
        }
        let has = |marker: &String| marker.chars().all(|c| class.contains(c));
        let letters = self.markers.iter().enumerate().take(MOST as usize).filter(|(_, marker)| has(marker));
        class.replacing(FIRST, FIRST + MOST - 1, letters.map(|(index, _)| Self::letter(index)))
    }
}

/// Writes patterns in letters, and notes the markers that they spell.
pub(super) struct Speller<'l> {
    letters: &'l Letters,
    /// The groups that have names, or all of them if the pattern asks for one by its number.
    kept_groups: Vec<u32>,
    keeps_all: bool,
    pub spelled: BTreeSet<usize>,
}

impl<'l> Speller<'l> {
    pub fn new(letters: &'l Letters, parsed: &ParsedPattern) -> Self {
        Self {
            letters,
            kept_groups: parsed.names.iter().map(|(_, group)| *group).collect(),
            keeps_all: parsed
                .node
                .any(&|node| matches!(node, Node::Backref { .. } | Node::Call(_) | Node::IfGroup { .. })),
            spelled: BTreeSet::new(),
        }
    }

    /// The same part of a pattern, in letters.
    pub fn node(&mut self, node: &Node) -> Result<Node, TooManyWays> {
        let mut boxed = |node: &Node| self.node(node).map(Box::new);
        Ok(match node {
            Node::Char(_) | Node::Alternate(_) | Node::Concat(_) => return self.sequence(node),
            Node::Class(class) => Node::Class(self.letters.set(class)),
            Node::Group { index, node } => Node::Group { index: *index, node: boxed(node)? },
            Node::Repeat { node, min, max, greed } => {
                Node::Repeat { node: boxed(node)?, min: *min, max: *max, greed: *greed }
            }
            Node::Look { node, behind, negate } => Node::Look { node: boxed(node)?, behind: *behind, negate: *negate },
            Node::Atomic(node) => Node::Atomic(boxed(node)?),
            Node::IfGroup { group, yes, no } => Node::IfGroup { group: *group, yes: boxed(yes)?, no: boxed(no)? },
            Node::IfLook { look, behind, yes, no } => {
                Node::IfLook { look: boxed(look)?, behind: *behind, yes: boxed(yes)?, no: boxed(no)? }
            }
            Node::Empty | Node::Assert(_) | Node::Backref { .. } | Node::Folded(_) | Node::Call(_) | Node::Keep => {
                node.clone()
            }
        })
    }

    fn sequence(&mut self, node: &Node) -> Result<Node, TooManyWays> {
        let mut items = Vec::new();
        flatten(node, &mut items);
        let mut written = Vec::new();
        let mut run: Vec<RunPart<'_>> = Vec::new();
        for item in items {
            match self.texts(item) {
                Some(texts) => match (run.last_mut(), texts.as_slice()) {
                    (Some(RunPart { texts: before, node: None }), [text]) => {
                        before.iter_mut().for_each(|before| before.push_str(text));
                    }
                    (_, [_]) => run.push(RunPart { texts, node: None }),
                    _ => run.push(RunPart { texts, node: Some(item) }),
                },
                None => {
                    self.end_run(&mut run, &mut written)?;
                    written.push(match item {
                        Node::Alternate(branches) => self.each(branches)?,
                        _ => self.node(item)?,
                    });
                }
            }
        }
        self.end_run(&mut run, &mut written)?;
        Ok(Node::concat(written))
    }

    /// Writes parts that follow each other: each by itself, unless a marker begins in one and ends in another.
    fn end_run(&mut self, run: &mut Vec<RunPart<'_>>, written: &mut Vec<Node>) -> Result<(), TooManyWays> {
        let parts = std::mem::take(run);
        let ways = parts.iter().try_fold(1_usize, |ways, part| ways.checked_mul(part.texts.len()));
        if parts.len() > 1 {
            match ways.filter(|ways| *ways <= MOST_TEXTS) {
                Some(_) => {
                    let joined = parts.iter().fold(vec![(String::new(), String::new())], |all, part| {
                        let with = |(text, spelled): &(String, String), next: &String| {
                            (text.clone() + next, spelled.clone() + &self.letters.spell(next))
                        };
                        all.iter().flat_map(|before| part.texts.iter().map(move |next| with(before, next))).collect()
                    });
                    if joined.iter().any(|(text, apart)| self.letters.spell(text) != *apart) {
                        written.push(self.branches(joined.into_iter().map(|(text, _)| text)));
                        return Ok(());
                    }
                }
                None if self.crosses(&parts) => return Err(TooManyWays),
                None => {}
            }
        }
        for part in parts {
            match part.node {
                None => written.push(self.branches(part.texts)),
                Some(Node::Group { index, node }) => {
                    written.push(Node::Group { index: *index, node: Box::new(self.node(node)?) });
                }
                Some(Node::Alternate(branches)) if part.texts.len() > MOST_TEXTS => {
                    written.push(self.each(branches)?);
                }
                Some(_) => written.push(self.branches(part.texts)),
            }
        }
        Ok(())
    }

    /// An alternation, branch by branch.
    fn each(&mut self, branches: &[Node]) -> Result<Node, TooManyWays> {
        Ok(Node::Alternate(branches.iter().map(|branch| self.node(branch)).collect::<Result<_, _>>()?))
    }

    fn branches(&mut self, texts: impl IntoIterator<Item = String>) -> Node {
        Node::alternate(texts.into_iter().map(|text| self.literal(&text)).collect())
    }

    fn literal(&mut self, text: &str) -> Node {
        let letters = self.letters.spell(text);
        self.spelled.extend(letters.chars().filter_map(|c| self.letters.place(c)));
        Node::concat(letters.chars().map(Node::Char).collect())
    }

    /// The texts that a part of literals and their alternatives matches, in the order in which it tries them.
    fn texts(&self, node: &Node) -> Option<Vec<String>> {
        let texts = match node {
            Node::Empty => vec![String::new()],
            Node::Char(c) => vec![c.to_string()],
            Node::Concat(items) => items.iter().try_fold(vec![String::new()], |all, item| {
                let next = self.texts(item)?;
                let joined: Vec<String> = all
                    .iter()
                    .flat_map(|before| next.iter().map(move |next| before.clone() + next))
                    .take(MOST_SEEN + 1)
                    .collect();
                (joined.len() <= MOST_SEEN).then_some(joined)
            })?,
            Node::Alternate(branches) => {
                let mut all = Vec::new();
                for branch in branches {
                    all.extend(self.texts(branch)?);
                }
                all
            }
            Node::Group { index, node } if !self.keeps_all && !self.kept_groups.contains(index) => self.texts(node)?,
            _ => return None,
        };
        (texts.len() <= MOST_SEEN).then_some(texts)
    }

    /// Whether a marker can begin in one of the parts and end in another.
    fn crosses(&self, parts: &[RunPart<'_>]) -> bool {
        fn goes_on(rest: &str, parts: &[RunPart<'_>]) -> bool {
            let Some((part, others)) = parts.split_first() else { return false };
            part.texts.iter().any(|text| {
                text.starts_with(rest) || rest.strip_prefix(text.as_str()).is_some_and(|rest| goes_on(rest, others))
            })
        }
        parts.iter().enumerate().any(|(index, part)| {
            let others = parts.get(index + 1..).unwrap_or_default();
            let begins = |text: &String, marker: &String| {
                let tails = text.char_indices().map(|(at, _)| text.get(at..).unwrap_or_default());
                let mut inside = tails.filter_map(|tail| marker.strip_prefix(tail).filter(|rest| !rest.is_empty()));
                inside.any(|rest| goes_on(rest, others))
            };
            part.texts.iter().any(|text| self.letters.markers.iter().any(|marker| begins(text, marker)))
        })
    }
}

struct RunPart<'n> {
    texts: Vec<String>,
    /// The part as it was read, if it has alternatives.
    node: Option<&'n Node>,
}

fn flatten<'n>(node: &'n Node, items: &mut Vec<&'n Node>) {
    match node {
        Node::Concat(inside) => inside.iter().for_each(|item| flatten(item, items)),
        node => items.push(node),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::pattern::Pattern;

    fn letters(markers: &[&str]) -> Letters {
        Letters::new(markers.iter().map(|marker| (*marker).to_owned()).collect())
    }

    #[test]
    fn markers_are_letters_from_the_left_and_the_longest_first() {
        let letters = letters(&["<a>", "<a><b>", "b>", "<"]);
        let letter = |index| Letters::letter(index).to_string();
        for (text, spelled) in [
            ("x<a>y", ["x", &letter(0), "y"].concat()),
            ("<a><b>b>", [letter(1), letter(2)].concat()),
            ("<a<a>", [&letter(3), "a", &letter(0)].concat()),
            ("none", "none".to_owned()),
        ] {
            assert_eq!(letters.spell(text), spelled, "{text}");
            assert_eq!(letters.read(&spelled, |marker, out| out.push_str(marker)), text);
        }
    }

    /// A text may contain the letters themselves: they are never read as markers, and are returned unchanged.
    #[test]
    fn letters_in_a_text_are_never_markers() {
        let letters = letters(&["<a>"]);
        for text in ["\u{D0000}", "a\u{D4000}\u{DC000}b", "\u{D3FFF}\u{D4001}", "🏴\u{E0067}"] {
            let mut written = String::new();
            letters.write(text, &mut written);
            assert_eq!(letters.read(&written, |marker, out| out.push_str(marker)), text, "{text:?}");
            assert!(!written.contains(Letters::letter(0)), "{text:?}");
            let longer: isize = letters.lengths(&written).map(|(_, growth)| growth).sum();
            assert_eq!(written.len().saturating_add_signed(longer), text.len(), "{text:?}");
        }
    }

    #[test]
    fn quoted_letters_are_restored() {
        let letters = letters(&["<a>"]);
        for (text, read) in [
            (format!("at {:?}", "x\u{D0000}"), r#"at "x<a>""#),
            (format!("at {:?}", r"x\u{d0000}"), r#"at "x\\u{d0000}""#),
            ("x\u{D0000}\\u{e000}\\u{".to_owned(), "x<a>\\u{e000}\\u{"),
        ] {
            assert_eq!(letters.read_quoting(&text), read, "{text}");
        }
    }

    /// What a pattern matches once markers are letters: `A` and `B` stand for the letters of `<a>` and `<b>`.
    #[test]
    fn patterns_in_letters() {
        let letters = Arc::new(letters(&["<a>", "<b>", "</a>"]));
        let in_letters =
            |text: &str| text.chars().map(|c| "ABC".find(c).map_or(c, Letters::letter)).collect::<String>();
        for (pattern, text, found) in [
            ("<a>", "<a>A", Some("A")),
            (r"\s*<a>x", "<a>x Ax", Some(" Ax")),
            ("<(?:a|b)>", "<a>B", Some("B")),
            ("<(a|b)>", "<a>B", Some("B")),
            ("(?:</|<)a>", "<a>C", Some("C")),
            // A named group stays separate, and a repeat is not a sequence of characters.
            ("<(?P<n>a|b)>", "A<b>", Some("<b>")),
            ("<a?>", "A<a>", Some("<a>")),
            ("[^<]+", "xAy", Some("x")),
            (".+", "xAy", Some("xAy")),
            (r"\S+", " xA y", Some("xA")),
            (r"[<a>]+", "xBA", Some("A")),
            ("(?:<a>|x)+y", "<a>yAxy", Some("Axy")),
            ("(?<=<a>)x", "<a>xAx", Some("x")),
            (r"(<a>)\1", "AA", Some("AA")),
        ] {
            let pattern = Pattern::new(pattern).unwrap().in_letters(&letters).unwrap();
            let text = in_letters(text);
            let match_ = pattern.find_at(&text, 0).unwrap();
            let match_ = match_.as_ref().map(|found| found.text());
            assert_eq!(match_, found.map(in_letters).as_deref(), "{pattern:?}");
        }
    }

    #[test]
    fn too_many_spellings_of_a_marker_are_rejected() {
        let letters = letters(&["<a7>"]);
        let all = |prefix: &str| (0..100).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>().join("|");
        for (pattern, is_refused) in [
            (format!("<(?:{})>", all("a")), true),
            (format!("<(?:{})>", all("b")), false),
            (all("<b"), false),
            (format!("(?:{})<a7>", all("b")), false),
        ] {
            let markers = Pattern::new(&pattern).unwrap().markers(&letters);
            assert_eq!(markers.is_err(), is_refused, "{pattern}");
            assert_eq!(markers.unwrap_or_default().len(), usize::from(pattern.contains("<a7>")), "{pattern}");
        }
    }
}
