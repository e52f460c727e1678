//! The page of an audit: the causes of problems in a log, each with its smallest output as the template reads it.

use super::colors;
use super::html::Html;
use super::page::{Head, Mood, Section, open_link, page};
use super::repairs;
use super::sides;
use crate::audit::{Cause, Counted, Tally};
use crate::repair::Plan;
use crate::replay::{Recording, problem_in_words};
use backchat_core::diagnostic::counted;
use backchat_core::json::Value;

/// How much of an output is shown that no template reads, in characters.
const SHOWN: usize = 20_000;

/// The log that a page is about.
pub struct AuditPage<'p> {
    /// Its name.
    pub name: &'p str,
    /// What groups are: models or servers.
    pub by: &'p str,
    pub tally: &'p Tally,
    /// The repair of the template, if it needs one.
    pub plan: Option<&'p Plan>,
    /// Reads the output of a row; `None` for one that no template reads, or of ids.
    pub read: &'p dyn Fn(&Value) -> Option<Recording>,
    /// The link of the playground to a row.
    pub link: &'p dyn Fn(&Value) -> Option<String>,
}

/// The page of an audit.
pub fn audit(shown: &AuditPage<'_>) -> String {
    let AuditPage { name, tally, .. } = *shown;
    let ranked = tally.ranked();
    let share = tally.share(tally.with_problems) * 100.0;
    let (badge, mood) = match tally.with_problems {
        0 => ("no problems".to_owned(), Mood::Good),
        _ => (format!("{share:.2}% with problems"), Mood::Doubtful),
    };
    let line = format!("{} of {} outputs have problems", tally.with_problems, tally.outputs);
    let playground = ranked.first().and_then(|(_, counted)| (shown.link)(&counted.example.value()));
    let head = Head { title: "Audit", name, badge: (&badge, mood), line: &line, playground };
    let mut sections = vec![Section::new("causes", "Causes", |html| causes(html, tally, &ranked))];
    if tally.groups.len() > 1 {
        sections.push(Section::new("groups", "Outputs with problems", |html| groups(html, shown.by, tally, &ranked)));
    }
    sections.push(Section::new("examples", "Smallest outputs", |html| {
        for (index, (cause, counted)) in ranked.iter().enumerate() {
            html.target(&format!("c{index}"), |html| example(html, shown, cause, counted));
            html.gap();
        }
    }));
    page(&head, sections)
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn causes(html: &mut Html, tally: &Tally, ranked: &[(&Cause, &Counted)]) {
    html.wide(
        &["cause", "what is wrong", "outputs", "share", "at a token limit", "policies that recover it"],
        |html| {
            for (index, (cause, counted)) in ranked.iter().enumerate() {
                let header = |html: &mut Html| html.link(&format!("#c{index}"), &cause.name());
                html.row(header, |html| {
                    html.words("td", "", &cause.explain());
                    html.cell("outputs", |html| html.text(&counted.outputs.to_string()));
                    html.cell("share", |html| html.text(&percent(tally.share(counted.outputs))));
                    html.cell("at a token limit", |html| html.text(&counted.cut.to_string()));
                    match cause.policy_names().as_slice() {
                        [] => html.tag("td", "", ""),
                        names => html.cell("policies that recover it", |html| html.text(&names.join(", "))),
                    }
                });
            }
        },
    );
}

/// The outputs of each model or server that have each cause.
fn groups(html: &mut Html, by: &str, tally: &Tally, ranked: &[(&Cause, &Counted)]) {
    html.wide(&[by, "cause", "outputs", "share of its outputs"], |html| {
        for (name, all) in tally.ranked_groups() {
            let header = |html: &mut Html| html.text(if name.is_empty() { "(none)" } else { name });
            for (cause, counted) in ranked {
                let Some(outputs) = counted.groups.get(name) else { continue };
                html.row(header, |html| {
                    html.cell("cause", |html| html.text(&cause.name()));
                    html.cell("outputs", |html| html.text(&outputs.to_string()));
                    html.cell("share", |html| html.text(&percent(*outputs as f64 / (all as f64).max(1.0))));
                });
            }
        }
    });
}

/// A cause: what it is, what recovers or repairs it, and its smallest output as the template reads it.
fn example(html: &mut Html, shown: &AuditPage<'_>, cause: &Cause, found: &Counted) {
    let outputs = usize::try_from(found.outputs).unwrap_or(usize::MAX);
    html.tag("h3", "", &cause.name());
    html.words("p", "", &format!("{}: {}.", counted(outputs, "output"), cause.explain()));
    if !found.also.is_empty() {
        let also: Vec<String> = found.also.iter().map(|(problem, count)| format!("{problem} ({count})")).collect();
        html.words("p", "help", &format!("Some also have: {}.", also.join(", ")));
    }
    match (cause, shown.plan, cause.policy_names().as_slice()) {
        (Cause::Template, Some(plan), _) => repairs::plan(html, plan),
        (_, _, []) => {}
        (_, _, names) => html.words("p", "help", &format!("`--recover {}` recovers it.", names.join(","))),
    }
    let (name, line) = (cause.name(), found.example.line);
    html.words("p", "help", &format!("`--rows {name}` prints their rows. The smallest is line {line} of the log:"));
    let row = found.example.value();
    match (shown.read)(&row) {
        Some(recording) => reading(html, &recording),
        None => text(html, &row),
    }
    (shown.link)(&row).iter().for_each(|link| html.of_class("p", "", |html| open_link(html, link)));
}

/// An output in the colors of its fields, its problems, and its message.
fn reading(html: &mut Html, recording: &Recording) {
    colors::legend(html, recording);
    colors::text(html, recording);
    html.of_class("ul", "notes", |html| {
        for problem in recording.problems() {
            html.of_class("li", "doubtful", |html| html.prose(&problem_in_words(problem)));
        }
    });
    html.figure("its message", |html| sides::json(html, &Value::Object(recording.message(recording.end()))));
}

/// An output that no template reads.
fn text(html: &mut Html, row: &Value) {
    let text = match row.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => row.get("token_ids").map(ToString::to_string).unwrap_or_default(),
    };
    let shown: String = text.chars().take(SHOWN).collect();
    html.pre(&[("class", "text")], |html| html.lines(&shown));
    if shown.len() < text.len() {
        html.tag("p", "", &format!("The first {SHOWN} characters."));
    }
}
