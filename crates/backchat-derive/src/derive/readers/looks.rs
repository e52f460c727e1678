//! Rewrites of a delimiter's pattern without look-arounds, the one that loses least first.

use super::super::compile::pieces::{Branch, Branches, PatternItem, literal};
use super::super::compile::{without_doubled_space, written};
use crate::wire::marks::Segmentation;

/// A rewritten pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rewrite {
    pub pattern: String,
    /// The mark that a close takes now though the next field's open began with it.
    pub taken: Option<String>,
    /// The dropped alternatives.
    pub dropped: Vec<String>,
    cost: usize,
}

/// How many intermediate patterns are tried.
const MOST: usize = 64;

/// The ways to write a pattern without looking around; none if it is impossible.
pub(super) fn rewrites(pattern: &str, closes: bool) -> Vec<Rewrite> {
    let Some(branches) = Branches::read(pattern) else { return Vec::new() };
    let mut open = vec![Removal { branches, taken: None, dropped: Vec::new(), cost: 0 }];
    let mut found: Vec<Rewrite> = Vec::new();
    for _ in 0..MOST {
        let Some(Removal { branches, taken, dropped, cost }) = open.pop() else { break };
        let Some(changes) = first(&branches, closes) else {
            let pattern = without_doubled_space(&greedy(&branches).to_string());
            if !pattern.is_empty() && !found.iter().any(|known| known.pattern == pattern) {
                found.push(Rewrite { pattern, taken, dropped, cost });
            }
            continue;
        };
        open.extend(changes.into_iter().map(|change| Removal {
            branches: change.branches,
            taken: taken.clone().or(change.taken),
            dropped: [dropped.as_slice(), &change.dropped].concat(),
            cost: cost + change.cost,
        }));
    }
    found.sort_by_key(|rewrite| rewrite.cost);
    found
}

/// A pattern with look-arounds removed or rewritten.
struct Removal {
    branches: Branches,
    taken: Option<String>,
    dropped: Vec<String>,
    cost: usize,
}

/// The ways to remove the first look-around; `None` if there is none.
fn first(branches: &Branches, closes: bool) -> Option<Vec<Removal>> {
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
                    let wrap = |change: Removal| {
                        let group =
                            PatternItem::Group { open: open.clone(), inside: change.branches, repeat: repeat.clone() };
                        Removal { branches: with(unwrapped(group)), ..change }
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

/// The ways to remove the look-around at a place. What a close looks ahead for, it may take instead.
fn changes(
    branches: &Branches,
    (i, j): (usize, usize),
    inside: &Branches,
    may_take: bool,
    with: &dyn Fn(Vec<PatternItem>) -> Branches,
) -> Vec<Removal> {
    let mut found = Vec::new();
    let branch = branches.0.get(i).map_or(&[][..], |branch| &branch.0);
    let is_alone = branch.iter().enumerate().all(|(at, item)| at == j || item.is_space());
    if branches.0.len() > 1 {
        let mut fewer = branches.clone();
        let dropped = fewer.0.remove(i);
        let dropped = vec![Branches(vec![dropped]).to_string()];
        found.push(Removal { branches: fewer, taken: None, dropped, cost: if is_alone { 0 } else { 2 } });
    }
    if !is_alone {
        found.push(Removal { branches: with(Vec::new()), taken: None, dropped: Vec::new(), cost: 1 });
    }
    if may_take {
        if is_alone && let Some(mark) = leading_mark(inside) {
            let items: Vec<PatternItem> = mark.chars().map(|c| PatternItem::Atom(written(c))).collect();
            let taken = Some(items.iter().map(ToString::to_string).collect());
            found.push(Removal { branches: with(items), taken, dropped: Vec::new(), cost: 1 });
        }
        // The end of the text ends a region by itself; a pattern that takes it may take the end of a chunk.
        let endless = without_end(inside);
        for (inside, cost) in [(endless, 2), (Some(inside.clone()), 3)] {
            let Some(inside) = inside else { continue };
            let group = PatternItem::Group { open: "(?:".to_owned(), inside, repeat: String::new() };
            found.push(Removal { branches: with(unwrapped(group)), taken: None, dropped: Vec::new(), cost });
        }
    }
    found
}

/// The branches without those that are the end of the text; `None` if no other is left, or none was one.
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

/// A group that holds one branch and does nothing else is its items.
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

/// The common first mark of everything it looks for.
fn leading_mark(inside: &Branches) -> Option<String> {
    let [Branch(items)] = inside.0.as_slice() else { return None };
    let text: String = items.iter().map_while(literal).collect();
    Segmentation::Words.first(&text).filter(|mark| Segmentation::Words.is_distinctive(mark)).map(str::to_owned)
}

/// A lazy run before an optional part as a greedy one that stops where that part begins: the same text, and no engine
/// has to try it twice.
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
            // The run may be all that a named group holds.
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
    fn a_branch_that_only_looks_ahead_goes_or_takes_its_mark() {
        assert_eq!(
            first_of(r"\s*(?:(?=\[CALLS\][^\s\[]+\[ARGS\])|</s>)\s*", true),
            [r"\s*</s>\s*", r"\s*(?:\[CALLS\]|</s>)\s*", r"\s*(?:\[CALLS\][^\s\[]+\[ARGS\]|</s>)\s*",]
        );
    }

    #[test]
    fn a_guard_goes_or_is_taken() {
        assert_eq!(first_of(r"\}\s*(?=\s*(?:<e>|\Z))\s*", true), [r"\}\s*", r"\}\s*(?:<e>)\s*", r"\}\s*(?:<e>|\Z)\s*"]);
        assert_eq!(first_of(r"(?:<c>\s*|(?<=</c>) )", false), [r"<c>\s*"]);
    }

    #[test]
    fn a_lazy_run_stops_where_what_may_follow_begins() {
        assert_eq!(
            first_of(r"(?P<id>(?:\w+\.)?(?P<name>[^\s<]+?)(?::\d+)?)<", false),
            [r"(?P<id>(?:\w+\.)?(?P<name>[^\s<:]+)(?::\d+)?)<"]
        );
    }

    #[test]
    fn what_only_looks_around_cannot_be_written_otherwise() {
        assert_eq!(first_of(r"(?=\[\s*\{)", false), Vec::<String>::new());
    }
}
