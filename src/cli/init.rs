//! `backchat init`: writes a test suite for a model, ready to be committed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::chat_options::Budget;
use super::{Failure, Global, input, signals};
use backchat_chat::ChatTemplate;
use backchat_chat::source::{self as chat_source, Source};
use backchat_core::diagnostic::{Diagnostic, Sources, counted, escape, shell_word};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{self, Derivation, Options, ReadableTurns, Status};
use backchat_parser::template::Template;
use backchat_parser::template::source::{Opened, SourceErrorKind, write_into};
use backchat_probe::doctor;
use backchat_workbench::answers::{NOW, samples};
use backchat_workbench::check::{self, Chat, Names};
use backchat_workbench::suite::{self, Home};

/// Write a test suite for a model: its response template, fixtures, and CI configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat init models/mine
  backchat init models/mine --samples outputs.jsonl
  backchat init chat_template.jinja suites/mine

`init` overwrites nothing: a second run writes only what is missing. Paths in the suite are
relative, so the suite can be moved.

Exit codes: 0 every case passes, 1 the response template is not proved or a case fails,
2 could not run.")]
pub struct Init {
    /// A model folder, .jinja file, tokenizer_config.json, .gguf file, or ORG/NAME in the Hugging Face cache
    model: String,
    /// The folder of the suite [default: the model's own, or one named after it]
    folder: Option<PathBuf>,
    /// Add recorded outputs of the model as cases
    #[arg(long, value_name = "FILE")]
    samples: Option<String>,
    #[command(flatten)]
    budget: Budget,
}

/// Finished steps, and steps left to do.
#[derive(Default)]
struct Log {
    done: Vec<(&'static str, String, String)>,
    left: Vec<String>,
    is_failing: bool,
}

impl Init {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if self.model == "-" && self.folder.is_none() {
            let problem = Diagnostic::error("no-folder", "a chat template from standard input names no folder");
            return Err(problem.help("name the folder of the suite: `backchat init - suites/mine`").into());
        }
        let given = self.samples.as_deref().map(samples).transpose()?.unwrap_or_default();
        let home = Home::choose(&self.model, self.folder.as_deref());
        let mut log = Log::default();
        let source = self.open(&home)?;
        let options = Options::for_source(&source).samples(given).budget(self.budget.work());
        // Nothing is written until the draft exists.
        let template = match template_in(&home.folder)? {
            Some(opened) => {
                log.note("kept", &opened.file, "it has a response template");
                copy(&home, &source, &mut log)?;
                prove(&home, &source, &opened.loaded.template, &options, &mut log);
                opened.loaded.template
            }
            None => {
                let (draft, derivation) = derived(&source, &options)?;
                copy(&home, &source, &mut log)?;
                write_template(&home, &draft, &derivation, &mut log)?;
                draft
            }
        };
        Cases { home: &home, source: &source, template: &template, options: &options }.write(&mut log)?;
        repository(&home, &source, &mut log)?;
        log.print(&home, global)?;
        Ok(ExitCode::from(u8::from(log.is_failing)))
    }

    fn open(&self, home: &Home) -> Result<Source, Failure> {
        let folder = home.folder.display().to_string();
        let name = if home.is_the_models { &folder } else { &self.model };
        let opened = chat_source::open(name, None)?;
        Ok(opened.for_tools().with_tokens_beside())
    }
}

/// The response template of a suite that has one already.
fn template_in(folder: &Path) -> Result<Option<Opened>, Failure> {
    // The name of a folder that does not exist yet might be that of a cached model.
    if !folder.is_dir() {
        return Ok(None);
    }
    match input::template(&folder.display().to_string()) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if matches!(error.kind(), SourceErrorKind::NoTemplate | SourceErrorKind::Unreadable) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Proves the response template that a suite has.
fn prove(home: &Home, source: &Source, template: &Template, options: &Options, log: &mut Log) {
    // `Cases::recorded` checks the samples.
    let options = options.clone().samples(Vec::new());
    if derive::prove(&source.template, template, &options).status != Status::Proved {
        let model = shell_word(&home.folder.display().to_string());
        log.fail(format!("see what the response template misreads: backchat prove {model} --chat-template {model}"));
    }
}

/// Copies a chat template from elsewhere into the suite, with its special tokens.
fn copy(home: &Home, source: &Source, log: &mut Log) -> Result<(), Failure> {
    if home.is_the_models {
        return Ok(());
    }
    let about = match &source.name {
        Some(name) if !source.other_names.is_empty() => {
            format!("the chat template `{name}`, without the others of the model: {}", source.other_names.join(", "))
        }
        _ => "the chat template".to_owned(),
    };
    log.write(&home.folder.join(suite::CHAT_TEMPLATE), &source.template, &about)?;
    let tokens = Value::Object(source.special_tokens.clone()).to_pretty("  ");
    log.write(&home.folder.join(suite::CONFIG), &format!("{tokens}\n"), "its special tokens")?;
    Ok(())
}

/// The draft of a response template, and its derivation.
fn derived(source: &Source, options: &Options) -> Result<(Template, Derivation), Failure> {
    let derivation = derive::derive(&source.template, options);
    let Some(draft) = derivation.response_template.as_ref().filter(|_| derivation.status != Status::Failed) else {
        let text = ChatTemplate::normalize(&source.template);
        let sources = Sources::none().with(&source.file, text);
        return Err(Failure::Diagnostics { diagnostics: derivation.diagnostics, sources });
    };
    let loaded = Template::from_value(draft)
        .map_err(|error| Failure::Diagnostics { diagnostics: error.diagnostics, sources: Sources::none() })?;
    Ok((loaded.template, derivation))
}

/// Writes the draft into the config of the suite.
fn write_template(home: &Home, draft: &Template, derivation: &Derivation, log: &mut Log) -> Result<(), Failure> {
    let config = home.folder.join(suite::CONFIG);
    let shown = config.display().to_string();
    if !config.exists() {
        signals::write_inside(&config, "{}\n")?;
    }
    signals::uninterrupted(|| write_into(&shown, draft))?;
    log.note("wrote", &shown, &derivation.headline());
    if derivation.status != Status::Proved {
        let model = shell_word(&home.folder.display().to_string());
        log.fail(format!("see what the response template misreads: backchat derive {model} --explain"));
    }
    Ok(())
}

/// The cases of a suite: renders of the chat template, and the recorded outputs.
struct Cases<'c> {
    home: &'c Home,
    source: &'c Source,
    template: &'c Template,
    options: &'c Options,
}

impl Cases<'_> {
    fn write(&self, log: &mut Log) -> Result<(), Failure> {
        let turns = derive::readable_turns(&self.source.template, self.template, self.options)?;
        self.rendered(&turns, log)?;
        self.recorded(turns.turns.first().map_or("", |turn| turn.prefix.as_str()), log)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.folder.join(suite::FIXTURES).join(name)
    }

    /// A path as the cases name it.
    fn named(&self, path: &Path) -> String {
        input::path_from(&self.home.folder.join(suite::FIXTURES), path)
    }

    fn config(&self) -> String {
        self.named(&self.home.folder.join(suite::CONFIG))
    }

    fn rendered(&self, turns: &ReadableTurns, log: &mut Log) -> Result<(), Failure> {
        let file = self.file("rendered.fixture");
        let shown = file.display().to_string();
        if file.exists() {
            keep(&file, "", log);
            return Ok(());
        }
        let folder = &self.home.folder;
        let chat = Chat::open(&folder.display().to_string())
            .map_err(|(diagnostics, sources)| Failure::Diagnostics { diagnostics, sources })?;
        let (config, chat_template) = (self.config(), self.named(folder));
        let names = Names { file: &shown, template: &config, chat_template: &chat_template, variables: &Object::new() };
        let made = check::scaffold(turns, self.template, &chat, names);
        log.write(&file, &made.text, &format!("{} cases that the chat template renders", made.cases))?;
        if made.failing > 0 {
            log.fail(format!("{} rendered cases fail: backchat check {}", made.failing, shell_word(&shown)));
        }
        Ok(())
    }

    /// `prefix` is the prompt of samples that come without one.
    fn recorded(&self, prefix: &str, log: &mut Log) -> Result<(), Failure> {
        let Self { source, template, options, .. } = self;
        let (file, samples) = (self.file("recorded.fixture"), options.samples.as_slice());
        let shown = file.display().to_string();
        if samples.is_empty() {
            match file.exists() {
                true => keep(&file, "", log),
                false => log.left.push("add outputs that the model really wrote: --samples FILE".to_owned()),
            }
            return Ok(());
        }
        if file.exists() {
            keep(&file, "the samples were not added", log);
            let shown = escape(&shown);
            log.left.push(format!("add the samples to {shown} by hand, or rename it and run this again"));
            return Ok(());
        }
        let explained = derive::prove(&source.template, template, options).explained;
        let made = suite::recorded(samples, template, &explained, prefix, &self.config());
        log.write(&file, &made.text, &format!("{} recorded outputs", samples.len()))?;
        if samples.iter().any(|sample| sample.message.is_none()) {
            log.left.push(format!("read the messages of {}: the response template wrote them", escape(&shown)));
        }
        let counts =
            [(explained.departures.len(), "recorded outputs are not explained"), (made.failing, "recorded cases fail")];
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let left: Vec<String> = counts.collect();
        if !left.is_empty() {
            log.fail(format!("{}: backchat check {}", left.join(", "), shell_word(&shown)));
        }
        Ok(())
    }
}

/// Keeps a file of cases that exists, and checks them.
fn keep(file: &Path, about: &str, log: &mut Log) {
    let shown = file.display().to_string();
    log.note("kept", &shown, about);
    let failing = check::failing_in(file);
    if failing > 0 {
        let does = if failing == 1 { "does" } else { "do" };
        let cases = counted(failing, "case");
        log.fail(format!("{cases} in {} {does} not pass: backchat check {}", escape(&shown), shell_word(&shown)));
    }
}

/// The CI configuration of the suite, at the root of its repository.
fn repository(home: &Home, source: &Source, log: &mut Log) -> Result<(), Failure> {
    let root = home.root();
    let config = input::path_from(&root, &home.folder.join(suite::CONFIG));
    let chat_template = match input::path_from(&root, &home.folder) {
        own if own.is_empty() => ".".to_owned(),
        inside => inside,
    };
    let attributes = root.join(suite::ATTRIBUTES);
    let known = if attributes.exists() { input::text(&attributes.display().to_string())? } else { String::new() };
    let shown = attributes.display().to_string();
    match suite::with_line(&known, "*.fixture -text") {
        Some(text) => {
            signals::write_inside(&attributes, text)?;
            log.note("wrote", &shown, "fixtures keep their line ends");
        }
        None => log.note("kept", &shown, ""),
    }
    let is_new = log.write(
        &root.join(suite::WORKFLOW),
        &suite::workflow(&config, &chat_template, &healthy(source)),
        "checks every change",
    )?;
    let has_hooks = log.write(&root.join(suite::HOOKS), &suite::hooks(), "checks before each commit")?;
    if is_new || has_hooks {
        log.left.push(format!(
            "put the repository and the revision of Backchat into {} and {}, in place of OWNER and REVISION",
            suite::WORKFLOW,
            suite::HOOKS
        ));
    }
    let wanted = [
        (is_new, suite::WORKFLOW, "templates", config.as_str()),
        (is_new, suite::WORKFLOW, "chat-templates", chat_template.as_str()),
        (has_hooks, suite::HOOKS, "hooks", "backchat-check"),
    ];
    for (is_written, file, key, item) in wanted {
        let text = if is_written { String::new() } else { input::text(&root.join(file).display().to_string())? };
        if !is_written && !suite::lists(&text, item) {
            log.left.push(format!("add {} to `{key}` in {file}", escape(item)));
        }
    }
    if is_new {
        log.left.push(format!("put the badge into the README: {}", suite::badge(&root)));
    }
    Ok(())
}

/// The conversations of agents that a chat template takes today, as facts to require.
fn healthy(source: &Source) -> Vec<String> {
    let Ok(template) = ChatTemplate::compile(&source.template) else { return Vec::new() };
    let options = doctor::Options::default().variables(source.special_tokens.clone()).now(NOW.to_owned());
    let agents = doctor::examine_agents(&template, &options);
    let healthy = agents.shapes.iter().filter(|shape| !shape.fate.is_problem());
    healthy.map(|shape| format!("agents.{}", shape.id())).collect()
}

impl Log {
    /// Notes what is left to do before every case passes.
    fn fail(&mut self, left: String) {
        self.is_failing = true;
        self.left.push(left);
    }

    fn note(&mut self, what: &'static str, file: &str, about: &str) {
        self.done.push((what, file.to_owned(), about.to_owned()));
    }

    /// Writes a file if it does not exist; returns whether it did.
    fn write(&mut self, path: &Path, text: &str, about: &str) -> Result<bool, Failure> {
        let shown = path.display().to_string();
        if path.exists() {
            self.note("kept", &shown, "");
            return Ok(false);
        }
        signals::write_inside(path, text)?;
        self.note("wrote", &shown, about);
        Ok(true)
    }

    fn print(&self, home: &Home, global: &Global) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        for (what, file, about) in &self.done {
            let about = if about.is_empty() { String::new() } else { format!(": {}", escape(about)) };
            writeln!(out, "{what} {}{about}", escape(file))?;
        }
        if !self.left.is_empty() {
            writeln!(out, "Left to do:")?;
        }
        for left in &self.left {
            writeln!(out, "- {left}")?;
        }
        out.flush()?;
        tell!(global, "Next: backchat check {}", shell_word(&home.folder.display().to_string()));
        Ok(())
    }
}
