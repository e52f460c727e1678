//! The findings of a suite by cause: one wrong delimiter makes many cases fail, and is reported once.

use std::cmp::Reverse;
use std::path::PathBuf;

use super::fixture::TemplateSource;
use super::repairs::TemplateRepair;
use super::suite::{Entry, Meaning, Report, Status};
use backchat_core::diagnostic::{Diagnostic, Label, Place, Severity, counted};
use backchat_core::json::Object;
use backchat_diff::messages::{self, Group, groups, shape};

/// How many cases of a cause are named.
const NAMED: usize = 6;

/// A finding of a case.
type Found<'r, 'f> = (&'r Report<'f>, &'r Diagnostic);

/// What the findings of one cause have in common, besides the cause.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    id: &'static str,
    severity: &'static str,
    /// The response template of the case.
    template: Option<PathBuf>,
    /// What exactly is wrong, and where, if that is in a file that several cases use.
    elsewhere: Option<String>,
    /// Whether the repair of the template removes it.
    is_repaired: bool,
}

/// The findings of many cases, one for each cause: that of its smallest case, with the names of the others. All cases
/// that the repair of a template fixes have one cause. The most serious come first, and of those the most frequent.
pub fn by_cause(reports: &[Report<'_>], repairs: &[TemplateRepair]) -> Vec<Diagnostic> {
    let repair_of = |report: &Report<'_>| repairs.iter().find(|repair| repair.fixed.contains(&*report.entry.id()));
    let mut found: Vec<Found<'_, '_>> = Vec::new();
    for report in reports {
        // The other findings of a case that a repair fixes are consequences.
        let count = if repair_of(report).is_some() { 1 } else { usize::MAX };
        found.extend(worst_first(report).into_iter().take(count).map(|found| (report, found)));
    }
    let severity = |group: &Group<'_, Kind, Found<'_, '_>>| {
        Reverse(group.items.first().map_or(Severity::Note, |(_, (_, found))| found.severity))
    };
    let groups = groups(
        &found,
        |(report, found)| match kind(report, found) {
            kind if repair_of(report).is_some() => (Kind { id: "", is_repaired: true, ..kind }, String::new()),
            kind => (kind, cause_of(report, found)),
        },
        severity,
    );
    groups.iter().filter_map(merged).collect()
}

/// Why a case does not pass, or what was noted about it, in words that are the same in every case of the cause. Empty
/// if nothing was found.
pub fn cause(report: &Report<'_>) -> String {
    worst_first(report).first().map_or_else(String::new, |worst| cause_of(report, worst))
}

fn worst_first<'r>(report: &'r Report<'_>) -> Vec<&'r Diagnostic> {
    let mut found: Vec<&Diagnostic> = report.diagnostics.iter().collect();
    found.sort_by_key(|found| Reverse(found.severity));
    found
}

fn cause_of(report: &Report<'_>, found: &Diagnostic) -> String {
    let messages = messages(report).filter(|_| found.id == "check-message");
    messages.and_then(|(expected, found)| messages::cause(expected, found)).unwrap_or_else(|| shape(&found.message))
}

fn kind(report: &Report<'_>, found: &Diagnostic) -> Kind {
    let template = match report.entry.case().map(|case| &case.template) {
        Some(TemplateSource::File(template)) => Some(template.clone()),
        _ => None,
    };
    let is_own = found.place.as_ref().is_none_or(|place| place.file.as_deref() == Some(&*report.entry.file()));
    let is_shared = !is_own || report.status == Status::NotRun && found.id != "case-not-run";
    let elsewhere = is_shared.then(|| format!("{:?}", (&found.message, &found.place)));
    Kind { id: found.id, severity: found.severity.name(), template, elsewhere, is_repaired: false }
}

/// The message that a case expects, and the one that was found.
fn messages<'r>(report: &'r Report<'_>) -> Option<(&'r Object, &'r Object)> {
    let (Entry::Case(_, Ok(case)), Some(Meaning::Output(meaning))) = (report.entry, &report.meaning) else {
        return None;
    };
    Some((&case.expected.message.as_ref()?.value, meaning.message.as_ref()?))
}

/// The finding of a cause.
fn merged(group: &Group<'_, Kind, Found<'_, '_>>) -> Option<Diagnostic> {
    let size = |report: &Report<'_>| report.entry.case().map_or(usize::MAX, |case| case.output.len());
    let (_, (report, first)) = group.items.iter().min_by_key(|(index, (report, _))| (size(report), *index))?;
    let mut found = (*first).clone();
    let others = group.items.iter().filter(|(_, (other, _))| other.entry.id() != report.entry.id());
    let others: Vec<String> = others.map(|(_, (other, _))| other.entry.id().into_owned()).collect();
    if others.is_empty() || group.kind.elsewhere.is_some() {
        return Some(found);
    }
    let of = group.kind.template.as_ref().map_or_else(String::new, |file| format!(" of {}", file.display()));
    match messages(report).filter(|_| found.id == "check-message") {
        Some(_) => {
            let example = format!("{}: {}", report.entry.name(), found.message);
            let (count, cause) = (others.len() + 1, cause_of(report, first));
            found.message = format!("the message differs in {count} cases{of}: {cause}");
            found.labels.insert(0, Label { place: Place::default(), message: example });
        }
        None => found.message += &format!("; {}{of} too", counted(others.len(), "more case")),
    }
    found.labels.push(Label { place: Place::default(), message: format!("also {}", names(&others)) });
    Some(found)
}

fn names(ids: &[String]) -> String {
    let mut names = ids.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if let Some(more) = ids.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names += &format!(" and {more} more");
    }
    names
}

impl Report<'_> {
    /// Removes the finding of the round trip if it only repeats how the message differs.
    pub fn drop_repeated(&mut self) {
        let differs = self.diagnostics.iter().find(|found| found.id == "check-message").cloned();
        let Some(differs) = differs else { return };
        // After the first colon, both say which value differs.
        let what = |found: &Diagnostic| found.message.split_once(": ").map(|(_, what)| what.to_owned());
        self.diagnostics.retain(|found| {
            found.id != "check-round-trip"
                || found.severity < differs.severity
                || what(found) != what(&differs)
                || found.labels != differs.labels
        });
    }
}
