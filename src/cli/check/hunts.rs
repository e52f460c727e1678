//! `backchat check --hunt`: random conversations for the templates of the cases that name a chat template.

use crate::cli::{Failure, Global, hunt};
use backchat_core::diagnostic::{Diagnostic, escape, shortened};
use backchat_core::json::Value;
use backchat_derive::derive::{Hunt, Hunted, Options};
use backchat_workbench::answers::NOW;
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
            report.diagnostics.extend(findings(&hunted).map(|found| found.at(place.clone())));
            report.status = Status::Failed;
        }
    }
    Ok(())
}

/// A finding for each cause.
fn findings(hunted: &Hunted) -> impl Iterator<Item = Diagnostic> {
    hunted.failures.iter().map(move |failure| {
        let text = shortened(&format!("{:?}", failure.text), EXCERPT).into_owned();
        let message = format!("a conversation refutes the proof of the template: {}; text: {text}", failure.describe());
        let found = Diagnostic::error("check-hunt", message);
        let seed = hunted.seed;
        found.help(format!("see all of it with `backchat prove --hunt {} --seed {seed}`", hunted.wanted))
    })
}
