//! `backchat derive` over many chat templates: on all cores, a draft and a line per template, in order, each as soon as
//! it is ready.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::{Derive, OutputFormat, exit_code, written};
use crate::cli::on_all_cores::on_all_cores;
use crate::cli::{Failure, Global, chat_rows, folders, input, rows};
use backchat_core::diagnostic::{Diagnostic, Place, escape, escape_json, shortened};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{Derivation, Options, Status};
use backchat_workbench::input::Problem;
use backchat_workbench::report;

/// A chat template among several.
pub(super) struct ChatSource {
    /// The source, as it is opened and shown.
    pub source: String,
    /// The path of its draft in the output folder, without an extension: its path in the searched folder, or its own
    /// name.
    place: PathBuf,
}

/// Every source of the arguments: a folder that is not a model stands for the chat templates in it.
pub(super) fn expand(sources: &[String]) -> Result<Vec<ChatSource>, Failure> {
    let mut found = Vec::new();
    for source in sources {
        let path = Path::new(source);
        if !folders::is_collection(path) {
            found.push(ChatSource { source: source.clone(), place: PathBuf::from(input::model_name(source)) });
            continue;
        }
        let inside = folders::templates_in(source, |_| false)?;
        found.extend(
            inside
                .into_iter()
                .map(|file| ChatSource { place: place_in(path, &file), source: file.to_string_lossy().into_owned() }),
        );
    }
    Ok(found)
}

/// The place of a draft in the tree below the folder that was searched.
fn place_in(folder: &Path, file: &Path) -> PathBuf {
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let parent = inside.parent().unwrap_or_else(|| Path::new(""));
    match input::without_ending(file).as_str() {
        "chat_template" if parent != Path::new("") => parent.to_owned(),
        name => parent.join(name),
    }
}

fn draft_file(folder: &Path, item: &ChatSource) -> PathBuf {
    let name = item.place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder.join(item.place.with_file_name(format!("{name}.json")))
}

/// Refuses sources whose drafts, or pages, would go to one file, before anything is derived.
fn check_places(what: &str, items: &[ChatSource]) -> Result<(), Diagnostic> {
    let mut known: HashMap<&Path, &str> = HashMap::new();
    for item in items {
        if let Some(other) = known.insert(&item.place, &item.source) {
            let (first, second) = (escape(other), escape(&item.source));
            let message = format!("the {what} of {first} and {second} would both be written to one file");
            let help = "pass the folder that contains both, so that its tree is kept, or derive them one by one";
            return Err(Diagnostic::error("output-taken", message).help(help));
        }
    }
    Ok(())
}

/// Refuses a draft that would replace its own source.
fn check_file(file: &Path, item: &ChatSource) -> Result<(), Diagnostic> {
    let shown = file.to_string_lossy().into_owned();
    if !super::is_same_file(&shown, &item.source) {
        return Ok(());
    }
    let message = format!("the draft would replace {}, which it is derived from", escape(&item.source));
    Err(Diagnostic::error("output-taken", message).at(Place::file(shown)).help("name another folder"))
}

/// Derives from several sources. Each draft is written as soon as it is ready, and each line printed as soon as those
/// before it are.
pub(super) fn sources(command: &Derive, mut items: Vec<ChatSource>, global: &Global) -> Result<ExitCode, Failure> {
    if command.page.is_asked() {
        command.page.check_target()?;
        check_places("pages", &items)?;
    }
    let folder = command.output.as_deref().map(Path::new);
    if let Some(folder) = folder {
        check_places("drafts", &items)?;
        items.iter().try_for_each(|item| check_file(&draft_file(folder, item), item))?;
        let before = items.len();
        items.retain(|item| !command.resume || !draft_file(folder, item).exists());
        if items.len() < before && !global.is_quiet() {
            say!("{} drafts are already in {}.", before - items.len(), escape(&folder.to_string_lossy()));
        }
    }
    let width = items.iter().map(|item| item.source.chars().count()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    let mut statuses = Vec::new();
    let mut charted = Vec::new();
    let mut worst = 0;
    let derive = |item: &ChatSource| {
        let charted = chart(command, item)?;
        if let Some(folder) = folder {
            write_draft(&draft_file(folder, item), &charted.derivation)?;
        }
        Ok(charted)
    };
    on_all_cores(&items, global, derive, |item, derived: Result<_, Failure>| {
        let one: report::Charted = derived?;
        let derivation = &one.derivation;
        match command.format {
            OutputFormat::Json => writeln!(out, "{}", with_id(item.source.as_str().into(), derivation))?,
            OutputFormat::Text => out.write_all(line(&item.source, width, derivation).as_bytes())?,
        }
        out.flush()?;
        worst = worst.max(exit_code(derivation.status));
        statuses.push(derivation.status);
        if command.page.is_asked() {
            charted.push(one);
        }
        Ok(())
    })?;
    let name = match command.sources.as_slice() {
        [one] => one.clone(),
        several => format!("{} sources", several.len()),
    };
    command.page.write(global, || report::atlas(&name, &charted))?;
    summarize(&statuses, global);
    Ok(ExitCode::from(worst))
}

/// Derives from one source, and writes its page if pages are asked for.
fn chart(command: &Derive, item: &ChatSource) -> Result<report::Charted, Failure> {
    let name = item.place.to_string_lossy().into_owned();
    let began = Instant::now();
    let opened = command.source_of(&item.source).and_then(|opened| Ok((command.options(&opened)?, opened)));
    let (options, opened) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            return Ok(report::Charted { name, page: None, derivation: unreadable(failure), took: began.elapsed() });
        }
    };
    let (derivation, coverage) = command.covered(&opened.template, &options);
    let derivation = derivation.with_tokens_of(&opened);
    let took = began.elapsed();
    let playground = command.page.playground(Some(&item.place))?;
    let page = match command.page.is_asked() {
        true => {
            let chat = (opened.file.as_str(), opened.template.as_str());
            let page = report::derivation(chat, &derivation, coverage.as_ref(), &options, playground.as_ref());
            command.page.write_beside(&item.place, &page)?
        }
        false => None,
    };
    Ok(report::Charted { name, page, derivation, took })
}

/// Derives from rows of JSON lines.
pub(super) fn lines(command: &Derive, file: &str, global: &Global) -> Result<ExitCode, Failure> {
    let statuses = Mutex::new(Vec::new());
    rows::answer(file, global, || {
        |line: rows::Line, out: &mut String| {
            let (id, derivation) = row(command, &line.bytes);
            statuses.lock().unwrap_or_else(PoisonError::into_inner).push(derivation.status);
            out.push_str(&with_id(id, &derivation));
            out.push('\n');
            match derivation.status {
                Status::Failed => rows::RowState::Failed,
                _ => rows::RowState::Answered,
            }
        }
    })?;
    let statuses = statuses.into_inner().unwrap_or_else(PoisonError::into_inner);
    summarize(&statuses, global);
    Ok(ExitCode::from(u8::from(statuses.iter().any(|status| *status != Status::Proved))))
}

/// One row: its id and its derivation.
fn row(command: &Derive, line: &[u8]) -> (Value, Derivation) {
    let wrong = |id: Value, message: String| {
        let help = "a row is {\"id\", \"chat_template\": text or \"template\": path, \"bos_token\"?, \"eos_token\"?, \"set\"?}";
        (id, Derivation::failed(Diagnostic::error("bad-row", message).help(help)))
    };
    let row = match chat_rows::read(line) {
        Ok(row) => row,
        Err(message) => return wrong(Value::Null, message),
    };
    let id = row.get("id").cloned().unwrap_or_default();
    let (template, options) = match (row.get("chat_template"), chat_rows::file(&row, "template")) {
        (Some(Value::String(text)), _) => (text.clone(), Options::default()),
        (None, Ok(Some(path))) => match command.source_of(path) {
            Ok(opened) => (opened.template.clone(), Options::for_source(&opened)),
            Err(failure) => return (id, unreadable(failure)),
        },
        (None, Err(message)) => return wrong(id, message),
        _ => return wrong(id, "the row has neither a `chat_template` text nor a `template` path".to_owned()),
    };
    let mut options = command.completed(options);
    match chat_rows::variables(&row, &command.selected.given.set) {
        Ok(variables) => options.variables.extend(variables),
        Err(message) => return wrong(id, message),
    }
    let tokens = ["bos_token", "eos_token"].iter().filter_map(|name| row.get(name)?.as_str());
    options.special_tokens.extend(tokens.map(str::to_owned));
    (id, command.derived(&template, &options))
}

/// The derivation of a source that could not be read.
fn unreadable(failure: Failure) -> Derivation {
    let diagnostic = Problem::from(failure).diagnostics.into_iter().next();
    Derivation::failed(diagnostic.unwrap_or_else(|| Diagnostic::error("cannot-read", "cannot read this")))
}

fn with_id(id: Value, derivation: &Derivation) -> String {
    let mut row = Object::from([("id".to_owned(), id)]);
    if let Value::Object(report) = derivation.to_value() {
        row.extend(report);
    }
    escape_json(&Value::Object(row).to_string()).into_owned()
}

fn write_draft(file: &Path, derivation: &Derivation) -> Result<(), Failure> {
    let Some(draft) = &derivation.response_template else { return Ok(()) };
    Ok(crate::cli::signals::write_inside(file, written(draft))?)
}

/// The line of a source: its status, and the first cause of failure.
fn line(source: &str, width: usize, derivation: &Derivation) -> String {
    let verdict = &derivation.verdict;
    let lost = if verdict.lost() > 0 { format!(", {} lost by the wire format", verdict.lost()) } else { String::new() };
    let counts = format!("{}/{}{lost}", verdict.passed, verdict.cases);
    let cause = match derivation.status {
        Status::Proved => verdict.scope.proved.join(", "),
        _ => derivation.diagnostics.first().map(|diagnostic| diagnostic.message.clone()).unwrap_or_default(),
    };
    let (status, cause) = (derivation.status.name(), shortened(&cause, 120).into_owned());
    format!("{status:<13}  {:<width$}  {counts:<7}  {}\n", escape(source), escape(&cause))
}

fn summarize(statuses: &[Status], global: &Global) {
    let counts = [Status::Proved, Status::Partial, Status::Inexpressible, Status::Failed].map(|status| {
        let count = statuses.iter().filter(|known| **known == status).count();
        format!("{count} {}", status.name())
    });
    tell!(global, "{} chat templates: {}", statuses.len(), counts.join(", "));
}
