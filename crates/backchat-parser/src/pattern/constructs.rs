//! The constructs of a pattern, for advice about it.

use super::Pattern;
use super::tree::{Assertion, Greed, Node};
use backchat_core::text::slice;

/// A construct that not every engine has or treats the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Construct {
    LookAhead,
    LookBehind,
    Backreference,
    Conditional,
    /// A condition that is a look-around.
    LookCondition,
    Recursion,
    Possessive,
    Atomic,
    /// `\K`
    Keep,
    /// `(?fi)`
    FullFolding,
    /// `\Z`, `$` and the like, whose meaning at a final newline differs from engine to engine.
    EndAssertion,
    /// `\b`, `\B`, `\m`, `\M`, whose notion of a word differs.
    WordBoundary,
    /// `\m`, `\M`
    WordEdge,
    /// `\G`
    SearchStart,
    /// A repeat with a number, such as `{2,5}`.
    CountedRepeat,
    /// `\d`
    DigitClass,
    /// `\w`, `\s`, whose characters differ.
    ClassEscape,
    /// `(?P<name>…)`
    NamedGroup,
    /// `(?i)` and other flags inside.
    InlineFlags,
}

/// Why a backtracking engine may need more than linear time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explosion {
    /// A nested repeat: the same text can be split in exponentially many ways.
    Nested,
    /// Branches under a repeat that can take the same text.
    Branches,
}

/// The constructs of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The constructs, in the order of [`Construct`].
    pub constructs: Vec<Construct>,
    /// Why matching may take exponential time.
    pub explosion: Option<Explosion>,
}

impl Construct {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Construct::LookAhead => "look-ahead",
            Construct::LookBehind => "look-behind",
            Construct::Backreference => "a back-reference",
            Construct::Conditional => "a condition",
            Construct::LookCondition => "a look as a condition",
            Construct::Recursion => "recursion",
            Construct::Keep => "`\\K`",
            Construct::FullFolding => "full case folding",
            Construct::Possessive => "a possessive repeat",
            Construct::Atomic => "an atomic group",
            Construct::EndAssertion => "an end-of-text assertion",
            Construct::WordBoundary => "a word boundary",
            Construct::WordEdge => "`\\m` or `\\M`",
            Construct::SearchStart => "`\\G`",
            Construct::DigitClass => "`\\d`",
            Construct::CountedRepeat => "a counted repeat",
            Construct::ClassEscape => "`\\w` or `\\s`",
            Construct::NamedGroup => "a named group",
            Construct::InlineFlags => "flags inside the pattern",
        }
    }
}

impl Pattern {
    /// Its constructs.
    pub fn shape(&self) -> Shape {
        let mut shape = Shape::default();
        if let Ok(parsed) = self.parsed() {
            shape.walk(&parsed.node);
        }
        shape.read_text(self.source());
        shape.constructs.sort_unstable();
        shape.constructs.dedup();
        shape
    }
}

impl Shape {
    /// Constructs that only the source shows, because the tree has lost them.
    fn read_text(&mut self, source: &str) {
        let mut rest = source.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let after = slice(source, at + c.len_utf8()..);
            match c {
                '\\' => {
                    self.constructs.extend(match rest.next() {
                        Some((_, 'd' | 'D')) => Some(Construct::DigitClass),
                        Some((_, 'w' | 'W' | 's' | 'S')) => Some(Construct::ClassEscape),
                        _ => None,
                    });
                }
                '(' if after.starts_with("?P<") => self.constructs.push(Construct::NamedGroup),
                '(' if is_flags(after) => self.constructs.push(Construct::InlineFlags),
                '{' if is_count(after) => self.constructs.push(Construct::CountedRepeat),
                _ => {}
            }
        }
    }

    fn walk(&mut self, node: &Node) {
        let look = |behind: bool| if behind { Construct::LookBehind } else { Construct::LookAhead };
        match node {
            Node::Folded(_) => self.constructs.push(Construct::FullFolding),
            Node::Call(_) => self.constructs.push(Construct::Recursion),
            Node::Keep => self.constructs.push(Construct::Keep),
            Node::Assert(assertion) => self.constructs.extend(match assertion {
                Assertion::End | Assertion::EndOrFinalNewline | Assertion::LineEnd => Some(Construct::EndAssertion),
                Assertion::WordBoundary | Assertion::NotWordBoundary => Some(Construct::WordBoundary),
                Assertion::WordStart | Assertion::WordEnd => Some(Construct::WordEdge),
                Assertion::SearchStart => Some(Construct::SearchStart),
                Assertion::Start | Assertion::LineStart => None,
            }),
            Node::Repeat { greed: Greed::Possessive, .. } => self.constructs.push(Construct::Possessive),
            Node::Repeat { node, max: None, .. } => self.explosion = self.explosion.or_else(|| explodes(node)),
            Node::Look { behind, .. } => self.constructs.push(look(*behind)),
            Node::Atomic(_) => self.constructs.push(Construct::Atomic),
            Node::Backref { .. } => self.constructs.push(Construct::Backreference),
            Node::IfGroup { .. } => self.constructs.push(Construct::Conditional),
            Node::IfLook { behind, .. } => {
                self.constructs.extend([look(*behind), Construct::Conditional, Construct::LookCondition]);
            }
            Node::Empty
            | Node::Char(_)
            | Node::Class(_)
            | Node::Group { .. }
            | Node::Concat(_)
            | Node::Alternate(_)
            | Node::Repeat { .. } => {}
        }
        node.inside().for_each(|node| self.walk(node));
    }
}

/// `?i)`, `?s-m:` and the like.
fn is_flags(after: &str) -> bool {
    let Some(flags) = after.strip_prefix('?') else { return false };
    let end = flags.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(flags.len());
    end > 0 && flags.get(end..).is_some_and(|rest| rest.starts_with([')', ':']))
}

/// `2}`, `2,}`, `2,5}`.
fn is_count(after: &str) -> bool {
    let end = after.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(after.len());
    end > 0
        && after.get(end..).is_some_and(|rest| rest.starts_with('}'))
        && after.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether an unbounded repeat of this can match one text in many ways.
fn explodes(inner: &Node) -> Option<Explosion> {
    match inner {
        Node::Group { node, .. } => explodes(node),
        // `(x*)*`: any number of rounds of the outer repeat can share the text of the inner one.
        Node::Repeat { max: None, greed, .. } if *greed != Greed::Possessive => Some(Explosion::Nested),
        Node::Concat(items) => {
            // `(x*y?)*`: the inner repeat can follow itself.
            let loose = |item: &Node| matches!(unwrapped(item), Node::Repeat { max: None, greed, .. } if *greed != Greed::Possessive);
            let at = items.iter().position(loose)?;
            let others = items.iter().enumerate().filter(|(index, _)| *index != at);
            others.into_iter().all(|(_, item)| item.can_be_empty()).then_some(Explosion::Nested)
        }
        Node::Alternate(items) => {
            let nested = items.iter().find_map(explodes);
            nested.or_else(|| branches_overlap(items).then_some(Explosion::Branches))
        }
        _ => None,
    }
}

fn unwrapped(node: &Node) -> &Node {
    match node {
        Node::Group { node, .. } => unwrapped(node),
        node => node,
    }
}

/// Whether two branches of one character each can take the same one.
fn branches_overlap(items: &[Node]) -> bool {
    let takes = |node: &Node, c: char| match unwrapped(node) {
        Node::Char(own) => *own == c,
        Node::Class(class) => class.contains(c),
        _ => false,
    };
    let samples = || (' '..='~').chain(['\n', '\t', 'é']);
    items.iter().enumerate().any(|(index, one)| {
        items.iter().skip(index + 1).any(|other| samples().any(|c| takes(one, c) && takes(other, c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructs_are_found() {
        use Construct::*;
        for (pattern, constructs) in [
            ("a(b)?", &[][..]),
            (r"\(?=\{2\}", &[]),
            (r"(?=a)(?!b)", &[LookAhead]),
            (r"(?<=a)(?<!b)", &[LookBehind]),
            (r"(a)\1", &[Backreference]),
            (r"(a)?(?(1)b|c)", &[Conditional]),
            (r"(?(?=a)b|c)", &[LookAhead, Conditional, LookCondition]),
            (r"\mx", &[WordEdge]),
            (r"a*+(?>b)", &[Possessive, Atomic]),
            (r"a$|\Z", &[EndAssertion]),
            (r"\bx\w", &[WordBoundary, ClassEscape]),
            (r"a{2,5}(?P<n>x)", &[CountedRepeat, NamedGroup]),
            (r"(?i)a(?s:b)", &[InlineFlags]),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().shape().constructs, constructs, "{pattern}");
        }
    }

    #[test]
    fn explosions_are_found() {
        for (pattern, explosion) in [
            (r"(?:a+)+b", Some(Explosion::Nested)),
            (r"(?:\s*a?)*b", Some(Explosion::Nested)),
            (r"(?:a|a)*b", Some(Explosion::Branches)),
            (r"(?:[^<]|\w)*b", Some(Explosion::Branches)),
            (r"(?:a+b)*", None),
            (r"(?:a|b)*", None),
            (r"(?:a++)*", None),
            (r"\s*a.*?b", None),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().shape().explosion, explosion, "{pattern}");
        }
    }
}
