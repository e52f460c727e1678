//! `backchat derive` over many chat templates: on all cores, a row or a table line per template, in order.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use super::{Derive, OutputFormat, exit_code};
use crate::chat::source;
use crate::cli::chat_options::source_failure;
use crate::cli::progress::Progress;
use crate::cli::{Failure, Global, input, rows};
use crate::derive::{self, Derivation, Options, Status};
use crate::diagnostic::{Diagnostic, Place, escape, shortened};
use crate::json::{self, Object, Value};

/// How deep folders are searched for chat templates.
const DEPTH: usize = 8;

/// The files of a model folder that hold a chat template.
const MODEL_FILES: [&str; 4] = ["chat_template.jinja", "chat_template.json", "tokenizer_config.json", "chat_templates"];

/// Every source of the arguments: a folder that is not a model means the chat templates in it.
pub(super) fn expand(sources: &[String]) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for source in sources {
        let path = Path::new(source);
        if !path.is_dir() || is_model(path) {
            found.push(source.clone());
            continue;
        }
        let before = found.len();
        collect(path, DEPTH, &mut found).map_err(|error| input::cannot_read(source, &error))?;
        if found.len() == before {
            return Err(Diagnostic::error("no-chat-templates", "this folder has no chat templates")
                .at(Place::file(source.as_str()))
                .help("pass .jinja or .gguf files, or a folder that contains them or model folders")
                .into());
        }
    }
    Ok(found)
}

fn is_model(folder: &Path) -> bool {
    MODEL_FILES.iter().any(|name| folder.join(name).exists())
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<String>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort();
    for path in entries {
        let is_template = path.extension().is_some_and(|end| end == "jinja" || end == "gguf");
        if path.is_dir() && is_model(&path) || path.is_file() && is_template {
            found.push(path.to_string_lossy().into_owned());
        } else if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// Derives from several sources.
pub(super) fn sources(command: &Derive, sources: &[String], global: &Global) -> Result<ExitCode, Failure> {
    let derivations = on_all_cores(sources, global, |source| {
        match command.of(source).map(|(opened, options)| derive::derive(&opened.template, &options)) {
            Ok(derivation) => derivation,
            Err(failure) => unreadable(failure),
        }
    });
    let mut out = io::stdout().lock();
    let named: Vec<(&str, &Derivation)> = sources.iter().map(String::as_str).zip(&derivations).collect();
    if let Some(folder) = command.output() {
        write_drafts(Path::new(folder), &named, command.takes_partial())?;
    }
    match command.format() {
        OutputFormat::Json => {
            for (source, derivation) in &named {
                writeln!(out, "{}", with_id((*source).into(), derivation))?;
            }
        }
        OutputFormat::Text => out.write_all(table(&named).as_bytes())?,
    }
    out.flush()?;
    summarize(derivations.iter().map(|derivation| derivation.status), global);
    Ok(ExitCode::from(derivations.iter().map(exit_code).max().unwrap_or(0)))
}

/// Answers rows of JSON lines.
pub(super) fn lines(command: &Derive, file: &str, global: &Global) -> Result<ExitCode, Failure> {
    let counts: [AtomicUsize; 4] = Default::default();
    rows::answer(file, global, || {
        |line: rows::Line, out: &mut String| {
            let (id, derivation) = row(command, &line.bytes);
            if let Some(count) = counts.get(place(derivation.status)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            with_id(id, &derivation).write_to(out);
            out.push('\n');
            match derivation.status {
                Status::Failed => rows::Outcome::Failed,
                _ => rows::Outcome::Answered,
            }
        }
    })?;
    let statuses = STATUSES.iter().zip(&counts);
    let statuses = statuses.flat_map(|(status, count)| std::iter::repeat_n(*status, count.load(Ordering::Relaxed)));
    let statuses: Vec<Status> = statuses.collect();
    summarize(statuses.iter().copied(), global);
    Ok(ExitCode::from(u8::from(statuses.iter().any(|status| *status != Status::Proved))))
}

const STATUSES: [Status; 4] = [Status::Proved, Status::Partial, Status::Inexpressible, Status::Failed];

fn place(status: Status) -> usize {
    STATUSES.iter().position(|known| *known == status).unwrap_or(0)
}

/// One row: its id and what it derives to.
fn row(command: &Derive, line: &[u8]) -> (Value, Derivation) {
    let wrong = |id: Value, message: String| {
        let help = "a row is {\"id\", \"chat_template\": text or \"template\": path, \"bos_token\"?, \"eos_token\"?, \"set\"?}";
        (id, Derivation::failed(Diagnostic::error("bad-row", message).help(help)))
    };
    let read = std::str::from_utf8(line).map_err(|_| "the row is not UTF-8".to_owned());
    let read = read.and_then(|text| json::read(text).map_err(|error| format!("not valid JSON: {}", error.message)));
    let row = match read {
        Ok(Value::Object(row)) => row,
        Ok(_) => return wrong(Value::Null, "the row is not an object".to_owned()),
        Err(message) => return wrong(Value::Null, message),
    };
    let id = row.get("id").cloned().unwrap_or_default();
    let mut options = command.row_options();
    let template = match (row.get("chat_template"), row.get("template")) {
        (Some(Value::String(text)), _) => text.clone(),
        (None, Some(Value::String(path))) => match source::open(path, None) {
            Ok(opened) => {
                let opened = opened.for_tools();
                add(&mut options, &opened.special_tokens);
                opened.template
            }
            Err(error) => return (id, unreadable(source_failure(error))),
        },
        _ => return wrong(id, "the row has neither a `chat_template` text nor a `template` path".to_owned()),
    };
    for name in ["bos_token", "eos_token"] {
        if let Some(Value::String(token)) = row.get(name) {
            options.variables.insert(name.to_owned(), token.as_str().into());
            options.special_tokens.push(token.clone());
        }
    }
    match row.get("set") {
        None | Some(Value::Null) => {}
        Some(Value::Object(set)) => options.variables.extend(set.clone()),
        Some(_) => return wrong(id, "`set` is not an object".to_owned()),
    }
    (id, derive::derive(&template, &options))
}

/// Adds what a source's own tokens are, unless they were given.
fn add(options: &mut Options, tokens: &Object) {
    for (name, token) in tokens {
        options.variables.entry(name.clone()).or_insert_with(|| token.clone());
        options.special_tokens.extend(token.as_str().map(str::to_owned));
    }
}

/// The derivation of a source that could not be read.
fn unreadable(failure: Failure) -> Derivation {
    let diagnostic = match failure {
        Failure::Diagnostics { diagnostics, .. } => diagnostics.into_iter().next(),
        Failure::Io(error) => Some(Diagnostic::error("cannot-read", error.to_string())),
    };
    Derivation::failed(diagnostic.unwrap_or_else(|| Diagnostic::error("cannot-read", "cannot read this")))
}

fn with_id(id: Value, derivation: &Derivation) -> Value {
    let mut row = Object::from([("id".to_owned(), id)]);
    if let Value::Object(report) = derivation.to_value() {
        row.extend(report);
    }
    Value::Object(row)
}

/// Runs a job for every source, in no order, and gives the results in order.
fn on_all_cores<R: Send>(sources: &[String], global: &Global, job: impl Fn(&str) -> R + Sync) -> Vec<R> {
    let (count, next) = (sources.len(), AtomicUsize::new(0));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(count.max(1));
    let mut progress = Progress::new(global, "templates", u64::try_from(count).ok());
    let (send, receive) = channel();
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        for _ in 0..workers {
            let (send, next, job) = (send.clone(), &next, &job);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(source) = sources.get(at) else { return };
                    if send.send((at, job(source))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut done = Vec::new();
        for result in receive {
            done.push(result);
            progress.advance(1, u64::try_from(done.len()).unwrap_or(0));
        }
        done
    });
    progress.finish();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Writes each draft into a folder, under the name of its source. A draft that was not proved is left out unless
/// wanted.
fn write_drafts(folder: &Path, named: &[(&str, &Derivation)], partial: bool) -> Result<(), Failure> {
    let shown = folder.to_string_lossy().into_owned();
    std::fs::create_dir_all(folder).map_err(|error| input::cannot_write(&shown, &error))?;
    for (source, derivation) in named {
        let Some(draft) = &derivation.response_template else { continue };
        if derivation.status != Status::Proved && !partial {
            continue;
        }
        let path = Path::new(source);
        let is_generic = path.file_stem().is_some_and(|stem| stem == "chat_template" || stem == "tokenizer_config");
        let named = if is_generic { path.parent().and_then(Path::file_name) } else { path.file_stem() };
        let name = named.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = folder.join(format!("{name}.json"));
        let text = format!("{}\n", draft.to_pretty("  "));
        crate::template::source::replace_file(&file, text.as_bytes())
            .map_err(|error| input::cannot_write(&file.to_string_lossy(), &error))?;
    }
    Ok(())
}

/// A line for each source: how far it got, and the first cause of failure.
fn table(named: &[(&str, &Derivation)]) -> String {
    let mut text = String::new();
    let width = named.iter().map(|(source, _)| source.chars().count()).max().unwrap_or(0);
    for (source, derivation) in named {
        let verdict = &derivation.verdict;
        let lost =
            if verdict.lost() > 0 { format!(", {} lost by the wire format", verdict.lost()) } else { String::new() };
        let counts = format!("{}/{}{lost}", verdict.passed, verdict.cases);
        let cause = match derivation.status {
            Status::Proved => verdict.scope.proved.join(", "),
            _ => derivation.diagnostics.first().map(|diagnostic| diagnostic.message.clone()).unwrap_or_default(),
        };
        let (status, cause) = (derivation.status.name(), shortened(&cause, 120).into_owned());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{status:<13}  {:<width$}  {counts:<7}  {}", escape(source), escape(&cause));
    }
    text
}

fn summarize(statuses: impl Iterator<Item = Status>, global: &Global) {
    if global.is_quiet() {
        return;
    }
    let mut counts = [0usize; 4];
    for status in statuses {
        if let Some(count) = counts.get_mut(place(status)) {
            *count += 1;
        }
    }
    let words = STATUSES.iter().zip(counts).map(|(status, count)| format!("{count} {}", status.name()));
    let total: usize = counts.iter().sum();
    say!("{total} chat templates: {}", words.collect::<Vec<_>>().join(", "));
}
