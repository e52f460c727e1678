//! `backchat convert`: a response schema in, a response template out, with the differences.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::chat_options::OutputFormat;
use super::{Failure, Global, chat_rows, input, template_file};
use backchat_chat::source;
use backchat_core::diagnostic::{Diagnostic, Place, Sources, escape, escape_json, shell_word};
use backchat_core::json::{Object, Value};
use backchat_derive::derive;
use backchat_legacy::convert::{self, Conversion, Counterexample, Options, Status};
use backchat_legacy::schema::Schema;
use backchat_legacy::schema::source::{OpenedSchema, Stored};
use backchat_parser::template::Template;
use backchat_parser::template::source::{Opened, SourceError, SourceErrorKind, remove_schema_from, write_into};
use backchat_workbench::answers;

/// Convert a response schema to a response template, and prove it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  backchat convert models/mine --write
  backchat convert schema.json --start-anchor '<|assistant|>' -o response_template.json
  backchat convert tokenizer_config.json --samples outputs.jsonl --explain
  backchat convert --jsonl schemas.jsonl > templates.jsonl

transformers 5.15 and later ignore response schemas. `convert` compares the template with the
schema on outputs made from the schema's own markers and on --samples. It reports every construct
that does not carry over as a loss. A config that already has a response template keeps it with
--write, and --remove removes the schema next to it: the two are not compared again.

Exit codes: 0 proved or nothing to do, 1 partial or inexpressible, 2 could not run.
With --jsonl: 0 if every row is answered.")]
pub struct Convert {
    /// The JSON of a response schema, or a tokenizer_config.json, model folder or ORG/NAME in the Hugging Face cache
    /// that contains one, or `-`
    #[arg(required_unless_present = "jsonl")]
    source: Option<String>,
    /// Write the template to a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "write")]
    output: Option<String>,
    /// Write the template into the source's own tokenizer_config.json
    #[arg(long)]
    write: bool,
    /// With --write, remove the response schema from the file; a template that is already there is not compared again
    #[arg(long, requires = "write", conflicts_with_all = ["output", "jsonl", "explain"])]
    remove: bool,
    /// Print or write the template even if it has losses that are not improvements
    #[arg(long)]
    partial: bool,
    /// Read the start anchor from this chat template; the default is the one in the model folder
    #[arg(long, value_name = "FILE")]
    chat_template: Option<String>,
    /// Use this start anchor: the text in the prompt after which the model's turn begins
    #[arg(long, value_name = "TEXT", conflicts_with = "chat_template")]
    start_anchor: Option<String>,
    /// Also compare the schema and the template on recorded outputs of the model
    #[arg(long, value_name = "FILE")]
    samples: Option<String>,
    /// Print every loss with the outputs that show it, instead of the template
    #[arg(long, conflicts_with_all = ["output", "write", "format"])]
    explain: bool,
    /// Select the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Convert rows of a JSON Lines file: {"id", "schema", "start_anchor"?, "chat_template"?, "samples"?}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "output", "write", "samples", "explain"])]
    jsonl: Option<String>,
}

impl Convert {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.jsonl {
            let tally = chat_rows::answer(file, global, |row| self.row(row))?;
            return Ok(ExitCode::from(u8::from(tally.failed > 0)));
        }
        let name = self.source.as_deref().unwrap_or("-");
        if self.write {
            template_file::may_change(name, "pass the config as a file, or use `-o`")?;
        }
        let opened = match input::template_or_schema(name).map_err(|error| without_schema(error, name))? {
            Stored::Schema(opened) => opened,
            Stored::Template(opened) => return self.keep_template(name, opened, global),
        };
        let options = self.options(name, &opened)?;
        let conversion = convert::convert(&opened.loaded.schema, &options);
        self.deliver(name, &conversion, global)
    }

    /// Keeps the template that a config already has, and removes the schema next to it with --remove.
    fn keep_template(&self, name: &str, opened: Opened, global: &Global) -> Result<ExitCode, Failure> {
        if !self.write || opened.path == backchat_core::json::Path::root() {
            let problem = Diagnostic::error("not-a-schema", "this is already a response template");
            return Err(problem.at(Place::file(opened.file)).help("there is nothing to convert").into());
        }
        let is_removed = self.remove && super::signals::uninterrupted(|| remove_schema_from(name))?;
        if self.format == OutputFormat::Json {
            writeln!(io::stdout().lock(), "{}", escape_json(&kept(&opened.loaded.template).to_string()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let name = escape(name);
        match is_removed {
            true => tell!(global, "Removed `response_schema` from {name}."),
            false => tell!(global, "{name} already has a response template; nothing to do"),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn row(&self, row: &Object) -> Result<Object, String> {
        let value = row.get("schema").ok_or("the row has no `schema`")?;
        let loaded = Schema::from_value(value).map_err(|found| {
            let messages: Vec<_> = found.into_iter().map(|found| found.message).collect();
            messages.join("; ")
        })?;
        let mut options = Options::default();
        match row.get("start_anchor").filter(|anchor| !anchor.is_null()) {
            Some(anchor @ (Value::String(_) | Value::List(_))) => {
                options.anchor = Some(("start_anchor", anchor.clone()));
            }
            Some(other) => return Err(format!("`start_anchor` should be a string, not {}", other.kind())),
            None => options.anchor = self.start_anchor.as_deref().map(|anchor| ("start_anchor", anchor.into())),
        }
        let place = chat_rows::text(row, "chat_template")?.or(self.chat_template.as_deref());
        if let Some(place) = place {
            let derived = derived(place).map_err(|error| {
                let found = error.diagnostics.first();
                found.map_or_else(|| place.to_owned(), |found| format!("{place}: {}", found.message))
            });
            add(&mut options, derived?);
        }
        if let Some(samples) = row.get("samples").and_then(Value::as_list) {
            options.samples = samples.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        if options.anchor.is_none() {
            return Err(NO_ANCHOR.to_owned());
        }
        match convert::convert(&loaded.schema, &options).to_value() {
            Value::Object(entries) => Ok(entries),
            other => Err(format!("the answer is {}", other.kind())),
        }
    }

    fn options(&self, name: &str, opened: &OpenedSchema) -> Result<Options, Failure> {
        let mut options = Options::default();
        if let Some(file) = &self.samples {
            options.samples = answers::samples(file)?.into_iter().map(|sample| sample.text).collect();
        }
        if let Some(anchor) = &self.start_anchor {
            options.anchor = Some(("start_anchor", anchor.as_str().into()));
        }
        match &self.chat_template {
            Some(place) => add(&mut options, derived(place)?),
            // The model's own chat template, if there is one.
            None if opened.path != backchat_core::json::Path::root() && name != "-" => {
                if let Ok(Some(template)) = derived(name) {
                    add(&mut options, Some(template));
                }
            }
            None => {}
        }
        if options.anchor.is_none() {
            let problem = Diagnostic::error("no-start-anchor", NO_ANCHOR).at(Place::file(&opened.file));
            return Err(problem
                .help("pass the model's chat template with --chat-template, or the text with --start-anchor")
                .into());
        }
        Ok(options)
    }

    /// Writes the template to its destination, and the report.
    fn deliver(&self, name: &str, conversion: &Conversion, global: &Global) -> Result<ExitCode, Failure> {
        let mut out = io::stdout().lock();
        let code = ExitCode::from(u8::from(conversion.status != Status::Proved));
        if self.format == OutputFormat::Json {
            writeln!(out, "{}", escape_json(&conversion.to_value().to_string()))?;
        } else if self.explain {
            out.write_all(explained(conversion).as_bytes())?;
        } else if !global.is_quiet() || conversion.status != Status::Proved {
            report(conversion);
        }
        let Some(template) = conversion.template.as_ref().filter(|_| !self.explain) else { return Ok(code) };
        let say = |text: &str| tell!(global, "{text}");
        if conversion.status != Status::Proved && !conversion.is_no_worse() && !self.partial {
            if self.format == OutputFormat::Text {
                say("The template has losses and was not written; `--partial` writes it anyway.");
            }
            return Ok(code);
        }
        if self.write {
            super::signals::uninterrupted(|| {
                write_into(name, template)?;
                if self.remove { remove_schema_from(name).map(|_| ()) } else { Ok(()) }
            })?;
            say(&format!("Wrote `response_template` into {}.", escape(name)));
            say(&format!("Next: backchat lint {}", shell_word(name)));
        } else if let Some(file) = &self.output {
            super::signals::write(Path::new(file), template.to_json())?;
            say(&format!("Wrote {}.", escape(file)));
            say(&format!("Next: backchat lint {}", shell_word(file)));
        } else if self.format == OutputFormat::Text {
            out.write_all(escape_json(&template.to_json()).as_bytes())?;
            say("Next: write it to a file with `-o response_template.json`, or into the model's config with `--write`");
        }
        Ok(code)
    }
}

const NO_ANCHOR: &str = "a response template needs a start anchor, which a response schema does not have";

/// The error if there is nothing to convert: a model may need no more than a response template.
fn without_schema(error: SourceError, name: &str) -> SourceError {
    if error.kind() != SourceErrorKind::NoTemplate {
        return error;
    }
    let help = format!("derive a response template from the chat template: `backchat derive {}`", shell_word(name));
    let problem = Diagnostic::error("no-schema", "there is neither a response schema nor a response template here");
    SourceError::new(vec![problem.at(Place::file(input::name(name))).help(help)], Sources::none())
}

/// The report for a template that was there: nothing is compared.
fn kept(template: &Template) -> Value {
    Value::from([
        ("status", "unchanged".into()),
        ("response_template", template.to_value()),
        ("losses", Value::List(Vec::new())),
        ("verification", Value::Null),
    ])
}

/// The derivation from a chat template, if there is one.
fn derived(place: &str) -> Result<Option<Template>, source::SourceError> {
    let source = source::open(place, None)?.for_tools();
    let derivation = derive::derive(&source.template, &derive::Options::for_source(&source));
    let template = derivation.response_template.and_then(|value| Template::from_value(&value).ok());
    Ok(template.map(|loaded| loaded.template))
}

/// Takes the anchor from a derived template, unless one is given, and uses the template as a first draft.
fn add(options: &mut Options, derived: Option<Template>) {
    let Some(template) = derived else { return };
    let value = template.to_value();
    let anchor = |key: &'static str| value.get(key).map(|anchor| (key, anchor.clone()));
    let anchor = anchor("start_anchor").or_else(|| anchor("start_anchor_pattern"));
    options.anchor = options.anchor.take().or(anchor);
    options.derived = Some(template);
}

fn headline(conversion: &Conversion) -> String {
    let Conversion { status, passed, cases, .. } = conversion;
    match status {
        Status::Inexpressible => "inexpressible: no response template can do what this schema does".to_owned(),
        status => format!("{}: {passed} of {cases} outputs give the same message", status.name()),
    }
}

fn report(conversion: &Conversion) {
    super::say!("{}", headline(conversion));
    for loss in &conversion.losses {
        let kind = if loss.better { "better" } else { "loss" };
        super::say!("  {kind}: {}: {}: {}", escape(&loss.path), escape(&loss.construct), escape(&loss.message));
    }
    if let Some(example) = conversion.counterexamples.iter().find(|example| !example.better) {
        super::say!("  for example {}", escape(&Value::from(example.output.as_str()).to_string()));
    }
}

/// The whole report, as Markdown.
fn explained(conversion: &Conversion) -> String {
    let mut text = format!("# Conversion\n\n{}\n", headline(conversion));
    if !conversion.losses.is_empty() {
        text += "\n## What changes\n\n| node | construct | what changes | better |\n|---|---|---|---|\n";
        let cell = |text: &str| escape(text).replace('|', "\\|");
        for loss in &conversion.losses {
            let better = if loss.better { "yes" } else { "no" };
            text +=
                &format!("| {} | {} | {} | {better} |\n", cell(&loss.path), cell(&loss.construct), cell(&loss.message));
        }
    }
    for Counterexample { output, schema, template, better, .. } in &conversion.counterexamples {
        let schema = schema.as_ref().map_or_else(|| "an error".to_owned(), Value::to_string);
        let right = if *better { "; the template is right" } else { "" };
        text += &format!(
            "\n## An output that reads differently{right}\n\n    {}\n\nschema:\n\n    {}\n\ntemplate:\n\n    {}\n",
            escape(&Value::from(output.as_str()).to_string()),
            escape(&schema),
            escape(&template.to_string())
        );
    }
    text
}
