//! Sentences about changes.

use super::change::{Case, LineHunk, What};
use crate::kinds::Dim;

/// Whom a change concerns, and what it is.
pub(super) fn summary(what: What, cases: &[Case], hunks: &[LineHunk]) -> String {
    let subject = subject(cases);
    let refuses =
        |at: usize| cases.first().is_some_and(|case| case.outcomes.get(at).is_some_and(|one| one.text().is_none()));
    match what {
        What::Mask => format!("generation blocks: {subject}"),
        What::Refusal if refuses(0) => format!("no longer refused: {subject}"),
        What::Refusal => format!("refused now: {subject}"),
        What::Text => match verb(cases, hunks) {
            Some(verb) => format!("{subject}: {verb}"),
            None => subject,
        },
    }
}

/// What the cases of a change have in common, and how many more there are.
fn subject(cases: &[Case]) -> String {
    let Some(first) = cases.first() else { return String::new() };
    let words = dims_in_words(first);
    match cases.len() - 1 {
        0 => words,
        1 => format!("{words}, and one more kind"),
        more => format!("{words}, and {more} more kinds"),
    }
}

/// The dimensions of a case that no other one of it needs.
fn dims_in_words(case: &Case) -> String {
    let dims: Vec<Dim> = case.kind.dims().collect();
    let is_needed = |dim: &Dim| dims.iter().any(|other| other != dim && other.needs().contains(dim));
    let mut words: Vec<String> = dims.iter().filter(|dim| !is_needed(dim)).map(|dim| dim.about().to_owned()).collect();
    words.extend(case.dims.iter().filter(|name| name.contains('=')).cloned());
    match (words.is_empty(), case.is_special) {
        (true, false) => "every conversation".to_owned(),
        (true, true) => "certain texts or values".to_owned(),
        (false, false) => words.join(" with "),
        (false, true) => format!("{}, with certain values", words.join(" with ")),
    }
}

/// What happened to the text, if it is simple.
fn verb(cases: &[Case], hunks: &[LineHunk]) -> Option<&'static str> {
    let [old, new] = [cases.first()?.outcomes[0].text()?, cases.first()?.outcomes[1].text()?];
    let [hunk] = hunks else { return None };
    let (old, new) = (old.get(hunk.old.clone())?, new.get(hunk.new.clone())?);
    let is_space = |text: &str| !text.is_empty() && text.chars().all(char::is_whitespace);
    match (old, new) {
        ("", new) if is_space(new) => Some("white space is new"),
        (old, "") if is_space(old) => Some("white space is gone"),
        (old, new) if is_space(old) && is_space(new) => Some("other white space"),
        ("", _) => Some("more is printed"),
        (_, "") => Some("less is printed"),
        _ => None,
    }
}
