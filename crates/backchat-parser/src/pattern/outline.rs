//! The outline of a pattern: its literal markers, its groups, and the parts between them.

use super::class::Class;
use super::tree::{Assertion, Greed, Node};
use super::{Pattern, escape_literal};

/// One part of a pattern, in the detail needed to find marks.
#[derive(Clone, Debug, PartialEq)]
pub enum PatternPart {
    /// Exact characters.
    Text(String),
    /// White space, or none.
    Space,
    /// The beginning of the text.
    Start,
    /// The end of the text.
    End,
    Group {
        number: usize,
        name: Option<String>,
        parts: Vec<PatternPart>,
    },
    /// May be absent.
    Maybe(Vec<PatternPart>),
    /// Once or more.
    Many(Vec<PatternPart>),
    Either(Vec<Vec<PatternPart>>),
    Ahead(Vec<PatternPart>),
    NotAhead(Vec<PatternPart>),
    /// Characters of a set: as a pattern, an example, and whether it matches any character.
    Run {
        source: String,
        sample: String,
        any: bool,
    },
    /// Anything else.
    Other,
}

impl Pattern {
    /// The parts of the pattern, from left to right.
    pub fn outline(&self) -> Vec<PatternPart> {
        match self.parsed() {
            Ok(parsed) => Outliner { names: &parsed.names }.sequence(&parsed.node),
            Err(_) => Vec::new(),
        }
    }
}

/// Parts as a pattern again, in the dialect of response templates; `name` gives the names of groups. `None` if
/// a part has no such form.
pub fn source_of(parts: &[PatternPart], name: &dyn Fn(usize, Option<&str>) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    for part in parts {
        let inside = |parts: &[PatternPart]| source_of(parts, name);
        match part {
            PatternPart::Text(text) => out.push_str(&escape_literal(text).replace('\n', r"\n")),
            PatternPart::Space => out.push_str(r"\s*"),
            PatternPart::Start => {}
            PatternPart::End => out.push('$'),
            PatternPart::Group { number, name: own, parts } => match name(*number, own.as_deref()) {
                Some(name) => out.push_str(&format!("(?P<{name}>{})", inside(parts)?)),
                None => out.push_str(&format!("(?:{})", inside(parts)?)),
            },
            PatternPart::Maybe(parts) => out.push_str(&format!("(?:{})?", inside(parts)?)),
            PatternPart::Many(parts) => out.push_str(&format!("(?:{})+", inside(parts)?)),
            PatternPart::Either(branches) => {
                let branches: Option<Vec<String>> = branches.iter().map(|branch| inside(branch)).collect();
                out.push_str(&format!("(?:{})", branches?.join("|")));
            }
            PatternPart::Ahead(parts) => out.push_str(&format!("(?={})", inside(parts)?)),
            PatternPart::NotAhead(parts) => out.push_str(&format!("(?!{})", inside(parts)?)),
            PatternPart::Run { source, .. } => out.push_str(source),
            PatternPart::Other => return None,
        }
    }
    Some(out)
}

struct Outliner<'n> {
    names: &'n [(String, u32)],
}

impl Outliner<'_> {
    fn sequence(&self, node: &Node) -> Vec<PatternPart> {
        let mut parts: Vec<PatternPart> = Vec::new();
        let nodes = match node {
            Node::Concat(items) => items.as_slice(),
            node => std::slice::from_ref(node),
        };
        for node in nodes {
            match (node, parts.last_mut()) {
                (Node::Empty, _) => {}
                (Node::Char(c), Some(PatternPart::Text(text))) => text.push(*c),
                (Node::Char(c), _) => parts.push(PatternPart::Text(c.to_string())),
                (Node::Concat(_), _) => parts.extend(self.sequence(node)),
                _ => parts.push(self.part(node)),
            }
        }
        parts
    }

    fn part(&self, node: &Node) -> PatternPart {
        match node {
            Node::Assert(Assertion::Start) => PatternPart::Start,
            Node::Assert(Assertion::End | Assertion::EndOrFinalNewline) => PatternPart::End,
            Node::Class(class) if is_space(class) => PatternPart::Space,
            Node::Class(class) => run(class, ""),
            Node::Group { index, node } => {
                let name = self.names.iter().find(|(_, group)| group == index).map(|(name, _)| name.clone());
                PatternPart::Group { number: *index as usize, name, parts: self.sequence(node) }
            }
            Node::Alternate(items) => PatternPart::Either(items.iter().map(|item| self.sequence(item)).collect()),
            Node::Atomic(node) => match self.sequence(node) {
                parts if parts.len() == 1 => parts.into_iter().next().unwrap_or(PatternPart::Other),
                parts => PatternPart::Either(vec![parts]),
            },
            Node::Look { node, behind: false, negate } => {
                let parts = self.sequence(node);
                if *negate { PatternPart::NotAhead(parts) } else { PatternPart::Ahead(parts) }
            }
            Node::Repeat { node, min, max, greed } => match &**node {
                Node::Char(c) if c.is_whitespace() => PatternPart::Space,
                Node::Class(class) if is_space(class) => PatternPart::Space,
                Node::Class(class) => run(class, &quantifier(*min, *max, *greed)),
                node if *min == 0 && *max == Some(1) => PatternPart::Maybe(self.sequence(node)),
                node if *min == 0 => PatternPart::Maybe(vec![PatternPart::Many(self.sequence(node))]),
                node => PatternPart::Many(self.sequence(node)),
            },
            _ => PatternPart::Other,
        }
    }
}

fn quantifier(min: u32, max: Option<u32>, greed: Greed) -> String {
    let count = match (min, max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    };
    match greed {
        Greed::Greedy => count,
        Greed::Lazy => count + "?",
        Greed::Possessive => count + "+",
    }
}

/// The white space that is tested to classify a set.
const SPACES: [char; 4] = [' ', '\n', '\t', '\u{a0}'];

fn is_space(class: &Class) -> bool {
    let printable = ('!'..='~').any(|c| class.contains(c));
    !printable && (class.contains(' ') || class.contains('\n')) && !class.contains('é')
}

fn run(class: &Class, quantifier: &str) -> PatternPart {
    let any = class.is_any();
    let sample = ['x', '1', '_', ' '].into_iter().find(|&c| class.contains(c)).or_else(|| class.first());
    let sample = if quantifier.starts_with(['*', '?']) { String::new() } else { sample.into_iter().collect() };
    PatternPart::Run { source: set(class) + quantifier, sample, any }
}

/// How many characters beyond ASCII a set names.
const NAMED: usize = 16;

/// A set as a pattern. Beyond ASCII, it names a few characters, or has all others or those of `\w`.
fn set(class: &Class) -> String {
    if class.is_any() {
        return ".".to_owned();
    }
    let ascii = |keep: &dyn Fn(char) -> bool| ('!'..='~').filter(|&c| keep(c)).collect::<Vec<char>>();
    let takes_spaces = SPACES.iter().filter(|&&c| class.contains(c)).count();
    if class.contains('é') && class.contains('€') {
        let mut missing = ascii(&|c| !class.contains(c));
        missing.extend(gaps(class).into_iter().filter(|c| !c.is_whitespace()).take(NAMED));
        let space = match takes_spaces {
            0 => r"\s",
            _ if !class.contains('\n') => r"\n",
            _ => "",
        };
        return match (missing.is_empty(), space) {
            (true, r"\s") => r"\S".to_owned(),
            (true, "") => ".".to_owned(),
            _ => format!("[^{}{space}]", members(&missing)),
        };
    }
    if class.contains('٣') && ascii(&|c| class.contains(c)).into_iter().eq('0'..='9') {
        return r"\d".to_owned();
    }
    let is_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let has_word = ('!'..='~').filter(is_word).all(|c| class.contains(c)) && class.contains('é');
    let mut taken = ascii(&|c| class.contains(c) && !(has_word && is_word(&c)));
    if !has_word {
        let beyond = class.beyond_ascii().iter().flat_map(|&(low, high)| low..=high);
        taken.extend(beyond.filter(|c| !c.is_whitespace()).take(NAMED));
    }
    let space = if takes_spaces == SPACES.len() { r"\s" } else { "" };
    match (has_word, taken.is_empty() && space.is_empty()) {
        (true, true) => r"\w".to_owned(),
        (true, false) => format!(r"[\w{}{space}]", members(&taken)),
        (false, _) => format!("[{}{space}]", members(&taken)),
    }
}

fn members(chars: &[char]) -> String {
    let member = |c: &char| if "\\]^-[".contains(*c) { format!("\\{c}") } else { c.to_string() };
    chars.iter().map(member).collect()
}

/// Characters beyond ASCII that a set with most of them lacks.
fn gaps(class: &Class) -> Vec<char> {
    let mut next = 0x80;
    let mut missing = Vec::new();
    for &(low, high) in class.beyond_ascii() {
        missing.extend((next..low as u32).filter_map(char::from_u32).take(NAMED));
        next = high as u32 + 1;
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_can_be_written_from_its_outline() {
        for (source, want) in [
            (r"a\.b\n", r"a\.b\n"),
            (r"\w+", r"\w+"),
            (r"\S+?", r"\S+?"),
            (r"[^<>\n]*", r"[^<>\n]*"),
            (r"[^⟧]+", "[^⟧]+"),
            (r"[^|<>\s]{2,3}", r"[^<>|\s]{2,3}"),
            (r"[\w.-]+", r"[\w\-.]+"),
            (r"(?P<name>x)\s*", r"(?P<name>x)\s*"),
            (r"(y)(?:a|b)?", r"(?:y)(?:(?:a|b))?"),
            (r"(?:(?!<c>).)*", r"(?:(?:(?!<c>).)+)?"),
            (r"(?:a|$)", r"(?:a|$)"),
        ] {
            let parts = Pattern::in_re(source).unwrap().outline();
            let written = source_of(&parts, &|_, name| name.map(str::to_owned));
            assert_eq!(written.as_deref(), Some(want), "{source}");
            assert!(Pattern::new(want).is_ok(), "{want}");
        }
    }
}
