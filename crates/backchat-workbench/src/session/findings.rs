//! Findings of lint and the proof about the open output's template, their repairs, and navigation through problems.

use super::background::{Background, Task};
use super::differences::STABLE;
use super::outputs::{Finding, Material, PROOF, RepairTask};
use super::{Session, Showing};
use crate::input::Problem;
use crate::lint::{self, Subject};
use crate::repair::{self, Effect, Repair};
use crate::replay::{Kind, Recording, first_difference, problem_in_words};
use backchat_core::diagnostic::{Diagnostic, Fix, Severity};
use backchat_derive::derive::Options;
use backchat_parser::parser::{self, Mode};
use backchat_parser::template::source;
use std::path::PathBuf;
use std::sync::Arc;

/// The file of a template and its text.
type TemplateFile = (String, String);

/// The findings about the template of the open output.
#[derive(Default)]
pub(super) struct Inspection {
    /// Lint's findings, and then all with the effects of the repairs.
    pub lint: Background<TemplateFile, Vec<Finding>>,
    pub repairs: Background<TemplateFile, Vec<Finding>>,
    /// The findings, each at its event.
    pub findings: Vec<Finding>,
    /// How often the list was replaced.
    pub version: usize,
    /// The recording in which the events were looked up.
    pub of: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Applied {
    pub file: PathBuf,
    /// The text before and after.
    pub before: String,
    pub after: String,
    /// The change in words.
    pub message: String,
    /// Whether the proof after it was reported.
    pub is_proved: bool,
}

/// For outputs longer than this, in bytes, repairs are not tried out to find the event that they change.
const LONGEST: usize = 1 << 14;

/// The most repairs that are tried out.
const MOST: usize = 16;

impl Session {
    /// The findings about the template, the most important first.
    pub fn findings(&self) -> &[Finding] {
        &self.library.inspection.findings
    }

    /// A number that changes whenever the list of findings or its order changes.
    pub fn findings_version(&self) -> usize {
        self.library.inspection.version
    }

    /// Whether more findings may come.
    pub fn is_inspecting(&self) -> bool {
        let inspection = &self.library.inspection;
        inspection.lint.is_running() || inspection.repairs.is_running() || self.library.prover.is_running()
    }

    pub fn findings_at(&self, event: usize) -> impl Iterator<Item = &Finding> {
        self.findings().iter().filter(move |finding| finding.event == Some(event))
    }

    /// The current finding: at the last event, preferably with a repair; or the last before the position; or the first.
    pub fn finding_here(&self) -> Option<usize> {
        let here = self.side().and_then(|side| side.recording.last_event(side.moment));
        let findings = self.findings();
        let is_here = |finding: &Finding| here.is_some() && finding.event == here;
        let repaired = findings.iter().position(|finding| is_here(finding) && finding.fix().is_some());
        let any = || findings.iter().position(is_here);
        let before = || {
            let is_earlier =
                |finding: &Finding| finding.fix().is_some() && finding.event.is_some() && finding.event < here;
            let earlier = findings.iter().enumerate().rev().filter(|(_, finding)| is_earlier(finding));
            earlier.max_by_key(|(_, finding)| finding.event).map(|(index, _)| index)
        };
        repaired.or_else(any).or_else(before).or_else(|| (!findings.is_empty()).then_some(0))
    }

    /// Lints the template, unless that was done.
    pub(super) fn start_inspection(&mut self) {
        let library = &mut self.library;
        let written = written(&library.material);
        if !library.inspection.lint.is_about(&written) {
            let (file, text) = written.clone();
            let task: Task<Vec<Finding>> = Box::new(move || Some(linted(&file, &text)));
            library.inspection = Inspection::default();
            library.inspection.lint.start(written, Some(task));
        }
    }

    /// Collects findings, and continues with repairs once lint and proof are done; true if the screen changes.
    pub(super) fn continue_inspection(&mut self) -> bool {
        let library = &mut self.library;
        let is_linted = library.inspection.lint.poll();
        let is_repaired = library.inspection.repairs.poll();
        if is_linted || is_repaired {
            let found = library.inspection.repairs.done().or(library.inspection.lint.done());
            let found = found.cloned().unwrap_or_default();
            let lines = |findings: &[Finding]| findings.iter().map(Finding::line).collect::<Vec<_>>();
            library.inspection.version += usize::from(lines(&found) != lines(&library.inspection.findings));
            library.inspection.findings = found;
            library.inspection.of = None;
        }
        self.start_repairs();
        let is_moved = self.library.inspection.of != Some(self.playback.generation);
        if is_moved {
            self.place_findings();
        }
        is_linted || is_repaired || (is_moved && !self.findings().is_empty())
    }

    /// Starts the search for repairs once there is something to repair.
    fn start_repairs(&mut self) {
        let library = &mut self.library;
        let (Some(linted), Some(proof)) = (library.inspection.lint.done(), library.prover.done()) else { return };
        let written = written(&library.material);
        if library.inspection.repairs.is_about(&written) {
            return;
        }
        let is_needed = proof.wrong.is_some() || linted.iter().any(|finding| finding.fix().is_some());
        let task = is_needed.then(|| library.outputs.repair_task(library.output, &library.material, linted)).flatten();
        library.inspection.repairs.start(written, task);
    }

    /// Finds the event of each finding in the current recording.
    fn place_findings(&mut self) {
        let mut findings = std::mem::take(&mut self.library.inspection.findings);
        // A growing output is not parsed again for every repair.
        let is_still = !self.library.is_partial() && !self.editing.is_typing;
        let is_wrong =
            || self.recording().is_some_and(|now| self.library.material.expected.is_some() && !self.is_expected(now));
        for (index, finding) in findings.iter_mut().enumerate() {
            let may_try = is_still && index < MOST && self.recording().is_some_and(|now| now.text().len() <= LONGEST);
            let repaired = finding.fix().filter(|_| may_try).and_then(|fix| self.recorded_with(fix));
            finding.event = match &repaired {
                Some(repaired) => self.first_change(repaired),
                None => self.event_of(finding),
            };
            finding.settles = repaired.is_some_and(|repaired| is_wrong() && self.is_expected(&repaired));
        }
        self.library.inspection.findings = findings;
        self.library.inspection.of = Some(self.playback.generation);
    }

    /// The event at which a repair shows: the first whose region it reads differently.
    fn first_change(&self, repaired: &Recording) -> Option<usize> {
        let recording = self.recording()?;
        let difference = first_difference(recording, repaired)?;
        let first = match difference.row < recording.row_count() {
            true => recording.row(difference.row).start,
            false => recording.event_count().checked_sub(1)?,
        };
        // The result of a region shows at its end.
        let is_end = |event: &usize| recording.event(*event).is_some_and(|event| event.kind != Kind::Chunk);
        (first..recording.event_count()).find(is_end).or(Some(first))
    }

    /// The event at which a finding without a tried repair shows: one of its field and delimiter. Advice is about the
    /// template, not the output.
    fn event_of(&self, finding: &Finding) -> Option<usize> {
        if finding.fix().is_none() && finding.said.severity < Severity::Warning {
            return None;
        }
        let recording = self.recording()?;
        let (field, key) = field_and_key(finding.said.place.as_ref()?.path.as_deref()?)?;
        let is_about = |event: &usize| {
            recording
                .event(*event)
                .is_some_and(|seen| recording.field_name(seen.field) == field && kinds(key).contains(&seen.kind))
        };
        let wrong = self.playback.wrong.iter().copied().find(is_about);
        wrong.or_else(|| (0..recording.event_count()).find(is_about))
    }

    fn is_expected(&self, recording: &Recording) -> bool {
        self.library.material.expected.as_ref() == Some(&recording.message(recording.end()))
    }

    /// The open output, parsed with the repaired template.
    fn recorded_with(&self, fix: &Fix) -> Option<Recording> {
        let now = self.recording()?;
        let material = &self.library.material;
        let changed = source::from_text(material.template_file.clone(), fix.apply(&material.template_text)).ok()?;
        let run = material.run(&changed.loaded.template, now.mode());
        // The first feed is the prompt.
        let ends = (1..=now.chunk_count()).map(|feed| now.feed_span(feed).end);
        Recording::of_text(&run, Arc::clone(now.text()), ends).ok()
    }
}

fn written(material: &Material) -> TemplateFile {
    (material.template_file.clone(), material.template_text.clone())
}

/// Lint's findings, the worst first.
fn linted(file: &str, text: &str) -> Vec<Finding> {
    let Ok(opened) = source::from_text(file.to_owned(), text.to_owned()) else { return Vec::new() };
    let mut found = lint::lint(&Subject::of_file(&opened, &[]));
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found.into_iter().map(|said| Finding { said, effect: None, event: None, settles: false }).collect()
}

/// The repairs of a template, the best first, and lint's findings with the effects of their repairs.
pub(super) fn repairs(chat_template: String, options: Options, material: &Material, linted: &[Finding]) -> RepairTask {
    let (file, text) = written(material);
    let linted = linted.to_vec();
    Box::new(move || {
        let repairs = repair::repairs(&chat_template, &file, &text, &options);
        let mut found: Vec<Finding> = repairs.into_iter().map(of_repair).collect();
        let fixes: Vec<&Fix> = linted.iter().filter_map(Finding::fix).collect();
        let effects = match fixes.is_empty() {
            true => Vec::new(),
            false => repair::effects(&chat_template, &file, &text, &fixes, &options),
        };
        let mut effects = effects.into_iter();
        found.extend(linted.iter().map(|finding| {
            let effect = finding.fix().and_then(|_| effects.next().flatten());
            Finding { effect, ..finding.clone() }
        }));
        Some(found)
    })
}

fn of_repair(repair: Repair) -> Finding {
    let Repair { place, fix, fixes, breaks } = repair;
    let said = Diagnostic::error(PROOF, fix.message.clone()).at(place);
    Finding {
        said: Diagnostic { fix: Some(fix), ..said },
        effect: Some(Effect { fixes, breaks }),
        event: None,
        settles: false,
    }
}

/// The field and the key in a path of a template: `fields.NAME.KEY`, at any depth.
fn field_and_key(path: &str) -> Option<(&str, &str)> {
    let (_, rest) = path.split_once("fields.")?;
    let mut parts = rest.split('.');
    Some((parts.next()?, parts.next().unwrap_or("")))
}

/// The events that a key of a field causes.
fn kinds(key: &str) -> &'static [Kind] {
    match key {
        "open" | "open_pattern" => &[Kind::Open],
        "" => &[Kind::Open, Kind::Close, Kind::Malformed],
        _ => &[Kind::Close, Kind::Malformed],
    }
}

impl Session {
    pub fn repair(&mut self, finding: usize) -> Result<(), Problem> {
        let Some(found) = self.findings().get(finding) else {
            self.say(self.nothing_found());
            return Ok(());
        };
        let Some(fix) = found.fix().cloned() else {
            self.say("there is no proved repair for this; e opens the line");
            return Ok(());
        };
        let material = &self.library.material;
        if !material.has_template_file() {
            self.say("the template is not in a file that can be changed");
            return Ok(());
        }
        let before = material.template_text.clone();
        let applied = Applied {
            file: material.template_file.clone().into(),
            after: fix.apply(&before),
            before,
            message: fix.message,
            is_proved: false,
        };
        self.library.outputs.write_template(&applied.file, &applied.before, &applied.after)?;
        self.reload();
        self.say(format!("applied: {}; u undoes it", applied.message));
        self.editing.applied.push(applied);
        Ok(())
    }

    /// Undoes typing on the open output, or else the last repair.
    pub fn undo(&mut self) -> Result<(), Problem> {
        if self.editing.edits.contains_key(&self.library.output) {
            self.undo_typing();
            return Ok(());
        }
        let Some(applied) = self.editing.applied.last() else {
            self.say("nothing was typed, and no repair was applied");
            return Ok(());
        };
        self.library.outputs.write_template(&applied.file, &applied.after, &applied.before)?;
        let message = format!("undone: {}", applied.message);
        self.editing.applied.pop();
        self.reload();
        self.say(message);
        Ok(())
    }

    /// The result of the first proof after a repair.
    pub(super) fn proof_of_repair(&mut self) -> Option<String> {
        let proof = self.library.prover.done()?;
        let now = &self.library.material.template_text;
        let applied = self.editing.applied.last_mut().filter(|applied| !applied.is_proved && applied.after == *now)?;
        applied.is_proved = true;
        Some(format!("applied: {} of {} conversations come back; u undoes it", proof.passed, proof.cases))
    }

    /// Why there is no finding to show.
    pub fn nothing_found(&self) -> &'static str {
        match (self.is_inspecting(), self.proof()) {
            (true, _) => "no findings yet; lint and proof are still running",
            (false, Some(_)) => "lint and proof find nothing wrong with the template",
            (false, None) => "lint finds nothing wrong; without a chat template (--chat-template) nothing is proved",
        }
    }

    /// Shows the output without policies and with all of them, side by side; or leaves that view.
    pub fn switch_recovery(&mut self) {
        if self.playback.showing == Showing::Recovery {
            self.playback.showing = Showing::One(Mode::Stable);
            self.record();
            return self.say(STABLE);
        }
        self.playback.showing = Showing::Recovery;
        self.record();
        let problems = self.playback.sides.last().map_or(&[][..], |side| side.recording.problems());
        let recovered: Vec<String> =
            problems.iter().filter(|problem| problem.is_recovered).map(problem_in_words).collect();
        self.notice = Some(match (problems.len(), recovered.as_slice()) {
            (0, _) => "nothing went wrong: policies leave this output as it is".to_owned(),
            (_, []) => "no policy reads what went wrong here; P goes to it".to_owned(),
            (_, recovered) => format!("{}; x goes to their first difference", recovered.join("; ")),
        });
    }

    /// Goes to the next problem of the output, wrapping around.
    pub fn show_problem(&mut self) {
        let Some(side) = self.side() else { return };
        let (recording, moment) = (&side.recording, side.moment);
        let place = |problem: &parser::Problem| {
            let end = recording.problem_span(problem).end.max(recording.output_start());
            recording.moment_at(end).min(recording.end())
        };
        let problems: Vec<_> =
            recording.problems().iter().map(|problem| (place(problem), problem_in_words(problem))).collect();
        let next = problems.iter().find(|(place, _)| *place > moment).or(problems.first()).cloned();
        let Some((place, words)) = next else {
            return self.say("nothing went wrong in this output");
        };
        self.set_moment(|_: &Recording, _| place);
        self.say(words);
    }
}
