//! The `backchat` command: arguments in, exit code out. One file per command; only this module prints.

/// Writes a line to standard error. A standard error that is closed or full is ignored.
macro_rules! say {
    ($($text:tt)*) => {
        {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), $($text)*);
        }
    };
}

/// Writes a line to standard error unless the command is quiet.
macro_rules! tell {
    ($global:expr, $($text:tt)*) => {
        if !$global.is_quiet() {
            say!($($text)*);
        }
    };
}

use say;

mod arriving;
mod audit;
mod bridge;
mod cache;
mod case_selection;
mod chat_options;
mod chat_rows;
mod check;
mod colored_chat;
mod completions;
mod convert;
mod derive;
mod diagnostic_outputs;
mod diff;
mod doctor;
mod durations;
mod failure;
mod fix;
mod folders;
mod grammar;
mod help;
mod hunt;
mod init;
mod known_values;
mod lint;
mod lint_config;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
mod on_all_cores;
mod origins;
mod parse;
mod progress;
mod prove;
mod render;
mod rendered_ids;
#[cfg(feature = "tui")]
mod replay;
mod report;
mod review;
mod rows;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod special_tokens;
mod template_file;
mod token_ids;
mod unrender;
mod watch;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use failure::Failure;
use help::definition;

use backchat_core::diagnostic::{escape, escape_json, escape_lines};
use backchat_workbench::input;

/// The workbench for response templates.
#[derive(Debug, Parser)]
#[command(name = "backchat", version, about, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Exit codes: 0 success, 1 failed check, 2 could not run; `check`: 4 nothing selected.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Select when to color the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Suppress everything but the result
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// Declares the commands, each with the struct of its arguments, and runs them.
macro_rules! commands {
    ($($(#[$condition:meta])? $name:ident($arguments:ty),)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$condition])? $name($arguments),)*
        }

        impl Command {
            fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
                match self {
                    $($(#[$condition])? Self::$name(command) => command.run(global),)*
                }
            }
        }
    };
}

commands! {
    Audit(audit::Audit),
    Derive(derive::Derive),
    Convert(convert::Convert),
    Diff(Box<diff::Diff>),
    Doctor(doctor::Doctor),
    Fix(fix::Fix),
    Grammar(Box<grammar::Grammars>),
    Init(init::Init),
    Lint(lint::Lint),
    #[cfg(feature = "lsp")]
    Lsp(lsp::Lsp),
    Parse(parse::Parse),
    Prove(prove::Prove),
    Render(render::Render),
    #[cfg(feature = "tui")]
    Replay(replay::Replay),
    Check(check::Check),
    Review(review::Review),
    Schema(schema::Schema),
    Bridge(Box<bridge::Bridging>),
    #[cfg(feature = "serve")]
    Serve(Box<serve::Serve>),
    Unrender(unrender::Unrender),
    Completions(completions::Completions),
    Man(man::Man),
}

/// The output of `backchat` without arguments: the four main commands.
const WELCOME: &str = "\
Backchat is the workbench for response templates. The four main commands:

  backchat derive MODEL                  derive a response template from a chat template, and prove it
  backchat parse TEMPLATE OUTPUT         parse model output with it
  backchat replay TEMPLATE OUTPUT        step through an output in the terminal
  backchat check FOLDER                  check templates against recorded outputs, in CI

MODEL is a folder, a .jinja file, a tokenizer_config.json, a .gguf file, or ORG/NAME in the Hugging Face cache.
`backchat --help` lists all commands; `backchat COMMAND -h` explains one.
";

fn is_without_command(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)
}

pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Runs a command line inside another process; the first argument is the name of the program.
pub fn run_to_code(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // `ExitCode` does not expose its number; commands end with these only.
    let code = run(arguments);
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(2)
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match read(&arguments) {
        Ok(cli) => cli,
        Err(error) if is_without_command(&error) => {
            // A closed standard error is ignored.
            let _ = io::stderr().write_all(WELCOME.as_bytes());
            return ExitCode::from(2);
        }
        Err(error) => {
            let Some(text) = help::of_bare_command(&error, &arguments) else { return refuse(error, &arguments) };
            let _ = io::stderr().write_all(text.as_bytes());
            return ExitCode::from(2);
        }
    };
    let result = cli.command.run(&cli.global);
    result.unwrap_or_else(|failure| failure.report(&cli.global))
}

fn read<T: Into<OsString> + Clone>(arguments: &[T]) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&definition().try_get_matches_from(arguments.iter().cloned())?)
}

/// Prints the error about the arguments, or the requested help; returns the exit code.
fn refuse(error: clap::Error, arguments: &[OsString]) -> ExitCode {
    // An error quotes the arguments: it is created again from escaped arguments.
    let given: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let shown: Vec<_> = given.iter().map(|argument| escape(argument).into_owned()).collect();
    let uses_stderr = error.use_stderr();
    let _ = match read(&shown) {
        Err(safe) if shown != given => nearest_first(safe).print(),
        _ if shown != given => io::stderr().write_all(escape_lines(&error.render().to_string()).as_bytes()),
        _ => nearest_first(error).print(),
    };
    ExitCode::from(if uses_stderr { 2 } else { 0 })
}

/// Lists the most similar command first.
fn nearest_first(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand).cloned()
        && let Some(ContextValue::Strings(mut names)) = error.get(ContextKind::SuggestedSubcommand).cloned()
    {
        names.sort_by_key(|name| strsim::damerau_levenshtein(name, &given));
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
    }
    error
}

/// Writes a note about the answer.
fn note(message: &str) {
    say!("note: {message}");
}

/// Warns of a model whose derivation is not proved, with what is lost or not read.
fn warn_of(doubts: &[String]) {
    for (at, doubt) in doubts.iter().enumerate() {
        say!("{}{}", if at == 0 { "warning: " } else { "  " }, escape(doubt));
    }
}

/// Prints untrusted text as the result: byte for byte into a file or a pipe, escaped on a terminal.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(Global::printable(text, &out).as_bytes())?;
    out.flush()
}

/// Prints JSON as the result: what affects a terminal is an escape in it, and the value is the same.
fn print_json(json: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(escape_json(json).as_bytes())?;
    out.flush()
}

impl Global {
    /// Whether the output to `stream` is colored.
    pub fn colors(&self, stream: &impl std::io::IsTerminal) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if is_set("NO_COLOR") => false,
            Color::Auto => stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }

    /// Untrusted text, for a stream: byte for byte into a file or a pipe, escaped on a terminal.
    pub fn printable<'t>(text: &'t str, stream: &impl std::io::IsTerminal) -> Cow<'t, str> {
        if stream.is_terminal() { escape_lines(text) } else { Cow::Borrowed(text) }
    }

    /// Whether to suppress everything but the result.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }
}
