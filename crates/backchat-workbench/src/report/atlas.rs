//! The page of many derivations: a row for each chat template, with its proof, its readers, its losses and its time.

use std::time::Duration;

use indexmap::IndexSet;

use super::html::Html;
use super::page::{Head, Mood, Section, page};
use backchat_core::diagnostic::{counted, shortened};
use backchat_derive::derive::{Derivation, ReaderVerdict, Status};

/// A chat template among many.
pub struct Charted {
    pub name: String,
    /// The address of its own page, if it has one.
    pub page: Option<String>,
    pub derivation: Derivation,
    pub took: Duration,
}

/// How much of a note a cell shows, in characters.
const NOTE: usize = 160;

/// The page of the derivations from many chat templates.
pub fn atlas(name: &str, charted: &[Charted]) -> String {
    let count = |status| charted.iter().filter(|row| row.derivation.status == status).count();
    let proved = count(Status::Proved);
    let others = [Status::Partial, Status::Inexpressible, Status::Failed];
    let others = others.map(|status| (count(status), status.name())).into_iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, name)| format!(", {count} {name}")).collect();
    let took: Duration = charted.iter().map(|row| row.took).sum();
    let line = format!("{}: {proved} proved{others}; {} of work", counted(charted.len(), "chat template"), time(took));
    let mood = charted.iter().map(|row| Mood::of(row.derivation.status)).max().unwrap_or(Mood::Good);
    let badge = format!("{proved} of {} proved", charted.len());
    let head = Head { title: "Atlas of", name, badge: (&badge, mood), line: &line, playground: None };
    let readers = charted.iter().flat_map(|row| &row.derivation.readers);
    let titles: IndexSet<String> = readers.map(|reading| reading.reader.title()).collect();
    let mut sections = vec![Section::new("models", "Chat templates", |html| table(html, charted, &titles))];
    if !titles.is_empty() {
        sections.push(Section::new("readers", "Readers", |html| accepted(html, charted, &titles)));
    }
    page(&head, sections)
}

fn table(html: &mut Html, charted: &[Charted], titles: &IndexSet<String>) {
    html.element("div", &[("data-filter", "Filter the chat templates")], |_| {});
    let columns = ["chat template", "verdict", "conversations"].into_iter();
    let columns: Vec<&str> =
        columns.chain(titles.iter().map(String::as_str)).chain(["losses and limits", "time", "opens"]).collect();
    html.wide(&columns, |html| charted.iter().for_each(|row| one(html, row, titles)));
}

fn one(html: &mut Html, row: &Charted, titles: &IndexSet<String>) {
    let derivation = &row.derivation;
    let verdict = &derivation.verdict;
    let header = |html: &mut Html| html.link_or_text(row.page.as_deref(), &row.name);
    html.row(header, |html| {
        html.tag("td", Mood::of(derivation.status).class(), derivation.status.name());
        html.cell("conversations", |html| html.text(&format!("{} of {}", verdict.passed, verdict.cases)));
        for title in titles {
            let reading = derivation.readers.iter().find(|reading| reading.reader.title() == *title);
            html.cell(title, |html| reading.into_iter().for_each(|reading| mark(html, reading)));
        }
        html.cell("losses and limits", |html| notes(html, derivation));
        html.cell("time", |html| html.text(&time(row.took)));
        html.cell("opens", |html| row.page.iter().for_each(|page| parts(html, page, derivation)));
    });
}

/// Links to the sections of its page.
fn parts(html: &mut Html, page: &str, derivation: &Derivation) {
    if derivation.response_template.is_none() {
        return;
    }
    let proof = (derivation.verdict.cases > 0).then_some(("proof", "proof"));
    for (id, words) in [("template", "draft"), ("evidence", "evidence")].into_iter().chain(proof) {
        html.link(&format!("{page}#{id}"), words);
        html.text(" ");
    }
}

/// Whether a reader accepts the draft, and the costs there.
fn mark(html: &mut Html, reading: &ReaderVerdict) {
    let (class, sign, words) = match (reading.refusals.first(), reading.costs.first()) {
        (Some(refusal), _) => ("bad", "✗", format!("refuses it: {refusal}")),
        (None, Some(cost)) => ("doubtful", "~", format!("takes it, but: {cost}")),
        (None, None) => ("good", "✓", "takes it".to_owned()),
    };
    let (class, words) = (format!("mark {class}"), shortened(&words, NOTE));
    let attributes = [("class", class.as_str()), ("title", &words), ("aria-label", &words)];
    html.element("span", &attributes, |html| html.text(sign));
}

/// The losses of the wire format, and the reasons why the draft is not proved.
fn notes(html: &mut Html, derivation: &Derivation) {
    for loss in &derivation.verdict.losses {
        html.words("p", "", &shortened(&loss.message, NOTE));
    }
    if derivation.status != Status::Proved
        && let Some(first) = derivation.diagnostics.first()
    {
        html.words("p", "", &shortened(&first.message, NOTE));
    }
}

/// How many drafts each reader accepts.
fn accepted(html: &mut Html, charted: &[Charted], titles: &IndexSet<String>) {
    html.wide(&["reader", "takes", "takes, with problems", "refuses"], |html| {
        for title in titles {
            let readings = || {
                let readings = charted.iter().flat_map(|row| &row.derivation.readers);
                readings.filter(|reading| reading.reader.title() == *title)
            };
            let refuses = readings().filter(|reading| !reading.refusals.is_empty()).count();
            let loses = readings().filter(|reading| reading.refusals.is_empty() && !reading.costs.is_empty()).count();
            let header = |html: &mut Html| html.text(title);
            html.row(header, |html| {
                html.cell("takes", |html| html.text(&(readings().count() - refuses - loses).to_string()));
                html.cell("takes, with problems", |html| html.text(&loses.to_string()));
                html.cell("refuses", |html| html.text(&refuses.to_string()));
            });
        }
    });
}

fn time(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..10_000 => format!("{millis} ms"),
        _ => format!("{} s", took.as_secs()),
    }
}
