//! `man`: the manual pages that clap makes from the command's definition.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man as Page;

use super::{Failure, Global, input};
use backchat_core::diagnostic::escape;

/// Print the manual page, or write the pages of all commands into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat man | man -l -
  backchat man ~/.local/share/man/man1

Exit codes: 0 written, 2 could not run.")]
pub struct Man {
    /// Write a page for every command into this folder; it is created if necessary
    folder: Option<PathBuf>,
}

impl Man {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let mut definition = super::definition();
        definition.build();
        let Some(folder) = &self.folder else {
            io::stdout().lock().write_all(&page(definition)?)?;
            return Ok(ExitCode::SUCCESS);
        };
        fs::create_dir_all(folder).map_err(|error| input::cannot_write(&folder.display().to_string(), &error))?;
        let commands = definition.get_subcommands().filter(|command| command.get_name() != "help").cloned();
        let mut written = 0;
        for command in std::iter::once(definition.clone()).chain(commands) {
            let file = folder.join(format!("{}.1", command.get_display_name().unwrap_or("backchat")));
            super::signals::write(&file, page(command)?)?;
            written += 1;
        }
        tell!(global, "Wrote {written} pages to {}.", escape(&folder.display().to_string()));
        Ok(ExitCode::SUCCESS)
    }
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Page::new(command).render(&mut page)?;
    Ok(page)
}
