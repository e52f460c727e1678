//! `derive`: the draft goes to stdout or into a file, the report to stderr.

mod screen;
mod several;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::chat_options::{Budget, OutputFormat, Selected, announce, failed};
use super::hunt::{self, HuntOptions};
use super::known_values;
use super::report::Page;
use super::watch::{self, Watched};
use super::{Failure, Global, input};
use backchat_chat::source::Source;
use backchat_core::diagnostic::{Diagnostic, Place, Sources, escape, escape_json, shell_word};
use backchat_core::json::{self, Value};
use backchat_derive::derive::{self, Coverage, Derivation, Hunted, Options, Remedy, Status};
use backchat_derive::targets::Target;
use backchat_parser::template::Template;
use backchat_parser::template::source::write_into;
use backchat_probe::diff::unified;
use backchat_probe::doctor;
use backchat_workbench::answers::{self, samples};
use backchat_workbench::report;
#[cfg(feature = "tui")]
use backchat_workbench::session;

/// Derive a response template from a chat template, and prove it
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat derive tokenizer_config.json > response_template.json
  backchat derive models/mine --write
  backchat derive ORG/NAME -o response_template.json
  backchat derive chat_template.jinja --samples outputs.jsonl --explain
  backchat derive models/mine -o response_template.json --hunt
  backchat derive chat_templates -o derived
  backchat derive chat_templates --report atlas.html
  backchat derive models/mine --target vllm
  backchat derive --jsonl templates.jsonl > drafts.jsonl

The draft goes to stdout, the report to stderr. An unproved draft is printed as well, and the
exit code is then 1. Special tokens come from the source, from the files next to it
(tokenizer_config.json, special_tokens_map.json, generation_config.json, tokenizer.json),
and from --set. A sample is a row
{\"text\", \"prefix\"?, \"message\"?, \"tools\"?, \"id\"?}, or a whole file that is not JSON Lines.

With several sources, --report writes an index page, such as `atlas.html`, and a page for each
source in a folder of the same name, `atlas`.

Exit codes: 0 proved, 1 partial or inexpressible, 2 no draft; with several sources, the worst.
With --jsonl: 0 if every row is proved, else 1.")]
pub struct Derive {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, or `-`; give several, or a folder of them, to derive on all cores
    #[arg(value_name = "SOURCE", required_unless_present_any = ["jsonl", "samples"])]
    sources: Vec<String>,
    /// The source, if there is exactly one.
    #[arg(skip)]
    source: String,
    /// Derive from rows of a JSON Lines file: {"id", "chat_template" or "template", "bos_token"?, "eos_token"?, "set"?}
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["sources", "output", "write", "samples", "explain", "report", "playground", "hunt"])]
    jsonl: Option<String>,
    /// Write the draft to a file; with several sources, write each draft into this folder as soon as it is ready
    #[arg(short, long, value_name = "FILE", conflicts_with = "write")]
    output: Option<String>,
    /// Write the draft into the source's own tokenizer_config.json
    #[arg(long)]
    write: bool,
    /// Also test the draft on recorded outputs of the model, and learn from them
    #[arg(long, value_name = "FILE")]
    samples: Option<String>,
    /// Print the evidence and the proof as Markdown instead of the draft
    #[arg(long, conflicts_with_all = ["output", "write", "format"])]
    explain: bool,
    /// Open conversations that fail the proof, and unexplained samples, in the workbench
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["output", "write", "format", "explain"])]
    replay: bool,
    /// With --write, write the draft even if it is unproved
    #[arg(long, requires = "write", conflicts_with_all = ["output", "jsonl", "explain"])]
    #[cfg_attr(feature = "tui", arg(conflicts_with = "replay"))]
    partial: bool,
    /// With several sources, skip those whose draft is already in the folder
    #[arg(long, requires = "output", conflicts_with_all = ["write", "jsonl", "explain"])]
    resume: bool,
    /// Select the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    #[command(flatten)]
    selected: Selected,
    /// Name the field for reasoning, which is also its key in messages; the default is thinking if the chat template reads
    /// that or reasoning_content, or else the key that it reads
    #[arg(long, value_name = "NAME")]
    reasoning_field: Option<String>,
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = known_values::target(), hide_possible_values = true, help = target_help())]
    target: Vec<&'static Target>,
    #[command(flatten)]
    hunt: HuntOptions,
    #[command(flatten)]
    budget: Budget,
    /// Run again whenever a file changes, with what changed on top; Ctrl-C ends
    #[arg(long, conflicts_with_all = ["jsonl", "write", "resume"])]
    watch: bool,
    #[command(flatten)]
    page: Page,
}

/// Whether two paths lead to one file, which exists.
fn is_same_file(one: &str, other: &str) -> bool {
    let full = |path: &str| Path::new(path).canonicalize().ok();
    full(one).is_some_and(|one| Some(one) == full(other))
}

impl Derive {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.jsonl {
            return several::lines(self, file, global);
        }
        if let (true, Some(samples)) = (self.sources.is_empty(), &self.samples) {
            let message = "outputs alone do not show a format: `derive` also needs a chat template";
            let help = format!(
                "name the model's: `backchat derive SOURCE --samples {}`; without one, write a chat template that prints \
                 the markers of the outputs (docs/troubleshooting.md, \"You only have outputs\")",
                shell_word(samples)
            );
            return Err(Diagnostic::error("no-source", message).help(help).into());
        }
        if self.watch {
            let named = self.sources.iter().chain(&self.samples);
            let written = self.output.iter().map(PathBuf::from).chain(self.hunt.fixtures.iter().map(PathBuf::from));
            let written = written.chain(self.page.file().cloned());
            return watch::run("derive", &Watched::new(named).without(written), global);
        }
        input::stdin_once(
            self.sources.iter().chain(&self.samples).map(|name| Some(name.as_str())),
            "pass a file for all inputs but one",
        )?;
        let sources = several::expand(&self.sources)?;
        match sources.as_slice() {
            [item] if self.sources.contains(&item.source) => {
                Self { source: item.source.clone(), ..self.clone() }.one(global)
            }
            _ => {
                self.check_many()?;
                several::sources(self, sources, global)
            }
        }
    }

    /// Options that require a single source.
    fn check_many(&self) -> Result<(), Diagnostic> {
        #[cfg(feature = "tui")]
        let replay = self.replay;
        #[cfg(not(feature = "tui"))]
        let replay = false;
        let options = [
            ("--write", self.write),
            ("--explain", self.explain),
            ("--samples", self.samples.is_some()),
            ("--replay", replay),
            ("--hunt", self.hunt.hunt.is_some()),
        ];
        let Some((option, _)) = options.iter().find(|(_, given)| *given) else { return Ok(()) };
        let given = match self.sources.len() {
            1 => "a folder of them".to_owned(),
            count => count.to_string(),
        };
        let message = format!("`{option}` takes one source, not {given}");
        Err(Diagnostic::error("several-sources", message).help("run it once per source"))
    }

    fn one(&self, global: &Global) -> Result<ExitCode, Failure> {
        if self.resume {
            let diagnostic = Diagnostic::error("one-source", "`--resume` takes several sources, or a folder of them");
            return Err(diagnostic.help("leave it out: a single draft is always derived again").into());
        }
        let source = self.source_of(&self.source)?;
        announce("deriving from", &source, self.selected.template_name.as_deref(), global);
        if let Some(file) = self.output.as_deref().filter(|file| is_same_file(file, &source.file)) {
            let message = format!("the draft would replace {}, which it is derived from", escape(file));
            let help = "name another file, or use --write to put it into a tokenizer_config.json";
            return Err(Diagnostic::error("output-is-source", message).help(help).into());
        }
        let options = self.options(&source)?;
        self.check_fixtures()?;
        let (derivation, coverage) = self.covered(&source.template, &options);
        let derivation = derivation.with_tokens_of(&source);
        let hunted = self.hunted(&source, &derivation, &options, global)?;
        let is_refuted = hunted.as_ref().is_some_and(Hunted::refutes);
        let playground = self.page.playground(None)?;
        let page = || {
            let chat = (source.file.as_str(), source.template.as_str());
            report::derivation(chat, &derivation, coverage.as_ref(), &options, playground.as_ref())
        };
        self.page.write(global, page)?;
        if derivation.status == Status::Failed && self.format == OutputFormat::Text {
            return Err(failed(derivation.diagnostics, &source));
        }
        #[cfg(feature = "tui")]
        if self.replay {
            return self.replay(&derivation, &options, global);
        }
        let mut out = io::stdout().lock();
        match self.format {
            OutputFormat::Json => {
                let report = hunt::with_hunt(derivation.to_value(), hunted.as_ref());
                writeln!(out, "{}", escape_json(&report.to_string()))?;
            }
            OutputFormat::Text if self.explain => {
                out.write_all(derivation.explain(&source.file).as_bytes())?;
                out.write_all(coverage.map_or_else(String::new, |coverage| coverage.explain()).as_bytes())?;
                let is_new = existing(&self.source) != derivation.response_template;
                if derivation.status == Status::Proved && is_new && config_beside(&self.source).is_ok() {
                    tell!(global, "Next: {}", self.again(&["--write"]));
                }
            }
            OutputFormat::Text => self.deliver(&derivation, is_refuted, &mut out, global)?,
        }
        out.flush()?;
        self.write_fixtures(hunted.as_ref(), global)?;
        Ok(ExitCode::from(if is_refuted { 1 } else { exit_code(derivation.status) }))
    }

    /// Hunts for what refutes the proof of a draft, if that was asked for, and reports the result.
    fn hunted(
        &self,
        source: &Source,
        derivation: &Derivation,
        options: &Options,
        global: &Global,
    ) -> Result<Option<Hunted>, Failure> {
        let draft = derivation.response_template.as_ref().filter(|_| derivation.verdict.holds());
        let loaded = draft.and_then(|draft| Template::from_value(draft).ok());
        let (Some(hunt), Some(loaded)) = (self.hunt.asked(), loaded) else { return Ok(None) };
        let options = options.clone().budget(self.budget.work());
        let hunted = hunt::run(&source.template, &loaded.template, &options, hunt, global);
        let hunted = hunted.map_err(|found| failed(vec![found], source))?;
        if hunted.refutes() || !global.is_quiet() {
            hunt::text(&hunted).lines().for_each(|line| super::say!("{line}"));
        }
        Ok(Some(hunted))
    }

    /// Fixtures name the file of the draft.
    fn check_fixtures(&self) -> Result<(), Diagnostic> {
        if self.hunt.fixtures.is_some() && self.output.is_none() && !self.write {
            let message = "fixtures name the file of the draft, which is not written";
            return Err(Diagnostic::error("no-draft-file", message).help("write it with `-o FILE` or `--write`"));
        }
        Ok(())
    }

    fn write_fixtures(&self, hunted: Option<&Hunted>, global: &Global) -> Result<(), Failure> {
        let (Some(folder), Some(hunted)) = (&self.hunt.fixtures, hunted) else { return Ok(()) };
        let draft = self.output.as_ref().unwrap_or(&self.source);
        let set = self.selected.given.set.iter().cloned().collect();
        hunt::write_fixtures(folder, hunted, [draft, &self.source], &set, global)
    }

    /// Derives within the budget.
    fn derived(&self, chat_template: &str, options: &Options) -> Derivation {
        self.budget.examine(|| derive::derive(chat_template, options))
    }

    /// The same, with the coverage of the chat template if it is shown.
    fn covered(&self, chat_template: &str, options: &Options) -> (Derivation, Option<Coverage>) {
        if !self.explain && !self.page.is_asked() {
            return (self.derived(chat_template, options), None);
        }
        self.budget.examine(|| {
            let (derivation, shown) = derive::derive_and_show(chat_template, options);
            (derivation, Coverage::of(chat_template, shown, options))
        })
    }

    /// A source, with the special tokens of the files next to it.
    fn source_of(&self, name: &str) -> Result<Source, Failure> {
        Ok(self.selected.open(name)?.with_tokens_beside())
    }

    /// Options with the command line's settings for every source and row.
    fn completed(&self, options: Options) -> Options {
        let options = options.now(self.selected.given.clock()).targets(self.target.clone());
        options.reasoning_field(self.reasoning_field.clone())
    }

    fn options(&self, source: &Source) -> Result<Options, Failure> {
        let options = self.completed(Options::for_source(source)).variables(self.selected.given.variables(source));
        Ok(options.samples(self.samples.as_deref().map(samples).transpose()?.unwrap_or_default()))
    }

    /// Writes the draft to its destination, and the report.
    fn deliver(
        &self,
        derivation: &Derivation,
        is_refuted: bool,
        out: &mut impl Write,
        global: &Global,
    ) -> Result<(), Failure> {
        let known = existing(&self.source);
        self.report(derivation, known.as_ref(), global);
        let Some(draft) = &derivation.response_template else { return Ok(()) };
        let is_proved = derivation.status == Status::Proved && !is_refuted;
        let text = written(draft);
        if self.write && !is_proved && !self.partial {
            tell!(global, "The draft is not proved and was not written; `--partial` writes it anyway.");
        } else if self.write {
            let loaded = Template::from_value(draft)
                .map_err(|error| Failure::Diagnostics { diagnostics: error.diagnostics, sources: Sources::none() })?;
            let target = config_beside(&self.source)?;
            if known.is_none_or(|known| known != *draft) {
                super::signals::uninterrupted(|| write_into(&target, &loaded.template))?;
                tell!(global, "Wrote `response_template` into {}.", escape(&target));
            }
        } else if let Some(file) = &self.output {
            super::signals::write(Path::new(file), text)?;
            tell!(global, "Wrote {}.", escape(file));
        } else {
            out.write_all(text.as_bytes())?;
        }
        if !is_proved && !global.is_quiet() {
            self.warn_of_agents()?;
        }
        match is_proved {
            true => self.after_success(global),
            false => self.after_failure(derivation, global),
        }
        Ok(())
    }

    /// Names the repair of a chat template that does not take the conversations of agents.
    fn warn_of_agents(&self) -> Result<(), Failure> {
        if self.source == "-" {
            // A pipe cannot be read a second time.
            return Ok(());
        }
        let source = self.source_of(&self.source)?;
        let given = &self.selected.given;
        let options = doctor::Options::default().variables(given.variables(&source)).now(given.clock());
        if let Ok(template) = answers::compile(&source)
            && let Some(warning) = answers::agents_warning(&template, &options, &self.source)
        {
            super::note(&screen::note(&warning));
        }
        Ok(())
    }

    /// Suggests the command after a proved draft.
    fn after_success(&self, global: &Global) {
        if self.write {
            tell!(global, "Next: {}, for the pull request", self.again(&["--explain"]));
        } else if let Some(file) = &self.output {
            tell!(global, "Next: backchat lint {}", shell_word(file));
        } else if self.source == "-" {
            // A pipe cannot be read a second time.
        } else if config_beside(&self.source).is_ok() {
            tell!(global, "Next: {}", self.again(&["--write"]));
        } else {
            tell!(global, "Next: {}", self.again(&["-o", "response_template.json"]));
        }
    }

    /// Suggests a command after an unproved draft: options with which it is proved, or a way to see what is misread.
    fn after_failure(&self, derivation: &Derivation, global: &Global) {
        if self.source == "-" {
            return;
        }
        let free = Self { target: Vec::new(), ..self.clone() };
        let proved = match derivation.remedy() {
            Some(Remedy::NoTarget) => Some(free.again(&[])),
            Some(Remedy::Target(name)) => Some(free.again(&["--target", name])),
            _ => None,
        };
        if let Some(proved) = proved {
            tell!(global, "Next: {proved}, which is proved");
            return;
        }
        let has_failed = !derivation.verdict.failures.is_empty() || !derivation.explained.departures.is_empty();
        let look = if cfg!(feature = "tui") && has_failed { "--replay" } else { "--explain" };
        tell!(global, "Next: {}, to see what it does not read", self.again(&[look]));
    }

    /// Opens the misread conversations and samples in the workbench.
    #[cfg(feature = "tui")]
    fn replay(&self, derivation: &Derivation, options: &Options, global: &Global) -> Result<ExitCode, Failure> {
        self.report(derivation, None, global);
        let Some(draft) = &derivation.response_template else {
            return Ok(ExitCode::from(exit_code(derivation.status)));
        };
        let given = unread(derivation, draft, options);
        if given.is_empty() {
            tell!(global, "Every conversation parses back exactly: there is nothing to replay.");
            return Ok(ExitCode::from(exit_code(derivation.status)));
        }
        let again = self.clone();
        let origin = session::Origin {
            command: self.again(&["--replay"]),
            derive: Box::new(move || {
                let problem = |failure: Failure| session::Problem::from(failure);
                let source = again.source_of(&again.source).map_err(problem)?;
                let options = again.options(&source).map_err(problem)?;
                Ok(session::derived(&again.derived(&source.template, &options)))
            }),
        };
        super::replay::show_given(given, origin, global)
    }

    /// This command with other options for the destination of the result.
    fn again(&self, options: &[&str]) -> String {
        let mut words = vec!["backchat".to_owned(), "derive".to_owned(), shell_word(&self.source)];
        let mut give = |option: &str, value: &str| words.extend([option.to_owned(), shell_word(value)]);
        for (name, value) in &self.selected.given.set {
            let value = value
                .as_str()
                .filter(|text| json::read(text).is_err())
                .map_or_else(|| value.to_string(), str::to_owned);
            give("--set", &format!("{name}={value}"));
        }
        let given = [
            ("--template-name", &self.selected.template_name),
            ("--reasoning-field", &self.reasoning_field),
            ("--samples", &self.samples),
        ];
        given.iter().for_each(|(option, value)| value.iter().for_each(|value| give(option, value)));
        // These options have not been set before.
        if !options.contains(&"--target") {
            self.target.iter().for_each(|target| give("--target", target.name));
        }
        if self.partial {
            words.push("--partial".to_owned());
        }
        words.extend(options.iter().map(|option| (*option).to_owned()));
        words.join(" ")
    }

    /// The short report on standard error.
    fn report(&self, derivation: &Derivation, known: Option<&Value>, global: &Global) {
        if global.is_quiet() && derivation.status == Status::Proved {
            return;
        }
        screen::report(derivation).iter().for_each(|line| super::say!("{line}"));
        if let (Some(known), Some(draft)) = (known, &derivation.response_template) {
            let lines = differences(known, draft);
            if lines.is_empty() {
                super::say!("The existing response template is the same.");
            } else {
                super::say!("The existing response template differs:");
                lines.iter().for_each(|line| super::say!("  {}", escape(line)));
            }
        }
    }
}

fn target_help() -> String {
    let names = known_values::target_names();
    format!("Restrict the draft to what this reader accepts, including its name for reasoning: {names}; repeatable")
}

/// The failing conversations and the unexplained samples.
#[cfg(feature = "tui")]
fn unread(derivation: &Derivation, draft: &Value, options: &Options) -> Vec<session::GeneratedOutput> {
    let Ok(loaded) = Template::from_value(draft) else { return Vec::new() };
    let generated = |conversation| session::GeneratedOutput { template: loaded.template.clone(), conversation };
    let failures = derivation.verdict.failures.iter().map(session::Conversation::from);
    let unexplained = options
        .samples
        .iter()
        .filter(|sample| derivation.explained.departures.iter().any(|departure| departure.sample == sample.name));
    let samples = unexplained.map(|sample| session::Conversation {
        name: sample.name.clone(),
        prefix: sample.prefix.clone().unwrap_or_default(),
        output: sample.text.clone(),
        tools: sample.tools.clone(),
        expected: sample.message.as_ref().and_then(Value::as_object).cloned(),
    });
    failures.chain(samples).map(generated).collect()
}

/// A draft as `derive` writes it: no character of it affects a terminal.
fn written(draft: &Value) -> String {
    escape_json(&format!("{}\n", draft.to_pretty("  "))).into_owned()
}

/// The exit code of `derive` and `prove`.
pub(super) fn exit_code(status: Status) -> u8 {
    match status {
        Status::Proved => 0,
        Status::Partial | Status::Inexpressible => 1,
        _ => 2,
    }
}

/// The existing response template next to the chat template.
fn existing(source: &str) -> Option<Value> {
    let config = config_beside(source).ok()?;
    input::json(&config).ok()?.get("response_template").cloned()
}

/// The `tokenizer_config.json` that belongs to a source.
fn config_beside(source: &str) -> Result<String, Failure> {
    const CONFIG: &str = "tokenizer_config.json";
    let path = Path::new(source);
    let found = if path.is_dir() {
        path.join(CONFIG)
    } else if path.file_name().is_some_and(|name| name == CONFIG) {
        path.to_owned()
    } else {
        path.with_file_name(CONFIG)
    };
    if source != "-" && found.is_file() {
        return Ok(found.to_string_lossy().into_owned());
    }
    let message = match input::is_cached(source) {
        true => "the Hugging Face cache is read-only",
        false => "there is no tokenizer_config.json to write to",
    };
    Err(Diagnostic::error("no-config", message)
        .at(Place::file(input::name(source)))
        .help("use a copy of the model folder that has one, or write to a file with `-o FILE`")
        .into())
}

/// The lines in which two templates differ, as a diff.
fn differences(known: &Value, draft: &Value) -> Vec<String> {
    let (a, b) = (known.to_pretty("  "), draft.to_pretty("  "));
    unified(&a, &b, 0, None).lines().filter(|line| !line.starts_with(['@', '\\'])).map(str::to_owned).collect()
}
