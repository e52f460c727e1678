//! `backchat check --new`: a first file of cases for a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::chat;
use crate::check::{self, Chat, Names, fixture};
use crate::cli::case_selection::Cases;
use crate::cli::chat_options::{NOW, source_failure};
use crate::cli::{Failure, Global, input, signals};
use crate::derive::{self, Options};
use crate::diagnostic::{Diagnostic, Place, escape};
use crate::template::source::{SourceError, replace_file};

/// Writes the file, and says what is in it.
pub fn run(model: &str, cases: &Cases, global: &Global) -> Result<ExitCode, Failure> {
    let path = target(model, cases);
    let shown = path.display().to_string();
    if path.exists() {
        let problem = Diagnostic::error("file-exists", "the file already exists").at(Place::file(&shown));
        return Err(problem.help("choose another PATH, such as `first.fixture`").into());
    }
    let source = chat::source::open(model, None).map_err(source_failure)?.for_tools();
    let template_name = cases.template.as_deref().unwrap_or(model);
    let opened = input::template(template_name).map_err(|error| without_template(error, model, cases))?;
    let template = opened.loaded.template;
    let options = Options { variables: source.special_tokens.clone(), now: Some(NOW.to_owned()), ..Options::default() };
    let turns = derive::readable_turns(&source.template, &template, &options)?;
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let relative = |name: &str| Ok::<_, SourceError>(input::path_from(folder, Path::new(&input::place(name)?)));
    let (template_path, chat_path) = (relative(template_name)?, relative(model)?);
    let chat = Chat::open(&input::place(model)?)
        .map_err(|(diagnostics, sources)| Failure::Diagnostics { diagnostics, sources })?;
    let names = Names { file: &shown, template: &template_path, chat_template: &chat_path };
    let new = check::scaffold(&turns, &template, &chat, names);
    signals::uninterrupted(|| {
        std::fs::create_dir_all(folder)?;
        replace_file(&path, new.text.as_bytes())
    })
    .map_err(|error| input::cannot_write(&shown, &error))?;
    if !global.is_quiet() {
        let failing = match new.failing {
            0 => String::new(),
            count => {
                format!(", of which {count} fail: the template reads another message than the one that was rendered")
            }
        };
        let next = format!("backchat check {}", crate::diagnostic::shell_word(&shown));
        crate::cli::say!("Wrote {}: {} cases{failing}. Next: {next}", escape(&shown), new.cases);
    }
    Ok(ExitCode::SUCCESS)
}

/// The file to write: the one that is named, or one called after the model in the folder that is named.
fn target(model: &str, cases: &Cases) -> PathBuf {
    let path = cases.paths.first().map_or(Path::new("."), PathBuf::as_path);
    if path.extension().is_some_and(|extension| extension == fixture::EXTENSION) {
        return path.to_owned();
    }
    let model = Path::new(model);
    let full = model.canonicalize().unwrap_or_else(|_| model.to_owned());
    // A file in a model folder has a name that says nothing.
    let named = match full.file_name().and_then(|name| name.to_str()) {
        Some("tokenizer_config.json" | "chat_template.json" | "chat_template.jinja") => full.parent().unwrap_or(&full),
        _ => &full,
    };
    let name = if named.is_dir() { named.file_name() } else { named.file_stem() };
    let file = PathBuf::from(name.unwrap_or("first".as_ref())).with_added_extension(fixture::EXTENSION);
    if path == Path::new(".") { file } else { path.join(file) }
}

/// The error if there is no response template: the model may simply not have one yet.
fn without_template(error: SourceError, model: &str, cases: &Cases) -> Failure {
    let mut failure = Failure::Diagnostics { diagnostics: error.diagnostics, sources: error.sources };
    if let (Failure::Diagnostics { diagnostics, .. }, None) = (&mut failure, &cases.template) {
        let model = crate::diagnostic::shell_word(model);
        for diagnostic in diagnostics.iter_mut().take(1) {
            diagnostic.help = Some(format!(
                "derive one with `backchat derive {model} -o response_template.json`, and name it with `--template`"
            ));
        }
    }
    failure
}
