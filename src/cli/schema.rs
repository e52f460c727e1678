//! `backchat schema`: the JSON Schemas of the commands' inputs and outputs.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;

use super::{Failure, Global};

/// Print the JSON Schema of response templates, for editors, or of answers in JSON
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat schema > response-template.schema.json
  backchat schema grammar > grammar.schema.json
  backchat schema diff > diff.schema.json

Exit codes: 0 printed, 2 could not run.")]
pub struct Schema {
    /// The format to describe
    #[arg(value_enum, default_value_t = Subject::ResponseTemplate)]
    of: Subject,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subject {
    ResponseTemplate,
    /// The output of `backchat grammar --format json`
    Grammar,
    /// The output of `backchat diff --format json`
    Diff,
}

impl Schema {
    pub fn run(&self, _global: &Global) -> Result<ExitCode, Failure> {
        let schema = match self.of {
            Subject::ResponseTemplate => backchat_parser::template::schema().to_pretty("  "),
            Subject::Grammar => backchat_grammar::SCHEMA.trim_end().to_owned(),
            Subject::Diff => backchat_diff::SCHEMA.trim_end().to_owned(),
        };
        writeln!(io::stdout().lock(), "{schema}")?;
        Ok(ExitCode::SUCCESS)
    }
}
