//! Conversations of another size: longer texts, more calls, arguments or messages, and numbers with more digits.

use super::earlier::earlier_texts;
use super::texts::sized;
use super::{LONGEST, MOST_CALLS, Made, Suggested};
use crate::coverage::places::{Place, places};
use crate::probe::{Answer, Call};
use backchat_chat::Relation;
use backchat_core::json::Value;

/// How many turns are put before a conversation at most.
const MOST_ROUNDS: usize = 16;

/// Suggests conversations in which a number is another one than the one seen.
type Suggest<M> = fn(&mut M, usize, usize);

impl Made<'_> {
    /// Counts and lengths just below and above the numbers that the operands are compared with. What the condition mentions
    /// comes first: the renders are few.
    pub(super) fn by_numbers(&mut self, relation: Relation) {
        let count = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        let numbers = self.goal.operands.iter().filter_map(|(left, right)| Some((count(left)?, count(right)?)));
        let numbers: Vec<(usize, usize)> = match relation {
            Relation::Less | Relation::Greater => numbers.collect(),
            Relation::Equal if self.goal.wanted => numbers.flat_map(|(a, b)| [(a, b), (b, a)]).collect(),
            _ => return,
        };
        let mut sized: [(bool, Suggest<Self>); 4] = [
            (!self.condition.contains("message"), Self::rounds),
            (!self.condition.contains("argument"), Self::arguments),
            (!self.condition.contains("call"), Self::calls_for),
            (false, Self::texts),
        ];
        sized.sort_by_key(|(is_late, _)| *is_late);
        for (_, suggest) in sized {
            for (seen, limit) in &numbers {
                for wanted in [limit.saturating_add(1), *limit, limit.saturating_sub(1), limit.saturating_add(30)] {
                    if (1..=LONGEST).contains(&wanted) {
                        suggest(self, *seen, wanted);
                    }
                }
            }
        }
    }

    /// Texts of this length, in place of those that have the one seen.
    fn texts(&mut self, seen: usize, wanted: usize) {
        for (place, text) in places(self.answer) {
            if let Some(made) =
                resized(text, seen, wanted).filter(|_| !matches!(place, Place::Name(_) | Place::Key(..)))
            {
                self.text(place, &made);
            }
        }
        for (place, text) in earlier_texts(self.history) {
            resized(text, seen, wanted).iter().for_each(|made| self.before(place, made));
        }
    }

    /// A longer conversation, if the number seen may be that of its messages or the place of one.
    fn rounds(&mut self, seen: usize, wanted: usize) {
        let rounds = wanted.saturating_sub(seen).div_ceil(2);
        let is_about =
            self.condition.contains("messages") && seen <= self.history.len() + 1 && !self.history.is_empty();
        if is_about && (1..=MOST_ROUNDS).contains(&rounds) {
            let words = format!("{} earlier messages", 2 * rounds);
            self.push(Suggested { rounds, ..Suggested::of(self.answer.clone(), words) });
        }
    }

    /// That many calls, if the number seen may be that of the calls.
    fn calls_for(&mut self, seen: usize, wanted: usize) {
        if seen <= self.answer.calls.len() && (1..=MOST_CALLS).contains(&wanted) {
            self.calls(wanted);
        }
    }

    /// That many calls.
    pub(super) fn calls(&mut self, count: usize) {
        let Some(first) = self.answer.calls.first() else { return };
        let calls: Vec<Call> = (0..count)
            .map(|at| {
                self.answer
                    .calls
                    .get(at)
                    .cloned()
                    .unwrap_or_else(|| Call { id: numbered(&first.id, at), ..first.clone() })
            })
            .collect();
        let answer = Answer { calls, ..self.answer.clone() };
        let words = if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
        self.part(answer, words);
    }

    /// A call with that many arguments, if it has as many as seen.
    fn arguments(&mut self, seen: usize, count: usize) {
        let mut answer = self.answer.clone();
        let Some(call) = answer.calls.first_mut().filter(|call| call.arguments.len() == seen) else { return };
        if count > MOST_CALLS {
            return;
        }
        let known: Vec<(String, Value)> =
            call.arguments.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        let more = (0..).map(|at| (format!("part_{at}"), Value::from(format!("Ghent {at}"))));
        call.arguments = known.into_iter().chain(more).take(count).collect();
        let words = if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
        self.part(answer, words);
    }

    /// Numbers with many digits in place of an argument.
    pub(super) fn numbers(&mut self, value: &Value) {
        for (at, call) in self.answer.calls.iter().enumerate() {
            let Some((key, _)) = call.arguments.iter().find(|(_, argument)| *argument == value) else { continue };
            for number in [12.34567, -7.0625] {
                let mut answer = self.answer.clone();
                if let Some(call) = answer.calls.get_mut(at) {
                    call.arguments.insert(key, number.into());
                }
                self.part(answer, format!("the argument {number}"));
            }
        }
    }
}

/// A text of another length, if it has the one seen: characters, or words.
fn resized(text: &str, seen: usize, wanted: usize) -> Option<String> {
    let words = text.split_whitespace().count();
    let characters = [text.chars().count(), text.trim().chars().count()];
    match seen {
        _ if characters.contains(&seen) => Some(sized(wanted)),
        _ if words == seen => Some(vec!["word"; wanted].join(" ")),
        _ => None,
    }
}

/// An id like this one, with the number of its call.
fn numbered(id: &str, at: usize) -> String {
    let digits = at.to_string();
    let kept: String = id.chars().take(id.chars().count().saturating_sub(digits.len())).collect();
    format!("{kept}{digits}")
}
