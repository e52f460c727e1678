//! `--watch`: runs the command again whenever a file changes that it reads, and shows what that changed.
//!
//! Each run is a process of its own. It prints exactly what the command prints without the option, and it is ended at
//! once when a file changes meanwhile.

mod changes;
mod files;
mod run;
mod screen;

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

pub use files::Watched;

use super::{Failure, Global};
use backchat_core::diagnostic::Diagnostic;
use run::Run;
use screen::Screen;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs a command again and again; only a signal ends that.
pub fn run(command: &str, watched: &Watched, global: &Global) -> Result<ExitCode, Failure> {
    let mut stamps = watched.stamps();
    if stamps.is_empty() {
        let problem = Diagnostic::error("nothing-to-watch", "`--watch` needs a file or folder on the disk");
        return Err(problem.help("name one, or leave out `--watch`").into());
    }
    let mut screen = Screen::new(global);
    loop {
        let mut run = Run::start(command, screen.is_colored())?;
        let result = loop {
            if let Some(result) = run.ended()? {
                break Some(result);
            }
            if watched.stamps() != stamps {
                run.stop();
                break None;
            }
            sleep(INTERVAL / 4);
        };
        if let Some(result) = result {
            screen.show(&result, stamps.len())?;
            while watched.stamps() == stamps {
                sleep(INTERVAL);
            }
        }
        stamps = settled(watched);
        screen.is_running()?;
    }
}

/// The stamps once no file changes any more: an editor may write one in steps.
fn settled(watched: &Watched) -> files::Stamps {
    let mut before = watched.stamps();
    loop {
        sleep(INTERVAL / 2);
        let now = watched.stamps();
        if now == before {
            return now;
        }
        before = now;
    }
}
