use std::io::{self, Write};
use std::process::ExitCode;

use super::{Failure, Global};

/// Print the JSON Schema of response templates, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  backchat schema > response-template.schema.json")]
pub struct Schema {}

impl Schema {
    pub fn run(&self, _global: &Global) -> Result<ExitCode, Failure> {
        writeln!(io::stdout().lock(), "{}", crate::template::schema().to_pretty("  "))?;
        Ok(ExitCode::SUCCESS)
    }
}
