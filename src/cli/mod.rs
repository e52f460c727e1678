//! The `backchat` command: arguments in, exit code out. One file a command; only this room prints.

mod check;
mod derive;
mod failure;
mod input;
mod outputs;
mod parse;
mod progress;
mod render;
mod rows;
mod schema;
mod show;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use failure::Failure;

/// The workbench for response templates.
#[derive(Debug, Parser)]
#[command(name = "backchat", version, about, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Exit status: 0 fine, 1 checked and failed, 2 could not run.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// When to colour what is printed
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Say nothing but the answer
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Check),
    Parse(parse::Parse),
    Render(render::Render),
    Derive(derive::Derive),
    Schema(schema::Schema),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let result = match &cli.command {
        Command::Check(command) => command.run(&cli.global),
        Command::Parse(command) => command.run(&cli.global),
        Command::Render(command) => command.run(&cli.global),
        Command::Derive(command) => command.run(&cli.global),
        Command::Schema(command) => command.run(&cli.global),
    };
    result.unwrap_or_else(|failure| failure.report(&cli.global))
}

impl Global {
    /// Whether what goes to `stream` is coloured.
    pub fn colours(&self, stream: &impl std::io::IsTerminal) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if is_set("NO_COLOR") => false,
            Color::Auto => stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }

    /// Whether to say nothing but the answer.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }
}
