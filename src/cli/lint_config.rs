//! The settings of the linter in `backchat.toml`. Unknown keys and values are errors with their position.
//!
//! ```toml
//! [lint]
//! target = ["vllm"]
//!
//! [lint.rules]
//! portable-pattern = "off"
//! RT013 = "error"
//!
//! [[lint.ignore]]
//! file = "models/old.json"
//! rules = ["RT001"]
//! ```

use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, TableLike};

use super::known_values::{Names, known_targets, named};
use super::{Failure, input};
use backchat_core::diagnostic::{Diagnostic, Place, Severity, Sources};
use backchat_derive::targets::Target;
use backchat_workbench::lint;

/// The name of the file, which is looked up in the current folder and its parents.
const FILE: &str = "backchat.toml";

/// The settings of the file.
#[derive(Debug, Default)]
pub struct Config {
    pub targets: Vec<&'static Target>,
    pub levels: Vec<(&'static str, Option<Severity>)>,
    pub ignores: Vec<Ignore>,
}

/// Rules that are off for one file.
#[derive(Debug)]
pub struct Ignore {
    file: PathBuf,
    rules: Vec<&'static str>,
}

impl Ignore {
    pub fn covers(&self, file: &str, rule: &str) -> bool {
        let same = |one: &Path, other: &Path| {
            one == other || one.canonicalize().ok().is_some_and(|one| Some(one) == other.canonicalize().ok())
        };
        self.rules.contains(&rule) && same(&self.file, Path::new(file))
    }
}

impl Config {
    /// Reads the given file, or else the nearest one.
    pub fn read(named: Option<&Path>) -> Result<Self, Failure> {
        let nearest = || {
            let here = std::env::current_dir().ok()?;
            here.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
        };
        let Some(path) = named.map(Path::to_owned).or_else(nearest) else { return Ok(Self::default()) };
        let here = std::env::current_dir().unwrap_or_default();
        let file = path.strip_prefix(here).unwrap_or(&path).display().to_string();
        let text = input::text(&file)?;
        let mut reader = ConfigReader {
            file: &file,
            text: &text,
            folder: path.parent().unwrap_or(Path::new("")),
            problems: Vec::new(),
        };
        let config = reader.read();
        if reader.problems.is_empty() {
            return Ok(config);
        }
        let sources = Sources::none().with(&file, &text);
        Err(Failure::Diagnostics { diagnostics: reader.problems, sources })
    }
}

struct ConfigReader<'t> {
    file: &'t str,
    text: &'t str,
    folder: &'t Path,
    problems: Vec<Diagnostic>,
}

impl ConfigReader<'_> {
    fn read(&mut self) -> Config {
        let mut config = Config::default();
        let document = match Document::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let problem = Diagnostic::error("invalid-toml", format!("not valid TOML: {}", error.message()));
                self.problems
                    .push(problem.at(Place::span(self.text, span).in_file(self.file)).help("correct the file here"));
                return config;
            }
        };
        let root: &dyn TableLike = document.as_table();
        self.known(root, &["lint"], "the file");
        let Some(lint) = root.get("lint") else { return config };
        let Some(lint) = self.table(lint) else { return config };
        self.known(lint, &["target", "rules", "ignore"], "`lint`");
        for (target, item) in self.strings(lint.get("target")) {
            match Target::named(&target) {
                Some(target) => config.targets.push(target),
                None => self.complain(item, format!("unknown target `{target}`"), &known_targets()),
            }
        }
        if let Some(rules) = lint.get("rules").and_then(|item| self.table(item)) {
            for (name, item) in rules.iter() {
                let level = item.as_str().and_then(|name| named(LEVELS, name));
                match (lint::rule(name), level) {
                    (Some(rule), Some(level)) => config.levels.push((rule.id, level)),
                    (None, _) => self.unknown_rule(item, name),
                    (_, None) => {
                        let help = "write \"off\", \"note\", \"warning\" or \"error\"";
                        self.complain(item, format!("`{name}` has no level"), help);
                    }
                }
            }
        }
        config.ignores = self.ignores(lint.get("ignore"));
        config
    }

    fn ignores(&mut self, item: Option<&Item>) -> Vec<Ignore> {
        let Some(item) = item else { return Vec::new() };
        let Some(tables) = item.as_array_of_tables() else {
            let help = "write `[[lint.ignore]]` with `file` and `rules`";
            self.complain(item, "`ignore` must be a list of tables", help);
            return Vec::new();
        };
        let mut ignores = Vec::new();
        for table in tables {
            self.known(table, &["file", "rules"], "`lint.ignore`");
            let rules = self.strings(table.get("rules"));
            let mut ids = Vec::new();
            for (name, item) in rules {
                match lint::rule(&name) {
                    Some(rule) => ids.push(rule.id),
                    None => self.unknown_rule(item, &name),
                }
            }
            match table.get("file").and_then(Item::as_str) {
                Some(file) => ignores.push(Ignore { file: self.folder.join(file), rules: ids }),
                None => self.complain(item, "`file` is missing", "give the file for which the rules are off"),
            }
        }
        ignores
    }

    fn table<'i>(&mut self, item: &'i Item) -> Option<&'i dyn TableLike> {
        let table = item.as_table_like();
        if table.is_none() {
            let message = format!("this must be a table, not {}", item.type_name());
            self.complain(item, message, "see `backchat lint --help`");
        }
        table
    }

    /// The strings of a list, or a single string, each with its span.
    fn strings<'i>(&mut self, item: Option<&'i Item>) -> Vec<(String, &'i Item)> {
        let Some(item) = item else { return Vec::new() };
        if let Some(one) = item.as_str() {
            return vec![(one.to_owned(), item)];
        }
        let text = |value: &toml_edit::Value| Some((value.as_str()?.to_owned(), item));
        let texts = item.as_array().and_then(|array| array.iter().map(text).collect());
        texts.unwrap_or_else(|| {
            self.complain(item, "this must be a list of strings", "write [\"one\", \"another\"]");
            Vec::new()
        })
    }

    fn known(&mut self, table: &dyn TableLike, keys: &[&str], what: &str) {
        for (key, item) in table.iter().filter(|(key, _)| !keys.contains(key)) {
            let names: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
            let help = format!("choose one of {}", names.join(", "));
            self.complain(item, format!("unknown key `{key}` in {what}"), &help);
        }
    }

    fn unknown_rule(&mut self, item: &Item, name: &str) {
        self.complain(item, format!("unknown rule `{name}`"), "`backchat lint --explain` lists the rules");
    }

    fn complain(&mut self, item: &Item, message: impl Into<String>, help: &str) {
        let place = match item.span() {
            Some(span) => Place::span(self.text, span).in_file(self.file),
            None => Place::file(self.file),
        };
        self.problems.push(Diagnostic::error("invalid-config", message).at(place).help(help));
    }
}

const LEVELS: &Names<Option<Severity>> = &[
    ("off", None, ""),
    ("note", Some(Severity::Note), ""),
    ("warning", Some(Severity::Warning), ""),
    ("error", Some(Severity::Error), ""),
];
