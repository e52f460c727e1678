//! Completion in a chat template: what fits at a place, also in a text with errors.

use std::ops::Range;

use backchat_chat::{BindingKind, PieceKind, TagKind, ValueKind};
use backchat_core::text::{is_word, slice};

use crate::chat_text::ChatText;
use crate::words::{self, BLOCKS, FILTERS, FUNCTIONS, GIVEN, TAGS, TESTS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    Property,
    Function,
    Keyword,
    Variable,
    Value,
}

/// A completion: a bare name, what it is, and the bytes of the document that it replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    pub kind: ItemKind,
    pub detail: String,
    pub documentation: String,
    pub replaces: Range<usize>,
    /// What is inserted, if it is not the label.
    pub inserted: Option<String>,
}

/// The completions at a byte of the document.
pub fn complete(text: &ChatText, byte: usize) -> Vec<Item> {
    let Some(at) = text.to_source(byte) else { return Vec::new() };
    let before = slice(&text.source, ..at);
    let start = before.len() - before.chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    let typed = slice(&text.source, start..at);
    let replaces = text.span(&(start..at));
    let Some(tag) = tag_at(text, at) else { return Vec::new() };
    let inside = slice(&text.source, tag.start.min(start)..start);
    let mut items = at_place(text, inside, at, start);
    items.retain(|item| typed.is_empty() || item.label.starts_with(typed) || matches_loosely(&item.label, typed));
    items.iter_mut().for_each(|item| item.replaces = replaces.clone());
    items
}

fn matches_loosely(label: &str, typed: &str) -> bool {
    label.to_lowercase().starts_with(&typed.to_lowercase())
}

/// The tag around a byte, from behind its mark, as far as it goes.
fn tag_at(text: &ChatText, at: usize) -> Option<Range<usize>> {
    let reading = &text.reading;
    let is_tag = |kind: TagKind| matches!(kind, TagKind::Output | TagKind::Block);
    let tag = reading.tags.iter().rfind(|tag| tag.span.start < at && is_tag(tag.kind))?;
    let closed = reading.pieces.iter().any(|piece| {
        piece.kind == PieceKind::Mark && piece.span.start > tag.span.start && piece.span.end <= at.min(tag.span.end)
    });
    let is_comment =
        reading.tags.iter().any(|other| !is_tag(other.kind) && other.span.start < at && at < other.span.end);
    let in_string = reading.pieces.iter().any(|piece| {
        piece.kind == PieceKind::String
            && piece.span.start < at
            && at < piece.span.end
            && !is_key_string(text, &piece.span)
    });
    let end = if closed || tag.span.end < at { return None } else { tag.span.end };
    (!is_comment && !in_string).then_some(tag.span.start + 2..end)
}

/// Whether a string is the key of a lookup.
fn is_key_string(text: &ChatText, span: &Range<usize>) -> bool {
    slice(&text.source, ..span.start).trim_end().ends_with('[')
}

fn at_place(text: &ChatText, inside: &str, at: usize, start: usize) -> Vec<Item> {
    let bare = inside.trim_start_matches(['-', '+']);
    let is_block = slice(&text.source, ..start)
        .rfind("{%")
        .is_some_and(|tag| slice(&text.source, ..start).rfind("{{").is_none_or(|other| other < tag));
    if is_block && bare.trim().is_empty() {
        return tags(text, at);
    }
    let trimmed = bare.trim_end();
    if let Some(holder) = trimmed.strip_suffix('.').filter(|_| bare.ends_with('.')) {
        return keys(text, holder_of(holder), at);
    }
    for quote in ["['", "[\""] {
        if let Some(holder) = bare.strip_suffix(quote) {
            return keys(text, holder_of(holder), at);
        }
    }
    if trimmed.ends_with('|') {
        return words_as(FILTERS, ItemKind::Function, "filter");
    }
    let mut last = trimmed.rsplit(|c: char| !is_word(c));
    let (one, two) = (last.next().unwrap_or_default(), last.find(|word| !word.is_empty()).unwrap_or_default());
    if one == "is" || (one == "not" && two == "is") {
        return words_as(TESTS, ItemKind::Function, "test");
    }
    names(text, at)
}

/// The expression at the end of a text: a chain of names, lookups and calls.
fn holder_of(text: &str) -> &str {
    let mut depth = 0usize;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth == 0 => break,
            '(' | '[' => depth -= 1,
            _ if depth > 0 || is_word(c) || c == '.' => {}
            _ => break,
        }
        start = at;
    }
    slice(text, start..)
}

fn item(label: &str, kind: ItemKind, detail: &str, documentation: &str) -> Item {
    Item {
        label: label.to_owned(),
        kind,
        detail: detail.to_owned(),
        documentation: documentation.to_owned(),
        replaces: 0..0,
        inserted: None,
    }
}

fn words_as(words: &'static [words::Word], kind: ItemKind, what: &str) -> Vec<Item> {
    words.iter().map(|(name, signature, about)| item(name, kind, what, &format!("`{signature}`: {about}"))).collect()
}

/// The keys of what an expression gives: those of its kind, and those that the template reads from such values.
fn keys(text: &ChatText, holder: &str, at: usize) -> Vec<Item> {
    let reading = &text.reading;
    let kind = reading.kind_of(holder, at);
    if let ValueKind::Namespace(namespace) = kind {
        let fields = reading
            .bindings
            .iter()
            .filter(|binding| binding.kind == BindingKind::Field && binding.of == Some(namespace));
        return fields.map(|field| item(&field.name, ItemKind::Property, "attribute of the namespace", "")).collect();
    }
    let known = words::keys(kind);
    let mut items: Vec<Item> = known.iter().map(|(key, about)| item(key, ItemKind::Property, "key", about)).collect();
    if kind != ValueKind::Loop {
        let typed = |lookup: &&backchat_chat::Lookup| {
            lookup.value == kind && !(lookup.key_span.start <= at && at <= lookup.key_span.end)
        };
        for lookup in reading.lookups.iter().filter(typed) {
            if !items.iter().any(|item| item.label == lookup.key) && !lookup.key.is_empty() {
                items.push(item(&lookup.key, ItemKind::Property, "key that the template reads", ""));
            }
        }
    }
    items
}

/// The tags that may begin here: all that open something, and the ends of the innermost open block.
fn tags(text: &ChatText, at: usize) -> Vec<Item> {
    let reading = &text.reading;
    let mut items: Vec<Item> = Vec::new();
    for (name, signature, about) in TAGS.iter().filter(|(name, ..)| !matches!(*name, "elif" | "else")) {
        items.push(item(name, ItemKind::Keyword, "tag", &format!("`{signature}`: {about}")));
    }
    let open = reading
        .blocks
        .iter()
        .filter(|block| block.span.start < at && block.end.as_ref().map_or(block.span.end, |end| end.start + 1) >= at);
    let open = open.filter(|block| BLOCKS.contains(&block.name)).max_by_key(|block| block.span.start);
    if let Some(block) = open {
        items.push(item(&format!("end{}", block.name), ItemKind::Keyword, "end", "ends the block"));
        if block.name == "if" {
            items.push(item("elif", ItemKind::Keyword, "tag", "another branch"));
        }
        if matches!(block.name, "if" | "for") {
            items.push(item("else", ItemKind::Keyword, "tag", "the last branch"));
        }
    }
    items
}

fn names(text: &ChatText, at: usize) -> Vec<Item> {
    let reading = &text.reading;
    let scope = reading.scope_at(at);
    let mut items: Vec<Item> = Vec::new();
    for binding in reading.visible(scope).into_iter().filter_map(|at| reading.bindings.get(at)) {
        let (kind, detail) = match binding.kind {
            BindingKind::Macro => (ItemKind::Function, "macro"),
            BindingKind::Parameter => (ItemKind::Variable, "parameter"),
            BindingKind::Loop => (ItemKind::Variable, "item of a loop"),
            _ => (ItemKind::Variable, "variable"),
        };
        items.push(item(&binding.name, kind, detail, ""));
    }
    let mut push = |new: Item| {
        if !items.iter().any(|item| item.label == new.label) {
            items.push(new);
        }
    };
    let loops = reading.blocks.iter().any(|block| block.name == "for" && block.span.start < at && at <= block.span.end);
    if loops {
        push(item("loop", ItemKind::Variable, "the innermost loop", ""));
    }
    for (name, signature, about) in FUNCTIONS {
        push(item(name, ItemKind::Function, "function", &format!("`{signature}`: {about}")));
    }
    for (name, about) in GIVEN {
        push(item(name, ItemKind::Variable, "variable of transformers", about));
    }
    for mention in reading.mentions.iter().filter(|mention| mention.binding.is_none() && mention.is_guard) {
        let is_key = reading.lookups.iter().any(|lookup| lookup.key_span == mention.span);
        let is_typed = mention.span.start <= at && at <= mention.span.end;
        if !is_key && !is_typed {
            push(item(&mention.name, ItemKind::Variable, "variable of the template", ""));
        }
    }
    for word in ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none"] {
        push(item(word, ItemKind::Keyword, "keyword", ""));
    }
    items
}
