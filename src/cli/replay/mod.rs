//! `backchat replay`: opens a session on the workbench, or prints its events as a table if there is no terminal.

mod comparison;
mod table;

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use self::comparison::Comparison;
use super::arriving::Arriving;
use super::chat_options::{Budget, NOW, assignment};
use super::known_values::{Names, one_of};
use super::report::Page;
use super::{Failure, Global, note};
use backchat_core::diagnostic::{Diagnostic, is_rows};
use backchat_core::json::Value;
use backchat_parser::parser::{Chunks, Mode};
use backchat_workbench::check::holds_cases;
use backchat_workbench::replay::{Chunking, Growing, Outcome, Side, TooLarge};
use backchat_workbench::report;
use backchat_workbench::session::{
    GeneratedOutput, Material, Origin, OutputSet, Outputs, Position, Problem, Request, Showing, Start, Stdin,
};
use backchat_workbench::tui::{self, App, Theme};

/// The assumption if the prompt is not known.
const NO_PREFIX: &str = "without --prefix, the prompt is assumed to end at the start anchor";

/// A pipe is shown while it arrives, as one output.
const ROWS_AS_TEXT: &str = "standard input is JSON Lines and was read as the text of one output; for an output per row, save \
                            it and name the file: `backchat replay TEMPLATE outputs.jsonl`";

/// Step through the parse of an output and see why it reads as it does
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Examples:
  backchat replay template.json output.txt --prefix prompt.txt
  backchat replay tests/fixtures/thinking.fixture#two-calls --at 17
  backchat replay ./my-model outputs.jsonl
  generate | backchat replay template.json -
  backchat replay ./my-model --follow record.jsonl

Press ? to list the keys. If standard output is not a terminal, the events are printed as a table.

Exit codes: 0 replayed, 2 could not run.")]
pub struct Replay {
    /// A response template's JSON, tokenizer_config.json, model folder or ORG/NAME; or fixtures: FILE.fixture,
    /// FILE.fixture#CASE, rows of JSON lines, or a folder of them
    template: String,
    /// The model's output, or a list of outputs: JSON lines, fixtures or a folder; `-` is standard input. Rows
    /// {"after_ms", "text"} are one output, in the chunks it came in
    output: Option<String>,
    /// Show the rows of this JSON Lines file, such as that of `backchat serve --record`, and follow it as it grows
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "report"])]
    follow: Option<String>,
    /// Read the output as the continuation of this prompt
    #[arg(long, value_name = "FILE")]
    prefix: Option<String>,
    /// Cast the arguments of calls to the types of these tools, a JSON list
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// Start at this position: a character of the output, `end`, or `event:N` after N events
    #[arg(long, value_name = "N")]
    at: Option<Position>,
    /// Cut the output: `recorded`, `whole`, a number of characters, `random:SEED`, or `cut:N,N` at these positions;
    /// `4+N,N` is every 4 characters and at these positions
    #[arg(long, value_name = "HOW")]
    chunks: Option<Chunking>,
    /// Select the answer: `stable`, `reference` (that of transformers, flaws included), or `both` side by side
    #[arg(long, value_enum, default_value_t = ShownModes::Stable)]
    mode: ShownModes,
    /// Compare with a second response template, side by side
    #[arg(long, value_name = "TEMPLATE")]
    with: Option<String>,
    /// Derive (`d`) from this chat template and verify with it; the default is the one in the model folder
    #[arg(long, value_name = "SOURCE")]
    chat_template: Option<String>,
    /// Set a template variable; the value is JSON, or else text
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, Value)>,
    #[command(flatten)]
    budget: Budget,
    /// Choose colors for this background
    #[arg(long, value_parser = one_of(THEMES), default_value = "auto")]
    theme: AskedTheme,
    #[command(flatten)]
    page: Page,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ShownModes {
    #[default]
    Stable,
    Reference,
    Both,
}

/// A theme, unless the terminal is asked. A field of type `Option` would be an option without a default.
type AskedTheme = Option<Theme>;

const THEMES: &Names<AskedTheme> = &[
    ("auto", None, "Ask the terminal"),
    ("dark", Some(Theme::Dark), ""),
    ("light", Some(Theme::Light), ""),
    ("plain", Some(Theme::Plain), "No colors"),
];

impl Replay {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        if self.mode == ShownModes::Both && self.with.is_some() {
            return Err(Diagnostic::error(
                "four-sides",
                "`--mode both` and `--with` each show two answers side by side",
            )
            .help("leave one of them out; on the screen, `m` goes through the modes of both templates")
            .into());
        }
        // A page shows a complete output, not one that is arriving or typed.
        let on_screen = has_screen() && !self.page.is_asked();
        if !on_screen
            && !global.is_quiet()
            && self.output.is_none()
            && self.follow.is_none()
            && io::stdin().is_terminal()
            && !holds_cases(&self.template)
        {
            note("reading the model's output from standard input, up to its end (Ctrl-D)");
        }
        let stdin = match on_screen {
            true => Stdin::Shown,
            false if self.is_read_along() => Stdin::Left,
            false => Stdin::Whole,
        };
        let mut outputs = OutputSet::open(&self.request(), stdin)?;
        if let Some(file) = &self.follow {
            if !on_screen {
                return self.print_followed(outputs, global);
            }
            await_row(&mut outputs, file, global);
        }
        if stdin == Stdin::Left {
            return self.print_arriving(&outputs, global);
        }
        if self.page.is_asked() {
            let page = self.page(&outputs)?;
            self.page.write(global, || page)?;
        }
        self.show(outputs, global)
    }

    /// Whether the table of standard input is written while it arrives, because nothing depends on its end.
    fn is_read_along(&self) -> bool {
        let is_piped = self.follow.is_none()
            && match self.output.as_deref() {
                Some(output) => output == "-",
                None => !holds_cases(&self.template),
            };
        is_piped
            && !self.page.is_asked()
            && self.chunks.is_none()
            && self.mode == ShownModes::Stable
            && self.with.is_none()
    }

    /// Opens outputs on the screen, or prints them.
    fn show(&self, outputs: OutputSet, global: &Global) -> Result<ExitCode, Failure> {
        if !has_screen() {
            return self.print(&outputs, global);
        }
        Ok(self.on_screen(outputs, global)?.map_or(ExitCode::SUCCESS, ended_by))
    }

    /// Opens outputs on the screen; returns the signal that ended it, if any.
    fn on_screen(&self, outputs: OutputSet, global: &Global) -> Result<Option<i32>, Failure> {
        let start = self.start(&outputs);
        let mut app = App::new(Box::new(outputs), &start, self.theme(global))?;
        super::signals::hand_over();
        Ok(tui::run(&mut app)?)
    }

    /// The request for a template and an output alone.
    fn new(template: &str, output: Option<&str>) -> Self {
        Self { template: template.to_owned(), output: output.map(str::to_owned), ..Self::default() }
    }

    fn showing(&self) -> Showing {
        match (self.mode, &self.with) {
            (ShownModes::Both, None) => Showing::Modes,
            (mode, Some(_)) => Showing::Templates(mode.mode()),
            (mode, None) => Showing::One(mode.mode()),
        }
    }

    fn start(&self, outputs: &OutputSet) -> Start {
        let assumes = self.prefix.is_none() && outputs.takes_prefix();
        let notice = assumes.then(|| NO_PREFIX.to_owned());
        let at = self.at;
        let typing = outputs.is_typed();
        // A growing list opens at its newest output and follows new ones.
        let (output, at) = match &self.follow {
            Some(_) => (outputs.names().len().saturating_sub(1), at.or(Some(Position::End))),
            None => (0, at),
        };
        Start { output, at, chunking: self.chunks.clone(), showing: self.showing(), notice, typing }
    }

    fn theme(&self, global: &Global) -> Theme {
        match self.theme {
            Some(theme) if global.colors(&io::stdout()) => theme,
            Some(_) => Theme::Plain,
            None => theme(global),
        }
    }

    fn request(&self) -> Request {
        Request {
            template: self.template.clone(),
            output: self.output.clone(),
            follow: self.follow.clone(),
            prefix: self.prefix.clone(),
            tools: self.tools.clone(),
            other: self.with.clone(),
            chat_template: self.chat_template.clone(),
            variables: self.set.clone(),
            now: Some(NOW.to_owned()),
            budget: self.budget.work(),
        }
    }

    /// The events of every output as a table, one for each requested answer.
    fn print(&self, outputs: &OutputSet, global: &Global) -> Result<ExitCode, Failure> {
        let several = outputs.names().len() > 1;
        if several && !matches!(self.showing(), Showing::One(_)) {
            return self.print_comparison(outputs, global);
        }
        let mut out = io::stdout().lock();
        let mut read = 0;
        let mut seen = Problems::default();
        for (index, name) in outputs.names().iter().enumerate() {
            let material = match outputs.material(index) {
                Ok(material) => material,
                Err(problem) if several => {
                    seen.report(problem, global);
                    continue;
                }
                Err(problem) => return Err(problem.into()),
            };
            read += 1;
            if read == 1 && !global.is_quiet() {
                self.note_assumptions(outputs);
            }
            let name = Some(name.as_str()).filter(|_| several);
            self.print_one(&material, name, read == 1, &mut out)?;
        }
        out.flush()?;
        Ok(ExitCode::from(if read == 0 { 2 } else { 0 }))
    }

    /// How two answers to many outputs differ: the tables of the smallest output of each cause, and the causes last.
    fn print_comparison(&self, outputs: &OutputSet, global: &Global) -> Result<ExitCode, Failure> {
        let mut seen = Problems::default();
        let mut comparison = Comparison::default();
        for (index, name) in outputs.names().iter().enumerate() {
            match outputs.material(index) {
                Ok(material) => comparison.add(index, name, &self.sides(&material, Chunks::Whole.into())?),
                Err(problem) => seen.report(problem, global),
            }
        }
        if comparison.outputs == 0 {
            return Ok(ExitCode::from(2));
        }
        if !global.is_quiet() {
            self.note_assumptions(outputs);
        }
        let mut out = io::stdout().lock();
        let causes = comparison.causes();
        for (at, cause) in causes.iter().enumerate() {
            let name = outputs.names().get(cause.smallest).map(String::as_str);
            self.print_one(&outputs.material(cause.smallest)?, name, at == 0, &mut out)?;
        }
        let gap = if causes.is_empty() { "" } else { "\n" };
        write!(out, "{gap}{}", comparison.summary(&causes))?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// The tables of one output, with its name if there are others.
    fn print_one(
        &self,
        material: &Material,
        name: Option<&str>,
        is_first: bool,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let sides = self.sides(material, Chunks::Whole.into())?;
        for (index, Side { name: side, recording, .. }) in sides.iter().enumerate() {
            let side = Some(side.as_str()).filter(|_| sides.len() > 1);
            let head: Vec<_> = name.into_iter().chain(side).map(backchat_core::diagnostic::escape).collect();
            if !head.is_empty() {
                let gap = if is_first && index == 0 { "" } else { "\n" };
                writeln!(out, "{gap}== {}", head.join(": "))?;
            }
            out.write_all(table::table(recording, material.expected.as_ref()).as_bytes())?;
        }
        Ok(())
    }

    /// The tables of the rows of a file, and of those that are appended to it, until a signal ends it.
    fn print_followed(&self, mut outputs: OutputSet, global: &Global) -> Result<ExitCode, Failure> {
        let mut out = io::stdout().lock();
        let mut seen = Problems::default();
        let mut is_first = true;
        loop {
            for index in outputs.take_added() {
                match outputs.material(index) {
                    Ok(material) => {
                        self.print_one(&material, outputs.names().get(index).map(String::as_str), is_first, &mut out)?;
                        is_first = false;
                    }
                    Err(problem) => seen.report(problem, global),
                }
            }
            out.flush()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The table of standard input, each line as soon as it is known.
    fn print_arriving(&self, outputs: &OutputSet, global: &Global) -> Result<ExitCode, Failure> {
        let material = outputs.material(0)?;
        if !global.is_quiet() {
            self.note_assumptions(outputs);
        }
        let mut arriving = Arriving::open("-")?;
        let run = material.run(&material.template, self.mode.mode());
        let mut growing = Growing::new(&run).map_err(too_large)?;
        let mut out = io::stdout().lock();
        let mut lines = String::new();
        let mut table = table::Table::begin(growing.recording(), &mut lines);
        table.rows(growing.recording(), &mut lines);
        loop {
            out.write_all(lines.as_bytes())?;
            out.flush()?;
            lines.clear();
            if matches!(growing.recording().outcome(), Outcome::Failed(_)) {
                break;
            }
            let Some(piece) = arriving.next_piece() else { break };
            growing.feed(&piece).map_err(too_large)?;
            table.rows(growing.recording(), &mut lines);
            table.held(growing.recording(), growing.recording().feed_count(), &mut lines);
        }
        let text = arriving.finish()?;
        if is_rows(&text) && !global.is_quiet() {
            note(ROWS_AS_TEXT);
        }
        let recording = growing.finish();
        table.rows(&recording, &mut lines);
        table.end(&recording, None, &mut lines);
        out.write_all(lines.as_bytes())?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn note_assumptions(&self, outputs: &OutputSet) {
        if self.prefix.is_none() && outputs.takes_prefix() {
            note(NO_PREFIX);
        }
        if self.at.is_some() {
            note("--at is for the screen; the table shows every event");
        }
    }

    /// The page of every output that can be read.
    fn page(&self, outputs: &OutputSet) -> Result<String, Failure> {
        let several = outputs.names().len() > 1;
        let mut pages = Vec::new();
        for (index, name) in outputs.names().iter().enumerate() {
            let material = match outputs.material(index) {
                Ok(material) => material,
                // Its problems are reported when it is shown.
                Err(_) if several => continue,
                Err(problem) => return Err(problem.into()),
            };
            // As on the screen, one character at a time, as long as every step fits on a page.
            let most = report::MOST_STEPS;
            let length = material.output.chars().count().div_ceil(most).max(1);
            let sides = self.sides(&material, Chunks::Every(length).into())?;
            let expected = material.expected.clone();
            pages.push(report::Output { name: name.clone(), sides, expected, tools: material.tools.clone() });
        }
        let name = self.output.as_deref().unwrap_or(&self.template);
        Ok(report::replay(super::input::name(name), &pages, self.page.playground(None)?.as_ref()))
    }

    /// The requested answers, cut as requested, else as recorded, else by `default`.
    fn sides(&self, material: &Material, default: Chunking) -> Result<Vec<Side>, Failure> {
        let chunking = match (&self.chunks, &material.chunks) {
            (Some(chunking), _) => chunking.clone(),
            (None, Some(_)) => Chunking::RECORDED,
            (None, None) => default,
        };
        material.sides(&chunking, self.showing()).map_err(too_large)
    }
}

fn too_large(error: TooLarge) -> Failure {
    Diagnostic::error("too-large", error.to_string()).into()
}

/// The problems reported so far: a shared one, such as that of a template, is reported once.
#[derive(Default)]
struct Problems(HashSet<String>);

impl Problems {
    fn report(&mut self, mut problem: Problem, global: &Global) {
        problem.diagnostics.retain(|found| self.0.insert(format!("{:?}", (found.id, &found.message, &found.place))));
        if !problem.diagnostics.is_empty() {
            Failure::from(problem).report(global);
        }
    }
}

/// How often a followed file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until a file has a row to show.
fn await_row(outputs: &mut OutputSet, file: &str, global: &Global) {
    let mut is_announced = global.is_quiet();
    while outputs.take_added().is_empty() {
        if !std::mem::replace(&mut is_announced, true) {
            note(&format!("waiting for the first row of {}", backchat_core::diagnostic::escape(file)));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The theme for the colors that the terminal reports.
pub fn theme(global: &Global) -> Theme {
    match global.colors(&io::stdout()) {
        true => Theme::guess(std::env::var("COLORFGBG").ok().as_deref()),
        false => Theme::Plain,
    }
}

/// The exit code a shell reports for a command that a signal ended.
pub fn ended_by(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// Opens a case on the screen, parsed with its own template or another; returns the signal that ended it, if any.
pub fn open_case(id: &str, template: Option<&str>, global: &Global) -> Result<Option<i32>, Failure> {
    let replay = match template {
        Some(template) => Replay::new(template, Some(id)),
        None => Replay::new(id, None),
    };
    replay.on_screen(OutputSet::open(&replay.request(), Stdin::Shown)?, global)
}

/// Whether there is a terminal to draw on.
pub fn has_screen() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Opens generated outputs: those that a proof failed on.
pub fn show_given(given: Vec<GeneratedOutput>, origin: Origin, global: &Global) -> Result<ExitCode, Failure> {
    let replay = Replay::new("", None);
    replay.show(OutputSet::of_given(given, Some(origin)), global)
}

impl ShownModes {
    fn mode(self) -> Mode {
        match self {
            ShownModes::Reference => Mode::Reference,
            ShownModes::Stable | ShownModes::Both => Mode::Stable,
        }
    }
}
