//! What a place of a chat template does, explained by the conversations that were rendered with it.

use std::ops::Range;

use backchat_chat::{Binding, BindingKind, Block, Lookup, Mention, PieceKind, Role, ValueKind};
use backchat_core::diagnostic::counted;
use backchat_core::json::Value;
use backchat_core::text::{Lines, slice};
use backchat_derive::derive::{Mark, Shown};

use crate::chat_facts::ChatFacts;
use crate::chat_text::ChatText;
use crate::markdown::{bounded, code};
use crate::response;
use crate::words::{self, FILTERS, FUNCTIONS, GIVEN, TAGS, TESTS};

/// A text in Markdown, and the bytes of the document that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    pub markdown: String,
    pub span: Range<usize>,
}

/// What a hover knows besides the text.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub facts: Option<&'a ChatFacts>,
    /// The text of the response template in the folder.
    pub response: Option<&'a str>,
}

/// The hover at a byte of the document.
pub fn hover(text: &ChatText, byte: usize, known: Known<'_>) -> Option<Hover> {
    let at = text.to_source(byte)?;
    let piece = text
        .reading
        .pieces
        .iter()
        .rfind(|piece| piece.span.start <= at && at < piece.span.end.max(piece.span.start + 1))?;
    let span = piece.span.clone();
    let word = slice(&text.source, span.clone());
    let about = |words: &'static [words::Word], what: &str| {
        let found = words::find(words, word);
        found.map(|(name, signature, about)| format!("{} — {what}\n\n{}: {about}", code(name), code(signature)))
    };
    let markdown = match piece.kind {
        PieceKind::Text => literal(text, &line_of(text, &span, at), known),
        PieceKind::String => key_at(text, at, known).or_else(|| literal(text, &span, known)),
        PieceKind::Property => property(text, &span, known),
        PieceKind::Filter => about(FILTERS, "filter"),
        PieceKind::Test => about(TESTS, "test"),
        PieceKind::Keyword => branch(text, &span, known).or_else(|| about(TAGS, "tag")),
        PieceKind::Name | PieceKind::Function | PieceKind::Argument => name(text, &span, known),
        _ => None,
    }?;
    Some(Hover { markdown: bounded(markdown), span: text.span(&span) })
}

/// Whether the hover at a byte of the document says more once the template is rendered.
pub fn needs_renders(text: &ChatText, byte: usize) -> bool {
    let Some(at) = text.to_source(byte) else { return false };
    let piece = text.reading.pieces.iter().rfind(|piece| piece.span.start <= at && at < piece.span.end);
    match piece.map(|piece| piece.kind) {
        Some(PieceKind::Text) => piece.is_some_and(|piece| !slice(&text.source, piece.span.clone()).trim().is_empty()),
        Some(PieceKind::String | PieceKind::Property | PieceKind::Name | PieceKind::Keyword) => true,
        _ => false,
    }
}

/// The part of a text between tags that is on the line of a byte: each line has an origin of its own.
fn line_of(text: &ChatText, span: &Range<usize>, at: usize) -> Range<usize> {
    let start = slice(&text.source, span.start..at).rfind('\n').map_or(span.start, |found| span.start + found + 1);
    let end = slice(&text.source, at..span.end).find('\n').map_or(span.end, |found| at + found + 1);
    start..end
}

/// What a mark is, in words.
pub fn role(mark: &Mark) -> String {
    let field = |name: &String| match name.as_str() {
        "reasoning" | "thinking" | "reasoning_content" => format!("{} (the thinking, or reasoning)", code(name)),
        _ => code(name),
    };
    match mark {
        Mark::Start => "starts the assistant's turn".to_owned(),
        Mark::Open(name) => format!("opens {}", field(name)),
        Mark::Close(name) => format!("closes {}", field(name)),
        Mark::Body(name) => format!("is part of {}", field(name)),
        Mark::End => "ends the turn".to_owned(),
    }
}

/// The marks of the places in a span, the most telling first.
pub fn marks_of(facts: &ChatFacts, span: &Range<usize>) -> Vec<(Mark, usize)> {
    let mut found: Vec<(Mark, usize)> = Vec::new();
    for printed in facts.printed_in(span) {
        for (mark, count) in &printed.marks {
            match found.iter_mut().find(|(known, _)| known == mark) {
                Some((_, sum)) => *sum = (*sum).max(*count),
                None => found.push((mark.clone(), *count)),
            }
        }
    }
    let rank = |mark: &Mark| match mark {
        Mark::Open(_) => 0,
        Mark::Close(_) => 2,
        Mark::End => 1,
        Mark::Start => 3,
        Mark::Body(_) => 4,
    };
    found.sort_by_key(|(mark, _)| rank(mark));
    if found.len() > 1 && !matches!(found.first(), Some((Mark::Body(_), _))) {
        found.retain(|(mark, _)| !matches!(mark, Mark::Body(_)));
    }
    found
}

fn literal(text: &ChatText, span: &Range<usize>, known: Known<'_>) -> Option<String> {
    let shown = slice(&text.source, span.clone());
    if shown.trim().is_empty() {
        return None;
    }
    let inner = shown.trim_matches(['\'', '"']);
    let mut lines = vec![code(inner)];
    if let Some(facts) = known.facts
        && let Some(earlier) = facts.earlier_span(&text.source, span)
    {
        lines.extend(printing(facts, &earlier));
    }
    if let Some(response) = known.response {
        let places = response::delimiters_with(response, inner.trim());
        let numbers: Vec<String> = places
            .iter()
            .map(|(place, path)| format!("line {} ({})", Lines::of(response).line(place.start) + 1, code(path)))
            .collect();
        if !numbers.is_empty() {
            lines.push(format!("in the response template: {}", numbers.join(", ")));
        }
    }
    Some(lines.join("\n\n"))
}

/// What a literal is to the draft, and how many conversations printed it.
fn printing(facts: &ChatFacts, earlier: &Range<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let marks = marks_of(facts, earlier);
    let words: Vec<String> = marks.iter().map(|(mark, _)| role(mark)).collect();
    if !words.is_empty() {
        lines.push(words.join("; "));
    }
    let by: Vec<usize> = facts.printed_in(earlier).into_iter().flat_map(|printed| printed.by.iter().copied()).collect();
    let by = backchat_core::distinct(by);
    lines.push(match by.len() {
        0 => "printed by no conversation of the proof".to_owned(),
        _ => format!(
            "printed by {} of {} of the proof",
            facts.without_prompts(&by),
            counted(facts.count(), "conversation")
        ),
    });
    lines
}

/// The key of a lookup that is written as a string.
fn key_at(text: &ChatText, at: usize, known: Known<'_>) -> Option<String> {
    let holds = |lookup: &&Lookup| lookup.key_span.start <= at + 1 && at <= lookup.key_span.end;
    let lookup = text.reading.lookups.iter().find(holds)?;
    Some(key(text, lookup, known))
}

fn property(text: &ChatText, span: &Range<usize>, known: Known<'_>) -> Option<String> {
    let lookup = text.reading.lookups.iter().find(|lookup| lookup.key_span == *span);
    if let Some(lookup) = lookup.filter(|lookup| !matches!(lookup.value, ValueKind::Namespace(_))) {
        return Some(key(text, lookup, known));
    }
    if let Some(found) = mention(text, span).and_then(|mention| local(text, mention, known)) {
        return Some(found);
    }
    let word = slice(&text.source, span.clone());
    Some(format!("{} — a method or key", code(word)))
}

fn mention<'t>(text: &'t ChatText, span: &Range<usize>) -> Option<&'t Mention> {
    text.reading.mentions.iter().find(|mention| mention.span == *span)
}

/// The lines of the document of some bytes of the source, each once.
fn lines_of(text: &ChatText, places: impl Iterator<Item = usize>) -> String {
    let lines = Lines::of(&text.source);
    let numbers = backchat_core::distinct(places.map(|at| lines.line(at) + 1));
    let shown: Vec<String> = numbers.iter().take(8).map(usize::to_string).collect();
    let more = if numbers.len() > 8 { ", …" } else { "" };
    format!("{} {}{more}", if numbers.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

fn key(text: &ChatText, lookup: &Lookup, known: Known<'_>) -> String {
    let about = words::keys(lookup.value).iter().find(|(name, _)| *name == lookup.key).map(|(_, about)| *about);
    let what = match lookup.value.keys() {
        Some((of, _)) if lookup.value == ValueKind::Loop => format!("attribute of {of}"),
        Some((of, _)) => format!("key of {of}"),
        None => "key".to_owned(),
    };
    let mut lines =
        vec![format!("{} — {what}{}", code(&lookup.key), about.map(|about| format!(": {about}")).unwrap_or_default())];
    let same = text.reading.lookups.iter().filter(|other| other.key == lookup.key && other.value == lookup.value);
    lines.push(format!("read in {}", lines_of(text, same.map(|other| other.span.start))));
    if let Some(facts) = known.facts.filter(|_| lookup.value != ValueKind::Loop) {
        lines.extend(destinations(facts, &lookup.key, lookup.value));
        let dropped = facts.dropped.iter().filter(|(key, _)| *key == lookup.key && lookup.value == ValueKind::Message);
        lines.extend(dropped.map(|(_, words)| words.clone()));
    }
    lines.join("\n\n")
}

/// The texts that messages have under a key.
fn texts_under<'v>(context: &'v Value, key: &str, kind: ValueKind) -> Vec<&'v str> {
    let messages = context.as_list().unwrap_or_default();
    let direct = messages.iter().filter_map(|message| message.get(key)).filter_map(Value::as_str);
    let calls = messages.iter().filter_map(|message| message.get("tool_calls")?.as_list()).flatten();
    let of_call =
        calls.filter_map(|call| call.get(key).or_else(|| call.get("function")?.get(key))).filter_map(Value::as_str);
    let found: Vec<&str> = if kind == ValueKind::Message { direct.collect() } else { of_call.collect() };
    found.into_iter().filter(|text| text.trim().len() > 1).collect()
}

/// Where the texts under a key reach the output, in words.
fn destinations(facts: &ChatFacts, key: &str, kind: ValueKind) -> Vec<String> {
    let template = facts.draft.as_ref().and_then(|draft| backchat_parser::template::Template::from_value(draft).ok());
    let Some(template) = template.map(|loaded| loaded.template) else { return Vec::new() };
    let mut reached: Vec<(String, usize)> = Vec::new();
    let (mut printed, mut given) = (0, 0);
    for shown in facts.conversations.iter().filter(|shown| !shown.is_prompt()) {
        let Some(messages) = shown.context.get("messages") else { continue };
        let texts = texts_under(messages, key, kind);
        given += usize::from(!texts.is_empty());
        let places: Vec<usize> = texts.iter().filter_map(|text| shown.text.find(text.trim())).collect();
        printed += usize::from(!places.is_empty());
        for words in destinations_in(shown, &shown.marks(&template), &texts) {
            match reached.iter_mut().find(|(known, _)| *known == words) {
                Some((_, count)) => *count += 1,
                None => reached.push((words, 1)),
            }
        }
    }
    reached.sort_by_key(|(_, count)| usize::MAX - count);
    let mut lines: Vec<String> = reached
        .into_iter()
        .take(3)
        .map(|(words, count)| format!("reaches the output as {words} ({})", counted(count, "conversation")))
        .collect();
    if given > 0 {
        lines.push(format!("printed in {printed} of the {} that have it", counted(given, "conversation")));
    }
    lines
}

/// The fields in which texts are, with the delimiters around them.
fn destinations_in(shown: &Shown, marks: &[(Range<usize>, Mark)], texts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, (span, mark)) in marks.iter().enumerate() {
        let Mark::Body(field) = mark else { continue };
        let body = slice(&shown.text, span.clone());
        if !texts.iter().any(|text| body.contains(text.trim())) {
            continue;
        }
        let side = |mark: Option<&(Range<usize>, Mark)>, wanted: &Mark| {
            mark.filter(|(_, mark)| mark == wanted).map(|(span, _)| code(slice(&shown.text, span.clone()).trim()))
        };
        let opens = at.checked_sub(1).and_then(|before| marks.get(before));
        let open = side(opens, &Mark::Open(field.clone()));
        let close = side(marks.get(at + 1), &Mark::Close(field.clone()));
        let what = match field.as_str() {
            "thinking" | "reasoning_content" | "reasoning" => "reasoning".to_owned(),
            "tool_calls" => "calls".to_owned(),
            other => other.to_owned(),
        };
        let between = match (open, close) {
            (Some(open), Some(close)) => format!("{what}, between {open} and {close}"),
            (Some(open), None) => format!("{what}, after {open}"),
            (None, Some(close)) => format!("{what}, before {close}"),
            (None, None) => what,
        };
        backchat_core::push_new(&mut found, between);
    }
    found
}

fn name(text: &ChatText, span: &Range<usize>, known: Known<'_>) -> Option<String> {
    let word = slice(&text.source, span.clone());
    let mention = mention(text, span);
    let switch = || {
        let (_, words) = known.facts?.switches.iter().find(|(name, _)| name == word)?;
        Some(format!("{} — variable of the template\n\n{words}", code(word)))
    };
    let bound = mention.and_then(|mention| mention.binding).and_then(|at| text.reading.bindings.get(at));
    if bound.is_none_or(|binding| binding.may_be_given)
        && let Some(found) = switch()
    {
        return Some(found);
    }
    if let Some(found) = mention.and_then(|mention| local(text, mention, known)) {
        return Some(found);
    }
    if let Some((name, signature, about)) = words::find(FUNCTIONS, word) {
        return Some(format!("{} — global function\n\n{}: {about}", code(name), code(signature)));
    }
    if let Some((name, about)) = GIVEN.iter().find(|(name, _)| *name == word) {
        return Some(format!("{} — variable of transformers\n\n{about}", code(name)));
    }
    if word == "loop" {
        return Some("`loop` — the innermost loop".to_owned());
    }
    let reads = text.reading.mentions.iter().filter(|other| other.name == word && other.binding.is_none());
    let lines = lines_of(text, reads.map(|other| other.span.start));
    Some(format!("{} — variable of the template: nothing in it sets this name\n\nread in {lines}", code(word)))
}

/// A name that the template binds.
fn local(text: &ChatText, mention: &Mention, known: Known<'_>) -> Option<String> {
    let reading = &text.reading;
    let at = mention.binding?;
    let binding = reading.bindings.get(at)?;
    let what = match binding.kind {
        BindingKind::Macro => "macro",
        BindingKind::Parameter => "parameter",
        BindingKind::Loop => "item of a loop",
        BindingKind::Field => "attribute of a namespace",
        BindingKind::Variable => "variable",
    };
    let mut shown = code(&binding.name);
    if binding.kind == BindingKind::Macro {
        let parameters =
            reading.bindings.iter().filter(|other| other.kind == BindingKind::Parameter && other.of == Some(at));
        let names: Vec<&str> = parameters.map(|parameter| parameter.name.as_str()).collect();
        shown = code(&format!("{}({})", binding.name, names.join(", ")));
    }
    let bound = reading.mentions.iter().filter(|other| other.binding == Some(at) && other.role == Role::Bound);
    let mut lines = vec![
        format!("{shown} — {what}"),
        format!("set in {}", lines_of(text, bound.clone().map(|other| other.span.start))),
    ];
    if binding.may_be_given {
        lines.push("it may also be given from outside".to_owned());
    }
    if let Some(facts) = known.facts {
        let values = values_of(text, facts, binding, bound.map(|other| other.span.start));
        if !values.is_empty() {
            lines.push(format!(
                "values in the proof: {}",
                values.iter().map(|value| code(value)).collect::<Vec<_>>().join(", ")
            ));
        }
    }
    Some(lines.join("\n\n"))
}

/// Some values that a name had.
fn values_of(text: &ChatText, facts: &ChatFacts, binding: &Binding, bound: impl Iterator<Item = usize>) -> Vec<String> {
    let reading = &text.reading;
    let mut found = Vec::new();
    for at in bound {
        let span = match binding.kind {
            BindingKind::Loop => {
                let blocks = reading.blocks.iter().filter(|block| block.name == "for" && block.span.contains(&at));
                blocks.max_by_key(|block| block.span.start).and_then(|block| block.over.clone())
            }
            _ => reading.tags.iter().find(|tag| tag.span.contains(&at)).map(|tag| tag.span.clone()),
        };
        let earlier = span.and_then(|span| facts.earlier_span(&text.source, &span));
        for value in earlier.map(|span| facts.values(&span)).unwrap_or_default() {
            if found.len() < 3 {
                backchat_core::push_new(&mut found, value);
            }
        }
    }
    found
}

/// The conversations that take the branch of a tag.
fn branch(text: &ChatText, span: &Range<usize>, known: Known<'_>) -> Option<String> {
    let facts = known.facts?;
    let blocks = text.reading.blocks.iter();
    let (block, number) =
        blocks.filter_map(|block| Some((block, block.parts.iter().position(|part| part.name == *span)?))).next()?;
    let takers = takers(text, facts, block, number)?;
    let word = slice(&text.source, span.clone());
    let all = facts.count();
    let taken = facts.without_prompts(&takers);
    let verb = if word == "for" { "runs in" } else { "taken by" };
    Some(match (taken, takers.len()) {
        (_, 0) => format!("{} — no conversation of the proof takes this branch", code(word)),
        (0, prompts) => format!(
            "{} — {verb} none of {} of the proof, but by {} for a turn",
            code(word),
            counted(all, "conversation"),
            counted(prompts, "prompt")
        ),
        _ => {
            let named: Vec<String> = takers
                .iter()
                .filter_map(|at| facts.conversations.get(*at))
                .take(2)
                .map(|shown| shown.name.clone())
                .collect();
            format!("{} — {verb} {taken} of {}: {}, …", code(word), counted(all, "conversation"), named.join(", "))
        }
    })
}

/// The conversations that take a branch of a block; `None` if the facts do not know it.
pub fn takers(text: &ChatText, facts: &ChatFacts, block: &Block, number: usize) -> Option<Vec<usize>> {
    match (block.name, &block.over) {
        ("if", _) => {
            let part = block.parts.get(number)?;
            let tag = facts.earlier_span(&text.source, &part.tag)?;
            let first = block.parts.first()?;
            let start = facts.earlier(&text.source, first.tag.start)?;
            let shown = facts.conversations.iter().enumerate();
            let takes = |shown: &Shown| {
                shown
                    .details
                    .taken
                    .iter()
                    .any(|taken| taken.span.start == start && taken.branch == number && taken.span.end >= tag.end)
            };
            Some(shown.filter(|(_, shown)| takes(shown)).map(|(at, _)| at).collect())
        }
        ("for", Some(over)) if number == 0 => Some(facts.runners(&facts.earlier_span(&text.source, over)?)),
        _ => None,
    }
}
