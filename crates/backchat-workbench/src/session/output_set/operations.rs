//! Operations on outputs: read, bless, derive, verify, and format the command that shows them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::arriving::{Followed, recorded};
use super::super::chunking::Chunking;
use super::super::editing::{actual, new_fixture, write};
use super::super::findings::repairs;
use super::super::material::{Conversation, Derived, Finding, Material, ProofTask, RepairTask};
use super::super::outputs::{Arrival, Outputs, View};
use super::super::playback::Showing;
use super::proof::proof;
use super::{OutputSet, OutputSource, Request, derived};
use crate::check::fixture::{self, Case, TemplateSource};
use crate::input::{self, Problem};
use crate::replay::Recovery;
use backchat_core::diagnostic::{Diagnostic, Place, line_column, shell_word};
use backchat_core::json::Object;
use backchat_derive::derive;
use backchat_parser::parser::Mode;
use backchat_parser::template::Template;
use backchat_parser::template::source;

/// The file of a model folder that may hold both templates.
const CONFIG: &str = "tokenizer_config.json";

impl Outputs for OutputSet {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn material(&self, index: usize) -> Result<Material, Problem> {
        match self.items.get(index) {
            Some(OutputSource::Text(path)) => {
                let output = self.text(path)?;
                let given = Conversation { output, prefix: self.prefix()?, ..Conversation::default() };
                self.material(self.template_of(None)?, given, None)
            }
            Some(OutputSource::Recorded(path)) => {
                let chunks = recorded(path)?;
                let lengths = chunks.iter().map(|chunk| chunk.chars().count()).collect();
                let (output, prefix) = (chunks.concat(), self.prefix()?);
                let given = Conversation { output, prefix, ..Conversation::default() };
                self.material(self.template_of(None)?, given, Some(lengths))
            }
            Some(OutputSource::Case(name)) => self.of_case(self.case(name)?.0),
            Some(OutputSource::Row(row)) => self.of_case(self.row(index, *row)?),
            Some(OutputSource::Given(given)) => {
                let opened = source::from_text(String::new(), given.template.to_json())?;
                self.material(opened, given.conversation.clone(), None)
            }
            Some(OutputSource::Failing { of, conversation }) => self.failing(*of, conversation),
            None => Err(Diagnostic::error("no-output", super::NO_OUTPUT).into()),
        }
    }

    fn arrival(&self, index: usize) -> Arrival {
        match (self.items.get(index), &self.piped) {
            (Some(OutputSource::Text(path)), Some(piped)) if path == "-" => piped.arrival(),
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
        match self.items.get(index) {
            Some(OutputSource::Text(path) | OutputSource::Recorded(path)) => add(path),
            Some(OutputSource::Case(name)) => {
                add(&name.file.display().to_string());
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
            OutputSource::Text(path) | OutputSource::Recorded(path) => (path != "-").then(|| (PathBuf::from(path), 1)),
            OutputSource::Case(name) => {
                let line = self.case(name).map_or(1, |(case, read)| line_column(&read.text, case.span.start).0);
                Some((name.file.clone(), line))
            }
            OutputSource::Row(row) => self.followed.as_ref().map(|followed| (followed.path().to_owned(), row.line)),
            OutputSource::Given(_) | OutputSource::Failing { .. } => None,
        }
    }

    fn can_derive(&self, index: usize) -> bool {
        let holds_both = |path: &str| Path::new(path).is_dir() || path.ends_with(CONFIG);
        match self.chat_template(index) {
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
                    return Err(Diagnostic::error(
                        "other-output",
                        "this is the message of the typed output, not of the case's output",
                    )
                    .at(Place::file(read.file.clone()))
                    .help("undo what was typed (u), or write a separate case")
                    .into());
                }
                let actual = actual(material)?;
                let text = fixture::rewrite(&read, &[(&case, actual)], &[]);
                write(&name.file, &text)?;
                Ok(format!("blessed: {} holds this message now", case.id))
            }
            Some(OutputSource::Text(path) | OutputSource::Recorded(path)) if path != "-" => {
                let file = Path::new(path).with_extension(fixture::EXTENSION);
                if file.exists() {
                    let message = format!("the fixture {} exists already", file.display());
                    return Err(Diagnostic::error("fixture-exists", message)
                        .help("replay the fixture itself, and bless there")
                        .into());
                }
                let Some(template) = self.template.as_deref().filter(|template| *template != "-") else {
                    return Err(Diagnostic::error(
                        "no-template-file",
                        "the template was piped in: a fixture cannot name it",
                    )
                    .help("save the template, and replay with its file")
                    .into());
                };
                let tools = self.named_tools()?;
                write(&file, &new_fixture(&file, template, material, tools.as_ref(), message))?;
                Ok(format!("blessed: wrote {}", file.display()))
            }
            _ => Err(Diagnostic::error(
                "no-fixture",
                "a fixture is written next to the output's file, and this output has none",
            )
            .help("save it, and replay the file")
            .into()),
        }
    }

    fn derive(&self, index: usize) -> Result<Derived, Problem> {
        if let Some(origin) = &self.origin {
            return (origin.derive)();
        }
        let (source, options) = self.deriving(index)?;
        Ok(derived(&derive::derive(&source, &options)))
    }

    fn proof_task(&self, index: usize, template: &Template) -> Option<ProofTask> {
        let (source, options) = self.provable(index)?;
        let template = template.clone();
        Some(Box::new(move || proof(&derive::prove(&source, &template, &options))))
    }

    fn repair_task(&self, index: usize, material: &Material, linted: &[Finding]) -> Option<RepairTask> {
        let (source, options) = self.provable(index)?;
        Some(repairs(source, options, material, linted))
    }

    fn write_template(&self, file: &Path, before: &str, after: &str) -> Result<(), Problem> {
        let name = file.display().to_string();
        if input::text(&name)? != before {
            return Err(Diagnostic::error("file-changed", "the file changed since it was read; nothing was written")
                .at(Place::file(name))
                .help("look at it again as it is now")
                .into());
        }
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
            Some(OutputSource::Text(_)) if self.is_typed => {
                return Err("no command shows an output that is typed; save it, and replay the file".to_owned());
            }
            Some(OutputSource::Text(path) | OutputSource::Recorded(path)) => words.push(shell_word(path)),
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
}
