//! Many cases, checked in parallel and reported in order.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::chat_case::check_chat;
use super::fixture::{self, Actual, ActualChat, Broken, Case, ChatCase, FixtureFile, TemplateSource};
use super::golden::{Derived, check_derived};
use super::output_case::{Settings, Split, Verdict, check_case, check_schema_case};
use super::round_trip::Chat;
use backchat_chat::{ChatTemplate, Instant};
use backchat_chats::chats::Unrenderer;
use backchat_core::diagnostic::{Diagnostic, Place, Severity, Sources};
use backchat_core::json::{Object, Value};
use backchat_legacy::schema::source::{self, TemplateOrSchema};
use backchat_parser::template::Template;

/// One thing a suite checks.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'f> {
    /// A case of a file, or why it cannot be run.
    Case(&'f FixtureFile, &'f Result<Case, Broken>),
    /// A rendered chat of a file, or why it cannot be run.
    Chat(&'f FixtureFile, &'f Result<ChatCase, Broken>),
    /// A derived template.
    Derived(&'f Derived),
}

impl<'f> Entry<'f> {
    /// The cases of some files, in order, then the derived templates.
    pub fn all(files: &'f [FixtureFile], derived: &'f [Derived]) -> Vec<Self> {
        let cases = files.iter().flat_map(|file| {
            let cases = file.cases.iter().map(move |case| Self::Case(file, case));
            cases.chain(file.chats.iter().map(move |case| Self::Chat(file, case)))
        });
        cases.chain(derived.iter().map(Self::Derived)).collect()
    }

    /// Its name.
    pub fn id(&self) -> Cow<'f, str> {
        match self {
            Self::Case(_, Ok(case)) => case.id.as_str().into(),
            Self::Chat(_, Ok(case)) => case.id.as_str().into(),
            Self::Case(_, Err(broken)) | Self::Chat(_, Err(broken)) => broken.id.as_str().into(),
            Self::Derived(derived) => derived.file.display().to_string().into(),
        }
    }

    /// The file it is in.
    pub fn file(&self) -> Cow<'f, str> {
        match self {
            Self::Case(file, _) | Self::Chat(file, _) => file.file.as_str().into(),
            Self::Derived(_) => self.id(),
        }
    }

    /// Whether it is in this file of cases.
    pub fn is_in(&self, file: &FixtureFile) -> bool {
        matches!(self, Self::Case(own, _) | Self::Chat(own, _) if std::ptr::eq(*own, file))
    }

    /// Its name in its file.
    pub fn name(&self) -> Cow<'f, str> {
        match self {
            Self::Case(_, Ok(case)) => case.name.as_str().into(),
            Self::Chat(_, Ok(case)) => case.name.as_str().into(),
            _ => self.id(),
        }
    }

    /// The case, if it is one of an output that can be run.
    pub fn case(&self) -> Option<&'f Case> {
        match self {
            Self::Case(_, case) => case.as_ref().ok(),
            Self::Chat(..) | Self::Derived(_) => None,
        }
    }

    /// The case, if it is one of a rendered chat that can be run.
    pub fn chat(&self) -> Option<&'f ChatCase> {
        match self {
            Self::Chat(_, case) => case.as_ref().ok(),
            Self::Case(..) | Self::Derived(_) => None,
        }
    }

    fn chat_template(&self) -> Option<&'f PathBuf> {
        self.case().and_then(|case| case.chat_template.as_ref()).or(self.chat().map(|case| &case.chat_template))
    }
}

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// It holds.
    Passed,
    /// It does not.
    Failed,
    /// It could not be run.
    NotRun,
}

/// The actual message of a case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Meaning {
    /// Of an output.
    Output(Actual),
    /// Of a rendered chat.
    Chat(ActualChat),
}

/// A case and its result.
#[derive(Clone, Debug)]
pub struct Report<'f> {
    /// The case.
    pub entry: Entry<'f>,
    /// Its result.
    pub status: Status,
    /// Its findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The message of the output, or the messages of the chat, if it was read.
    pub meaning: Option<Meaning>,
    /// How long it took.
    pub time: Duration,
    /// The cuts of the output that change the answer.
    pub(crate) splits: Vec<Split>,
}

/// Templates and chat templates that cases name, each loaded once.
#[derive(Debug, Default)]
pub struct Loaded {
    templates: HashMap<PathBuf, Result<TemplateOrSchema, Vec<Diagnostic>>>,
    chats: HashMap<PathBuf, Result<Chat, Vec<Diagnostic>>>,
    /// The readers of rendered chats, by [`Loaded::key`].
    unrenderers: HashMap<String, Unrenderer<Arc<ChatTemplate>>>,
    /// The texts of files that do not load.
    pub sources: Sources,
}

impl Loaded {
    /// Loads the templates that cases name.
    pub fn new(entries: &[Entry<'_>]) -> Self {
        let mut loaded = Self::default();
        for entry in entries {
            if let Some(TemplateSource::File(file)) = entry.case().map(|case| &case.template)
                && !loaded.templates.contains_key(file)
            {
                let template = source::open(&file.display().to_string()).map(Into::into).map_err(|error| {
                    loaded.sources.extend(error.sources);
                    error.diagnostics
                });
                loaded.templates.insert(file.clone(), template);
            }
            if let Some(file) = entry.chat_template()
                && !loaded.chats.contains_key(file)
            {
                let chat = Chat::open(&file.display().to_string()).map_err(|(diagnostics, sources)| {
                    loaded.sources.extend(sources);
                    diagnostics
                });
                loaded.chats.insert(file.clone(), chat);
            }
            if let Some(case) = entry.chat()
                && let Some(Ok(chat)) = loaded.chats.get(&case.chat_template)
            {
                let learn = || chat.unrenderer(&case.variables, case.tools.is_some());
                loaded.unrenderers.entry(Self::key(case)).or_insert_with(learn);
            }
        }
        loaded
    }

    /// Replaces the loaded template of a file; returns the previous one.
    pub(super) fn replace(&mut self, file: &Path, template: Template) -> Option<Template> {
        let slot = self.templates.get_mut(file)?;
        match std::mem::replace(slot, Ok(TemplateOrSchema::Template(template))) {
            Ok(TemplateOrSchema::Template(before)) => Some(before),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// The key of everything that decides how a case's chat is read back.
    fn key(case: &ChatCase) -> String {
        let variables = Value::Object(case.variables.clone());
        format!("{} {} {variables}", case.chat_template.display(), case.tools.is_some())
    }

    /// The response template that reads a case; `None` if that does not load or is a schema.
    pub(crate) fn template_of(&self, case: &Case) -> Option<Template> {
        self.reader(case, Place::default()).ok()?.into_owned().into_template()
    }

    /// What reads a case, or the error if it does not load.
    fn reader(&self, case: &Case, place: Place) -> Result<Cow<'_, TemplateOrSchema>, Vec<Diagnostic>> {
        match &case.template {
            TemplateSource::File(file) => of_file(&self.templates, file, "the template", place).map(Cow::Borrowed),
            TemplateSource::Inline(value) => {
                TemplateOrSchema::from_value(value).map(Cow::Owned).map_err(|mut problems| {
                    problems.retain(|problem| problem.severity == Severity::Error);
                    not_run("the template of", &case.id, place, &problems)
                })
            }
        }
    }

    /// The source of the chat template that a case names, and its variables.
    pub(crate) fn chat_of(&self, case: &Case) -> Option<(&str, Object)> {
        let chat = self.chats.get(case.chat_template.as_ref()?)?.as_ref().ok()?;
        Some(chat.given(&case.variables, case.tools.is_some()))
    }

    /// The response template of a case, the source of its chat template and the variables of that, if it names both and
    /// they load.
    pub fn pair(&self, case: &Case) -> Option<(Template, &str, Object)> {
        let (source, variables) = self.chat_of(case)?;
        Some((self.template_of(case)?, source, variables))
    }

    /// The chat template of a case, or the error if it does not load.
    fn chat(&self, file: &PathBuf, place: Place) -> Result<&Chat, Vec<Diagnostic>> {
        of_file(&self.chats, file, "the chat template", place)
    }
}

/// What was loaded from a file, or the error if it does not load.
fn of_file<'l, T>(
    all: &'l HashMap<PathBuf, Result<T, Vec<Diagnostic>>>,
    file: &PathBuf,
    what: &str,
    place: Place,
) -> Result<&'l T, Vec<Diagnostic>> {
    let problems = match all.get(file) {
        Some(Ok(loaded)) => return Ok(loaded),
        Some(Err(problems)) => problems.as_slice(),
        None => &[],
    };
    Err(not_run(what, &file.display().to_string(), place, problems))
}

/// The finding of a case whose template does not load.
fn not_run(what: &str, name: &str, place: Place, problems: &[Diagnostic]) -> Vec<Diagnostic> {
    let message = format!("not run: {what} `{name}` does not load");
    let first = Diagnostic::error("case-not-run", message).at(place).help("its problems are listed below");
    std::iter::once(first).chain(problems.iter().cloned()).collect()
}

/// Checks cases in parallel. The reports are in the order of the cases; with `fail_fast` they end with the first case
/// that fails. `on_finished` is called for each finished case.
pub fn run<'f>(
    entries: &[Entry<'f>],
    loaded: &Loaded,
    settings: &Settings,
    fail_fast: bool,
    on_finished: &(impl Fn(usize) + Sync),
) -> Vec<Report<'f>> {
    let next = AtomicUsize::new(0);
    let first_failure = AtomicUsize::new(usize::MAX);
    let reports = Mutex::new(Vec::with_capacity(entries.len()));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(entries.len().max(1));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(entry) = entries.get(index) else { break };
                    if fail_fast && index > first_failure.load(Ordering::Relaxed) {
                        break;
                    }
                    let report = report(*entry, loaded, settings);
                    if report.status != Status::Passed {
                        first_failure.fetch_min(index, Ordering::Relaxed);
                    }
                    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
                    reports.push((index, report));
                    on_finished(reports.len());
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|(index, _)| *index);
    let last = if fail_fast { first_failure.into_inner() } else { usize::MAX };
    reports.into_iter().filter(|(index, _)| *index <= last).map(|(_, report)| report).collect()
}

/// How many cases of a file do not pass.
pub fn failing_in(file: &Path) -> usize {
    let files = [fixture::read(file)];
    let entries = Entry::all(&files, &[]);
    let reports = run(&entries, &Loaded::new(&entries), &Settings::default(), false, &|_| {});
    reports.iter().filter(|report| report.status != Status::Passed).count()
}

fn report<'f>(entry: Entry<'f>, loaded: &Loaded, settings: &Settings) -> Report<'f> {
    let started = Instant::now();
    let mut splits = Vec::new();
    let verdict = match entry {
        Entry::Derived(derived) => check_derived(derived).map(|found| (found.into_iter().collect(), None)),
        Entry::Case(_, Err(broken)) | Entry::Chat(_, Err(broken)) => Err(broken.diagnostics.clone()),
        Entry::Case(file, Ok(case)) => verdict(file, case, loaded, settings).map(|verdict| {
            splits = verdict.splits;
            (verdict.diagnostics, Some(Meaning::Output(verdict.meaning)))
        }),
        Entry::Chat(file, Ok(case)) => loaded
            .chat(&case.chat_template, case.place(&file.text, case.span.clone()))
            .map(|_| match loaded.unrenderers.get(&Loaded::key(case)) {
                Some(unrenderer) => check_chat(case, &file.text, unrenderer),
                None => (Vec::new(), None),
            })
            .map(|(diagnostics, meaning)| (diagnostics, meaning.map(Meaning::Chat))),
    };
    let time = started.elapsed();
    match verdict {
        Ok((diagnostics, meaning)) => {
            let holds = diagnostics.iter().all(|found: &Diagnostic| found.severity < Severity::Error);
            let status = if holds { Status::Passed } else { Status::Failed };
            Report { entry, status, diagnostics, meaning, time, splits }
        }
        Err(diagnostics) => Report { entry, status: Status::NotRun, diagnostics, meaning: None, time, splits },
    }
}

fn verdict(file: &FixtureFile, case: &Case, loaded: &Loaded, settings: &Settings) -> Result<Verdict, Vec<Diagnostic>> {
    let text = &file.text;
    let place = || case.place(text, case.span.clone());
    let reader = loaded.reader(case, place())?;
    let template = match &*reader {
        TemplateOrSchema::Template(template) => template,
        TemplateOrSchema::Schema(schema) => return Ok(check_schema_case(case, text, schema, settings)),
    };
    let chat = case.chat_template.as_ref().map(|file| loaded.chat(file, place())).transpose()?;
    Ok(check_case(case, text, template, chat, settings))
}
