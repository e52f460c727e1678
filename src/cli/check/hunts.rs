//! `backchat check --hunt`: random conversations for the templates of the cases that name a chat template.

use crate::cli::{Failure, Global, hunt, note};
use backchat_core::diagnostic::{Diagnostic, escape, shell_word, shortened};
use backchat_core::json::Value;
use backchat_derive::derive::{Hunt, Hunted, Options};
use backchat_workbench::answers::NOW;
use backchat_workbench::check::fixture::{Case, TemplateSource};
use backchat_workbench::check::{Entry, Loaded, Report, Status};

/// How much of an example is shown, in characters.
const EXCERPT: usize = 200;

/// Hunts once for each pair of templates. What a hunt finds is a finding of the first case with this pair.
pub fn run(reports: &mut [Report<'_>], loaded: &Loaded, hunt: Hunt, global: &Global) -> Result<(), Failure> {
    let mut known: Vec<String> = Vec::new();
    for report in reports {
        let Entry::Case(file, Ok(case)) = report.entry else { continue };
        let Some((template, chat_template, variables)) = loaded.pair(case) else { continue };
        let key = format!("{} {} {chat_template}", template.to_json(), Value::Object(variables.clone()));
        if known.contains(&key) {
            continue;
        }
        known.push(key);
        let options = Options::default().variables(variables).now(NOW.to_owned());
        let hunted = hunt::run(chat_template, &template, &options, hunt, global)?;
        tell!(global, "{}: {}", escape(&case.id), escape(&hunted.headline()));
        if hunted.refutes() {
            let place = case.place(&file.text, case.span.clone());
            let command = format!("{} --hunt {} --seed {}", proof_command(case), hunted.wanted, hunted.seed);
            report.diagnostics.extend(findings(&hunted, &command).map(|found| found.at(place.clone())));
            report.status = Status::Failed;
        }
    }
    if known.is_empty() {
        note("nothing was hunted: no case names a chat template (`chat-template:`)");
    }
    Ok(())
}

/// A finding for each cause; `command` shows all of them.
fn findings(hunted: &Hunted, command: &str) -> impl Iterator<Item = Diagnostic> {
    hunted.failures.iter().map(move |failure| {
        let text = shortened(&format!("{:?}", failure.text), EXCERPT).into_owned();
        let message = format!("a conversation refutes the proof of the template: {}; text: {text}", failure.describe());
        Diagnostic::error("check-hunt", message).help(format!("see all of it with `{command}`"))
    })
}

/// The `prove` command for the templates of a case.
fn proof_command(case: &Case) -> String {
    let template = match &case.template {
        TemplateSource::File(file) => shell_word(&file.display().to_string()),
        // The template of a row is in no file of its own.
        TemplateSource::Inline(_) => "TEMPLATE".to_owned(),
    };
    let mut command = format!("backchat prove {template}");
    if let Some(source) = &case.chat_template {
        command += &format!(" --chat-template {}", shell_word(&source.display().to_string()));
    }
    for (name, value) in &case.variables {
        command += &format!(" --set {}", shell_word(&format!("{name}={value}")));
    }
    command
}
