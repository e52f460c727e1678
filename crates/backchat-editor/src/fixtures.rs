//! Fixtures: the verdict of each case, with the smallest value that differs as its place.

use std::ops::Range;
use std::path::Path;

use backchat_core::diagnostic::{Diagnostic, Edit, Severity};
use backchat_core::json::{self, Path as JsonPath, Places, Value};
use backchat_core::text::slice;
use backchat_workbench::check::fixture::{self, Actual, Case, FixtureFile};
use backchat_workbench::check::{self, Entry, Loaded, Meaning, Report, Settings, Status};

use crate::chat_completion::{Item, ItemKind};
use crate::document::Document;
use crate::finding::{Finding, Level};

/// A case and its result.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Its name in the file; `None` if it cannot be read.
    pub name: Option<String>,
    /// The bytes of its section line; line 1 if the file has one case.
    pub span: Range<usize>,
    pub passed: bool,
    /// What differs first.
    pub differs: Option<String>,
}

/// The sections of a fixture, each with what it holds.
const SECTIONS: [(&str, &str); 12] = [
    ("case", "another case of this file"),
    ("prefix", "the prompt, or its last lines"),
    ("output", "the model's text"),
    ("tools", "the definitions of tools, as JSON"),
    ("request", "the body of the chat completion, as JSON"),
    ("messages", "the conversation before the message, as JSON"),
    ("message", "the expected message, as JSON"),
    ("events", "the expected events, one per line"),
    ("error", "the expected problems of the output, one per line"),
    ("problems", "the expected problems of the parse, one per line"),
    ("chat", "a rendered chat"),
    ("variables", "variables of the chat template, as JSON"),
];

/// The keys of a fixture's header.
const KEYS: [(&str, &str); 8] = [
    ("template", "the response template that reads the output"),
    ("chat-template", "the chat template that the message is rendered with"),
    ("stop", "a text that ends the model's turn"),
    ("allow", "findings that do not make the case fail"),
    ("grammar", "whether the grammar of the request has to allow the output"),
    ("validate", "whether arguments are checked against the schemas of tools"),
    ("recover", "the recovery policies"),
    ("round-trip", "what of the message survives the chat template"),
];

/// The problems of the format.
pub fn problems(document: &Document) -> Vec<Finding> {
    let file = read(document);
    let broken = file
        .cases
        .iter()
        .filter_map(|case| case.as_ref().err())
        .chain(file.chats.iter().filter_map(|case| case.as_ref().err()));
    let found = broken.flat_map(|broken| &broken.diagnostics);
    found.map(Finding::of).collect()
}

fn read(document: &Document) -> FixtureFile {
    if document.is_file {
        return fixture::read(&document.path);
    }
    fixture::read_text(&document.name(), document.text.to_string(), &fixture::Shared::default())
}

/// Checks every case.
pub fn check(document: &Document) -> (Vec<Finding>, Vec<CaseResult>) {
    let files = [read(document)];
    let entries = Entry::all(&files, &[]);
    let loaded = Loaded::new(&entries);
    let reports = check::run(&entries, &loaded, &Settings::default(), false, &|_| {});
    let mut findings = Vec::new();
    let mut results = Vec::new();
    for report in &reports {
        let found = of_report(document, report);
        results.push(result(report, &found));
        findings.extend(found.into_iter().map(|(finding, _)| finding));
    }
    (findings, results)
}

fn result(report: &Report<'_>, found: &[(Finding, Option<String>)]) -> CaseResult {
    let (output, chat) = (report.entry.case(), report.entry.chat());
    let named = output.map(|case| (&case.name, &case.span)).or(chat.map(|case| (&case.name, &case.span)));
    let differs = found.iter().filter(|(finding, _)| finding.level == Level::Error);
    let differs = differs.map(|(finding, path)| path.clone().unwrap_or_else(|| finding.code.clone())).next();
    CaseResult {
        name: named.map(|(name, _)| name.clone()),
        span: named.map_or(0..0, |(_, span)| span.clone()),
        passed: report.status == Status::Passed,
        differs,
    }
}

/// The findings of a report, each with the path that differs.
fn of_report(document: &Document, report: &Report<'_>) -> Vec<(Finding, Option<String>)> {
    let own = |found: &&Diagnostic| {
        let file = found.place.as_ref().and_then(|place| place.file.as_deref());
        file.is_none_or(|file| Path::new(file) == document.path || file == document.name())
    };
    let finding = |found: &Diagnostic| {
        let mut finding = Finding::of(found);
        if found.severity == Severity::Note {
            finding.level = Level::Information;
        }
        let difference = match (found.id, report.entry.case(), &report.meaning) {
            ("check-message", Some(case), Some(Meaning::Output(actual))) => difference(document, case, actual),
            _ => None,
        };
        let path = difference.map(|(span, path)| {
            finding.span = span;
            path
        });
        (finding, path)
    };
    report.diagnostics.iter().filter(own).map(finding).collect()
}

/// The smallest value of the expected message that differs, and its path.
fn difference(document: &Document, case: &Case, actual: &Actual) -> Option<(Range<usize>, String)> {
    let expected = case.expected.message.as_ref()?;
    let found = Value::Object(actual.message.clone()?);
    let text = slice(&document.text, expected.span.clone());
    let (value, places) = json::read_with_places(text).ok()?;
    let (path, place) = smallest(&value, &found, &places, JsonPath::root());
    let start = expected.span.start;
    Some((start + place.start..start + place.end, path.to_string()))
}

/// The first place, as deep as possible, where two values differ. A missing key is at the brace that opens its object.
fn smallest(wanted: &Value, found: &Value, places: &Places, path: JsonPath) -> (JsonPath, Range<usize>) {
    let below = |step: json::Step| {
        let inner = places.below().into_iter().find(|(known, _)| *known == step).map(|(_, place)| place.clone());
        (path.step(step), inner.unwrap_or_default())
    };
    match (wanted, found) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one.iter() {
                match other.get(key) {
                    Some(found) if found == value => {}
                    Some(found) => {
                        let (path, place) = below(json::Step::Key(key.to_owned()));
                        return smallest(value, found, &place, path);
                    }
                    None => {
                        let (path, place) = below(json::Step::Key(key.to_owned()));
                        return (path, place.key.clone().unwrap_or(place.value));
                    }
                }
            }
            let missing = other.keys().find(|key| one.get(key).is_none());
            let start = places.value.start;
            let path = missing.map_or(path.clone(), |key| path.key(key));
            (path, start..start + 1)
        }
        (Value::List(one), Value::List(other)) if one.len() == other.len() => {
            let at = one.iter().zip(other).position(|(one, other)| one != other);
            match at.and_then(|at| Some((at, one.get(at)?, other.get(at)?))) {
                Some((at, wanted, found)) => {
                    let (path, place) = below(json::Step::Index(at));
                    smallest(wanted, found, &place, path)
                }
                None => (path, places.value.clone()),
            }
        }
        _ => (path, places.value.clone()),
    }
}

/// The edit that writes the actual message of a case; `None` if nothing differs.
///
/// # Errors
///
/// There is no such case, or it cannot be run.
pub fn bless(document: &Document, name: Option<&str>) -> Result<Option<Edit>, String> {
    let files = [read(document)];
    let mut entries = Entry::all(&files, &[]);
    let names: Vec<String> = entries.iter().map(|entry| entry.name().into_owned()).collect();
    if let Some(name) = name.filter(|name| names.len() > 1 || names.iter().any(|known| known == name)) {
        entries.retain(|entry| entry.name() == name);
    }
    if entries.len() != 1 {
        return Err(format!("name one of the cases: {}", names.join(", ")));
    }
    let loaded = Loaded::new(&entries);
    let reports = check::run(&entries, &loaded, &Settings::default(), false, &|_| {});
    let Some(report) = reports.first() else { return Err("the case was not run".to_owned()) };
    let [file] = &files;
    let text = match (report.entry.case(), report.entry.chat(), &report.meaning) {
        (Some(case), _, Some(Meaning::Output(actual))) => fixture::rewrite(file, &[(case, actual.clone())], &[]),
        (_, Some(chat), Some(Meaning::Chat(actual))) => fixture::rewrite(file, &[], &[(chat, actual.clone())]),
        _ => {
            let why = report.diagnostics.first().map_or("it has problems", |found| found.message.as_str());
            return Err(format!("the case cannot be run: {why}"));
        }
    };
    Ok(smallest_edit(&document.text, &text))
}

/// The edit that turns one text into another; `None` if they are the same.
pub fn smallest_edit(before: &str, after: &str) -> Option<Edit> {
    if before == after {
        return None;
    }
    let start = backchat_core::text::common_start(before, after).len();
    let end = backchat_core::text::common_end(slice(before, start..), slice(after, start..)).len();
    Some(Edit { span: start..before.len() - end, text: slice(after, start..after.len() - end).to_owned() })
}

/// The bytes of each section line and its section.
pub fn sections(text: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("=== ") {
            if let Some((_, section)) = found.last_mut() {
                section.end = at;
            }
            found.push((at..at + line.trim_end().len(), at..text.len()));
        }
        at += line.len();
    }
    found
}

/// The completions at a byte: sections after `===`, keys in a header.
pub fn complete(text: &str, byte: usize) -> Vec<Item> {
    let line_start = slice(text, ..byte).rfind('\n').map_or(0, |found| found + 1);
    let line = slice(text, line_start..byte);
    let item = |(label, about): &(&str, &str), replaces: Range<usize>| Item {
        label: (*label).to_owned(),
        kind: ItemKind::Keyword,
        detail: String::new(),
        documentation: (*about).to_owned(),
        replaces,
        inserted: None,
    };
    if let Some(typed) = line.strip_prefix("=== ") {
        let fitting = SECTIONS.iter().filter(|(name, _)| name.starts_with(typed.trim()));
        return fitting.map(|row| item(row, byte - typed.len()..byte)).collect();
    }
    let in_header = !slice(text, ..line_start).contains("\n=== ") && !text.starts_with("=== ");
    if in_header && !line.contains(':') {
        return KEYS.iter().filter(|(key, _)| key.starts_with(line)).map(|row| item(row, line_start..byte)).collect();
    }
    Vec::new()
}

/// The path in a header at a byte.
pub fn path_at(document: &Document, byte: usize) -> Option<std::path::PathBuf> {
    let text = &document.text;
    let start = slice(text, ..byte).rfind('\n').map_or(0, |found| found + 1);
    let end = slice(text, byte..).find('\n').map_or(text.len(), |found| byte + found);
    let (key, value) = slice(text, start..end).split_once(':')?;
    let is_path = matches!(key.trim(), "template" | "chat-template");
    let path = document.path.parent()?.join(value.trim());
    (is_path && backchat_core::files::is_file(&path)).then_some(path)
}
