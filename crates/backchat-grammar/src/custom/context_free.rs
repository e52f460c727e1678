//! Converts rules over terminals to nodes of a grammar: without left recursion, which engines cannot follow, and as one
//! automaton if no rule is recursive.

use std::collections::BTreeSet;

use super::lark_syntax::{Expr, LarkGrammar};
use super::{Spell, Unsupported};
use crate::automaton::{Automaton, Edge, LAST};
use crate::rules::{Node, Rules};
use backchat_parser::pattern::Regular;

/// A grammar without left recursion.
#[derive(Clone, Debug)]
pub(crate) struct ContextFree {
    /// The rules with their names; none is left-recursive.
    rules: Vec<(String, Expr)>,
    start: usize,
    terminals: Vec<(Regular, Automaton)>,
    /// What may come after each terminal, and before the first one.
    ignored: Option<(Regular, Automaton)>,
    /// The rules that may be empty.
    empty: BTreeSet<usize>,
    /// Whether a longest-match lexer would split some text differently.
    pub overlaps: bool,
}

/// How many parts a grammar may have after its rules are inlined.
const MOST_PARTS: usize = 100_000;

/// How deep rules may be inlined.
const MOST_OPEN: usize = 30;

type Result<T> = std::result::Result<T, Unsupported>;

/// The rule of the cycle that an alternative begins with, if any, and the rest.
type Way = (Option<usize>, Vec<Expr>);

impl ContextFree {
    pub(super) fn new(source: LarkGrammar) -> Result<Self> {
        let LarkGrammar { rules, terminals, start, ignored } = source;
        let made = |terminal: Regular| -> Result<(Regular, Automaton)> {
            let automaton = Automaton::from_pattern(&terminal).ok_or("has a terminal with too many states")?;
            Ok((terminal, automaton))
        };
        let terminals = terminals.into_iter().map(made).collect::<Result<_>>()?;
        let ignored = match ignored.is_empty() {
            true => None,
            false => Some(made(Regular::Alternate(ignored).repeat(0, None))?),
        };
        let mut this = Self { rules, start, terminals, ignored, empty: BTreeSet::new(), overlaps: false };
        if !this.rules_where(Self::ends).contains(&start) {
            return Err("accepts no text: its rules never end".into());
        }
        this.empty = this.rules_where(Self::is_empty_with);
        this.overlaps = this.find_overlaps();
        this.end_empty_repeats()?;
        this.end_left_recursion()?;
        Ok(this)
    }

    /// The grammar as one automaton, if it is small and not recursive.
    pub fn regular(&self) -> Option<Automaton> {
        let mut left = MOST_PARTS;
        let body = self.inlined(&Expr::Rule(self.start), &mut Vec::new(), &mut left)?;
        let before = self.ignored.iter().map(|(ignored, _)| ignored.clone());
        Automaton::from_pattern(&Regular::Concat(before.chain([body]).collect()))
    }

    fn inlined(&self, expr: &Expr, open: &mut Vec<usize>, left: &mut usize) -> Option<Regular> {
        *left = left.checked_sub(1)?;
        let mut all =
            |items: &[Expr]| items.iter().map(|item| self.inlined(item, open, left)).collect::<Option<Vec<_>>>();
        Some(match expr {
            Expr::Terminal(at) => {
                let own = std::iter::once(self.terminals.get(*at)?).chain(&self.ignored);
                Regular::Concat(own.map(|(regular, _)| regular.clone()).collect())
            }
            Expr::Rule(rule) => {
                if open.contains(rule) || open.len() > MOST_OPEN {
                    return None;
                }
                open.push(*rule);
                let own = self.inlined(self.body(*rule)?, open, left)?;
                open.pop();
                own
            }
            Expr::Sequence(items) => Regular::Concat(all(items)?),
            Expr::Choice(items) if items.is_empty() => Regular::Never,
            Expr::Choice(items) => Regular::Alternate(all(items)?),
            Expr::Repeat(item, min, max) => self.inlined(item, open, left)?.repeat(*min, *max),
        })
    }

    /// The rules of the text, each terminal spelled by the caller; `None` if one cannot be.
    pub fn node(&self, rules: &mut Rules, name: &str, spell: &mut Spell<'_>) -> Option<Node> {
        let ignored = match &self.ignored {
            Some((_, ignored)) => spell(rules, &format!("{name}-ignored"), ignored)?,
            None => Node::empty(),
        };
        let mut terminals = Vec::new();
        for (_, terminal) in &self.terminals {
            let own = spell(rules, &format!("{name}-terminal"), terminal)?;
            terminals.push(Node::sequence([own, ignored.clone()]));
        }
        let numbers: Vec<usize> = self.rules.iter().map(|(rule, _)| rules.reserve(&format!("{name}-{rule}"))).collect();
        // Rules that need a terminal which cannot be spelled here match nothing.
        let is_spelled = |at: usize| terminals.get(at).is_some_and(|terminal| !terminal.is_never());
        let live = self.rules_where(|this, known, body| this.holds(known, body, &is_spelled));
        let named: Vec<Node> = numbers
            .iter()
            .enumerate()
            .map(|(at, number)| if live.contains(&at) { Node::Rule(*number) } else { Node::never() })
            .collect();
        for ((_, body), number) in self.rules.iter().zip(&numbers) {
            rules.set(*number, written(body, &terminals, &named));
        }
        let start = named.get(self.start).cloned().unwrap_or_else(Node::never);
        Some(Node::sequence([ignored, start]))
    }

    /// All texts over the characters of the terminals: a superset of what several terminals can form together.
    pub fn letters(&self) -> Option<Automaton> {
        let edges = self.terminals.iter().chain(&self.ignored).flat_map(|(_, terminal)| terminal.states());
        let mut ranges: Vec<(u32, u32)> =
            edges.flat_map(|state| state.edges.iter().map(|edge| (edge.low, edge.high))).collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        Automaton::from_pattern(&Regular::Class(joined).repeat(0, None))
    }

    fn body(&self, rule: usize) -> Option<&Expr> {
        self.rules.get(rule).map(|(_, body)| body)
    }

    /// The rules whose bodies have a property that depends on the rules they refer to: the least fixed point.
    fn rules_where(&self, holds: impl Fn(&Self, &BTreeSet<usize>, &Expr) -> bool) -> BTreeSet<usize> {
        let mut known = BTreeSet::new();
        loop {
            let found = self
                .rules
                .iter()
                .enumerate()
                .filter(|(at, (_, body))| !known.contains(at) && holds(self, &known, body));
            let found: Vec<usize> = found.map(|(at, _)| at).collect();
            if found.is_empty() {
                return known;
            }
            known.extend(found);
        }
    }

    /// Whether an expression has a finite text, given the rules that have one.
    fn ends(&self, known: &BTreeSet<usize>, expr: &Expr) -> bool {
        self.holds(known, expr, &|at| self.terminals.get(at).is_some_and(|(_, own)| !own.is_empty()))
    }

    fn may_be_empty(&self, expr: &Expr) -> bool {
        self.is_empty_with(&self.empty, expr)
    }

    /// Whether an expression may be empty, given the rules that may be.
    fn is_empty_with(&self, known: &BTreeSet<usize>, expr: &Expr) -> bool {
        self.holds(known, expr, &|at| self.terminals.get(at).is_some_and(|(_, own)| own.ends_in(0)))
    }

    /// Whether some text of an expression has a property that a text has if all its parts do, given the rules with such
    /// a text.
    fn holds(&self, known: &BTreeSet<usize>, expr: &Expr, of_terminal: &dyn Fn(usize) -> bool) -> bool {
        match expr {
            Expr::Terminal(at) => of_terminal(*at),
            Expr::Rule(rule) => known.contains(rule),
            Expr::Sequence(items) => items.iter().all(|item| self.holds(known, item, of_terminal)),
            Expr::Choice(items) => items.iter().any(|item| self.holds(known, item, of_terminal)),
            Expr::Repeat(item, min, _) => *min == 0 || self.holds(known, item, of_terminal),
        }
    }
}

/// Comparison with longest-match lexers.
impl ContextFree {
    fn find_overlaps(&self) -> bool {
        let edge = |is_first: bool| -> Vec<BTreeSet<usize>> {
            let mut known: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.rules.len()];
            loop {
                let next: Vec<BTreeSet<usize>> =
                    self.rules.iter().map(|(_, body)| self.at_edge(body, is_first, &known)).collect();
                if next == known {
                    return known;
                }
                known = next;
            }
        };
        let (firsts, lasts) = (edge(true), edge(false));
        let mut pairs = BTreeSet::new();
        for (_, body) in &self.rules {
            self.neighbors(body, (&firsts, &lasts), &mut pairs);
        }
        let any = Regular::Alternate(self.terminals.iter().map(|(own, _)| own.clone()).collect());
        let Some(any) = Automaton::from_pattern(&any) else { return true };
        pairs.iter().any(|(left, right)| {
            let own = |at: &usize| self.terminals.get(*at).map(|(_, own)| own);
            match (own(left), own(right)) {
                (Some(left), Some(right)) => goes_on(left, &any, right),
                _ => false,
            }
        })
    }

    /// The terminals that a text of an expression may begin or end with.
    fn at_edge(&self, expr: &Expr, is_first: bool, known: &[BTreeSet<usize>]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        self.edge(expr, is_first, &mut |leaf| match leaf {
            Expr::Terminal(at) => drop(found.insert(*at)),
            Expr::Rule(rule) => found.extend(known.get(*rule).into_iter().flatten()),
            _ => {}
        });
        found
    }

    /// Visits the terminals and rules that a text of an expression may begin or end with.
    fn edge(&self, expr: &Expr, is_first: bool, visit: &mut dyn FnMut(&Expr)) {
        match expr {
            Expr::Terminal(_) | Expr::Rule(_) => visit(expr),
            Expr::Choice(items) => items.iter().for_each(|item| self.edge(item, is_first, visit)),
            Expr::Repeat(item, ..) => self.edge(item, is_first, visit),
            Expr::Sequence(items) => {
                let mut items: Vec<&Expr> = items.iter().collect();
                if !is_first {
                    items.reverse();
                }
                for item in items {
                    self.edge(item, is_first, visit);
                    if !self.may_be_empty(item) {
                        break;
                    }
                }
            }
        }
    }

    /// The pairs of terminals that may be adjacent.
    fn neighbors(
        &self,
        expr: &Expr,
        known: (&[BTreeSet<usize>], &[BTreeSet<usize>]),
        pairs: &mut BTreeSet<(usize, usize)>,
    ) {
        let (firsts, lasts) = known;
        let mut join = |left: &Expr, right: &Expr| {
            let right = self.at_edge(right, true, firsts);
            for left in self.at_edge(left, false, lasts) {
                pairs.extend(right.iter().map(|right| (left, *right)));
            }
        };
        match expr {
            Expr::Terminal(_) | Expr::Rule(_) => {}
            Expr::Choice(items) => items.iter().for_each(|item| self.neighbors(item, known, pairs)),
            Expr::Repeat(item, _, max) => {
                if max.is_none_or(|max| max > 1) {
                    join(item, item);
                }
                self.neighbors(item, known, pairs);
            }
            Expr::Sequence(items) => {
                for (at, left) in items.iter().enumerate() {
                    for right in items.iter().skip(at + 1) {
                        join(left, right);
                        if !self.may_be_empty(right) {
                            break;
                        }
                    }
                }
                items.iter().for_each(|item| self.neighbors(item, known, pairs));
            }
        }
    }
}

/// Whether a text of `left` followed by the first character of `right` is a prefix of some terminal.
fn goes_on(left: &Automaton, any: &Automaton, right: &Automaton) -> bool {
    let first = right.state(0).map_or(&[][..], |state| state.edges);
    let mut seen = BTreeSet::from([(0, 0)]);
    let mut waiting = vec![(0, 0)];
    while let Some((a, b)) = waiting.pop() {
        let (Some(a), Some(b)) = (left.state(a), any.state(b)) else { continue };
        let touch = |x: &Edge, y: &Edge| x.low <= y.high && y.low <= x.high;
        if a.accepts && b.edges.iter().any(|edge| first.iter().any(|first| touch(edge, first))) {
            return true;
        }
        for x in a.edges {
            for y in b.edges.iter().filter(|y| touch(x, y)) {
                if seen.insert((x.to, y.to)) {
                    waiting.push((x.to, y.to));
                }
            }
        }
    }
    false
}

/// Rewriting of constructs that engines cannot follow.
impl ContextFree {
    /// Repetitions of a possibly empty expression become repetitions of its nonempty texts.
    fn end_empty_repeats(&mut self) -> Result<()> {
        for at in 0..self.rules.len() {
            let Some(body) = self.body(at).cloned() else { continue };
            let body = self.without_empty_repeats(body)?;
            if let Some((_, own)) = self.rules.get_mut(at) {
                *own = body;
            }
        }
        Ok(())
    }

    fn without_empty_repeats(&mut self, expr: Expr) -> Result<Expr> {
        let mut each = |items: Vec<Expr>| {
            items.into_iter().map(|item| self.without_empty_repeats(item)).collect::<Result<Vec<_>>>()
        };
        Ok(match expr {
            Expr::Terminal(_) | Expr::Rule(_) => expr,
            Expr::Sequence(items) => Expr::Sequence(each(items)?),
            Expr::Choice(items) => Expr::Choice(each(items)?),
            Expr::Repeat(item, min, max) => {
                let item = self.without_empty_repeats(*item)?;
                match max == Some(1) || !self.may_be_empty(&item) {
                    true => Expr::Repeat(Box::new(item), min, max),
                    // It may be empty each time, so it is optional.
                    false => Expr::Repeat(Box::new(self.not_empty(item)?), 0, max),
                }
            }
        })
    }

    /// The nonempty texts of an expression.
    fn not_empty(&mut self, expr: Expr) -> Result<Expr> {
        if !self.may_be_empty(&expr) {
            return Ok(expr);
        }
        Ok(match expr {
            Expr::Terminal(at) => {
                let some = Automaton::from_pattern(&Regular::Class(vec![(0, LAST)]).repeat(1, None));
                let own = self.terminals.get(at).zip(some);
                let own = own.and_then(|((regular, own), some)| Some((regular.clone(), own.both(&some)?)));
                // The regular expression still includes the empty text, but is not used after this.
                let Some(own) = own else { return Err("has a terminal with too many states".into()) };
                self.terminals.push(own);
                Expr::Terminal(self.terminals.len() - 1)
            }
            Expr::Rule(rule) => {
                let name = self.rules.get(rule).map_or("", |(name, _)| name);
                return Err(format!("repeats the rule `{name}`, which may be empty: this is not supported").into());
            }
            Expr::Choice(items) => {
                let items = items.into_iter().map(|item| self.not_empty(item));
                Expr::Choice(items.collect::<Result<_>>()?)
            }
            Expr::Repeat(item, _, max) => Expr::Repeat(Box::new(self.not_empty(*item)?), 1, max),
            Expr::Sequence(items) => {
                let mut ways = Vec::new();
                for at in 0..items.len() {
                    let mut rest: Vec<Expr> = items.iter().skip(at).cloned().collect();
                    let first = rest.remove(0);
                    rest.insert(0, self.not_empty(first)?);
                    ways.push(Expr::Sequence(rest));
                }
                Expr::Choice(ways)
            }
        })
    }

    /// Left-recursive rules, directly or indirectly, become repetitions.
    fn end_left_recursion(&mut self) -> Result<()> {
        for cycle in self.cycles() {
            self.end_cycle(&cycle)?;
        }
        match self.cycles().is_empty() {
            true => Ok(()),
            false => Err("has left recursion after a part that may be empty: this is not supported".into()),
        }
    }

    /// The cycles of rules that begin with each other.
    fn cycles(&self) -> Vec<Vec<usize>> {
        let count = self.rules.len();
        let begins: Vec<BTreeSet<usize>> = self.rules.iter().map(|(_, body)| self.beginnings(body)).collect();
        let reach = |from: usize| -> BTreeSet<usize> {
            let mut seen = BTreeSet::new();
            let mut waiting = vec![from];
            while let Some(at) = waiting.pop() {
                for next in begins.get(at).into_iter().flatten() {
                    if seen.insert(*next) {
                        waiting.push(*next);
                    }
                }
            }
            seen
        };
        let reached: Vec<BTreeSet<usize>> = (0..count).map(reach).collect();
        let has = |from: usize, to: usize| reached.get(from).is_some_and(|reached| reached.contains(&to));
        let mut done = BTreeSet::new();
        let mut cycles = Vec::new();
        for first in 0..count {
            if done.contains(&first) || !has(first, first) {
                continue;
            }
            let cycle: Vec<usize> = (first..count).filter(|at| has(first, *at) && has(*at, first)).collect();
            done.extend(cycle.iter().copied());
            cycles.push(cycle);
        }
        cycles
    }

    /// The rules that a text of an expression may begin with.
    fn beginnings(&self, expr: &Expr) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        self.edge(expr, true, &mut |leaf| {
            if let Expr::Rule(rule) = leaf {
                found.insert(*rule);
            }
        });
        found
    }

    fn end_cycle(&mut self, cycle: &[usize]) -> Result<()> {
        for (at, rule) in cycle.iter().enumerate() {
            let Some(body) = self.body(*rule).cloned() else { continue };
            let mut left = MOST_PARTS / 10;
            let mut ways = self.ways(&body, cycle, &mut left)?;
            // Earlier rules no longer begin with themselves, so they are inlined.
            for earlier in cycle.iter().take(at) {
                let Some(body) = self.body(*earlier).cloned() else { continue };
                let mut next = Vec::new();
                for (head, rest) in ways {
                    if head != Some(*earlier) {
                        next.push((head, rest));
                        continue;
                    }
                    for (head, mut own) in self.ways(&body, cycle, &mut left)? {
                        own.extend(rest.iter().cloned());
                        next.push((head, own));
                    }
                }
                ways = next;
            }
            let (own, others): (Vec<_>, Vec<_>) = ways.into_iter().partition(|(head, _)| *head == Some(*rule));
            let more: Vec<Expr> =
                own.into_iter().filter(|(_, rest)| !rest.is_empty()).map(|(_, rest)| Expr::Sequence(rest)).collect();
            let base = others.into_iter().map(|(head, mut rest)| {
                if let Some(head) = head {
                    rest.insert(0, Expr::Rule(head));
                }
                Expr::Sequence(rest)
            });
            let base = Expr::Choice(base.collect());
            let body = match more.is_empty() {
                true => base,
                false => {
                    let more = Expr::Repeat(Box::new(Expr::Choice(more)), 0, None);
                    let more = self.without_empty_repeats(more)?;
                    Expr::Sequence(vec![base, more])
                }
            };
            if let Some((_, own)) = self.rules.get_mut(*rule) {
                *own = body;
            }
        }
        Ok(())
    }

    /// The alternatives of an expression.
    fn ways(&self, expr: &Expr, cycle: &[usize], left: &mut usize) -> Result<Vec<Way>> {
        *left = left.checked_sub(1).ok_or("has left recursion through too many alternatives")?;
        let touches = |expr: &Expr| self.beginnings(expr).iter().any(|rule| cycle.contains(rule));
        if !touches(expr) {
            return Ok(vec![(None, vec![expr.clone()])]);
        }
        match expr {
            Expr::Terminal(_) => Ok(Vec::new()),
            Expr::Rule(rule) if cycle.contains(rule) => Ok(vec![(Some(*rule), Vec::new())]),
            // A rule outside the cycle cannot begin with one inside it, or it would be inside.
            Expr::Rule(_) => Ok(vec![(None, vec![expr.clone()])]),
            Expr::Choice(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend(self.ways(item, cycle, left)?);
                }
                Ok(all)
            }
            Expr::Repeat(item, min, max) => {
                let rest = Expr::Repeat(item.clone(), min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
                let mut all = if *min == 0 { vec![(None, Vec::new())] } else { Vec::new() };
                for (head, mut own) in self.ways(item, cycle, left)? {
                    if *max != Some(1) {
                        own.push(rest.clone());
                    }
                    all.push((head, own));
                }
                Ok(all)
            }
            Expr::Sequence(items) => {
                let Some((first, rest)) = items.split_first() else { return Ok(vec![(None, Vec::new())]) };
                if !touches(first) {
                    return Err("has left recursion after a part that may be empty: this is not supported".into());
                }
                let mut all = Vec::new();
                for (head, mut own) in self.ways(first, cycle, left)? {
                    let is_empty = head.is_none() && own.is_empty();
                    own.extend(rest.iter().cloned());
                    match is_empty {
                        // The first part is empty, so the next one is the first.
                        true => all.extend(self.ways(&Expr::Sequence(own), cycle, left)?),
                        false => all.push((head, own)),
                    }
                }
                Ok(all)
            }
        }
    }
}

fn written(expr: &Expr, terminals: &[Node], rules: &[Node]) -> Node {
    match expr {
        Expr::Terminal(at) => terminals.get(*at).cloned().unwrap_or_else(Node::never),
        Expr::Rule(at) => rules.get(*at).cloned().unwrap_or_else(Node::never),
        Expr::Sequence(items) => Node::sequence(items.iter().map(|item| written(item, terminals, rules))),
        Expr::Choice(items) => {
            let items = items.iter().map(|item| written(item, terminals, rules)).filter(|node| !node.is_never());
            Node::choice(items.collect::<Vec<_>>())
        }
        Expr::Repeat(item, min, max) => written(item, terminals, rules).repeat(*min, *max),
    }
}
