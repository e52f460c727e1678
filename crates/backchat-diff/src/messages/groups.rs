//! Groups items by cause, so that each cause is shown once.

use std::hash::Hash;

use indexmap::IndexMap;

/// Items with the same result for the same reason.
#[derive(Debug)]
pub struct Group<'r, K, T> {
    /// The result.
    pub kind: K,
    /// The reason; empty if there is none.
    pub cause: String,
    /// The items, with their indices in the whole list.
    pub items: Vec<(usize, &'r T)>,
}

/// The groups: lowest rank first, then the largest. `fares` gives an item's result, and its cause in words that are the
/// same for every item of the cause: those of [`cause`](super::cause()), or the [`shape`] of a message.
pub fn groups<'r, K: Eq + Hash, T, R: Ord>(
    items: &'r [T],
    fares: impl Fn(&T) -> (K, String),
    rank: impl Fn(&Group<'r, K, T>) -> R,
) -> Vec<Group<'r, K, T>> {
    let mut found: IndexMap<(K, String), Vec<(usize, &T)>> = IndexMap::new();
    for (index, item) in items.iter().enumerate() {
        found.entry(fares(item)).or_default().push((index, item));
    }
    let mut groups: Vec<Group<'r, K, T>> =
        found.into_iter().map(|((kind, cause), items)| Group { kind, cause, items }).collect();
    groups.sort_by_key(|group| (rank(group), usize::MAX - group.items.len()));
    groups
}

/// A message without its variable parts: quotations and numbers.
pub fn shape(message: &str) -> String {
    let mut shape = String::new();
    let mut characters = message.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' => {
                let mut is_escaped = false;
                for inner in characters.by_ref() {
                    if inner == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = inner == '\\' && !is_escaped;
                }
                shape.push_str("\"…\"");
            }
            '0'..='9' => {
                while characters.next_if(char::is_ascii_digit).is_some() {}
                shape.push('N');
            }
            c => shape.push(c),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn variable_parts_of_a_message_are_left_out() {
        for (message, found) in [
            (r#"content: expected "a \" b", found "c""#, r#"content: expected "…", found "…""#),
            ("cut after character 17 of 230", "cut after character N of N"),
            ("`content` is missing", "`content` is missing"),
            ("an open \"quote", "an open \"…\""),
            ("", ""),
        ] {
            assert_eq!(shape(message), found);
        }
    }
}
