//! The outputs that a command line names, and what they are read with.

mod desk;
mod proof;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use super::Replay;
use super::files::{holds_cases, is_recorded};
use super::piped::Piped;
use crate::check::fixture::{self, Case, FixtureFile, Shared, TemplateSource};
use crate::check::fixture_files;
use crate::cli::{Failure, input};
use crate::content::coerce::Tools;
use crate::derive;
use crate::diagnostic::{Diagnostic, Place, Sources};
use crate::json::{self, Object, Value};
use crate::template::Template;
use crate::template::source::{self, Opened, SourceError};
use crate::tui::{Conversation, Derived, Material, Problem, Rival};

/// An output that was made, not read.
#[derive(Clone, Debug)]
pub struct Given {
    /// What it is called.
    pub name: String,
    /// The template.
    pub template: Template,
    /// The prompt.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// The tools it was given.
    pub tools: Option<Value>,
    /// The message it should give.
    pub expected: Option<Object>,
}

/// Where outputs that were made come from.
pub struct Origin {
    /// The command that makes them.
    pub command: String,
    /// The chat template's name and what is needed to derive from it again.
    pub derive: Box<dyn Fn() -> Result<Derived, Problem>>,
}

/// The outputs of a command line.
pub struct Bench {
    names: Vec<String>,
    items: Vec<Item>,
    /// The template that stands in for the one a case names, and the prompt and tools beside it.
    template: Option<String>,
    prefix: Option<String>,
    tools: Option<String>,
    rival: Option<String>,
    chat_template: Option<String>,
    variables: Vec<(String, Value)>,
    /// What standard input held: it can be read once only.
    stdin: Option<String>,
    /// What pipes with a name held (`<(…)` of a shell): each can be read once only, too.
    once: RefCell<HashMap<String, String>>,
    /// Standard input, where it is an output that is looked at while it comes.
    piped: Option<Piped>,
    /// Whether there is no output yet, because it is to be typed.
    is_typed: bool,
    origin: Option<Origin>,
    /// Files of cases as they were when they were last changed.
    read: RefCell<HashMap<PathBuf, Read>>,
}

/// A file of cases, and when it and the prompt beside it were last changed before it was read.
type Read = ([Option<SystemTime>; 2], Rc<FixtureFile>);

/// An output.
enum Item {
    /// A text; `-` is standard input.
    Text(String),
    /// One output, chunk by chunk as it came.
    Recorded(String),
    /// A case of a file.
    Case {
        file: PathBuf,
        name: String,
    },
    /// A file of cases that cannot be read, as its complaint says.
    Broken {
        file: PathBuf,
        name: String,
    },
    Given(Box<Given>),
    /// A conversation that the proof of another output's template fails on.
    Failing {
        of: usize,
        conversation: Box<Conversation>,
    },
}

impl Bench {
    /// Reads what a command line names.
    pub fn open(asked: &Replay, on_screen: bool) -> Result<Self, Failure> {
        let mut bench = Self::of_given(Vec::new(), None);
        bench.prefix.clone_from(&asked.prefix);
        bench.tools.clone_from(&asked.tools);
        bench.rival.clone_from(&asked.with);
        bench.chat_template.clone_from(&asked.chat_template);
        bench.variables.clone_from(&asked.set);
        let template_is_cases = holds_cases(&asked.template);
        match (&asked.output, template_is_cases) {
            (None, true) => bench.add_cases(&asked.template)?,
            (Some(output), false) if is_recorded(output) => {
                bench.template = Some(asked.template.clone());
                bench.names.push(output.clone());
                bench.items.push(Item::Recorded(output.clone()));
            }
            (Some(output), false) if holds_cases(output) => {
                bench.template = Some(asked.template.clone());
                bench.add_cases(output)?;
            }
            (output, false) => {
                bench.template = Some(asked.template.clone());
                // Nobody pipes anything in: the output is typed on the screen.
                let output = output.clone().unwrap_or_else(|| "-".to_owned());
                bench.is_typed = output == "-" && on_screen && io::stdin().is_terminal();
                let name = if bench.is_typed { "typed output" } else { input::name(&output) };
                bench.names.push(name.to_owned());
                bench.items.push(Item::Text(output));
            }
            (Some(output), true) => {
                let message = format!("`{}` holds outputs already; `{output}` is one too many", asked.template);
                return Err(Diagnostic::error("two-outputs", message)
                    .help("name the response template first and the output behind it, or the fixtures alone")
                    .into());
            }
        }
        let inputs =
            [bench.template.as_deref(), bench.prefix.as_deref(), bench.tools.as_deref(), bench.rival.as_deref()];
        let is_output = bench.items.iter().any(|item| matches!(item, Item::Text(path) if path == "-"));
        let times = inputs.into_iter().flatten().filter(|path| *path == "-").count() + usize::from(is_output);
        if times > 1 {
            return Err(Diagnostic::error("input-read-twice", "standard input is named more than once")
                .help("name a file for all inputs but one; the output itself is read from standard input where it is left out")
                .into());
        }
        match times {
            1 if bench.is_typed => bench.stdin = Some(String::new()),
            1 if is_output && on_screen => bench.piped = Some(Piped::new(io::stdin())),
            1 => bench.stdin = Some(input::text("-")?),
            _ => {}
        }
        if let Some(prefix) = &bench.prefix {
            bench.text(prefix).map_err(super::failure)?;
        }
        Ok(bench)
    }

    /// Outputs that are at hand.
    pub fn of_given(given: Vec<Given>, origin: Option<Origin>) -> Self {
        Self {
            names: given.iter().map(|given| given.name.clone()).collect(),
            items: given.into_iter().map(|given| Item::Given(Box::new(given))).collect(),
            template: None,
            prefix: None,
            tools: None,
            rival: None,
            chat_template: None,
            variables: Vec::new(),
            stdin: None,
            once: RefCell::default(),
            piped: None,
            is_typed: false,
            origin,
            read: RefCell::default(),
        }
    }

    /// Whether there is no output yet, because it is to be typed.
    pub fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Whether the output is a mere text, whose prompt the command line would name.
    pub fn takes_prefix(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Text(_) | Item::Recorded(_)))
    }

    /// Adds the cases of a file or a folder, or the one that is named.
    fn add_cases(&mut self, named: &str) -> Result<(), Failure> {
        let (path, wanted) = fixture::split_id(named);
        let files = fixture_files(&[PathBuf::from(path)])?;
        for file in files {
            let read = self.file(&file);
            for case in &read.cases {
                let (id, name) = match case {
                    Ok(case) => (case.id.clone(), case.name.clone()),
                    Err(broken) => (broken.id.clone(), String::new()),
                };
                if wanted.is_some_and(|wanted| name != wanted && id.strip_prefix(path) != Some(&format!("#{wanted}"))) {
                    continue;
                }
                self.items.push(match case {
                    Ok(_) => Item::Case { file: file.clone(), name },
                    Err(_) => Item::Broken { file: file.clone(), name: id.clone() },
                });
                self.names.push(id);
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
                    "name a file that ends in .fixture or .jsonl, or a folder of such",
                ),
            };
            return Err(Diagnostic::error("no-such-case", message).at(Place::file(path)).help(help).into());
        }
        Ok(())
    }

    /// A file of cases, read again where it was changed.
    fn file(&self, path: &Path) -> Rc<FixtureFile> {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let changed = [changed(path), self.prefix.as_ref().and_then(|prefix| changed(Path::new(prefix)))];
        if let Some((then, read)) = self.read.borrow().get(path)
            && *then == changed
        {
            return read.clone();
        }
        let read = Rc::new(self.read_cases(path));
        self.read.borrow_mut().insert(path.to_owned(), (changed, read.clone()));
        read
    }

    fn read_cases(&self, path: &Path) -> FixtureFile {
        let Some(template) = &self.template else { return fixture::read(path) };
        let stand_in = TemplateSource::File(PathBuf::from(template));
        let prefix = self.prefix.as_deref().map_or(Some(String::new()), |prefix| self.text(prefix).ok());
        fixture::read_with(path, |shared: Shared| shared.standing_in(stand_in, prefix))
    }

    fn case(&self, file: &Path, name: &str) -> Result<(Case, Rc<FixtureFile>), Problem> {
        let read = self.file(file);
        let mut broken = None;
        for case in &read.cases {
            match case {
                Ok(case) if case.name == name => return Ok((case.clone(), read.clone())),
                Err(case) => broken = broken.or(Some(case)),
                Ok(_) => {}
            }
        }
        let diagnostics = match broken {
            Some(broken) => broken.diagnostics.clone(),
            None => vec![
                Diagnostic::error("no-such-case", format!("the file no longer has a case `{name}`"))
                    .at(Place::file(read.file.clone()))
                    .help("it was renamed or taken out; open the file again"),
            ],
        };
        Err(Problem { diagnostics, sources: Sources::none().with(read.file.clone(), read.text.clone()) })
    }

    /// The template that a case is read with: the one on the command line, or else its own.
    fn template_of(&self, case: Option<&Case>) -> Result<Opened, Problem> {
        let opened = match (&self.template, case.map(|case| &case.template)) {
            (Some(name), _) if name == "-" => {
                source::from_text("<stdin>".to_owned(), self.stdin.clone().unwrap_or_default())
            }
            (Some(name), _) => self.named_template(name),
            (None, Some(TemplateSource::File(path))) => source::open(&path.display().to_string()),
            (None, Some(TemplateSource::Inline(value))) => source::from_text(String::new(), value.to_pretty("  ")),
            (None, None) => source::open("-"),
        };
        opened.map_err(|error| Problem { diagnostics: error.diagnostics, sources: error.sources })
    }

    fn text(&self, path: &str) -> Result<String, Problem> {
        match (path, &self.stdin, &self.piped) {
            ("-", Some(text), _) => Ok(text.clone()),
            ("-", None, Some(piped)) => piped.text().map_err(problem),
            _ if !is_pipe(path) => input::text(path).map_err(problem),
            _ => {
                let known = self.once.borrow().get(path).cloned();
                let text = known.map_or_else(|| input::text(path), Ok).map_err(problem)?;
                self.once.borrow_mut().insert(path.to_owned(), text.clone());
                Ok(text)
            }
        }
    }

    fn named_template(&self, name: &str) -> Result<Opened, SourceError> {
        if !is_pipe(name) {
            return input::template(name);
        }
        match self.text(name) {
            Ok(text) => source::from_text(name.to_owned(), text),
            Err(Problem { diagnostics, sources }) => Err(SourceError { diagnostics, sources }),
        }
    }

    fn tools(&self, own: Option<&Value>) -> Result<Option<Arc<Tools>>, Problem> {
        let named = if own.is_none() { self.named_tools()? } else { None };
        let Some(value) = own.or(named.as_ref()) else { return Ok(None) };
        match Tools::new(value) {
            Ok(tools) => Ok(Some(Arc::new(tools))),
            Err(reason) => Err(Diagnostic::error("wrong-tools", format!("these are no tools: {reason}"))
                .at(self.tools.as_deref().map(|path| Place::file(input::name(path))).unwrap_or_default())
                .help("a list of {\"type\": \"function\", \"function\": {\"name\", \"parameters\"}}")
                .into()),
        }
    }

    /// The tools of the command line.
    fn named_tools(&self) -> Result<Option<Value>, Problem> {
        let Some(path) = &self.tools else { return Ok(None) };
        Ok(Some(input::json_of(path, self.text(path)?).map_err(problem)?))
    }

    fn rival(&self) -> Result<Option<Rival>, Problem> {
        let Some(name) = &self.rival else { return Ok(None) };
        let opened = match name.as_str() {
            "-" => source::from_text("<stdin>".to_owned(), self.stdin.clone().unwrap_or_default()),
            name => self.named_template(name),
        };
        let opened = opened.map_err(|error| Problem { diagnostics: error.diagnostics, sources: error.sources })?;
        Ok(Some(Rival { name: name.clone(), template: opened.loaded.template }))
    }

    fn of(
        &self,
        opened: Opened,
        prefix: String,
        output: String,
        tools: Option<&Value>,
        expected: Option<Object>,
        chunks: Option<Vec<usize>>,
    ) -> Result<Material, Problem> {
        let template_text = opened.sources.text(Some(&opened.file)).unwrap_or("").to_owned();
        let places = json::read_with_places(&template_text).ok().map(|(_, places)| places);
        let span = places.as_ref().and_then(|places| places.at(&opened.path)).map(|places| places.value.clone());
        Ok(Material {
            template: opened.loaded.template,
            template_file: opened.file,
            template_span: span.unwrap_or(0..template_text.len()),
            template_text,
            rival: self.rival()?,
            prefix,
            output,
            chunks,
            tools: self.tools(tools)?,
            expected,
            is_excused: false,
        })
    }

    /// The chat template that belongs to an output, and its variables.
    fn chat_template(&self, index: usize) -> Result<(String, Object), Problem> {
        let mut variables = Object::new();
        let own = match self.items.get(index) {
            Some(Item::Failing { of, .. }) => return self.chat_template(*of),
            Some(Item::Case { file, name }) => {
                let (case, _) = self.case(file, name)?;
                variables = case.variables;
                case.chat_template.map(|path| path.display().to_string())
            }
            _ => None,
        };
        variables.extend(self.variables.iter().cloned());
        match self.chat_template.clone().or(own).or_else(|| self.template.clone()) {
            Some(name) if name != "-" => Ok((name, variables)),
            _ => Err(Diagnostic::error("no-chat-template", "the chat template is not known")
                .help("name it with --chat-template SOURCE, or in the fixture's header")
                .into()),
        }
    }
}

/// What a derivation gave, as the workbench shows it.
pub fn derived(derivation: &derive::Derivation) -> Derived {
    Derived { status: derivation.headline(), template: derivation.response_template.clone() }
}

/// Whether a file is a pipe, which gives its text once.
fn is_pipe(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

pub fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::Diagnostics { diagnostics, sources } => Problem { diagnostics, sources },
        Failure::Io(error) => Diagnostic::error("cannot-read", error.to_string()).into(),
    }
}
