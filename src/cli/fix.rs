//! `fix`: writes a repaired chat template, each change proved by renders.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::chat_options::{Budget, Selected};
use super::known_values::{self, Problems};
use super::{Failure, Global, input};
use backchat_chat::source::Source;
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_chats::chats::{self, Patched};
use backchat_chats::mending::{self, Repair};
use backchat_core::diagnostic::{Diagnostic, Place, escape, escape_lines};
use backchat_core::json::Object;
use backchat_derive::derive;
use backchat_probe::diff::unified;
use backchat_probe::doctor::{Options, Problem, traps};
use backchat_probe::probe::missing_tokens;
use backchat_workbench::answers;

/// Repair a chat template, or add generation blocks to it, proved by renders
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat fix chat_template.jinja --list
  backchat fix chat_template.jinja > repaired.jinja
  backchat fix chat_template.jinja --for late_system --for developer --write
  backchat fix chat_template.jinja --for training --generation -o chat_template_training.jinja
  backchat fix chat_template.jinja --format json -o repaired.jinja
  backchat fix models/mine/chat_template.jinja --format github > review.json

Without `--for` and `--generation`, every problem that `doctor` lists under Agents is
repaired. The template goes to stdout, the proof to stderr; with `--format json` and `-o`,
the report goes to stdout.

Exit codes: 0 repaired and proved, or nothing to repair; 1 something is left, or no
placement of the blocks can be proved; 2 could not run.")]
pub struct Fix {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, or `-`
    source: String,
    /// Mark the assistant's text with `{% generation %}` blocks
    #[arg(long)]
    generation: bool,
    /// Repair this problem; repeatable. `training` is prefix, generation_prompt and stop, and `--generation` if it can
    /// be done
    #[arg(long = "for", value_name = "PROBLEM", value_parser = known_values::problems(), hide_possible_values = true)]
    problems: Vec<Problems>,
    /// List the problems and which of them have a proved repair, and write nothing
    #[arg(long, conflicts_with_all = ["write", "output", "generation"])]
    list: bool,
    /// Write the template into this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "write")]
    output: Option<String>,
    /// Write the template into its .jinja file instead of printing it
    #[arg(long)]
    write: bool,
    /// Select the form of the report; `github` is a review with suggestions, as GitHub's API takes it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    budget: Budget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Github,
}

/// Names what is probably misspelt: renders that keep their bytes keep their typos, too.
fn note_typos(compiled: &ChatTemplate, global: &Global) {
    let source = compiled.source();
    for found in traps::misspelt_names(source).into_iter().chain(traps::misspelt_marks(source)) {
        tell!(global, "note: not repaired: {}", escape(&found.message));
    }
}

impl Fix {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let source = self.selected.open(&self.source)?;
        let compiled = answers::compile(&source)?;
        self.note_stand_ins(&source, &compiled, global);
        note_typos(&compiled, global);
        let repairs = !self.generation || !self.problems.is_empty();
        let repair = repairs.then(|| self.repair(&source, &compiled, global));
        if self.format == Format::Github {
            self.review(&source, repair.as_ref())?;
            return Ok(exit(repair.as_ref()));
        }
        if self.list {
            self.print_list(repair.as_ref())?;
            return Ok(exit(repair.as_ref()));
        }
        if let Some(repair) = repair.as_ref().filter(|repair| !repair.cured.is_empty()) {
            self.check_response_template(&source, repair, global)?;
        }
        let template = repair.as_ref().map_or(source.template.as_str(), |repair| repair.text.as_str());
        let patched = self.wants_blocks().then(|| self.generate(&source, template, global)).transpose();
        let patched = match patched {
            Ok(patched) => patched,
            Err(error) => {
                let problem = if self.generation { "error: cannot" } else { "note: the repair for training does not" };
                super::say!("{problem} add generation blocks: {}", escape(&error.to_string()));
                if self.generation {
                    return Ok(ExitCode::from(1));
                }
                None
            }
        };
        if !global.is_quiet() {
            self.report(repair.as_ref(), patched.as_ref(), &source)?;
        }
        let text = patched.as_ref().map_or(template, |patched| patched.template.as_str());
        self.put(text, &source)?;
        Ok(exit(repair.as_ref()))
    }

    /// Whether blocks are added: if they are asked for, or for training.
    fn wants_blocks(&self) -> bool {
        self.generation || self.problems.iter().any(Problems::is_for_training)
    }

    /// Names the special tokens that only a tokenizer knows, and that the proof therefore invents.
    fn note_stand_ins(&self, source: &Source, compiled: &ChatTemplate, global: &Global) {
        let missing = missing_tokens(compiled, &self.selected.given.variables(source));
        if !missing.is_empty() {
            let (names, example) = (missing.join(" and "), missing.first().copied().unwrap_or_default());
            tell!(global, "note: the proof invents {names}; pass the real text with `--set {example}=TEXT`");
        }
    }

    fn repair(&self, source: &Source, compiled: &ChatTemplate, global: &Global) -> Repair {
        let given = &self.selected.given;
        let options = Options::default().variables(given.variables(source)).now(given.clock());
        let problems: Vec<Problem> = self.problems.iter().flat_map(|named| named.0.iter().copied()).collect();
        let repair = || mending::repair(&source.template, compiled, &problems, &options);
        self.budget.repair_and_note(&source.file, global, repair)
    }

    /// Proves the response template that is stored with the chat template again; refuses a repair with which it reads less.
    fn check_response_template(&self, source: &Source, repair: &Repair, global: &Global) -> Result<(), Failure> {
        let Some(stored) = input::template(&self.source).ok().map(|opened| opened.loaded.template) else {
            return Ok(());
        };
        let options = derive::Options::for_source(source).variables(self.selected.given.variables(source));
        let read = |text: &str| self.budget.examine(|| derive::prove(text, &stored, &options)).verdict;
        let (before, now) = (read(&source.template), read(&repair.text));
        if before.passed == before.cases && now.passed < now.cases {
            let message = format!(
                "with the repair, the response template reads {} of {} turns; before, it read all {}",
                now.passed, now.cases, before.cases
            );
            return Err(Diagnostic::error("response-template-lost", message)
                .help("repair the chat template with `--for` one problem at a time, or derive the response template again")
                .into());
        }
        let (passed, cases) = (now.passed, now.cases);
        tell!(global, "note: the response template reads {passed} of {cases} turns of the repaired template");
        Ok(())
    }

    fn generate(&self, source: &Source, template: &str, global: &Global) -> Result<Patched, chats::NotPatched> {
        let variables = self.selected.given.variables(source);
        let options = RenderOptions::default().now(self.selected.given.clock());
        self.budget
            .examine_and_note(&source.file, global, || chats::add_generation_blocks(template, &variables, &options))
    }

    /// Prints the repair as a review of a pull request.
    fn review(&self, source: &Source, repair: Option<&Repair>) -> Result<(), Failure> {
        let Some(repair) = repair else {
            let message = "`--format github` suggests repairs, and `--generation` alone repairs nothing";
            return Err(Diagnostic::error("nothing-to-suggest", message).help("leave one of them out").into());
        };
        let review = answers::review(&source.template, repair, &source.file);
        Ok(super::print_json(&format!("{}\n", backchat_core::json::Value::Object(review)))?)
    }

    fn print_list(&self, repair: Option<&Repair>) -> Result<(), Failure> {
        if self.format == Format::Text {
            return Ok(super::print(&list(repair))?);
        }
        let report = repair.map_or_else(Object::new, Repair::to_object);
        Ok(super::print_json(&format!("{}\n", backchat_core::json::Value::Object(report)))?)
    }

    /// Writes the template to its file, or prints it.
    fn put(&self, text: &str, source: &Source) -> Result<(), Failure> {
        if let Some(file) = &self.output {
            return Ok(super::signals::write(Path::new(file), text)?);
        }
        if !self.write {
            return Ok(super::print(text)?);
        }
        let path = Path::new(&source.file);
        if path.extension().is_none_or(|extension| extension != "jinja") {
            let message = "only a .jinja file can be rewritten in place";
            let diagnostic = Diagnostic::error("cannot-write", message).at(Place::file(source.file.as_str()));
            return Err(diagnostic.help("print the template and copy it into the source").into());
        }
        Ok(super::signals::write(path, text)?)
    }

    /// Reports the proof: on standard output as JSON if the template goes elsewhere, else on standard error.
    fn report(&self, repair: Option<&Repair>, patched: Option<&Patched>, source: &Source) -> Result<(), Failure> {
        if self.format == Format::Json {
            let mut report = repair.map_or_else(Object::new, Repair::to_object);
            report.extend(patched.map(|patched| ("conversations".to_owned(), patched.conversations.into())));
            let text = format!("{}\n", backchat_core::json::Value::Object(report));
            if self.output.is_some() || self.write {
                return Ok(super::print_json(&text)?);
            }
            // A closed standard error is ignored.
            let _ = io::stderr().write_all(text.as_bytes());
            return Ok(());
        }
        if let Some(repair) = repair {
            report_repair(repair);
        }
        if let Some(patched) = patched {
            report_blocks(patched, repair.map_or(source.template.as_str(), |repair| repair.text.as_str()));
        }
        Ok(())
    }
}

fn exit(repair: Option<&Repair>) -> ExitCode {
    ExitCode::from(u8::from(repair.is_some_and(|repair| !repair.left.is_empty() || repair.proof.tried == 0)))
}

/// Reports what was repaired, what it was proved with, and what was left.
fn report_repair(repair: &Repair) {
    // A closed standard error is ignored.
    let _ = io::stderr().write_all(escape_lines(&repair.diff).as_bytes());
    for cured in &repair.cured {
        let edits: Vec<String> = cured.edits.iter().map(|edit| format!("{} (line {})", edit.what, edit.line)).collect();
        super::note(&escape(&format!("{}: {}", cured.problem.id(), edits.join("; "))));
    }
    if repair.proof.tried == 0 {
        super::note("the template renders no user message, so no conversation can be compared; nothing is changed");
    } else if repair.cured.is_empty() && repair.left.is_empty() {
        super::note("the template takes these conversations; nothing is changed");
    } else if !repair.cured.is_empty() {
        answers::proved(&repair.proof).iter().for_each(|sentence| super::note(sentence));
        repair.lacking.iter().for_each(|construct| super::note(construct));
    }
    for left in &repair.left {
        let line = left.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let shapes: String = left.shapes.iter().map(|shape| format!(", {shape}")).collect();
        let text = format!("left: {}{shapes}: {}{line}", left.problem.id(), left.reason);
        super::note(&escape(&text));
    }
}

/// The problems of a template, and whether each has a proved repair.
fn list(repair: Option<&Repair>) -> String {
    let Some(repair) = repair else { return String::new() };
    let cured = repair.cured.iter().map(|cured| (cured.problem, "a repair is proved".to_owned(), &cured.shapes));
    let left = repair.left.iter().map(|left| (left.problem, format!("left: {}", left.reason), &left.shapes));
    let row = |(problem, words, shapes): (Problem, String, &Vec<String>)| {
        format!("{:<18} {:<40} {}\n", problem.id(), shapes.join(", "), escape(&words))
    };
    cured.chain(left).map(row).collect()
}

/// Reports the proof of generation blocks, and rewritten expressions.
fn report_blocks(patched: &Patched, before: &str) {
    let conversations = patched.conversations;
    if patched.had_blocks {
        super::note(&format!(
            "the template already has generation blocks; they mark the assistant's text in {conversations} of \
             {conversations} conversations"
        ));
        return;
    }
    super::note(&format!(
        "{conversations} of {conversations} conversations render to the same bytes, with the same spans as `render --mask`"
    ));
    if patched.begins_in_header {
        super::note("some blocks begin in the header of a turn, where the generation prompt writes the same text");
    }
    if !patched.rewritten.is_empty() {
        super::note("some expressions had to be rewritten to place the blocks:");
        let diff = unified(before, &patched.template, 1, None);
        // A closed standard error is ignored.
        let _ = io::stderr().write_all(escape_lines(&diff).as_bytes());
    }
}
