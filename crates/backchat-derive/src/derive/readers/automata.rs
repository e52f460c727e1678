//! Rewrites a delimiter's pattern for a reader that searches with automata: every match must begin with one of a few
//! texts, and `$` is the only end of the text.

use super::super::compile::pieces::{Branch, Branches, PatternItem};

/// The white space of JSON as a class: few enough characters to begin with, and all that models write before a mark.
const SPACE: &str = "[ \\t\\r\\n]";

/// The ways to write a pattern, the closest first. White space before a close also suits the content that it closes.
pub(super) fn rewrites(pattern: &str, closes: bool) -> Vec<String> {
    let Some(mut branches) = Branches::read(pattern) else { return Vec::new() };
    end_with_dollar(&mut branches);
    let mut narrowed = branches.clone();
    narrow(&mut narrowed);
    let bare = without_space(&branches).filter(|_| closes);
    bare.into_iter().chain([narrowed]).map(|branches| branches.to_string()).filter(|way| way != pattern).collect()
}

/// Writes `$` for `\Z`. It also matches before a last line break, which only matters after a pattern without white space.
fn end_with_dollar(branches: &mut Branches) {
    for item in branches.0.iter_mut().flat_map(|branch| &mut branch.0) {
        match item {
            PatternItem::Atom(text) if text == "\\Z" => *text = "$".to_owned(),
            PatternItem::Group { inside, .. } | PatternItem::Look { inside, .. } => end_with_dollar(inside),
            PatternItem::Atom(_) => {}
        }
    }
}

/// The pattern without the white space that it begins with.
fn without_space(branches: &Branches) -> Option<Branches> {
    let [Branch(items)] = branches.0.as_slice() else { return None };
    let (first, rest) = items.split_first()?;
    matches!(first, PatternItem::Atom(text) if text == "\\s*").then(|| Branches(vec![Branch(rest.to_vec())]))
}

/// Narrows the white space at the start of each branch.
fn narrow(branches: &mut Branches) {
    for branch in &mut branches.0 {
        let is_start = |item: &PatternItem| matches!(item, PatternItem::Atom(text) if text == "^");
        match branch.0.iter_mut().find(|item| !is_start(item)) {
            Some(PatternItem::Atom(text)) => {
                if let Some(repeat) = text.strip_prefix("\\s") {
                    *text = format!("{SPACE}{repeat}");
                }
            }
            Some(PatternItem::Group { inside, .. }) => narrow(inside),
            Some(PatternItem::Look { .. }) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_at_the_start_is_left_out_or_that_of_json() {
        for (pattern, closes, ways) in [
            (r"\s*(?:<a>|<b>)\s*", true, &[r"(?:<a>|<b>)\s*", r"[ \t\r\n]*(?:<a>|<b>)\s*"][..]),
            (r"\s*<a>", false, &[r"[ \t\r\n]*<a>"]),
            // White space before a label at the start of the turn is not content.
            (r"(?:<a>|^\s*b)\s*", true, &[r"(?:<a>|^[ \t\r\n]*b)\s*"]),
            (r"^\s*\{", false, &[r"^[ \t\r\n]*\{"]),
            (r"<a>\s*", true, &[]),
            (r"\S+", false, &[]),
        ] {
            assert_eq!(rewrites(pattern, closes), ways, "{pattern}");
        }
    }

    #[test]
    fn the_end_of_the_text_is_a_dollar_sign() {
        assert_eq!(rewrites(r"\}\s*(?:<e>|\Z)", true), [r"\}\s*(?:<e>|$)"]);
    }
}
