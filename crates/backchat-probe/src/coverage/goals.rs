//! The outcomes that conversations have had, and those that none has had.

use std::collections::BTreeMap;
use std::ops::Range;

use super::places::answer_texts;
use crate::probe::{Answer, Setting};
use backchat_chat::{Change, Decision, Ran, Relation};
use backchat_core::json::Value;
use backchat_core::push_new;

/// In how many conversations an outcome is remembered, with its operands.
const MOST_WITNESSES: usize = 6;

/// How many pairs of operands are remembered of one outcome.
const MOST_OPERANDS: usize = 48;

/// How many keys of a table or members of a list are sought.
const MOST_MEMBERS: usize = 12;

/// One outcome of a condition, or one way a filter went.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The conversations in which it occurred, by number.
    witnesses: Vec<usize>,
    /// Those whose answers have other parts, with operands that were known.
    beside: Vec<usize>,
    operands: Vec<(Value, Value)>,
    /// The shapes of their answers.
    shapes: [bool; 4],
    /// Whether it occurred with operands that a template can mean.
    is_meant: bool,
}

impl Seen {
    fn add(&mut self, operands: Vec<(Value, Value)>, conversation: usize, answer: &Answer) {
        let before = self.operands.len();
        for pair in operands.into_iter().filter(|_| before < MOST_OPERANDS) {
            push_new(&mut self.operands, pair);
        }
        let is_new_shape = self.shapes.get_mut(shape(answer)).is_some_and(|shape| !std::mem::replace(shape, true));
        // A conversation with other operands than the earlier ones shows where they come from. So may one with other parts:
        // earlier turns may have the same operands.
        if self.operands.len() > before || self.witnesses.is_empty() {
            if self.witnesses.len() < MOST_WITNESSES {
                self.witnesses.push(conversation);
            }
        } else if is_new_shape {
            self.beside.push(conversation);
        }
    }

    fn goal(&self, span: Range<usize>, is_own: bool, sought: Sought, wanted: bool) -> Goal {
        let Self { witnesses, beside, operands, .. } = self.clone();
        Goal { span, is_own, sought, wanted, operands, witnesses, beside }
    }
}

/// What an answer has beside its content: neither, reasoning, calls, or both.
fn shape(answer: &Answer) -> usize {
    usize::from(answer.reasoning.is_some()) + 2 * usize::from(!answer.calls.is_empty())
}

/// A condition, or a filter of a text, and how it went: `seen[0]` if it was false or changed nothing.
#[derive(Clone, Debug)]
struct Branching {
    kind: Sought,
    seen: [Option<Seen>; 2],
}

impl Branching {
    /// Whether some conversation had this outcome, and its operands are of kinds that the template can mean.
    fn has(&self, outcome: bool) -> bool {
        self.seen.get(usize::from(outcome)).and_then(Option::as_ref).is_some_and(|seen| seen.is_meant)
    }

    fn goals(&self, span: Range<usize>, is_own: bool) -> Vec<Goal> {
        let goal = |sought, wanted, seen: &Seen| seen.goal(span.clone(), is_own, sought, wanted);
        let mut goals = Vec::new();
        let [no, yes] = &self.seen;
        if let Some(seen) = no.as_ref().filter(|_| !self.has(true)) {
            goals.push(goal(self.kind.clone(), true, seen));
        }
        let may_fail = matches!(self.kind, Sought::Outcome(relation) if relation != Relation::Key);
        if let Some(seen) = yes.as_ref().filter(|_| may_fail && !self.has(false)) {
            goals.push(goal(self.kind.clone(), false, seen));
        }
        if let Sought::Outcome(Relation::In | Relation::Key) = self.kind {
            let seen: Vec<&Seen> = self.seen.iter().flatten().collect();
            let mut members: Vec<Value> = Vec::new();
            for (_, right) in seen.iter().flat_map(|seen| &seen.operands) {
                for member in right.as_list().into_iter().flatten().take(MOST_MEMBERS) {
                    push_new(&mut members, member.clone());
                }
            }
            members.retain(|member| !member.is_null() && !self.has_met(member));
            let last = seen.last();
            goals.extend(members.into_iter().filter_map(|member| Some(goal(Sought::Member(member), true, last?))));
        }
        goals
    }

    /// Whether some conversation looked up this member.
    fn has_met(&self, member: &Value) -> bool {
        self.seen.iter().flatten().flat_map(|seen| &seen.operands).any(|(left, _)| left == member)
    }
}

/// A condition, or a filter of a text, and one way it went in a conversation.
struct Observed {
    span: Range<usize>,
    kind: Sought,
    outcome: bool,
    operands: Vec<(Value, Value)>,
    is_meant: bool,
}

/// Whether a template can mean a comparison under a setting: not of true or false, to which a variable is set, or of how it is
/// spelled, with other texts or numbers.
fn is_meant(relation: Relation, operands: &[(Value, Value)], setting: &Setting) -> bool {
    let spelled = |text: &str| {
        let is_like = |word: &str| text.eq_ignore_ascii_case(word);
        if is_like("true") { Some(true) } else { is_like("false").then_some(false) }
    };
    let truth = |value: &Value| value.as_bool().or_else(|| value.as_str().and_then(spelled));
    let is_set = |value: &Value| truth(value).is_some() && setting.values().any(|own| own.as_bool() == truth(value));
    let is_other = |value: &Value| match value {
        Value::String(_) | Value::Number(_) => truth(value).is_none(),
        Value::List(items) => !items.iter().any(|item| truth(item).is_some()),
        Value::Null | Value::Bool(_) | Value::Object(_) => false,
    };
    let is_mistaken =
        |(left, right): &(Value, Value)| is_set(left) && is_other(right) || is_other(left) && is_set(right);
    let compares = matches!(relation, Relation::Equal | Relation::Less | Relation::Greater | Relation::In);
    !compares || !operands.iter().all(is_mistaken)
}

/// What a goal asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Sought {
    Outcome(Relation),
    /// That a value looked up in a table, or sought in a list, is this key or member.
    Member(Value),
    /// A change by the filter, method or slice with this name and these constant arguments.
    Change(String, Vec<Value>),
}

/// An outcome that no conversation has had.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Bytes of the chat template's source.
    pub span: Range<usize>,
    /// Whether it is about a text of the answer.
    pub is_own: bool,
    pub sought: Sought,
    /// The outcome: true for a change.
    pub wanted: bool,
    /// The operands with which it went the other way; a filter's value is the first of a pair.
    pub operands: Vec<(Value, Value)>,
    /// Conversations in which it went the other way, by number.
    pub witnesses: Vec<usize>,
    /// Those whose answers have other parts, with operands that were known.
    pub beside: Vec<usize>,
}

impl Goal {
    pub(super) fn is_change(&self) -> bool {
        matches!(self.sought, Sought::Change(..))
    }
}

/// The outcomes of conditions, and the changes of filters, in some conversations.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// By place, and whether the operand is a text of the answer: what a user said decides nothing about a turn.
    known: BTreeMap<(usize, usize, bool), Branching>,
    conversations: usize,
}

impl Coverage {
    /// Adds what ran in a conversation that ends with this answer, and returns its number.
    pub fn add(&mut self, ran: Ran, answer: &Answer) -> usize {
        self.add_under(&Setting::new(), ran, answer)
    }

    /// The same of a conversation with these variables.
    pub fn add_under(&mut self, setting: &Setting, ran: Ran, answer: &Answer) -> usize {
        let number = self.conversations;
        self.conversations += 1;
        for Decision { span, outcome, relation, operands } in ran.decisions {
            let is_meant = is_meant(relation, &operands, setting);
            let kind = Sought::Outcome(relation);
            self.see_each(Observed { span, kind, outcome, operands, is_meant }, number, answer);
        }
        for Change { span, name, arguments, changed, values } in ran.changes {
            let operands = values.into_iter().map(|value| (value, Value::Null)).collect();
            let kind = Sought::Change(name, arguments);
            self.see_each(Observed { span, kind, outcome: changed, operands, is_meant: true }, number, answer);
        }
        number
    }

    /// Sees it apart for operands that are texts of the answer, and for others.
    fn see_each(&mut self, observed: Observed, conversation: usize, answer: &Answer) {
        let Observed { span, kind, outcome, operands, is_meant } = observed;
        let texts = answer_texts(answer);
        let is_text = |value: &Value| value.as_str().is_some_and(|value| texts.contains(&value.trim()));
        let (own, others): (Vec<_>, Vec<_>) =
            operands.into_iter().partition(|(left, right)| is_text(left) || is_text(right));
        for (is_own, operands) in [(true, own), (false, others)] {
            if !operands.is_empty() {
                let place = (span.start, span.end, is_own);
                let seen = self.seen(place, kind.clone(), outcome);
                seen.is_meant |= is_meant;
                seen.add(operands, conversation, answer);
            }
        }
    }

    fn seen(&mut self, place: (usize, usize, bool), kind: Sought, outcome: bool) -> &mut Seen {
        let branching = self.known.entry(place).or_insert_with(|| Branching { kind, seen: [None, None] });
        let [no, yes] = &mut branching.seen;
        let seen = if outcome { yes } else { no };
        seen.get_or_insert_with(Seen::default)
    }

    /// Whether some conversation had this outcome. What a condition looked up in vain may be a text of the answer by now.
    pub fn has(&self, goal: &Goal) -> bool {
        let is_sought = goal.sought == Sought::Outcome(Relation::In);
        let is_nothing = |(left, right): &(Value, Value)| {
            right.is_null() && (left.is_null() || is_sought) || right.as_list().is_some()
        };
        let was_nothing = goal.operands.iter().all(is_nothing);
        let known = |is_own: bool| self.known.get(&(goal.span.start, goal.span.end, is_own));
        // A text of the answer is never false, and nothing is no text of it.
        let is_absence = goal.is_own && !goal.wanted && goal.sought == Sought::Outcome(Relation::Truth);
        let found = [known(goal.is_own), known(true).filter(|_| was_nothing), known(false).filter(|_| is_absence)];
        found.into_iter().flatten().any(|branching| match &goal.sought {
            Sought::Member(member) => branching.has_met(member),
            _ => branching.has(goal.wanted),
        })
    }

    /// Whether some conversation ran this condition or filter.
    pub fn ran(&self, span: &Range<usize>) -> bool {
        [false, true].iter().any(|is_own| self.known.contains_key(&(span.start, span.end, *is_own)))
    }

    /// Whether some conversation had this outcome of a condition.
    pub fn took(&self, span: &Range<usize>, outcome: bool) -> bool {
        let known = |is_own: bool| self.known.get(&(span.start, span.end, is_own));
        [false, true].into_iter().filter_map(known).any(|branching| branching.has(outcome))
    }

    /// The goals, in the order of their conditions in the template.
    pub fn goals(&self) -> Vec<Goal> {
        let goals = self.known.iter();
        let goals = goals.flat_map(|((start, end, is_own), branching)| branching.goals(*start..*end, *is_own));
        goals.filter(|goal| !self.has(goal)).collect()
    }

    /// Outcomes that answers of some shapes had, and not those of others, which had the other outcome: each with the
    /// conversations that had it.
    pub fn unmixed(&self) -> Vec<Goal> {
        let mut found = Vec::new();
        for ((start, end, is_own), branching) in &self.known {
            let (Sought::Outcome(_), [Some(no), Some(yes)]) = (&branching.kind, &branching.seen) else { continue };
            for (wanted, seen, other) in [(false, no, yes), (true, yes, no)] {
                if seen.shapes.iter().zip(&other.shapes).any(|(seen, other)| !seen && *other) {
                    found.push(seen.goal(*start..*end, *is_own, branching.kind.clone(), wanted));
                }
            }
        }
        found
    }

    /// The conditions that ran, each with whether it went both ways. A loop that always has items is none: every conversation
    /// has messages.
    pub fn conditions(&self) -> Vec<(Range<usize>, bool)> {
        let mut places: BTreeMap<(usize, usize), [bool; 2]> = BTreeMap::new();
        for ((start, end, _), branching) in &self.known {
            let is_filled = branching.kind == Sought::Outcome(Relation::Items) && !branching.has(false);
            if matches!(branching.kind, Sought::Outcome(_)) && !is_filled {
                let [was_false, was_true] = places.entry((*start, *end)).or_default();
                *was_false |= branching.has(false);
                *was_true |= branching.has(true);
            }
        }
        places.into_iter().map(|((start, end), seen)| (start..end, seen == [true, true])).collect()
    }
}
