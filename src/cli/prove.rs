//! `backchat prove`: proves any response template against its chat template.

use std::io::{self, Write};
use std::process::ExitCode;

use super::chat_options::{OutputFormat, Selected, failed};
use super::derive::exit_code;
use super::report::Page;
use super::{Failure, Global, input};
use backchat_core::diagnostic::{escape, shortened};
use backchat_core::json::Value;
use backchat_derive::derive::{self, Options, Proven, Status};
use backchat_workbench::answers::samples;
use backchat_workbench::report;

/// Prove a response template against its chat template
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat prove response_template.json --chat-template chat_template.jinja
  backchat prove models/mine --chat-template models/mine --samples outputs.jsonl

`prove` renders conversations with the chat template and parses the model's turn of each.
It lists failures once per cause, with the boundary that is wrong, the smallest example, and
what to change.

Exit codes: 0 proved, 1 not proved, 2 could not run.")]
pub struct Prove {
    /// The JSON of a response template, or a tokenizer_config.json, model folder or ORG/NAME in the Hugging Face cache
    /// that contains one, or `-`
    template: String,
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, or ORG/NAME in the Hugging
    /// Face cache
    #[arg(long, value_name = "SOURCE")]
    chat_template: String,
    /// Also test the template on recorded outputs of the model
    #[arg(long, value_name = "FILE")]
    samples: Option<String>,
    /// Also cut every conversation at every character and parse it with the recovery policies; slow
    #[arg(long)]
    thorough: bool,
    /// Select the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    #[command(flatten)]
    selected: Selected,
    /// Accept this key for reasoning, even if the chat template reads another
    #[arg(long, value_name = "NAME")]
    reasoning_field: Option<String>,
    #[command(flatten)]
    page: Page,
}

impl Prove {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let inputs = [Some(self.template.as_str()), Some(&self.chat_template), self.samples.as_deref()];
        input::stdin_once(inputs, "pass a file for all inputs but one")?;
        let opened = input::template(&self.template)?;
        let template = opened.loaded.template;
        let source = self.selected.open(&self.chat_template)?.with_tokens_beside();
        let options = Options::for_source(&source)
            .variables(self.selected.given.variables(&source))
            .now(self.selected.given.clock())
            .reasoning_field(self.reasoning_field.clone())
            .thorough(self.thorough)
            .samples(self.samples.as_deref().map(samples).transpose()?.unwrap_or_default());
        let proven = derive::prove(&source.template, &template, &options);
        let playground = self.page.playground(None)?;
        let page = || report::proof(&opened.file, &source.template, &proven, &template, &options, playground.as_ref());
        self.page.write(global, page)?;
        match self.format {
            OutputFormat::Json => {
                let mut out = io::stdout().lock();
                writeln!(out, "{}", proven.to_value())?;
                out.flush()?;
            }
            OutputFormat::Text if proven.status == Status::Failed => return Err(failed(proven.diagnostics, &source)),
            OutputFormat::Text => print(&proven, global)?,
        }
        Ok(ExitCode::from(exit_code(proven.status)))
    }
}

/// The verdict goes to stdout: it is the result.
fn print(proven: &Proven, global: &Global) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", escape(&proven.headline()))?;
    if proven.verdict.recut > 0 && !global.is_quiet() {
        writeln!(
            out,
            "  {} turns were cut before the end of the prompt, since their render does not extend it",
            proven.verdict.recut
        )?;
    }
    if let Some(samples) = proven.samples_line() {
        writeln!(out, "  {}", escape(&samples))?;
    }
    if let Some(policies) = proven.verdict.policies.describe() {
        writeln!(out, "  {}", escape(&policies))?;
    }
    for failure in &proven.verdict.failures {
        writeln!(out, "\nfailed: {}", escape(&failure.describe()))?;
        writeln!(out, "  text      {}", escape(&shortened(&format!("{:?}", failure.text), 400)))?;
        writeln!(out, "  expected  {}", escape(&shortened(&failure.expected.to_string(), 400)))?;
        writeln!(out, "  got       {}", escape(&shortened(&failure.got.to_string(), 400)))?;
        if !failure.setting.is_empty() {
            writeln!(out, "  with      {}", escape(&Value::Object(failure.setting.clone()).to_string()))?;
        }
        if let Some(hint) = failure.hint() {
            writeln!(out, "  to fix    {}", escape(&hint))?;
        }
    }
    for diagnostic in proven.diagnostics.iter().filter(|diagnostic| diagnostic.id != "derive-unproved") {
        let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        writeln!(out, "{}: {}{}", diagnostic.severity.name(), escape(&diagnostic.message), escape(&help))?;
    }
    out.flush()?;
    Ok(())
}
