//! Repairs of the templates that make cases fail: proved against the chat template, and tried on the cases.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::fixture::{Case, TemplateSource};
use super::output_case::Settings;
use super::suite::{Entry, Loaded, Report, Status, run};
use crate::repair::{self, Repair};
use backchat_core::diagnostic::{Diagnostic, Edit, Fix, Place, Severity, counted};
use backchat_core::text::{common_end, common_start, slice};
use backchat_derive::derive::Options;
use backchat_parser::template::{Template, source};

/// The repair of one template.
#[derive(Clone, Debug)]
pub struct TemplateRepair {
    /// The file of the template.
    pub file: String,
    /// Its text now.
    pub before: String,
    /// Its text with the repair.
    pub after: String,
    /// The repairs of its faults.
    pub steps: Vec<Repair>,
    /// The failing cases that pass with it.
    pub fixed: HashSet<String>,
    /// How many cases pass now and fail with it.
    pub breaks: usize,
}

/// The repairs of templates with which more cases pass. Only a case that names its chat template shows how its
/// template should read; a derivation and a proof for each template.
pub fn repairs(reports: &[Report<'_>], loaded: &mut Loaded, settings: &Settings) -> Vec<TemplateRepair> {
    let mut failing: IndexMap<PathBuf, &Case> = IndexMap::new();
    for report in reports.iter().filter(|report| report.status == Status::Failed) {
        if let Some(case) = report.entry.case().filter(|case| case.chat_template.is_some())
            && let TemplateSource::File(template) = &case.template
        {
            failing.entry(template.clone()).or_insert(case);
        }
    }
    failing.into_iter().filter_map(|(template, case)| repaired(&template, case, reports, loaded, settings)).collect()
}

/// The repair of a template, as one of its failing cases shows it.
fn repaired(
    template: &Path,
    case: &Case,
    reports: &[Report<'_>],
    loaded: &mut Loaded,
    settings: &Settings,
) -> Option<TemplateRepair> {
    let opened = source::open(&template.display().to_string()).ok()?;
    let before = opened.sources.text(Some(&opened.file))?.to_owned();
    let chat_template = case.chat_template.as_ref()?.display().to_string();
    let chat_template = backchat_chat::source::open(&chat_template, None).ok()?.for_tools();
    let mut options = Options::for_source(&chat_template);
    options.variables.extend(case.variables.clone());
    let plan = repair::plan(&chat_template.template, &opened.file, &before, &options)?;
    let changed = source::from_text(opened.file.clone(), plan.text.clone()).ok()?.loaded.template;
    let (fixed, breaks) = effect(template, changed, reports, loaded, settings)?;
    let steps = plan.steps.into_iter().map(|step| step.repair).collect();
    let is_better = fixed.len() > breaks;
    is_better.then_some(TemplateRepair { file: opened.file, before, after: plan.text, steps, fixed, breaks })
}

/// The cases that a changed template fixes, and how many it breaks.
fn effect(
    file: &Path,
    changed: Template,
    reports: &[Report<'_>],
    loaded: &mut Loaded,
    settings: &Settings,
) -> Option<(HashSet<String>, usize)> {
    let reads = |entry: &Entry<'_>| match entry.case().map(|case| &case.template) {
        Some(TemplateSource::File(template)) => template == file,
        _ => false,
    };
    let now: Vec<&Report<'_>> = reports.iter().filter(|report| reads(&report.entry)).collect();
    let entries: Vec<Entry<'_>> = now.iter().map(|report| report.entry).collect();
    let before = loaded.replace(file, changed)?;
    let then = run(&entries, loaded, settings, false, &|_| {});
    loaded.replace(file, before);
    let changed = |from: Status, to: Status| {
        let pairs = now.iter().zip(&then);
        pairs
            .filter(move |(now, then)| now.status == from && then.status == to)
            .map(|(now, _)| now.entry.id().into_owned())
    };
    Some((changed(Status::Failed, Status::Passed).collect(), changed(Status::Passed, Status::Failed).count()))
}

impl TemplateRepair {
    /// The changes, in one line.
    pub fn message(&self) -> String {
        self.steps.iter().map(|step| step.fix.message.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// How many cases it fixes and breaks.
    pub fn effect(&self) -> String {
        let breaks = if self.breaks == 0 { "none".to_owned() } else { self.breaks.to_string() };
        format!("fixes {}, breaks {breaks}", counted(self.fixed.len(), "failing case"))
    }

    /// The finding that offers it, at its place in the template.
    pub fn diagnostic(&self) -> Diagnostic {
        let place = self.steps.first().map_or_else(|| Place::file(&self.file), |step| step.place.clone());
        let found = Diagnostic::new(Severity::Note, "check-repair", format!("{}: {}", self.message(), self.effect()));
        let found = found.at(place).help("`backchat check --fix` writes it");
        Diagnostic { fix: Some(Fix { message: self.message(), edits: vec![self.edit()] }), ..found }
    }

    /// The change as one edit.
    fn edit(&self) -> Edit {
        let start = common_start(&self.before, &self.after).len();
        let (old, new) = (slice(&self.before, start..), slice(&self.after, start..));
        let same = common_end(old, new).len();
        Edit { span: start..self.before.len() - same, text: slice(new, ..new.len() - same).to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_changes_are_one_edit() {
        for (before, after) in [("abc", "abc"), ("abc", "axc"), ("aa", "aaa"), ("aaa", "aa"), ("", "é"), ("é", "è")]
        {
            let [before, after] = [before, after].map(str::to_owned);
            let (file, steps, fixed) = Default::default();
            let repair = TemplateRepair { file, before, after, steps, fixed, breaks: 0 };
            let fix = Fix { message: String::new(), edits: vec![repair.edit()] };
            assert_eq!(fix.apply(&repair.before), repair.after, "{repair:?}");
        }
    }
}
