//! Operations on outputs: read with their templates and tools, bless, derive, verify, and format the command that shows
//! them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::findings::repairs;
use super::super::{
    ChatTemplate, Conversation, Derived, Finding, Material, OtherTemplate, Outputs, Proof, ProofTask, RepairTask,
    Showing, View,
};
use super::{Followed, OutputSet, OutputSource, Request, no_output, problem};
use crate::check::Reading;
use crate::check::fixture::{self, Actual, Case, TemplateSource};
use crate::input::{self, Arrival, Problem, path_from};
use crate::replay::{Chunking, Recovery};
use backchat_chat::source::Source;
use backchat_core::diagnostic::{Diagnostic, Place, Sources, line_column, shell_word};
use backchat_core::json::{self, Object, Value};
use backchat_derive::derive::{self, Failure, Options, Proven, Status};
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::Mode;
use backchat_parser::template::Template;
use backchat_parser::template::source::{self, Opened};

/// The file of a model folder that may hold both templates.
const CONFIG: &str = "tokenizer_config.json";

impl Outputs for OutputSet {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn material(&self, index: usize) -> Result<Material, Problem> {
        match self.items.get(index) {
            Some(OutputSource::Text { path, is_recorded }) => {
                let (output, chunks) = match is_recorded {
                    true => recorded(path).map(|(output, lengths)| (output, Some(lengths)))?,
                    false => (self.text(path)?, None),
                };
                let given = Conversation { output, prefix: self.prefix()?, ..Conversation::default() };
                self.material(self.template_of(None)?, given, chunks)
            }
            Some(OutputSource::Case(name)) => self.of_case(self.case(name)?.0),
            Some(OutputSource::Row(row)) => self.of_case(self.row(index, *row)?),
            Some(OutputSource::Given(given)) => {
                let opened = source::from_text(String::new(), given.template.to_json())?;
                self.material(opened, given.conversation.clone(), None)
            }
            Some(OutputSource::Failing { of, conversation }) => self.failing(*of, conversation),
            None => Err(no_output()),
        }
    }

    fn arrival(&self, index: usize) -> Arrival {
        match (self.items.get(index), &self.piped) {
            (Some(OutputSource::Text { path, .. }), Some(piped)) if path == "-" => piped.arrival(),
            _ => Arrival::Whole,
        }
    }

    fn take_added(&mut self) -> Range<usize> {
        let rows = self.followed.as_mut().map(Followed::take_rows).unwrap_or_default();
        // Conversations that fail stay the last.
        let start = self.asked_for();
        let names = rows.iter().filter_map(|row| {
            let case = self.followed.as_ref()?.case(*row, |shared| self.standing_in(shared));
            Some(case.map_or_else(|broken| broken.id, |case| case.id))
        });
        let names: Vec<String> = names.collect();
        let end = start + names.len();
        self.names.splice(start..start, names);
        self.items.splice(start..start, rows.into_iter().map(OutputSource::Row));
        start..end
    }

    fn files(&self, index: usize) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = Vec::new();
        let mut add = |path: &str| {
            if path != "-" {
                let path = PathBuf::from(path);
                let config = path.join(CONFIG);
                files.push(if path.is_dir() { config } else { path });
            }
        };
        let Request { prefix, tools, other, .. } = &self.asked;
        self.template.iter().chain(prefix).chain(tools).chain(other).for_each(|path| add(path));
        if let Some((name, _)) = self.provable(index) {
            backchat_chat::source::files(&name).iter().for_each(|path| add(&path.display().to_string()));
        }
        match self.items.get(index) {
            Some(OutputSource::Text { path, .. }) => add(path),
            Some(OutputSource::Case(name)) => {
                add(&name.file.display().to_string());
                fixture::defaults_of(&name.file).iter().for_each(|path| add(&path.display().to_string()));
                if let Ok((case, _)) = self.case(name)
                    && let (TemplateSource::File(path), None) = (&case.template, &self.template)
                {
                    add(&path.display().to_string());
                }
            }
            Some(OutputSource::Failing { of, .. }) => return self.files(*of),
            // Rows appended to its file do not change this one.
            Some(OutputSource::Row(_) | OutputSource::Given(_)) | None => {}
        }
        files
    }

    fn place(&self, index: usize) -> Option<(PathBuf, usize)> {
        match self.items.get(index)? {
            OutputSource::Text { path, .. } => (path != "-").then(|| (PathBuf::from(path), 1)),
            OutputSource::Case(name) => {
                let line = self.case(name).map_or(1, |(case, read)| line_column(&read.text, case.span.start).0);
                Some((name.file.clone(), line))
            }
            OutputSource::Row(row) => self.followed.as_ref().map(|followed| (followed.path.clone(), row.line)),
            OutputSource::Given(_) | OutputSource::Failing { .. } => None,
        }
    }

    fn can_derive(&self, index: usize) -> bool {
        let holds_both = |path: &str| Path::new(path).is_dir() || path.ends_with(CONFIG);
        match self.named_chat_template(index) {
            _ if self.origin.is_some() => true,
            // A file that holds only a response template has no chat template.
            Ok((name, _)) => self.template.as_ref() != Some(&name) || holds_both(&name),
            Err(_) => false,
        }
    }

    fn bless(&self, index: usize, material: &Material, message: &Object) -> Result<String, Problem> {
        match self.items.get(index) {
            Some(OutputSource::Case(name)) => {
                let (case, read) = self.case(name)?;
                if case.output != material.output {
                    let message = "this is the message of the typed output, not of the case's output";
                    let problem = Diagnostic::error("other-output", message).at(Place::file(read.file.clone()));
                    return Err(problem.help("undo what was typed (u), or write a separate case").into());
                }
                let actual = actual(material)?;
                write(&name.file, &fixture::rewrite(&read, &[(&case, actual)], &[]))?;
                Ok(format!("blessed: {} holds this message now", case.id))
            }
            Some(OutputSource::Text { path, .. }) if path != "-" => {
                let file = Path::new(path).with_extension(fixture::EXTENSION);
                if file.exists() {
                    let message = format!("the fixture {} exists already", file.display());
                    return Err(problem("fixture-exists", message, "replay the fixture itself, and bless there"));
                }
                let Some(template) = self.template.as_deref().filter(|template| *template != "-") else {
                    let message = "the template was piped in: a fixture cannot name it";
                    return Err(problem("no-template-file", message, "save the template, and replay with its file"));
                };
                let tools = self.named_tools()?;
                let template = path_from(file.parent().unwrap_or(Path::new("")), Path::new(template));
                let Material { prefix, output, .. } = material;
                write(&file, &fixture::write_case(&template, prefix, tools.as_ref(), output, message))?;
                Ok(format!("blessed: wrote {}", file.display()))
            }
            _ => {
                let message = "a fixture is written next to the output's file, and this output has none";
                Err(problem("no-fixture", message, "save it, and replay the file"))
            }
        }
    }

    fn derive(&self, index: usize) -> Result<Derived, Problem> {
        if let Some(origin) = &self.origin {
            return (origin.derive)();
        }
        let (source, options) = self.deriving(index)?;
        Ok(derived(&derive::derive(&source.template, &options)))
    }

    fn chat_template(&self, index: usize) -> Option<ChatTemplate> {
        let read = self.deriving_if_provable(index)?;
        Some(read.map(|(source, options)| (source.template, options.variables)).map_err(|problem| problem.line()))
    }

    fn proof_task(&self, index: usize, template: &Template) -> Option<ProofTask> {
        let read = self.deriving_if_provable(index)?.map_err(|problem| problem.line());
        let template = template.clone();
        Some(Box::new(move || {
            Some(read.and_then(|(source, options)| {
                proof(derive::prove(&source.template, &template, &options), &source.file)
            }))
        }))
    }

    fn repair_task(&self, index: usize, material: &Material, linted: &[Finding]) -> Option<RepairTask> {
        let (source, options) = self.deriving_if_provable(index)?.ok()?;
        Some(repairs(source.template, options, material, linted))
    }

    fn write_template(&self, file: &Path, before: &str, after: &str) -> Result<(), Problem> {
        input::is_unchanged(&file.display().to_string(), before)?;
        write(file, after)
    }

    fn append_conversations(&mut self, conversations: Vec<Conversation>, of: usize) -> usize {
        let of = match self.items.get(of) {
            Some(OutputSource::Failing { of, .. }) => *of,
            _ => of,
        };
        let first = self.asked_for();
        self.items.truncate(first);
        self.names.truncate(first);
        for conversation in conversations {
            self.names.push(conversation.name.clone());
            self.items.push(OutputSource::Failing { of, conversation: Box::new(conversation) });
        }
        first
    }

    fn command(&self, index: usize, view: &View) -> Result<String, String> {
        let mut words = vec!["backchat".to_owned(), "replay".to_owned()];
        words.extend(self.template.iter().map(|template| shell_word(template)));
        match self.items.get(index) {
            Some(OutputSource::Text { .. }) if self.is_typed => {
                return Err("no command shows an output that is typed; save it, and replay the file".to_owned());
            }
            Some(OutputSource::Text { path, .. }) => words.push(shell_word(path)),
            Some(OutputSource::Case(_) | OutputSource::Row(_)) => {
                words.extend(self.names.get(index).map(|name| shell_word(name)))
            }
            Some(OutputSource::Failing { .. }) => {
                return Err("no command shows a conversation of the proof; `backchat prove` lists them".to_owned());
            }
            Some(OutputSource::Given(_)) | None => {
                let name = self.names.get(index).map_or("", String::as_str);
                let Some(origin) = &self.origin else { return Err(format!("no command shows {name}")) };
                return Ok(origin.command.clone());
            }
        }
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), shell_word(value)]);
        let shows_both = matches!(view.showing, Showing::Templates(_));
        let files = [
            ("--prefix", self.asked.prefix.as_ref()),
            ("--tools", self.asked.tools.as_ref()),
            ("--with", self.asked.other.as_ref().filter(|_| shows_both)),
            ("--chat-template", self.asked.chat_template.as_ref()),
        ];
        files.into_iter().for_each(|(name, file)| file.iter().for_each(|file| option(name, file)));
        for (name, value) in &self.asked.variables {
            option("--set", &format!("{name}={value}"));
        }
        if view.chunking != Chunking::RECORDED {
            option("--chunks", &view.chunking.written());
        }
        match view.showing {
            Showing::Modes => option("--mode", "both"),
            Showing::One(Mode::Reference) | Showing::Templates(Mode::Reference) => option("--mode", "reference"),
            Showing::One(Mode::Stable) | Showing::Templates(Mode::Stable) | Showing::Recovery => {}
        }
        option("--at", &view.at.to_string());
        Ok(words.join(" "))
    }
}

impl OutputSet {
    fn of_case(&self, case: Case) -> Result<Material, Problem> {
        let opened = self.template_of(Some(&case))?;
        let expected = case.expected.message.map(|message| message.value);
        let recovery = Recovery { policies: case.recover, validate: case.validate };
        let is_excused = case.allow.iter().any(|id| id == "check-message");
        let (prefix, output, tools) = (case.prefix, case.output, case.tools);
        let given = Conversation { name: case.name, prefix, output, tools, expected };
        let material = self.material(opened, given, case.chunks)?;
        Ok(Material { is_excused, recovery, ..material })
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

    /// The name of the chat template of an output, and its variables.
    fn named_chat_template(&self, index: usize) -> Result<(String, Object), Problem> {
        let mut variables = Object::new();
        let own = match self.items.get(index) {
            Some(OutputSource::Failing { of, .. }) => return self.named_chat_template(*of),
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

    /// The chat template of an output and the options that `backchat derive` would use for it.
    fn deriving(&self, index: usize) -> Result<(Source, Options), Problem> {
        let (name, set) = self.named_chat_template(index)?;
        self.opened(&name, set)
    }

    fn opened(&self, name: &str, set: Object) -> Result<(Source, Options), Problem> {
        let source = backchat_chat::source::open(name, None)?.for_tools();
        let mut options = Options::for_source(&source).now(self.asked.now.clone()).budget(self.asked.budget);
        options.variables.extend(set);
        Ok((source, options))
    }

    /// The chat template and its variables, unless the output is not proved: a derived one was verified already, and
    /// has no file to edit.
    fn provable(&self, index: usize) -> Option<(String, Object)> {
        let is_provable = self.origin.is_none() && self.can_derive(index);
        is_provable.then(|| self.named_chat_template(index).ok()).flatten()
    }

    fn deriving_if_provable(&self, index: usize) -> Option<Result<(Source, Options), Problem>> {
        self.provable(index).map(|(name, set)| self.opened(&name, set))
    }

    /// How many outputs come before the conversations that a proof fails on.
    fn asked_for(&self) -> usize {
        self.items.iter().take_while(|item| !matches!(item, OutputSource::Failing { .. })).count()
    }

    /// A conversation, parsed with the template as its file has it now.
    fn failing(&self, of: usize, conversation: &Conversation) -> Result<Material, Problem> {
        let opened = match self.items.get(of) {
            Some(OutputSource::Case(name)) => self.template_of(Some(&self.case(name)?.0))?,
            _ => self.template_of(None)?,
        };
        self.material(opened, conversation.clone(), None)
    }
}

/// The result of a derivation, for the workbench.
pub fn derived(derivation: &derive::Derivation) -> Derived {
    Derived { status: derivation.headline(), template: derivation.response_template.clone() }
}

fn proof(proven: Proven, file: &str) -> Result<Proof, String> {
    let verdict = &proven.verdict;
    if proven.status == Status::Failed {
        let mut problem = Problem { diagnostics: proven.diagnostics, sources: Sources::none() };
        for found in &mut problem.diagnostics {
            found.place.get_or_insert_default().file = Some(file.to_owned());
        }
        return Err(problem.line());
    }
    Ok(Proof {
        cases: verdict.cases,
        passed: verdict.cases - verdict.failed(),
        wrong: verdict.failures.first().map(Failure::fault),
        failures: verdict.failures.iter().map(Conversation::from).collect(),
    })
}

impl From<&Failure> for Conversation {
    fn from(failure: &Failure) -> Self {
        Self {
            name: format!("{}: {}", failure.case, failure.what),
            prefix: failure.prefix.clone(),
            output: failure.text.clone(),
            tools: Some(derive::proof_tools()),
            expected: failure.expected.as_object().cloned(),
        }
    }
}

/// The actual result of a case: the message, the problems, the events.
fn actual(material: &Material) -> Result<Actual, Problem> {
    let parser = material.run(&material.template, Mode::Stable).parser();
    let parser = parser.map_err(|error| Diagnostic::error("parse-failed", error.to_string()))?;
    Ok(Reading::new(parser, std::iter::once(material.output.as_str())).into_actual())
}

/// Replaces a file as a whole.
fn write(file: &Path, text: &str) -> Result<(), Problem> {
    source::replace_file(file, text.as_bytes()).map_err(|error| {
        let help = "the file is as it was; check that you may write to its folder";
        input::cannot_write(&file.display().to_string(), &error).help(help).into()
    })
}

/// How much of a file's first row is read to find out what the file is, in bytes.
const LONGEST_ROW: u64 = 1 << 16;

/// Whether a file is one output, chunk by chunk: its first row says when it arrived.
pub fn is_recorded(name: &str) -> bool {
    let is_rows = Path::new(name).extension().is_some_and(|extension| extension == fixture::ROWS_EXTENSION);
    let first = is_rows.then(|| File::open(name).ok()).flatten();
    let mut line = String::new();
    let read = first.and_then(|file| BufReader::new(file).take(LONGEST_ROW).read_line(&mut line).ok());
    read.is_some() && json::read(&line).is_ok_and(|row| row.get("after_ms").is_some())
}

/// The output in a file of rows `{"after_ms", "text"}`, and the lengths of its chunks, in characters.
pub fn recorded(path: &str) -> Result<(String, Vec<usize>), Problem> {
    let (mut output, mut lengths) = (String::new(), Vec::new());
    for (number, line) in input::text(path)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = json::read(line).ok();
        let chunk = row.as_ref().and_then(|row| row.get("text")).and_then(Value::as_str).ok_or_else(|| {
            let place = Place { line_column: Some((number + 1, 1)), ..Place::file(path) };
            Diagnostic::error("bad-recording", "this row is not a chunk of a recorded output")
                .at(place)
                .help("a chunk is {\"after_ms\": milliseconds, \"text\": the text that arrived}")
        })?;
        output.push_str(chunk);
        lengths.push(chunk.chars().count());
    }
    Ok((output, lengths))
}
