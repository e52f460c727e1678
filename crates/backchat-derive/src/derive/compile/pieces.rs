//! Splits the text of a pattern into branches and groups, so that one look-around can be removed or rewritten while the
//! rest stays as written.

use std::fmt::{self, Write};

/// Alternatives; a pattern or a group has at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::derive) struct Branches(pub Vec<Branch>);

/// One item after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::derive) struct Branch(pub Vec<PatternItem>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::derive) enum PatternItem {
    /// One character, class or assertion, and how often it repeats.
    Atom(String),
    /// A group that consumes: its opening, its content, and how often it repeats.
    Group { open: String, inside: Branches, repeat: String },
    /// A look ahead or behind.
    Look { open: String, inside: Branches },
}

impl PatternItem {
    /// Whether it matches only white space, or nothing.
    pub fn is_space(&self) -> bool {
        match self {
            PatternItem::Atom(text) => text.starts_with("\\s") || text.starts_with(' ') || text.starts_with("\\n"),
            _ => false,
        }
    }
}

impl Branches {
    /// Splits a pattern; `None` if it contains an unknown construct.
    pub fn read(pattern: &str) -> Option<Self> {
        let mut rest = pattern;
        let branches = read(&mut rest, 0)?;
        rest.is_empty().then_some(branches)
    }

    /// The texts it matches, if each branch is a text with only white space around it.
    pub fn literals(&self) -> Option<Vec<String>> {
        let mut found = Vec::new();
        for branch in &self.0 {
            let start = branch.0.iter().position(|item| !item.is_space()).unwrap_or(0);
            let end = branch.0.iter().rposition(|item| !item.is_space()).map_or(0, |last| last + 1);
            match branch.0.get(start..end).unwrap_or(&[]) {
                [PatternItem::Group { open, inside, repeat }] if open == "(?:" && repeat.is_empty() => {
                    found.extend(inside.literals()?);
                }
                // A branch that only looks ahead for the opening of another field matches no text.
                [PatternItem::Look { .. }] if self.0.len() > 1 => {}
                items => {
                    let text: String = items.iter().map(literal).collect::<Option<_>>()?;
                    found.push(Some(text).filter(|text| !text.is_empty())?);
                }
            }
        }
        found.dedup();
        (!found.is_empty()).then_some(found)
    }
}

/// Whether a character has a special meaning in a pattern.
pub(super) fn is_syntax(c: char) -> bool {
    "\\.^$|?*+()[]{}".contains(c)
}

/// The character of an atom, if it is exactly one.
pub(in crate::derive) fn literal(item: &PatternItem) -> Option<char> {
    let PatternItem::Atom(atom) = item else { return None };
    let mut chars = atom.chars();
    let found = match (chars.next()?, chars.next()) {
        ('\\', Some('n')) => '\n',
        ('\\', Some('t')) => '\t',
        ('\\', Some(c)) if !c.is_alphanumeric() => c,
        (c, None) if !is_syntax(c) => c,
        _ => return None,
    };
    chars.next().is_none().then_some(found)
}

/// Patterns nest no deeper than this.
const DEPTH: usize = 24;

fn read(rest: &mut &str, depth: usize) -> Option<Branches> {
    if depth > DEPTH {
        return None;
    }
    let mut branches = vec![Branch::default()];
    while let Some(c) = rest.chars().next() {
        let item = match c {
            ')' => break,
            '|' => {
                *rest = rest.get(1..)?;
                branches.push(Branch::default());
                continue;
            }
            '(' => group(rest, depth)?,
            '[' => {
                let length = class(rest)?;
                atom(rest, length)?
            }
            '\\' => {
                let length = 1 + rest.chars().nth(1)?.len_utf8();
                atom(rest, length)?
            }
            c => atom(rest, c.len_utf8())?,
        };
        branches.last_mut()?.0.push(item);
    }
    Some(Branches(branches))
}

fn atom(rest: &mut &str, length: usize) -> Option<PatternItem> {
    let whole = length + repeat(rest.get(length..)?);
    let (text, after) = rest.split_at_checked(whole)?;
    *rest = after;
    Some(PatternItem::Atom(text.to_owned()))
}

/// The length of the repeat at the start of a text.
fn repeat(text: &str) -> usize {
    let base = match text.chars().next() {
        Some('*' | '+' | '?') => 1,
        Some('{') => match text.find('}') {
            Some(end)
                if text.get(1..end).is_some_and(|n| !n.is_empty() && n.chars().all(|c| "0123456789,".contains(c))) =>
            {
                end + 1
            }
            _ => return 0,
        },
        _ => return 0,
    };
    base + usize::from(text.get(base..).is_some_and(|rest| rest.starts_with(['?', '+'])))
}

/// The length of the class at the start of a text.
fn class(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    chars.next_if(|(_, c)| *c == '^');
    chars.next_if(|(_, c)| *c == ']');
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next()?;
            }
            ']' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn group(rest: &mut &str, depth: usize) -> Option<PatternItem> {
    let open = if rest.starts_with("(?P<") {
        rest.get(..=rest.find('>')?)?
    } else {
        let known = ["(?<=", "(?<!", "(?=", "(?!", "(?:"];
        match known.into_iter().find(|open| rest.starts_with(open)) {
            Some(open) => open,
            None if rest.starts_with("(?") => return None,
            None => "(",
        }
    }
    .to_owned();
    *rest = rest.get(open.len()..)?;
    let inside = read(rest, depth + 1)?;
    *rest = rest.strip_prefix(')')?;
    let length = repeat(rest);
    let (repeat, after) = rest.split_at_checked(length)?;
    *rest = after;
    let repeat = repeat.to_owned();
    match open.as_str() {
        "(?=" | "(?!" | "(?<=" | "(?<!" if repeat.is_empty() => Some(PatternItem::Look { open, inside }),
        "(?=" | "(?!" | "(?<=" | "(?<!" => None,
        _ => Some(PatternItem::Group { open, inside, repeat }),
    }
}

impl fmt::Display for Branches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, branch) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_char('|')?;
            }
            branch.0.iter().try_for_each(|item| write!(f, "{item}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for PatternItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternItem::Atom(text) => f.write_str(text),
            PatternItem::Group { open, inside, repeat } => write!(f, "{open}{inside}){repeat}"),
            PatternItem::Look { open, inside } => write!(f, "{open}{inside})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_written_as_it_was_read() {
        for pattern in [
            r"(?:</a>\s*(?:</b>|(?=<a=))|<\|end\|>)\s*",
            r"^\s*\{\s*[^]\\\]x]+?(?P<name>[\w.-]{1,3}+)a{b}",
            r"(?<=x(?:(?!y).)*)(a|)",
            "",
        ] {
            assert_eq!(Branches::read(pattern).unwrap().to_string(), pattern);
        }
        for unknown in ["(?i)a", "(?>a)", "(a", "a)"] {
            assert_eq!(Branches::read(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn patterns_of_fixed_texts_have_literals() {
        let literals = |pattern: &str| Branches::read(pattern).unwrap().literals();
        assert_eq!(literals(r"\s{0,4}<think>"), Some(vec!["<think>".to_owned()]));
        assert_eq!(literals(r"(?:</a>|<\|e\|>)\s*"), Some(vec!["</a>".to_owned(), "<|e|>".to_owned()]));
        assert_eq!(literals(r"(?=<t>)|</a>\s*"), Some(vec!["</a>".to_owned()]));
        assert_eq!(literals(r"<a\d>"), None);
        assert_eq!(literals(r"\s*"), None);
    }
}
