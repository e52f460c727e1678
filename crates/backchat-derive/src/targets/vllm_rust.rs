//! vLLM's Rust frontend: its own parser, which searches with automata that it builds when it loads a template.

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::engines::parsed;
use super::patterns::patterns;
use super::{CONTENT, Caution, Reader, Reason, Refusal, Role, TOOL_CALLS, field_path};
use backchat_core::json::{Path, Value};
use backchat_parser::template::{ContentSpec, Delimiter, Field, Shape, Template};

/// The memory that its automaton of a delimiter may take.
const MOST_BYTES: usize = 16 << 20;

/// Why it refuses a template.
pub(super) fn check(template: &Template) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = template.fields().iter().flat_map(of_field).collect();
    refusals.extend(
        patterns(template)
            .into_iter()
            .filter_map(|(place, source, role)| Some(refusal(place, Reason::Pattern, check_pattern(&source, role)?))),
    );
    refusals
}

fn refusal(place: Path, reason: Reason, words: impl Into<String>) -> Refusal {
    Refusal { reader: Reader::VllmRust, place, reason, words: words.into() }
}

fn of_field(field: &Field) -> Vec<Refusal> {
    let limits = Reader::VllmRust.limits();
    let name = field.name.as_str();
    let path = field_path(name);
    if limits.fields.is_some_and(|fields| !fields.contains(&name)) {
        let words = format!(
            "Field '{name}': only 'content', 'reasoning_content'/'thinking', and 'tool_calls' fields can be reported"
        );
        return vec![refusal(path, Reason::Field, words)];
    }
    let mut refusals = Vec::new();
    let mut refuse = |key: &str, words: String| refusals.push(refusal(path.key(key), Reason::Construct, words));
    if let Some(words) = field.content.name().and_then(unknown_parser) {
        refuse("content", words);
    } else if name != TOOL_CALLS && !field.content.is_text() {
        refuse("content", text_only(name));
    }
    if name != TOOL_CALLS && field.transform.is_some() {
        refuse("transform", text_only(name));
    }
    if name == TOOL_CALLS && field.join.is_some() {
        refuse("join", format!("Field '{name}': 'join' requires each match to parse to a string"));
    }
    if let Some(placeholder) = unfilled(field) {
        let words = "is neither 'content' nor a named group of open_pattern";
        refuse("transform", format!("Field '{name}': transform placeholder '{{{placeholder}}}' {words}"));
    }
    let argument = bad_argument(&field.content);
    refusals.extend(argument.map(|words| refusal(path.key("content_args"), Reason::Argument, words)));
    refusals
}

/// The first placeholder of a `transform` that neither the body nor the opening fills, which it finds when it loads a
/// template. An element may have any key.
fn unfilled(field: &Field) -> Option<&str> {
    let transform = field.transform.as_ref().filter(|transform| !transform.each)?;
    let opening = field.open.as_ref().map(Delimiter::pattern);
    let is_filled = |name: &str| name == CONTENT || opening.is_some_and(|open| open.names().any(|group| group == name));
    transform
        .shape
        .placeholders()
        .into_iter()
        .map(|placeholder| placeholder.name.as_str())
        .find(|name| !is_filled(name))
}

/// Why it refuses the arguments of a content parser, which it reads when it loads a template.
fn bad_argument(content: &ContentSpec) -> Option<String> {
    if content.is_unusable() {
        return Some("the arguments of the content parser cannot be read".to_owned());
    }
    if content.tags().is_some_and(|args| !args.tag_pattern.names().any(|name| name == "key")) {
        return Some("xml-inline: tag_pattern must have a named group 'key'".to_owned());
    }
    let value_parser = content.value_parser()?;
    value_parser.name().and_then(unknown_parser).or_else(|| bad_argument(value_parser))
}

/// Why it refuses a content parser.
fn unknown_parser(name: &str) -> Option<String> {
    let known = Reader::VllmRust.limits().content_parsers?;
    (!known.contains(&name)).then(|| format!("unknown variant `{name}`"))
}

fn text_only(name: &str) -> String {
    format!("Field '{name}': text and reasoning fields must use the 'text' content parser without a transform")
}

/// Why it refuses a pattern in a role.
pub(super) fn check_pattern(source: &str, role: Role) -> Option<String> {
    let source = if role == Role::Tag { grouped_end(source) } else { source.to_owned() };
    let hir = match parsed(&source) {
        Ok(hir) => hir,
        Err(words) => return Some(format!("not supported by the Rust regex engine: {words}")),
    };
    match role {
        Role::Anchor | Role::Tag => None,
        Role::Delimiter if !has_literal_start(&hir) => {
            Some("must start with a literal prefix for streaming matching".to_owned())
        }
        Role::Delimiter if bytes(&hir) > MOST_BYTES => {
            Some(format!("cannot be matched incrementally: DFA exceeded size limit of {MOST_BYTES}"))
        }
        Role::Delimiter => None,
    }
}

/// A tag pattern in which a look-ahead at its end is a group, as the reader writes it.
fn grouped_end(source: &str) -> String {
    match source.split_once("(?=") {
        Some((head, rest)) if rest.ends_with(')') && !rest.trim_end_matches(')').contains(['(', ')']) => {
            format!("{head}(?P<lookahead>{rest}")
        }
        _ => source.to_owned(),
    }
}

/// Whether every match begins with one of a few texts, which the reader searches for.
fn has_literal_start(hir: &Hir) -> bool {
    let starts = Extractor::new().kind(ExtractKind::Prefix).extract(hir);
    starts.literals().is_some_and(|literals| {
        let is_text = |bytes: &[u8]| bytes.utf8_chunks().next().is_some_and(|chunk| !chunk.valid().is_empty());
        !literals.is_empty() && literals.iter().all(|literal| is_text(literal.as_bytes()))
    })
}

/// An estimate of the memory of its automaton, from automata that it built: counted repeats take the most.
fn bytes(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() * 256,
        HirKind::Class(Class::Bytes(_)) => 256,
        HirKind::Class(Class::Unicode(class)) if class.is_ascii() => 256,
        HirKind::Class(Class::Unicode(class)) => 2048 + 200 * class.ranges().len(),
        HirKind::Repetition(repeat) => {
            let copies = repeat.max.unwrap_or(repeat.min).max(1) as usize;
            bytes(&repeat.sub).saturating_mul(copies)
        }
        HirKind::Capture(group) => bytes(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(bytes).fold(0, usize::saturating_add),
    }
}

/// Problems with a template that it loads.
pub(super) fn cautions(template: &Template) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let mut add = |place, effect: &str, help| cautions.push(Caution::new(Reader::VllmRust, place, effect, help));
    for (place, source, _) in patterns(template).into_iter().filter(|(_, _, role)| *role == Role::Delimiter) {
        let looks = parsed(&source).map(|hir| hir.properties().look_set());
        if looks.is_ok_and(|looks| looks.contains(Look::Start)) {
            let effect = "it sees no text before a match, so `^` matches anywhere";
            add(place, effect, "begin with a marker that prose does not contain");
        }
    }
    if let Some(field) = template.field(TOOL_CALLS)
        && let Some(transform) = &field.transform
        && !names_a_call(&transform.shape)
    {
        let effect = "a call without a `name` ends the parsing: the rest of the output is content";
        let help = "shape each call as `{\"function\": {\"name\": …, \"arguments\": …}}`";
        add(field_path(TOOL_CALLS).key("transform"), effect, help);
    }
    cautions
}

/// Whether a shape has the name of a call where the reader looks for it.
fn names_a_call(shape: &Shape) -> bool {
    let value = shape.to_value();
    let is_hole = matches!(value, Value::String(_));
    let named = |value: Option<&Value>| value.is_some_and(|value| value.get("name").is_some());
    // Only the text decides the value of a placeholder.
    is_hole
        || value.get("function").is_some_and(|value| matches!(value, Value::String(_)))
        || named(value.get("function"))
        || named(Some(&value))
}
