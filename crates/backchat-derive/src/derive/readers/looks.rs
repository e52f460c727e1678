//! Rewrites of a delimiter's pattern without look-arounds, the one that loses least first.

use super::super::compile::pieces::{Branch, Branches, PatternItem, literal};
use super::super::compile::{escape, without_doubled_space, written};
use crate::wire::marks::Segmentation;

/// A pattern without some of its look-arounds; finally, without any and as text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rewrite<P = String> {
    pub pattern: P,
    /// What a close now consumes of the mark that the next field's open began with.
    pub taken: Option<Taken>,
    /// The dropped alternatives.
    pub dropped: Vec<String>,
    cost: usize,
}

impl Rewrite {
    /// The pattern as it is.
    pub fn unchanged(pattern: &str) -> Self {
        Self { pattern: pattern.to_owned(), taken: None, dropped: Vec::new(), cost: 0 }
    }

    /// The same rewrite, written in another way.
    pub fn written(&self, pattern: String) -> Self {
        Self { pattern, ..self.clone() }
    }
}

/// A mark of which a close consumes a part, both as patterns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    pub part: String,
    pub left: String,
}

/// How many intermediate patterns are tried.
const MOST: usize = 64;

/// The ways to write a pattern without looking around; none if it is impossible.
pub(super) fn rewrites(pattern: &str, closes: bool) -> Vec<Rewrite> {
    let Some(branches) = Branches::read(pattern) else { return Vec::new() };
    let before_look = before_last_look(&branches).filter(|_| closes).cloned();
    let mut open = vec![Rewrite { pattern: branches, taken: None, dropped: Vec::new(), cost: 0 }];
    let mut found: Vec<Rewrite> = Vec::new();
    for _ in 0..MOST {
        let Some(Rewrite { pattern: branches, taken, dropped, cost }) = open.pop() else { break };
        let Some(changes) = first(&branches, closes) else {
            let mut pattern = without_doubled_space(&greedy(&branches).to_string());
            // A close that takes what it looked ahead for, such as a stop, also takes the white space after that.
            if let (Some(before), [Branch(items)]) = (&before_look, branches.0.as_slice())
                && items.last().is_some_and(|last| last != before)
            {
                pattern = without_doubled_space(&format!("{pattern}\\s*"));
            }
            if !pattern.is_empty() && !found.iter().any(|known| known.pattern == pattern) {
                found.push(Rewrite { pattern, taken, dropped, cost });
            }
            continue;
        };
        open.extend(changes.into_iter().map(|change| Rewrite {
            pattern: change.pattern,
            taken: taken.clone().or(change.taken),
            dropped: [dropped.as_slice(), &change.dropped].concat(),
            cost: cost + change.cost,
        }));
    }
    found.sort_by_key(|rewrite| rewrite.cost);
    found
}

/// The item before a look-ahead that ends the pattern.
fn before_last_look(branches: &Branches) -> Option<&PatternItem> {
    let [Branch(items)] = branches.0.as_slice() else { return None };
    match items.as_slice() {
        [.., before, PatternItem::Look { open, .. }] if open == "(?=" => Some(before),
        _ => None,
    }
}

/// The ways to remove the first look-around; `None` if there is none.
fn first(branches: &Branches, closes: bool) -> Option<Vec<Rewrite<Branches>>> {
    for (i, branch) in branches.0.iter().enumerate() {
        for (j, item) in branch.0.iter().enumerate() {
            let with = |items: Vec<PatternItem>| {
                let mut all = branches.clone();
                if let Some(branch) = all.0.get_mut(i) {
                    branch.0.splice(j..=j, items);
                }
                all
            };
            match item {
                PatternItem::Atom(_) => {}
                PatternItem::Group { open, inside, repeat } => {
                    let Some(changes) = first(inside, closes) else { continue };
                    let wrap = |change: Rewrite<Branches>| {
                        let (open, repeat) = (open.clone(), repeat.clone());
                        let group = PatternItem::Group { open, inside: change.pattern, repeat };
                        Rewrite { pattern: with(unwrapped(group)), ..change }
                    };
                    return Some(changes.into_iter().map(wrap).collect());
                }
                PatternItem::Look { open, inside } => {
                    return Some(changes(branches, (i, j), inside, closes && open == "(?=", &with));
                }
            }
        }
    }
    None
}

/// The ways to remove the look-around at a place. A close may consume what it looks ahead for.
fn changes(
    branches: &Branches,
    (i, j): (usize, usize),
    inside: &Branches,
    may_take: bool,
    with: &dyn Fn(Vec<PatternItem>) -> Branches,
) -> Vec<Rewrite<Branches>> {
    let mut found = Vec::new();
    let mut add = |pattern, taken, dropped, cost| found.push(Rewrite { pattern, taken, dropped, cost });
    let branch = branches.0.get(i).map_or(&[][..], |branch| &branch.0);
    let is_alone = branch.iter().enumerate().all(|(at, item)| at == j || item.is_space());
    if branches.0.len() > 1 {
        let mut fewer = branches.clone();
        let dropped = fewer.0.remove(i);
        let dropped = vec![Branches(vec![dropped]).to_string()];
        add(fewer, None, dropped, if is_alone { 0 } else { 2 });
    }
    if !is_alone {
        add(with(Vec::new()), None, Vec::new(), 1);
    }
    if may_take {
        if is_alone && let Some(mark) = leading_mark(inside) {
            // All of it, or all but its last character, which still begins the next field.
            let last = mark.len() - mark.chars().next_back().map_or(0, char::len_utf8);
            for (at, cost) in [(mark.len(), 1), (last, 2)] {
                let Some((part, left)) = mark.split_at_checked(at).filter(|(part, _)| !part.is_empty()) else {
                    continue;
                };
                let items = part.chars().map(|c| PatternItem::Atom(written(c))).collect();
                add(with(items), Some(Taken { part: escape(part), left: escape(left) }), Vec::new(), cost);
            }
        }
        // The end of the text closes a region anyway; a pattern that matches it may match the end of a chunk.
        let endless = without_end(inside);
        for (inside, cost) in [(endless, 2), (Some(inside.clone()), 3)] {
            let Some(inside) = inside else { continue };
            let group = PatternItem::Group { open: "(?:".to_owned(), inside, repeat: String::new() };
            add(with(unwrapped(group)), None, Vec::new(), cost);
        }
    }
    found
}

/// The branches without those that match only the end of the text; `None` if no other is left or nothing changed.
fn without_end(inside: &Branches) -> Option<Branches> {
    let is_end = |branch: &Branch| matches!(branch.0.as_slice(), [PatternItem::Atom(atom)] if ["\\Z", "$"].contains(&atom.as_str()));
    let mut left = inside.clone();
    left.0.retain(|branch| !is_end(branch));
    let mut changed = left != *inside;
    for item in left.0.iter_mut().flat_map(|branch| &mut branch.0) {
        let PatternItem::Group { inside, .. } = item else { continue };
        if let Some(without) = without_end(inside) {
            *inside = without;
            changed = true;
        }
    }
    (changed && !left.0.is_empty()).then_some(left)
}

/// The items of a group that holds one branch and has no other effect, or the group.
fn unwrapped(group: PatternItem) -> Vec<PatternItem> {
    match group {
        PatternItem::Group { open, inside: Branches(branches), repeat }
            if open == "(?:" && repeat.is_empty() && branches.len() == 1 =>
        {
            branches.into_iter().flat_map(|Branch(items)| items).collect()
        }
        group => vec![group],
    }
}

/// The first mark of the text that it looks for.
fn leading_mark(inside: &Branches) -> Option<String> {
    let [Branch(items)] = inside.0.as_slice() else { return None };
    let text: String = items.iter().map_while(literal).collect();
    Segmentation::Words.first(&text).filter(|mark| Segmentation::Words.is_distinctive(mark)).map(str::to_owned)
}

/// Rewrites a lazy run before an optional part as a greedy one that stops where the part begins. It matches the same
/// text without backtracking.
fn greedy(branches: &Branches) -> Branches {
    let mut out = branches.clone();
    for Branch(items) in &mut out.0 {
        for at in 0..items.len() {
            let next = match items.get(at + 1) {
                Some(PatternItem::Group { inside, repeat, .. }) if repeat.starts_with('?') => first_character(inside),
                _ => None,
            };
            match items.get_mut(at) {
                Some(PatternItem::Atom(atom)) => stop_before(atom, next),
                Some(PatternItem::Group { inside, .. } | PatternItem::Look { inside, .. }) => *inside = greedy(inside),
                None => {}
            }
            // The run may be the whole content of a named group.
            if let Some(PatternItem::Group { inside: Branches(inside), .. }) = items.get_mut(at)
                && let [Branch(held)] = inside.as_mut_slice()
                && let Some(PatternItem::Atom(atom)) = held.last_mut()
            {
                stop_before(atom, next);
            }
        }
    }
    out
}

/// Writes a lazy run as a greedy one without this character.
fn stop_before(atom: &mut String, next: Option<char>) {
    let class = atom.strip_suffix("]+?").and_then(|atom| atom.strip_prefix("[^"));
    if let (Some(class), Some(c)) = (class, next) {
        *atom = format!("[^{class}{}]+", written(c));
    }
}

fn first_character(inside: &Branches) -> Option<char> {
    let [Branch(items)] = inside.0.as_slice() else { return None };
    literal(items.first()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_of(pattern: &str, closes: bool) -> Vec<String> {
        rewrites(pattern, closes).into_iter().map(|rewrite| rewrite.pattern).collect()
    }

    #[test]
    fn a_branch_that_only_looks_ahead_is_dropped_or_consumes_its_mark() {
        assert_eq!(
            first_of(r"\s*(?:(?=\[CALLS\][^\s\[]+\[ARGS\])|</s>)\s*", true),
            [
                r"\s*</s>\s*",
                r"\s*(?:\[CALLS\]|</s>)\s*",
                r"\s*(?:\[CALLS|</s>)\s*",
                r"\s*(?:\[CALLS\][^\s\[]+\[ARGS\]|</s>)\s*",
            ]
        );
    }

    #[test]
    fn a_guard_is_dropped_or_consumed() {
        assert_eq!(first_of(r"\}\s*(?=\s*(?:<e>|\Z))\s*", true), [r"\}\s*", r"\}\s*(?:<e>)\s*", r"\}\s*(?:<e>|\Z)\s*"]);
        assert_eq!(first_of(r"(?:<c>\s*|(?<=</c>) )", false), [r"<c>\s*"]);
        // What a close takes of the text after it, it takes with the white space after that.
        assert_eq!(first_of(r"(?<=\})(?=\s*(?:<e>|\Z))", true), [r"\s*(?:<e>)\s*", r"\s*(?:<e>|\Z)\s*"]);
        assert_eq!(first_of(r"<e>(?=\s|$)", true).first().map(String::as_str), Some("<e>"));
    }

    #[test]
    fn a_lazy_run_becomes_greedy_before_an_optional_part() {
        assert_eq!(
            first_of(r"(?P<id>(?:\w+\.)?(?P<name>[^\s<]+?)(?::\d+)?)<", false),
            [r"(?P<id>(?:\w+\.)?(?P<name>[^\s<:]+)(?::\d+)?)<"]
        );
    }

    #[test]
    fn a_pattern_that_only_looks_around_has_no_rewrite() {
        assert_eq!(first_of(r"(?=\[\s*\{)", false), Vec::<String>::new());
    }
}
