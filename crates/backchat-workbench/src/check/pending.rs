//! The expectation that a case would get if it were blessed: `None` if it is unchanged.

use std::borrow::Cow;

use super::compare::fits;
use super::fixture::{Actual, ActualChat, Case, ChatCase, FixtureFile, rewrite};
use super::output_case::OUT_OF_TIME;
use super::suite::{Entry, Meaning, Report, Status};
use backchat_core::diagnostic::Severity;
use backchat_core::json::{Object, Value};

/// Which expectations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Missing and changed ones.
    All,
    /// Missing ones.
    New,
}

/// A case and the expectation it would get.
#[derive(Clone, Debug)]
pub enum Pending<'f> {
    /// Of an output.
    Output(&'f Case, Actual),
    /// Of a rendered chat.
    Chat(&'f ChatCase, ActualChat),
}

/// One section in which the expectation and what was found differ, both as the file would write them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingSection {
    /// Its name in the file.
    pub name: &'static str,
    /// The expectation of the case; empty if there is none.
    pub expected: String,
    /// The actual result of the output or the chat.
    pub found: String,
}

impl<'f> Report<'f> {
    /// The expectation the case would get, if it is another than the one it has.
    pub fn pending(&self, which: Which) -> Option<Pending<'f>> {
        if self.diagnostics.iter().any(|found| found.id == OUT_OF_TIME) {
            // Nobody has seen whether another chunking gives another message.
            return None;
        }
        match (self.entry, self.meaning.as_ref()?) {
            (Entry::Case(_, Ok(case)), Meaning::Output(meaning)) => {
                new_expectation(case, meaning, which).map(|new| Pending::Output(case, new))
            }
            (Entry::Chat(_, Ok(case)), Meaning::Chat(meaning)) => {
                let is_said = case.messages.as_ref().is_some_and(|said| said.value == meaning.messages)
                    && case.tools.as_ref().is_none_or(|said| Some(&said.value) == meaning.tools.as_ref());
                let is_wanted = !is_said && (which == Which::All || case.messages.is_none());
                is_wanted.then(|| Pending::Chat(case, meaning.clone()))
            }
            _ => None,
        }
    }

    /// The expectation to decide about: the case fails, and another expectation would resolve at least part of it.
    pub fn undecided(&self) -> Option<Pending<'f>> {
        let pending = self.pending(Which::All).filter(|_| self.status == Status::Failed)?;
        let is_settled = |id| pending.settles().contains(&id);
        self.diagnostics
            .iter()
            .any(|found| found.severity == Severity::Error && is_settled(found.id))
            .then_some(pending)
    }

    /// Removes the findings that a written expectation resolves.
    pub fn settle(&mut self, written: &Pending<'_>) {
        self.diagnostics.retain(|found| !written.settles().contains(&found.id));
        if self.status == Status::Failed && self.diagnostics.iter().all(|found| found.severity < Severity::Error) {
            self.status = Status::Passed;
        }
    }
}

impl Pending<'_> {
    /// The ids of the findings that are answered when the expectation is written.
    pub fn settles(&self) -> &'static [&'static str] {
        match self {
            Self::Output(..) => &["check-message", "check-unsaid", "check-problem", "check-problems", "check-events"],
            Self::Chat(..) => &["check-messages", "check-unsaid", "check-tools"],
        }
    }

    /// The sections that would change.
    pub fn sections(&self) -> Vec<PendingSection> {
        let all = match self {
            Self::Output(case, new) => {
                let said = &case.expected;
                let mut all = vec![(
                    "message",
                    said.message.as_ref().map(|said| Value::Object(said.value.clone())),
                    new.message.clone().map(Value::Object),
                )];
                let error = said.error.as_ref().map_or(&[][..], |error| &error.value);
                all.push(("error", lines(error), lines(&new.error)));
                if let Some(problems) = &said.problems {
                    all.push(("problems", lines(&problems.value), lines(&new.problems)));
                }
                if let Some(events) = &said.events {
                    all.push(("events", some(&events.value), some(&new.events)));
                }
                all
            }
            Self::Chat(case, new) => {
                let said = case.messages.as_ref().map(|said| Value::List(said.value.clone()));
                let mut all = vec![("messages", said, Some(Value::List(new.messages.clone())))];
                if let Some(tools) = &case.tools {
                    all.push(("tools", Some(tools.value.clone()), new.tools.clone()));
                }
                all
            }
        };
        let differ = all.into_iter().filter(|(_, expected, found)| expected != found);
        differ
            .map(|(name, expected, found)| {
                let aligned = match (&expected, &found) {
                    (Some(expected), Some(found)) => Some(in_order_of(expected, found).into_owned()),
                    _ => found,
                };
                PendingSection { name, expected: text(name, expected.as_ref()), found: text(name, aligned.as_ref()) }
            })
            .collect()
    }
}

/// The text of a file with the expectations of some of its cases.
pub fn written(file: &FixtureFile, pending: &[Pending<'_>]) -> String {
    let (mut cases, mut chats) = (Vec::new(), Vec::new());
    for pending in pending {
        match pending {
            Pending::Output(case, new) => cases.push((*case, new.clone())),
            Pending::Chat(case, new) => chats.push((*case, new.clone())),
        }
    }
    rewrite(file, &cases, &chats)
}

/// The expectation to write into a case, if it changed.
fn new_expectation(case: &Case, meaning: &Actual, which: Which) -> Option<Actual> {
    let expected = &case.expected;
    let nothing_said = expected.message.is_none() && (expected.error.is_none() || meaning.message.is_some());
    let mut new = meaning.clone();
    let said = expected.error.as_ref().map_or(&[][..], |error| &error.value);
    if said.len() == meaning.error.len() && said.iter().zip(&meaning.error).all(|(said, found)| fits(said, found)) {
        new.error = said.to_vec();
    }
    match which {
        Which::New if !nothing_said => None,
        Which::New => {
            if let Some(error) = &expected.error {
                new.error = error.value.clone();
            }
            if let Some(problems) = &expected.problems {
                new.problems = problems.value.clone();
            }
            if let Some(events) = &expected.events {
                new.events = events.value.clone();
            }
            Some(new)
        }
        Which::All => {
            let is_said = expected.message.as_ref().map(|message| &message.value) == new.message.as_ref()
                && said == new.error.as_slice()
                && expected.problems.as_ref().is_none_or(|problems| problems.value == new.problems)
                && expected.events.as_ref().is_none_or(|events| events.value == new.events);
            (!is_said).then_some(new)
        }
    }
}

fn some(values: &[Value]) -> Option<Value> {
    (!values.is_empty()).then(|| Value::List(values.to_vec()))
}

fn lines(lines: &[String]) -> Option<Value> {
    some(&lines.iter().map(|line| line.as_str().into()).collect::<Vec<Value>>())
}

/// A section's value as the file writes it: events, errors and problems one per line, the rest as indented JSON.
fn text(section: &str, value: Option<&Value>) -> String {
    match (section, value) {
        (_, None) => String::new(),
        ("error" | "problems", Some(Value::List(lines))) => {
            lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
        ("events", Some(Value::List(events))) => events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
        (_, Some(value)) => value.to_pretty("  "),
    }
}

/// A value with the keys of its objects in the order of another's, so that only what differs shows as a difference.
fn in_order_of<'v>(model: &Value, value: &'v Value) -> Cow<'v, Value> {
    match (model, value) {
        (Value::Object(model), Value::Object(entries)) => {
            let known = model.keys().filter_map(|key| Some((key, entries.get(key)?)));
            let new = entries.iter().filter(|(key, _)| !model.contains_key(key));
            let ordered: Object = known
                .chain(new)
                .map(|(key, value)| {
                    let ordered = model.get(key).map_or(Cow::Borrowed(value), |model| in_order_of(model, value));
                    (key, ordered.into_owned())
                })
                .collect();
            Cow::Owned(Value::Object(ordered))
        }
        (Value::List(model), Value::List(items)) => {
            let ordered = items.iter().enumerate().map(|(index, item)| match model.get(index) {
                Some(model) => in_order_of(model, item).into_owned(),
                None => item.clone(),
            });
            Cow::Owned(Value::List(ordered.collect()))
        }
        _ => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn keys_are_shown_in_the_order_of_the_expectation() {
        for (model, value, shown) in [
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 3, "a": 1}"#, r#"{"a": 1, "b": 3}"#),
            (r#"{"a": 1, "b": 2}"#, r#"{"c": 3, "b": 2}"#, r#"{"b": 2, "c": 3}"#),
            (
                r#"[{"a": 1, "b": 2}]"#,
                r#"[{"b": 2, "a": 1}, {"d": 1, "c": 2}]"#,
                r#"[{"a": 1, "b": 2}, {"d": 1, "c": 2}]"#,
            ),
            (r#"{"a": 1}"#, "[2]", "[2]"),
        ] {
            let [model, value] = [model, value].map(|text| json::read(text).unwrap());
            assert_eq!(in_order_of(&model, &value).to_string(), shown);
        }
    }
}
