//! Patterns match what an independent engine, `fancy-regex`, matches on whole texts.
//!
//! The other engine is not Python's: a few constructs differ. Each has a row in [`EXCEPTIONS`], for which a pattern is
//! compared on fewer texts or not at all. There are no exceptions for single patterns.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use serde_json::Value;

use super::constructs::Construct;
use super::tree::Node;
use super::*;

/// The treatment of a pattern with a construct on which the two engines differ.
#[derive(Clone, Copy)]
enum Exception {
    /// It is compared on texts of these characters.
    Only(fn(char) -> bool),
    /// It is not compared.
    Skip,
}

/// The differences between the engines, and why.
const EXCEPTIONS: &[(Construct, Exception, &str)] = &[
    (
        Construct::EndAssertion,
        Exception::Only(|c| c != '\n'),
        "`$` is before a final newline in Python and only at the end there; `\\Z` is the other way round",
    ),
    (
        Construct::ClassEscape,
        Exception::Only(agrees_on_class),
        "Python's `\\s` has U+001C to U+001F; its `\\w` has no marks, joiners and connectors other than `_`",
    ),
    (Construct::WordBoundary, Exception::Only(agrees_on_class), "a word boundary is where `\\w` ends"),
    (Construct::WordEdge, Exception::Skip, "`\\m` and `\\M` do not exist there"),
    (Construct::Recursion, Exception::Skip, "Python restores groups after a call, the other engine keeps them"),
    (Construct::FullFolding, Exception::Skip, "full case folding does not exist there"),
    (
        Construct::SearchStart,
        Exception::Skip,
        "Python's `\\G` is where the search began, not where the last match ended",
    ),
    (Construct::Keep, Exception::Skip, "after a match that `\\K` shortened Python goes on from another place"),
];

fn agrees_on_class(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\n' || (' '..='~').contains(&c)
}

/// The characters on which a pattern is compared; `None` if it is not compared at all.
fn compared_on(pattern: &Pattern) -> Option<impl Fn(char) -> bool + use<>> {
    let constructs = pattern.shape().constructs;
    let of_pattern = EXCEPTIONS.iter().filter(|(construct, ..)| constructs.contains(construct));
    let mut only: Vec<fn(char) -> bool> = Vec::new();
    for (_, exception, _) in of_pattern {
        match exception {
            Exception::Only(takes) => only.push(*takes),
            Exception::Skip => return None,
        }
    }
    Some(move |c| only.iter().all(|takes| takes(c)))
}

/// The pattern in the other engine, unless it refuses it, such as a repeat of an empty match.
fn theirs(source: &str) -> Option<fancy_regex::Regex> {
    fancy_regex::RegexBuilder::new(&format!("(?s){source}")).backtrack_limit(10_000_000).build().ok()
}

/// Whether it repeats a possibly empty match without a bound. Python ends such a repeat after an iteration that took
/// nothing, even if another branch would have taken something; the other engine continues with that branch.
fn repeats_nothing(node: &Node) -> bool {
    node.any(&|node| matches!(node, Node::Repeat { node, max: None, .. } if node.can_be_empty()))
}

/// A pattern in both engines, and the characters on which it is compared.
struct Pair {
    source: String,
    ours: Pattern,
    theirs: fancy_regex::Regex,
    takes: Box<dyn Fn(char) -> bool + Send + Sync>,
}

impl Pair {
    /// `None` if the pattern is not compared.
    fn of(source: &str) -> Option<Self> {
        let ours = Pattern::new(source).ok()?;
        if read_regex::read(source).is_ok_and(|reading| repeats_nothing(&reading.node)) {
            return None;
        }
        let takes = compared_on(&ours)?;
        Some(Self { source: source.to_owned(), ours, theirs: theirs(source)?, takes: Box::new(takes) })
    }

    /// Compares every match, and every named group of it.
    fn compare(&self, text: &str) {
        let Self { source, ours: pattern, theirs: other, takes } = self;
        let text: String = text.chars().filter(|&c| takes(c)).collect();
        // The engines continue differently after an empty match, which does not concern the matches themselves.
        let mut at = 0;
        while at <= text.len() {
            let ours = pattern.find_at(&text, at).unwrap();
            let theirs = other.captures_from_pos(&text, at).unwrap();
            let spans = (ours.as_ref().map(Match::span), theirs.as_ref().and_then(|found| found.get(0)));
            let spans = (spans.0, spans.1.map(|found| (found.start(), found.end())));
            assert_eq!(spans.0, spans.1, "ours and theirs of {source:?} from {at} in {text:?}");
            let (Some(ours), Some(theirs)) = (ours, theirs) else { break };
            for name in pattern.names() {
                let their = theirs.name(name).map(|group| group.as_str());
                assert_eq!(ours.name(name), their, "group {name} of {source:?} from {at} in {text:?}");
            }
            let end = ours.span().1.max(at);
            at = if end > at { end } else { text[at..].chars().next().map_or(text.len() + 1, |c| at + c.len_utf8()) };
        }
    }
}

/// The patterns of every template in a folder of the project.
fn patterns_in(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            patterns_in(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json")
            && let Ok(value) = serde_json::from_str(&fs::read_to_string(&path).unwrap())
        {
            collect(&value, found);
        }
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if key.ends_with("pattern") => found.push(text.clone()),
            Value::Array(items) if key.ends_with("pattern") => {
                found.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            value => collect(value, found),
        }
    }
}

/// Every pattern that a template of the project has, once.
fn known_patterns() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["derived", "tests/templates", "tests/fixtures", "examples"] {
        patterns_in(&root.join(folder), &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// Texts of which a pattern may match some: its own literals, split up, and texts between them.
fn pieces_of(source: &str) -> Vec<String> {
    let plain = source.replace('\\', "");
    let words = plain.split(|c: char| "()[]{}*+?|^$.".contains(c)).filter(|word| !word.is_empty());
    let mut pieces: Vec<String> = words.map(str::to_owned).collect();
    pieces.extend(source.split(['(', ')']).map(|part| part.replace('\\', "")).filter(|part| !part.is_empty()));
    pieces.extend(
        ["a", "b", " ", "\n", "0", "_", "é", "日", "<", ">", "\"", "'", "{", "}", "=", ",", ":", "\u{1c}"]
            .map(str::to_owned),
    );
    pieces
}

/// The patterns of the project that are compared, and pieces of texts for each.
static KNOWN: LazyLock<Vec<(Pair, Vec<String>)>> = LazyLock::new(|| {
    let compared = |source: String| Some((Pair::of(&source)?, pieces_of(&source)));
    known_patterns().into_iter().filter_map(compared).collect()
});

fn generated() -> impl Strategy<Value = String> {
    let leaf = select(vec![
        "a",
        "b",
        "<x>",
        "ab",
        ".",
        r"\w",
        r"\s",
        r"\d",
        "[ab<]",
        "[^a]",
        "[^ab<]",
        "é",
        r"\b",
        r"\B",
        "^",
        "$",
        "(?i:A)",
        "(?=a)",
        "(?!b)",
        "(?<=a)",
        "(?<=[^a])<x>",
        r"a(?=\s*<)",
        "(?<!b)",
        r"(?<!\w)",
        "(?=[ab]+<)",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let repeat = select(vec!["*", "+", "?", "*?", "+?", "??", "{0,2}", "{2}", "{1,3}?", "*+", "++", "?+"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner.clone(), repeat).prop_map(|(part, repeat)| format!("(?:{part}){repeat}")),
            inner.clone().prop_map(|part| format!("({part})")),
            inner.clone().prop_map(|part| format!("(?>{part})")),
            (inner.clone(), inner).prop_map(|(one, other)| format!("(?:{one}(?={other}))")),
        ]
    })
}

#[test]
fn every_exception_is_unique_and_explained() {
    for (index, (construct, _, why)) in EXCEPTIONS.iter().enumerate() {
        assert!(why.len() > 20, "{construct:?}");
        assert!(EXCEPTIONS[..index].iter().all(|(other, ..)| other != construct), "{construct:?}");
    }
}

#[test]
fn most_patterns_of_templates_are_compared() {
    let (compared, all) = (KNOWN.len(), known_patterns().len());
    assert!(compared > 60 && compared * 10 >= all * 8, "{compared} of {all}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn patterns_of_templates_match_like_the_other_engine(
        picks in prop::collection::vec(any::<Index>(), 1..14),
    ) {
        for (pair, pieces) in KNOWN.iter() {
            let text: String = picks.iter().map(|pick| pick.get(pieces).as_str()).collect();
            pair.compare(&text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn generated_patterns_match_like_the_other_engine(
        source in generated(),
        pieces in prop::collection::vec(select(vec!["a", "b", "<x>", "<", "ab", " ", "\n", "é", "0", "A", "_"]), 0..10),
    ) {
        if let Some(pair) = Pair::of(&source) {
            pair.compare(&pieces.concat());
        }
    }
}
