use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::outputs::{Found, Outputs};
use super::progress::Progress;
use super::report::Report as Page;
use super::{Failure, Global, input, path_from};
use crate::check::fixture::{self, Blessed, BlessedChat, Case, ChatCase, FixtureFile};
use crate::check::{self, Entry, Loaded, Meaning, Report, Settings, Status};
use crate::diagnostic::{self, Diagnostic, Place, Severity, Sources, Suite};
use crate::report;
use crate::template::source::{self, replace_file};

/// Check templates against fixtures
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat check tests/fixtures
  backchat check --filter 'parallel' --fail-fast
  backchat check --bless=new outputs.fixture
  backchat check --new first --template response_template.json
  backchat check --output report.xml --output report.sarif

Exit status: 0 every case holds, 1 a case does not hold, 2 a case or the command could not run, 4 no case was selected.
`docs/fixtures.md` says how fixtures are written.")]
pub struct Check {
    /// Files of cases, or folders with such files
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// Write what each output means into its case; `=new` only where the case says nothing yet
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    bless: Option<Bless>,
    /// Bless also where the variable CI is set
    #[arg(long, requires = "bless")]
    force: bool,
    /// Only cases with this text in their path or name
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Print the names of the cases and check nothing
    #[arg(long)]
    list: bool,
    /// Stop at the first case that does not hold
    #[arg(long)]
    fail_fast: bool,
    /// Only the K-th of N parts of the cases
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// How many seconds a case may take
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    timeout: f64,
    /// What random chunkings are drawn from
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// What to make of answers of transformers that depend on how the text is cut
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    reference: Level,
    /// What to make of a run in which no case was selected
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    no_tests: NoTests,
    /// Write a first file of cases, PATH/NAME.fixture, made from the template
    #[arg(long, value_name = "NAME", requires = "template")]
    new: Option<String>,
    /// The template of the new file
    #[arg(long, value_name = "TEMPLATE", requires = "new")]
    template: Option<String>,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    page: Page,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Bless {
    /// Missing and changed expectations
    All,
    /// Missing expectations
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Level {
    /// Do not look
    Off,
    /// Say so
    Warn,
    /// Fail
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum NoTests {
    /// Exit with 4
    Fail,
    /// Exit with 0
    Pass,
}

/// One of several parts of the cases.
#[derive(Clone, Copy, Debug)]
struct Shard {
    part: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of => Ok(Self { part, of }),
            _ => Err("write it as K/N with 1 ≤ K ≤ N, such as 1/4".to_owned()),
        }
    }
}

impl Check {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if let (Some(name), Some(template)) = (&self.new, &self.template) {
            return self.start(name, template, global);
        }
        self.may_bless()?;
        let started = Instant::now();
        let limit = Duration::try_from_secs_f64(self.timeout).map_err(|_| {
            Diagnostic::error("bad-argument", format!("`--timeout {}` is no time", self.timeout))
                .help("write a number of seconds from 0 on")
        })?;
        let paths = check::fixture_files(&self.paths)?;
        let is_case = |path: &&PathBuf| check::derived_files(std::slice::from_ref(*path)).is_empty();
        let files: Vec<FixtureFile> = paths.iter().filter(is_case).map(|path| fixture::read(path)).collect();
        let derived = check::derived_files(&self.paths);
        let entries = self.select(Entry::all(&files, &derived));
        if self.list {
            let mut out = io::stdout().lock();
            for entry in &entries {
                writeln!(out, "{}", diagnostic::escape(&entry.id()))?;
            }
        }
        if entries.is_empty() {
            return Ok(self.nothing(&files, global));
        }
        if self.list {
            return Ok(ExitCode::SUCCESS);
        }

        let reference = match self.reference {
            Level::Off => None,
            Level::Warn => Some(Severity::Warning),
            Level::Deny => Some(Severity::Error),
        };
        let settings = Settings { seed: self.seed, limit, reference };
        let loaded = Loaded::new(&entries);
        let progress = Mutex::new(Progress::new(global, "cases", Some(entries.len() as u64)));
        let mut reports = check::run(&entries, &loaded, &settings, self.fail_fast, &|done| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).advance(1, done as u64);
        });
        progress.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        let blessed = match self.bless {
            Some(which) => bless(&files, &mut reports, which)?,
            None => 0,
        };

        let mut sources = loaded.sources;
        for file in &files {
            sources = sources.with(&file.file, &file.text);
        }
        self.page.write(global, || {
            let paths: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
            report::check(&paths.join(", "), &reports)
        })?;
        self.tell(&reports, &sources, global)?;
        if !global.is_quiet() {
            super::say!("{}", summary(&reports, blessed, started.elapsed()));
        }
        Ok(ExitCode::from(worst(&reports)))
    }

    /// Writes a first file of cases.
    fn start(&self, name: &str, template: &str, global: &Global) -> Result<ExitCode, Failure> {
        let opened = source::open(template)?;
        let folder = self.paths.first().map_or(Path::new("."), PathBuf::as_path);
        let path = folder.join(format!("{name}.{}", fixture::EXTENSION));
        let shown = path.strip_prefix(".").unwrap_or(&path).display().to_string();
        if path.exists() {
            let problem = Diagnostic::error("file-exists", "the file is there already").at(Place::file(&shown));
            return Err(problem.help("give the new file another name").into());
        }
        let text = check::starter(&opened.loaded.template, &path_from(folder, Path::new(template)));
        super::signals::uninterrupted(|| replace_file(&path, text.as_bytes()))
            .map_err(|error| input::cannot_write(&shown, &error))?;
        if !global.is_quiet() {
            let cases = text.matches("\n=== case ").count();
            super::say!(
                "{}: {cases} cases; read what they mean, then run `backchat check`",
                diagnostic::escape(&shown)
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    fn may_bless(&self) -> Result<(), Diagnostic> {
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
        if self.bless.is_some() && in_ci && !self.force {
            let message = "expectations are not written where the variable CI is set: a check would always hold";
            return Err(Diagnostic::error("bless-in-ci", message).help("bless on your machine, or add `--force`"));
        }
        Ok(())
    }

    fn select<'f>(&self, mut entries: Vec<Entry<'f>>) -> Vec<Entry<'f>> {
        if let Some(filter) = &self.filter {
            entries.retain(|entry| entry.id().contains(filter));
        }
        if let Some(Shard { part, of }) = self.shard {
            return entries.into_iter().skip(part - 1).step_by(of).collect();
        }
        entries
    }

    /// There is no case to check.
    fn nothing(&self, files: &[FixtureFile], global: &Global) -> ExitCode {
        if !global.is_quiet() {
            let paths: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
            let paths = diagnostic::escape(&paths.join(", ")).into_owned();
            match (files, &self.filter) {
                ([], _) => {
                    super::say!("no fixtures in {paths}; start with `backchat check --new NAME --template TEMPLATE`")
                }
                (_, Some(filter)) => super::say!("no case in {paths} has `{}` in its name", diagnostic::escape(filter)),
                _ => super::say!("no case in {paths} was selected"),
            }
        }
        match self.no_tests {
            NoTests::Fail => ExitCode::from(4),
            NoTests::Pass => ExitCode::SUCCESS,
        }
    }

    fn tell(&self, reports: &[Report<'_>], sources: &Sources, global: &Global) -> Result<(), Failure> {
        let mut seen = HashSet::new();
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        let mut suites: Vec<Suite> = Vec::new();
        for report in reports {
            // What is wrong with a template, or with what cases share, is said once.
            let file = report.entry.file();
            let is_own = |place: &Place| place.file.as_deref() == Some(&*file);
            let new = report.diagnostics.iter().filter(|found| {
                report.status != Status::NotRun && found.place.as_ref().is_none_or(is_own)
                    || seen.insert(format!("{:?}", (found.id, &found.message, &found.place)))
            });
            diagnostics.extend(new.cloned());
            if suites.last().is_none_or(|suite| suite.name != file) {
                suites.push(Suite { name: file.to_string(), cases: Vec::new() });
            }
            if let Some(suite) = suites.last_mut() {
                let name = report.entry.name().into_owned();
                let diagnostics = report.diagnostics.clone();
                suite.cases.push(diagnostic::Case { name, time: Some(report.time), diagnostics });
            }
        }
        self.outputs.write(&Found { diagnostics: &diagnostics, sources, suites: Some(&suites) }, global)
    }
}

/// Writes expectations into the files, and takes back the complaints that this answers. Gives how many cases changed.
fn bless(files: &[FixtureFile], reports: &mut [Report<'_>], which: Bless) -> Result<usize, Failure> {
    let mut count = 0;
    for file in files {
        let mut changed: Vec<(&Case, Blessed)> = Vec::new();
        let mut chats: Vec<(&ChatCase, BlessedChat)> = Vec::new();
        for report in reports.iter_mut() {
            let answered: &[&str] = match (report.entry, &report.meaning) {
                (Entry::Case(of, Ok(case)), Some(Meaning::Output(meaning))) if std::ptr::eq(of, file) => {
                    let Some(new) = new_expectation(case, meaning, which) else { continue };
                    changed.push((case, new));
                    &["check-message", "check-unsaid", "check-problem", "check-events"]
                }
                (Entry::Chat(of, Ok(case)), Some(Meaning::Chat(meaning))) if std::ptr::eq(of, file) => {
                    let is_said = case.messages.as_ref().is_some_and(|said| said.value == meaning.messages)
                        && case.tools.as_ref().is_none_or(|said| Some(&said.value) == meaning.tools.as_ref());
                    if is_said || which == Bless::New && case.messages.is_some() {
                        continue;
                    }
                    chats.push((case, meaning.clone()));
                    &["check-messages", "check-unsaid", "check-tools"]
                }
                _ => continue,
            };
            report.diagnostics.retain(|found| !answered.contains(&found.id));
            if report.status == Status::Failed
                && report.diagnostics.iter().all(|found| found.severity < Severity::Error)
            {
                report.status = Status::Passed;
            }
        }
        if changed.is_empty() && chats.is_empty() {
            continue;
        }
        count += changed.len() + chats.len();
        let text = fixture::rewrite(file, &changed, &chats);
        super::signals::uninterrupted(|| replace_file(Path::new(&file.file), text.as_bytes()))
            .map_err(|error| input::cannot_write(&file.file, &error))?;
    }
    Ok(count)
}

/// What a case should say from now on, where that is not what it says.
fn new_expectation(case: &Case, meaning: &Blessed, which: Bless) -> Option<Blessed> {
    let expected = &case.expected;
    let nothing_said = expected.message.is_none() && (expected.error.is_none() || meaning.message.is_some());
    match which {
        Bless::New if !nothing_said => None,
        Bless::New => {
            let mut new = meaning.clone();
            if let Some(error) = &expected.error {
                new.error = error.value.clone();
            }
            if let Some(events) = &expected.events {
                new.events = events.value.clone();
            }
            Some(new)
        }
        Bless::All => {
            let is_said = expected.message.as_ref().map(|message| &message.value) == meaning.message.as_ref()
                && expected.error.as_ref().map_or(&[][..], |error| &error.value) == meaning.error.as_slice()
                && expected.events.as_ref().is_none_or(|events| events.value == meaning.events);
            (!is_said).then(|| meaning.clone())
        }
    }
}

fn worst(reports: &[Report<'_>]) -> u8 {
    let has = |status| reports.iter().any(|report| report.status == status);
    match (has(Status::NotRun), has(Status::Failed)) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

fn summary(reports: &[Report<'_>], blessed: usize, time: Duration) -> String {
    let count = |status| reports.iter().filter(|report| report.status == status).count();
    let (passed, failed, not_run) = (count(Status::Passed), count(Status::Failed), count(Status::NotRun));
    let cases = if reports.len() == 1 { "case" } else { "cases" };
    let mut text = format!("{} {cases}: {passed} passed", reports.len());
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if not_run > 0 {
        text.push_str(&format!(", {not_run} could not run"));
    }
    if blessed > 0 {
        text.push_str(&format!(", {blessed} blessed"));
    }
    text.push_str(&format!(" ({:.2} s)", time.as_secs_f64()));
    text
}
