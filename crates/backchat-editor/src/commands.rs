//! What commands compute: drafts, repairs, blessings, and explanations.

use std::path::PathBuf;

use backchat_chat::source::Source;
use backchat_core::diagnostic::Edit;
use backchat_core::json::Value;
use backchat_derive::derive::{derive, prove};
use backchat_parser::template::Template;
use backchat_workbench::{answers, lint, repair};

use crate::document::Document;
use crate::finding::Remedy;
use crate::folder;
use crate::response;
use crate::settings::Settings;
use crate::words::{self, FILTERS, FUNCTIONS, TAGS, TESTS};

/// The draft for a chat template, as `backchat derive` writes it.
///
/// # Errors
///
/// There is no draft.
pub fn draft(source: &Source, settings: &Settings) -> Result<String, String> {
    let derivation = derive(&source.template, &folder::options(source, settings));
    let draft = derivation.response_template.as_ref().and_then(|draft| Template::from_value(draft).ok());
    draft.map(|loaded| loaded.template.to_json()).ok_or_else(|| {
        let why = derivation.diagnostics.first().map_or("no render shows an answer", |found| found.message.as_str());
        format!("there is no draft: {why}")
    })
}

/// The file next to a chat template that its response template is written to.
pub fn response_path(document: &Document) -> Option<PathBuf> {
    Some(document.path.parent()?.join("response_template.json"))
}

/// The report of a proof.
///
/// # Errors
///
/// There is no chat template, or the response template does not load.
pub fn report(document: &Document, settings: &Settings) -> Result<Value, String> {
    let source = chat_template(document)?;
    let opened = match response::open(document) {
        Some(Ok(opened)) => opened,
        Some(Err(problems)) => return Err(problems.first().map_or_else(String::new, |found| found.message.clone())),
        None => return Err("this file holds no response template".to_owned()),
    };
    let proven = prove(&source.template, &opened.loaded.template, &folder::options(&source, settings));
    Ok(answers::proof(&proven, None))
}

fn chat_template(document: &Document) -> Result<Source, String> {
    folder::chat_template_beside(&document.path)
        .ok_or_else(|| "there is no chat template in the folder: add chat_template.jinja".to_owned())
}

/// The repairs of a response template, the best first: all of them together, then each alone.
///
/// # Errors
///
/// There is no chat template.
pub fn repairs(document: &Document, settings: &Settings) -> Result<Vec<Remedy>, String> {
    let source = chat_template(document)?;
    let options = folder::options(&source, settings);
    let file = document.path.display().to_string();
    let mut found = Vec::new();
    if let Some(plan) = repair::plan(&source.template, &file, &document.text, &options) {
        let edit = crate::fixtures::smallest_edit(&document.text, &plan.text);
        let titles: Vec<String> = plan.steps.iter().map(|step| step.repair.describe()).collect();
        found.extend(edit.map(|edit| Remedy { title: titles.join("; "), edits: vec![edit], is_safe: true }));
    }
    for repair in repair::repairs(&source.template, &file, &document.text, &options) {
        found.push(Remedy { title: repair.describe(), edits: repair.fix.edits.clone(), is_safe: repair.breaks == 0 });
    }
    Ok(found)
}

/// The safe fixes of findings, as many as do not touch each other.
pub fn safe_edits<'f>(remedies: impl Iterator<Item = &'f Remedy>) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for remedy in remedies.filter(|remedy| remedy.is_safe) {
        let is_free = |edit: &Edit| {
            edits.iter().all(|other| edit.span.end <= other.span.start || other.span.end <= edit.span.start)
        };
        if remedy.edits.iter().all(is_free) {
            edits.extend(remedy.edits.iter().cloned());
        }
    }
    edits
}

/// The page of a rule, or what a key, filter, test, function or tag means, in Markdown.
pub fn explain(name: &str) -> Option<String> {
    if let Some(rule) = lint::rule(name) {
        return Some(rule.explain());
    }
    if let Some(about) = crate::response_completion::description(&[], name)
        .or_else(|| crate::response_completion::description(&["fields".to_owned(), "content".to_owned()], name))
    {
        return Some(format!("`{name}`: {about}"));
    }
    let word = [FILTERS, TESTS, FUNCTIONS, TAGS].iter().find_map(|words| words::find(words, name));
    word.map(|(_, signature, about)| format!("`{signature}`: {about}"))
}
