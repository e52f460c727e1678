//! `backchat check`: checks, blesses and creates fixtures.

mod hunts;
mod new;
mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::case_selection::Cases;
use super::chat_options::assignment;
use super::diagnostic_outputs::Outputs;
use super::hunt;
use super::known_values::{Names, one_of};
use super::progress::Progress;
use super::report::Page;
use super::watch::{self, Watched};
use super::{Failure, Global, input, signals, template_file};
use backchat_core::diagnostic::{self, Diagnostic, Severity};
use backchat_core::json::Value;
use backchat_derive::derive::Hunt;
use backchat_parser::template::source::replace_file;
use backchat_workbench::check::fixture::FixtureFile;
use backchat_workbench::check::{self, Entry, Loaded, Pending, Report, Settings, TemplateRepair, Which};

/// Check templates against fixtures
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat check tests/fixtures
  backchat check --filter 'parallel' --fail-fast
  backchat check --bless=new outputs.fixture
  backchat check --fix tests/fixtures
  backchat check --new ./my-model tests/fixtures
  backchat check --new ./my-model --from record.jsonl
  backchat check tests/fixtures --hunt
  backchat check --output report.xml --output report.sarif

Exit codes: 0 every case passes, 1 a case fails, 2 a case or the command could not run,
4 no case was selected.
`docs/fixtures.md` describes the format of fixtures.")]
pub struct Check {
    #[command(flatten)]
    cases: Cases,
    /// Write the message of each output into its case; `=new` fills only empty expectations
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    #[arg(value_parser = one_of(BLESS))]
    bless: Option<Which>,
    /// Bless even if the variable CI is set
    #[arg(long, requires = "bless", conflicts_with = "new")]
    force: bool,
    /// Write the repairs of templates into their files, show them as a diff, and check again
    #[arg(long, conflicts_with_all = ["bless", "list", "new", "fail_fast"])]
    fix: bool,
    /// Print the names of the cases and check nothing
    #[arg(long)]
    list: bool,
    /// Stop at the first case that fails
    #[arg(long)]
    fail_fast: bool,
    /// Check only shard K of N
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Also prove the templates of the cases that name a chat template, and try N random conversations with each, as
    /// `prove --hunt` does
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "2000", value_parser = hunt::number())]
    #[arg(conflicts_with_all = ["bless", "list", "new"])]
    hunt: Option<usize>,
    /// Set the seed of random chunkings, and of the conversations of `--hunt`
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Set how to report cases in which transformers' answer depends on how the text is cut
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = one_of(REFERENCE))]
    reference: Level,
    /// Set the result of a run that selects no case
    #[arg(long, value_name = "WHAT", default_value = "fail", value_parser = one_of(NO_TESTS))]
    no_tests: u8,
    /// Write a first fixture file to PATH: typical turns, rendered with the chat template of a model folder, .jinja
    /// file, tokenizer_config.json or ORG/NAME, and parsed with its response template or with `--template`
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["bless", "list", "filter"])]
    new: Option<String>,
    /// With --new, make one case of each distinct complete output in this file instead, such as one that `backchat
    /// serve --record` wrote
    #[arg(long, value_name = "RECORD", requires = "new", conflicts_with_all = ["bless", "list", "filter"])]
    from: Option<String>,
    /// With --new, set a chat template variable; the value is JSON, or else text
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, requires = "new")]
    #[arg(conflicts_with_all = ["from", "bless", "list", "filter"])]
    set: Vec<(String, Value)>,
    /// Run again whenever a file changes, with what changed on top; Ctrl-C ends
    #[arg(long, conflicts_with_all = ["bless", "fix", "list", "new"])]
    watch: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    page: Page,
}

const BLESS: &Names<Which> = &[
    ("all", Which::All, "Fill empty expectations and replace changed ones"),
    ("new", Which::New, "Fill empty expectations"),
];

/// The severity of a finding, unless it is not checked. A field of type `Option` would be an option without a default.
type Level = Option<Severity>;

const REFERENCE: &Names<Level> = &[
    ("off", None, "Do not check"),
    ("warn", Some(Severity::Warning), "Report a warning"),
    ("deny", Some(Severity::Error), "Fail"),
];

/// The exit codes.
const NO_TESTS: &Names<u8> = &[("fail", 4, "Exit with 4"), ("pass", 0, "Exit with 0")];

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

fn list(entries: &[Entry<'_>]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    entries.iter().try_for_each(|entry| writeln!(out, "{}", diagnostic::escape(&entry.id())))
}

impl Check {
    fn watched(&self) -> Watched {
        let named = self.cases.paths.iter().cloned().chain(self.cases.template.as_ref().map(PathBuf::from));
        Watched::new(named).without(self.outputs.files().chain(self.page.file()))
    }

    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if let Some(model) = &self.new {
            return new::run(model, self.from.as_deref(), &self.set, &self.cases, global);
        }
        if self.watch {
            return watch::run("check", &self.watched(), global);
        }
        self.may_bless()?;
        if let Some(template) = self.cases.template.as_deref().filter(|_| self.fix) {
            template_file::may_change(template, "save the template, and name its file")?;
        }
        let started = Instant::now();
        let playground = self.page.playground(None)?;
        let files = self.cases.files()?;
        let derived = self.cases.derived();
        let entries = self.select(Entry::all(&files, &derived));
        if self.list {
            list(&entries)?;
        }
        if entries.is_empty() {
            tell!(global, "{}", self.cases.nothing(&files));
            return Ok(ExitCode::from(self.no_tests));
        }
        if self.list {
            return Ok(ExitCode::SUCCESS);
        }

        let settings = Settings { seed: self.seed, limit: self.cases.timeout, reference: self.reference };
        let mut loaded = Loaded::new(&entries);
        let mut reports = self.reports(&entries, &loaded, &settings, global);
        let blessed = match self.bless {
            Some(which) => bless(&files, &mut reports, which)?,
            None => 0,
        };
        let mut repairs = check::repairs(&reports, &mut loaded, &settings);
        if self.fix {
            write_repairs(&std::mem::take(&mut repairs), global)?;
            loaded = Loaded::new(&entries);
            reports = self.reports(&entries, &loaded, &settings, global);
        }
        reports.iter_mut().for_each(Report::drop_repeated);
        if let Some(conversations) = self.hunt {
            hunts::run(&mut reports, &loaded, Hunt { conversations, seed: self.seed }, global)?;
        }

        self.page.write(global, || {
            let paths: Vec<_> = self.cases.paths.iter().map(|path| path.display().to_string()).collect();
            let name = paths.join(", ");
            backchat_workbench::report::check(&name, &reports, &repairs, &loaded, playground.as_ref())
        })?;
        let fixtures = files.iter().map(|file| (&file.file, &file.text));
        let repaired = repairs.iter().map(|repair| (&repair.file, &repair.before));
        let sources = loaded.sources;
        let sources = fixtures.chain(repaired).fold(sources, |sources, (file, text)| sources.with(file, text));
        report::write(&reports, &repairs, &sources, &self.outputs, global)?;
        tell!(global, "{}", report::summary(&reports, &repairs, blessed, started.elapsed()));
        Ok(ExitCode::from(report::worst(&reports)))
    }

    fn reports<'f>(
        &self,
        entries: &[Entry<'f>],
        loaded: &Loaded,
        settings: &Settings,
        global: &Global,
    ) -> Vec<Report<'f>> {
        let progress = Mutex::new(Progress::new(global, "cases", Some(entries.len() as u64)));
        let reports = check::run(entries, loaded, settings, self.fail_fast, &|done| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).advance(1, done as u64);
        });
        progress.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        reports
    }

    fn may_bless(&self) -> Result<(), Diagnostic> {
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
        if self.bless.is_some() && in_ci && !self.force {
            let message = "expectations are not written if the variable CI is set: every check would pass";
            return Err(Diagnostic::error("bless-in-ci", message).help("bless on your own machine, or add `--force`"));
        }
        Ok(())
    }

    fn select<'f>(&self, mut entries: Vec<Entry<'f>>) -> Vec<Entry<'f>> {
        entries.retain(|entry| self.cases.selects(entry));
        if let Some(Shard { part, of }) = self.shard {
            return entries.into_iter().skip(part - 1).step_by(of).collect();
        }
        entries
    }
}

/// Writes the repairs of templates into their files.
fn write_repairs(repairs: &[TemplateRepair], global: &Global) -> Result<(), Failure> {
    for repair in repairs {
        let message = format!("{}: {}", repair.message(), repair.effect());
        template_file::write(&repair.file, &repair.before, &repair.after, &message, global)?;
    }
    Ok(())
}

/// Writes expectations into the files, and removes the findings that this resolves. Returns how many cases changed.
fn bless(files: &[FixtureFile], reports: &mut [Report<'_>], which: Which) -> Result<usize, Failure> {
    let mut count = 0;
    for file in files {
        let mut changed: Vec<Pending<'_>> = Vec::new();
        for report in reports.iter_mut().filter(|report| report.entry.is_in(file)) {
            let Some(pending) = report.pending(which) else { continue };
            report.settle(&pending);
            changed.push(pending);
        }
        if !changed.is_empty() {
            count += changed.len();
            signals::uninterrupted(|| write_cases(file, &changed))?;
        }
    }
    Ok(count)
}

/// Writes expectations into a file of cases. The caller handles signals.
pub(super) fn write_cases(file: &FixtureFile, pending: &[Pending<'_>]) -> Result<(), Failure> {
    replace_file(Path::new(&file.file), check::written(file, pending).as_bytes())
        .map_err(|error| input::cannot_write(&file.file, &error).into())
}
