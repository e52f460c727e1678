//! `lint`: prints findings and applies fixes; a file is rewritten only by `--fix`.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::ArgAction;

use super::chat_options::{Budget, template_name};
use super::diagnostic_outputs::{Outputs, Results};
use super::known_values::{self, Names, one_of, rule_named};
use super::lint_config::Config;
use super::watch::{self, Watched};
use super::{Failure, Global, folders, input, template_file};
use backchat_chat::ChatTemplate;
use backchat_chat::source::{self as chat_source, Source};
use backchat_core::diagnostic::{Diagnostic, Rule, Severity, Sources, counted, escape};
use backchat_core::json::{self, Value};
use backchat_derive::targets::Target;
use backchat_legacy::schema::source::Stored;
use backchat_parser::template::source::{self, Opened, SourceError, SourceErrorKind};
use backchat_probe::diff::unified;
use backchat_workbench::answers::{self, LintOptions};
use backchat_workbench::lint;

/// Lint response templates and chat templates
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat lint response_template.json
  backchat lint --target vllm tokenizer_config.json
  backchat lint --fix templates/*.json
  backchat lint chat_template.jinja
  backchat lint templates
  backchat lint --fix --target portable response_template.json --chat-template chat_template.jinja
  backchat lint --explain RT001

`backchat.toml`, in this folder or a parent folder, also sets levels:
  [lint]
  target = [\"vllm\"]
  [lint.rules]
  portable-pattern = \"off\"
  [[lint.ignore]]
  file = \"old.json\"
  rules = [\"RT001\"]

Exit codes: 0 at most notes, 1 a warning or an error, 2 a template does not load or the command
could not run.")]
pub struct Lint {
    /// Response templates, response schemas and chat templates: JSON files, .jinja files, tokenizer_config.json, model
    /// folders, .gguf files, ORG/NAME in the Hugging Face cache, `-`, or a folder of such files. If a source contains both,
    /// both are linted
    #[arg(required_unless_present_any = ["explain", "chat_template"])]
    templates: Vec<String>,
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = known_values::target(), hide_possible_values = true, help = target_help())]
    target: Vec<&'static Target>,
    /// Also lint this chat template, and prove rewrites for the targets with it; the default for the proof is the one in the
    /// linted file
    #[arg(long, value_name = "SOURCE")]
    chat_template: Option<String>,
    /// Report markers for which this tokenizer.json, or the one in a model folder, has no token
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<String>,
    /// Make this rule an error
    #[arg(long, value_name = "RULE", value_parser = known_values::rule(), hide_possible_values = true)]
    deny: Vec<&'static Rule>,
    /// Make this rule a warning
    #[arg(long, value_name = "RULE", value_parser = known_values::rule(), hide_possible_values = true)]
    warn: Vec<&'static Rule>,
    /// Turn this rule off
    #[arg(long, value_name = "RULE", value_parser = known_values::rule(), hide_possible_values = true)]
    allow: Vec<&'static Rule>,
    /// Apply the safe fixes
    #[arg(long)]
    fix: bool,
    /// Print the safe fixes as a diff and change nothing
    #[arg(long)]
    diff: bool,
    /// Print the page of a rule, or the list of rules
    #[arg(long, value_name = "RULE", num_args = 0..=1, default_missing_value = "")]
    #[arg(value_parser = known_values::explained_rule(), hide_possible_values = true)]
    explain: Option<String>,
    /// Set the result for a source without a response template; with `pass` nothing in it is linted
    #[arg(long, value_name = "WHAT", default_value = "fail", value_parser = one_of(NO_TEMPLATE), action = ArgAction::Set)]
    no_template: bool,
    /// Read this file instead of backchat.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    budget: Budget,
    /// Run again whenever a file changes, with what changed on top; Ctrl-C ends
    #[arg(long, conflicts_with_all = ["fix", "explain"])]
    watch: bool,
    #[command(flatten)]
    outputs: Outputs,
}

/// Whether a source without a response template passes.
const NO_TEMPLATE: &Names<bool> =
    &[("fail", false, "Lint a chat template alone; exit with 2 if there is none"), ("pass", true, "Skip the source")];

/// What was found in all sources.
struct Findings {
    all: Vec<Diagnostic>,
    sources: Sources,
    /// Whether a template does not load.
    unusable: bool,
    /// How many sources were linted: those without a response template may be skipped.
    templates: usize,
}

impl Findings {
    fn add(&mut self, (found, sources): (Vec<Diagnostic>, Sources)) {
        self.all.extend(found);
        self.sources.extend(sources);
    }
}

/// How often a file is fixed and linted again at most: a fix may enable another.
const ROUNDS: usize = 10;

impl Lint {
    fn watched(&self) -> Watched {
        let named = self.templates.iter().chain(&self.chat_template).chain(&self.tokenizer).map(PathBuf::from);
        Watched::new(named.chain(self.config.clone())).without(self.outputs.files())
    }

    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if let Some(name) = &self.explain {
            return explain(name);
        }
        if self.watch {
            return watch::run("lint", &self.watched(), global);
        }
        let named = self.templates.iter().chain(&self.chat_template).chain(&self.tokenizer);
        input::stdin_once(named.map(|name| Some(name.as_str())), "pass a file for all inputs but one")?;
        let config = Config::read(self.config.as_deref())?;
        let mut targets = if self.target.is_empty() { config.targets.clone() } else { self.target.clone() };
        let mut seen = HashSet::new();
        targets.retain(|target| seen.insert(target.name));
        let named = self.chat_template.as_deref().map(|name| chat_source::open(name, None));
        let chat_template = named.transpose()?;
        let tokens = self.tokenizer.as_deref().map(|name| input::tokens(name).map(Arc::new)).transpose()?;
        let asked = LintOptions { targets: &targets, chat_template: chat_template.as_ref(), tokens: tokens.as_ref() };
        let mut findings = Findings { all: Vec::new(), sources: Sources::none(), unusable: false, templates: 0 };
        let names = self.names()?;
        let beside =
            chat_template.as_ref().filter(|_| !names.iter().any(|name| self.chat_template.as_ref() == Some(name)));
        if let Some(source) = beside {
            findings.templates += 1;
            findings.add(self.lint_chat_template(&source.clone().for_tools(), &config, global)?);
        }
        for name in &names {
            self.lint_source(name, asked, &config, global, &mut findings)?;
        }
        let Findings { all, sources, unusable, templates } = findings;
        if !self.diff {
            self.outputs
                .write(&Results { diagnostics: &all, by_cause: None, sources: &sources, suites: None }, global)?;
        }
        tell!(global, "{}", summary(&all, templates));
        let bad = all.iter().any(|found| found.severity > Severity::Note);
        Ok(ExitCode::from(if unusable { 2 } else { u8::from(bad) }))
    }

    /// Adds the findings about what a source has.
    fn lint_source(
        &self,
        name: &str,
        asked: LintOptions<'_>,
        config: &Config,
        global: &Global,
        findings: &mut Findings,
    ) -> Result<(), Failure> {
        let chat = answers::chat_templates(name)?;
        let response = self.open(name, !chat.is_empty());
        let has_none = match &response {
            Ok(found) => found.is_none(),
            Err(error) => error.kind() == SourceErrorKind::NoTemplate,
        };
        if self.no_template && has_none {
            tell!(global, "{} has no response template: skipped", escape(name));
            return Ok(());
        }
        findings.templates += 1;
        for source in &chat {
            findings.add(self.lint_chat_template(source, config, global)?);
        }
        match response {
            Ok(Some(Stored::Template(opened))) => {
                let (opened, found) = self.lint(opened, asked, config)?;
                findings.add((found, opened.sources));
            }
            Ok(Some(Stored::Schema(opened))) => {
                let found = backchat_legacy::lint::lint(&opened).into_iter();
                let found = found.filter_map(|finding| self.level(finding, &opened.file, config)).collect();
                findings.add((found, opened.sources));
            }
            Ok(None) => {}
            Err(error) => {
                findings.unusable = true;
                findings.add((error.diagnostics, error.sources));
            }
        }
        Ok(())
    }

    /// The sources to lint, with the templates in each folder that is not a model's.
    fn names(&self) -> Result<Vec<String>, Failure> {
        let given = if self.templates.is_empty() { self.chat_template.as_slice() } else { self.templates.as_slice() };
        let mut names = Vec::new();
        for name in given {
            if folders::is_collection(Path::new(name)) {
                let inside = folders::templates_in(name, is_response_template)?;
                names.extend(inside.into_iter().map(|file| file.to_string_lossy().into_owned()));
            } else {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str, has_chat_template: bool) -> Result<Option<Stored>, SourceError> {
        if self.fix && !self.diff && name != "-" {
            template_file::may_change(name, "see the changes with `--diff`, and fix your own copy")
                .map_err(|problem| SourceError::new(vec![problem], Sources::none()))?;
        }
        answers::response(name, has_chat_template)
    }

    /// The findings about the chat template of a source, with its text.
    fn lint_chat_template(
        &self,
        source: &Source,
        config: &Config,
        global: &Global,
    ) -> Result<(Vec<Diagnostic>, Sources), Failure> {
        let file = template_name(source);
        let found = self.budget.examine_and_note(&file, global, || answers::lint_chat_template(source))?;
        let found = found.into_iter().filter_map(|finding| self.level(finding, &file, config)).collect();
        Ok((found, Sources::none().with(file, ChatTemplate::normalize(&source.template))))
    }

    /// The findings about a template, after the fixes if `--fix` is given.
    fn lint(
        &self,
        opened: Opened,
        asked: LintOptions<'_>,
        config: &Config,
    ) -> Result<(Opened, Vec<Diagnostic>), Failure> {
        let find = |opened: &Opened| -> Vec<Diagnostic> {
            let found = asked.find(opened).into_iter();
            found.filter_map(|finding| self.level(finding, &opened.file, config)).collect()
        };
        let mut found = find(&opened);
        if !self.fix && !self.diff {
            return Ok((opened, found));
        }
        let before = opened.sources.text(Some(&opened.file));
        debug_assert!(before.is_some(), "an opened template holds its text");
        let before = before.unwrap_or("").to_owned();
        let (mut now, mut text) = (opened, before.clone());
        for _ in 0..ROUNDS {
            let (fixed, made) = lint::apply_fixes(&text, &found);
            if made == 0 {
                break;
            }
            now = source::from_text(now.file.clone(), fixed.clone())?;
            text = fixed;
            found = find(&now);
        }
        if self.diff {
            let shown = unified(&before, &text, 3, Some(&now.file));
            super::print(&shown)?;
        } else if text != before {
            if now.file == "<stdin>" {
                template_file::may_change("-", "pass a file, or use `--diff`")?;
            }
            super::signals::write(Path::new(&now.file), text)?;
        }
        Ok((now, found))
    }

    /// A finding at the user's level; `None` if the rule is off.
    fn level(&self, mut finding: Diagnostic, file: &str, config: &Config) -> Option<Diagnostic> {
        let named = |rules: &[&'static Rule]| rules.iter().any(|rule| rule.id == finding.id);
        let configured = config.levels.iter().rfind(|(id, _)| *id == finding.id).map(|(_, level)| *level);
        let level = match (named(&self.allow), named(&self.deny), named(&self.warn), configured) {
            (true, ..) => None,
            (_, true, ..) => Some(Severity::Error),
            (_, _, true, _) => Some(Severity::Warning),
            (_, _, _, Some(level)) => level,
            _ => Some(finding.severity),
        };
        if config.ignores.iter().any(|ignore| ignore.covers(file, finding.id)) {
            return None;
        }
        finding.severity = level?;
        Some(finding)
    }
}

/// Whether a file in a folder is a response template. A folder may hold other JSON, such as a vocabulary with the word
/// `fields`; a file that is not JSON is reported if it could be a template.
fn is_response_template(file: &Path) -> bool {
    if file.extension().is_none_or(|end| end != "json") {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let holds_template = |value: Value| value.get("fields").is_some() || value.get(source::KEY).is_some();
    text.contains("\"fields\"") && json::read(&text).map_or(true, holds_template)
}

fn target_help() -> String {
    format!("Also check what this reader refuses or misreads: {}; repeatable", known_values::target_names())
}

fn explain(name: &str) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    if name == "all" {
        for rule in lint::rules() {
            writeln!(out, "{}", rule.explain())?;
        }
    } else if name.is_empty() {
        for rule in lint::rules() {
            let what = known_values::first_sentence(rule.page.what);
            writeln!(out, "{}  {:<20} {:<8} {what}", rule.id, rule.name, rule.severity.name())?;
        }
    } else {
        let rule = rule_named(name).map_err(|message| Diagnostic::error("unknown-rule", message))?;
        write!(out, "{}", rule.explain())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(found: &[Diagnostic], templates: usize) -> String {
    let count = |severity| found.iter().filter(|finding| finding.severity == severity).count();
    let fixable = found.iter().filter(|finding| finding.fix.is_some()).count();
    let mut text = format!(
        "{}: {}, {}, {}",
        counted(templates, "template"),
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
        counted(count(Severity::Note), "note")
    );
    if fixable > 0 {
        text.push_str(&format!("; {fixable} can be fixed with `--fix`"));
    }
    text
}
