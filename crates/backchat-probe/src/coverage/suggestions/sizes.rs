//! Conversations of another size: longer texts, more calls, arguments or messages, and numbers with more digits.

use super::earlier::earlier_texts;
use super::texts::{literals, named, sized};
use super::{LONGEST, MOST_CALLS, Made, Suggested};
use crate::coverage::places::{Place, places};
use crate::probe::{Answer, Call};
use backchat_chat::Relation;
use backchat_core::json::Value;

/// How many turns are put before a conversation at most.
const MOST_ROUNDS: usize = 16;

/// Up to which number parts of a text are counted.
const MOST_COUNTED: usize = 100;

/// Suggests conversations in which a number is another one than the one seen.
type Suggest<M> = fn(&mut M, usize, usize);

impl Made<'_> {
    /// Counts and lengths just below and above the numbers that the operands are compared with. What the condition mentions
    /// comes first: the renders are few.
    pub(super) fn by_numbers(&mut self, relation: Relation) {
        // What is not found is at -1.
        let count = |value: &Value| usize::try_from(value.as_i64()?.max(0)).ok();
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
        // The place of a message or of a call is no size of a text.
        let is_place =
            self.condition.contains("loop.") && !["length", "count"].iter().any(|size| self.condition.contains(size));
        let suggests = sized.into_iter().map(|(_, suggest)| suggest);
        let suggests: Vec<Suggest<Self>> =
            if is_place { vec![Self::calls_for, Self::rounds, Self::arguments_for] } else { suggests.collect() };
        for suggest in suggests {
            for (seen, limit) in &numbers {
                let around = [limit.saturating_add(1), *limit, limit.saturating_sub(1), limit.saturating_add(30)];
                let wanted = if relation == Relation::Equal { vec![*limit] } else { around.to_vec() };
                for wanted in wanted {
                    if (1..=LONGEST).contains(&wanted) {
                        suggest(self, *seen, wanted);
                    }
                }
            }
        }
        for (seen, limit) in numbers.iter().filter(|_| !is_place) {
            if relation == Relation::Equal {
                self.counted_exactly(*limit);
            } else {
                self.counted(*seen, *limit);
            }
        }
    }

    /// Texts that have a literal of the condition that many times.
    fn counted_exactly(&mut self, count: usize) {
        for (place, text) in places(self.answer) {
            if !self.may_be_about(place) || !place.is_free() || count == 0 || count > MOST_COUNTED {
                continue;
            }
            for literal in literals(self.condition) {
                self.text(place, &vec![text; count + 1].join(&literal));
            }
        }
    }

    /// Texts that have more or fewer of what a number may count: the literals of the condition, or words.
    fn counted(&mut self, seen: usize, limit: usize) {
        for (place, text) in places(self.answer) {
            if !self.may_be_about(place) || !place.is_free() || limit > MOST_COUNTED {
                continue;
            }
            if seen > limit {
                self.text(place, "Ok");
                continue;
            }
            for literal in literals(self.condition) {
                self.text(place, &vec![text; limit + 2].join(&literal));
            }
            if self.reads_number() {
                self.text(place, &(limit + 1).to_string());
            }
            // The number may be of the letters of one word.
            self.text(place, &format!("{} {}", named(limit + 2), sized(limit + 30)));
            self.text(place, &vec!["word"; limit + 1].join("\n"));
        }
    }

    /// Whether a condition may be about this text: what it mentions, if it mentions one of the usual names.
    fn may_be_about(&self, place: Place) -> bool {
        // The last two are of no text.
        let named = ["content", "think", "reason", "argument", "name", "id", "calls", "messages"];
        let named = named.map(|name| self.condition.contains(name));
        let [content, think, reason, argument, name, id, ..] = named;
        let is_named = match place {
            Place::Content => content,
            Place::Reasoning => think || reason,
            Place::Value(..) | Place::Key(..) => argument,
            Place::Name(_) => name,
            Place::Id(_) => id,
        };
        is_named || !named.contains(&true)
    }

    /// Texts of this length, in place of those that have the one seen.
    fn texts(&mut self, seen: usize, wanted: usize) {
        for (place, text) in places(self.answer) {
            if !self.may_be_about(place) {
                continue;
            }
            let made = match place {
                Place::Name(_) | Place::Id(_) | Place::Key(..) => (text.chars().count() == seen).then(|| named(wanted)),
                _ => resized(text, seen, wanted),
            };
            made.iter().for_each(|made| self.text(place, made));
        }
        for (place, text) in earlier_texts(self.history) {
            resized(text, seen, wanted).iter().for_each(|made| self.before(place, made));
        }
    }

    /// A longer conversation, if the number seen may be that of its messages or the place of one.
    fn rounds(&mut self, seen: usize, wanted: usize) {
        let is_of_messages = self.condition.contains("messages");
        // A number without a name may count the messages of a role.
        let is_counter = !["content", "think", "reason", "argument", "call", "length", "count"]
            .iter()
            .any(|other| self.condition.contains(other));
        let apart = wanted.saturating_sub(seen);
        let rounds = if is_of_messages { apart.div_ceil(2) } else { apart };
        let is_about = (is_of_messages || is_counter) && seen <= self.history.len() + 1 && !self.history.is_empty();
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
        if self.answer.calls.first().is_some_and(|call| call.arguments.len() == seen) {
            self.arguments_for(seen, count);
        }
    }

    /// A call with that many arguments, if the number seen may be the place of one.
    fn arguments_for(&mut self, seen: usize, count: usize) {
        let mut answer = self.answer.clone();
        let Some(call) = answer.calls.first_mut().filter(|call| call.arguments.len() >= seen) else { return };
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

    /// Texts of more pieces than a slice keeps, if these are the pieces of one.
    pub(super) fn pieces(&mut self, pieces: &[Value], limit: usize) {
        let pieces: Vec<&str> = pieces.iter().filter_map(Value::as_str).collect();
        let (Some(first), true) = (pieces.first(), limit <= MOST_COUNTED) else { return };
        for (place, text) in places(self.answer) {
            let is_of = place.is_free() && pieces.iter().all(|piece| text.contains(piece));
            let between =
                pieces.get(1).and_then(|next| text.split_once(first)?.1.split_once(next)).map(|(sign, _)| sign);
            let signs = between.map_or(vec!["\n", "\n\n", " "], |sign| vec![sign]);
            for sign in signs.into_iter().filter(|sign| is_of && !sign.is_empty()) {
                self.text(place, &vec!["word"; limit + 2].join(sign));
            }
        }
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
