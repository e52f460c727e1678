//! Symbols, folds, semantic tokens and selection ranges of a chat template.

use std::ops::Range;

use backchat_chat::{BindingKind, PieceKind, TagKind, ValueKind};
use backchat_core::text::slice;

use crate::chat_text::ChatText;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    Macro,
    Variable,
    Loop,
    Block,
}

/// A symbol of the outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub span: Range<usize>,
    pub selection: Range<usize>,
}

/// The macros, the variables of the whole template, the loops over messages, and the blocks.
pub fn symbols(text: &ChatText) -> Vec<Symbol> {
    let reading = &text.reading;
    let around = |at: usize| {
        let blocks = reading.blocks.iter().filter(|block| block.span.contains(&at));
        blocks.min_by_key(|block| block.span.len()).map(|block| block.span.clone())
    };
    let tag = |at: usize| reading.tags.iter().find(|tag| tag.span.contains(&at)).map(|tag| tag.span.clone());
    let mut found = Vec::new();
    for (at, binding) in reading.bindings.iter().enumerate() {
        let selection = text.span(&binding.declared);
        let (kind, span, detail) = match binding.kind {
            BindingKind::Macro => {
                let parameters = reading
                    .bindings
                    .iter()
                    .filter(|other| other.kind == BindingKind::Parameter && other.of == Some(at));
                let names: Vec<&str> = parameters.map(|parameter| parameter.name.as_str()).collect();
                (SymbolKind::Macro, around(binding.declared.start), format!("({})", names.join(", ")))
            }
            BindingKind::Variable if binding.scope == 0 => {
                (SymbolKind::Variable, tag(binding.declared.start), String::new())
            }
            _ => continue,
        };
        let span = text.span(&span.unwrap_or(binding.declared.clone()));
        found.push(Symbol { name: binding.name.clone(), detail, kind, span, selection });
    }
    for block in &reading.blocks {
        let Some(head) = block.parts.first() else { continue };
        let over = block.over.clone().map(|over| slice(&text.source, over));
        let (kind, name) = match (block.name, over) {
            ("for", Some(over)) if reading.kind_of(over, block.span.start) == ValueKind::Messages => {
                let inner = slice(&text.source, head.tag.clone()).trim_matches(['{', '%', '}', '-', '+', ' ']);
                (SymbolKind::Loop, inner.to_owned())
            }
            ("block", _) => {
                let inner = slice(&text.source, head.name.end..head.tag.end).trim_matches(['%', '}', '-', '+', ' ']);
                (SymbolKind::Block, inner.to_owned())
            }
            _ => continue,
        };
        let (span, selection) = (text.span(&block.span), text.span(&head.tag));
        found.push(Symbol { name, detail: String::new(), kind, span, selection });
    }
    found.sort_by_key(|symbol| symbol.span.start);
    found
}

/// The bytes of each block and comment, and whether it is a comment.
pub fn folds(text: &ChatText) -> Vec<(Range<usize>, bool)> {
    text.reading.blocks.iter().map(|block| (text.span(&block.span), block.name == "comment")).collect()
}

/// The types of semantic tokens, in the order of the legend.
pub const TOKEN_TYPES: &[&str] =
    &["keyword", "variable", "parameter", "property", "function", "macro", "string", "number", "comment", "operator"];

/// The tokens, each with the number of its type.
pub fn tokens(text: &ChatText) -> Vec<(Range<usize>, usize)> {
    let reading = &text.reading;
    let kind_of = |span: &Range<usize>, plain: usize| {
        let at = reading.mentions.binary_search_by_key(&span.start, |mention| mention.span.start).ok();
        let binding = at.and_then(|at| reading.mentions.get(at)?.binding).and_then(|at| reading.bindings.get(at));
        match binding.map(|binding| binding.kind) {
            Some(BindingKind::Macro) => 5,
            Some(BindingKind::Parameter) => 2,
            Some(BindingKind::Field) => 3,
            _ => plain,
        }
    };
    let token = |kind: PieceKind, span: &Range<usize>| {
        Some(match kind {
            PieceKind::Keyword => 0,
            PieceKind::Name => kind_of(span, 1),
            PieceKind::Argument => 2,
            PieceKind::Property => 3,
            PieceKind::Function => kind_of(span, 4),
            PieceKind::Filter | PieceKind::Test => 4,
            PieceKind::String => 6,
            PieceKind::Number => 7,
            PieceKind::Comment => 8,
            PieceKind::Operator => 9,
            PieceKind::Text | PieceKind::Mark | PieceKind::Raw => return None,
        })
    };
    let pieces = reading.pieces.iter();
    pieces.filter_map(|piece| Some((text.span(&piece.span), token(piece.kind, &piece.span)?))).collect()
}

/// The ranges around a byte of the document, the smallest first: a piece, its tag, and the blocks.
pub fn selections(text: &ChatText, byte: usize) -> Vec<Range<usize>> {
    let Some(at) = text.to_source(byte) else { return Vec::new() };
    let reading = &text.reading;
    let holds = |span: &Range<usize>| span.start <= at && at <= span.end;
    let pieces = reading.pieces.iter().map(|piece| &piece.span).filter(|span| holds(span));
    let lookups = reading.lookups.iter().map(|lookup| &lookup.span).filter(|span| holds(span));
    let tags =
        reading.tags.iter().filter(|tag| tag.kind != TagKind::Raw).map(|tag| &tag.span).filter(|span| holds(span));
    let blocks = reading.blocks.iter().map(|block| &block.span).filter(|span| holds(span));
    let mut found: Vec<Range<usize>> = pieces.chain(lookups).chain(tags).chain(blocks).cloned().collect();
    found.push(0..text.source.len());
    found.sort_by_key(|span| (span.len(), span.start));
    let mut nested: Vec<Range<usize>> = Vec::new();
    for span in found {
        let fits =
            nested.last().is_none_or(|inner| span.start <= inner.start && inner.end <= span.end && span != *inner);
        if fits {
            nested.push(span);
        }
    }
    nested.iter().map(|span| text.span(span)).collect()
}
