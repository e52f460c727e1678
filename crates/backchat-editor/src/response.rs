//! The response template of a document: its findings, its delimiters, and what prints them.

use std::ops::Range;
use std::path::PathBuf;

use backchat_core::json::{self, Path, Places, Step, Value};
use backchat_core::text::slice;
use backchat_derive::derive::{Mark, Proven, Status};
use backchat_parser::template::source::{self, Opened};
use backchat_workbench::answers::LintOptions;

use crate::chat_facts::{ChatFacts, Headline, Printed};
use crate::chat_text::ChatText;
use crate::document::Document;
use crate::finding::{Finding, Level, Related};
use crate::settings::Settings;

/// The key that holds the template in a config.
pub const KEY: &str = "response_template";

/// What proving a response template shows.
#[derive(Clone, Debug)]
pub struct ResponseFacts {
    pub verdict: Headline,
    /// What the places of the chat template print, to this template.
    pub printed: Vec<Printed>,
}

/// A delimiter of a response template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delimiter {
    /// The bytes of its string with the quotes.
    pub span: Range<usize>,
    pub path: String,
    /// The text, or the pattern.
    pub text: String,
    pub is_pattern: bool,
    pub mark: Mark,
}

/// Reads the template of a document; `None` if it holds none.
pub fn open(document: &Document) -> Option<Result<Opened, Vec<backchat_core::Diagnostic>>> {
    let opened = source::from_text(document.path.display().to_string(), document.text.to_string());
    match opened {
        Ok(opened) => Some(Ok(opened)),
        Err(error) => {
            let is_config =
                json::read(&document.text).is_ok_and(|value| value.get("fields").is_none() && value.get(KEY).is_none());
            let is_absent = error.diagnostics.iter().all(|found| found.id == "no-template");
            if is_absent || (is_config && document.name() != "response_template.json") {
                return None;
            }
            Some(Err(error.diagnostics))
        }
    }
}

/// The problems of loading a template.
pub fn problems(document: &Document) -> Vec<Finding> {
    match open(document) {
        Some(Err(diagnostics)) => diagnostics.iter().map(Finding::of).collect(),
        _ => Vec::new(),
    }
}

/// The findings of lint.
pub fn lint(document: &Document, settings: &Settings) -> Vec<Finding> {
    match open(document) {
        Some(Ok(opened)) => {
            let options = LintOptions { targets: &settings.targets, ..LintOptions::default() };
            options.find(&opened).iter().map(Finding::of).collect()
        }
        Some(Err(diagnostics)) => diagnostics.iter().map(Finding::of).collect(),
        None => Vec::new(),
    }
}

/// The verdict of a proof.
pub fn verdict(proven: &Proven) -> Headline {
    let first = match proven.status {
        Status::Proved => None,
        _ => {
            let failed = proven.verdict.failures.first().map(|failure| failure.case.clone());
            failed.or_else(|| proven.diagnostics.first().map(|found| found.message.clone()))
        }
    };
    Headline { status: proven.status.name(), passed: proven.verdict.passed, cases: proven.verdict.cases, first }
}

/// The failures of a proof at what is wrong, each cause once.
pub fn refuted(document: &Document, proven: &Proven, chat: Option<(&PathBuf, &ChatText)>) -> Vec<Finding> {
    let Ok((value, places)) = json::read_with_places(&document.text) else { return Vec::new() };
    let base = base(&value);
    let finding = |failure: &backchat_derive::derive::Failure| {
        let span = place_of(&value, &places, &base, failure.field(), failure.side());
        let hint = failure.hint().map(|hint| format!("\n{hint}")).unwrap_or_default();
        let message = format!(
            "{}{hint}\ntext: {:?}\nexpected: {}\nread: {}",
            failure.describe(),
            backchat_core::diagnostic::shortened(&failure.text, 300),
            backchat_core::diagnostic::shortened(&failure.expected.to_string(), 300),
            backchat_core::diagnostic::shortened(&failure.got.to_string(), 300),
        );
        let mut finding = Finding::new(Level::Warning, "refuted", span.clone(), message);
        if let Some((path, chat)) = chat {
            let delimiter = delimiters(&document.text)
                .into_iter()
                .find(|delimiter| delimiter.span.start >= span.start && delimiter.span.end <= span.end);
            let printed = delimiter.map(|delimiter| literals_with(chat, &delimiter)).unwrap_or_default();
            let related = printed.into_iter().take(3).map(|span| Related {
                path: path.clone(),
                span,
                message: "printed here".to_owned(),
            });
            finding.related.extend(related);
        }
        finding
    };
    proven.verdict.failures.iter().take(8).map(finding).collect()
}

/// The path of the template in a document.
pub fn base(value: &Value) -> Path {
    if value.get("fields").is_none() && value.get(KEY).is_some() { Path::root().key(KEY) } else { Path::root() }
}

/// The value of a field's delimiter; of the field, or of all fields, if it has none.
fn place_of(value: &Value, places: &Places, base: &Path, field: Option<&str>, side: &str) -> Range<usize> {
    let fields = base.key("fields");
    let root = places.at(&fields).map_or(0..0, |place| place.key.clone().unwrap_or(place.value.clone()));
    let _ = value;
    let Some(field) = field else { return root };
    let field = fields.key(field);
    let keys = [side.to_owned(), format!("{side}_pattern")];
    let delimiter = keys.iter().find_map(|key| places.at(&field.key(key)).map(|place| place.value.clone()));
    delimiter.or_else(|| places.at(&field).and_then(|place| place.key.clone())).unwrap_or(root)
}

/// The delimiters of a template's text.
pub fn delimiters(text: &str) -> Vec<Delimiter> {
    let Ok((value, places)) = json::read_with_places(text) else { return Vec::new() };
    let base = base(&value);
    let mut found = Vec::new();
    let mut add = |path: Path, mark: Mark| {
        let Some(place) = places.at(&path) else { return };
        let mut strings: Vec<(Path, &Places)> = vec![(path.clone(), place)];
        strings.extend(place.below().into_iter().map(|(step, below)| (path.step(step), below)));
        for (path, place) in strings {
            let written = slice(text, place.value.clone());
            let Some(literal) = json::read(written).ok().and_then(|value| value.as_str().map(str::to_owned)) else {
                continue;
            };
            let is_pattern =
                path.steps().iter().any(|step| matches!(step, Step::Key(key) if key.ends_with("_pattern")));
            found.push(Delimiter {
                span: place.value.clone(),
                path: path.to_string(),
                text: literal,
                is_pattern,
                mark: mark.clone(),
            });
        }
    };
    for key in ["start_anchor", "start_anchor_pattern"] {
        add(base.key(key), Mark::Start);
    }
    let fields = places.at(&base.key("fields")).map(Places::below).unwrap_or_default();
    for (step, _) in fields {
        let Step::Key(field) = &step else { continue };
        let path = base.key("fields").step(step.clone());
        for (key, mark) in [("open", Mark::Open(field.clone())), ("close", Mark::Close(field.clone()))] {
            add(path.key(key), mark.clone());
            add(path.key(&format!("{key}_pattern")), mark);
        }
    }
    found
}

/// The literal texts of a delimiter: the whole, or those in its pattern.
pub fn literals(delimiter: &Delimiter) -> Vec<String> {
    if !delimiter.is_pattern {
        return vec![delimiter.text.clone()];
    }
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut chars = delimiter.text.chars();
    let mut end = |literal: &mut String| {
        if literal.chars().filter(|c| !c.is_whitespace()).count() > 1 {
            found.push(std::mem::take(literal));
        }
        literal.clear();
    };
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => literal.push('\n'),
                Some(c) if !c.is_alphanumeric() => literal.push(c),
                _ => end(&mut literal),
            },
            '(' | ')' | '[' | ']' | '|' | '*' | '+' | '?' | '.' | '^' | '$' | '{' | '}' => end(&mut literal),
            c => literal.push(c),
        }
    }
    end(&mut literal);
    // The names and flags of groups are no text.
    found.retain(|literal| !literal.starts_with("P<") && !literal.starts_with(':') && !literal.starts_with("<!"));
    found
}

/// The delimiters of a template that write a text, with their paths.
pub fn delimiters_with(text: &str, literal: &str) -> Vec<(Range<usize>, String)> {
    if literal.trim().is_empty() {
        return Vec::new();
    }
    let writes = |delimiter: &Delimiter| {
        let own = literals(delimiter);
        own.iter().any(|own| !own.trim().is_empty() && (own.contains(literal) || literal.contains(own.trim())))
    };
    let found = delimiters(text).into_iter().filter(writes);
    found.map(|delimiter| (delimiter.span, delimiter.path)).collect()
}

/// The literals of a chat template that write a delimiter, in bytes of its document.
fn literals_with(chat: &ChatText, delimiter: &Delimiter) -> Vec<Range<usize>> {
    let wanted = literals(delimiter);
    let mut found = Vec::new();
    for literal in &chat.reading.literals {
        let written = slice(&chat.source, literal.span.clone());
        for text in wanted.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
            found.extend(
                written
                    .match_indices(text)
                    .map(|(at, _)| chat.span(&(literal.span.start + at..literal.span.start + at + text.len()))),
            );
        }
    }
    found
}

/// The places of a chat template that print a delimiter, in bytes of its document, and in how many conversations.
pub fn printers(
    chat: &ChatText,
    delimiter: &Delimiter,
    facts: Option<(&ChatFacts, &[Printed])>,
) -> Vec<(Range<usize>, usize)> {
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    let written = literals_with(chat, delimiter);
    if let Some((chat_facts, printed)) = facts {
        for place in printed {
            let Some((_, count)) = place.marks.iter().find(|(mark, _)| *mark == delimiter.mark) else { continue };
            if *chat_facts.source != *chat.source {
                continue;
            }
            let span = chat.span(&place.span);
            let exact = written.iter().find(|literal| span.start <= literal.start && literal.end <= span.end);
            let span = exact.cloned().unwrap_or(span);
            if !found.iter().any(|(known, _)| *known == span) {
                found.push((span, *count));
            }
        }
    }
    // The places that print it word for word come first.
    found.sort_by_key(|(span, _)| (!written.contains(span), span.start));
    for span in written {
        if !found.iter().any(|(known, _)| *known == span) {
            found.push((span, 0));
        }
    }
    found
}
