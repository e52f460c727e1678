//! Code actions, code lenses, and edits as the protocol writes them.

use serde_json::{Value, json};

use super::super::convert::Places;
use super::{Known, Refused, Server};
use backchat_core::diagnostic::Edit;
use backchat_editor::chat_hints::{lens, verdict_line};
use backchat_editor::commands::safe_edits;
use backchat_editor::{Finding, Kind};

/// Edits of one document, for its current version.
pub fn workspace_edit(server: &Server, known: &Known, edits: &[Edit]) -> Value {
    let edits = Places::of(&known.document, server.client.unit).edits(edits);
    let uri = server.uri_of(&known.document.path);
    match server.client.has_document_changes {
        true => {
            json!({"documentChanges": [{"textDocument": {"uri": uri, "version": known.document.version}, "edits": edits}]})
        }
        false => json!({"changes": {uri: edits}}),
    }
}

/// Whether an editor that asks for some kinds of actions wants this one.
fn is_wanted(only: Option<&Vec<Value>>, kind: &str) -> bool {
    let fits = |wanted: &str| kind == wanted || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'));
    only.is_none_or(|only| only.iter().filter_map(Value::as_str).any(fits))
}

/// The actions at a range.
pub fn actions(server: &Server, known: &Known, params: &Value) -> Result<Value, Refused> {
    let at = Places::of(&known.document, server.client.unit);
    let range = at.span(params.get("range").unwrap_or(&Value::Null));
    let only = params.pointer("/context/only").and_then(Value::as_array);
    let uri = server.uri_of(&known.document.path);
    let findings: Vec<&Finding> = known.current().iter().collect();
    let touching = findings.iter().filter(|finding| finding.span.start <= range.end && range.start <= finding.span.end);
    let mut found = Vec::new();
    if is_wanted(only, "quickfix") {
        for finding in touching {
            let diagnostic = at.diagnostic(finding, &|_, _| None);
            for remedy in &finding.remedies {
                found.push(json!({
                    "title": remedy.title, "kind": "quickfix", "diagnostics": [diagnostic], "isPreferred": remedy.is_safe,
                    "edit": workspace_edit(server, known, &remedy.edits),
                }));
            }
            if finding.code == "refuted" {
                let command = json!({"title": "Repair", "command": "backchat.repair", "arguments": [uri]});
                found.push(json!({"title": "Repair: the best proved change", "kind": "quickfix", "diagnostics": [diagnostic], "command": command}));
            }
        }
    }
    let has_blocks = known.document.text.contains("generation %}") || known.document.text.contains("generation -%}");
    if is_wanted(only, "refactor") && !known.texts.is_empty() {
        let data = |what: &str| json!({"uri": uri, "version": known.document.version, "what": what});
        if !has_blocks {
            found.push(json!({"title": "Add generation blocks", "kind": "refactor", "data": data("generation")}));
        }
        found.push(json!({"title": "Repair what agents send", "kind": "refactor", "data": data("fix")}));
    }
    let safe = safe_edits(findings.iter().flat_map(|finding| &finding.remedies));
    if is_wanted(only, "source.fixAll") && !safe.is_empty() {
        let edit = workspace_edit(server, known, &safe);
        found.push(json!({"title": "Fix everything that is safe", "kind": "source.fixAll", "edit": edit}));
    }
    Ok(Value::Array(found))
}

fn command(at: &Value, title: &str, command: &str, arguments: &Value) -> Value {
    json!({"range": at, "command": {"title": title, "command": command, "arguments": arguments}})
}

/// The lenses of a document.
pub fn lenses(server: &Server, known: &Known, _: &Value) -> Result<Value, Refused> {
    let places = Places::of(&known.document, server.client.unit);
    let first = places.range(&(0..0));
    let uri = server.uri_of(&known.document.path);
    let arguments = json!([uri]);
    let analysis = known.analysis.as_ref().map(|(_, analysis)| analysis);
    let mut found = Vec::new();
    if known.document.kind() == Kind::Fixture {
        for case in analysis.map(|analysis| analysis.cases.as_slice()).unwrap_or_default() {
            let is_case = case.span.start > 0
                && known.document.text.get(case.span.clone()).is_some_and(|line| line.starts_with("=== case"));
            let at = if is_case { places.range(&case.span) } else { first.clone() };
            let arguments: Vec<&str> = [Some(uri.as_str()), case.name.as_deref()].into_iter().flatten().collect();
            let arguments = json!(arguments);
            let differs = case.differs.as_deref().unwrap_or("it was not run");
            let title = if case.passed { "passed".to_owned() } else { format!("failed: {differs}") };
            found.push(command(&at, &title, "backchat.replay", &arguments));
            if !case.passed && case.name.is_some() {
                found.push(command(&at, "Bless", "backchat.bless", &arguments));
            }
            found.push(command(&at, "Replay", "backchat.replay", &arguments));
        }
        return Ok(Value::Array(found));
    }
    let Some(analysis) = analysis else { return Ok(Value::Array(found)) };
    if let Some(response) = &analysis.response {
        found.push(command(&first, &verdict_line(&response.verdict), "backchat.prove", &arguments));
        found.push(command(&first, "Repair", "backchat.repair", &arguments));
    }
    if let Some(facts) = analysis.chat.as_ref().filter(|_| !known.texts.is_empty()) {
        found.push(command(&first, &lens(facts), "backchat.preview", &arguments));
        found.push(command(&first, "Write response template", "backchat.writeResponseTemplate", &arguments));
        found.push(command(&first, "Preview", "backchat.preview", &arguments));
        if server.settings.playground.is_some() && server.client.shows_documents {
            found.push(command(&first, "Playground", "backchat.openPlayground", &arguments));
        }
    }
    Ok(Value::Array(found))
}
