//! Writes grammars for llguidance.
//!
//! Its lexer takes the longest match and does not backtrack, so text and the marker that ends it must not be two
//! lexemes. Therefore every lexeme is one character, and regular text is written from its end, as the text allowed
//! before each character. Special tokens have no characters there, so they are referred to by name.

use std::collections::HashMap;
use std::fmt::Write;

use crate::automaton::Automaton;
use crate::automaton::char_class::bracketed;
use crate::grammar::{Grammar, SpecialToken, at_start, begun_mark};
use crate::rules::{Node, NodeQueue, Rules};
use backchat_core::push_new;
use backchat_core::text::slice;

impl Grammar {
    /// For llguidance, as Lark.
    pub fn to_lark(&self) -> String {
        let mut writer = LarkWriter {
            rules: &self.rules,
            special: &self.special,
            out: String::new(),
            waiting: NodeQueue::default(),
        };
        let root = writer.choice(&self.root);
        let mut out = format!("start: {root}\n");
        while let Some(next) = writer.waiting.next() {
            match next {
                Node::Rule(number) => writer.rule(number),
                Node::Text(text, state) => writer.text(text, state),
                // Other nodes are written in place.
                _ => {}
            }
        }
        out.push_str(&writer.out);
        out
    }
}

/// How many steps a regular text may have to be written from its end: llguidance expects all of them at once at its
/// beginning, and holds at most 2,000.
const MOST_EXPECTED: usize = 200;

/// A transition between states of a regular text, by a character of a class or by a special token.
struct Step {
    from: usize,
    to: usize,
    label: String,
}

struct LarkWriter<'r> {
    rules: &'r Rules,
    special: &'r [SpecialToken],
    out: String,
    waiting: NodeQueue,
}

impl LarkWriter<'_> {
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
                self.waiting.push(node);
                self.rules.rules.get(*number).map_or(String::new(), |rule| name(&rule.name))
            }
            Node::Text(text, state) => {
                self.waiting.push(node);
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

    /// The sequence with markers moved into alternatives, so that no special token begins before alternatives and ends
    /// within them.
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

    /// Regular text as rules for the text before each of its states or, if it is large but finite, after each of them:
    /// in an infinite text, that would nest one rule per character.
    fn text(&mut self, text: usize, start: usize) {
        let Some(automaton) = self.rules.automaton(text) else { return };
        let own = self.text_name(text, start);
        let place = |at: usize| format!("{own}_at_{at}");
        let (reached, steps) = self.steps(automaton, start);
        let is_forward = steps.len() > MOST_EXPECTED && is_finite(&reached, &steps);
        let mut ways: Vec<Vec<String>> = vec![Vec::new(); automaton.len()];
        let mut add = |at: usize, way: String| {
            if let Some(ways) = ways.get_mut(at) {
                ways.push(way);
            }
        };
        let ends: Vec<usize> = reached.iter().copied().filter(|at| automaton.ends_in(*at)).collect();
        let root = if is_forward {
            for Step { from, to, label } in &steps {
                add(*from, format!("{label} {}", place(*to)));
            }
            ends.iter().for_each(|at| add(*at, "\"\"".to_owned()));
            place(start)
        } else {
            add(start, "\"\"".to_owned());
            for Step { from, to, label } in &steps {
                add(*to, format!("{} {label}", place(*from)));
            }
            ends.iter().map(|at| place(*at)).collect::<Vec<_>>().join(" | ")
        };
        let _ = writeln!(self.out, "{own}: {root}");
        for at in reached {
            let ways = ways.get(at).map(|ways| ways.join(" | ")).unwrap_or_default();
            let _ = writeln!(self.out, "{}: {ways}", place(at));
        }
    }

    /// The states that are reachable from a start, and all steps between them.
    fn steps(&self, automaton: &Automaton, start: usize) -> (Vec<usize>, Vec<Step>) {
        let mut reached = vec![start];
        let (mut characters, mut tokens) = (Vec::new(), Vec::new());
        let mut next = 0;
        while let Some(from) = reached.get(next).copied() {
            next += 1;
            let mut ways: Vec<(usize, Vec<(u32, u32)>)> = Vec::new();
            for edge in automaton.state(from).map_or(&[][..], |state| state.edges) {
                match ways.iter_mut().find(|(to, _)| *to == edge.to) {
                    Some((_, ranges)) => ranges.push((edge.low, edge.high)),
                    None => ways.push((edge.to, vec![(edge.low, edge.high)])),
                }
            }
            for (to, ranges) in ways {
                characters.push(Step { from, to, label: class(&ranges) });
                push_new(&mut reached, to);
            }
            for token in self.special {
                if let (Some(to), Some(label)) = (automaton.after(from, &token.text), token.in_lark()) {
                    tokens.push(Step { from, to, label });
                }
            }
        }
        characters.append(&mut tokens);
        (reached, characters)
    }
}

/// Whether no state is reachable from itself.
fn is_finite(reached: &[usize], steps: &[Step]) -> bool {
    let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut left: HashMap<usize, usize> = reached.iter().map(|at| (*at, 0)).collect();
    for step in steps {
        after.entry(step.from).or_default().push(step.to);
        *left.entry(step.to).or_default() += 1;
    }
    let mut free: Vec<usize> = reached.iter().copied().filter(|at| left.get(at) == Some(&0)).collect();
    let mut seen = 0;
    while let Some(at) = free.pop() {
        seen += 1;
        for to in after.get(&at).into_iter().flatten() {
            if let Some(count) = left.get_mut(to) {
                *count -= 1;
                free.extend((*count == 0).then_some(*to));
            }
        }
    }
    seen == reached.len()
}

/// A rule's name in the syntax of Lark.
fn name(name: &str) -> String {
    format!("r_{}", name.replace('-', "_"))
}

/// A class of characters as a regular expression.
fn class(ranges: &[(u32, u32)]) -> String {
    let mut out = String::from("/");
    bracketed(&mut out, ranges.iter().copied(), write_char, "(?s:.)");
    out.push('/');
    out
}

fn write_char(out: &mut String, c: u32) {
    let _ = match char::from_u32(c) {
        Some(c) if c.is_ascii_alphanumeric() || c == '_' => write!(out, "{c}"),
        _ => write!(out, "\\u{{{c:X}}}"),
    };
}
