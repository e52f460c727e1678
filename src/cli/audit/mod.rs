//! `backchat audit`: a log of outputs in, the causes of its problems out, in one pass and in constant memory.

mod fixtures;
mod json;
mod reader;
mod table;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use self::fixtures::{Fixtures, template_of};
use self::reader::Worker;
use super::chat_options::OutputFormat;
use super::parse::{Doubts, ParseOptions, load};
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
  backchat audit outputs.jsonl --template template.json
  backchat audit log.jsonl --by server --report audit.html
  backchat audit log.jsonl --max malformed=0.1% --max any=2%
  backchat audit log.jsonl --fixtures tests/outputs

A row is {\"text\", \"prefix\"?, \"template\"?, \"tools\"?, \"model\"?, \"server\"?, \"finish_reason\"?}, as
`backchat parse --jsonl` takes it and `backchat serve --record` writes it. A cause is a kind of
problem and the policies that would recover it; docs/recovery.md explains both.

Exit codes: 0 audited; 1 more outputs have a problem than --max allows; 2 could not run.")]
pub struct Audit {
    /// The log, a JSON Lines file, or `-`
    logs: String,
    /// Use this template for rows that have none
    #[arg(long, value_name = "TEMPLATE")]
    template: Option<String>,
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
    /// Exit with 1 if more outputs have this problem: KIND=N or KIND=P%, where KIND may be `any`; repeatable
    #[arg(long, value_name = "GATE")]
    max: Vec<Gate>,
    /// Write the smallest output of each cause as a fixture into this folder; existing files are kept
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    #[command(flatten)]
    page: Page,
}

impl Audit {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let playground = self.page.playground(None)?;
        let mut options = ParseOptions {
            template: self.template.as_deref().map(|path| load(path, global)).transpose()?,
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
        let tally = self.tally(&options, global)?;
        let link = |row: &Value| {
            let output = row.get("text")?.as_str()?;
            let prefix = row.get("prefix").and_then(Value::as_str).unwrap_or_default();
            Some(playground.as_ref()?.of_text(&template_of(row, &options)?, prefix, output))
        };
        self.page.write(global, || report::audit(input::name(&self.logs), &self.by, &tally, &link))?;
        if let Some(folder) = &self.fixtures {
            let fixtures = Fixtures { folder, options: &options, template: self.template.as_deref(), logs: &self.logs };
            fixtures.write(&tally, global)?;
        }
        let text = match self.format {
            OutputFormat::Json => format!("{}\n", json::to_json(&tally, &self.by)),
            OutputFormat::Text => table::render(&tally, global.colors(&io::stdout())),
        };
        super::print(&text)?;
        self.note_failures(&tally, global);
        Ok(ExitCode::from(u8::from(self.exceeds(&tally, global))))
    }

    fn tally(&self, options: &ParseOptions, global: &Global) -> Result<Tally, Failure> {
        let doubts = Doubts::default();
        let all = Mutex::new(Tally::default());
        rows::answer(&self.logs, global, || {
            let mut worker = Worker::new(options, &doubts, &self.by, &all);
            move |line: rows::Line<'_>, _: &mut String| worker.take(&line)
        })?;
        let tally = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        match &tally.first_failure {
            Some((line, why)) if tally.outputs == 0 => {
                let problem = Diagnostic::error("audit-no-outputs", format!("no row can be read; line {line}: {why}"));
                let problem = problem.at(Place::file(input::name(&self.logs)));
                Err(problem.help("`backchat audit --help` shows what a row has").into())
            }
            _ => Ok(tally),
        }
    }

    fn note_failures(&self, tally: &Tally, global: &Global) {
        if let Some((line, why)) = &tally.first_failure {
            let (failed, rows) = (tally.failed, tally.outputs + tally.failed);
            tell!(global, "note: {failed} of {rows} rows were not read; the first is line {line}: {}", escape(why));
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
