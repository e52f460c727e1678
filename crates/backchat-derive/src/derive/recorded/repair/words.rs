//! Reads marks that are known ones but for a word, such as `<again>…</again>` beside `<call>…</call>`: with the known word in
//! its place, the template reads the sample.

use std::ops::Range;

use super::align::{Alignment, Body, Call};
use super::edits::Edit;
use super::merge::delimiter;
use crate::derive::may_be_reasoning;
use crate::wire::marks::Segmentation;
use backchat_core::json::{Object, Value, entries_mut};
use backchat_core::text::{runs, slice};
use backchat_core::{distinct, push_new};

/// How many words of a sample, and of a template, are exchanged at most.
const MOST_NEW: usize = 3;
const MOST_KNOWN: usize = 16;

/// The templates that also have another word in some of their marks, if they read the sample with the known word in its place,
/// as `reads` tells.
pub(super) fn exchanged(
    known: &Edit,
    text: &str,
    alignment: &Alignment,
    reads: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Edit> {
    let gaps = gaps(text, alignment);
    let own: Vec<&str> = gaps.iter().filter(|(_, is_own)| *is_own).map(|(gap, _)| *gap).collect();
    let patterns = patterns(&known.template);
    let has = |word: &str| patterns.iter().any(|pattern| words(pattern).any(|known| known == word));
    let mut new = distinct(own.iter().flat_map(|gap| words(gap)));
    new.retain(|word| !has(word));
    new.truncate(MOST_NEW);
    let mut old = distinct(patterns.iter().flat_map(|pattern| words(pattern)));
    let is_group =
        |word: &str| patterns.iter().any(|p| [format!("P<{word}>"), format!("P={word}")].iter().any(|g| p.contains(g)));
    old.retain(|word| !is_group(word));
    old.truncate(MOST_KNOWN);
    let mut found = Vec::new();
    for word in new {
        let other = |old: &&&str| {
            let made =
                gaps.iter().map(|(gap, is_own)| if *is_own { replaced(gap, word, old) } else { (*gap).to_owned() });
            reads(&made.collect::<String>())
        };
        if let Some(old) = old.iter().find(other) {
            let marks = own.iter().flat_map(|gap| Segmentation::Words.marks(gap));
            let marks = marks.filter(|mark| words(mark).any(|known| known == word)).map(str::to_owned);
            let marks: Vec<String> = marks.collect();
            // The word may be in the marks of one part alone, or of several.
            let each = fields_of(&known.template).into_iter().map(Some);
            found.extend(each.chain([None]).filter_map(|only| also(known, [old, word], &marks, only)));
        }
    }
    found.into_iter()
}

/// The names of the fields whose marks may be learned. Content that leaves a mark out would leave it out of prose, too.
fn fields_of(template: &Value) -> Vec<String> {
    let fields = template.get("fields").and_then(Value::as_object);
    fields.into_iter().flat_map(Object::keys).filter(|name| *name != "content").map(str::to_owned).collect()
}

/// The template with a word in place of another one, in addition to that, in all its fields or in one alone.
fn also(known: &Edit, [old, new]: [&str; 2], marks: &[String], only: Option<String>) -> Option<Edit> {
    let is_meant = |name: &str| only.as_deref().map_or(name != "content", |only| name == only);
    let mut template = known.template.clone();
    let fields = entries_mut(&mut template).and_then(|entries| entries_mut(entries.get_mut("fields")?))?;
    let mut changed: Vec<String> = Vec::new();
    for (name, field) in fields.iter_mut().filter(|(name, _)| is_meant(name)) {
        let Some(before) = field.as_object().cloned() else { continue };
        let after = with_word(&before, old, new);
        if after != before {
            changed.push(name.to_owned());
            *field = Value::Object(after);
        }
    }
    let part = match changed.iter().all(|name| may_be_reasoning(name)) {
        true => "reasoning is",
        false => "calls are",
    };
    let what = format!("{part} also written with `{new}` in place of `{old}`");
    (!changed.is_empty()).then(|| Edit::new(known, template, what, marks.iter().cloned()))
}

/// A field whose delimiters and tags also have another word.
fn with_word(field: &Object, old: &str, new: &str) -> Object {
    let both = |pattern: &str, guard: &str| {
        let other = replaced(pattern, old, new);
        match guard {
            _ if other == pattern => other,
            "" => format!("{pattern}|{other}"),
            guard => format!("{pattern}|(?:{other}){guard}"),
        }
    };
    // Prose mentions a mark that is learned; an object follows it in a call.
    let is_object = field.get("content").and_then(Value::as_str) == Some("json");
    let guard = if is_object { "(?=\\s*\\{)" } else { "" };
    let mut made = field.clone();
    for (side, guard) in [("open", guard), ("close", "")] {
        let Some(known) = delimiter(field, side) else { continue };
        let also = both(&known, guard);
        if also != known {
            made.retain(|key, _| !key.starts_with(side));
            made.insert(format!("{side}_pattern"), also.into());
        }
    }
    let arguments = made.get_mut("content_args").and_then(entries_mut);
    if let Some(tag) = arguments.and_then(|arguments| arguments.get_mut("tag_pattern"))
        && let Some(pattern) = tag.as_str()
    {
        *tag = both(pattern, "").into();
    }
    made
}

/// The delimiters and tags of a template as patterns.
fn patterns(template: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let fields = template.get("fields").and_then(Value::as_object);
    for field in fields.into_iter().flat_map(Object::values).filter_map(Value::as_object) {
        let tag = field.get("content_args").and_then(|args| args.get("tag_pattern")).and_then(Value::as_str);
        for pattern in
            ["open", "close"].into_iter().filter_map(|side| delimiter(field, side)).chain(tag.map(str::to_owned))
        {
            push_new(&mut found, pattern);
        }
    }
    found
}

/// The words of a text that are longer than a letter.
fn words(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter(|piece| piece.chars().count() > 1 && piece.starts_with(char::is_alphabetic))
}

/// A text in words and what parts them.
fn pieces(text: &str) -> Vec<&str> {
    runs(text, |c| Some(u8::from(c.is_alphanumeric() || c == '_')))
}

/// A text with a word in place of another one.
fn replaced(text: &str, word: &str, other: &str) -> String {
    pieces(text).into_iter().map(|piece| if piece == word { other } else { piece }).collect()
}

/// A text in the parts of its message and the text around them, of which the template writes the latter.
fn gaps<'t>(text: &'t str, alignment: &Alignment) -> Vec<(&'t str, bool)> {
    let parts = alignment.reasoning.iter().chain(&alignment.content).cloned();
    let mut said: Vec<Range<usize>> = parts.chain(alignment.calls.iter().flat_map(values)).collect();
    said.sort_by_key(|range| range.start);
    let mut at = 0;
    let mut found = Vec::new();
    for Range { start, end } in said {
        found.push((slice(text, at..start.max(at)), true));
        found.push((slice(text, start.max(at)..end.max(at)), false));
        at = end.max(at);
    }
    found.push((slice(text, at..), true));
    found
}

/// The values of a call.
fn values(call: &Call) -> Vec<Range<usize>> {
    let mut found = vec![call.name.clone()];
    found.extend(call.id.clone());
    match &call.body {
        Body::Object { .. } => found.push(call.span.clone()),
        Body::Json(arguments) => found.push(arguments.clone()),
        Body::Pairs(pairs) => found.extend(pairs.iter().flat_map(|pair| [pair.key.clone(), pair.value.clone()])),
        Body::Nothing => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::value;

    #[test]
    fn a_field_also_has_another_word_in_its_delimiters_and_tags() {
        for (field, expected) in [
            (
                r#"{"open": "<call>", "close": "</call>", "content": "json"}"#,
                r#"{"content": "json", "open_pattern": "<call>|(?:<again>)(?=\\s*\\{)", "close_pattern": "</call>|</again>"}"#,
            ),
            (
                r#"{"open": "<f>", "content": "xml-inline", "content_args": {"tag_pattern": "<call (?P<key>a)>(?P<value>b)"}}"#,
                r#"{"open": "<f>", "content": "xml-inline", "content_args": {"tag_pattern": "<call (?P<key>a)>(?P<value>b)|<again (?P<key>a)>(?P<value>b)"}}"#,
            ),
            // A part of a word is another word.
            (r#"{"open": "<call_it>"}"#, r#"{"open": "<call_it>"}"#),
        ] {
            let made = with_word(value(field).as_object().unwrap(), "call", "again");
            assert_eq!(Value::Object(made), value(expected), "{field}");
        }
    }

    #[test]
    fn the_text_around_the_parts_of_a_message_is_the_templates_own() {
        let name = 3..4;
        let body = Body::Json(6..8);
        let call = Call { span: 3..8, name, around: None, id: None, body };
        let alignment = Alignment { content: Some(0..2), calls: vec![call], ..Alignment::default() };
        let own: Vec<&str> =
            gaps("ab<f> {}</f>", &alignment).into_iter().filter_map(|(gap, is_own)| is_own.then_some(gap)).collect();
        assert_eq!(own, ["", "<", "> ", "</f>"]);
    }
}
