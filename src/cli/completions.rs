//! `completions`: prints the completion script that clap makes from the command's definition.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, ValueHint, value_parser};
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

/// What a value is called that may be a path.
const PATHS: [&str; 7] = ["ADDRESS", "FILE", "FILE|LIST|none", "MODEL", "RECORD", "SOURCE", "TEMPLATE"];

/// An option that says whether its value is a path. For values without a hint the script for bash splits the names of files
/// at spaces.
fn hinted(arg: Arg, shell: Shell) -> Arg {
    let is_path = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        arg.get_value_hint() == ValueHint::AnyPath || names.iter().any(|name| PATHS.contains(&name.as_str()))
    };
    match () {
        () if arg.is_positional() || !arg.get_action().takes_values() => arg,
        // In the script for bash the next word would be its value; it is the source.
        () if arg.is_require_equals_set() && shell == Shell::Bash => {
            arg.value_parser(value_parser!(String)).value_hint(ValueHint::FilePath)
        }
        () if arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "DIR")) => {
            arg.value_hint(ValueHint::DirPath)
        }
        () if is_path(&arg) => arg.value_hint(ValueHint::FilePath),
        () if arg.get_value_hint() == ValueHint::Unknown => arg.value_hint(ValueHint::Other),
        () => arg,
    }
}

impl Completions {
    pub fn run(&self, _global: &Global) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        let mut definition =
            super::definition().mut_subcommands(|command| command.mut_args(|arg| hinted(arg, self.shell)));
        clap_complete::generate(self.shell, &mut definition, "backchat", &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What a value is called that is not a path.
    const OTHERS: &str = "BY BYTES CAUSE CHOICE CONTENT ENGINE FACT FORMAT GATE HOW ID K/N KEY LEVEL LIST MODE N NAME \
        NAME=VALUE NUMBER ORIGIN PART POLICY PORT PROBLEM REASONING RULE SECONDS TEXT THEME TIME TIMES URL VARIABLE WHAT \
        WHEN WHICH";

    #[test]
    fn the_name_of_every_value_says_whether_it_is_a_path() {
        let definition = super::super::definition();
        let commands = std::iter::once(&definition).chain(definition.get_subcommands());
        let args = commands.flat_map(|command| command.get_arguments());
        let names: BTreeSet<&str> = args
            .filter(|arg| !arg.is_positional() && arg.get_action().takes_values())
            .flat_map(|arg| arg.get_value_names().unwrap_or_default())
            .map(|name| name.as_str())
            .collect();
        let known = PATHS.into_iter().chain(["DIR"]).chain(OTHERS.split_whitespace()).collect();
        assert_eq!(names, known, "the names of values, and those that are sorted into paths and others");
    }
}
