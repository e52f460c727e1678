//! Grammars for llguidance.
//!
//! Its lexer takes the longest text and does not go back, so that text and the mark that ends it must not be two
//! lexemes. Here every lexeme is one character, and regular text is written from its end: the text allowed before a
//! character. Both obey the rules in every sequence. A special token has no characters there: it is named.

use std::collections::HashSet;
use std::fmt::Write;

use super::Grammar;
use super::automaton::{LAST, except};
use super::rules::{Node, Rules};
use super::special::{SpecialToken, at_start, begun_mark};
use crate::text::slice;

impl Grammar {
    /// For llguidance, as Lark.
    pub fn to_lark(&self) -> String {
        let mut writer = LarkWriter {
            rules: &self.rules,
            special: &self.special,
            out: String::new(),
            waiting: Vec::new(),
            seen: HashSet::new(),
        };
        let root = writer.choice(&self.root);
        let mut out = format!("start: {root}\n");
        while let Some(next) = writer.waiting.pop() {
            match next {
                NamedLark::Rule(number) => writer.rule(number),
                NamedLark::Text(text, state) => writer.text(text, state),
            }
        }
        out.push_str(&writer.out);
        out
    }
}

/// From which places characters of which ranges lead here, and which special tokens.
#[derive(Clone, Debug, Default)]
struct Ways {
    characters: Vec<(usize, Vec<(u32, u32)>)>,
    tokens: Vec<(usize, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NamedLark {
    Rule(usize),
    Text(usize, usize),
}

struct LarkWriter<'r> {
    rules: &'r Rules,
    special: &'r [SpecialToken],
    out: String,
    waiting: Vec<NamedLark>,
    seen: HashSet<NamedLark>,
}

impl LarkWriter<'_> {
    fn want(&mut self, named: NamedLark) {
        if self.seen.insert(named.clone()) {
            self.waiting.push(named);
        }
    }

    fn rule(&mut self, number: usize) {
        let Some(rule) = self.rules.rules.get(number) else { return };
        let body = self.choice(&rule.node);
        let _ = writeln!(self.out, "{}: {body}", name(&rule.name));
    }

    fn choice(&mut self, node: &Node) -> String {
        match node {
            Node::Choice(items) => items.iter().map(|item| self.sequence(item)).collect::<Vec<_>>().join(" | "),
            node => self.sequence(node),
        }
    }

    fn sequence(&mut self, node: &Node) -> String {
        match node {
            Node::Sequence(items) if items.is_empty() => "\"\"".to_owned(),
            Node::Sequence(items) => {
                let items = self.with_whole_marks(items);
                items.iter().map(|item| self.atom(item)).collect::<Vec<_>>().join(" ")
            }
            node => self.atom(node),
        }
    }

    fn atom(&mut self, node: &Node) -> String {
        match node {
            Node::Literal(text) if text.is_empty() => "\"\"".to_owned(),
            Node::Literal(text) => self.literal(text),
            Node::Sequence(_) | Node::Choice(_) => format!("({})", self.choice(node)),
            Node::Rule(number) => {
                self.want(NamedLark::Rule(*number));
                self.rules.rules.get(*number).map_or(String::new(), |rule| name(&rule.name))
            }
            Node::Text(text, state) => {
                self.want(NamedLark::Text(*text, *state));
                self.text_name(*text, *state)
            }
            Node::Repeat(node, min, max) => {
                let inner = match &**node {
                    Node::Rule(_) | Node::Text(..) => self.atom(node),
                    node => format!("({})", self.choice(node)),
                };
                match (min, max) {
                    (0, None) => format!("{inner}*"),
                    (1, None) => format!("{inner}+"),
                    (0, Some(1)) => format!("{inner}?"),
                    (min, None) => format!("{inner}{{{min},}}"),
                    (min, Some(max)) => format!("{inner}{{{min},{max}}}"),
                }
            }
        }
    }

    /// The same sequence, in which no special token begins before alternatives and ends within them.
    fn with_whole_marks(&self, items: &[Node]) -> Vec<Node> {
        let mut out: Vec<Node> = Vec::new();
        for item in items {
            let begun = match (out.last(), item) {
                (Some(Node::Literal(text)), Node::Choice(_)) => begun_mark(text, self.special),
                _ => "",
            };
            match (begun, item, out.pop()) {
                (begun, Node::Choice(ways), Some(Node::Literal(text))) if !begun.is_empty() => {
                    let ways = ways.iter().map(|way| Node::sequence([Node::literal(begun), way.clone()]));
                    let ways = Node::choice(ways.collect::<Vec<_>>());
                    out.push(Node::literal(text.strip_suffix(begun).unwrap_or(&text)));
                    out.push(ways);
                }
                (_, item, last) => {
                    out.extend(last);
                    out.push(item.clone());
                }
            }
        }
        out
    }

    fn literal(&self, mut text: &str) -> String {
        let mut parts = Vec::new();
        while let Some(c) = text.chars().next() {
            let token = at_start(text, self.special).and_then(|token| Some((token.text.len(), token.in_lark()?)));
            let (length, part) = token.unwrap_or_else(|| (c.len_utf8(), class(&[(u32::from(c), u32::from(c))])));
            parts.push(part);
            text = slice(text, length..);
        }
        parts.join(" ")
    }

    fn text_name(&self, text: usize, state: usize) -> String {
        let own = self.rules.text_name(text);
        if state == 0 { name(own) } else { format!("{}_from_{state}", name(own)) }
    }

    /// Regular text as rules of the text allowed before each of its positions.
    fn text(&mut self, text: usize, start: usize) {
        let Some(automaton) = self.rules.texts.get(text).map(|text| &text.automaton) else { return };
        let own = self.text_name(text, start);
        let place = |at: usize| format!("{own}_at_{at}");
        // The states that are reached from the start, and their predecessors.
        let mut before: Vec<Ways> = vec![Ways::default(); automaton.len()];
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            next += 1;
            for edge in automaton.state(at).map_or(&[][..], |state| state.edges) {
                let Some(ways) = before.get_mut(edge.to) else { continue };
                match ways.characters.iter_mut().find(|(from, _)| *from == at) {
                    Some((_, ranges)) => ranges.push((edge.low, edge.high)),
                    None => ways.characters.push((at, vec![(edge.low, edge.high)])),
                }
                if !reached.contains(&edge.to) {
                    reached.push(edge.to);
                }
            }
            for token in self.special {
                let to = automaton.after(at, &token.text).and_then(|to| before.get_mut(to));
                if let (Some(ways), Some(name)) = (to, token.in_lark()) {
                    ways.tokens.push((at, name));
                }
            }
        }
        let ends = reached.iter().filter(|at| automaton.ends_in(**at));
        let ends: Vec<String> = ends.map(|at| place(*at)).collect();
        let _ = writeln!(self.out, "{own}: {}", ends.join(" | "));
        for at in &reached {
            let mut ways: Vec<String> = Vec::new();
            if *at == start {
                ways.push("\"\"".to_owned());
            }
            if let Some(found) = before.get(*at) {
                ways.extend(
                    found.characters.iter().map(|(from, ranges)| format!("{} {}", place(*from), class(ranges))),
                );
                ways.extend(found.tokens.iter().map(|(from, name)| format!("{} {name}", place(*from))));
            }
            let _ = writeln!(self.out, "{}: {}", place(*at), ways.join(" | "));
        }
    }
}

/// A rule's name in the syntax of Lark.
fn name(name: &str) -> String {
    format!("r_{}", name.replace('-', "_"))
}

/// A class of characters as a regular expression.
fn class(ranges: &[(u32, u32)]) -> String {
    let is_rest = ranges.last().is_some_and(|(_, high)| *high == LAST);
    let shown = if is_rest { except(0, LAST, ranges) } else { ranges.to_vec() };
    if is_rest && shown.is_empty() {
        return "/(?s:.)/".to_owned();
    }
    let mut out = String::from(if is_rest { "/[^" } else { "/[" });
    for (low, high) in shown {
        sign(&mut out, low);
        if high > low {
            out.push('-');
            sign(&mut out, high);
        }
    }
    out.push_str("]/");
    out
}

fn sign(out: &mut String, c: u32) {
    let _ = match char::from_u32(c) {
        Some(c) if c.is_ascii_alphanumeric() || c == '_' => write!(out, "{c}"),
        _ => write!(out, "\\u{{{c:X}}}"),
    };
}
