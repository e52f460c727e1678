//! The outputs that a command line names, read from files, standard input or pipes, and what they are parsed with.
//!
//! Everything is read on demand, so that the screen shows the current files. Standard input and pipes, which can be
//! read only once, are kept.

mod operations;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use self::operations::is_recorded;
use super::{Conversation, Derived};
use crate::check::fixture::{self, Broken, Case, FixtureFile, Shared, TemplateSource};
use crate::check::{fixture_files, holds_cases};
use crate::input::{self, Piped, Problem};
use backchat_chat::Budget;
use backchat_core::diagnostic::{Diagnostic, Place, Sources};
use backchat_core::json::Value;
use backchat_parser::template::Template;
use backchat_parser::template::source::{self, Opened, SourceError};

pub use self::operations::derived;

/// The names that say which outputs to open and what to parse them with.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A response template, or fixtures that name theirs.
    pub template: String,
    /// An output, or a list of outputs.
    pub output: Option<String>,
    /// A file whose rows are the outputs, including future ones.
    pub follow: Option<String>,
    /// The prompt that the output continues.
    pub prefix: Option<String>,
    /// The tools the model was given.
    pub tools: Option<String>,
    /// A second template to compare with.
    pub other: Option<String>,
    /// The chat template to derive from and to verify with.
    pub chat_template: Option<String>,
    pub variables: Vec<(String, Value)>,
    /// The clock that the chat template sees.
    pub now: Option<String>,
    /// The work that each examination of the chat template may do.
    pub budget: Budget,
}

/// How standard input is read if it is an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// It is shown while it arrives.
    Shown,
    /// All of it is read first.
    Whole,
    /// The caller reads it; here it is empty.
    Left,
}

/// An output that was generated, not read from a file.
#[derive(Clone, Debug)]
pub struct GeneratedOutput {
    pub template: Template,
    /// Its prompt, its text and the message it should give, by its name in the list.
    pub conversation: Conversation,
}

/// Where generated outputs come from.
pub struct Origin {
    /// The command that makes them.
    pub command: String,
    /// Derives from the same chat template again.
    pub derive: Box<dyn Fn() -> Result<Derived, Problem>>,
}

#[derive(Default)]
pub struct OutputSet {
    names: Vec<String>,
    items: Vec<OutputSource>,
    /// The template that replaces the one a case names.
    template: Option<String>,
    asked: Request,
    /// The texts that can be read only once: of standard input, and of named pipes (`<(…)` of a shell).
    once: RefCell<HashMap<String, String>>,
    /// Standard input, if it is an output that is shown while it arrives.
    piped: Option<Piped>,
    /// The file whose rows are the outputs.
    followed: Option<Followed>,
    /// Whether there is no output yet because the user will type it.
    is_typed: bool,
    origin: Option<Origin>,
    /// Files of cases, as of their last modification.
    read: RefCell<HashMap<PathBuf, Read>>,
}

/// A file of cases, and the modification times of it and of the files it depends on when it was read.
type Read = (Vec<(PathBuf, Option<SystemTime>)>, Rc<FixtureFile>);

enum OutputSource {
    /// A text, or one output chunk by chunk as it was recorded; `-` is standard input.
    Text {
        path: String,
        is_recorded: bool,
    },
    Case(CaseName),
    /// A row of the file that is followed.
    Row(RowPlace),
    Given(Box<GeneratedOutput>),
    /// A conversation that the proof of another output's template fails on.
    Failing {
        of: usize,
        conversation: Box<Conversation>,
    },
}

/// A case of a file, which may be broken.
struct CaseName {
    file: PathBuf,
    /// Its name in every report.
    id: String,
    /// How many cases of the same name are before it: it is broken if there are any.
    before: usize,
}

impl OutputSet {
    /// Reads what a command line names.
    pub fn open(asked: &Request, stdin: Stdin) -> Result<Self, Problem> {
        let mut set = Self { asked: asked.clone(), ..Self::default() };
        let template_is_cases = holds_cases(&asked.template);
        set.template = (!template_is_cases).then(|| asked.template.clone());
        match (asked.output.as_ref().or(asked.follow.as_ref()), template_is_cases) {
            (Some(followed), false) if asked.output.is_none() => set.followed = Some(Followed::open(followed)?),
            (None, true) => set.add_cases(&asked.template)?,
            (Some(output), false) if holds_cases(output) && !is_recorded(output) => set.add_cases(output)?,
            (output, false) => {
                let path = output.cloned().unwrap_or_else(|| "-".to_owned());
                // Nothing is piped in: the user types the output on the screen.
                set.is_typed = path == "-" && stdin == Stdin::Shown && io::stdin().is_terminal();
                let name = if set.is_typed { "typed output" } else { input::name(&path) };
                set.names.push(name.to_owned());
                set.items.push(OutputSource::Text { is_recorded: is_recorded(&path), path });
            }
            (Some(output), true) => {
                let message =
                    format!("`{}` already contains outputs, and `{output}` was given as well", asked.template);
                let help = "name the response template first and the output after it, or only the fixtures";
                return Err(problem("two-outputs", message, help));
            }
        }
        let Request { prefix, tools, other, .. } = asked;
        let is_output = set.items.iter().any(|item| matches!(item, OutputSource::Text { path, .. } if path == "-"));
        let output = is_output.then_some("-");
        let inputs = [set.template.as_deref(), prefix.as_deref(), tools.as_deref(), other.as_deref(), output];
        let help = "name a file for all inputs but one; the output is read from standard input if it is left out";
        input::stdin_once(inputs, help)?;
        match inputs.contains(&Some("-")) {
            true if is_output && stdin == Stdin::Shown && !set.is_typed => set.piped = Some(Piped::new(io::stdin())),
            true => {
                let is_empty = is_output && stdin != Stdin::Whole;
                let text = if is_empty { String::new() } else { input::text("-")? };
                set.once.get_mut().insert("-".to_owned(), text);
            }
            false => {}
        }
        set.prefix()?;
        Ok(set)
    }

    pub fn of_given(given: Vec<GeneratedOutput>, origin: Option<Origin>) -> Self {
        Self {
            names: given.iter().map(|given| given.conversation.name.clone()).collect(),
            items: given.into_iter().map(|given| OutputSource::Given(Box::new(given))).collect(),
            origin,
            ..Self::default()
        }
    }

    /// The prompt of the command line, or none.
    fn prefix(&self) -> Result<String, Problem> {
        self.asked.prefix.as_deref().map_or(Ok(String::new()), |prefix| self.text(prefix))
    }

    /// Whether there is no output yet because the user will type it.
    pub fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Whether an output has no prompt unless the command line names one.
    pub fn takes_prefix(&self) -> bool {
        self.items.iter().any(|item| matches!(item, OutputSource::Text { .. }))
    }

    /// Adds the cases of a file or a folder, or the named one only.
    fn add_cases(&mut self, named: &str) -> Result<(), Problem> {
        let (path, wanted) = fixture::split_id(named);
        let files = fixture_files(&[PathBuf::from(path)])?;
        let mut seen: HashMap<String, usize> = HashMap::new();
        for file in files {
            let read = self.file(&file);
            for case in &read.cases {
                let (id, name) = (id_of(case), case.as_ref().map_or("", |case| &case.name));
                if wanted.is_none_or(|wanted| name == wanted || id.strip_prefix(path) == Some(&format!("#{wanted}"))) {
                    let count = seen.entry(id.to_owned()).or_default();
                    let before = std::mem::replace(count, *count + 1);
                    self.items.push(OutputSource::Case(CaseName { file: file.clone(), id: id.to_owned(), before }));
                    self.names.push(id.to_owned());
                }
            }
        }
        if self.items.is_empty() {
            let (message, help) = match wanted {
                Some(wanted) => {
                    (format!("the file has no case `{wanted}`"), "name one of its cases, or the file alone")
                }
                None if Path::new(path).is_file() => {
                    ("the file holds no output: it is empty".to_owned(), "write rows or cases into it, or name another")
                }
                None => (
                    "there is no output here".to_owned(),
                    "name a file that ends in .fixture or .jsonl, or a folder of such files",
                ),
            };
            return Err(Diagnostic::error("no-such-case", message).at(Place::file(path)).help(help).into());
        }
        Ok(())
    }

    /// A file of cases, read again if it was modified.
    fn file(&self, path: &Path) -> Rc<FixtureFile> {
        let changed = |path: PathBuf| {
            let time = std::fs::metadata(&path).and_then(|data| data.modified()).ok();
            (path, time)
        };
        let prefix = self.asked.prefix.iter().map(PathBuf::from);
        let files = std::iter::once(path.to_owned()).chain(prefix).chain(fixture::defaults_of(path));
        let changed: Vec<_> = files.map(changed).collect();
        if let Some((then, read)) = self.read.borrow().get(path)
            && *then == changed
        {
            return read.clone();
        }
        let read = Rc::new(fixture::read_with(path, |shared| self.standing_in(shared)));
        self.read.borrow_mut().insert(path.to_owned(), (changed, read.clone()));
        read
    }

    /// The defaults of a folder, with the template and the prompt of the command line for cases that have none.
    fn standing_in(&self, shared: Shared) -> Shared {
        let Some(template) = &self.template else { return shared };
        let stand_in = TemplateSource::File(PathBuf::from(template));
        shared.standing_in(stand_in, self.prefix().ok())
    }

    /// A row of the file that is followed, if it is still the one of that name.
    fn row(&self, index: usize, row: RowPlace) -> Result<Case, Problem> {
        let Some(followed) = &self.followed else { return Err(no_output()) };
        let case = followed
            .case(row, |shared| self.standing_in(shared))
            .map_err(|broken| Problem { diagnostics: broken.diagnostics, sources: Sources::none() })?;
        if self.names.get(index) == Some(&case.id) {
            return Ok(case);
        }
        let file = followed.path.display().to_string();
        Err(Diagnostic::error("no-such-case", "the file was truncated: this row is no longer in it")
            .at(Place::file(file))
            .into())
    }

    /// A case as its file has it now. If it is gone, the reason may be another one that is broken.
    fn case(&self, CaseName { file, id, before }: &CaseName) -> Result<(Case, Rc<FixtureFile>), Problem> {
        let read = self.file(file);
        let found = read.cases.iter().filter(|case| id_of(case) == id).nth(*before);
        let diagnostics = match found.or_else(|| read.cases.iter().find(|case| case.is_err())) {
            Some(Ok(case)) => return Ok((case.clone(), read.clone())),
            Some(Err(broken)) => broken.diagnostics.clone(),
            None => {
                let name = id.strip_prefix(&format!("{}#", read.file)).unwrap_or(id);
                let gone = Diagnostic::error("no-such-case", format!("the file no longer has a case `{name}`"));
                let gone = gone.at(Place::file(read.file.clone()));
                vec![gone.help("it was renamed or taken out; open the file again")]
            }
        };
        Err(Problem { diagnostics, sources: Sources::none().with(read.file.clone(), read.text.clone()) })
    }

    /// The template that a case is parsed with: the one on the command line, or else its own.
    fn template_of(&self, case: Option<&Case>) -> Result<Opened, Problem> {
        let opened = match (&self.template, case.map(|case| &case.template)) {
            (Some(name), _) => self.named_template(name),
            (None, Some(TemplateSource::File(path))) => source::open(&path.display().to_string()),
            (None, Some(TemplateSource::Inline(value))) => source::from_text(String::new(), value.to_pretty("  ")),
            (None, None) => source::open("-"),
        };
        Ok(opened?)
    }

    fn text(&self, path: &str) -> Result<String, Problem> {
        if let Some(text) = self.once.borrow().get(path) {
            return Ok(text.clone());
        }
        if let ("-", Some(piped)) = (path, &self.piped) {
            return piped.text();
        }
        let text = input::text(path)?;
        if is_pipe(path) {
            self.once.borrow_mut().insert(path.to_owned(), text.clone());
        }
        Ok(text)
    }

    fn named_template(&self, name: &str) -> Result<Opened, SourceError> {
        if name != "-" && !is_pipe(name) {
            return input::template(name);
        }
        match self.text(name) {
            Ok(text) => source::from_text(input::name(name).to_owned(), text),
            Err(Problem { diagnostics, sources }) => Err(SourceError::new(diagnostics, sources)),
        }
    }
}

fn no_output() -> Problem {
    Diagnostic::error("no-output", "there is no output").into()
}

/// A problem without a place.
fn problem(id: &'static str, message: impl Into<String>, help: &str) -> Problem {
    Diagnostic::error(id, message).help(help).into()
}

/// The name of a case in every report.
fn id_of(case: &Result<Case, Broken>) -> &str {
    case.as_ref().map_or_else(|broken| &broken.id, |case| &case.id)
}

/// Whether a file is a pipe, which can be read only once.
fn is_pipe(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// A row of a file that others append to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowPlace {
    start: u64,
    length: u64,
    /// Its line, counted from 1.
    line: usize,
}

/// A file that others append rows to.
#[derive(Debug)]
struct Followed {
    path: PathBuf,
    /// The end of the last row that was read.
    end: u64,
    /// The number of lines before it.
    lines: usize,
}

impl Followed {
    /// Follows a file from its beginning.
    fn open(path: &str) -> Result<Self, Problem> {
        let cannot_read = |error: io::Error| input::cannot_read(path, &error);
        let data = File::open(path).and_then(|file| file.metadata()).map_err(cannot_read)?;
        if !data.is_file() {
            let problem = Diagnostic::error("not-a-file", "only a file can be followed").at(Place::file(path));
            return Err(problem.help("name the file that `backchat serve --record` writes").into());
        }
        Ok(Self { path: PathBuf::from(path), end: 0, lines: 0 })
    }

    /// The rows that were appended since the last call. A file that cannot be read has none: it may reappear.
    fn take_rows(&mut self) -> Vec<RowPlace> {
        let mut rows = Vec::new();
        // The rows before an error are complete.
        let _ = self.read_rows(&mut rows);
        rows
    }

    fn read_rows(&mut self, rows: &mut Vec<RowPlace>) -> io::Result<()> {
        let length = std::fs::metadata(&self.path)?.len();
        if length < self.end {
            (self.end, self.lines) = (0, 0);
        }
        if length == self.end {
            return Ok(());
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.end))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)? as u64;
            if line.last() != Some(&b'\n') {
                return Ok(());
            }
            self.lines += 1;
            if !line.trim_ascii().is_empty() {
                rows.push(RowPlace { start: self.end, length, line: self.lines });
            }
            self.end += length;
        }
    }

    /// Reads a row. `change` adds to the defaults of its folder.
    fn case(&self, row: RowPlace, change: impl FnOnce(Shared) -> Shared) -> Result<Case, Broken> {
        let name = self.path.display().to_string();
        let text = self
            .text(row)
            .map_err(|problem| Broken { id: format!("{name}#{}", row.line), diagnostics: problem.diagnostics })?;
        fixture::read_row(&self.path, &text, row.line, change)
    }

    fn text(&self, row: RowPlace) -> Result<String, Problem> {
        let name = self.path.display().to_string();
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(row.start))?;
            file.take(row.length).read_to_end(&mut bytes)
        });
        read.map_err(|error| input::cannot_read(&name, &error))?;
        input::of_bytes(&name, bytes)
    }
}
