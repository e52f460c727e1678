//! The branches of one template, and which outcomes its conditions have had.

use std::collections::BTreeMap;
use std::ops::Range;

use backchat_chat::{Branches, Branching, Ran, Relation, branches};
use backchat_core::diagnostic::line_column;
use backchat_core::json::Value;

/// What every render is given, as transformers gives it.
const ALWAYS: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];

/// How many pairs of operands are remembered of one outcome, and how many conversations.
const MOST_OPERANDS: usize = 24;
const MOST_WITNESSES: usize = 6;

/// The branches of a template, and the lines of those that no conversation took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// How many there are: two of each condition, three of each loop.
    pub all: usize,
    /// How many were taken.
    pub taken: usize,
    /// The others, by their lines.
    pub not_taken: Vec<Untaken>,
}

/// A branch that no conversation took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Untaken {
    /// The 1-based line of its condition.
    pub line: usize,
    /// What never happened, in words.
    pub why: &'static str,
}

/// One way a condition went.
#[derive(Clone, Debug, Default)]
struct Seen {
    operands: Vec<(Value, Value)>,
    witnesses: Vec<usize>,
}

/// A condition, as renders reported it.
#[derive(Clone, Debug)]
struct Condition {
    relation: Relation,
    seen: [Option<Seen>; 2],
    /// Whether a loop had several items.
    several: bool,
}

/// An outcome that no conversation has had, of a condition that some have reached.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    pub(super) span: Range<usize>,
    pub(super) relation: Relation,
    pub(super) wanted: bool,
    /// Whether a loop should have several items.
    pub(super) several: bool,
    pub(super) operands: Vec<(Value, Value)>,
    pub(super) witnesses: Vec<usize>,
}

/// What conversations took of one template.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    branches: Branches,
    known: BTreeMap<(usize, usize), Condition>,
}

impl Taken {
    pub(super) fn new(source: &str) -> Self {
        let mut branches = branches(source);
        let always = |span: &Range<usize>| {
            let words: Vec<&str> = source.get(span.clone()).unwrap_or_default().split_whitespace().collect();
            matches!(words.as_slice(), [name, "is", "defined" | "undefined"] | [name, "is", "not", "defined"] if ALWAYS.contains(name))
        };
        for branching in &mut branches.conditions {
            branching.is_fixed |= always(&branching.span);
        }
        for part in &mut branches.parts {
            part.is_fixed |= part.after.iter().all(|(span, _)| always(span));
        }
        Self { branches, known: BTreeMap::new() }
    }

    /// Adds what ran in a conversation.
    pub(super) fn add(&mut self, ran: Ran, conversation: usize) {
        for decision in ran.decisions {
            let key = (decision.span.start, decision.span.end);
            let condition = self.known.entry(key).or_insert_with(|| Condition {
                relation: decision.relation,
                seen: [None, None],
                several: false,
            });
            condition.several |= decision.operands.iter().any(|(left, _)| left.as_i64().is_some_and(|count| count > 1));
            let [no, yes] = &mut condition.seen;
            let seen = if decision.outcome { yes } else { no }.get_or_insert_default();
            let before = seen.operands.len();
            for pair in decision.operands {
                if seen.operands.len() < MOST_OPERANDS {
                    backchat_core::push_new(&mut seen.operands, pair);
                }
            }
            let is_new = seen.witnesses.is_empty() || seen.operands.len() > before;
            if is_new && seen.witnesses.len() < MOST_WITNESSES {
                seen.witnesses.push(conversation);
            }
        }
    }

    fn condition(&self, span: &Range<usize>) -> Option<&Condition> {
        self.known.get(&(span.start, span.end))
    }

    fn had(&self, span: &Range<usize>, outcome: bool) -> bool {
        self.condition(span).is_some_and(|known| known.seen.get(usize::from(outcome)).is_some_and(Option::is_some))
    }

    /// Whether some conversation had this outcome.
    pub(super) fn has(&self, goal: &Goal) -> bool {
        match goal.several {
            true => self.condition(&goal.span).is_some_and(|known| known.several),
            false => self.had(&goal.span, goal.wanted),
        }
    }

    /// Outcomes that are missing of the conditions that ran, in the order of the source.
    pub(super) fn goals(&self) -> Vec<Goal> {
        let mut goals = Vec::new();
        for branching in self.branches.conditions.iter().filter(|branching| !branching.is_fixed) {
            let Some(known) = self.condition(&branching.span) else { continue };
            let mut goal = |seen: &Option<Seen>, wanted: bool, several: bool| {
                if let Some(Seen { operands, witnesses }) = seen.clone() {
                    let (span, relation) = (branching.span.clone(), known.relation);
                    goals.push(Goal { span, relation, wanted, several, operands, witnesses });
                }
            };
            match &known.seen {
                [no, None] => goal(no, true, false),
                [None, yes] => goal(yes, false, false),
                [_, yes] if branching.is_loop && !known.several => goal(yes, true, true),
                _ => {}
            }
        }
        goals
    }

    /// Whether an edit touches a goal's condition, or something that runs only after its outcome.
    pub(super) fn concerns(&self, goal: &Goal, edited: &[Range<usize>]) -> bool {
        let meets = |span: &Range<usize>| edited.iter().any(|edit| edit.start < span.end && span.start < edit.end);
        meets(&goal.span)
            || self.branches.parts.iter().any(|part| {
                let is_after = part.after.iter().any(|(span, outcome)| *span == goal.span && *outcome == goal.wanted);
                is_after && meets(&part.span)
            })
    }

    /// The lines that an edit touches and that did not run, unless constants of the template decide that.
    pub(super) fn untaken_within(&self, edited: &[Range<usize>], source: &str) -> Vec<usize> {
        let meets = |span: &Range<usize>| edited.iter().any(|edit| edit.start < span.end && span.start < edit.end);
        let is_dead = |span: &Range<usize>| {
            let around =
                self.branches.parts.iter().filter(|part| part.span.start <= span.start && span.end <= part.span.end);
            around.into_iter().any(|part| part.is_fixed && !self.ran(&part.after))
        };
        let mut lines: Vec<usize> = Vec::new();
        for part in self.branches.parts.iter().filter(|part| meets(&part.span)) {
            // What is edited within a part that did not run, and not elsewhere in it.
            if !part.is_fixed && !self.ran(&part.after) && !is_dead(&part.span) {
                let at = edited.iter().find(|edit| edit.start < part.span.end && part.span.start < edit.end);
                let at = at.map_or(part.span.start, |edit| edit.start.max(part.span.start));
                lines.push(line_column(source, at).0);
            }
        }
        for branching in
            self.branches.conditions.iter().filter(|branching| !branching.is_fixed && meets(&branching.span))
        {
            let never_ran = !self.had(&branching.span, true) && !self.had(&branching.span, false);
            if never_ran && !is_dead(&branching.span) {
                lines.push(line_column(source, branching.span.start).0);
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn ran(&self, after: &[(Range<usize>, bool)]) -> bool {
        after.iter().any(|(span, outcome)| self.had(span, *outcome))
    }

    pub(super) fn coverage(&self, source: &str) -> Coverage {
        let mut coverage = Coverage::default();
        for branching in self.branches.conditions.iter().filter(|branching| !branching.is_fixed) {
            let ways = self.ways(branching, source);
            coverage.all += ways.len();
            coverage.taken += ways.iter().filter(|(is_taken, _)| *is_taken).count();
            let line = line_column(source, branching.span.start).0;
            let untaken = ways.iter().filter(|(is_taken, _)| !is_taken).map(|(_, why)| *why);
            let untaken: Vec<&'static str> = untaken.collect();
            let why = match untaken.as_slice() {
                [] => continue,
                [why] => why,
                _ => "it was never reached",
            };
            let is_known = coverage.not_taken.iter().any(|known| known.line == line);
            coverage.not_taken.extend((!is_known).then_some(Untaken { line, why }));
        }
        coverage.not_taken.sort_unstable();
        coverage
    }

    /// The branches of a condition: whether each was taken, and what never happened if it was not.
    fn ways(&self, branching: &Branching, source: &str) -> Vec<(bool, &'static str)> {
        let [is_false, is_true] = [false, true].map(|outcome| self.had(&branching.span, outcome));
        if !branching.is_loop {
            let [always, never] = ["its test always held", "its test never held"];
            let [of_false, of_true] = if branching.is_inverted { [never, always] } else { [always, never] };
            return vec![(is_false, of_false), (is_true, of_true)];
        }
        let several = self.condition(&branching.span).is_some_and(|known| known.several);
        let mut ways = vec![(is_true, "its loop never ran"), (several, "its loop never ran twice")];
        if is_false || !self.is_never_empty(&branching.span, source) {
            ways.push((is_false, "its loop always ran"));
        }
        ways
    }

    /// Whether a loop has an item wherever it is reached: a conversation has a message, and a test may ask for the list.
    fn is_never_empty(&self, list: &Range<usize>, source: &str) -> bool {
        let name = |span: &Range<usize>| source.get(span.clone()).map(str::trim);
        let is_tested = self.branches.parts.iter().any(|part| {
            let is_around = part.span.start <= list.start && list.end <= part.span.end;
            let holds = |(span, outcome): &(Range<usize>, bool)| *outcome && name(span) == name(list);
            is_around && !part.after.is_empty() && part.after.iter().all(holds)
        });
        is_tested || name(list) == Some("messages")
    }
}
