//! `backchat parse` with a response schema: the whole output in, one message out.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use super::answer::{ParseOptions, READS_WHOLE};
use super::row::RowOptions;
use super::show;
use crate::cli::{Failure, Global, input};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_legacy::schema::Schema;

/// Refuses options that require a response template, and warns about unused ones.
pub fn check(options: &ParseOptions, global: &Global) -> Result<(), Failure> {
    if !options.is_whole() || options.row_options != RowOptions::default() {
        return Err(Diagnostic::error("reads-whole", READS_WHOLE)
            .help("leave out --events, --chunks, --mode, --reasoning and --tools-off, or make a response template: `backchat convert`")
            .into());
    }
    for (name, is_given) in [("--prefix", options.prefix.is_some()), ("--tools", options.tools.is_some())] {
        if is_given {
            tell!(global, "note: a response schema does not use {name}");
        }
    }
    Ok(())
}

pub fn one(schema: &Schema, text: &str, path: &str, global: &Global) -> Result<ExitCode, Failure> {
    let message = match schema.parse(text) {
        Ok(message) => message,
        Err(error) => {
            let problem = Diagnostic::error(error.kind.name(), format!("the schema's node {error}"));
            let help = "transformers would raise an error here; the node is given by its path in the schema";
            Failure::from(problem.at(Place::file(input::name(path))).help(help)).report(global);
            return Ok(ExitCode::from(1));
        }
    };
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        let color = global.colors(&out);
        writeln!(out, "{}", show::message(&message, color))?;
    } else {
        writeln!(out, "{message}")?;
    }
    if message.is_null() {
        tell!(global, "note: the message is null: the schema does not match this output");
    }
    Ok(ExitCode::SUCCESS)
}
