//! The verdict of a proof; each entry has a conversation that shows it.

use super::boundary::{Boundary, Fault};
use super::case::Case;
use super::reading::Part;
use super::refused::RefusedPart;
use super::tolerance::{PolicyRounds, Tolerance};
use crate::derive::recorded;
use backchat_core::diagnostic::shortened;
use backchat_core::distinct;
use backchat_core::json::{Object, Value, texts};
use std::ops::Range;

/// The outcome of a proof. `cases` = `passed` + conversations with losses + conversations that failed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// How many conversations were rendered and parsed back.
    pub cases: usize,
    /// How many parsed back exactly.
    pub passed: usize,
    /// The faults of the response template, one entry per cause, each with its smallest example.
    pub failures: Vec<Failure>,
    /// Differences that the wire format itself cannot carry.
    pub losses: Vec<Loss>,
    /// Parts that the response template claims to read but no conversation exercised.
    pub unverified: Vec<Unverified>,
    /// The parts that the conversations exercised, and those that the chat template never shows.
    pub scope: Scope,
    /// How many turns were not cut at the end of the prompt, because their renders do not extend it.
    pub recut: usize,
    /// Ordinary text that the response template takes for a delimiter; losses if no candidate reads it.
    pub(in crate::derive) excused: Vec<Loss>,
    /// The same for text that it takes for a delimiter only behind the close of a call, which is rarer.
    pub(in crate::derive) excused_behind: Vec<Loss>,
    /// The conditions of the chat template that the conversations went through.
    pub(in crate::derive) branching: Branching,
    /// How the response template reads outputs that deviate, if it reads every conversation.
    pub tolerance: Tolerance,
    /// What recovery policies do to the conversations, if the response template reads all of them.
    #[doc(hidden)]
    pub policies: PolicyRounds,
    /// Why the examination ended before every conversation was rendered and parsed back, if it did.
    pub ended: Option<&'static str>,
    /// Variables with the values under which the chat template writes turns that the response template misreads, in words:
    /// it is proved for other turns only.
    pub(in crate::derive) unread_setting: Option<String>,
    /// Two turns with calls for which no response template was found.
    pub(in crate::derive) inexpressible: Vec<UnreadTurn>,
}

/// The conditions of a chat template that ran, and those that went both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::derive) struct Branching {
    pub conditions: usize,
    pub both: usize,
    /// The lines of the others.
    pub open: Vec<usize>,
}

/// How many lines are named.
const MOST_LINES: usize = 4;

impl Branching {
    /// Of the conditions that ran, each with whether it went both ways. `line` is the line of one that did not.
    pub(super) fn new(ran: &[(Range<usize>, bool)], line: impl Fn(&Range<usize>) -> Option<usize>) -> Self {
        let both = ran.iter().filter(|(_, is_both)| *is_both).count();
        let open = distinct(ran.iter().filter(|(_, is_both)| !is_both).filter_map(|(span, _)| line(span)));
        Self { conditions: ran.len(), both, open }
    }

    /// How many conditions went both ways, as the end of a sentence about conversations; empty if none ran.
    pub fn describe(&self) -> String {
        let lines: Vec<String> = self.open.iter().map(usize::to_string).collect();
        let not = match lines.as_slice() {
            [line] => format!(" (not in line {line})"),
            lines if (2..=MOST_LINES).contains(&lines.len()) => format!(" (not in lines {})", lines.join(", ")),
            _ => String::new(),
        };
        match (self.both, self.conditions) {
            (_, 0) => String::new(),
            (both, all) if both == all => format!("; they take both sides of all {all} conditions"),
            (both, all) => format!("; they take both sides of {both} of {all} conditions{not}"),
        }
    }

    /// How many conditions ran, and how many went both ways.
    pub fn counts(&self) -> Value {
        Value::from([("ran", self.conditions.into()), ("both", self.both.into())])
    }

    fn to_value(&self) -> Value {
        let lines = self.open.iter().map(|line| Value::from(*line)).collect();
        Value::from([("ran", self.conditions.into()), ("both", self.both.into()), ("open_lines", Value::List(lines))])
    }
}

/// A turn as the chat template writes it, and its message.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::derive) struct UnreadTurn {
    pub case: String,
    pub prefix: String,
    pub text: String,
    pub expected: Value,
}

/// Conversations that come back differently, all for one cause.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// How many conversations fail in this way.
    pub count: usize,
    /// A description of the smallest of them: its answer and its history.
    pub case: String,
    /// The variables it was rendered with, in addition to those of every render.
    pub setting: Object,
    /// The part of the message that differs first.
    pub part: Part,
    /// The difference, in words.
    pub what: String,
    /// The boundary that is wrong, if the text shows it.
    pub(in crate::derive) boundary: Option<Boundary>,
    /// Whether the message is right, and a region of the text is an error in the reference implementation all the same.
    pub(in crate::derive) is_malformed: bool,
    /// The prompt.
    pub prefix: String,
    /// The model's turn.
    pub text: String,
    /// The message that went in.
    pub expected: Value,
    /// The message that came back.
    pub got: Value,
}

/// A difference that no response template can avoid, because the message that came back renders to the same bytes, unless that is
/// due to a marker in it; or an assumption of the template, with turns that it misreads because they do not meet it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loss {
    /// The part of the message that is lost.
    pub part: Part,
    /// How many conversations lose it.
    pub count: usize,
    /// What is lost, such as values that are written alike.
    pub message: String,
    /// The shortest turn that shows it; empty if no conversation has such a turn.
    pub example: String,
    /// Whether it is an assumption; its turns are not among the conversations of the verdict.
    pub is_assumed: bool,
    /// The variable that has the text around the turn written differently, if the assumption is about one.
    pub(in crate::derive) variable: Option<String>,
    /// Whether a marker came back as text, which another draft might read.
    pub(in crate::derive) has_mark: bool,
}

/// The result of a conversation.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It parses back exactly.
    Passed,
    /// The wire format itself loses something.
    Lost(Loss),
    /// The response template reads it wrongly.
    Failed(Box<Failure>),
}

/// A part that a response template claims to read but no conversation exercised.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unverified {
    /// The part of the message.
    pub part: Part,
    /// What was not exercised, and why.
    pub message: String,
}

/// The parts that a proof exercised.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Scope {
    /// The parts that parsed back in at least one conversation.
    pub proved: Vec<&'static str>,
    /// The parts that no render of this chat template shows.
    pub not_shown: Vec<&'static str>,
    /// Whether these may be values that the chat template prints and no conversation has.
    pub(in crate::derive) is_open: bool,
    /// The parts that only samples show.
    pub learned: Vec<&'static str>,
    /// The parts that the chat template refuses, each with its error.
    pub refused: Vec<RefusedPart>,
}

impl Failure {
    pub(super) fn new(case: &Case, part: Part, what: String, expected: Value, got: Value) -> Self {
        Self {
            count: 1,
            case: case.name.clone(),
            setting: case.setting.clone(),
            part,
            what,
            boundary: None,
            is_malformed: false,
            prefix: case.prefix.clone(),
            text: case.text.clone(),
            expected,
            got,
        }
    }

    /// Whether another failure has the same cause.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let cause = |failure: &'_ Self| failure.boundary.as_ref().map(Boundary::cause);
        let kind = |failure: &Self| (failure.part, failure.is_malformed, failure.is_retyped());
        kind(self) == kind(other) && self.what == other.what && cause(self) == cause(other)
    }

    fn difference(&self) -> String {
        match self.is_malformed {
            true => "the message is right, but a malformed region is an error in transformers".to_owned(),
            false => format!("{} came back differently", self.what),
        }
    }

    /// The part that differs first, and calls or reasoning if some of them are missing or made up.
    pub(super) fn parts(&self) -> Vec<Part> {
        let calls = |message: &Value| message.get("tool_calls").and_then(Value::as_list).map_or(0, <[Value]>::len);
        let reasoning = |message: &Value| {
            let mut keys = message.as_object().into_iter().flat_map(Object::keys);
            keys.any(|key| !["role", "content", "tool_calls"].contains(&key))
        };
        let calls = (calls(&self.got) != calls(&self.expected)).then_some(Part::Calls);
        let reasoning = (reasoning(&self.got) != reasoning(&self.expected)).then_some(Part::Reasoning);
        distinct([self.part].into_iter().chain(calls).chain(reasoning))
    }

    /// Whether only the types of arguments differ, not the text.
    pub(in crate::derive) fn is_retyped(&self) -> bool {
        self.part == Part::Arguments && recorded::is_retyped(&self.expected, &self.got)
    }
}

impl Verdict {
    /// Ordinary text that is taken for a delimiter.
    pub(in crate::derive) fn excuses(&self) -> impl Iterator<Item = &Loss> {
        self.excused.iter().chain(&self.excused_behind)
    }

    /// Turns failures in which only types differ into losses, because samples need the types that values are written with.
    pub(in crate::derive) fn lose_types(&mut self) {
        let (retyped, failures) = std::mem::take(&mut self.failures).into_iter().partition(Failure::is_retyped);
        self.failures = failures;
        self.losses.extend(Vec::into_iter(retyped).map(|Failure { part, count, text, .. }| {
            let message = "values keep the types they are written with, because the samples need that".to_owned();
            Loss { count, ..Loss::new(part, message, &text) }
        }));
    }

    /// Whether every conversation was rendered and came back, apart from losses of the wire format.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.passed > 0 && self.ended.is_none()
    }

    /// Whether it holds, and no marker came back as text.
    pub(in crate::derive) fn holds_without_stray_marks(&self) -> bool {
        self.holds() && !self.losses.iter().any(|loss| loss.has_mark)
    }

    /// How many conversations the response template reads wrongly.
    pub fn failed(&self) -> usize {
        self.failures.iter().map(|failure| failure.count).sum()
    }

    /// How many conversations it misreads outside the arguments of calls: there, regions begin or end at the wrong place.
    pub(in crate::derive) fn misplaced(&self) -> usize {
        self.failures.iter().filter(|failure| failure.part != Part::Arguments).map(|failure| failure.count).sum()
    }

    /// How many conversations lose something to the wire format.
    pub fn lost(&self) -> usize {
        self.cases.saturating_sub(self.passed + self.failed())
    }

    /// The machine-readable verdict.
    pub fn to_value(&self) -> Value {
        let mut entries = Value::from([
            ("cases", self.cases.into()),
            ("passed", self.passed.into()),
            ("failures", Value::List(self.failures.iter().map(Failure::to_value).collect())),
            ("losses", Value::List(self.losses.iter().map(Loss::to_value).collect())),
            ("unverified", Value::List(self.unverified.iter().map(Unverified::to_value).collect())),
            ("scope", self.scope.to_value()),
            ("recut", self.recut.into()),
            ("tolerance", self.tolerance.to_value()),
            ("policies", self.policies.to_value()),
            ("conditions", self.branching.to_value()),
            ("inexpressible", Value::List(self.inexpressible.iter().map(UnreadTurn::to_value).collect())),
        ]);
        if let (Value::Object(entries), Some(why)) = (&mut entries, self.ended) {
            entries.insert("ended_early", why.into());
        }
        entries
    }
}

impl Failure {
    /// The difference, the number of conversations, and the boundary.
    pub fn describe(&self) -> String {
        let others = match self.count {
            0 | 1 => String::new(),
            count => format!(", and {} more for the same cause", count - 1),
        };
        let boundary = self.boundary.as_ref().map_or_else(String::new, |boundary| format!(": {}", boundary.describe()));
        format!("{}: {}{others}{boundary}", self.case, self.difference())
    }

    /// The wrong boundary, or else the part that came back differently.
    pub fn fault(&self) -> String {
        match &self.boundary {
            Some(boundary) => boundary.describe(),
            None => self.difference(),
        }
    }

    /// The field that was read wrongly, if the text shows it.
    pub fn field(&self) -> Option<&str> {
        self.boundary.as_ref().map(|boundary| boundary.field.as_str())
    }

    /// The key of that field that is wrong: `open`, `close` or `content`.
    pub fn side(&self) -> &'static str {
        match self.boundary.as_ref().map(|boundary| &boundary.fault) {
            Some(Fault::EndsAt { .. } | Fault::Overwritten { .. } | Fault::Unclosed) => "close",
            Some(Fault::Malformed(_) | Fault::Misread { .. }) => "content",
            _ => "open",
        }
    }

    /// The change to make in the response template.
    pub fn hint(&self) -> Option<String> {
        self.boundary.as_ref().map(|boundary| boundary.hint(&self.text))
    }

    pub(in crate::derive) fn to_value(&self) -> Value {
        let boundary = self.boundary.as_ref().map(|boundary| {
            Value::from([
                ("field", boundary.field.as_str().into()),
                ("at", boundary.at.into()),
                ("message", boundary.describe().into()),
            ])
        });
        Value::from([
            ("case", self.case.as_str().into()),
            ("count", self.count.into()),
            ("setting", Value::Object(self.setting.clone())),
            ("kind", self.part.name().into()),
            ("differs", self.what.as_str().into()),
            ("boundary", boundary.into()),
            ("hint", self.hint().into()),
            ("prefix", self.prefix.as_str().into()),
            ("text", self.text.as_str().into()),
            ("expected", self.expected.clone()),
            ("got", self.got.clone()),
        ])
    }
}

impl UnreadTurn {
    fn to_value(&self) -> Value {
        Value::from([
            ("case", self.case.as_str().into()),
            ("prefix", self.prefix.as_str().into()),
            ("text", self.text.as_str().into()),
            ("expected", self.expected.clone()),
        ])
    }
}

impl Loss {
    /// The loss of one turn.
    pub(super) fn new(part: Part, message: String, example: &str) -> Self {
        let example = example.to_owned();
        Self { part, count: 1, message, example, is_assumed: false, variable: None, has_mark: false }
    }

    /// The loss in one line.
    pub fn describe(&self) -> String {
        if self.is_assumed {
            return format!("assumption: {}", self.message);
        }
        format!("{} of {}: {}", self.count, self.part.name(), self.message)
    }

    fn to_value(&self) -> Value {
        Value::from([
            ("kind", self.part.name().into()),
            ("message", self.message.as_str().into()),
            ("count", self.count.into()),
            ("example", shortened(&self.example, 400).as_ref().into()),
        ])
    }
}

impl Unverified {
    fn to_value(&self) -> Value {
        Value::from([("kind", self.part.name().into()), ("message", self.message.as_str().into())])
    }
}

impl Scope {
    /// The part whose renders all fail, if there is one: a proof of the others is not whole.
    pub(in crate::derive) fn broken(&self) -> Option<&RefusedPart> {
        self.refused.iter().find(|part| part.is_broken())
    }

    /// The scope in one line, without the verdict itself.
    pub fn describe(&self) -> String {
        let proved = if self.proved.is_empty() { "nothing".to_owned() } else { self.proved.join(", ") };
        let learned = match self.learned.as_slice() {
            [] => String::new(),
            parts => format!("; learned from samples only: other ways to write {}", parts.join(", ")),
        };
        match self.not_shown.as_slice() {
            [] => format!("{proved}{learned}"),
            others => {
                let by = if self.is_open { "any conversation" } else { "the chat template" };
                format!("{proved}{learned}; not shown by {by}: {}", others.join(", "))
            }
        }
    }

    fn to_value(&self) -> Value {
        Value::from([
            ("proved", texts(&self.proved)),
            ("not_shown", texts(&self.not_shown)),
            ("learned", texts(&self.learned)),
            ("refused", Value::List(self.refused.iter().map(RefusedPart::to_value).collect())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::super::boundary::Fault;
    use super::*;

    fn failure(count: usize) -> Failure {
        let boundary = Boundary { field: "content".to_owned(), at: 5, fault: Fault::StartsAt(3) };
        Failure {
            count,
            case: "paragraphs after a question".to_owned(),
            setting: Object::new(),
            part: Part::Content,
            what: "content".to_owned(),
            boundary: Some(boundary),
            is_malformed: false,
            prefix: "<bot>".to_owned(),
            text: "<say>Yes.".to_owned(),
            expected: "Yes.".into(),
            got: "<say>Yes.".into(),
        }
    }

    #[test]
    fn every_conversation_passes_has_a_loss_or_fails() {
        let loss = Loss { count: 2, ..Loss::new(Part::Arguments, String::new(), "") };
        let lossy = Verdict { cases: 10, passed: 8, losses: vec![loss], ..Verdict::default() };
        assert_eq!((lossy.holds(), lossy.failed(), lossy.lost()), (true, 0, 2), "losses are not failures");
        let wrong = Verdict { failures: vec![failure(3), failure(1)], passed: 4, ..lossy };
        assert_eq!((wrong.holds(), wrong.failed(), wrong.lost()), (false, 4, 2));
        assert!(!Verdict::default().holds(), "a proof without conversations proves nothing");
    }

    #[test]
    fn a_failure_describes_the_part_the_count_and_the_position() {
        let place = "`content` should begin at byte 5; it began at byte 3";
        assert_eq!(
            failure(1).describe(),
            format!("paragraphs after a question: content came back differently: {place}")
        );
        assert!(failure(3).describe().contains("differently, and 2 more for the same cause: "));
        assert_eq!(failure(1).hint().as_deref(), Some("make `open` of `content` match up to the end of \"<say>\""));
        let unknown = Failure { boundary: None, ..failure(1) };
        assert_eq!(
            (unknown.describe().as_str(), unknown.hint()),
            ("paragraphs after a question: content came back differently", None)
        );
        let malformed = Failure { is_malformed: true, ..unknown.clone() };
        let right = "the message is right, but a malformed region is an error in transformers";
        assert_eq!(malformed.describe(), format!("paragraphs after a question: {right}"));
        assert!(!malformed.is_like(&unknown), "it is no example of a message that differs");
        assert_eq!(unknown.to_value().get("boundary"), Some(&Value::Null));
        let at = failure(1).to_value().get("boundary").and_then(|boundary| boundary.get("at").cloned());
        assert_eq!(at, Some(5.into()));
    }

    #[test]
    fn a_failure_that_loses_a_call_or_a_thought_is_of_these_too() {
        let called = |count: usize| Value::from([("tool_calls", Value::List(vec![Value::Null; count]))]);
        for (expected, got, parts) in [
            (called(1), called(1), &[Part::Content][..]),
            (called(1), Value::from([("content", "<search>".into())]), &[Part::Content, Part::Calls]),
            (Value::Null, called(1), &[Part::Content, Part::Calls]),
            (Value::from([("thinking", "Hm.".into())]), Value::Null, &[Part::Content, Part::Reasoning]),
        ] {
            assert_eq!(Failure { expected, got, ..failure(1) }.parts(), parts);
        }
        let missing = Failure { part: Part::Calls, expected: called(2), got: called(1), ..failure(1) };
        assert_eq!(missing.parts(), [Part::Calls]);
    }

    #[test]
    fn the_scope_lists_proved_and_unseen_parts() {
        let scope = |proved: &[&'static str], not_shown: &[&'static str], learned: &[&'static str]| Scope {
            proved: proved.to_vec(),
            not_shown: not_shown.to_vec(),
            is_open: false,
            learned: learned.to_vec(),
            refused: Vec::new(),
        };
        for (scope, line) in [
            (scope(&[], &[], &[]), "nothing"),
            (scope(&["content", "calls"], &[], &[]), "content, calls"),
            (scope(&["content"], &["calls", "ids"], &[]), "content; not shown by the chat template: calls, ids"),
            (
                scope(&["content"], &["calls"], &["reasoning"]),
                "content; learned from samples only: other ways to write reasoning; not shown by the chat template: calls",
            ),
        ] {
            assert_eq!(scope.describe(), line);
        }
    }
}
