//! `backchat check --new`: a first file of cases for a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::case_selection::Cases;
use crate::cli::chat_options::with_tokens;
use crate::cli::{Failure, Global, input, note, signals};
use backchat_core::diagnostic::{Diagnostic, Place, counted, escape, shell_word};
use backchat_core::json::Value;
use backchat_derive::derive::{self, Options};
use backchat_parser::template::source::SourceError;
use backchat_workbench::check::fixture::{self, Shared, TemplateSource};
use backchat_workbench::check::{self, Chat, Names, RecordCases, RecordNames};

/// Writes the file, and reports what is in it.
pub fn run(
    model: &str,
    record: Option<&str>,
    set: &[(String, Value)],
    cases: &Cases,
    global: &Global,
) -> Result<ExitCode, Failure> {
    let inputs = [Some(model), record, cases.template.as_deref()];
    input::stdin_once(inputs, "pass a file for all inputs but one")?;
    let path = target(model, cases);
    let shown = path.display().to_string();
    if path.exists() {
        let problem = Diagnostic::error("file-exists", "the file already exists").at(Place::file(&shown));
        return Err(problem.help("choose another PATH, such as `first.fixture`").into());
    }
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let new = match record {
        Some(record) => of_record(model, record, &shown, folder, cases)?,
        None => of_renders(model, set, &shown, folder, cases)?,
    };
    signals::write_inside(&path, &new.text)?;
    if !global.is_quiet() {
        let failing = match new.failing {
            0 => String::new(),
            count => format!(
                ", of which {count} fail: the template reads another message than the one that was {}",
                new.origin
            ),
        };
        let next = format!("backchat check {}", shell_word(&shown));
        crate::cli::say!("Wrote {}: {}{failing}. Next: {next}", escape(&shown), counted(new.cases, "case"));
        new.notes.iter().for_each(|text| note(text));
    }
    Ok(ExitCode::SUCCESS)
}

/// A file of cases that is to be written.
struct New {
    text: String,
    cases: usize,
    failing: usize,
    /// Where the expected messages come from.
    origin: &'static str,
    notes: Vec<String>,
}

/// Typical turns as the chat template writes them.
fn of_renders(model: &str, set: &[(String, Value)], file: &str, folder: &Path, cases: &Cases) -> Result<New, Failure> {
    let source = backchat_chat::source::open(model, None)?.for_tools();
    let template_name = cases.template.as_deref().unwrap_or(model);
    let opened = input::template(template_name).map_err(|error| without_template(error, model, cases))?;
    let template = opened.loaded.template;
    let options = Options::for_source(&source).variables(with_tokens(&source, set));
    let turns = derive::readable_turns(&source.template, &template, &options)?;
    let (template_path, chat_path) = (relative(folder, template_name)?, relative(folder, model)?);
    let chat = Chat::open(&input::place(model)?)
        .map_err(|(diagnostics, sources)| Failure::Diagnostics { diagnostics, sources })?;
    let names =
        Names { file, template: &template_path, chat_template: &chat_path, variables: &set.iter().cloned().collect() };
    let new = check::scaffold(&turns, &template, &chat, names);
    Ok(New { text: new.text, cases: new.cases, failing: new.failing, origin: "rendered", notes: Vec::new() })
}

/// The outputs of a record.
fn of_record(model: &str, record: &str, file: &str, folder: &Path, cases: &Cases) -> Result<New, Failure> {
    let template_name = cases.template.as_deref().unwrap_or(model);
    let opened = input::template(template_name).map_err(|error| without_template(error, model, cases))?;
    let template_path = relative(folder, template_name)?;
    let stand_in = Shared::default().standing_in(TemplateSource::File(PathBuf::from(&template_path)), None);
    // Its rows are cases whatever the record is called.
    let rows = fixture::read_rows(Path::new(record), &stand_in);
    let names = RecordNames { file, template: &template_path, record };
    let RecordCases { text, cases, failing, incomplete, repeated, broken } =
        check::record_cases(rows, &opened.loaded.template, names);
    let mut left_out = Vec::new();
    for (count, why) in [(incomplete, "broken off"), (repeated, "the same as another"), (broken.len(), "no cases")] {
        if count > 0 {
            left_out.push(format!("{count} {why}"));
        }
    }
    let first = broken.into_iter().flat_map(|broken| broken.diagnostics).next();
    if cases == 0 {
        let nothing = || {
            let problem = Diagnostic::error("no-such-case", "no row is a complete output").at(Place::file(record));
            problem.help("record some answers first")
        };
        return Err(first.unwrap_or_else(nothing).into());
    }
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        let first = first.map(|first| format!("; the first problem: {}", first.message)).unwrap_or_default();
        notes.push(escape(&format!("rows left out: {}{first}", left_out.join(", "))).into_owned());
    }
    Ok(New { text, cases, failing, origin: "recorded", notes })
}

/// A path as a file in a folder names it.
fn relative(folder: &Path, name: &str) -> Result<String, SourceError> {
    Ok(input::path_from(folder, Path::new(&input::place(name)?)))
}

/// The file to write: the given one, or one named after the model in the given folder.
fn target(model: &str, cases: &Cases) -> PathBuf {
    let path = cases.paths.first().map_or(Path::new("."), PathBuf::as_path);
    if path.extension().is_some_and(|extension| extension == fixture::EXTENSION) {
        return path.to_owned();
    }
    let file = PathBuf::from(input::model_name(model)).with_added_extension(fixture::EXTENSION);
    if path == Path::new(".") { file } else { path.join(file) }
}

/// The error if there is no response template: the model may simply not have one yet.
fn without_template(mut error: SourceError, model: &str, cases: &Cases) -> Failure {
    if let (Some(diagnostic), None) = (error.diagnostics.first_mut(), &cases.template) {
        let model = shell_word(model);
        diagnostic.help = Some(format!(
            "derive one with `backchat derive {model} -o response_template.json`, and name it with `--template`"
        ));
    }
    error.into()
}
