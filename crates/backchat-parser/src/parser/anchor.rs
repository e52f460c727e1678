//! The part of a prompt that belongs to the message: everything after the last start anchor, or all of it without one.

use memchr::memmem;

use super::error::{Cause, ParseError, Stage};
use super::part::part;
use crate::pattern::{Pattern, TooMuchWork};
use crate::template::Delimiter;

/// The end of a prompt that is searched backwards first; over long distances, a forward search is faster.
const NEAR: usize = 2048;

/// How the last start anchor of a prompt is found.
#[derive(Clone, Debug)]
pub(super) enum Anchor {
    /// Literals whose occurrences cannot overlap: the last one in the text is the last match from the left.
    Literals(Vec<Literal>),
    /// All matches from the left must be enumerated.
    Pattern(Pattern),
}

#[derive(Clone, Debug)]
pub(super) struct Literal {
    forwards: memmem::Finder<'static>,
    backwards: memmem::FinderRev<'static>,
}

impl Anchor {
    pub fn new(anchor: &Delimiter) -> Self {
        match anchor.literals() {
            Some(literals) if are_apart(literals) => Self::Literals(literals.iter().map(Literal::new).collect()),
            _ => Self::Pattern(anchor.pattern().clone()),
        }
    }

    /// The text after the last anchor in the prompt, and whether the prompt has one.
    pub fn rest<'t>(&self, prompt: &'t str) -> Result<(&'t str, bool), ParseError> {
        let end = match self {
            Self::Literals(literals) => literals.iter().filter_map(|literal| literal.last_end(prompt.as_bytes())).max(),
            Self::Pattern(anchor) => {
                let mut end = None;
                for found in anchor.matches(prompt) {
                    let exhausted = |TooMuchWork| {
                        let cause = Cause::TooMuchWork { pattern: anchor.source().to_owned() };
                        ParseError { stage: Stage::Prefix, cause }
                    };
                    end = Some(found.map_err(exhausted)?.span().1);
                }
                end
            }
        };
        Ok((end.map_or(prompt, |end| part(prompt, end..prompt.len())), end.is_some()))
    }
}

impl Literal {
    fn new(literal: &String) -> Self {
        Self {
            forwards: memmem::Finder::new(literal).into_owned(),
            backwards: memmem::FinderRev::new(literal).into_owned(),
        }
    }

    /// Where the last occurrence ends.
    fn last_end(&self, prompt: &[u8]) -> Option<usize> {
        let length = self.forwards.needle().len();
        let near = prompt.len().saturating_sub(NEAR);
        if let Some(found) = self.backwards.rfind(prompt.get(near..)?) {
            return Some(near + found + length);
        }
        // One that begins before the near end may reach into it.
        let far = prompt.get(..(near + length).min(prompt.len()))?;
        self.forwards.find_iter(far).last().map(|found| found + length)
    }
}

/// Whether no occurrence of one literal can share text with an occurrence of any.
fn are_apart(literals: &[String]) -> bool {
    let shares = |one: &str, other: &str| {
        let other = other.as_bytes();
        let one = one.as_bytes();
        // A suffix of one is a prefix of the other, or contains it.
        (1..one.len()).any(|at| one.get(at..).is_some_and(|tail| other.starts_with(tail) || tail.starts_with(other)))
    };
    let begins = |one: &str, other: &str| one != other && one.starts_with(other);
    literals.iter().all(|one| literals.iter().all(|other| !shares(one, other) && !begins(one, other)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::template::Template;

    fn anchor(literals: &[&str]) -> Delimiter {
        let literals: Vec<_> = literals.iter().map(|literal| format!("{literal:?}")).collect();
        let template = format!(r#"{{"start_anchor": [{}], "fields": {{"content": {{}}}}}}"#, literals.join(", "));
        Template::load(&template).unwrap().template.start_anchor().clone()
    }

    #[test]
    fn only_literals_that_share_no_text_are_searched_backwards() {
        for (literals, apart) in [
            (&["<bot>"][..], true),
            (&["<bot>", "<tool>"], true),
            (&["aa"], false),
            (&["aba"], false),
            (&["ab", "ba"], false),
            (&["abc", "b"], false),
            (&["ab", "abc"], false),
            (&["ab", "ab"], true),
        ] {
            assert_eq!(matches!(Anchor::new(&anchor(literals)), Anchor::Literals(_)), apart, "{literals:?}");
        }
    }

    proptest! {
        /// Both searches give the last match from the left.
        #[test]
        fn the_last_anchor_counts(
            literals in select(vec![vec!["<bot>"], vec!["<a>", "<bot>"], vec!["aa"], vec!["ab", "ba"], vec!["é"]]),
            pieces in prop::collection::vec(select(vec!["<bot>", "<a>", "<bo", "t>", "a", "b", "é", "\n"]), 0..30),
            filler in 0_usize..3000,
        ) {
            let delimiter = anchor(&literals);
            let mut prompt = pieces.concat();
            prompt.push_str(&"x".repeat(filler));
            let expected = Anchor::Pattern(delimiter.pattern().clone()).rest(&prompt).unwrap();
            prop_assert_eq!(Anchor::new(&delimiter).rest(&prompt).unwrap(), expected);
        }
    }
}
