//! `completions`: prints the completion script that clap makes from the command's definition.

use std::io::{self, Write};
use std::process::ExitCode;

use clap_complete::Shell;

use super::{Failure, Global};

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat completions bash > ~/.local/share/bash-completion/completions/backchat
  backchat completions zsh > ~/.zfunc/_backchat
  backchat completions fish > ~/.config/fish/completions/backchat.fish

Exit codes: 0 printed, 2 could not run.")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(&self, _global: &Global) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::definition(), "backchat", &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
