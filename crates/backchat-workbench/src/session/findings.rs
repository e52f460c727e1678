//! Inspects the template of the open output: findings of lint and the proof, their repairs, and the event at which each
//! shows.

use super::{Conversation, Material, Session};
use crate::lint::{self, Subject};
use crate::repair::{self, Effect, Repair};
use crate::replay::{Kind, Recording, first_difference, gives};
use backchat_core::diagnostic::{Diagnostic, Fix, Severity};
use backchat_core::json::Object;
use backchat_derive::derive::Options;
use backchat_parser::template::{Template, source};
use std::cmp::Reverse;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A long-running task; it returns `None` if it cannot be done.
pub type Task<T> = Box<dyn FnOnce() -> Option<T> + Send>;

/// Verifies a template on generated conversations; an error if the chat template cannot be rendered.
pub type ProofTask = Task<Result<Proof, String>>;

/// A chat template as its files have it now, and its variables; or why it cannot be read.
pub type ChatTemplate = Result<(String, Object), String>;

/// How far the proof of the current template is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProofState<'p> {
    /// The chat template is not known.
    Unknown,
    Running,
    /// Nothing is proved, for this reason.
    Impossible(&'p str),
    Done(&'p Proof),
}

impl<'p> ProofState<'p> {
    /// The proof, once it is finished.
    pub fn done(self) -> Option<&'p Proof> {
        if let Self::Done(proof) = self { Some(proof) } else { None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// How many conversations were rendered and parsed back.
    pub cases: usize,
    /// How many parsed back, or lost only what their wire format cannot carry.
    pub passed: usize,
    /// The first problem.
    pub wrong: Option<String>,
    /// The smallest conversation of each failure.
    pub failures: Vec<Conversation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The diagnostic of lint, or of a repair with which more conversations parse back.
    pub said: Diagnostic,
    /// The effect of its repair on the conversations of the proof; `None` if unknown.
    pub effect: Option<Effect>,
    /// The event at which it shows in the open output.
    pub event: Option<usize>,
    /// Whether its repair makes the open output give the expected message.
    pub settles: bool,
}

/// The id of the proof's findings; lint's have the id of their rule.
const PROOF: &str = "proof";

impl Finding {
    pub fn fix(&self) -> Option<&Fix> {
        self.said.fix.as_ref()
    }

    /// Whether it is about failing conversations.
    pub fn is_proof(&self) -> bool {
        self.said.id == PROOF
    }

    pub fn line(&self) -> String {
        if self.is_proof() { self.said.message.clone() } else { format!("{} {}", self.said.id, self.said.message) }
    }
}

/// The fitting finding whose repair helps most; of equals the first.
fn most_useful(findings: &[Finding], fits: impl Fn(&Finding) -> bool) -> Option<usize> {
    let gain = |finding: &Finding| {
        let conversations = finding.effect.map_or((0, 0), |effect| (effect.fixes, effect.breaks));
        (finding.settles, conversations.0.cast_signed() - conversations.1.cast_signed())
    };
    let repaired = findings.iter().enumerate().filter(|(_, finding)| finding.fix().is_some() && fits(finding));
    repaired.min_by_key(|(at, finding)| (Reverse(gain(finding)), *at)).map(|(at, _)| at)
}

/// The task that finds the repairs of a refuted template, and the effects of lint's.
pub type RepairTask = Task<Vec<Finding>>;

/// Background work for a key, and its result.
struct Background<K, T> {
    of: Option<K>,
    running: Option<JoinHandle<Option<T>>>,
    done: Option<T>,
}

impl<K, T> Default for Background<K, T> {
    fn default() -> Self {
        Self { of: None, running: None, done: None }
    }
}

impl<K: PartialEq, T: Send + 'static> Background<K, T> {
    fn is_about(&self, of: &K) -> bool {
        self.of.as_ref() == Some(of)
    }

    /// Starts a task and drops the previous one. Without a task there will be no result.
    fn start(&mut self, of: K, task: Option<Task<T>>) {
        *self = Self { of: Some(of), running: task.map(thread::spawn), done: None };
    }

    /// Checks for the result; true if it just arrived.
    fn poll(&mut self) -> bool {
        let Some(ended) = self.running.take_if(|running| running.is_finished()) else { return false };
        self.done = ended.join().ok().flatten();
        true
    }
}

/// The file of a template and its text.
type TemplateFile = (String, String);

/// A template, and the chat template that it is proved with.
type Proved = (Template, Option<ChatTemplate>);

/// The proof of the open output's template, the findings about it, and their repairs.
#[derive(Default)]
pub(super) struct Inspection {
    proof: Background<Proved, Result<Proof, String>>,
    /// Lint's findings, and then all with the effects of the repairs.
    lint: Background<TemplateFile, Vec<Finding>>,
    repairs: Background<TemplateFile, Vec<Finding>>,
    /// The findings, each at its event.
    findings: Vec<Finding>,
    /// How often the list was replaced.
    version: usize,
    /// The recording in which the events were looked up.
    of: Option<u64>,
}

impl Inspection {
    /// Lists what was found so far.
    fn list(&mut self) {
        let found = self.repairs.done.as_ref().or(self.lint.done.as_ref()).cloned().unwrap_or_default();
        let lines = |findings: &[Finding]| findings.iter().map(Finding::line).collect::<Vec<_>>();
        self.version += usize::from(lines(&found) != lines(&self.findings));
        self.findings = found;
        self.of = None;
    }
}

/// For outputs longer than this, in bytes, repairs are not tried out to find the event that they change.
const LONGEST: usize = 1 << 14;

/// The most repairs that are tried out.
const MOST: usize = 16;

impl Session {
    /// The proof of the current template with the current chat template.
    pub fn proof(&self) -> ProofState<'_> {
        match &self.inspection.proof {
            Background { running: Some(_), .. } => ProofState::Running,
            Background { done: Some(Ok(proof)), .. } => ProofState::Done(proof),
            Background { done: Some(Err(why)), .. } => ProofState::Impossible(why),
            Background { running: None, done: None, .. } => ProofState::Unknown,
        }
    }

    /// Why there is no finding to show.
    pub fn nothing_found(&self) -> String {
        if self.is_inspecting() {
            return "no findings yet; lint and proof are still running".to_owned();
        }
        match self.proof() {
            ProofState::Done(_) => "lint and proof find nothing wrong with the template".to_owned(),
            ProofState::Impossible(why) => format!("lint finds nothing wrong; nothing is proved: {why}"),
            ProofState::Unknown | ProofState::Running => {
                "lint finds nothing wrong; without a chat template (--chat-template) nothing is proved".to_owned()
            }
        }
    }

    /// Whether the open output has another chat template now than in its proof.
    pub(super) fn has_another_chat_template(&self) -> bool {
        let now = self.library.outputs.chat_template(self.library.output);
        self.inspection.proof.of.as_ref().is_some_and(|(_, proved)| *proved != now)
    }

    /// The findings about the template, the most important first.
    pub fn findings(&self) -> &[Finding] {
        &self.inspection.findings
    }

    /// A number that changes whenever the list of findings or its order changes.
    pub fn findings_version(&self) -> usize {
        self.inspection.version
    }

    /// Whether more findings may come.
    pub fn is_inspecting(&self) -> bool {
        let Inspection { lint, repairs, .. } = &self.inspection;
        lint.running.is_some() || repairs.running.is_some() || self.proof() == ProofState::Running
    }

    pub fn findings_at(&self, event: usize) -> impl Iterator<Item = &Finding> {
        self.findings().iter().filter(move |finding| finding.event == Some(event))
    }

    /// The current finding: at the last event, preferably with a repair; or the last before the position; or the first.
    pub fn finding_here(&self) -> Option<usize> {
        let here = self.side().and_then(|side| side.recording.last_event(side.moment));
        let findings = self.findings();
        let is_here = |finding: &Finding| here.is_some() && finding.event == here;
        let repaired = most_useful(findings, is_here);
        let any = || findings.iter().position(is_here);
        let before = || {
            let is_earlier =
                |finding: &Finding| finding.fix().is_some() && finding.event.is_some() && finding.event < here;
            let earlier = findings.iter().enumerate().rev().filter(|(_, finding)| is_earlier(finding));
            earlier.max_by_key(|(_, finding)| finding.event).map(|(index, _)| index)
        };
        repaired.or_else(any).or_else(before).or_else(|| (!findings.is_empty()).then_some(0))
    }

    /// Starts to verify and to lint the template, unless that was done.
    pub(super) fn start_inspection(&mut self) {
        let (library, inspection) = (&self.library, &mut self.inspection);
        let template = &library.material.template;
        let proved = (template.clone(), library.outputs.chat_template(library.output));
        if !inspection.proof.is_about(&proved) {
            inspection.proof.start(proved, library.outputs.proof_task(library.output, template));
            // Repairs are proved with the same chat template.
            inspection.repairs = Background::default();
            inspection.list();
        }
        let written = written(&library.material);
        if !inspection.lint.is_about(&written) {
            let (file, text) = written.clone();
            *inspection = Inspection { proof: std::mem::take(&mut inspection.proof), ..Inspection::default() };
            inspection.lint.start(written, Some(Box::new(move || Some(linted(&file, &text)))));
        }
    }

    /// Collects findings, and continues with repairs once lint and proof are done; true if the screen changes.
    pub(super) fn continue_inspection(&mut self) -> bool {
        let is_proved = self.inspection.proof.poll();
        if is_proved {
            // The result is shown where notices are.
            self.notice = self.proof_of_repair();
        }
        let inspection = &mut self.inspection;
        let is_found = inspection.lint.poll() | inspection.repairs.poll();
        if is_found {
            inspection.list();
        }
        self.start_repairs();
        let is_moved = self.inspection.of != Some(self.playback.generation);
        if is_moved {
            self.place_findings();
        }
        is_proved || is_found || (is_moved && !self.findings().is_empty())
    }

    /// Starts the search for repairs once there is something to repair.
    fn start_repairs(&mut self) {
        let (library, inspection) = (&self.library, &mut self.inspection);
        let (Some(linted), Some(Ok(proof))) = (&inspection.lint.done, &inspection.proof.done) else { return };
        let written = written(&library.material);
        if inspection.repairs.is_about(&written) {
            return;
        }
        let is_needed = proof.wrong.is_some() || linted.iter().any(|finding| finding.fix().is_some());
        let task = is_needed.then(|| library.outputs.repair_task(library.output, &library.material, linted)).flatten();
        inspection.repairs.start(written, task);
    }

    /// Finds the event of each finding in the current recording.
    fn place_findings(&mut self) {
        let mut findings = std::mem::take(&mut self.inspection.findings);
        // A growing output is not parsed again for every repair.
        let is_still = !self.library.is_partial() && !self.editing.is_typing;
        let is_expected = |recording: &Recording| {
            self.library.material.expected.as_ref().is_some_and(|expected| gives(recording, expected))
        };
        for (index, finding) in findings.iter_mut().enumerate() {
            let may_try = is_still && index < MOST && self.recording().is_some_and(|now| now.text().len() <= LONGEST);
            let repaired = finding.fix().filter(|_| may_try).and_then(|fix| self.recorded_with(fix));
            finding.event = match &repaired {
                Some(repaired) => self.first_change(repaired),
                None => self.event_of(finding),
            };
            finding.settles =
                repaired.is_some_and(|read| is_expected(&read)) && !self.recording().is_some_and(is_expected);
        }
        self.inspection.findings = findings;
        self.inspection.of = Some(self.playback.generation);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repair_that_the_proof_shows_is_right_comes_before_one_that_was_only_suggested() {
        let finding = |effect: Option<(usize, usize)>, settles| {
            let fix = Fix { message: String::new(), edits: Vec::new() };
            let said = Diagnostic { fix: Some(fix), ..Diagnostic::error("id", "message") };
            let effect = effect.map(|(fixes, breaks)| Effect { fixes, breaks });
            Finding { said, effect, event: None, settles }
        };
        for (findings, best) in [
            (vec![finding(None, false), finding(Some((8, 0)), false)], 1),
            (vec![finding(Some((8, 9)), false), finding(None, false)], 1),
            (vec![finding(Some((8, 0)), false), finding(Some((1, 0)), true)], 1),
            (vec![finding(Some((1, 0)), false), finding(Some((1, 0)), false)], 0),
        ] {
            assert_eq!(most_useful(&findings, |_| true), Some(best), "{findings:?}");
        }
        assert_eq!(most_useful(&[finding(None, false)], |_| false), None);
    }
}
