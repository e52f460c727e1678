//! Tests of parsers that leave reasoning or calls in the content, or drop reasoning.

use super::{Event, Finished, Options, Parser, Reasoning};
use crate::template::Template;
use backchat_core::json::Value;

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thinking": {"open": "<t>", "close": "</t>"},
    "content": {"close": "<end>"},
    "tool_calls": {"open": "<c>", "close": "</c>", "repeats": true, "content": "json"}
}}"#;

/// The message, and all texts of chunks by their field, at every cut of the text into two.
fn read(prefix: &str, text: &str, options: &Options) -> (String, String) {
    let template = Template::load(TEMPLATE).unwrap().template;
    let read = |cut: usize| -> (Finished, Vec<Event>) {
        let mut parser = Parser::new(&template, prefix, options.clone()).unwrap();
        let mut events = parser.initial_events().to_vec();
        for piece in [&text[..cut], &text[cut..]] {
            events.extend(parser.feed(piece).unwrap());
        }
        let mut finished = parser.finish().unwrap();
        events.append(&mut finished.events);
        (finished, events)
    };
    let texts = |events: &[Event]| {
        let mut texts: Vec<(String, String)> = Vec::new();
        for event in events {
            match event {
                Event::Open { field, .. } => texts.push((field.to_string(), String::new())),
                Event::Chunk { field, text, .. } => {
                    let (known, all) = texts.last_mut().unwrap();
                    assert_eq!(known, &**field);
                    all.push_str(text);
                }
                _ => {}
            }
        }
        texts.iter().map(|(field, text)| format!("{field}={text}")).collect::<Vec<_>>().join("|")
    };
    let (whole, events) = read(0);
    for cut in 1..text.len() {
        let (finished, other) = read(cut);
        assert_eq!(finished.message, whole.message, "{text:?} cut at {cut}");
        assert_eq!(texts(&other), texts(&events), "{text:?} cut at {cut}");
    }
    (Value::Object(whole.message).to_string(), texts(&events))
}

#[test]
fn regions_are_read_kept_in_the_content_or_dropped() {
    let text = "<t>Hm.</t>Yes. <c>{}</c> Done.<end>";
    let options = Options::default;
    let table = [
        (options().reasoning(Reasoning::Dropped), r#"{"content": "Done.", "tool_calls": [{}]}"#),
        (options().reasoning(Reasoning::InContent), r#"{"content": "<t>Hm.</t>Yes.  Done.", "tool_calls": [{}]}"#),
        (options().tools_off(true), r#"{"thinking": "Hm.", "content": "Yes. <c>{}</c> Done."}"#),
        (options().tools_off(true).reasoning(Reasoning::InContent), r#"{"content": "<t>Hm.</t>Yes. <c>{}</c> Done."}"#),
        (options().tools_off(true).reasoning(Reasoning::Dropped), r#"{"content": "Yes. <c>{}</c> Done."}"#),
    ];
    for (options, wanted) in table {
        assert_eq!(read("<bot>", text, &options).0, wanted, "{options:?}");
    }
}

#[test]
fn events_agree_with_the_message() {
    let text = "<t>Hm.</t>Yes.<end>";
    let of = |reasoning| read("<bot>", text, &Options::default().reasoning(reasoning)).1;
    assert_eq!(of(Reasoning::Kept), "thinking=Hm.|content=Yes.");
    assert_eq!(of(Reasoning::InContent), "content=<t>Hm.</t>|content=Yes.");
    assert_eq!(of(Reasoning::Dropped), "content=Yes.");
}

#[test]
fn a_call_marker_in_reasoning_never_opens_a_call() {
    let text = "<t>Use <c>{}</c>?</t>No.<end>";
    for (reasoning, wanted) in [
        (Reasoning::InContent, r#"{"content": "<t>Use <c>{}</c>?</t>No."}"#),
        (Reasoning::Dropped, r#"{"content": "No."}"#),
    ] {
        assert_eq!(read("<bot>", text, &Options::default().reasoning(reasoning)).0, wanted);
    }
}

#[test]
fn the_prompt_is_not_part_of_the_output() {
    for (prefix, text, wanted) in [
        ("<bot><t>\n", "Hm.</t>Yes.<end>", "Hm.</t>Yes."),
        ("<bot><t></t>", "Yes.<end>", "Yes."),
        ("<bot>", "<t>Hm.", "<t>Hm."),
    ] {
        let options = Options::default().reasoning(Reasoning::InContent);
        let (message, texts) = read(prefix, text, &options);
        assert_eq!(message, format!("{{\"content\": {}}}", Value::from(wanted)), "{prefix:?}");
        assert_eq!(texts.replace("|content=", ""), format!("content={wanted}"), "{prefix:?}");
    }
}
