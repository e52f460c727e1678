//! One run of the command, as a process whose output is collected.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The option that the run itself does not get.
const OPTION: &str = "--watch";

/// How much of an output is kept.
const MOST: u64 = 8 << 20;

/// What a run said.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub text: String,
    pub took: Duration,
}

pub struct Run {
    child: Child,
    output: Option<JoinHandle<String>>,
    started: Instant,
}

impl Run {
    /// Starts this program again with the arguments that it has itself.
    pub fn start(command: &str, is_colored: bool) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut child = Command::new(std::env::current_exe()?);
        child.args(arguments(std::env::args_os().skip(1), command, is_colored));
        // Results and messages stay in the order in which they are written.
        child.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let started = Instant::now();
        let child = child.spawn()?;
        Ok(Self { child, output: Some(thread::spawn(move || collect(reader))), started })
    }

    /// What it said, if it has ended.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        let text = self.output.take().and_then(|output| output.join().ok()).unwrap_or_default();
        Ok(Some(Ended { code: status.code(), text, took: self.started.elapsed() }))
    }

    /// Ends it: nobody wants its result any more.
    pub fn stop(&mut self) {
        // It may have ended just now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The arguments without the option, and with colors if they are wanted: the run writes into a pipe.
fn arguments(given: impl Iterator<Item = OsString>, command: &str, is_colored: bool) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut is_option = true;
    for argument in given {
        is_option &= argument != "--";
        if !(is_option && argument == OPTION) {
            arguments.push(argument);
        }
    }
    let chooses = |argument: &OsString| argument.to_string_lossy().starts_with("--color");
    if is_colored
        && !arguments.iter().any(chooses)
        && let Some(at) = arguments.iter().position(|argument| argument == command)
    {
        arguments.insert(at + 1, "--color=always".into());
    }
    arguments
}

fn collect(mut reader: PipeReader) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is shown. The rest is read, too, so that the run does not wait for a reader.
    let _ = reader.by_ref().take(MOST).read_to_end(&mut bytes);
    let more = io::copy(&mut reader, &mut io::sink()).unwrap_or(0);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if more > 0 {
        text.push_str(&format!("\n({more} more bytes)\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_gets_the_same_arguments_but_for_the_option() {
        let made = |given: &str, is_colored| {
            let given = given.split(' ').map(OsString::from);
            let made = arguments(given, "lint", is_colored);
            made.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(made("lint a.json --watch", false), "lint a.json");
        assert_eq!(made("-m backchat lint --watch a.json", true), "-m backchat lint --color=always a.json");
        assert_eq!(made("lint --watch --color never a.json", true), "lint --color never a.json");
        assert_eq!(made("lint --watch -- --watch", false), "lint -- --watch", "a file may have that name");
    }
}
