//! `backchat audit`: a log of outputs in, the causes of its problems out, in one pass and in constant memory.

mod fixtures;
mod json;
mod reader;
mod repaired;
mod table;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use self::fixtures::{Fixtures, recording_of, template_of, tools_of};
use self::reader::{Noted, RowReading, Worker};
use super::chat_options::{Budget, OutputFormat};
use super::parse::{Doubts, ParseOptions, TextKey, load, own_row};
use super::report::Page;
use super::{Failure, Global, input, rows};
use backchat_core::diagnostic::{Diagnostic, Place, escape};
use backchat_core::json::Value;
use backchat_legacy::schema::source::TemplateOrSchema;
use backchat_workbench::audit::{Gate, Limit, Tally};
use backchat_workbench::report;

/// Rank what goes wrong in logs of model outputs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  backchat audit template.json outputs.jsonl
  backchat audit log.jsonl --by server --report audit.html
  backchat audit log.jsonl --max malformed=0.1% --max any=2%
  backchat audit log.jsonl --fixtures tests/outputs
  backchat audit ./my-model log.jsonl --rows unclosed-thinking-cut

A row is {\"text\", \"prefix\"?, \"template\"?, \"tools\"?, \"model\"?, \"server\"?, \"finish_reason\"?}, as
`backchat parse --jsonl` takes it and `backchat serve --record` writes it. An output has one cause:
the problem that explains its others, or a fault of the template that a repair removes;
docs/recovery.md explains the problems.

Exit codes: 0 audited; 1 more outputs have a problem than --max allows; 2 could not run, or
--max was given and the log has no outputs.")]
#[command(allow_missing_positional = true)]
#[command(group(clap::ArgGroup::new("reader").args(["template", "template_option"])))]
pub struct Audit {
    /// The template for rows that have none: a JSON file, or a tokenizer_config.json, model folder or ORG/NAME in the
    /// Hugging Face cache that contains one
    template: Option<String>,
    /// The log, a JSON Lines file, or `-`
    #[arg(required = true)]
    logs: String,
    /// Use this template for rows that have none, as the first argument does
    #[arg(long = "template", value_name = "TEMPLATE")]
    template_option: Option<String>,
    /// Look for repairs of the template with this chat template; the default is the one in the model folder
    #[arg(long, value_name = "SOURCE", requires = "reader")]
    chat_template: Option<String>,
    #[command(flatten)]
    budget: Budget,
    /// Use these tools, a JSON list, for rows that have none
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// Check the arguments of calls against the JSON schemas of their tools
    #[arg(long)]
    validate: bool,
    /// Count the outputs of each model or of each server
    #[arg(long, value_parser = ["model", "server"], default_value = "model")]
    by: String,
    /// Select the output: a table, or the data as JSON
    #[arg(long, value_enum, default_value = "text")]
    format: OutputFormat,
    /// Print the rows of this cause instead, as they are in the log
    #[arg(long, value_name = "CAUSE", conflicts_with_all = ["format", "max", "fixtures", "report"])]
    rows: Option<String>,
    /// Exit with 1 if more outputs have this problem: KIND=N or KIND=P%, where KIND may be `any`; repeatable
    #[arg(long, value_name = "GATE")]
    max: Vec<Gate>,
    /// Write the smallest output of each cause as a fixture into this folder; existing files are kept
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// Take the output of a row from this key, such as `response.text`; OpenAI's responses and the outputs of vLLM are
    /// read as they are logged
    #[arg(long, value_name = "KEY")]
    text_key: Option<TextKey>,
    #[command(flatten)]
    page: Page,
}

impl Audit {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        input::stdin_once([self.template(), Some(&self.logs)], "pass one of the inputs as a file")?;
        let playground = self.page.playground(None)?;
        let mut options = ParseOptions {
            text_key: self.text_key.clone(),
            template: self.template().map(|path| load(path, global)).transpose()?,
            tools: self.tools.as_deref().map(input::tools).transpose()?,
            ..ParseOptions::default()
        };
        options.row_options.validate = self.validate;
        if matches!(options.template, Some(TemplateOrSchema::Schema(_))) {
            let problem = Diagnostic::error("audit-schema", "a response schema reports no problems");
            return Err(problem
                .help("convert it with `backchat convert`, and audit with the response template")
                .into());
        }
        let budget = self.budget.work();
        let repaired = repaired::find(self.template(), self.chat_template.as_deref(), &options, budget)?;
        let tally = self.tally(&options, repaired.as_ref().map(|repaired| &repaired.options), global)?;
        if let Some(cause) = &self.rows {
            return self.end_rows(cause, &tally, global);
        }
        let plan = repaired.as_ref().map(|repaired| &repaired.plan);
        let link = |row: &Value| {
            let output = row.get("text")?.as_str()?;
            let prefix = row.get("prefix").and_then(Value::as_str).unwrap_or_default();
            let tools = tools_of(row, &options);
            Some(playground.as_ref()?.of_text(&template_of(row, &options)?, prefix, output, tools))
        };
        let read = |row: &Value| recording_of(row, &options);
        let name = input::name(&self.logs);
        let page = report::AuditPage { name, by: &self.by, tally: &tally, plan, read: &read, link: &link };
        self.page.write(global, || report::audit(&page))?;
        if let Some(folder) = &self.fixtures {
            let fixtures = Fixtures { folder, options: &options, template: self.template(), logs: &self.logs };
            fixtures.write(&tally, global)?;
        }
        let text = match self.format {
            OutputFormat::Json => format!("{}\n", json::to_json(&tally, &self.by, plan)),
            OutputFormat::Text => table::render(&tally, plan, global.colors(&io::stdout())),
        };
        super::print(&text)?;
        self.note_failures(&tally, global);
        Ok(ExitCode::from(u8::from(self.exceeds(&tally, global))))
    }

    /// The template for rows that have none.
    fn template(&self) -> Option<&str> {
        self.template.as_deref().or(self.template_option.as_deref())
    }

    /// Refuses a cause that no output has.
    fn end_rows(&self, cause: &str, tally: &Tally, global: &Global) -> Result<ExitCode, Failure> {
        self.note_failures(tally, global);
        let names: Vec<String> = tally.ranked().into_iter().map(|(cause, _)| cause.name()).collect();
        if names.iter().any(|name| name == cause) {
            return Ok(ExitCode::SUCCESS);
        }
        let problem = Diagnostic::error("no-such-cause", format!("no output has the cause `{}`", escape(cause)));
        let problem = problem.at(Place::file(input::name(&self.logs)));
        Err(problem.help(format!("the causes are: {}", names.join(", "))).into())
    }

    fn tally(
        &self,
        options: &ParseOptions,
        repaired: Option<&ParseOptions>,
        global: &Global,
    ) -> Result<Tally, Failure> {
        let doubts = Doubts::default();
        let mut tally = Tally::default();
        let reading = RowReading { options, repaired, doubts: &doubts, by: &self.by, rows: self.rows.as_deref() };
        let worker = || {
            let mut worker = Worker::new(reading);
            move |line: rows::Line<'_>, out: &mut String, notes: &mut Vec<Noted>| worker.take(&line, out, notes)
        };
        rows::answer_noting(&self.logs, global, worker, |noted: Noted| match noted {
            Ok(observed) => tally.add(observed),
            Err((line, why)) => tally.fail(line, why),
        })?;
        tally.rewrite_examples(|row| own_row(row, options.text_key.as_ref()));
        match &tally.first_failure {
            Some((line, why)) if tally.outputs == 0 => {
                let message = format!("no row can be read; {}", at_line(*line, why));
                let problem = Diagnostic::error("audit-no-outputs", message);
                let problem = problem.at(Place::file(input::name(&self.logs)));
                let help = match self.template() {
                    None => "name the response template: `backchat audit TEMPLATE FILE`; `backchat derive` makes one",
                    Some(_) => "`backchat audit --help` shows what a row has",
                };
                Err(problem.help(help).into())
            }
            None if tally.outputs == 0 && !self.max.is_empty() => {
                let problem =
                    Diagnostic::error("audit-no-outputs", "the log has no outputs, so `--max` has nothing to check");
                let problem = problem.at(Place::file(input::name(&self.logs)));
                Err(problem.help("check the file, or omit `--max`").into())
            }
            _ => Ok(tally),
        }
    }

    fn note_failures(&self, tally: &Tally, global: &Global) {
        if let Some((line, why)) = &tally.first_failure {
            let (failed, rows) = (tally.failed, tally.outputs + tally.failed);
            let first = at_line(*line, why);
            tell!(global, "note: {failed} of {rows} rows were not read; the first is {}", escape(&first));
        }
        if tally.unlisted > 0 {
            tell!(global, "note: {} outputs have causes beyond the first thousand", tally.unlisted);
        }
    }

    /// Whether more outputs have a problem than a gate allows.
    fn exceeds(&self, tally: &Tally, global: &Global) -> bool {
        let mut is_exceeded = false;
        for (gate, outputs) in self.max.iter().filter_map(|gate| Some((gate, gate.exceeded(tally)?))) {
            is_exceeded = true;
            if !global.is_quiet() {
                let limit = match gate.limit {
                    Limit::Outputs(most) => most.to_string(),
                    Limit::Percent(most) => format!("{most}%"),
                };
                let share = tally.share(outputs) * 100.0;
                super::say!("{}: {outputs} of {} outputs ({share:.2}%), at most {limit}", gate.name(), tally.outputs);
            }
        }
        is_exceeded
    }
}

/// Why a line was not read, with its number once: that of a line that is no row is already in its message.
fn at_line(line: u64, why: &str) -> String {
    if why.starts_with(&format!("line {line}")) { why.to_owned() } else { format!("line {line}: {why}") }
}
