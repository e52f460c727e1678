//! The expectation that a case would get if it were blessed: `None` if it is unchanged.

use super::fixture::{Actual, ActualChat, Case, ChatCase, FixtureFile, rewrite, section_text};
use super::output_case::{OUT_OF_TIME, fits};
use super::suite::{Entry, Meaning, Report, Status};
use backchat_core::diagnostic::Severity;
use backchat_core::json::Value;

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
            // It is not known whether another chunking gives another message.
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
        let (said, new) = match self {
            Self::Output(Case { expected: said, .. }, new) => (said.to_actual().sections(said), new.sections(said)),
            Self::Chat(case, new) => (case.sections(), new.sections(case)),
        };
        let both = said.into_iter().zip(new).map(|((name, expected), (_, found))| (name, expected, found));
        both.filter(|(_, expected, found)| expected != found)
            .map(|(name, expected, found)| {
                let aligned = found.map(|found| in_order_of(expected.as_ref(), &found));
                let text = |value: Option<Value>| value.map_or_else(String::new, |value| section_text(name, &value));
                PendingSection { name, expected: text(expected), found: text(aligned) }
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
    let (said, mut new) = (expected.to_actual(), meaning.clone());
    if said.error.len() == new.error.len() && said.error.iter().zip(&new.error).all(|(said, found)| fits(said, found)) {
        new.error.clone_from(&said.error);
    }
    match which {
        Which::New if !nothing_said => None,
        Which::New if expected.error.is_some() => Some(Actual { message: new.message, ..said }),
        Which::New => Some(Actual { message: new.message, error: new.error, ..said }),
        Which::All => (new.sections(expected) != said.sections(expected)).then_some(new),
    }
}

/// A value with the keys of its objects in the order of another's, so that only what differs shows as a difference.
fn in_order_of(model: Option<&Value>, value: &Value) -> Value {
    match (model, value) {
        (Some(Value::Object(model)), Value::Object(entries)) => {
            let known = model.keys().filter_map(|key| Some((key, entries.get(key)?)));
            let new = entries.iter().filter(|(key, _)| !model.contains_key(key));
            let ordered = known.chain(new).map(|(key, value)| (key, in_order_of(model.get(key), value)));
            Value::Object(ordered.collect())
        }
        (Some(Value::List(model)), Value::List(items)) => {
            let ordered = items.iter().enumerate().map(|(index, item)| in_order_of(model.get(index), item));
            Value::List(ordered.collect())
        }
        _ => value.clone(),
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
            assert_eq!(in_order_of(Some(&model), &value).to_string(), shown);
        }
    }
}
