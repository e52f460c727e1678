//! `backchat parse`: model output in, messages and events out.

mod answer;
mod row;
mod show;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use self::answer::{Answerer, Asked, Recording};
use super::rows::Tally;
use super::{Failure, Global, input, note, rows};
use crate::content::Mode;
use crate::diagnostic::{Diagnostic, Sources};
use crate::json::{Object, Value};
use crate::parser::Chunks;
use crate::template::Template;

/// Parse model output with a response template
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  backchat parse template.json output.txt --prefix prompt.txt
  backchat parse ./my-model output.txt --prefix prompt.txt --events --chunks 4
  backchat parse template.json --jsonl outputs.jsonl > messages.jsonl

The prompt matters: it often ends in what opens the first region, and without --prefix that is not seen.

Exit status: 0 parsed; 1 parsed, but a region gave no value, a required field is missing, or in reference mode \
transformers would have raised; 2 could not run. With --jsonl: 0 when every row was answered, errors included.")]
pub struct Parse {
    /// A response template's JSON, or a tokenizer_config.json, model folder or ORG/NAME in the Hugging Face cache that
    /// carries one, or `-`
    #[arg(required_unless_present = "jsonl")]
    template: Option<String>,
    /// The model's output; standard input where it is `-` or left out
    #[arg(conflicts_with = "jsonl")]
    output: Option<String>,
    /// The prompt that the output continues
    #[arg(long, value_name = "FILE")]
    prefix: Option<String>,
    /// The tools the model was given, a JSON list: arguments of calls are cast to their types
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// Also give the events, feed by feed
    #[arg(long)]
    events: bool,
    /// How the text is fed: `whole`, a number of code points, or `random:SEED`
    #[arg(long, value_name = "HOW", default_value = "whole")]
    chunks: Chunks,
    /// `stable` gives one answer however the text is cut; `reference` gives transformers' answer, flaws included
    #[arg(long, value_enum, default_value = "stable")]
    mode: ModeName,
    /// Parse rows of JSON lines: {"id", "text", "template"?, "prefix"?, "tools"?, "chunks"?}
    #[arg(long, value_name = "FILE")]
    jsonl: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ModeName {
    Stable,
    Reference,
}

impl Parse {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        self.check_inputs()?;
        let asked = Asked {
            mode: match self.mode {
                ModeName::Stable => Mode::Stable,
                ModeName::Reference => Mode::Reference,
            },
            events: self.events,
            chunks: self.chunks,
            template: self.template.as_deref().map(|path| load(path, global)).transpose()?,
            prefix: self.prefix.as_deref().map(input::text).transpose()?,
            tools: self.tools.as_deref().map(input::tools).transpose()?,
        };
        match &self.jsonl {
            Some(rows) => many(rows, &asked, global),
            None => self.one(asked, global),
        }
    }

    /// Standard input can be read once only.
    fn check_inputs(&self) -> Result<(), Diagnostic> {
        let output = self.jsonl.as_deref().or(self.output.as_deref()).unwrap_or("-");
        let inputs = [self.template.as_deref(), Some(output), self.prefix.as_deref(), self.tools.as_deref()];
        if inputs.into_iter().flatten().filter(|path| *path == "-").count() < 2 {
            return Ok(());
        }
        Err(Diagnostic::error("input-read-twice", "standard input is named more than once").help(
            "name a file for all inputs but one; the output itself is read from standard input where it is left out",
        ))
    }

    fn one(&self, asked: Asked, global: &Global) -> Result<ExitCode, Failure> {
        let path = self.output.as_deref().unwrap_or("-");
        if self.output.is_none() && io::stdin().is_terminal() && !global.is_quiet() {
            note("reading the model's output from standard input, up to its end (Ctrl-D)");
        }
        let text = input::text(path)?;
        if asked.prefix.is_none() && !global.is_quiet() {
            note(
                "without --prefix the output is read as if the prompt ended right at the start anchor; where the prompt \
                 goes on after it, as one that opens reasoning does, give it with --prefix FILE, or an empty file where there is none",
            );
        }
        let Some(template) = &asked.template else { return Ok(ExitCode::from(2)) };
        let prefix = asked.prefix.as_deref().unwrap_or("");
        if !prefix.is_empty()
            && !global.is_quiet()
            && matches!(template.start_anchor().pattern().find_at(prefix, 0), Ok(None))
        {
            note(
                "the prompt does not hold the start anchor of the template, so all of it is read as part of the message",
            );
        }
        let mut recording = Recording::default();
        let feeds = asked.chunks.of(&text);
        let done = answer::parse(template, prefix, feeds, asked.mode, asked.tools.as_ref(), Some(&mut recording));
        let file = input::name(path);
        let mut diagnostics = show::malformed(&recording, &text, file);
        let in_order = done.as_ref().is_ok_and(|finished| finished.missing.is_empty()) && diagnostics.is_empty();

        let mut out = io::stdout().lock();
        if out.is_terminal() {
            let colour = global.colours(&out);
            if asked.events {
                let feeds: Vec<_> = asked.chunks.of(&text).collect();
                out.write_all(show::events(&recording, prefix, &feeds, colour).as_bytes())?;
            }
            if let Ok(finished) = &done {
                writeln!(out, "{}", show::message(&finished.message, colour))?;
            }
        } else if asked.events {
            let mut answer = Object::new();
            let told = done.clone();
            answer::complete(&mut answer, told, Some(recording));
            writeln!(out, "{}", Value::Object(answer))?;
        } else if let Ok(finished) = &done {
            writeln!(out, "{}", Value::Object(finished.message.clone()))?;
        }
        drop(out);

        match done {
            Ok(finished) => diagnostics.extend(finished.missing.iter().map(|field| show::missing(field, file))),
            Err(error) => diagnostics.push(show::failed(&error, asked.mode, file)),
        }
        if !diagnostics.is_empty() && !global.is_quiet() {
            Failure::Diagnostics { diagnostics, sources: Sources::none().with(file, text) }.report(global);
        }
        Ok(ExitCode::from(if in_order { 0 } else { 1 }))
    }
}

fn many(path: &str, asked: &Asked, global: &Global) -> Result<ExitCode, Failure> {
    let Tally { rows, failed } = rows::answer(path, global, || {
        let mut answerer = Answerer::new(asked);
        move |line, out: &mut Vec<u8>| answerer.answer(line, out)
    })?;
    if failed > 0 && !global.is_quiet() {
        note(&format!("{failed} of {rows} rows have an error for an answer"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The template at a path. What is odd about it is told.
fn load(path: &str, global: &Global) -> Result<Template, Failure> {
    let opened = input::template(path)
        .map_err(|error| Failure::Diagnostics { diagnostics: error.diagnostics, sources: error.sources })?;
    if !opened.loaded.warnings.is_empty() && !global.is_quiet() {
        Failure::Diagnostics { diagnostics: opened.loaded.warnings, sources: opened.sources }.report(global);
    }
    Ok(opened.loaded.template)
}
