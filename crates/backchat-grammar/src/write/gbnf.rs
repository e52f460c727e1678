//! Writes grammars in llama.cpp's notation, and in xgrammar's, which differs slightly.

use std::cmp::Reverse;
use std::fmt::Write;

use crate::automaton::char_class::{bracketed, hex};
use crate::automaton::{Automaton, Edge};
use crate::grammar::Grammar;
use crate::rules::{Node, NodeQueue, Rules};
use crate::turn::Trigger;

/// The engine that reads the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Gbnf,
    Ebnf,
}

/// The highest count of one repetition.
const MOST_REPEATS: u32 = 500;

impl Grammar {
    /// For llama.cpp, from the first character of the output on.
    pub fn to_gbnf(&self) -> String {
        written(&self.rules, &self.root, Dialect::Gbnf)
    }

    /// For llama.cpp, from the first call on: the text before it is unconstrained. `None` if a call is required, or if
    /// calls do not begin with a marker.
    pub fn to_lazy_gbnf(&self) -> Option<(String, &[Trigger])> {
        let lazy = self.lazy.as_ref()?;
        Some((written(&self.rules, &lazy.root, Dialect::Gbnf), &lazy.triggers))
    }

    /// For xgrammar.
    pub fn to_ebnf(&self) -> String {
        ebnf(&self.rules, &self.root)
    }
}

/// A part of a grammar for xgrammar.
pub(super) fn ebnf(rules: &Rules, root: &Node) -> String {
    written(rules, root, Dialect::Ebnf)
}

fn written(rules: &Rules, root: &Node, dialect: Dialect) -> String {
    let mut writer = GbnfWriter { rules, dialect, waiting: NodeQueue::default() };
    let mut out = String::from("root ::= ");
    writer.choice(root, &mut out);
    out.push('\n');
    while let Some(next) = writer.waiting.next() {
        match &next {
            Node::Rule(number) => writer.rule(*number, &mut out),
            Node::Text(text, state) => writer.state(*text, *state, &mut out),
            // Other nodes are written in place.
            Node::Repeat(node, min, _) => writer.many(node, *min, &mut out),
            _ => {}
        }
    }
    out
}

/// Writes rule after rule; rules that a rule refers to are queued.
struct GbnfWriter<'r> {
    rules: &'r Rules,
    dialect: Dialect,
    waiting: NodeQueue,
}

impl GbnfWriter<'_> {
    fn rule(&mut self, number: usize, out: &mut String) {
        let Some(rule) = self.rules.rules.get(number) else { return };
        self.name(&rule.name, out);
        out.push_str(" ::= ");
        self.choice(&rule.node, out);
        out.push('\n');
    }

    fn name(&self, name: &str, out: &mut String) {
        let name = if name == "root" { "root-rule" } else { name };
        match self.dialect {
            Dialect::Gbnf => out.push_str(name),
            Dialect::Ebnf => out.extend(name.chars().map(|c| if c == '-' { '_' } else { c })),
        }
    }

    fn state_name(&self, text: usize, state: usize, out: &mut String) {
        self.name(self.rules.text_name(text), out);
        if state > 0 {
            out.push(if self.dialect == Dialect::Gbnf { '-' } else { '_' });
            decimal(out, state);
        }
    }

    /// A node where alternatives need no parentheses.
    fn choice(&mut self, node: &Node, out: &mut String) {
        match node {
            Node::Choice(items) => self.each(items, " | ", out, Self::sequence),
            node => self.sequence(node, out),
        }
    }

    fn sequence(&mut self, node: &Node, out: &mut String) {
        match node {
            Node::Sequence(items) if items.is_empty() => out.push_str("\"\""),
            Node::Sequence(items) => self.each(items, " ", out, Self::atom),
            node => self.atom(node, out),
        }
    }

    fn each(&mut self, items: &[Node], between: &str, out: &mut String, write: fn(&mut Self, &Node, &mut String)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push_str(between);
            }
            write(self, item, out);
        }
    }

    fn atom(&mut self, node: &Node, out: &mut String) {
        match node {
            Node::Literal(text) => literal(out, text),
            Node::Sequence(_) | Node::Choice(_) => {
                out.push('(');
                self.choice(node, out);
                out.push(')');
            }
            Node::Rule(number) => {
                self.waiting.push(node);
                self.name(self.rules.rule_name(*number), out);
            }
            Node::Text(text, state) => {
                if let Some(edges) = self.rules.automaton(*text).and_then(|automaton| one_class(automaton, *state)) {
                    class(out, edges.iter());
                } else {
                    self.waiting.push(node);
                    self.state_name(*text, *state, out);
                }
            }
            Node::Repeat(node, min, max) => {
                let (min, max) = (*min, *max);
                if min > MOST_REPEATS || max.is_some_and(|max| max > MOST_REPEATS) {
                    return self.split(node, min, max, out);
                }
                self.atom(node, out);
                let _ = match (min, max) {
                    (0, None) => write!(out, "*"),
                    (1, None) => write!(out, "+"),
                    (0, Some(1)) => write!(out, "?"),
                    (min, None) => write!(out, "{{{min},}}"),
                    (min, Some(max)) if min == max => write!(out, "{{{min}}}"),
                    (min, Some(max)) => write!(out, "{{{min},{max}}}"),
                };
            }
        }
    }

    /// A long repetition as repetitions of repetitions.
    fn split(&mut self, node: &Node, min: u32, max: Option<u32>, out: &mut String) {
        let start = out.len();
        self.blocks(node, min, MOST_REPEATS, out);
        match max {
            None => {
                self.atom(node, out);
                out.push_str("* ");
            }
            Some(max) => self.blocks(node, max.saturating_sub(min), 0, out),
        }
        out.insert(start, '(');
        out.truncate(out.trim_end().len());
        out.push(')');
    }

    /// Exactly that many repetitions, or up to that many if `min` is 0: whole blocks, which are a rule, and the rest.
    fn blocks(&mut self, node: &Node, count: u32, min: u32, out: &mut String) {
        let (whole, rest) = (count / MOST_REPEATS, count % MOST_REPEATS);
        if whole > 0 {
            self.many_name(node, min, out);
            self.waiting.push(&Node::Repeat(Box::new(node.clone()), min, Some(MOST_REPEATS)));
            let _ = write!(out, "{{{whole}}} ");
        }
        if rest > 0 {
            self.atom(node, out);
            let _ = write!(out, "{{{}{rest}}} ", if min == 0 { "0," } else { "" });
        }
    }

    fn many_name(&self, node: &Node, min: u32, out: &mut String) {
        let base = match node {
            Node::Rule(number) => self.rules.rule_name(*number),
            Node::Text(text, _) => self.rules.text_name(*text),
            _ => "text",
        };
        self.name(&format!("{base}-{min}-to-{MOST_REPEATS}"), out);
    }

    fn many(&mut self, node: &Node, min: u32, out: &mut String) {
        self.many_name(node, min, out);
        out.push_str(" ::= ");
        self.atom(node, out);
        let _ = writeln!(out, "{{{min},{MOST_REPEATS}}}");
    }

    /// One state of regular text as a rule.
    fn state(&mut self, text: usize, state: usize, out: &mut String) {
        let Some(automaton) = self.rules.automaton(text) else { return };
        let Some(own) = automaton.state(state) else { return };
        let mut ways: Vec<(usize, u32)> = Vec::new();
        for edge in own.edges {
            let width = edge.high - edge.low;
            match ways.iter_mut().find(|(to, _)| *to == edge.to) {
                Some((_, characters)) => *characters += width,
                None => ways.push((edge.to, width)),
            }
        }
        // The target with the most characters comes first.
        ways.sort_by_key(|(_, characters)| Reverse(*characters));
        self.state_name(text, state, out);
        out.push_str(" ::= ");
        for (at, (to, _)) in ways.iter().enumerate() {
            if at > 0 {
                out.push_str(" | ");
            }
            class(out, own.edges.iter().filter(|edge| edge.to == *to));
            let (text_run, end) = run(automaton, *to);
            if !text_run.is_empty() {
                out.push(' ');
                literal(out, &text_run);
            }
            if automaton.state(end).is_some_and(|end| !end.accepts || !end.edges.is_empty()) {
                self.waiting.push(&Node::Text(text, end));
                out.push(' ');
                self.state_name(text, end, out);
            }
        }
        if own.accepts {
            out.push_str(if ways.is_empty() { "\"\"" } else { " | \"\"" });
        }
        out.push('\n');
    }
}

/// The longest text that is the only way on from a state, and its target.
fn run(automaton: &Automaton, from: usize) -> (String, usize) {
    let mut text = String::new();
    let mut at = from;
    while let Some(state) = automaton.state(at) {
        match state.edges {
            [Edge { low, high, to }] if low == high && !state.accepts && *to != from && text.len() < 200 => {
                text.extend(char::from_u32(*low));
                at = *to;
            }
            _ => break,
        }
    }
    (text, at)
}

/// The edges from a state after which exactly one character follows.
fn one_class(automaton: &Automaton, state: usize) -> Option<&[Edge]> {
    let own = automaton.state(state)?;
    let to = own.edges.first()?.to;
    let end = automaton.state(to)?;
    let is_one = !own.accepts && end.accepts && end.edges.is_empty() && own.edges.iter().all(|edge| edge.to == to);
    is_one.then_some(own.edges)
}

/// A class of characters in brackets.
fn class<'e>(out: &mut String, edges: impl Iterator<Item = &'e Edge> + Clone) {
    bracketed(out, edges.map(|edge| (edge.low, edge.high)), write_char, "[^\\u0000]");
}

fn write_char(out: &mut String, c: u32) {
    match char::from_u32(c) {
        Some('\n') => out.push_str("\\n"),
        Some('\r') => out.push_str("\\r"),
        Some('\t') => out.push_str("\\t"),
        Some(c @ (']' | '[' | '\\')) => out.extend(['\\', c]),
        Some(c) if (' '..='~').contains(&c) && !matches!(c, '^' | '-') => out.push(c),
        _ if c < 0x10000 => {
            out.push_str("\\u");
            hex(out, c, 4);
        }
        _ => {
            out.push_str("\\U");
            hex(out, c, 8);
        }
    }
}

/// Writes a number. A grammar names thousands of states, and `write!` took two thirds of that time.
fn decimal(out: &mut String, number: usize) {
    if number >= 10 {
        decimal(out, number / 10);
    }
    out.extend(char::from_digit((number % 10) as u32, 10));
}

/// A text in quotes.
fn literal(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
