//! Ways to write a response template within the limits of its readers, the closest first.

use super::super::compile::pieces::{self, Branch, Branches, PatternItem};
use super::super::compile::{any_of, escape, one_or_many};
use super::automata;
use super::looks::{self, Rewrite, Taken};
use crate::targets::{self, CONTENT, Limits, Reader, TOOL_CALLS};
use crate::wire::marks::Segmentation;
use backchat_core::json::{Object, Path, Step, Value, entries_mut};
use backchat_parser::template::Template;

/// A template within limits, and the alternatives it no longer reads.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::derive) struct Fitted {
    pub template: Value,
    /// The dropped alternatives of patterns: the path, and the alternative.
    pub dropped: Vec<(String, String)>,
}

/// How many ways are returned at most.
const MOST: usize = 8;

/// The ways to write a template within limits. A construct without a rewrite stays, and the reader refuses it.
pub(super) fn within(template: &Value, readers: &[Reader], limits: &Limits) -> Vec<Fitted> {
    let mut plain = template.clone();
    if let Some(allowed) = limits.defaults
        && let Some(defaults) = entry(&mut plain, "defaults")
    {
        defaults.retain(|key, _| allowed.contains(&key));
    }
    for (name, field) in fields(&mut plain) {
        if name != TOOL_CALLS && !limits.joins_text {
            field.retain(|key, _| !["join", "repeats"].contains(&key));
        }
        if name != TOOL_CALLS && name != CONTENT && limits.literal_reasoning {
            literal(field, "open");
            literal(field, "close");
        }
    }
    if !limits.open_delims {
        close_delims(&mut plain);
    }
    part_at_close(&mut plain, readers);
    let mut ways = vec![(0, Fitted { template: plain.clone(), dropped: Vec::new() })];
    let loaded = Template::from_value(&plain).ok();
    for (path, source, role) in loaded.iter().flat_map(|loaded| targets::patterns(&loaded.template)) {
        let refusing =
            |source: &str| readers.iter().filter(|reader| reader.check_pattern(source, role).is_some()).count();
        let refused = refusing(&source);
        if refused == 0 {
            continue;
        }
        let closes = matches!(path.split_last(), Some((_, Step::Key(key))) if key == "close_pattern");
        let rewrites = rewritten(&source, closes, limits).into_iter();
        let mut rewrites: Vec<(usize, Rewrite)> = rewrites
            .map(|rewrite| (refusing(&rewrite.pattern), rewrite))
            .filter(|(count, _)| *count < refused)
            .collect();
        // Of those that fewest readers refuse, the closest is first.
        rewrites.sort_by_key(|(count, _)| *count);
        if rewrites.is_empty() {
            continue;
        }
        let path = &path;
        let more = ways.iter().flat_map(|(cost, way)| {
            rewrites.iter().enumerate().map(move |(at, (_, rewrite))| (cost + at, with(way, path, rewrite)))
        });
        ways = more.collect();
        ways.sort_by_key(|(cost, _)| *cost);
        ways.truncate(MOST);
    }
    let mut found: Vec<Fitted> = ways.into_iter().map(|(_, way)| way).collect();
    if limits.calls_need_literal_close
        && let Some(mut way) = found.first().cloned()
    {
        fields(&mut way.template)
            .filter(|(name, _)| *name == TOOL_CALLS)
            .for_each(|(_, field)| literal(field, "close"));
        if !found.contains(&way) {
            found.insert(0, way);
        }
    }
    found
}

/// Leaves out pairs of `string_delims` that end with nothing: the word that opens such a string is then no JSON.
fn close_delims(template: &mut Value) {
    for (_, field) in fields(template) {
        if let Some(Value::List(pairs)) = entry_of(field, "content_args").and_then(|args| args.get_mut("string_delims"))
        {
            pairs.retain(|pair| pair.as_list().and_then(<[Value]>::last).and_then(Value::as_str) != Some(""));
        }
    }
}

/// Lets the close of a call take the separator before the next call, where a reader refuses to look behind for that close.
/// Without the look-behind, an opening would take the separator's text from the end of an answer before the first call.
fn part_at_close(template: &mut Value, readers: &[Reader]) {
    let Ok(loaded) = Template::from_value(template) else { return };
    let patterns = targets::patterns(&loaded.template).into_iter();
    let refused: Vec<String> = patterns
        .filter(|(_, source, role)| readers.iter().any(|reader| reader.check_pattern(source, *role).is_some()))
        .map(|(_, source, _)| source)
        .collect();
    for (_, field) in fields(template).filter(|(name, _)| *name == TOOL_CALLS) {
        let pattern = |key: &str| field.get(key).and_then(Value::as_str).map(str::to_owned);
        let (Some(open), Some(close)) = (pattern("open_pattern"), pattern("close_pattern")) else { continue };
        if !refused.contains(&open) || refused.contains(&close) {
            continue;
        }
        if let Some((separator, own)) = separated(&open) {
            let separator = if close.ends_with("\\s*") { separator.trim_start_matches("\\s*") } else { &separator };
            let close = format!("{close}(?:{separator})?");
            field.insert("open_pattern", own.into());
            field.insert("close_pattern", close.into());
        }
    }
}

/// The separator that an opening takes behind a close, if it takes no other text before its own mark, and that mark.
fn separated(open: &str) -> Option<(String, String)> {
    let Branches(branches) = Branches::read(open)?;
    let [Branch(items)] = branches.as_slice() else { return None };
    let (PatternItem::Group { inside: Branches(before), repeat, .. }, own) = items.split_first()? else { return None };
    let [Branch(before)] = before.as_slice() else { return None };
    let (PatternItem::Look { open: look, .. }, separator) = before.split_first()? else { return None };
    let written = |items: &[PatternItem]| Branches(vec![Branch(items.to_vec())]).to_string();
    let parts = look == "(?<=" && repeat == "?" && !separator.iter().all(PatternItem::is_space);
    parts.then(|| (written(separator), written(own))).filter(|(_, own)| has_mark(own))
}

/// A template that keeps every piece of a text that calls or marks interrupt; `None` if nothing interrupts it.
pub(super) fn joined(template: &Value) -> Option<Value> {
    let mut template = template.clone();
    let parts = fields(&mut template).filter(|(_, field)| field.keys().any(|key| key.starts_with("open"))).count();
    let is_implicit = |(name, field): (&str, &mut Object)| {
        name == CONTENT && !field.keys().any(|key| key.starts_with("open") || key == "join")
    };
    if parts == 0 || !fields(&mut template).any(is_implicit) {
        return None;
    }
    for (name, field) in fields(&mut template).filter(|(name, _)| *name != TOOL_CALLS) {
        // White space next to a mark would become a separate piece. It is bounded: an unbounded run would be held, and
        // scanned again from each of its characters.
        if name != CONTENT {
            spaced(field, "open", "\\s{0,4}", "");
            spaced(field, "close", "", "\\s*");
        }
        field.insert("repeats", true.into());
        field.insert("join", "\n\n".into());
    }
    Some(template)
}

/// Writes literals as a pattern that accepts white space around them.
fn spaced(field: &mut Object, side: &str, before: &str, after: &str) {
    let texts: Vec<String> = match field.get(side) {
        Some(Value::String(text)) => vec![escape(text)],
        Some(Value::List(texts)) => texts.iter().filter_map(Value::as_str).map(escape).collect(),
        _ => return,
    };
    put(field, side, &format!("{side}_pattern"), format!("{before}{}{after}", any_of(texts)).into());
}

/// Writes a pattern that only matches certain texts as a list of literals.
fn literal(field: &mut Object, side: &str) {
    let key = format!("{side}_pattern");
    let texts = field.get(&key).and_then(Value::as_str).and_then(Branches::read).and_then(|pattern| pattern.literals());
    if let Some(texts) = texts {
        put(field, &key, side, one_or_many(texts));
    }
}

/// Replaces a key and its value.
pub(super) fn put(field: &mut Object, old: &str, new: &str, value: Value) {
    let entries = std::mem::take(field);
    for (key, known) in entries {
        if key == old {
            field.insert(new, value.clone());
        } else {
            field.insert(key, known);
        }
    }
}

pub(super) fn entry<'t>(template: &'t mut Value, key: &str) -> Option<&'t mut Object> {
    entry_of(entries_mut(template)?, key)
}

fn entry_of<'t>(entries: &'t mut Object, key: &str) -> Option<&'t mut Object> {
    entries_mut(entries.get_mut(key)?)
}

fn fields(template: &mut Value) -> impl Iterator<Item = (&str, &mut Object)> {
    let fields = entry(template, "fields").into_iter().flat_map(|fields| fields.iter_mut());
    fields.filter_map(|(name, field)| Some((name, entries_mut(field)?)))
}

/// The template with one pattern rewritten. What the close now consumes of a mark is optional in the next field's open.
fn with(way: &Fitted, path: &Path, rewrite: &Rewrite) -> Fitted {
    let mut way = way.clone();
    if let Some(place) = at(&mut way.template, path) {
        *place = rewrite.pattern.as_str().into();
    }
    let dropped = rewrite.dropped.iter().map(|dropped| (path.to_string(), dropped.clone()));
    way.dropped.extend(dropped);
    if let Some(Taken { part, left }) = &rewrite.taken {
        for (_, field) in fields(&mut way.template) {
            if let Some(Value::String(open)) = field.get_mut("open_pattern")
                && let Some(rest) = open.strip_prefix(&format!("{part}{left}"))
                && (left.is_empty() && !rest.is_empty() || has_mark(rest))
            {
                *open = format!("(?:{part})?{left}{rest}");
            }
        }
    }
    way
}

/// The ways to write a pattern, the closest first: as it is but for what automata need, then without looking around.
fn rewritten(source: &str, closes: bool, limits: &Limits) -> Vec<Rewrite> {
    let mut found = Vec::new();
    for rewrite in [Rewrite::unchanged(source)].into_iter().chain(looks::rewrites(source, closes)) {
        let ways = if limits.literal_starts { automata::rewrites(&rewrite.pattern, closes) } else { Vec::new() };
        let ways: Vec<Rewrite> = ways.into_iter().map(|pattern| rewrite.written(pattern)).collect();
        found.push(rewrite);
        found.extend(ways);
    }
    found
}

/// Whether a pattern contains the text of a mark, so that what is left of another one before it suffices.
fn has_mark(pattern: &str) -> bool {
    let Some(Branches(branches)) = Branches::read(pattern) else { return false };
    let is_marked = |branch: &Branch| {
        let texts = branch.0.split(|item| pieces::literal(item).is_none());
        let mut texts = texts.map(|items| items.iter().filter_map(pieces::literal).collect::<String>());
        texts.any(|text| Segmentation::Words.is_distinctive(&text))
    };
    branches.iter().all(is_marked)
}

fn at<'t>(value: &'t mut Value, path: &Path) -> Option<&'t mut Value> {
    path.steps().into_iter().try_fold(value, |value, step| match step {
        Step::Key(key) => entries_mut(value)?.get_mut(key),
        Step::Index(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::value;

    /// The field `x` of a template, as it is written within limits.
    fn field(field: &str, limits: &Limits) -> Value {
        let template = value(&format!(r#"{{"start_anchor": "<b>", "fields": {{"x": {field}, "content": {{}}}}}}"#));
        let ways = within(&template, &[], limits);
        assert_eq!(ways.len(), 1);
        ways[0].template.get("fields").unwrap().get("x").unwrap().clone()
    }

    #[test]
    fn without_limits_nothing_changes() {
        let template = value(r#"{"defaults": {"role": "assistant", "name": "a"}, "fields": {"x": {"repeats": true}}}"#);
        assert_eq!(within(&template, &[], &Limits::NONE), [Fitted { template, dropped: Vec::new() }]);
    }

    #[test]
    fn keys_that_a_reader_does_not_know_are_removed() {
        let template = value(r#"{"defaults": {"role": "assistant", "name": "a"}, "fields": {}}"#);
        let limits = Limits { defaults: Some(&["role"]), ..Limits::NONE };
        let defaults = within(&template, &[], &limits)[0].template.get("defaults").unwrap().to_string();
        assert_eq!(defaults, r#"{"role": "assistant"}"#);
        let limits = Limits { joins_text: false, ..Limits::NONE };
        assert_eq!(field(r#"{"open": "<x>", "repeats": true, "join": "\n"}"#, &limits), value(r#"{"open": "<x>"}"#));
    }

    #[test]
    fn a_string_that_nothing_ends_is_left_out_for_a_reader_that_refuses_it() {
        let written = r#"{"content_args": {"string_delims": [["<q>", "</q>"], ["None", ""]]}}"#;
        let limits = Limits { open_delims: false, ..Limits::NONE };
        assert_eq!(field(written, &limits), value(r#"{"content_args": {"string_delims": [["<q>", "</q>"]]}}"#));
        assert_eq!(field(written, &Limits::NONE), value(written));
    }

    #[test]
    fn a_separator_behind_a_close_is_taken_by_the_close() {
        for (open, expected) in [
            (r"(?:(?<=</f>\s*),\s*)?<f>", Some((r",\s*", "<f>"))),
            (r"(?:(?<=</f>)[ \n]*;\s*)?<f>(?P<name>\w+)", Some((r"[ \n]*;\s*", r"<f>(?P<name>\w+)"))),
            // A section comes before the first call, nothing but space parts two calls, or the separator opens a call.
            (r"(?:<s>|(?<=</f>),\s*)<f>", None),
            (r"(?:(?<=</f>)\s*)?<f>", None),
            (r"(?:(?<=</f>),\s*)?(?P<name>\w+)", None),
        ] {
            let found = separated(open);
            let found = found.as_ref().map(|(separator, own)| (separator.as_str(), own.as_str()));
            assert_eq!(found, expected, "{open}");
        }
    }

    #[test]
    fn a_pattern_of_fixed_texts_is_written_as_literals() {
        let limits = Limits { literal_reasoning: true, ..Limits::NONE };
        for (written, fitted) in [
            (r#"{"open_pattern": "<x>\\s*"}"#, r#"{"open": "<x>"}"#),
            (r#"{"close_pattern": "(?:</x>|<\\|end\\|>)\\s*"}"#, r#"{"close": ["</x>", "<|end|>"]}"#),
            // No list of literals expresses this: the reader must refuse it.
            (r#"{"open_pattern": "<x\\d>"}"#, r#"{"open_pattern": "<x\\d>"}"#),
        ] {
            assert_eq!(field(written, &limits), value(fitted), "{written}");
        }
    }

    #[test]
    fn look_arounds_are_removed_for_a_reader_without_them() {
        let template =
            value(r#"{"start_anchor": "<b>", "fields": {"content": {"close_pattern": "(?:<end>|(?=<call>))"}}}"#);
        let ways = within(&template, &[Reader::Smg], &Limits::NONE);
        let close = |way: &Fitted| {
            way.template.get("fields").unwrap().get("content").unwrap().get("close_pattern").unwrap().to_string()
        };
        assert!(!ways.is_empty() && ways.len() <= MOST);
        assert!(ways.iter().all(|way| !close(way).contains("(?=")), "{ways:?}");
        // The closest way drops the alternative and reports it.
        assert_eq!(ways[0].dropped, [("fields.content.close_pattern".to_owned(), "(?=<call>)".to_owned())]);
    }

    #[test]
    fn pieces_of_a_text_are_joined_if_something_separates_them() {
        let template = |open: &str| {
            value(&format!(
                r#"{{"fields": {{"thinking": {{{open}}}, "tool_calls": {{"open": "<c>"}}, "content": {{}}}}}}"#
            ))
        };
        let made = joined(&template(r#""open": "<t>", "close": "</t>""#)).unwrap();
        let wanted = r#"{"fields": {
            "thinking": {"open_pattern": "\\s{0,4}<t>", "close_pattern": "</t>\\s*", "repeats": true, "join": "\n\n"},
            "tool_calls": {"open": "<c>"}, "content": {"repeats": true, "join": "\n\n"}}}"#;
        assert_eq!(made, value(wanted));
        assert_eq!(joined(&value(r#"{"fields": {"content": {}}}"#)), None, "nothing separates it");
        assert_eq!(joined(&value(r#"{"fields": {"content": {"open": "<s>"}, "x": {"open": "<x>"}}}"#)), None);
    }
}
