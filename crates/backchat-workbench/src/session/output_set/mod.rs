//! The outputs that a command line names, read from files, standard input or pipes, and what they are parsed with.
//!
//! Everything is read on demand, so that the screen shows the current files. Standard input and pipes, which can be
//! read only once, are kept.

mod arriving;
mod operations;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use self::arriving::{Followed, RowPlace, is_recorded};
use super::outputs::{Conversation, Derived, Material, OtherTemplate};
use crate::check::fixture::{self, Broken, Case, FixtureFile, Shared, TemplateSource};
use crate::check::{fixture_files, holds_cases};
use crate::input::{self, Piped, Problem};
use crate::replay::Recovery;
use backchat_core::diagnostic::{Diagnostic, Place, Sources};
use backchat_core::json::{self, Object, Value};
use backchat_derive::derive;
use backchat_parser::content::coerce::Tools;
use backchat_parser::template::Template;
use backchat_parser::template::source::{self, Opened, SourceError};

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

/// A file of cases, and the modification times of it and the prompt when it was read.
type Read = ([Option<SystemTime>; 2], Rc<FixtureFile>);

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
        let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let changed = [changed(path), self.asked.prefix.as_ref().and_then(|prefix| changed(Path::new(prefix)))];
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
        let file = followed.path().display().to_string();
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

    fn tools(&self, own: Option<&Value>) -> Result<Option<Arc<Tools>>, Problem> {
        let named = if own.is_none() { self.named_tools()? } else { None };
        let Some(value) = own.or(named.as_ref()) else { return Ok(None) };
        match Tools::new(value) {
            Ok(tools) => Ok(Some(Arc::new(tools))),
            Err(reason) => Err(Diagnostic::error("wrong-tools", format!("the tools cannot be used: {reason}"))
                .at(self.asked.tools.as_deref().map(|path| Place::file(input::name(path))).unwrap_or_default())
                .help("a list of {\"type\": \"function\", \"function\": {\"name\", \"parameters\"}}")
                .into()),
        }
    }

    /// The tools of the command line.
    fn named_tools(&self) -> Result<Option<Value>, Problem> {
        let Some(path) = &self.asked.tools else { return Ok(None) };
        Ok(Some(input::json_of(path, self.text(path)?)?))
    }

    fn other(&self) -> Result<Option<OtherTemplate>, Problem> {
        let Some(name) = &self.asked.other else { return Ok(None) };
        Ok(Some(OtherTemplate { name: name.clone(), template: self.named_template(name)?.loaded.template }))
    }

    /// An output, parsed with a template.
    fn material(&self, opened: Opened, given: Conversation, chunks: Option<Vec<usize>>) -> Result<Material, Problem> {
        let template_text = opened.sources.text(Some(&opened.file));
        debug_assert!(template_text.is_some(), "an opened template holds its text");
        let template_text = template_text.unwrap_or("").to_owned();
        let places = json::read_with_places(&template_text).ok().map(|(_, places)| places);
        let span = places.as_ref().and_then(|places| places.at(&opened.path)).map(|places| places.value.clone());
        Ok(Material {
            template: opened.loaded.template,
            template_file: opened.file,
            template_span: span.unwrap_or(0..template_text.len()),
            template_text,
            other: self.other()?,
            prefix: given.prefix,
            output: given.output,
            chunks,
            tools: self.tools(given.tools.as_ref())?,
            recovery: Recovery::default(),
            expected: given.expected,
            is_excused: false,
        })
    }

    /// The chat template of an output, and its variables.
    fn chat_template(&self, index: usize) -> Result<(String, Object), Problem> {
        let mut variables = Object::new();
        let own = match self.items.get(index) {
            Some(OutputSource::Failing { of, .. }) => return self.chat_template(*of),
            Some(OutputSource::Case(name)) => {
                let (case, _) = self.case(name)?;
                variables = case.variables;
                case.chat_template.map(|path| path.display().to_string())
            }
            _ => None,
        };
        variables.extend(self.asked.variables.iter().cloned());
        match self.asked.chat_template.clone().or(own).or_else(|| self.template.clone()) {
            Some(name) if name != "-" => Ok((name, variables)),
            _ => {
                let help = "name it with --chat-template SOURCE, or in the fixture's header";
                Err(problem("no-chat-template", "the chat template is not known", help))
            }
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

/// The result of a derivation, for the workbench.
pub fn derived(derivation: &derive::Derivation) -> Derived {
    Derived { status: derivation.headline(), template: derivation.response_template.clone() }
}

/// Whether a file is a pipe, which can be read only once.
fn is_pipe(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

#[cfg(test)]
mod tests {
    use super::super::outputs::Outputs;
    use super::*;
    use std::fs;

    #[test]
    fn a_broken_case_opens_once_it_is_fixed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("t.json"), r#"{"start_anchor": "<bot>", "fields": {"content": {}}}"#).unwrap();
        let write = |second: &str| {
            let text = format!("template: t.json\n=== prefix none\n=== case a\n=== output\nHi\n=== case b\n{second}");
            fs::write(path("a.fixture"), text).unwrap();
        };
        write("");
        let asked = Request { template: path("a.fixture").display().to_string(), ..Request::default() };
        let Ok(set) = OutputSet::open(&asked, Stdin::Left) else { panic!("the other case is whole") };
        let Err(problem) = Outputs::material(&set, 1) else { panic!("it has no output") };
        assert_eq!(problem.diagnostics[0].id, "fixture-incomplete");
        write("=== output\nHo\n");
        // Two changes may have one time; what was read before is forgotten.
        set.read.borrow_mut().clear();
        let Ok(material) = Outputs::material(&set, 1) else { panic!("it has one now") };
        assert_eq!(material.output, "Ho");
        write("=== output\nHo\n=== output\n");
        set.read.borrow_mut().clear();
        assert_eq!(Outputs::material(&set, 1).err().map(|problem| problem.diagnostics.len()), Some(1));
        assert_eq!(set.place(1).map(|(_, line)| line), Some(1));
        write("=== output\nHo\n=== case a\n=== output\nHa\n");
        let Ok(set) = OutputSet::open(&asked, Stdin::Left) else { panic!("two cases are whole") };
        let Err(problem) = Outputs::material(&set, 2) else { panic!("it has the name of another") };
        assert_eq!(problem.diagnostics[0].id, "duplicate-case");
    }
}
