//! Grammars as text in the notation of llama.cpp, and in the one of xgrammar, which differs in little.

use std::collections::HashSet;
use std::fmt::Write;

use super::automaton::{Automaton, Edge, LAST, except};
use super::rules::{Node, Rules};
use super::{Grammar, Trigger};

/// Which engine reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Gbnf,
    Ebnf,
}

/// How many repetitions are written as one.
const MOST_REPEATS: u32 = 500;

impl Grammar {
    /// For llama.cpp, from the first character of the output on.
    pub fn to_gbnf(&self) -> String {
        written(&self.rules, &self.root, Dialect::Gbnf)
    }

    /// For llama.cpp, from the first call on: the text before it is unconstrained. Nothing if only calls are allowed, or
    /// if calls begin without a mark.
    pub fn to_lazy_gbnf(&self) -> Option<(String, &[Trigger])> {
        let lazy = self.lazy.as_ref()?;
        Some((written(&self.rules, &lazy.root, Dialect::Gbnf), &lazy.triggers))
    }

    /// For xgrammar.
    pub fn to_ebnf(&self) -> String {
        written(&self.rules, &self.root, Dialect::Ebnf)
    }
}

fn written(rules: &Rules, root: &Node, dialect: Dialect) -> String {
    let mut writer = Writer { rules, dialect, out: String::new(), waiting: Vec::new(), seen: HashSet::new() };
    let root = writer.choice(root);
    let mut out = format!("root ::= {root}\n");
    while let Some(next) = writer.waiting.pop() {
        match next {
            Named::Rule(number) => writer.rule(number),
            Named::Text(text, state) => writer.state(text, state),
            Named::Many(node, min, max) => writer.many(&node, min, max),
        }
    }
    out.push_str(&writer.out);
    out
}

/// The kinds of nodes that get a rule of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Named {
    Rule(usize),
    Text(usize, usize),
    /// A repetition too long to be written at once.
    Many(Node, u32, u32),
}

struct Writer<'r> {
    rules: &'r Rules,
    dialect: Dialect,
    out: String,
    waiting: Vec<Named>,
    seen: HashSet<Named>,
}

impl Writer<'_> {
    fn want(&mut self, named: Named) {
        if self.seen.insert(named.clone()) {
            self.waiting.push(named);
        }
    }

    fn line(&mut self, name: &str, body: &str) {
        let _ = writeln!(self.out, "{name} ::= {body}");
    }

    fn rule(&mut self, number: usize) {
        let Some(rule) = self.rules.rules.get(number) else { return };
        let body = self.choice(&rule.node);
        let name = self.name(&rule.name);
        self.line(&name, &body);
    }

    fn name(&self, name: &str) -> String {
        let name = if name == "root" { "root-rule" } else { name };
        match self.dialect {
            Dialect::Gbnf => name.to_owned(),
            Dialect::Ebnf => name.replace('-', "_"),
        }
    }

    fn state_name(&self, text: usize, state: usize) -> String {
        let name = self.rules.texts.get(text).map_or("text", |text| text.name.as_str());
        let name = self.name(name);
        let dash = if self.dialect == Dialect::Gbnf { '-' } else { '_' };
        if state == 0 { name } else { format!("{name}{dash}{state}") }
    }

    /// A node in a place where several may follow each other.
    fn choice(&mut self, node: &Node) -> String {
        match node {
            Node::Choice(items) => items.iter().map(|item| self.sequence(item)).collect::<Vec<_>>().join(" | "),
            node => self.sequence(node),
        }
    }

    fn sequence(&mut self, node: &Node) -> String {
        match node {
            Node::Sequence(items) if items.is_empty() => "\"\"".to_owned(),
            Node::Sequence(items) => items.iter().map(|item| self.atom(item)).collect::<Vec<_>>().join(" "),
            node => self.atom(node),
        }
    }

    fn atom(&mut self, node: &Node) -> String {
        match node {
            Node::Literal(text) => literal(text),
            Node::Sequence(_) | Node::Choice(_) => format!("({})", self.choice(node)),
            Node::Rule(number) => {
                self.want(Named::Rule(*number));
                let name = self.rules.rules.get(*number).map_or("", |rule| rule.name.as_str());
                self.name(name)
            }
            Node::Text(text, state) => {
                if let Some(class) = self.rules.texts.get(*text).and_then(|text| one_class(&text.automaton, *state)) {
                    return class;
                }
                self.want(Named::Text(*text, *state));
                self.state_name(*text, *state)
            }
            Node::Repeat(node, min, max) => {
                let (min, max) = (*min, *max);
                if min > MOST_REPEATS || max.is_some_and(|max| max > MOST_REPEATS) {
                    return self.split(node, min, max);
                }
                let inner = self.atom(node);
                match (min, max) {
                    (0, None) => format!("{inner}*"),
                    (1, None) => format!("{inner}+"),
                    (0, Some(1)) => format!("{inner}?"),
                    (min, None) => format!("{inner}{{{min},}}"),
                    (min, Some(max)) if min == max => format!("{inner}{{{min}}}"),
                    (min, Some(max)) => format!("{inner}{{{min},{max}}}"),
                }
            }
        }
    }

    /// A long repetition as repetitions of repetitions.
    fn split(&mut self, node: &Node, min: u32, max: Option<u32>) -> String {
        let name = |writer: &mut Self, min: u32, max: u32| {
            let named = Named::Many(node.clone(), min, max);
            let name = writer.many_name(&named);
            writer.want(named);
            name
        };
        let mut parts = Vec::new();
        let (whole, rest) = (min / MOST_REPEATS, min % MOST_REPEATS);
        if whole > 0 {
            let block = name(self, MOST_REPEATS, MOST_REPEATS);
            parts.push(format!("{block}{{{whole}}}"));
        }
        if rest > 0 {
            let inner = self.atom(node);
            parts.push(format!("{inner}{{{rest}}}"));
        }
        match max {
            None => {
                let inner = self.atom(node);
                parts.push(format!("{inner}*"));
            }
            Some(max) => {
                let more = max.saturating_sub(min);
                let (whole, rest) = (more / MOST_REPEATS, more % MOST_REPEATS);
                if whole > 0 {
                    let block = name(self, 0, MOST_REPEATS);
                    parts.push(format!("{block}{{{whole}}}"));
                }
                if rest > 0 {
                    let inner = self.atom(node);
                    parts.push(format!("{inner}{{0,{rest}}}"));
                }
            }
        }
        format!("({})", parts.join(" "))
    }

    fn many_name(&mut self, named: &Named) -> String {
        let Named::Many(node, min, max) = named else { return String::new() };
        let base = match node {
            Node::Rule(number) => self.rules.rules.get(*number).map_or("text", |rule| rule.name.as_str()),
            Node::Text(text, _) => self.rules.texts.get(*text).map_or("text", |text| text.name.as_str()),
            _ => "text",
        };
        self.name(&format!("{base}-{min}-to-{max}"))
    }

    fn many(&mut self, node: &Node, min: u32, max: u32) {
        let name = self.many_name(&Named::Many(node.clone(), min, max));
        let inner = self.atom(node);
        self.line(&name, &format!("{inner}{{{min},{max}}}"));
    }

    /// One state of regular text as a rule.
    fn state(&mut self, text: usize, state: usize) {
        let Some(automaton) = self.rules.texts.get(text).map(|text| &text.automaton) else { return };
        let Some(own) = automaton.states.get(state) else { return };
        let mut ways: Vec<(usize, Vec<(u32, u32)>)> = Vec::new();
        for edge in &own.edges {
            match ways.iter_mut().find(|(to, _)| *to == edge.to) {
                Some((_, ranges)) => ranges.push((edge.low, edge.high)),
                None => ways.push((edge.to, vec![(edge.low, edge.high)])),
            }
        }
        // The node with most characters comes first.
        ways.sort_by_key(|(_, ranges)| std::cmp::Reverse(ranges.iter().map(|(low, high)| high - low).sum::<u32>()));
        let mut parts: Vec<String> = Vec::new();
        for (to, ranges) in ways {
            let first = class(&ranges);
            let (text_run, end) = run(automaton, to);
            let mut part = first;
            if !text_run.is_empty() {
                let _ = write!(part, " {}", literal(&text_run));
            }
            if automaton.states.get(end).is_some_and(|end| !end.accepts || !end.edges.is_empty()) {
                self.want(Named::Text(text, end));
                let _ = write!(part, " {}", self.state_name(text, end));
            }
            parts.push(part);
        }
        if own.accepts {
            parts.push("\"\"".to_owned());
        }
        let name = self.state_name(text, state);
        self.line(&name, &parts.join(" | "));
    }
}

/// The only text that leads on from a state, as long as there is no other, and its target.
fn run(automaton: &Automaton, from: usize) -> (String, usize) {
    let mut text = String::new();
    let mut at = from;
    while let Some(state) = automaton.states.get(at) {
        match state.edges.as_slice() {
            [Edge { low, high, to }] if low == high && !state.accepts && *to != from && text.len() < 200 => {
                text.extend(char::from_u32(*low));
                at = *to;
            }
            _ => break,
        }
    }
    (text, at)
}

/// Regular text that is one character.
pub(super) fn one_class(automaton: &Automaton, state: usize) -> Option<String> {
    let own = automaton.states.get(state)?;
    let to = own.edges.first()?.to;
    let end = automaton.states.get(to)?;
    let is_one = !own.accepts && end.accepts && end.edges.is_empty() && own.edges.iter().all(|edge| edge.to == to);
    is_one.then(|| class(&own.edges.iter().map(|edge| (edge.low, edge.high)).collect::<Vec<_>>()))
}

/// A class of characters in brackets.
pub(super) fn class(ranges: &[(u32, u32)]) -> String {
    let is_rest = ranges.last().is_some_and(|(_, high)| *high == LAST);
    let shown = if is_rest { except(0, LAST, ranges) } else { ranges.to_vec() };
    let mut out = String::from(if is_rest { "[^" } else { "[" });
    if is_rest && shown.is_empty() {
        return "[^\\u0000]".to_owned();
    }
    for (low, high) in shown {
        sign(&mut out, low);
        if high > low {
            if high > low + 1 {
                out.push('-');
            }
            sign(&mut out, high);
        }
    }
    out.push(']');
    out
}

fn sign(out: &mut String, c: u32) {
    let _ = match char::from_u32(c) {
        Some('\n') => write!(out, "\\n"),
        Some('\r') => write!(out, "\\r"),
        Some('\t') => write!(out, "\\t"),
        Some(c @ (']' | '[' | '\\' | '^' | '-')) => match c {
            '^' | '-' => write!(out, "\\u{:04X}", u32::from(c)),
            c => write!(out, "\\{c}"),
        },
        Some(c) if (' '..='~').contains(&c) => write!(out, "{c}"),
        _ if c < 0x10000 => write!(out, "\\u{c:04X}"),
        _ => write!(out, "\\U{c:08X}"),
    };
}

/// A text in quotes.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c.is_control() => write!(out, "\\u{:04X}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
    out
}
