//! `doctor`: prints what `backchat_probe::doctor` found; a fact that `--require` names and that does not hold exits with 1.

mod board;

use std::path::Path;
use std::process::ExitCode;

use super::chat_options::{Budget, Selected, template_name};
use super::report::Page;
use super::{Failure, Global, chat_rows, folders, known_values};
use backchat_chat::ChatTemplate;
use backchat_chat::source::Source;
use backchat_chats::mending;
use backchat_core::diagnostic::{Diagnostic, closest, escape};
use backchat_probe::doctor::{self, Agents, Options, Report};
use backchat_workbench::answers::{self, compile};
use backchat_workbench::report::{self, Examined};

/// Examine a chat template: what it accepts, drops silently, and refuses
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat doctor models/mine
  backchat doctor chat_template.jinja --explain prefix_tool
  backchat doctor chat_template.jinja --require tools --require prefix_tool
  backchat doctor chat_template.jinja --require agents.late_system
  backchat doctor models/mine --format json-schema > input.schema.json
  backchat doctor models --report board.html
  backchat doctor --jsonl rows.jsonl

A row is {\"id\", \"template\": path, \"bos_token\"?, \"eos_token\"?, \"now\"?, \"set\"?: {…}}; the answer
is {\"id\", \"capabilities\": {…}, \"agents\": {…}}, with `--format json-schema` {\"id\", \"schema\": {…}},
or {\"id\", \"error\"}.

A folder that is not a model is a board: a row for each chat template in it, a column for each
problem with the conversations of agents; with `--format json` a row {\"id\", \"agents\"} each.

Exit codes: 0 examined, 1 a required fact does not hold, 2 could not run.")]
pub struct Doctor {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, `-`, or a folder of them
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
    budget: Budget,
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
            None => match self.source.as_deref().filter(|source| folders::is_collection(Path::new(source))) {
                Some(folder) => board::show(self, folder, global),
                None => self.examine(global),
            },
        }
    }

    fn examine(&self, global: &Global) -> Result<ExitCode, Failure> {
        let name = self.source.as_deref().unwrap_or("-");
        let given = &self.selected.given;
        let source = self.selected.open(name)?;
        let template = compile(&source)?;
        let options = Options::default().variables(given.variables(&source)).now(given.clock());
        self.budget
            .examine_and_note(&template_name(&source), global, || self.report(&source, &template, &options, global))
    }

    /// Prints the facts, and checks those that are required.
    fn report(
        &self,
        source: &Source,
        template: &ChatTemplate,
        options: &Options,
        global: &Global,
    ) -> Result<ExitCode, Failure> {
        let report = doctor::examine(template, options);
        self.check_names(&report)?;
        let playground = self.page.playground(None)?;
        self.page.write(global, || {
            let blocks = answers::blocks(template, options);
            let has_problems = report.agents.problems().next().is_some();
            let repair = has_problems.then(|| mending::repair(&source.template, template, &[], options));
            let examined = Examined { report: &report, template, options, blocks, repair: repair.as_ref() };
            report::doctor(&template_name(source), &examined, playground.as_ref())
        })?;
        match self.format {
            Format::Json => super::print_json(&format!("{}\n", answers::doctor(template, options, &report)))?,
            Format::JsonSchema => {
                super::print_json(&format!("{}\n", doctor::input_schema(template, options).to_pretty("  ")))?;
            }
            Format::Text => super::print(&self.text(&report, template, options, source))?,
        }
        let broken: Vec<String> = self.require.iter().flat_map(|name| broken(&report, name)).collect();
        for fact in &broken {
            tell!(global, "a required fact does not hold: {fact}");
        }
        Ok(ExitCode::from(u8::from(!broken.is_empty())))
    }

    fn text(&self, report: &Report, template: &ChatTemplate, options: &Options, source: &Source) -> String {
        match &self.explain {
            Some(names) if names.is_empty() => {
                let facts = report.facts.iter().map(|fact| doctor::explain(fact, template, options));
                facts.chain([doctor::explain_agents(&report.agents, "agents")]).collect()
            }
            Some(names) => {
                let explained = |name: &String| match report.fact(name) {
                    Some(fact) => doctor::explain(fact, template, options),
                    None => doctor::explain_agents(&report.agents, name),
                };
                names.iter().map(explained).collect()
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
                        text += &format!(
                            "\nThe generation blocks and `render --mask` disagree: {}\n",
                            escape(&why.to_string())
                        )
                    }
                    None => {}
                }
                text
            }
        }
    }

    /// Refuses names of facts that do not exist.
    fn check_names(&self, report: &Report) -> Result<(), Failure> {
        let agents = doctor::agent_facts();
        let is_agents = |name: &str| agents.contains(&name) || doctor::is_agent_shape(name);
        let is_known = |name: &str| report.fact(name).is_some() || is_agents(name);
        let required = self.require.iter().find(|name| !is_known(name));
        let mut explained = self.explain.iter().flatten();
        let explained = explained.find(|name| !is_known(name) && !is_agents(&format!("agents.{name}")));
        let Some(name) = required.or(explained) else { return Ok(()) };
        let known = || report.facts.iter().map(|fact| fact.name).chain(agents.iter().copied());
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
            let entries = match self.format {
                Format::Text | Format::Json => {
                    let report = self.budget.examine(|| doctor::examine(&template, &options));
                    vec![("capabilities", report.capabilities()), ("agents", report.agents.to_json())]
                }
                Format::JsonSchema => {
                    vec![("schema", self.budget.examine(|| doctor::input_schema(&template, &options)))]
                }
            };
            Ok(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What does not hold of a required fact, or of the conversations of agents that it names.
fn broken(report: &Report, name: &str) -> Vec<String> {
    if let Some(fact) = report.fact(name) {
        return if fact.holds() { Vec::new() } else { vec![format!("{name} is {}", fact.value)] };
    }
    broken_agents(&report.agents, name)
}

/// The same for the conversations of agents.
fn broken_agents(agents: &Agents, name: &str) -> Vec<String> {
    let (shapes, facts) = agents.named(name);
    let shapes = shapes.into_iter().filter(|shape| shape.fate.is_problem());
    let shapes = shapes.map(|shape| format!("agents.{} is {}", shape.id(), shape.fate.word()));
    // Templates differ on purpose in what they keep of history, so `agents` does not ask for it.
    let facts = facts.into_iter().filter(|(_, holds)| !holds && name != "agents");
    shapes.chain(facts.map(|(fact, _)| format!("agents.{fact} is false"))).collect()
}
