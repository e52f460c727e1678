//! Tests of parsers of ids: what a marker is, what is text, and that no cut matters.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Event, EventRef, Finished, Options, Parser, Policy, TokenTemplate};
use crate::template::Template;
use crate::tokens::Tokens;
use backchat_core::json::Value;

/// Every character of ASCII that the tests need is a token of itself; markers come from 100 on, bytes from 200 on.
fn tokens() -> Arc<Tokens> {
    let letters = r#"(){}[]<>/|\"':,. =abcdefghijklmnopqrstuvwxyz_0123456789"#;
    let mut vocab: Vec<String> = letters
        .chars()
        .enumerate()
        .map(|(id, c)| format!("{}: {id}", Value::from(c.to_string().replace(' ', "Ġ"))))
        .collect();
    vocab.extend([r#""Ċ": 90"#.to_owned(), r#""<t": 91"#.to_owned()]);
    vocab.extend([(200, 'Ã'), (201, '©'), (202, 'Ń')].map(|(id, c)| format!(r#""{c}": {id}"#)));
    let added = MARKERS
        .iter()
        .enumerate()
        .map(|(n, content)| format!(r#"{{"id": {}, "content": {}}}"#, 100 + n, Value::from(*content)));
    let added = added.collect::<Vec<_>>().join(", ");
    let json = format!(
        r#"{{"decoder": {{"type": "ByteLevel"}}, "model": {{"vocab": {{{}}}}}, "added_tokens": [{added}]}}"#,
        vocab.join(", ")
    );
    Arc::new(Tokens::load(&json).unwrap())
}

const MARKERS: [&str; 9] = ["<bot>", "<t>", "</t>", "<c>", "</c>", "<end>", "<other>", "  ", "<q\">"];

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thinking": {"open": "<t>", "close_pattern": "\\s*</t>\\s*"},
    "content": {"close": "<end>"},
    "tool_calls": {"open_pattern": "<c>(?P<name>[^{]+)", "close_pattern": "</c>|<end>", "repeats": true, "content": "json",
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}},
    "quoted": {"open": "(<q\">", "close": ")"}
}}"#;

/// Ids of a text in which `⟨…⟩` is a token, and everything else is written in single characters.
fn ids(tokens: &Tokens, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((marker, beyond)) = rest.strip_prefix('⟨').and_then(|rest| rest.split_once('⟩')) {
            let known = tokens.added().find(|(_, content)| *content == marker).map(|(id, _)| id);
            ids.push(known.unwrap_or_else(|| marker.parse().unwrap()));
            rest = beyond;
        } else {
            let one = c.to_string();
            ids.push((0..300).find(|id| tokens.decode(&[*id]) == one).unwrap());
            rest = &rest[c.len_utf8()..];
        }
    }
    ids
}

fn read(template: &TokenTemplate, prompt: &[u32], pieces: &[&[u32]], options: &Options) -> (Finished, Vec<Event>) {
    let mut parser = Parser::with_tokens(template, prompt, options.clone()).unwrap();
    let mut events = parser.initial_events().to_vec();
    for piece in pieces {
        events.extend(parser.feed_tokens(piece).unwrap());
    }
    let mut finished = parser.finish().unwrap();
    events.append(&mut finished.events);
    (finished, events)
}

/// The events of regions with the chunks of each joined, and the calls that grew in between: no cut shows in either.
fn joined(events: Vec<Event>) -> (Vec<Event>, Vec<String>) {
    let (mut regions, mut calls): (Vec<Event>, Vec<String>) = (Vec::new(), Vec::new());
    for event in events {
        match (regions.last_mut(), &event) {
            (Some(Event::Chunk { text: before, span: from, .. }), Event::Chunk { text, span, .. }) => {
                before.push_str(text);
                from.end = span.end;
            }
            (_, Event::CallStart { index, name, .. }) => {
                assert_eq!(*index, calls.len());
                calls.push(format!("{name}: "));
            }
            (_, Event::CallArguments { index, delta, .. }) => calls[*index].push_str(delta),
            _ => regions.push(event),
        }
    }
    (regions, calls)
}

fn template(policy: Policy) -> (Arc<Tokens>, TokenTemplate) {
    let tokens = tokens();
    let template = Template::load(TEMPLATE).unwrap().template;
    let template = TokenTemplate::new(&template, &tokens, policy).unwrap();
    (tokens, template)
}

#[test]
fn only_its_token_is_a_marker() {
    for (prompt, text, exact, either) in [
        ("⟨<bot>⟩", "a<end>b⟨<end>⟩", r#"{"content": "a<end>b"}"#, r#"{"content": "b"}"#),
        (
            "⟨<bot>⟩",
            "⟨<t>⟩x</t>y⟨</t>⟩z",
            r#"{"thinking": "x</t>y", "content": "z"}"#,
            r#"{"thinking": "x", "content": "y</t>z"}"#,
        ),
        // A prompt's user cannot write an anchor.
        ("⟨<bot>⟩⟨<t>⟩<bot>", "x⟨</t>⟩", r#"{"thinking": "<bot>x"}"#, r#"{"content": "x</t>"}"#),
        // A marker that nothing watches for is its text, and so is one that the template does not spell.
        (
            "⟨<bot>⟩",
            "a⟨<bot>⟩⟨</t>⟩⟨<other>⟩b",
            r#"{"content": "a<bot></t><other>b"}"#,
            r#"{"content": "a<bot></t><other>b"}"#,
        ),
        // Also in JSON, where its token ends the region, and only its own.
        (
            "⟨<bot>⟩",
            r#"⟨<c>⟩f{"a": "⟨<t>⟩</c>⟨<q">⟩"}⟨</c>⟩"#,
            r#"{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": "<t></c><q\">"}}}]}"#,
            r#"{}"#,
        ),
        // A character may begin in the prompt.
        ("⟨<bot>⟩⟨200⟩", "⟨201⟩⟨<end>⟩", r#"{"content": "é"}"#, r#"{"content": "é"}"#),
        ("⟨<bot>⟩⟨200⟩", "a", "{\"content\": \"\u{fffd}a\"}", "{\"content\": \"\u{fffd}a\"}"),
    ] {
        for (policy, message) in [(Policy::Exact, exact), (Policy::Either, either)] {
            let (tokens, template) = template(policy);
            let (prompt, ids) = (ids(&tokens, prompt), ids(&tokens, text));
            let (finished, _) = read(&template, &prompt, &[&ids], &Options::default());
            if message != "{}" {
                assert_eq!(Value::Object(finished.message).to_string(), message, "{policy:?}: {text}");
            }
        }
    }
}

#[test]
fn a_prompt_of_text_has_its_markers_as_tokens() {
    let (tokens, template) = template(Policy::Exact);
    let mut parser = Parser::with_tokens_after(&template, "<bot>⟨<bot><t>a", Options::default()).unwrap();
    parser.feed_tokens(&ids(&tokens, "b</t>⟨</t>⟩c")).unwrap();
    let message = parser.finish().unwrap().message;
    assert_eq!(Value::Object(message).to_string(), r#"{"thinking": "ab</t>", "content": "c"}"#);
}

#[test]
fn the_first_stop_ends_the_answer() {
    for (text, stops, message, note) in [
        ("a⟨<end>⟩⟨<t>⟩b", vec![105], r#"{"content": "a"}"#, Some("after-stop: 2 ids after the stop were not read")),
        ("a⟨<other>⟩b", vec![106], r#"{"content": "a"}"#, Some("after-stop: 1 id after the stop was not read")),
        ("ab⟨<other>⟩", vec![106], r#"{"content": "ab"}"#, None),
        (
            "a⟨777⟩b",
            vec![],
            r#"{"content": "ab"}"#,
            Some("unknown-id: the tokenizer lacks the id 777 at place 1, which adds no text"),
        ),
    ] {
        let (tokens, template) = template(Policy::Exact);
        let ids = ids(&tokens, text);
        let (finished, _) = read(&template, &[100], &[&ids], &Options::default().stop_ids(stops));
        assert_eq!(Value::Object(finished.message).to_string(), message, "{text}");
        assert_eq!(finished.notes, Vec::from_iter(note), "{text}");
    }
}

#[test]
fn spans_refer_to_the_text() {
    let (tokens, template) = template(Policy::Exact);
    let ids = ids(&tokens, r#"⟨<t>⟩é⟨</t>⟩⟨<other>⟩⟨<bot>⟩x⟨<end>⟩"#.replace('é', "⟨200⟩⟨201⟩").as_str());
    let text = "<t>é</t><other><bot>x<end>";
    let (_, events) = read(&template, &[100], &[&ids], &Options::default());
    let chunks = events.iter().filter_map(|event| match event {
        Event::Chunk { text, span, .. } => Some((text.to_string(), text_at(span.start, span.end))),
        _ => None,
    });
    fn text_at(start: usize, end: usize) -> String {
        "<t>é</t><other><bot>x<end>".get(start..end).unwrap().to_owned()
    }
    for (said, at) in chunks {
        assert_eq!(said, at);
    }
    let Some(Event::Close { span, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!(text.get(span.start..span.end), Some("<end>"));
}

#[test]
fn text_and_ids_do_not_mix() {
    let (_, template) = template(Policy::Exact);
    let mut parser = Parser::with_tokens(&template, &[], Options::default()).unwrap();
    assert!(parser.feed("a").unwrap_err().to_string().contains("`feed_tokens`"));
    let mut parser = Parser::new(template.template(), "", Options::default()).unwrap();
    assert!(parser.feed_tokens(&[1]).unwrap_err().to_string().contains("`Parser::with_tokens`"));
}

#[test]
fn markers_without_a_token_are_listed() {
    let json = r#"{"start_anchor": "<bot>", "fields": {"content": {"close_pattern": "<end>|<stop>\\s*"},
        "x": {"open": "[x]", "close": ")"}}}"#;
    let template = Template::load(json).unwrap().template;
    assert_eq!(tokens().unmatched(&template), ["<stop>", "[x]"]);
}

proptest! {
    /// The message, the events and the notes are the same however the ids are cut, with growing calls as well.
    #[test]
    fn results_do_not_depend_on_the_cut(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "⟨<t>⟩", "⟨</t>⟩", "⟨<c>⟩", "⟨</c>⟩", "⟨<end>⟩", "⟨<other>⟩", "⟨<bot>⟩", "⟨  ⟩", "⟨<q\">⟩", "⟨200⟩", "⟨201⟩", "⟨202⟩",
                "⟨777⟩", "⟨91⟩", "<t>", "</c>", "f{", "\"a\": ", "\"", "}", ">", " ", "x", "(", ")",
            ]),
            0..24,
        ),
        cuts in prop::collection::vec(1_usize..6, 1..24),
        prompt in prop::sample::select(vec!["", "⟨<bot>⟩", "⟨<bot>⟩⟨<t>⟩", "⟨<bot>⟩⟨200⟩"]),
        policy in prop::sample::select(vec![Policy::Exact, Policy::Either]),
        grow in any::<bool>(),
    ) {
        let (tokens, template) = template(policy);
        let (prompt, ids) = (ids(&tokens, prompt), ids(&tokens, &pieces.concat()));
        let options = Options::default().grow_calls(grow).stop_ids([999]);
        let (whole, all) = read(&template, &prompt, &[&ids], &options);
        let cut: Vec<&[u32]> = super::cut_ids(&ids, cuts).collect();
        let (pieced, events) = read(&template, &prompt, &cut, &options);
        prop_assert_eq!(&whole, &pieced);
        prop_assert_eq!(joined(all), joined(events));
        let singly: Vec<&[u32]> = ids.chunks(1).collect();
        prop_assert_eq!(&whole, &read(&template, &prompt, &singly, &options).0);
        let has_letters = |text: &str| text.contains(|c| ('\u{D0000}'..'\u{E0000}').contains(&c));
        let said = format!("{whole:?}");
        prop_assert!(!has_letters(&said));
    }
}

/// The sink of ids sees the same events as the list.
#[test]
fn sinks_see_text() {
    let (tokens, template) = template(Policy::Exact);
    let mut parser = Parser::with_tokens(&template, &[100], Options::default().grow_calls(true)).unwrap();
    let mut said = String::new();
    for id in ids(&tokens, r#"⟨<c>⟩f{"a": "⟨<q">⟩"}⟨</c>⟩"#) {
        parser
            .feed_tokens_into(&[id], &mut |event| {
                if let EventRef::CallArguments { delta, .. } = event {
                    said += delta;
                }
            })
            .unwrap();
    }
    assert_eq!(said, r#"{"a": "<q\">"}"#);
}

/// What server plug-ins query: the text so far, the text an id would add, and text without ids, whose markers are
/// tokens.
#[test]
fn text_between_ids() {
    let (tokens, template) = template(Policy::Exact);
    let prompt = ids(&tokens, "x⟨<bot>⟩⟨<t>⟩⟨200⟩");
    let options = || Options::default().stop_ids([106]);
    let mut parser = Parser::with_tokens(&template, &prompt, options().keep_text(true)).unwrap();
    assert_eq!(parser.kept_text(), Some("<t>"));
    assert_eq!([201, 102, 777, 106].map(|id| parser.text_of_next(id)), ["é", "\u{fffd}</t>", "", ""]);
    parser.feed_tokens(&[201]).unwrap();
    parser.feed_tokens(&ids(&tokens, "</t>⟨200⟩")).unwrap();
    parser.feed_spelled("a</t>b").unwrap();
    parser.feed_spelled("").unwrap();
    assert_eq!(parser.end_tokens().unwrap(), []);
    assert_eq!(parser.kept_text(), Some("<t>é</t>\u{fffd}a</t>b"));
    parser.feed_tokens(&[106]).unwrap();
    assert_eq!((parser.text_of_next(201), parser.feed_spelled("z").unwrap().len()), (String::new(), 0));
    let message = parser.finish().unwrap().message;
    assert_eq!(Value::Object(message).to_string(), r#"{"thinking": "é</t>�a", "content": "b"}"#);
    let mut silent = Parser::with_tokens(&template, &prompt, options()).unwrap();
    silent.feed_tokens(&[201]).unwrap();
    assert_eq!(silent.kept_text(), None);
}
