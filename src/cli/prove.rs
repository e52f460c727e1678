//! `backchat prove`: proves any response template against its chat template.

use std::process::ExitCode;

use super::chat_options::{Budget, OutputFormat, Selected, failed};
use super::derive::exit_code;
use super::hunt::{self, HuntOptions};
use super::report::Page;
use super::{Failure, Global, input, template_file};
use backchat_chat::source::Source;
use backchat_core::diagnostic::{counted, escape};
use backchat_core::json::Value;
use backchat_derive::derive::{self, Fate, Hunted, Options, Proven, Status};
use backchat_parser::template::source::{self, Opened};
use backchat_workbench::answers::{self, samples};
use backchat_workbench::repair::{self, Plan};
use backchat_workbench::report;

/// Prove a response template against its chat template
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat prove response_template.json --chat-template chat_template.jinja
  backchat prove models/mine --chat-template models/mine --samples outputs.jsonl
  backchat prove response_template.json --chat-template chat_template.jinja --fix
  backchat prove response_template.json --chat-template chat_template.jinja --hunt

`prove` renders conversations with the chat template and parses the model's turn of each.
It lists failures once per cause, with the boundary that is wrong, the smallest example, and
the repair: a change that was proved, with how many conversations it fixes and breaks.

`--hunt` asks the same of random conversations, made from the literals of the chat template and
the delimiters of the response template, for conditions that have not gone both ways. It shows
the smallest conversation for each cause. Ctrl-C ends it, with the result so far.

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
    /// Write the repairs into the file of the response template, and show them as a diff
    #[arg(long)]
    fix: bool,
    /// Select the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    #[command(flatten)]
    selected: Selected,
    /// Accept this key for reasoning, even if the chat template reads another
    #[arg(long, value_name = "NAME")]
    reasoning_field: Option<String>,
    #[command(flatten)]
    hunt: HuntOptions,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    page: Page,
}

/// A response template, its proof, and the repairs that it needs.
struct Examined {
    opened: Opened,
    proven: Proven,
    plan: Option<Plan>,
    /// The failures that no repair fixes.
    rest: Vec<derive::Failure>,
    hunted: Option<Hunted>,
}

impl Prove {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let inputs = [Some(self.template.as_str()), Some(&self.chat_template), self.samples.as_deref()];
        input::stdin_once(inputs, "pass a file for all inputs but one")?;
        if self.fix {
            template_file::may_change(&self.template, "save the template, and name its file")?;
        }
        let opened = input::template(&self.template)?;
        let source = self.selected.open(&self.chat_template)?.with_tokens_beside();
        let options = Options::for_source(&source)
            .variables(self.selected.given.variables(&source))
            .now(self.selected.given.clock())
            .reasoning_field(self.reasoning_field.clone())
            .thorough(self.thorough)
            .samples(self.samples.as_deref().map(samples).transpose()?.unwrap_or_default());
        let examine = || Examined::new(opened, &source.template, &options);
        let mut examined = self.budget.examine(examine);
        // A repair for turns with a variable must not cost those without.
        let mut variables = self.selected.given.variables(&source);
        variables.retain(|name, _| name.ends_with("_token"));
        let is_set = self.selected.given.set.iter().any(|(name, _)| !variables.contains_key(name));
        let plain = is_set.then(|| options.clone().variables(variables));
        let given = (source.template.as_str(), self.chat_template.as_str());
        let repair = || examined.repair(given, (&options, plain.as_ref()), global);
        let applied = if self.fix { self.budget.examine(repair)? } else { None };
        examined.hunted = self.hunt(&examined, &source, &options, global)?;
        let Examined { opened, proven, plan, hunted, .. } = &examined;
        let playground = self.page.playground(None)?;
        let page = || {
            let template = &opened.loaded.template;
            let page = report::ProofPage { file: &opened.file, chat_template: &source.template, proven, template };
            report::proof(&page, plan.as_ref(), &options, playground.as_ref())
        };
        self.page.write(global, page)?;
        match self.format {
            OutputFormat::Json => {
                let mut report = hunt::with_hunt(answers::proof(proven, plan.as_ref()), hunted.as_ref());
                if let (Value::Object(report), true) = (&mut report, self.fix) {
                    let steps = applied.iter().flat_map(|plan| &plan.steps);
                    report.insert("applied", Value::List(steps.map(|step| step.repair.to_value()).collect()));
                }
                super::print_json(&format!("{report}\n"))?;
            }
            OutputFormat::Text if proven.status == Status::Failed => {
                return Err(failed(proven.diagnostics.clone(), &source));
            }
            OutputFormat::Text => super::print(&examined.text(global, self.fix))?,
        }
        let is_refuted = hunted.as_ref().is_some_and(Hunted::refutes);
        Ok(ExitCode::from(if is_refuted { 1 } else { exit_code(proven.status) }))
    }

    /// Hunts for a refutation if that is asked for and the proof holds, and saves what it finds.
    fn hunt(
        &self,
        examined: &Examined,
        source: &Source,
        options: &Options,
        global: &Global,
    ) -> Result<Option<Hunted>, Failure> {
        let Some(hunt) = self.hunt.asked() else { return Ok(None) };
        if !examined.proven.verdict.holds() {
            tell!(global, "note: no hunt: the proof does not hold without one");
            return Ok(None);
        }
        let options = options.clone().budget(self.budget.work());
        let template = &examined.opened.loaded.template;
        let hunted = hunt::run(&source.template, template, &options, hunt, global);
        let hunted = hunted.map_err(|found| failed(vec![found], source))?;
        if let Some(folder) = &self.hunt.fixtures {
            let set = self.selected.given.set.iter().cloned().collect();
            hunt::write_fixtures(folder, &hunted, [&self.template, &self.chat_template], &set, global)?;
        }
        Ok(Some(hunted))
    }
}

impl Examined {
    fn new(opened: Opened, chat_template: &str, options: &Options) -> Self {
        let proven = derive::prove(chat_template, &opened.loaded.template, options);
        let text = opened.sources.text(Some(&opened.file)).unwrap_or_default();
        let plan = match proven.verdict.failures.is_empty() {
            true => None,
            false => repair::plan(chat_template, &opened.file, text, options),
        };
        let repaired = plan.as_ref().and_then(|plan| source::from_text(opened.file.clone(), plan.text.clone()).ok());
        let rest = match repaired {
            Some(repaired) => derive::prove(chat_template, &repaired.loaded.template, options).verdict.failures,
            None => proven.verdict.failures.clone(),
        };
        Self { opened, proven, plan, rest, hunted: None }
    }

    /// Writes the repairs into the template's file, and examines it again; returns them.
    fn repair(
        &mut self,
        (chat_template, file): (&str, &str),
        (options, plain): (&Options, Option<&Options>),
        global: &Global,
    ) -> Result<Option<Plan>, Failure> {
        let Some(plan) = self.plan.take() else { return Ok(None) };
        let repaired = source::from_text(self.opened.file.clone(), plan.text.clone())?;
        let failed = |opened: &Opened| {
            let proven = plain.map(|plain| derive::prove(chat_template, &opened.loaded.template, plain));
            proven.map_or(0, |proven| proven.verdict.failed())
        };
        if let Some(lost) = failed(&repaired).checked_sub(failed(&self.opened)).filter(|lost| *lost > 0) {
            let conversations = counted(lost, "conversation");
            tell!(
                global,
                "note: not written: without `--set`, {conversations} would no longer be read; `backchat derive {}` finds a \
                 template for both, if there is one",
                escape(file)
            );
            self.plan = Some(plan);
            return Ok(None);
        }
        let messages: Vec<String> = plan.steps.iter().map(|step| step.repair.describe()).collect();
        template_file::write(&self.opened.file, &plan.before, &plan.text, &messages.join("; "), global)?;
        let opened = source::from_text(self.opened.file.clone(), plan.text.clone())?;
        *self = Self::new(opened, chat_template, options);
        Ok(Some(plan))
    }

    /// The verdict, and what fails: once for each cause, with its repair.
    fn text(&self, global: &Global, is_fixed: bool) -> String {
        let Self { proven, plan, rest, hunted, .. } = self;
        let hunted = hunted.as_ref();
        let refuted = hunted.filter(|hunted| hunted.refutes()).map(|hunted| hunt::text(hunted) + "\n");
        let mut out = format!("{}{}\n", refuted.unwrap_or_default(), escape(&proven.headline()));
        let mut line = |text: &str| out.push_str(&format!("  {}\n", escape(text)));
        if proven.verdict.recut > 0 && !global.is_quiet() {
            line(&format!(
                "{} turns were cut before the end of the prompt, since their render does not extend it",
                proven.verdict.recut
            ));
        }
        proven.samples_line().iter().chain(&proven.verdict.policies.describe()).for_each(|text| line(text));
        if let Some(hunted) = hunted.filter(|hunted| !hunted.refutes()) {
            out.push_str(&hunt::text(hunted));
        }
        let how = if is_fixed { "" } else { "; `--fix` writes it" };
        for step in plan.iter().flat_map(|plan| &plan.steps) {
            if let Fate::Failed(failure) = &step.example.fate {
                let mut failure = failure.clone();
                failure.count = step.repair.fixes;
                out.push_str(&hunt::example(&failure, Some(format!("{}{how}", step.repair.describe()))));
            }
        }
        rest.iter().for_each(|failure| out.push_str(&hunt::example(failure, failure.hint())));
        for diagnostic in proven.diagnostics.iter().filter(|diagnostic| diagnostic.id != "derive-unproved") {
            let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            let (severity, message) = (diagnostic.severity.name(), escape(&diagnostic.message));
            out.push_str(&format!("{severity}: {message}{}\n", escape(&help)));
        }
        out
    }
}
