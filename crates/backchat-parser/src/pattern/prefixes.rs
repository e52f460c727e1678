//! Prefix literals: every match of a pattern begins with one of them.

use super::class::Class;
use super::tree::Node;

/// The most literals that are worth comparing one by one.
const MOST: usize = 8;

/// The longest useful prefix.
const LONGEST: usize = 24;

#[derive(Clone, Debug)]
pub(super) struct Prefix {
    pub text: String,
    /// What a look-behind requires of the character before the match.
    pub after: Option<Class>,
    /// Whether the rest of the pattern continues it.
    is_open: bool,
}

/// The literals, unless some match begins with none or there are too many.
pub(super) fn prefixes(node: &Node) -> Option<Vec<Prefix>> {
    let mut found = vec![Prefix { text: String::new(), after: None, is_open: true }];
    extend(node, &mut found);
    found.sort_by(|one, other| (&one.text, one.after.is_some()).cmp(&(&other.text, other.after.is_some())));
    // A literal that begins with another adds nothing; in this order it comes after that one.
    found.dedup_by(|longer, shorter| shorter.after.is_none() && longer.text.starts_with(&shorter.text));
    let is_useful = found.len() <= MOST && found.iter().all(|prefix| !prefix.text.is_empty());
    is_useful.then_some(found)
}

/// Extends the open prefixes by the beginning of the node.
fn extend(node: &Node, all: &mut Vec<Prefix>) {
    if all.len() > MOST * 4 {
        return close(all);
    }
    match node {
        Node::Look { node, behind: true, negate: false } => look_behind(node, all),
        Node::Empty | Node::Keep | Node::Look { behind: true, .. } | Node::Assert(_) => {}
        // A look-ahead may reach the end of the text, where partial matching waits regardless of the rest.
        Node::Look { node, negate, .. } => {
            if !negate {
                extend(node, all);
            }
            close(all);
        }
        Node::Char(c) => {
            for prefix in all.iter_mut().filter(|prefix| prefix.is_open) {
                prefix.text.push(*c);
                prefix.is_open = prefix.text.len() < LONGEST;
            }
        }
        Node::Group { node, .. } | Node::Atomic(node) => extend(node, all),
        Node::Concat(items) => {
            for item in items {
                if all.iter().all(|prefix| !prefix.is_open) {
                    return;
                }
                extend(item, all);
            }
        }
        Node::Alternate(items) => branch(all, |own| {
            let ways = items.iter().map(|item| {
                let mut way = own.clone();
                extend(item, &mut way);
                way
            });
            ways.flatten().collect()
        }),
        Node::Repeat { node, min: 0, max, .. } => branch(all, |own| {
            let mut taken = own.clone();
            extend(node, &mut taken);
            if *max != Some(1) {
                // Another round may follow.
                close(&mut taken);
            }
            own.into_iter().chain(taken).collect()
        }),
        Node::Repeat { node, min, max, .. } => {
            extend(node, all);
            if (*min, *max) != (1, Some(1)) {
                close(all);
            }
        }
        _ => close(all),
    }
}

/// Notes the character before the prefixes that begin here.
fn look_behind(node: &Node, all: &mut [Prefix]) {
    let Some(class) = single(node) else { return };
    for prefix in all.iter_mut().filter(|prefix| prefix.is_open && prefix.text.is_empty()) {
        // One of several look-behinds is enough: a prefilter need not rule out everything.
        prefix.after.get_or_insert_with(|| class.clone());
    }
}

/// The characters of a node that is always one.
fn single(node: &Node) -> Option<Class> {
    match node {
        Node::Group { node, .. } | Node::Atomic(node) => single(node),
        node => node.class(),
    }
}

/// Replaces the open prefixes by the results of a closure.
fn branch(all: &mut Vec<Prefix>, ways: impl FnOnce(Vec<Prefix>) -> Vec<Prefix>) {
    let open = all.extract_if(.., |prefix| prefix.is_open).collect();
    all.append(&mut ways(open));
}

fn close(all: &mut [Prefix]) {
    all.iter_mut().for_each(|prefix| prefix.is_open = false);
}

#[cfg(test)]
mod tests {
    use super::super::read_regex;
    use super::*;

    #[test]
    fn every_match_begins_with_one_of_the_prefixes() {
        for (pattern, expected) in [
            ("<x>", Some("<x>")),
            ("<x>|<y", Some("<x> <y")),
            (r"(?:<a>\s*)?<f=(\w+)>", Some("<a> <f=")),
            (r"(?:(?:```\s*)?<end>|<all>)\s*", Some("<all> <end> ```")),
            (r"a(?=b)c\b", Some("ab")),
            (r"a(?!b)c", Some("a")),
            (r"(?<!x)ab\b", Some("ab")),
            (r"(?<=x)ab|(?<=[xy])a|(?<=xy)c", Some("xy|a x|ab c")),
            // A literal that extends one without a look-behind adds nothing, but not the other way around.
            ("a|(?<=x)ab", Some("a")),
            ("(?<=x)a|ab", Some("x|a ab")),
            ("(?:(?<=x)|y)a", Some("x|a ya")),
            // A look-behind after a character says nothing about the beginning.
            ("a(?<=a)b", Some("ab")),
            (r"(?=\[CALL\])|</s>", Some("</s> [CALL]")),
            ("a(?:b|c)d", Some("abd acd")),
            ("ab*c", Some("ab ac")),
            ("(?:ab)+c", Some("ab")),
            ("(?:ab){2}", Some("ab")),
            ("a?", None),
            (r"\w+", None),
            ("[ab]c", None),
            ("(?:a|b|c|d|e|f|g|h|i)", None),
        ] {
            let shown = |prefix: Prefix| match &prefix.after {
                Some(class) => {
                    let before = (0..128u8).filter(|&byte| class.has_ascii(byte)).map(char::from);
                    before.chain(['|']).collect::<String>() + &prefix.text
                }
                None => prefix.text,
            };
            let found = prefixes(&read_regex::read(pattern).unwrap().node);
            let found = found.map(|found| found.into_iter().map(shown).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }
}
