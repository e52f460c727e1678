//! The page of a check: every case, and those that fail with their expected and actual values.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::html::Html;
use super::notes;
use super::page::{FOLDED, Head, Mood, Section, open_link, page};
use super::playground::Playground;
use super::repairs;
use super::sides;
use crate::check::{self, Entry, Loaded, Meaning, Report, Status, TemplateRepair};
use backchat_core::diagnostic::{Diagnostic, Place, counted, shortened};
use backchat_core::json::{Object, Value};
use backchat_diff::messages::{self, differences, groups};
use backchat_parser::parser::Mode;

/// The longest output that a case shows, in characters.
const OUTPUT: usize = 20_000;

/// How many findings the row of a case shows.
const FINDINGS: usize = 5;

/// How many cases of a group are shown in full, and of all groups together.
const MOST: usize = 50;
const MOST_IN_ALL: usize = 200;

/// Cases with the same result for the same reason.
type Group<'r> = messages::Group<'r, Status, Report<'r>>;

/// The page of a check of some files. With a playground, each case that is shown in full links to it.
pub fn check(
    name: &str,
    reports: &[Report<'_>],
    repairs: &[TemplateRepair],
    loaded: &Loaded,
    playground: Option<&Playground>,
) -> String {
    let count = |status| reports.iter().filter(|report| report.status == status).count();
    let (passed, failed, not_run) = (count(Status::Passed), count(Status::Failed), count(Status::NotRun));
    let badge = match (failed, not_run) {
        (0, 0) => ("passed", Mood::Good),
        (_, 0) => ("failed", Mood::Bad),
        _ => ("could not run", Mood::Bad),
    };
    let cases = counted(reports.len(), "case");
    let line = format!("{cases}: {passed} passed, {failed} failed, {not_run} could not run");
    let groups = groups(reports, |report| (report.status, check::cause(report)), rank);
    let groups = &groups;
    let in_full = &in_full(groups);
    let link = &|report: &Report<'_>| playground?.of_case(report.entry.case()?, loaded);
    let fails = |report: &&Report<'_>| report.status != Status::Passed;
    let first = groups.iter().flat_map(|group| &group.items).map(|(_, report)| *report).filter(fails).find_map(link);
    let head = Head { title: "Check of", name, badge, line: &line, playground: first };
    let mut sections = vec![Section::new("cases", "Cases", move |html| table(html, groups, in_full, reports.len()))];
    if !repairs.is_empty() {
        sections.push(Section::new("repairs", "Repairs", move |html| {
            repairs.iter().for_each(|repair| repairs::of_suite(html, repair));
        }));
    }
    for (id, title, holds) in [("failures", "Failures", false), ("doubts", "Passed with notes", true)] {
        let shown = move |group: &&Group<'_>| (group.kind == Status::Passed) == holds && !group.cause.is_empty();
        if groups.iter().any(|group| shown(&group)) {
            sections.push(Section::new(id, title, move |html| {
                groups
                    .iter()
                    .filter(shown)
                    .enumerate()
                    .for_each(|(at, group)| group_in_full(html, group, in_full, link, at == 0 && !holds));
            }));
        }
    }
    page(&head, sections)
}

fn mark(status: Status) -> (&'static str, &'static str, &'static str) {
    match status {
        Status::Passed => ("good", "✓", "passed"),
        Status::Failed => ("bad", "✗", "failed"),
        Status::NotRun => ("bad", "!", "could not run"),
    }
}

/// Failing cases first, then those that pass with notes, then the rest.
fn rank(group: &Group<'_>) -> usize {
    match (group.kind, group.cause.is_empty()) {
        (Status::NotRun, _) => 0,
        (Status::Failed, _) => 1,
        (Status::Passed, false) => 2,
        (Status::Passed, true) => 3,
    }
}

/// The places of the cases that are shown in full.
fn in_full(groups: &[Group<'_>]) -> HashSet<usize> {
    let doubtful = groups.iter().filter(|group| !group.cause.is_empty());
    doubtful.flat_map(|group| group.items.iter().take(MOST)).map(|(index, _)| *index).take(MOST_IN_ALL).collect()
}

/// A row for each case, grouped by result and reason; large groups are folded.
fn table(html: &mut Html, groups: &[Group<'_>], in_full: &HashSet<usize>, all: usize) {
    if all > FOLDED {
        html.element("div", &[("data-filter", "Filter the cases")], |_| {});
    }
    for group in groups {
        let (class, sign, words) = mark(group.kind);
        let is_open = all <= FOLDED || (group.kind != Status::Passed && group.items.len() <= FOLDED);
        let summary = |html: &mut Html| {
            html.tag("strong", class, &format!("{sign} {} {words}", group.items.len()));
            html.text(" ");
            html.prose(&shortened(&group.cause, OUTPUT / 100));
        };
        html.folded(is_open, summary, |html| rows(html, group, in_full));
    }
}

fn rows(html: &mut Html, group: &Group<'_>, in_full: &HashSet<usize>) {
    html.wide(&["case", "file", "findings"], |html| {
        for (index, report) in &group.items {
            let name = report.entry.name();
            let address = in_full.contains(index).then(|| format!("#c{index}"));
            let header = |html: &mut Html| html.link_or_text(address.as_deref(), &name);
            html.row(header, |html| {
                html.tag("td", "place", &report.entry.file());
                html.of_class("td", "", |html| findings(html, report));
            });
        }
    });
}

/// The cases of a group in full, folded except for the very first.
fn group_in_full(
    html: &mut Html,
    group: &Group<'_>,
    in_full: &HashSet<usize>,
    link: &dyn Fn(&Report<'_>) -> Option<String>,
    is_first: bool,
) {
    let cause = shortened(&group.cause, OUTPUT / 100);
    html.words("h3", "", &format!("{}: {cause}", counted(group.items.len(), "case")));
    let shown: Vec<_> = group.items.iter().filter(|(index, _)| in_full.contains(index)).collect();
    for (at, (index, report)) in shown.iter().enumerate() {
        case(html, *index, report, link(report), is_first && at == 0);
    }
    if let Some(more) = group.items.len().checked_sub(shown.len()).filter(|more| *more > 0) {
        html.tag("p", "fold", &format!("… {more} more like these"));
    }
}

/// The findings, the worst first; of many, the first ones.
fn findings(html: &mut Html, report: &Report<'_>) {
    let mut found: Vec<&Diagnostic> = report.diagnostics.iter().collect();
    found.sort_by_key(|found| Reverse(found.severity));
    // A label without a position is a further difference.
    let texts = found.iter().flat_map(|found| {
        let more = found.labels.iter().filter(|label| label.place == Place::default());
        std::iter::once(&found.message).chain(more.map(|label| &label.message))
    });
    let texts: Vec<&String> = texts.collect();
    for text in texts.iter().take(FINDINGS) {
        html.words("p", "", &shortened(text, OUTPUT / 100));
    }
    if let Some(more) = texts.len().checked_sub(FINDINGS).filter(|more| *more > 0) {
        html.tag("p", "fold", &format!("… {more} more"));
    }
}

fn case(html: &mut Html, index: usize, report: &Report<'_>, link: Option<String>, is_open: bool) {
    let (class, sign, words) = mark(report.status);
    let summary = |html: &mut Html| {
        html.tag("strong", class, &format!("{sign} {words}"));
        html.text(" ");
        html.text(&report.entry.id());
    };
    html.folded(is_open, summary, |html| {
        html.target(&format!("c{index}"), |html| {
            notes::list(html, &report.diagnostics);
            link.iter().for_each(|link| html.of_class("p", "", |html| open_link(html, link)));
            difference(html, report);
            for split in &report.splits {
                let whose = match split.mode {
                    Mode::Stable => "",
                    Mode::Reference => "transformers, ",
                };
                let [whole, cut] = split.messages.each_ref().map(|message| message_value(message.as_ref()));
                sides::values(html, [&format!("{whose}read whole"), &format!("{whose}{}", split.cut)], &whole, &cut);
            }
            if let Some(case) = report.entry.case() {
                html.element("details", &[], |html| {
                    html.tag("summary", "", "The output");
                    html.pre(&[("class", "text")], |html| {
                        html.of_class("span", "p", |html| html.lines(end_of(&case.prefix)));
                        html.lines(&shortened(&case.output, OUTPUT));
                    });
                });
            }
        });
    });
}

/// The expectation of a case beside its actual result, if they differ.
fn difference(html: &mut Html, report: &Report<'_>) {
    let pair = match (report.entry, &report.meaning) {
        (Entry::Case(_, Ok(case)), Some(Meaning::Output(meaning))) => {
            let expected = case.expected.message.as_ref().map(|message| &message.value);
            expected.map(|expected| (Value::Object(expected.clone()), message_value(meaning.message.as_ref())))
        }
        (Entry::Chat(_, Ok(case)), Some(Meaning::Chat(meaning))) => {
            let expected = case.messages.as_ref().map(|messages| messages.value.clone());
            expected.map(|expected| (Value::List(expected), Value::List(meaning.messages.clone())))
        }
        _ => None,
    };
    if let Some((expected, got)) = pair.filter(|(expected, got)| !differences(expected, got).is_empty()) {
        sides::values(html, ["expected", "got"], &expected, &got);
    }
}

fn message_value(message: Option<&Object>) -> Value {
    message.map_or(Value::Null, |message| Value::Object(message.clone()))
}

/// The last part of a prompt.
fn end_of(prompt: &str) -> &str {
    let from = prompt.char_indices().rev().nth(159).map_or(0, |(at, _)| at);
    prompt.get(from..).unwrap_or(prompt)
}
