//! Converts small automata to regular expressions, in the syntax that all engines share.

use backchat_core::push_new;
use std::fmt::Write;

use super::Automaton;
use super::char_class::bracketed;

/// How many states an automaton may have, and how long its expression may become.
const MOST_STATES: usize = 40;
const MOST_BYTES: usize = 2000;

/// An expression between two states, and whether it needs no parentheses before an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expression {
    text: String,
    is_atom: bool,
}

impl Expression {
    fn atom(text: String) -> Self {
        Self { text, is_atom: true }
    }

    fn empty() -> Self {
        Self { text: String::new(), is_atom: false }
    }

    fn grouped(&self) -> String {
        if self.is_atom { self.text.clone() } else { format!("(?:{})", self.text) }
    }

    fn is_choice(&self) -> bool {
        !self.is_atom && self.text.contains('|')
    }

    /// Both in sequence.
    fn then(&self, next: &Self) -> Self {
        let part = |part: &Self| if part.is_choice() { part.grouped() } else { part.text.clone() };
        match (self.text.is_empty(), next.text.is_empty()) {
            (true, _) => next.clone(),
            (_, true) => self.clone(),
            _ => Self { text: part(self) + &part(next), is_atom: false },
        }
    }

    fn or(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        match (self.text.is_empty(), other.text.is_empty()) {
            (true, _) => Self { text: format!("{}?", other.grouped()), is_atom: false },
            (_, true) => Self { text: format!("{}?", self.grouped()), is_atom: false },
            _ => Self { text: format!("{}|{}", self.text, other.text), is_atom: false },
        }
    }

    fn starred(&self) -> Self {
        Self { text: format!("{}*", self.grouped()), is_atom: false }
    }
}

/// The texts from a state on as a regular expression of a whole match; `None` if it would be large.
pub(crate) fn of_automaton(automaton: &Automaton, start: usize) -> Option<String> {
    let mut order = vec![start];
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        next += 1;
        for edge in automaton.state(at)?.edges {
            push_new(&mut order, edge.to);
        }
        if order.len() > MOST_STATES {
            return None;
        }
    }
    // The paths between any two states, with one more state as the end.
    let (count, end) = (order.len() + 1, order.len());
    let mut paths: Vec<Vec<Option<Expression>>> = vec![vec![None; count]; count];
    for (from, at) in order.iter().enumerate() {
        let state = automaton.state(*at)?;
        for (to, target) in order.iter().enumerate() {
            let own = state.edges.iter().filter(|edge| edge.to == *target);
            let ranges: Vec<(u32, u32)> = own.map(|edge| (edge.low, edge.high)).collect();
            if !ranges.is_empty() {
                *paths.get_mut(from)?.get_mut(to)? = Some(Expression::atom(class(&ranges)));
            }
        }
        if state.accepts {
            *paths.get_mut(from)?.get_mut(end)? = Some(Expression::empty());
        }
    }
    let path = |paths: &[Vec<Option<Expression>>], from: usize, to: usize| paths.get(from)?.get(to)?.clone();
    // The last states first, because few edges lead to them.
    for removed in (1..order.len()).rev() {
        let around = path(&paths, removed, removed).map(|own| own.starred());
        for from in 0..removed {
            let Some(before) = path(&paths, from, removed) else { continue };
            for to in (0..removed).chain([end]) {
                let Some(after) = path(&paths, removed, to) else { continue };
                let way = match &around {
                    Some(around) => before.then(around).then(&after),
                    None => before.then(&after),
                };
                let both = match path(&paths, from, to) {
                    Some(known) => known.or(&way),
                    None => way,
                };
                if both.text.len() > MOST_BYTES {
                    return None;
                }
                *paths.get_mut(from)?.get_mut(to)? = Some(both);
            }
        }
    }
    let rest = path(&paths, 0, end)?;
    let whole = match path(&paths, 0, 0) {
        Some(own) => own.starred().then(&rest),
        None => rest,
    };
    Some(whole.text)
}

/// One character of these ranges.
fn class(ranges: &[(u32, u32)]) -> String {
    let mut out = String::new();
    if let [(low, high)] = ranges
        && low == high
    {
        write_char(&mut out, *low);
        return out;
    }
    bracketed(&mut out, ranges.iter().copied(), write_char, r"[\s\S]");
    out
}

fn write_char(out: &mut String, c: u32) {
    match char::from_u32(c) {
        Some('\n') => out.push_str("\\n"),
        Some('\r') => out.push_str("\\r"),
        Some('\t') => out.push_str("\\t"),
        Some(c)
            if c.is_ascii_punctuation()
                && !matches!(
                    c,
                    '"' | '\'' | '<' | '>' | ',' | ':' | ';' | '=' | '_' | '@' | '!' | '%' | '&' | '`' | '~' | '#'
                ) =>
        {
            out.extend(['\\', c]);
        }
        Some(c) if !c.is_control() && (c.is_ascii() || c.is_alphanumeric()) => out.push(c),
        _ if c < 0x10000 => {
            let _ = write!(out, "\\u{c:04X}");
        }
        _ => {
            let _ = write!(out, "\\U{c:08X}");
        }
    }
}
