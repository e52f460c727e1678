//! `backchat replay`: outputs on the workbench, or their events as a table where there is no terminal.

mod bench;
mod bless;
mod files;
mod table;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use self::bench::Bench;
use super::render::assignment;
use super::{Failure, Global};
use crate::diagnostic::Diagnostic;
use crate::json::Value;
use crate::parser::{Chunks, Mode};
use crate::tui::{self, App, Chunking, Desk, Material, Problem, Showing, Start, Theme};

pub use self::bench::Given;

/// Replay outputs through the parser, step by step, and see why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  backchat replay template.json output.txt --prefix prompt.txt
  backchat replay tests/fixtures/thinking.fixture#two-calls --at 17
  backchat replay ./my-model outputs.jsonl
  generate | backchat replay template.json -

On the screen, ? lists the keys. Where standard output is no terminal, the events are printed as a table.

Exit status: 0 replayed, 2 could not run.")]
pub struct Replay {
    /// A response template's JSON, tokenizer_config.json or model folder; or fixtures: FILE.fixture, FILE.fixture#CASE,
    /// rows of JSON lines, or a folder of such
    template: String,
    /// The model's output, or a list of outputs: JSON lines, fixtures or a folder; `-` is standard input. Rows
    /// {"after_ms", "text"} are one output, in the chunks it came in
    output: Option<String>,
    /// The prompt that the output continues
    #[arg(long, value_name = "FILE")]
    prefix: Option<String>,
    /// The tools the model was given, a JSON list: arguments of calls are cast to their types
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// The character of the output to go to
    #[arg(long, value_name = "N")]
    at: Option<usize>,
    /// How the output is cut: `recorded`, `whole`, a number of characters, `random:SEED`, or `cut:N,N` at these places
    #[arg(long, value_name = "HOW", value_parser = chunking)]
    chunks: Option<Chunking>,
    /// Whose answer: `stable`, `reference` (transformers', flaws included), or `both` side by side
    #[arg(long, value_enum, default_value_t = ModeName::Stable)]
    mode: ModeName,
    /// A second response template, to see side by side with the first
    #[arg(long, value_name = "TEMPLATE")]
    with: Option<String>,
    /// The chat template that `d` derives from; a model folder's own where it is left out
    #[arg(long, value_name = "SOURCE")]
    chat_template: Option<String>,
    /// Give the chat template a variable, as JSON or else as text
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, Value)>,
    /// What the colours are for
    #[arg(long, value_enum, default_value_t = ThemeName::Auto)]
    theme: ThemeName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ModeName {
    Stable,
    Reference,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ThemeName {
    /// What the terminal says of itself
    Auto,
    Dark,
    Light,
    /// No colours
    Plain,
}

impl Replay {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let bench = Bench::open(self)?;
        self.show(bench, global)
    }

    /// Puts outputs on the screen, or prints them.
    fn show(&self, bench: Bench, global: &Global) -> Result<ExitCode, Failure> {
        let stdout = io::stdout();
        if !stdout.is_terminal() || std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
            return self.print(&bench, global);
        }
        let start = self.start(&bench, global);
        let mut app = App::new(Box::new(bench), &start).map_err(failure)?;
        match tui::run(&mut app)? {
            None => Ok(ExitCode::SUCCESS),
            // What a shell reports of a command that a signal ended.
            Some(signal) => Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
        }
    }

    fn start(&self, bench: &Bench, global: &Global) -> Start {
        let showing = match (self.mode, &self.with) {
            (ModeName::Both, None) => Showing::Modes,
            (mode, Some(_)) => Showing::Templates(mode.mode()),
            (mode, None) => Showing::One(mode.mode()),
        };
        let theme = match self.theme {
            _ if !global.colours(&io::stdout()) => Theme::Plain,
            ThemeName::Auto => Theme::guess(std::env::var("COLORFGBG").ok().as_deref()),
            ThemeName::Dark => Theme::Dark,
            ThemeName::Light => Theme::Light,
            ThemeName::Plain => Theme::Plain,
        };
        let assumes = self.prefix.is_none() && bench.takes_prefix();
        let notice = assumes.then(|| "without --prefix the prompt is taken to end at the start anchor".to_owned());
        Start { output: 0, at: self.at, chunking: self.chunks.clone(), showing, theme, notice }
    }

    /// The events of every output as a table.
    fn print(&self, bench: &Bench, global: &Global) -> Result<ExitCode, Failure> {
        let mut out = io::stdout().lock();
        let several = bench.names().len() > 1;
        let mut read = 0;
        let mut last = None;
        for (index, name) in bench.names().iter().enumerate() {
            let material = match bench.material(index) {
                Ok(material) => material,
                Err(problem) if several => {
                    failure(problem).report(global);
                    continue;
                }
                Err(problem) => return Err(failure(problem)),
            };
            read += 1;
            if several {
                let gap = if last.replace(index).is_some() { "\n" } else { "" };
                writeln!(out, "{gap}== {}", crate::diagnostic::escape(name))?;
            }
            let recording = self.recording(&material)?;
            out.write_all(table::table(&recording, material.expected.as_ref()).as_bytes())?;
        }
        out.flush()?;
        Ok(ExitCode::from(if read == 0 { 2 } else { 0 }))
    }

    fn recording(&self, material: &Material) -> Result<crate::replay::Recording, Failure> {
        let chunking = match (&self.chunks, &material.chunks) {
            (Some(chunking), _) => chunking.clone(),
            (None, Some(_)) => Chunking::Recorded,
            (None, None) => Chunking::Rule(Chunks::Whole),
        };
        let run = crate::replay::Run {
            template: &material.template,
            prefix: &material.prefix,
            mode: self.mode.mode(),
            tools: material.tools.clone(),
        };
        let ends = chunking.ends(&material.output, material.chunks.as_deref());
        let ends = ends.map(|end| material.prefix.len() + end);
        let text = [material.prefix.as_str(), &material.output].concat().into();
        crate::replay::Recording::of_text(&run, text, ends)
            .map_err(|error| Diagnostic::error("too-large", error.to_string()).into())
    }
}

/// Opens outputs that were made, not read: those a proof failed on.
pub fn show_given(given: Vec<Given>, global: &Global) -> Result<ExitCode, Failure> {
    let replay = Replay {
        template: String::new(),
        output: None,
        prefix: None,
        tools: None,
        at: None,
        chunks: None,
        mode: ModeName::Stable,
        with: None,
        chat_template: None,
        set: Vec::new(),
        theme: ThemeName::Auto,
    };
    replay.show(Bench::of_given(given), global)
}

impl ModeName {
    fn mode(self) -> Mode {
        match self {
            ModeName::Reference => Mode::Reference,
            ModeName::Stable | ModeName::Both => Mode::Stable,
        }
    }
}

fn chunking(text: &str) -> Result<Chunking, String> {
    if text == "recorded" {
        return Ok(Chunking::Recorded);
    }
    if let Some(cuts) = text.strip_prefix("cut:") {
        let cuts: Result<Vec<usize>, _> = cuts.split(',').map(|cut| cut.trim().parse()).collect();
        let mut cuts =
            cuts.map_err(|_| "write `cut:` and the characters to cut behind, as in `cut:17,30`".to_owned())?;
        cuts.sort_unstable();
        return Ok(Chunking::Cuts(cuts));
    }
    let rule = text.parse().map(Chunking::Rule);
    rule.map_err(|_| "use `recorded`, `whole`, a number of characters from 1, `random:SEED` or `cut:N,N`".to_owned())
}

fn failure(problem: Problem) -> Failure {
    Failure::Diagnostics { diagnostics: problem.diagnostics, sources: problem.sources }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_as_they_are_written() {
        for (text, chunking) in [
            ("recorded", Chunking::Recorded),
            ("whole", Chunking::Rule(Chunks::Whole)),
            ("3", Chunking::Rule(Chunks::Every(3))),
            ("random:9", Chunking::Rule(Chunks::Random(9))),
            ("cut:30, 17", Chunking::Cuts(vec![17, 30])),
        ] {
            assert_eq!(super::chunking(text), Ok(chunking), "{text}");
        }
        for wrong in ["0", "cut:", "cut:x", "sometimes", ""] {
            assert!(super::chunking(wrong).is_err(), "{wrong}");
        }
    }
}
