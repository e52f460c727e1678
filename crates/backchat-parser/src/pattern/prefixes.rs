//! The literals of which every match of a pattern begins with one.

use super::tree::Node;

/// More literals than this are not worth comparing one by one.
const MOST: usize = 8;

/// Longer beginnings than this say no more.
const LONGEST: usize = 24;

/// A beginning of matches, and whether what follows in the pattern goes on with it.
#[derive(Clone, Debug)]
struct Prefix {
    text: String,
    is_open: bool,
}

/// The literals, unless some match begins with none or they are too many.
pub(super) fn prefixes(node: &Node) -> Option<Vec<String>> {
    let mut all = vec![Prefix { text: String::new(), is_open: true }];
    extend(node, &mut all);
    let mut found: Vec<String> = all.into_iter().map(|prefix| prefix.text).collect();
    found.sort();
    // A literal that begins with another adds nothing; in this order it comes after that one.
    found.dedup_by(|longer, shorter| longer.starts_with(&**shorter));
    let is_useful = found.len() <= MOST && found.iter().all(|literal| !literal.is_empty());
    is_useful.then_some(found)
}

/// Goes on with the open prefixes by what the node begins with.
fn extend(node: &Node, all: &mut Vec<Prefix>) {
    if all.len() > MOST * 4 {
        return close(all);
    }
    match node {
        Node::Empty | Node::Keep | Node::Look { behind: true, .. } | Node::Assert(_) => {}
        // A look ahead may run into the end of the text, and partial matching waits there whatever would follow it.
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

/// Replaces the open prefixes by what a closure makes of them.
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
            let found = prefixes(&read_regex::read(pattern).unwrap().node).map(|found| found.join(" "));
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }
}
