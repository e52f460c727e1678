//! The command's definition, with a short and a long help for every command, and what to say to a command that was given
//! nothing.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::Cli;

/// The definition that arguments are read by. What a command writes below its options begins with examples: `-h` shows
/// these, `--help` everything.
pub(super) fn definition() -> Command {
    Cli::command().mut_subcommands(|command| match command.get_after_help().map(StyledStr::to_string) {
        Some(all) => {
            let (examples, _) = all.split_once("\n\n").unwrap_or((&all, ""));
            let short = format!("{examples}\n\n`--help` shows more.");
            command.after_help(short).after_long_help(all)
        }
        None => command,
    })
}

/// What a command needs that was given no arguments, and its two usual calls; `None` for another error.
pub(super) fn of_bare_command(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let [_, name] = arguments else { return None };
    let (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let definition = definition();
    let command = definition.find_subcommand(name)?;
    let examples = command.get_after_help()?.to_string();
    let calls: Vec<&str> = examples.lines().skip(1).take_while(|line| !line.is_empty()).take(2).collect();
    Some(format!(
        "error: `backchat {name}` needs {missing}. The usual calls:\n\n{calls}\n\n`backchat {name} -h` lists its options.\n",
        name = command.get_name(),
        missing = missing.iter().map(|name| name.trim_end_matches("...")).collect::<Vec<_>>().join(", "),
        calls = calls.join("\n"),
    ))
}
