//! `doctor`: prints what `backchat_probe::doctor` found; a fact that `--require` names and that does not hold exits with 1.

use std::process::ExitCode;

use super::chat_options::{Selected, template_name};
use super::report::Page;
use super::{Failure, Global, chat_rows, known_values};
use backchat_chat::ChatTemplate;
use backchat_chat::source::Source;
use backchat_core::diagnostic::{Diagnostic, closest, escape};
use backchat_core::json::Object;
use backchat_probe::doctor::{self, Options, Report};
use backchat_workbench::answers::{self, compile};
use backchat_workbench::report::{self, Examined};

/// Examine a chat template: what it accepts, drops silently, and refuses
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat doctor models/mine
  backchat doctor chat_template.jinja --explain prefix_tool
  backchat doctor chat_template.jinja --require tools --require prefix_tool
  backchat doctor models/mine --format json-schema > input.schema.json
  backchat doctor --jsonl rows.jsonl

A row is {\"id\", \"template\": path, \"bos_token\"?, \"eos_token\"?, \"now\"?, \"set\"?: {…}}; the answer
is {\"id\", \"capabilities\": {…}}, with `--format json-schema` {\"id\", \"schema\": {…}},
or {\"id\", \"error\"}.

Exit codes: 0 examined, 1 a required fact does not hold, 2 could not run.")]
pub struct Doctor {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, or `-`
    #[arg(required_unless_present = "jsonl")]
    source: Option<String>,
    /// Select the output: a screen of text, the facts as JSON, or a JSON Schema of the template's input
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Show the renders that decided a fact, or every fact if none is named
    #[arg(long, value_name = "FACT", num_args = 0.., conflicts_with_all = ["jsonl", "format"])]
    #[arg(value_parser = known_values::fact(), hide_possible_values = true)]
    explain: Option<Vec<String>>,
    /// Exit with 1 unless this fact holds; repeatable
    #[arg(long, value_name = "FACT", conflicts_with = "jsonl")]
    #[arg(value_parser = known_values::fact(), hide_possible_values = true)]
    require: Vec<String>,
    /// Examine one template per row of a JSON Lines file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "report", "playground"])]
    jsonl: Option<String>,
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    page: Page,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    JsonSchema,
}

impl Doctor {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        match &self.jsonl {
            Some(file) => self.examine_rows(file, global),
            None => self.examine(global),
        }
    }

    fn examine(&self, global: &Global) -> Result<ExitCode, Failure> {
        let name = self.source.as_deref().unwrap_or("-");
        let given = &self.selected.given;
        let source = self.selected.open(name)?;
        let template = compile(&source)?;
        let options = Options::default().variables(given.variables(&source)).now(given.clock());
        let report = doctor::examine(&template, &options);
        self.check_names(&report)?;
        let playground = self.page.playground(None)?;
        self.page.write(global, || {
            let blocks = answers::blocks(&template, &options);
            let examined = Examined { report: &report, template: &template, options: &options, blocks };
            report::doctor(&template_name(&source), &examined, playground.as_ref())
        })?;
        let text = match self.format {
            Format::Json => format!("{}\n", answers::doctor(&template, &options, &report)),
            Format::JsonSchema => format!("{}\n", doctor::input_schema(&template, &options).to_pretty("  ")),
            Format::Text => self.text(&report, &template, &options, &source),
        };
        super::print(&text)?;
        let broken: Vec<_> = report
            .facts
            .iter()
            .filter(|fact| self.require.iter().any(|name| name == fact.name) && !fact.holds())
            .collect();
        for fact in &broken {
            tell!(global, "a required fact does not hold: {} is {}", fact.name, fact.value);
        }
        Ok(ExitCode::from(u8::from(!broken.is_empty())))
    }

    fn text(&self, report: &Report, template: &ChatTemplate, options: &Options, source: &Source) -> String {
        match &self.explain {
            Some(names) => {
                let chosen =
                    report.facts.iter().filter(|fact| names.is_empty() || names.iter().any(|n| n == fact.name));
                chosen.map(|fact| doctor::explain(fact, template, options)).collect()
            }
            None => {
                let mut text = doctor::summary(report, template, options, &template_name(source));
                match answers::blocks(template, options) {
                    Some(Ok(count)) => {
                        text += &format!(
                            "\nThe generation blocks agree with `render --mask` in {count} of {count} conversations.\n"
                        );
                    }
                    Some(Err(why)) => {
                        text += &format!("\nThe generation blocks and `render --mask` disagree: {}\n", escape(&why))
                    }
                    None => {}
                }
                text
            }
        }
    }

    /// Refuses names of facts that do not exist.
    fn check_names(&self, report: &Report) -> Result<(), Failure> {
        let known = || report.facts.iter().map(|fact| fact.name);
        let mut asked = self.require.iter().chain(self.explain.iter().flatten());
        let Some(name) = asked.find(|name| report.fact(name).is_none()) else { return Ok(()) };
        let suggestion = closest(name, known()).map(|name| format!("; did you mean `{name}`?"));
        let message = format!("unknown fact `{name}`{}", suggestion.unwrap_or_default());
        let help = format!("the facts are: {}", known().collect::<Vec<_>>().join(", "));
        Err(Diagnostic::error("unknown-fact", message).help(help).into())
    }

    fn examine_rows(&self, file: &str, global: &Global) -> Result<ExitCode, Failure> {
        let templates = chat_rows::Templates::default();
        let Selected { given, template_name } = &self.selected;
        chat_rows::answer(file, global, |row| {
            let template = templates.of_row(row, None, template_name.as_deref(), true)?;
            let variables = chat_rows::variables(row, &given.set)?;
            let now = chat_rows::text(row, "now")?.unwrap_or(&given.now).to_owned();
            let options = Options::default().variables(variables).now(Some(now));
            let entry = match self.format {
                Format::Text | Format::Json => {
                    ("capabilities".to_owned(), doctor::examine(&template, &options).capabilities())
                }
                Format::JsonSchema => ("schema".to_owned(), doctor::input_schema(&template, &options)),
            };
            Ok(Object::from_iter([entry]))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
