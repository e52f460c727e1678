//! Calls that grow: the early events join to the call the region closes with, however the text is cut.

use std::fs;
use std::sync::Arc;

use backchat::parser::{Options, Tools};
use backchat::{Event, Parser, Template, Value, json};
use backchat_parser::parser::Chunks;
use proptest::prelude::*;
use proptest::sample::select;

/// The fields of the templates that calls are read with.
const FORMATS: [(&str, &str, &str); 7] = [
    (
        "name in the opening",
        r#"{"open_pattern": "<call (?P<name>\\w+)(?: (?P<id>\\w+))?>", "close": "</call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "id": "{id}", "function": {"name": "{name}", "arguments": "{content}"}}}"#,
        "<call NAME i7>ARGUMENTS</call>",
    ),
    (
        "a function object",
        r#"{"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"}}"#,
        r#"<call>{"name": "NAME", "arguments": ARGUMENTS}</call>"#,
    ),
    (
        "arguments before the name",
        r#"{"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": {"name": "{content.f.name}", "arguments": "{content.a}"}}}"#,
        r#"<call> {"x": [{"a": 1}], "a" : ARGUMENTS, "f": {"a": 2, "name":"NAME"}} </call>"#,
    ),
    (
        "a list of calls",
        r#"{"open": "<calls>", "close": "</calls>", "content": "json", "transform_each": true,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{parameters}"}}}"#,
        r#"<calls>[{"name": "NAME", "parameters": ARGUMENTS}, {"parameters": ARGUMENTS, "name": "NAME"}]</calls>"#,
    ),
    (
        "a dialect of JSON",
        r#"{"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true, "content": "json",
            "content_args": {"unquoted_keys": true},
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#,
        "<call NAME>ARGUMENTS</call>",
    ),
    (
        "tagged values",
        r#"{"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true, "content": "xml-inline",
            "content_args": {"tag_pattern": "<p=(?P<key>\\w+)>\\n?(?P<value>.*?)\\n?</p>"},
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}"#,
        "<call NAME>\nTAGS</call>",
    ),
    (
        PYTHON_CALLS,
        r#"{"open": "<calls>", "close": "</calls>", "content": "python-call-list", "transform_each": true,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}}"#,
        "<calls> [NAME(KEYWORDS), NAME()]</calls>",
    ),
];

const PYTHON_CALLS: &str = "a list of Python calls";

const TOOLS: &str = r#"[{"type": "function", "function": {"name": "add", "parameters": {"properties": {
    "days": {"type": "integer"}, "city": {"type": "string"}, "list": {"type": ["array", "null"]}}}}}]"#;

fn template(field: &str) -> Template {
    let text =
        format!(r#"{{"start_anchor": "<bot>", "fields": {{"tool_calls": {field}, "content": {{"optional": true}}}}}}"#);
    Template::load(&text).unwrap().template
}

fn tools() -> Arc<Tools> {
    Arc::new(Tools::new(&json::read(TOOLS).unwrap()).unwrap())
}

/// The text of a model that makes this call.
fn wire(format: &str, name: &str, arguments: &str) -> String {
    let entries = json::read(arguments).unwrap();
    let tags = entries.as_object().into_iter().flatten().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("<p={key}>\n{value}\n</p>\n")
    });
    let keywords = entries.as_object().into_iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let keywords = keywords.collect::<Vec<_>>().join(", ");
    let text = format.replace("NAME", name).replace("ARGUMENTS", arguments).replace("KEYWORDS", &keywords);
    text.replace("TAGS", &tags.collect::<String>())
}

fn parse<'t>(template: &Template, feeds: impl IntoIterator<Item = &'t str>, tools: Option<Arc<Tools>>) -> Vec<Event> {
    let options = Options::default().tools(tools).grow_calls(true);
    let mut parser = Parser::new(template, "", options).unwrap();
    let mut events = Vec::new();
    for feed in feeds {
        events.extend(parser.feed(feed).unwrap());
    }
    events.extend(parser.finish().unwrap().events);
    events
}

/// Name, id and joined arguments of each call that was reported.
fn reported(events: &[Event]) -> Vec<(String, Option<String>, String)> {
    let mut calls = Vec::new();
    for event in events {
        match event {
            Event::CallStart { index, name, id, .. } => {
                assert_eq!(*index, calls.len());
                calls.push((name.clone(), id.clone(), String::new()));
            }
            Event::CallArguments { index, delta, .. } => {
                assert!(!delta.is_empty());
                calls[*index].2.push_str(delta);
            }
            _ => {}
        }
    }
    calls
}

/// The calls that the regions closed with.
fn closed(events: &[Event]) -> Vec<(String, Option<String>, String)> {
    let values = events.iter().filter_map(|event| match event {
        Event::Close { field, value, .. } if &**field == "tool_calls" => Some(value),
        _ => None,
    });
    let calls = values.flat_map(|value| value.as_list().map_or_else(|| vec![value], |items| items.iter().collect()));
    let call = |call: &Value| {
        let function = &call["function"];
        let id = call["id"].as_str().map(str::to_owned);
        (function["name"].as_str().unwrap().to_owned(), id, function["arguments"].to_string())
    };
    calls.map(call).collect()
}

const ARGUMENTS: &str =
    r#"{"city": "Rom\u00e9 \ud83d\ude00\n<p", "days": "3", "n": [1.50, {"x": null}], "list": "[1]", "e": {}}"#;

#[test]
fn early_calls_join_to_what_the_region_closes_with_at_every_cut() {
    for (name, field, format) in FORMATS {
        let template = template(field);
        let text = format!("Well. {}{}", wire(format, "add", ARGUMENTS), wire(format, "other", "{}"));
        for tools in [None, Some(tools())] {
            let whole = parse(&template, [text.as_str()], tools.clone());
            assert!(!closed(&whole).is_empty(), "{name}");
            for (cut, _) in text.char_indices() {
                let events = parse(&template, [&text[..cut], &text[cut..]], tools.clone());
                assert_eq!(reported(&events), closed(&events), "{name} cut at {cut}");
                assert_eq!(reported(&events), closed(&whole), "{name} cut at {cut}");
            }
            let events = parse(&template, Chunks::Every(1).split(&text), tools);
            assert_eq!(reported(&events), closed(&whole), "{name}");
        }
    }
}

#[test]
fn arguments_come_as_they_are_written() {
    for (name, field, format) in FORMATS {
        let text = wire(format, "add", &format!(r#"{{"city": "{}", "days": 1}}"#, "Rome ".repeat(40)));
        let events = parse(&template(field), Chunks::Every(4).split(&text), Some(tools()));
        let close = events.iter().position(|event| matches!(event, Event::Close { .. })).unwrap();
        let start = events.iter().position(|event| matches!(event, Event::CallStart { .. })).unwrap();
        let last_chunk = events[..close].iter().rposition(|event| matches!(event, Event::Chunk { .. })).unwrap();
        let early: usize = events[..last_chunk]
            .iter()
            .map(|event| match event {
                Event::CallArguments { delta, .. } => delta.len(),
                _ => 0,
            })
            .sum();
        let all: usize = reported(&events).iter().map(|(_, _, arguments)| arguments.len()).sum();
        match name {
            "a dialect of JSON" => assert_eq!(early, 0, "{name} comes whole"),
            "arguments before the name" => assert!(start > 40, "{name}: the name comes last"),
            // Of the second call the name comes last.
            "a list of calls" => assert!(early * 10 > all * 4, "{name}: {early} of {all}"),
            _ => assert!(early * 10 > all * 8, "{name}: {early} of {all}"),
        }
    }
}

#[test]
fn a_key_written_twice_is_reported_twice_and_reads_as_the_value() {
    // A list of Python calls has no key twice.
    for (_, field, format) in FORMATS.into_iter().filter(|(name, ..)| *name != PYTHON_CALLS) {
        let arguments = r#"{"a": 1, "b": 2, "a": {"c": 1, "c": 3}}"#;
        let tags = "<p=a>1</p><p=b>2</p><p=a>3</p>";
        let text = format.replace("NAME", "f").replace("ARGUMENTS", arguments).replace("TAGS", tags);
        let events = parse(&template(field), Chunks::Every(3).split(&text), None);
        let (reported, closed) = (reported(&events), closed(&events));
        assert_eq!(reported.len(), closed.len());
        for (reported, closed) in reported.iter().zip(closed) {
            assert_eq!(json::read(&reported.2).unwrap(), json::read(&closed.2).unwrap());
        }
    }
}

#[test]
fn text_that_is_not_a_call_is_not_reported() {
    let template = template(FORMATS[0].1);
    let events = parse(&template, ["Just <call", " text."], None);
    assert!(reported(&events).is_empty());
    // A call that turns out not to be one was reported, and the region says why it gives no value.
    let events = parse(&template, ["<call f>{\"a\": 1, oops}</call>"], None);
    assert_eq!(reported(&events), [("f".to_owned(), None, "{\"a\": 1, ".to_owned())]);
    assert!(events.iter().any(|event| matches!(event, Event::Malformed { .. })));
    let mut parser = Parser::new(&template, "", Options::default()).unwrap();
    let events = parser.feed("<call f i1>{}</call>").unwrap();
    assert!(reported(&events).is_empty(), "calls grow only if that is asked for");
    assert_eq!(Value::Object(parser.message())["tool_calls"][0]["function"]["name"].as_str(), Some("f"));
}

#[test]
fn a_prompt_that_opens_the_call_begins_it() {
    let options = Options::default().grow_calls(true);
    let mut parser = Parser::new(&template(FORMATS[1].1), "<bot><call>{\"name\": \"f\", ", options).unwrap();
    assert_eq!(reported(parser.initial_events()), [("f".to_owned(), None, String::new())]);
    let events = parser.feed(r#""arguments": {"a": "b"#).unwrap();
    assert!(matches!(&events[1], Event::CallArguments { index: 0, delta, .. } if delta == r#"{"a": "b"#), "{events:?}");
}

/// Every template that is derived here reads its own calls early, or whole; the table in docs/library.md says which.
#[test]
fn derived_templates_load_with_growing_calls() {
    let mut seen = 0;
    for entry in fs::read_dir("derived").unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let template = Template::load(&fs::read_to_string(&path).unwrap()).unwrap().template;
            let options = Options::default().grow_calls(true);
            let events = Parser::new(&template, "", options).unwrap().feed("Hello.").unwrap();
            assert!(events.iter().all(|event| !matches!(event, Event::CallStart { .. })), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30);
}

fn scalar() -> impl Strategy<Value = String> {
    select(vec![
        "1",
        "-0.0",
        "1.50",
        "1e400",
        "true",
        "null",
        "\"\"",
        "\"5\"",
        r#""\\\"\n""#,
        r#""\ud800\u0041""#,
        r#""\ud83d\ude00""#,
        "\"é日\u{85}\"",
        "[]",
        "{}",
        r#"["1", "x"]"#,
        r#"{"days": "1", "x": [{}]}"#,
    ])
    .prop_map(str::to_owned)
}

proptest! {
    /// Over all two-way cuts, with keys that the tool casts and keys that it does not.
    #[test]
    fn calls_grow_to_their_value(
        format in select(FORMATS.to_vec()),
        entries in prop::collection::btree_map(select(vec!["city", "days", "list", "k", "é"]), scalar(), 0..5),
        name in select(vec!["add", "other"]),
        with_tools in any::<bool>(),
        space in select(vec!["", " ", "\n  "]),
    ) {
        let (_, field, format) = format;
        let template = template(field);
        let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{space}\"{key}\"{space}:{value}")).collect();
        let text = wire(format, name, &format!("{{{}{space}}}", entries.join(",")));
        let tools = with_tools.then(tools);
        let whole = closed(&parse(&template, [text.as_str()], tools.clone()));
        // A name or a number that Python calls may not have makes the list malformed, after its beginning was reported.
        prop_assume!(!whole.is_empty());
        for (cut, _) in text.char_indices() {
            let events = parse(&template, [&text[..cut], &text[cut..]], tools.clone());
            prop_assert_eq!(&reported(&events), &whole, "cut at {} of {}", cut, &text);
        }
    }
}
