//! Answers to requests about documents, from what is known now.

use serde_json::{Value, json};

use super::super::convert::{Places, to_ours};
use super::actions;
use super::commands::NO_CHAT_TEMPLATE;
use super::links::{self, chat_beside, facts_of, text_at};
use super::{FAILED, INVALID_PARAMS, Known, METHOD_NOT_FOUND, Refused, Server};
use backchat_core::text::slice;
use backchat_editor::chat_completion::{self, Item, ItemKind};
use backchat_editor::chat_hover::{self, Hover};
use backchat_editor::chat_outline::{self, SymbolKind};
use backchat_editor::chat_text::ChatText;
use backchat_editor::preview::preview;
use backchat_editor::response::delimiters;
use backchat_editor::{Kind, ProofMode, chat_hints, chat_names, fixtures, folder, response_completion, response_hover};

type Answer = Result<Value, Refused>;

/// Answers a request.
pub fn answer(server: &Server, method: &str, params: &Value) -> Answer {
    let feature = match method {
        "textDocument/hover" => hover,
        "textDocument/completion" => completion,
        "textDocument/definition" => definition,
        "textDocument/references" => references,
        "textDocument/documentHighlight" => highlights,
        "textDocument/prepareRename" => prepare_rename,
        "textDocument/rename" => rename,
        "textDocument/documentSymbol" => symbols,
        "textDocument/foldingRange" => folds,
        "textDocument/selectionRange" => selections,
        "textDocument/semanticTokens/full" | "textDocument/semanticTokens/range" => tokens,
        "textDocument/inlayHint" => hints,
        "textDocument/codeLens" => actions::lenses,
        "textDocument/codeAction" => actions::actions,
        "textDocument/diagnostic" => pulled,
        "backchat/text" => text,
        "backchat/preview" => previewed,
        "backchat/conversations" => conversations,
        "completionItem/resolve" | "codeLens/resolve" | "inlayHint/resolve" => return Ok(params.clone()),
        _ => return Err((METHOD_NOT_FOUND, format!("there is no request `{method}`"))),
    };
    let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
    let uri = uri.ok_or((INVALID_PARAMS, "the request names no document".to_owned()))?;
    match server.documents.get(uri) {
        Some(known) => feature(server, known, params),
        None if method.starts_with("backchat/") => Err((INVALID_PARAMS, "the document is not open".to_owned())),
        None if method == "textDocument/diagnostic" => Ok(json!({"kind": "full", "items": []})),
        None => Ok(Value::Null),
    }
}

fn places<'t>(server: &Server, known: &'t Known) -> Places<'t> {
    Places::of(&known.document, server.client.unit)
}

fn byte_of(server: &Server, known: &Known, params: &Value) -> usize {
    places(server, known).byte(params.get("position").unwrap_or(&Value::Null))
}

/// Whether a hover or the lenses say more once the document is rendered.
pub fn needs_renders(server: &Server, known: &Known, params: &Value) -> bool {
    if params.get("position").is_none() {
        return known.document.kind() != Kind::Other;
    }
    let byte = byte_of(server, known, params);
    match text_at(known, byte) {
        Some(text) => chat_hover::needs_renders(text, byte),
        None => {
            known.document.kind() == Kind::Json
                && delimiters(&known.document.text).iter().any(|found| found.span.contains(&byte))
        }
    }
}

fn hover(server: &Server, known: &Known, params: &Value) -> Answer {
    let byte = byte_of(server, known, params);
    let found = match (known.document.kind(), text_at(known, byte)) {
        (Kind::Chat | Kind::Json, Some(text)) => {
            let response = folder::responses_beside(&known.document.path).first().and_then(|path| folder::read(path));
            let facts = chat_hover::Known { facts: facts_of(known), response: response.as_deref() };
            chat_hover::hover(text, byte, facts)
        }
        (Kind::Json, None) => {
            let beside = chat_beside(known);
            let analysis = known.analysis.as_ref().map(|(_, analysis)| analysis);
            let facts =
                analysis.and_then(|found| Some((found.chat.as_deref()?, found.response.as_ref()?.printed.as_slice())));
            let chat = beside.as_ref().map(|beside| response_hover::Chat {
                text: &beside.text,
                document: &beside.document,
                facts,
            });
            response_hover::hover(&known.document.text, byte, chat)
        }
        _ => None,
    };
    Ok(found.map_or(Value::Null, |Hover { markdown, span }| {
        json!({"contents": {"kind": "markdown", "value": markdown}, "range": places(server, known).range(&span)})
    }))
}

fn completion(server: &Server, known: &Known, params: &Value) -> Answer {
    let byte = byte_of(server, known, params);
    let items = match (known.document.kind(), text_at(known, byte)) {
        (Kind::Chat | Kind::Json, Some(text)) => chat_completion::complete(text, byte),
        (Kind::Json, None) => {
            let beside = chat_beside(known);
            response_completion::complete(&known.document.text, byte, beside.as_ref().map(|beside| &beside.text))
        }
        (Kind::Fixture, _) => fixtures::complete(&known.document.text, byte),
        _ => Vec::new(),
    };
    let at = places(server, known);
    let item = |(number, item): (usize, &Item)| {
        let kind = match item.kind {
            ItemKind::Property => 10,
            ItemKind::Function => 3,
            ItemKind::Keyword => 14,
            ItemKind::Variable => 6,
            ItemKind::Value => 12,
        };
        let new = item.inserted.as_deref().unwrap_or(&item.label);
        let mut found = json!({
            "label": item.label,
            "kind": kind,
            "sortText": format!("{number:04}"),
            "textEdit": {"range": at.range(&item.replaces), "newText": new},
        });
        if let Some(found) = found.as_object_mut() {
            if !item.detail.is_empty() {
                found.insert("detail".to_owned(), item.detail.clone().into());
            }
            if !item.documentation.is_empty() {
                let about = json!({"kind": "markdown", "value": item.documentation});
                found.insert("documentation".to_owned(), about);
            }
        }
        found
    };
    Ok(json!({"isIncomplete": false, "items": items.iter().enumerate().map(item).collect::<Vec<_>>()}))
}

fn definition(server: &Server, known: &Known, params: &Value) -> Answer {
    Ok(links::definition(server, known, byte_of(server, known, params)))
}

fn references(server: &Server, known: &Known, params: &Value) -> Answer {
    let with_declaration = params.pointer("/context/includeDeclaration").and_then(Value::as_bool).unwrap_or(true);
    Ok(links::references(server, known, byte_of(server, known, params), with_declaration))
}

fn highlights(server: &Server, known: &Known, params: &Value) -> Answer {
    let byte = byte_of(server, known, params);
    let found = text_at(known, byte).map(|text| chat_names::references(text, byte)).unwrap_or_default();
    let at = places(server, known);
    let highlight = |(span, binds): &(std::ops::Range<usize>, bool)| json!({"range": at.range(span), "kind": if *binds { 3 } else { 2 }});
    Ok(found.iter().map(highlight).collect())
}

fn prepare_rename(server: &Server, known: &Known, params: &Value) -> Answer {
    let byte = byte_of(server, known, params);
    let text = text_at(known, byte).ok_or((FAILED, "there is no name here".to_owned()))?;
    let span = chat_names::renamable(text, byte).map_err(|why| (FAILED, why))?;
    Ok(places(server, known).range(&span))
}

fn rename(server: &Server, known: &Known, params: &Value) -> Answer {
    let byte = byte_of(server, known, params);
    let new = params.get("newName").and_then(Value::as_str).unwrap_or_default();
    let text = text_at(known, byte).ok_or((FAILED, "there is no name here".to_owned()))?;
    let spans = chat_names::rename(text, byte, new).map_err(|why| (FAILED, why))?;
    let edits: Vec<_> =
        spans.into_iter().map(|span| backchat_core::diagnostic::Edit { span, text: new.to_owned() }).collect();
    Ok(actions::workspace_edit(server, known, &edits))
}

fn symbols(server: &Server, known: &Known, params: &Value) -> Answer {
    let uri = params.pointer("/textDocument/uri").cloned().unwrap_or_default();
    let at = places(server, known);
    let mut found = Vec::new();
    for symbol in known.texts.iter().flat_map(chat_outline::symbols) {
        let kind = match symbol.kind {
            SymbolKind::Macro => 12,
            SymbolKind::Variable => 13,
            SymbolKind::Loop => 18,
            SymbolKind::Block => 3,
        };
        let range = at.range(&symbol.span);
        found.push(match server.client.has_hierarchy {
            true => json!({"name": symbol.name, "detail": symbol.detail, "kind": kind, "range": range, "selectionRange": at.range(&symbol.selection)}),
            false => json!({"name": symbol.name, "kind": kind, "location": {"uri": uri, "range": range}}),
        });
    }
    Ok(Value::Array(found))
}

fn folds(server: &Server, known: &Known, _: &Value) -> Answer {
    let _ = server;
    let mut spans: Vec<(std::ops::Range<usize>, bool)> = known.texts.iter().flat_map(chat_outline::folds).collect();
    if known.document.kind() == Kind::Fixture {
        spans.extend(fixtures::sections(&known.document.text).into_iter().map(|(_, section)| {
            let length = slice(&known.document.text, section.clone()).trim_end().len();
            (section.start..section.start + length, false)
        }));
    }
    let lines = &known.document.lines;
    let fold = |(span, is_comment): &(std::ops::Range<usize>, bool)| {
        let (first, last) = (lines.line(span.start), lines.line(span.end.saturating_sub(1).max(span.start)));
        let kind = if *is_comment { "comment" } else { "region" };
        (last > first).then(|| json!({"startLine": first, "endLine": last, "kind": kind}))
    };
    Ok(spans.iter().filter_map(fold).collect())
}

fn selections(server: &Server, known: &Known, params: &Value) -> Answer {
    let at = places(server, known);
    let positions = params.get("positions").and_then(Value::as_array).cloned().unwrap_or_default();
    let selection = |position: &Value| {
        let byte = at.byte(position);
        let spans = text_at(known, byte).map(|text| chat_outline::selections(text, byte)).unwrap_or_default();
        let nested = spans.iter().rev().fold(Value::Null, |parent, span| match parent {
            Value::Null => json!({"range": at.range(span)}),
            parent => json!({"range": at.range(span), "parent": parent}),
        });
        if nested.is_null() { json!({"range": at.range(&(byte..byte))}) } else { nested }
    };
    Ok(positions.iter().map(selection).collect())
}

fn tokens(server: &Server, known: &Known, params: &Value) -> Answer {
    let at = places(server, known);
    let within = params.get("range").map(|range| at.span(range));
    let mut data: Vec<usize> = Vec::new();
    let (mut line, mut column) = (0, 0);
    for (span, kind) in known.texts.iter().flat_map(chat_outline::tokens) {
        if within.as_ref().is_some_and(|within| span.end < within.start || span.start > within.end) {
            continue;
        }
        // A token of several lines is one for each.
        let mut start = span.start;
        for piece in slice(&known.document.text, span).split_inclusive('\n') {
            let length = piece.trim_end_matches(['\r', '\n']).len();
            let (from, to) =
                (at.lines.position(at.text, start, at.unit), at.lines.position(at.text, start + length, at.unit));
            if length > 0 && from.line >= line {
                let before = if from.line == line { column } else { 0 };
                data.extend([
                    from.line - line,
                    from.column.saturating_sub(before),
                    to.column.saturating_sub(from.column),
                    kind,
                    0,
                ]);
                (line, column) = (from.line, from.column);
            }
            start += piece.len();
        }
    }
    Ok(json!({"data": data}))
}

fn hints(server: &Server, known: &Known, params: &Value) -> Answer {
    if server.settings.client.proof == ProofMode::Off {
        return Ok(json!([]));
    }
    let at = places(server, known);
    let within = params.get("range").map_or(0..usize::MAX, |range| at.span(range));
    let found = match (ChatText::for_tools(&known.texts), facts_of(known)) {
        (Some(text), Some(facts)) => chat_hints::inlay_hints(text, facts),
        _ => Vec::new(),
    };
    let shown = found.iter().filter(|(byte, _)| within.start <= *byte && *byte <= within.end);
    Ok(shown
        .map(|(byte, label)| json!({"position": at.position(*byte), "label": label, "paddingLeft": true}))
        .collect())
}

fn pulled(server: &Server, known: &Known, _: &Value) -> Answer {
    Ok(json!({"kind": "full", "items": server.diagnostics(known)}))
}

fn text(_: &Server, known: &Known, _: &Value) -> Answer {
    Ok(json!({"version": known.document.version, "text": &*known.document.text}))
}

fn previewed(server: &Server, known: &Known, params: &Value) -> Answer {
    let text = ChatText::for_tools(&known.texts).ok_or_else(|| (FAILED, NO_CHAT_TEMPLATE.to_owned()))?;
    let source = folder::source_of(&known.document, text);
    let context = match params.get("context") {
        Some(context) => to_ours(context).as_object().cloned(),
        None => {
            let name = params.get("conversation").and_then(Value::as_str).unwrap_or_default();
            let facts = facts_of(known).ok_or((FAILED, "nothing is rendered yet: wait for the verdict".to_owned()))?;
            facts.conversations.iter().find(|shown| shown.name == name).map(|shown| shown.context.clone())
        }
    };
    let context = context.ok_or((INVALID_PARAMS, "there is no such conversation".to_owned()))?;
    let at = places(server, known);
    Ok(match preview(text, &source, &context, server.settings.of(&known.document.path)) {
        Ok(pieces) => {
            let piece = |piece: &backchat_editor::preview::Piece| json!({"text": piece.text, "range": at.range(&piece.span), "expression": piece.expression, "role": piece.role, "field": piece.field});
            json!({"pieces": pieces.iter().map(piece).collect::<Vec<_>>()})
        }
        Err(failure) => json!({"pieces": [], "error": {"message": failure.message, "range": at.range(&failure.span)}}),
    })
}

fn conversations(_: &Server, known: &Known, _: &Value) -> Answer {
    let names = facts_of(known).map(|facts| facts.conversations.iter().map(|shown| shown.name.as_str()).collect());
    let names: Vec<&str> = names.unwrap_or_default();
    Ok(json!(backchat_core::distinct(names)))
}
