//! Learning from samples: forms that models write and their chat templates do not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use backchat::json::{self, Object};
use backchat::parser::Tools;
use backchat::{Parser, Template, Value};
use backchat_derive::derive::{Derivation, Options, Sample, Status, derive};

const PROMPT: &str = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";

fn source(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("chat_templates/{name}.jinja"))).unwrap()
}

fn tools() -> Value {
    json::read(
        r#"[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties":
        {"city": {"type": "string"}, "days": {"type": "integer"}}}}}]"#,
    )
    .unwrap()
}

/// Calls, each with a city and a number of days.
fn calls(calls: &[(&str, i64)]) -> Value {
    let calls = calls.iter().map(|(city, days)| {
        let arguments = Value::from([("city", (*city).into()), ("days", (*days).into())]);
        Value::from([("function", Value::from([("name", "get_weather".into()), ("arguments", arguments)]))])
    });
    Value::List(calls.collect())
}

fn sample(number: usize, text: &str, message: Value) -> Sample {
    Sample::new(format!("{number}"), text).prefix(PROMPT.to_owned()).message(message).tools(tools())
}

fn derived(name: &str, samples: Vec<Sample>) -> Derivation {
    let variables = Object::from([("eos_token".to_owned(), "<|im_end|>".into())]);
    derive(&source(name), &Options::default().variables(variables).samples(samples))
}

fn read(derivation: &Derivation, text: &str) -> Object {
    let template = Template::from_value(derivation.response_template.as_ref().unwrap()).unwrap().template;
    let options = backchat::parser::Options::default().tools(Arc::new(Tools::new(&tools()).unwrap()));
    let mut parser = Parser::new(&template, PROMPT, options).unwrap();
    parser.feed(text).unwrap();
    parser.finish().unwrap().message
}

/// Writes a call as one model does, given a city and a number of days.
type Writes = fn(&str, i64) -> String;

const WAYS: [(&str, &str, Writes); 6] = [
    ("hermes", "other marks", |city, days| {
        format!(
            "<tools>\n{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"{city}\", \"days\": {days}}}}}\n</tools>"
        )
    }),
    ("hermes", "another key", |city, days| {
        format!(
            "<tool_call>\n{{\"name\": \"get_weather\", \"parameters\": {{\"city\": \"{city}\", \"days\": {days}}}}}\n</tool_call>"
        )
    }),
    ("hermes", "as code", |city, days| {
        format!("<tool_call>\nget_weather({{\"city\": \"{city}\", \"days\": {days}}})\n</tool_call>")
    }),
    ("hermes", "as tags", |city, days| {
        format!(
            "<tool_call>\n<function=get_weather>\n<parameter=city>\n{city}\n</parameter>\n<parameter=days>\n{days}\n</parameter>\n</function>\n</tool_call>"
        )
    }),
    ("qwen3_coder", "as JSON", |city, days| {
        format!(
            "<tool_call>\n{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"{city}\", \"days\": {days}}}}}\n</tool_call>"
        )
    }),
    ("qwen3_coder", "in quotes", |city, days| {
        format!(
            "<tool_call>\n<function=get_weather>\n<parameter=city>\n\"{city}\"\n</parameter>\n<parameter=days>\n{days}\n</parameter>\n</function>\n</tool_call>"
        )
    }),
];

#[test]
fn other_forms_of_calls_are_learned_in_addition_to_that_of_the_chat_template() {
    for (name, way, write) in WAYS {
        let text = |city, days| format!("{}<|im_end|>", write(city, days));
        let message = |city, days| Value::from([("tool_calls", calls(&[(city, days)]))]);
        let samples = vec![
            sample(1, &text("Ghent", 2), message("Ghent", 2)),
            sample(2, &text("Bruges", 11), message("Bruges", 11)),
        ];
        let plain = derived(name, Vec::new());
        let learned = derived(name, samples);
        assert_eq!(learned.status, Status::Proved, "{name} {way}: {:#?}", learned.diagnostics);
        assert_eq!(learned.verdict.scope.learned, ["calls"], "{name} {way}");
        assert!(learned.diagnostics.iter().any(|note| note.id == "derive-learned"), "{name} {way}");
        assert_eq!(learned.verdict.cases - learned.verdict.passed, plain.verdict.cases - plain.verdict.passed);
        let two = format!("{}\n{}<|im_end|>", write("Mons", 3), write("Namur", 4));
        let got = read(&learned, &two).get("tool_calls").cloned().unwrap_or_default();
        let functions = |calls: &Value| {
            let calls = calls.as_list().unwrap_or(&[]).iter();
            calls.map(|call| call.get("function").cloned().unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(functions(&got), functions(&calls(&[("Mons", 3), ("Namur", 4)])), "{name} {way}");
    }
}

#[test]
fn prose_that_mentions_learned_marks_does_not_change() {
    let (name, _, write) = WAYS[0];
    let text = format!("{}<|im_end|>", write("Ghent", 2));
    let learned = derived(name, vec![sample(1, &text, Value::from([("tool_calls", calls(&[("Ghent", 2)]))]))]);
    for prose in ["Write <tools> first, and then the rest.", "`</tools>` ends it, and <tools> begins it."] {
        assert_eq!(read(&learned, prose).get("content"), Some(&prose.into()), "{:?}", learned.response_template);
    }
    let once = learned.diagnostics.iter().find(|note| note.id == "derive-learned").unwrap();
    assert!(once.help.as_deref().unwrap().starts_with("seen once"), "{once:?}");
}

#[test]
fn samples_that_the_draft_reads_teach_nothing() {
    let text = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ghent\", \"days\": 2}}\n</tool_call><|im_end|>";
    let plain = derived("hermes", Vec::new());
    let same = derived("hermes", vec![sample(1, text, Value::from([("tool_calls", calls(&[("Ghent", 2)]))]))]);
    assert_eq!(same.response_template, plain.response_template);
    assert!(same.verdict.scope.learned.is_empty() && same.explained.departures.is_empty());
}

#[test]
fn a_sample_that_teaches_nothing_is_a_departure() {
    let wrong =
        sample(1, "Nothing of this is a call.<|im_end|>", Value::from([("tool_calls", calls(&[("Ghent", 2)]))]));
    let derivation = derived("hermes", vec![wrong]);
    assert_eq!(derivation.status, Status::Partial);
    assert_eq!(derivation.explained.departures.len(), 1);
}
