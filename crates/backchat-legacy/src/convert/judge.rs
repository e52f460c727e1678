//! A candidate compared with the schema: equal, better, or worse, and why.

use super::cases::{AFTER_FIELDS, Case, Meaning, rewritten};
use super::plan::{CallField, Plan, TextField};
use super::{Counterexample, Loss};
use crate::schema::{ErrorKind, Schema};
use backchat_core::json::{self, Object, Value};
use backchat_parser::parser;
use backchat_parser::template::Template;

/// An output with the schema's message; none if it fails.
pub(super) struct Expected {
    case: Case,
    message: Option<Value>,
}

/// The score of a candidate. Higher is better: right outputs first, then equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// Outputs for which the template's message is equal or better.
    pub right: usize,
    /// Outputs for which it is equal.
    pub equal: usize,
}

/// The result of a candidate's proof.
#[derive(Default)]
pub(super) struct Judged {
    pub score: Score,
    pub losses: Vec<Loss>,
    pub counterexamples: Vec<Counterexample>,
}

/// After this many outputs on which a pattern takes too long, the rest is not tried.
const MOST_EXHAUSTED: usize = 3;

pub(super) fn expected(plan: &Plan, schema: &Schema, cases: Vec<Case>) -> Vec<Expected> {
    let mut expected = Vec::new();
    let mut exhausted = 0;
    for case in cases {
        let parsed = schema.parse(&case.text);
        exhausted += usize::from(parsed.as_ref().is_err_and(|error| error.kind == ErrorKind::Pattern));
        if exhausted > MOST_EXHAUSTED {
            break;
        }
        let message = parsed.ok();
        let is_read =
            || message.as_ref().zip(case.meaning.as_ref()).is_some_and(|(read, meant)| means(plan, read, meant));
        let is_shown = |(field, _): &(String, Loss)| message.as_ref().is_some_and(|read| has_read(plan, read, field));
        if case.is_guess && !is_read() || !case.shows.as_ref().is_none_or(is_shown) {
            continue;
        }
        let meaning = case.meaning.as_ref().filter(|meaning| meaning.ends_closed(plan) && !case.is_stopped);
        if let (Some(message), Some(meaning)) = (message.as_ref().filter(|message| !message.is_null()), meaning) {
            // The template has to skip the text that the schema skips after the last field.
            for tail in AFTER_FIELDS {
                let text = format!("{}{tail}", case.text);
                if schema.parse(&text).is_ok_and(|longer| longer == *message) {
                    let case =
                        Case { text, meaning: Some(meaning.clone()), is_stopped: false, is_guess: false, shows: None };
                    expected.push(Expected { case, message: Some(message.clone()) });
                }
            }
        }
        expected.push(Expected { case, message });
    }
    expected
}

/// The fields that the schema reads in no output. The generated outputs may not match its pattern, so a difference in
/// such a field is not evidence that the schema is wrong.
pub(super) fn unread<'p>(plan: &'p Plan, expected: &[Expected]) -> Vec<&'p str> {
    let messages = || expected.iter().filter_map(|expected| expected.message.as_ref());
    let is_empty = |message: &Value, name: &str| message.get(name).is_none_or(Value::is_empty);
    let is_read = |name: &str| messages().any(|read| !is_empty(read, name) && has_read(plan, read, name));
    plan.fields().map(|(name, _)| name).filter(|name| !is_read(name)).collect()
}

/// The losses of substitutions that the schema applies in no output: each leaves the text that it should rewrite.
pub(super) fn unshown(plan: &Plan, expected: &[Expected]) -> Vec<Loss> {
    let is_rewritten = |field: &TextField, text: &str| {
        let of_field = expected.iter().filter(|Expected { case, .. }| {
            case.text.contains(text) && case.shows.as_ref().is_some_and(|(name, _)| *name == field.name)
        });
        let mut read = of_field.filter_map(|expected| expected.message.as_ref()?.get(&field.name)?.as_str());
        read.any(|read| !read.contains(text.trim_end()))
    };
    let lost = plan.texts.iter().filter(|field| rewritten(plan, field).any(|text| !is_rewritten(field, text)));
    let message = "no output of the proof shows what a substitution does, so it is not compared";
    lost.map(|field| Loss::at(&field.path, "x-regex-substitutions", message)).collect()
}

/// Whether a message has a value of the field other than its default, which the schema sets without reading anything.
fn has_read(plan: &Plan, message: &Value, name: &str) -> bool {
    message.get(name).is_some_and(|value| plan.defaults.get(name) != Some(value))
}

pub(super) fn judge(plan: &Plan, template: &Template, expected: &[Expected], unread: &[&str]) -> Judged {
    let mut verdict = Judged::default();
    for Expected { case, message: want } in expected {
        let finished = parser::parse(template, "", &case.text, None).ok();
        let failed = finished.as_ref().is_none_or(|finished| !finished.missing.is_empty());
        let got = finished.map(|finished| Value::Object(finished.message)).unwrap_or_default();
        let equal = match (want, &case.shows) {
            (Some(want), Some((field, _))) => {
                !differs(&plain(&got).unwrap_or_default(), &plain(want).unwrap_or_default(), field)
            }
            (Some(want), None) => !failed && same(&got, want),
            (None, _) => failed,
        };
        if equal {
            verdict.score.right += 1;
            verdict.score.equal += 1;
            continue;
        }
        let has_unread = |meaning: &Meaning| {
            let is_call =
                |name: &str| !meaning.calls.is_empty() && plan.calls.as_ref().is_some_and(|field| field.name == name);
            unread.iter().any(|name| is_call(name) || meaning.texts.iter().any(|(text, _)| text == name))
        };
        let better = case.meaning.as_ref().is_some_and(|meaning| !has_unread(meaning) && means(plan, &got, meaning));
        verdict.score.right += usize::from(better);
        match &case.shows {
            Some((_, loss)) => verdict.losses.push(loss.clone()),
            None => verdict.losses.extend(causes(plan, &got, want.as_ref(), &case.text, better)),
        }
        let (output, schema) = (case.text.clone(), want.clone());
        verdict.counterexamples.push(Counterexample { output, schema, template: got, better });
    }
    verdict
}

/// A message without empty values, texts stripped.
fn plain(message: &Value) -> Option<Object> {
    let entries = message.as_object()?;
    let value = |(key, value): (&str, &Value)| {
        let value = match value {
            Value::String(text) => text.trim().into(),
            other => other.clone(),
        };
        (!value.is_empty()).then(|| (key.to_owned(), value))
    };
    Some(entries.iter().filter_map(value).collect())
}

/// Whether two messages are equivalent.
fn same(one: &Value, other: &Value) -> bool {
    match (plain(one), plain(other)) {
        (Some(one), Some(other)) => alike(&Value::Object(one), &Value::Object(other)),
        // A schema that does not match gives null.
        (one, other) => one.or(other).is_none_or(|message| message.is_empty()),
    }
}

fn alike(one: &Value, other: &Value) -> bool {
    json::equal_by(one, other, &|one, other| match (one, other) {
        (Value::Number(one), Value::Number(other)) if !(one.is_integer() && other.is_integer()) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (one, other) => one == other,
    })
}

/// Whether a message is the expected one.
fn means(plan: &Plan, message: &Value, meaning: &Meaning) -> bool {
    let Some(message) = plain(message) else { return false };
    let text = |field: &TextField| {
        let meant = meaning.texts.iter().find(|(name, _)| *name == field.name).map_or("", |(_, text)| text.trim());
        match message.get(&field.name) {
            Some(Value::String(text)) => text == meant,
            Some(other) => other.to_string() == meant,
            None => meant.is_empty(),
        }
    };
    let calls = plan.calls.as_ref().and_then(|field| message.get(&field.name));
    let calls = calls.and_then(Value::as_list).unwrap_or_default();
    let call = |(call, (name, arguments)): (&Value, &(&str, Value))| {
        let call = call.get("function").unwrap_or(call);
        let given = call.get("arguments").cloned().unwrap_or_else(|| Value::Object(Object::new()));
        call.get("name").and_then(Value::as_str) == Some(name) && spelled_alike(&given, arguments)
    };
    plan.texts.iter().all(text) && calls.len() == meaning.calls.len() && calls.iter().zip(&meaning.calls).all(call)
}

/// Whether arguments are the same, or are written the same if the wire format has no types.
fn spelled_alike(given: &Value, meant: &Value) -> bool {
    let spell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (given, meant) {
        (Value::String(text), meant) => json::read(text).is_ok_and(|given| alike(&given, meant)),
        (Value::Object(given), Value::Object(meant)) => {
            given.len() == meant.len()
                && meant.iter().all(|(key, value)| {
                    given.get(key).is_some_and(|given| alike(given, value) || spell(given) == spell(value))
                })
        }
        _ => false,
    }
}

/// Whether a field differs in two messages without empty values.
fn differs(got: &Object, want: &Object, name: &str) -> bool {
    match (got.get(name), want.get(name)) {
        (Some(got), Some(want)) => !alike(got, want),
        (got, want) => got.is_some() != want.is_some(),
    }
}

/// Why two messages differ, field by field.
fn causes(plan: &Plan, got: &Value, want: Option<&Value>, output: &str, better: bool) -> Vec<Loss> {
    let loss = |(path, construct, message): Cause<'_>| Loss {
        path: path.to_owned(),
        construct: construct.to_owned(),
        message,
        better,
    };
    let Some(want) = want else {
        let message =
            "the schema fails on outputs that the template reads, so code that expects the error gets a message";
        return vec![loss(("$", "error of the schema", message.to_owned()))];
    };
    if want.is_null() {
        let message = "the schema's pattern gives null for outputs in which the template finds fields";
        return vec![loss(("$", "x-regex over the whole output", message.to_owned()))];
    }
    let (got, want) = (plain(got).unwrap_or_default(), plain(want).unwrap_or_default());
    let texts = plan.texts.iter().filter(|field| differs(&got, &want, &field.name));
    let mut losses: Vec<Loss> = texts.map(|field| loss(cause_of_text(plan, field, &got, &want))).collect();
    let calls = plan.calls.as_ref().filter(|field| differs(&got, &want, &field.name));
    losses.extend(calls.map(|field| loss(cause_of_calls(field, &got, &want))));
    if losses.is_empty() {
        let message = format!("the messages differ for an output of {} characters", output.chars().count());
        losses.push(loss(("$", "message", message)));
    }
    losses
}

/// A path of the schema, its construct, and the difference that it makes.
type Cause<'p> = (&'p str, &'static str, String);

/// Why the texts of a field differ.
fn cause_of_text<'p>(plan: &Plan, field: &'p TextField, got: &Object, want: &Object) -> Cause<'p> {
    let text = |message: &Object| message.get(&field.name).and_then(Value::as_str).unwrap_or("").to_owned();
    let (got, want) = (text(got), text(want));
    let holds_mark = |text: &str| {
        let others = plan.texts.iter().filter(|other| other.name != field.name);
        let marks = others.flat_map(|other| [other.opens(), other.closes()].concat());
        let mut marks = marks.chain(plan.calls.iter().flat_map(|field| field.calls.open.clone()));
        marks.any(|mark| !mark.sample().is_empty() && text.contains(mark.sample()))
    };
    let what = &field.name;
    if !got.is_empty() && want.starts_with(&got) && !holds_mark(&want) {
        let message = format!("the schema leaves the stop token in `{what}`; the template ends before it");
        (field.path.as_str(), "stop token in the text", message)
    } else if holds_mark(&want) {
        let message =
            format!("the schema's `{what}` extends over the markers of other fields; the template's does not");
        (field.path.as_str(), "x-regex over the whole output", message)
    } else if got.is_empty() {
        let message = format!(
            "the schema finds `{what}` in outputs in which the template, which reads from marker to marker, does not"
        );
        (field.path.as_str(), "x-regex look-around over the whole output", message)
    } else {
        let message = format!("the template's `{what}` contains text that the schema's pattern drops");
        (field.path.as_str(), "x-regex over the whole output", message)
    }
}

/// Why the calls differ.
fn cause_of_calls<'p>(field: &'p CallField, got: &Object, want: &Object) -> Cause<'p> {
    let count = |message: &Object| message.get(&field.name).and_then(Value::as_list).map_or(0, <[Value]>::len);
    let (got, want) = (count(got), count(want));
    if field.calls.single && got > want {
        let message = "the schema reads one call and drops the others; the template reads all of them".to_owned();
        (field.path.as_str(), "single call of x-regex", message)
    } else if got != want {
        (field.path.as_str(), "x-regex-iterator", format!("the schema reads {want} calls, the template {got}"))
    } else {
        (field.path.as_str(), "patterns of a call", "a call's name or arguments are read differently".to_owned())
    }
}
