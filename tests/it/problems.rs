//! What went wrong in a text is told as data, the same however the text is cut, and changes no message.

use backchat::parser::{Finished, Options, Problem};
use backchat::{Event, Parser, Template};
use backchat_parser::content::Mode;

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thought": {"open": "<t>", "close": ["</t>", "<end>"]},
    "calls": {"open": "<call>", "close": ["</call>", "<end>"], "repeats": true, "content": "json",
        "transform": {"function": "{content}"}},
    "tagged": {"open_pattern": "<tags=(?P<name>[a-z])>", "close_pattern": "(?:</tags>|<end>)\\s*", "repeats": true, "content": "xml-inline",
        "content_args": {"tag_pattern": "<(?P<key>[a-z])>(?P<value>.*?)</>"},
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
    "bare": {"open": "<bare>", "close": "<end>", "content": "text"},
    "content": {"close": "<end>"}}}"#;

/// The problems of a text, as its events and its end tell them, fed by this many bytes.
fn problems(text: &str, size: usize, mode: Mode) -> (Vec<Problem>, Vec<Event>) {
    problems_by(TEMPLATE, text, size, mode)
}

fn problems_by(template: &str, text: &str, size: usize, mode: Mode) -> (Vec<Problem>, Vec<Event>) {
    let template = Template::load(template).unwrap().template;
    let mut parser = Parser::new(&template, "<bot>", Options::default().mode(mode)).unwrap();
    let mut events = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        events.extend(parser.feed(std::str::from_utf8(piece).unwrap()).unwrap());
    }
    let Finished { problems, events: last, .. } = parser.finish().unwrap();
    events.extend(last);
    (problems, events)
}

#[test]
fn what_ends_without_its_own_closer_is_told() {
    for (text, told) in [
        ("Hi", &[][..]),
        ("<t>Hm</t><call>{\"name\": \"f\"}</call><tags=f><a>1</></tags><end>", &[]),
        ("<t>Hm", &[r#"3..5 {"kind": "unclosed", "field": "thought", "region": 0, "at_end": true}"#]),
        ("<t>Hm<end>", &[r#"3..5 {"kind": "unclosed", "field": "thought", "region": 0}"#]),
        // Half of a closer is none.
        ("<t>Hm</t", &[r#"3..8 {"kind": "unclosed", "field": "thought", "region": 0, "at_end": true}"#]),
        // JSON ends by itself.
        ("<call>{\"name\": \"f\"}", &[]),
        (
            "<call>{",
            &[
                r#"6..7 {"kind": "malformed", "field": "calls", "region": 0, "reason": "not JSON: the text ends inside an object, at the end of the text", "at_end": true}"#,
            ],
        ),
        (
            "<tags=f><a>1</></tags><tags=f><a>2</>",
            &[r#"30..37 {"kind": "unclosed", "field": "tagged", "call": 1, "region": 1, "at_end": true}"#],
        ),
        ("<tags=f><a>1</><end>", &[r#"8..15 {"kind": "unclosed", "field": "tagged", "call": 0, "region": 0}"#]),
        // Its only closer ends every field, and an engine takes it off.
        ("<bare>text", &[]),
    ] {
        for size in [1, 2, text.len().max(1)] {
            let (found, events) = problems(text, size, Mode::Stable);
            let shown =
                |problem: &Problem| format!("{}..{} {}", problem.span.start, problem.span.end, problem.to_value());
            assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), told, "{text}, by {size}");
            let in_events = events.iter().filter_map(|event| match event {
                Event::Problem(problem) => Some((**problem).clone()),
                _ => None,
            });
            assert_eq!(in_events.collect::<Vec<_>>(), found, "{text}, by {size}");
        }
    }
    assert_eq!(problems("<t>Hm", 1, Mode::Reference).0, [], "the reference knows none");
}

#[test]
fn a_closer_that_takes_the_end_of_the_text_closes_nothing_that_more_text_would_go_on_with() {
    let of = |close: &str, content: &str| {
        format!(
            r#"{{"start_anchor": "<bot>", "fields": {{"content": {{"close": "<end>"}},
            "calls": {{"open": "<call>{{", "close_pattern": "{close}", "repeats": true, "content": "{content}",
                "transform": {{"function": {{"name": "f", "arguments": "{{content}}"}}}}}}}}}}"#
        )
    };
    let (json, text) = ("json", "text");
    for (close, content, output, told) in [
        // Cut after an inner brace, which the end makes the last.
        (r"\\}\\s*(?:<end>|\\Z)", json, r#"<call>{{"a": {}"#, &[("malformed", true)][..]),
        (r"\\}(?:<end>|$)", json, "<call>{{\"a\": {}\n", &[("malformed", true)]),
        (r"\\}\\s*(?:<end>|\\Z)", json, r#"<call>{{"a": 1}}"#, &[]),
        (r"\\}\\s*(?:<end>|\\Z)", text, "<call>{a}", &[("unclosed", true)]),
        // The mark is there: it is no cut, whatever the body is.
        (r"\\}\\s*(?:<end>|\\Z)", json, r#"<call>{{"a": {}<end>"#, &[("malformed", false)]),
        (r"\\}\\s*(?:<end>|\\Z)", text, "<call>{a}<end>", &[]),
        // More text would not undo this one.
        (r"\\}\\s*", text, "<call>{a}", &[]),
        (r"\\}\\s*", json, r#"<call>{{"a": {}"#, &[("malformed", false)]),
    ] {
        for size in [1, 2, output.len()] {
            let (found, _) = problems_by(&of(close, content), output, size, Mode::Stable);
            let found: Vec<_> = found.iter().map(|problem| (problem.kind.as_str(), problem.at_end)).collect();
            assert_eq!(found, told, "{close}: {output:?}, by {size}");
        }
    }
}

#[test]
fn text_that_a_call_takes_for_json_may_be_cut_off() {
    let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"},
        "calls": {"open_pattern": "<call>(?P<name>[a-z]+)", "close": "</call>", "repeats": true, "content": "json",
            "content_args": {"allow_non_json": true}, "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}"#;
    for (output, told) in [
        // The name is cut, and so are the arguments.
        ("<call>loo", &[("arguments-not-object", true)][..]),
        (r#"<call>look{"at": "s"#, &[("arguments-not-object", true)]),
        (r#"<call>look{"at": "sky"}"#, &[]),
        ("<call>look all</call>", &[("arguments-not-object", false)]),
    ] {
        for size in [1, 2, output.len()] {
            let (found, _) = problems_by(template, output, size, Mode::Stable);
            let found: Vec<_> = found.iter().map(|problem| (problem.kind.as_str(), problem.at_end)).collect();
            assert_eq!(found, told, "{output:?}, by {size}");
        }
    }
}

#[test]
fn a_problem_comes_before_the_close_and_after_the_malformed_region() {
    for (text, told) in [("<t>Hm", ["problem", "region_close"]), ("<call>{", ["region_malformed", "problem"])] {
        let (_, events) = problems(text, 1, Mode::Stable);
        let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
        assert_eq!(kinds[kinds.len() - 2..], told, "{text}");
    }
}

#[test]
fn an_answer_that_conforms_has_no_stray_markers() {
    // Calls look ahead to the mark of the turn and do not take it; or they are closed by a bracket, which answers have, too.
    let of = |close: &str| {
        format!(
            r#"{{"start_anchor": "<bot>", "fields": {{"thought": {{"open": "<t>", "close": ["</t>", "<end>"]}},
            "calls": {{"open": "<call>", "close_pattern": "{close}", "repeats": true, "content": "json",
                "transform": {{"function": "{{content}}"}}}},
            "content": {{"close": "<end>"}}}}}}"#
        )
    };
    for (close, output, told) in [
        (r"\\)(?=, |<end>)", "Yes.<end>", &[][..]),
        (r"\\)(?=, |<end>)", "Yes.", &[]),
        (r"\\}\\s*(?:<end>|\\Z)", "(2): {3}", &[]),
        (r"\\}\\s*(?:<end>|\\Z)", "(2): {3}<end>", &[]),
        (r"\\)(?=, |<end>)", "Yes.</t> No.<end>", &["stray-marker"]),
        (r"</call>|<end>", "Yes.</call><end>", &["stray-marker"]),
    ] {
        for size in [1, output.len()] {
            let (found, _) = problems_by(&of(close), output, size, Mode::Stable);
            let found: Vec<_> = found.iter().map(|problem| problem.kind.as_str()).collect();
            assert_eq!(found, told, "{close}: {output:?}, by {size}");
        }
    }
}
