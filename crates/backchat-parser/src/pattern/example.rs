//! Example texts of a pattern: one for each way to match it, and texts that its look-arounds require.

use std::cell::Cell;
use std::collections::HashSet;

use super::Pattern;
use super::class::Class;
use super::tree::Node;
use backchat_core::text::slice;

/// How many texts are kept at any time.
const MOST: usize = 48;
/// How long a text may grow, in bytes.
const LONGEST: usize = 400;

/// Characters that represent a set in examples.
const SHOWN: [char; 10] = ['a', ' ', '\n', 'b', '0', '<', '>', '"', '.', 'é'];

/// A partial text, and the captures of its groups.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Draft {
    text: String,
    groups: Vec<(u32, String)>,
    /// The starts of the groups that are still open.
    begun: Vec<usize>,
}

impl Pattern {
    /// Texts that the pattern matches, or nearly matches: one for each path through it, up to a limit. A repeat is
    /// taken its minimum number of times and up to twice more; the text of a look-ahead is written after the match.
    pub fn examples(&self) -> &[String] {
        // Whoever asks for them asks more than once, each time for another kind of text.
        self.parts.examples.get_or_init(|| {
            let Ok(parsed) = self.parsed() else { return Vec::new() };
            let mut texts: Vec<String> = Expander { root: &parsed.node, depth: 0, work: &Cell::new(MOST_WORK) }
                .expand(&parsed.node, vec![Draft::default()])
                .into_iter()
                .map(|draft| draft.text)
                .collect();
            let mut seen = HashSet::new();
            texts.retain(|text| seen.insert(text.clone()));
            texts
        })
    }
}

/// How deeply a pattern may call itself.
const DEEPEST: usize = 2;
/// How many nodes are visited, one in a repeat as often as it is repeated. A pattern that needs more has no examples.
const MOST_WORK: usize = 10_000;

#[derive(Clone, Copy)]
struct Expander<'p> {
    root: &'p Node,
    /// How many calls of groups it is inside of.
    depth: usize,
    /// How many more nodes it may visit.
    work: &'p Cell<usize>,
}

impl Expander<'_> {
    /// Each draft, continued in every way.
    fn expand(self, node: &Node, drafts: Vec<Draft>) -> Vec<Draft> {
        let Some(work) = self.work.get().checked_sub(1) else { return Vec::new() };
        self.work.set(work);
        if drafts.is_empty() {
            return drafts;
        }
        match node {
            Node::Empty | Node::Keep | Node::Assert(_) => drafts,
            Node::Char(c) => with_char(drafts, *c),
            Node::Folded(c) => append(drafts, &[c.to_string(), c.to_uppercase().to_string()]),
            Node::Call(_) if self.depth == DEEPEST => Vec::new(),
            Node::Call(group) => {
                let inner = Self { depth: self.depth + 1, ..self };
                find_group(self.root, *group).map_or(Vec::new(), |node| inner.expand(node, drafts))
            }
            Node::Class(class) => append(drafts, &shown(class)),
            Node::Concat(items) => items.iter().fold(drafts, |drafts, item| self.expand(item, drafts)),
            Node::Alternate(items) => thin(items.iter().flat_map(|item| self.expand(item, drafts.clone())).collect()),
            Node::Atomic(node) => self.expand(node, drafts),
            Node::Group { index, node } => self.group(*index, node, drafts),
            Node::Backref { group, .. } => repeated(*group, drafts),
            Node::Repeat { node, min, max, .. } => self.repeat(node, (*min, *max), drafts),
            Node::Look { node, behind: false, .. } => {
                thin(drafts.iter().cloned().chain(self.expand(node, drafts.clone())).collect())
            }
            // The caller writes the text before a match.
            Node::Look { .. } => drafts,
            Node::IfGroup { yes, no, .. } => {
                thin(self.expand(yes, drafts.clone()).into_iter().chain(self.expand(no, drafts)).collect())
            }
            Node::IfLook { look, behind, yes, no } => {
                let seen = if *behind { Vec::new() } else { self.expand(look, drafts.clone()) };
                let seen = self.expand(yes, thin(drafts.iter().cloned().chain(seen).collect()));
                thin(seen.into_iter().chain(self.expand(no, drafts)).collect())
            }
        }
    }

    /// Drafts that note the text of a group.
    fn group(self, index: u32, node: &Node, drafts: Vec<Draft>) -> Vec<Draft> {
        let begun = drafts.into_iter().map(|mut draft| {
            draft.begun.push(draft.text.len());
            draft
        });
        let ended = self.expand(node, begun.collect()).into_iter().map(|mut draft| {
            let start = draft.begun.pop();
            debug_assert!(start.is_some(), "every group begins before it ends");
            let taken = slice(&draft.text, start.unwrap_or(draft.text.len())..).to_owned();
            draft.groups.push((index, taken));
            draft
        });
        thin(ended.collect())
    }

    /// Drafts with as few repetitions as allowed, and with one and two more.
    fn repeat(self, node: &Node, (min, max): (u32, Option<u32>), drafts: Vec<Draft>) -> Vec<Draft> {
        let least = min.min(64);
        let mut now = (0..least).fold(drafts, |drafts, _| self.expand(node, drafts));
        let mut all = now.clone();
        for _ in least..max.unwrap_or(u32::MAX).min(least + 2) {
            now = self.expand(node, now);
            all.extend(now.clone());
        }
        thin(all)
    }
}

/// Drafts with a character at their end: those that differed still do.
fn with_char(mut drafts: Vec<Draft>, c: char) -> Vec<Draft> {
    drafts.iter_mut().for_each(|draft| draft.text.push(c));
    drafts.retain(|draft| draft.text.len() <= LONGEST);
    drafts
}

/// Drafts with each of these texts at their end.
fn append(drafts: Vec<Draft>, ends: &[String]) -> Vec<Draft> {
    let each = drafts.iter().flat_map(|Draft { text, groups, begun }| {
        ends.iter().map(move |end| Draft { text: format!("{text}{end}"), groups: groups.clone(), begun: begun.clone() })
    });
    thin(each.collect())
}

/// Drafts with the text of a group once more.
fn repeated(group: u32, drafts: Vec<Draft>) -> Vec<Draft> {
    let again = drafts.into_iter().map(|mut draft| {
        // A group that took no part has no text.
        if let Some((_, taken)) = draft.groups.iter().rfind(|(index, _)| *index == group) {
            draft.text.push_str(taken);
        }
        draft
    });
    again.collect()
}

/// The inside of a group; of group 0 the whole pattern.
fn find_group(node: &Node, wanted: u32) -> Option<&Node> {
    if wanted == 0 {
        return Some(node);
    }
    match node {
        Node::Group { index, node } if *index == wanted => Some(node),
        node => node.inside().find_map(|node| find_group(node, wanted)),
    }
}

fn shown(class: &Class) -> Vec<String> {
    let known: Vec<String> = SHOWN.iter().filter(|c| class.contains(**c)).take(3).map(char::to_string).collect();
    if !known.is_empty() {
        return known;
    }
    class.first().into_iter().map(String::from).collect()
}

/// Drafts without duplicates and those that are too long; if there are too many, an evenly spaced sample from the first to the
/// last, and the shortest one: a branch with few ways to match it would get lost among those of another.
fn thin(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut seen = HashSet::with_capacity(drafts.len());
    let is_kept: Vec<bool> = drafts.iter().map(|draft| draft.text.len() <= LONGEST && seen.insert(draft)).collect();
    let kept: Vec<Draft> =
        drafts.into_iter().zip(is_kept).filter_map(|(draft, is_kept)| is_kept.then_some(draft)).collect();
    if kept.len() <= MOST {
        return kept;
    }
    let shortest = kept.iter().enumerate().min_by_key(|(_, draft)| draft.text.len()).map(|(index, _)| index);
    let last = kept.len() - 1;
    let spread: HashSet<usize> = (0..MOST - 1).map(|i| i * last / (MOST - 2)).chain(shortest).collect();
    kept.into_iter().enumerate().filter(|(index, _)| spread.contains(index)).map(|(_, draft)| draft).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_take_every_branch() {
        for (pattern, texts) in [
            (r"</t>", &["</t>"][..]),
            (r"a|bc", &["a", "bc"]),
            (r"x(?:ab)?", &["x", "xab"]),
            (r"a{2,3}", &["aa", "aaa"]),
            (r"<(?P<n>a|b)>(?P=n)", &["<a>a", "<b>b"]),
            (r"x|$", &["x", ""]),
            (r"x(?=yz)", &["x", "xyz"]),
            (r"x\s", &["x ", "x\n"]),
            (r"[^\s\S]", &[]),
            (r"\((?:b|(?R))\)", &["(b)", "((b))", "(((b)))"]),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().examples(), texts, "{pattern}");
        }
    }

    #[test]
    fn repeats_of_repeats_end() {
        for inside in ["a", r"\b", "(?:a|b|c)"] {
            let pattern = (0..7).fold(inside.to_owned(), |inside, _| format!("(?:{inside}){{64}}"));
            assert_eq!(Pattern::new(&pattern).unwrap().examples(), [""; 0], "{pattern}");
        }
    }

    #[test]
    fn a_branch_is_shown_beside_one_with_many_texts() {
        for (pattern, start) in [
            (r"(?:<s>\s*\$\s*|\$ )(?P<name>[\w.-]+)\s*", "$ "),
            (r"(?:\$ |<s>\s*\$\s*|<t>\s*\$\s*)(?P<name>[\w.-]+)\s*", "$ "),
            (r"(?:<s>\s*\$\s*|\$ |<t>\s*\$\s*)(?P<name>[\w.-]+)\s*", "$ "),
            (r"(?:<s>\s*\$\s*|begin at )(?P<name>[\w.-]+)\s*", "begin at "),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            let examples = pattern.examples();
            assert!(examples.iter().any(|text| text.starts_with(start)), "{pattern:?}: {examples:?}");
        }
    }

    #[test]
    fn examples_are_bounded() {
        let pattern = Pattern::new(r"(?:\s*[a-z0-9]+\s*(?:x|y|z|w)){3,9}").unwrap();
        let examples = pattern.examples();
        assert!((1..=MOST).contains(&examples.len()));
        assert!(examples.iter().any(|text| pattern.find_at(text, 0).unwrap().is_some()));
    }
}
