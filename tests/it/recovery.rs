//! Every parse reports problems, a policy acts only at its problem, and neither depends on how the text is cut.

use std::sync::Arc;

use backchat::parser::{Options, Policies, Problem, RecoveryPolicy, Tools};
use backchat::{Parser, Template, json};
use proptest::prelude::*;

const JSON: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thought": {"open": "<t>", "close": ["</t>", "<end>"]},
    "calls": {"open": "<call>", "close_pattern": "(?:</call>|<end>)\\s*", "repeats": true, "content": "json",
        "transform": {"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
    "content": {"close": ["</t>", "<end>"]}}}"#;

const TAGS: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thought": {"open": "<t>", "close": ["</t>", "<end>"]},
    "calls": {"open_pattern": "<call=(?P<name>[^>]+)>", "close_pattern": "(?:</call>|<end>)\\s*", "repeats": true,
        "content": "xml-inline", "content_args": {"tag_pattern": "<arg=(?P<key>\\w+)>(?P<value>.*?)</arg>\\n?"},
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
    "content": {"close": "<end>"}}}"#;

const LIST: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thought": {"open": "<t>", "close": ["</t>", "<end>"]},
    "calls": {"open": "<call>", "close": ["</call>", "<end>"], "content": "python-call-list", "transform_each": true,
        "transform": {"function": {"name": "{name}", "arguments": "{arguments}"}}},
    "content": {"close": "<end>"}}}"#;

const MARKED: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thought": {"open": "<t>", "close": ["</t>", "<end>"]}, "content": {"open": "<say>", "close": ["</say>", "<end>"]}}}"#;

const TOOLS: &str = r#"[{"name": "add", "parameters": {"properties": {"a": {"type": "integer", "maximum": 9}, "b": {}},
    "required": ["a"]}}, {"name": "now"}]"#;

/// The message and the problems of a text in feeds of `size` bytes.
fn read(template: &str, text: &str, policies: Policies, validate: bool, size: usize) -> (String, Vec<Problem>) {
    let template = Template::load(template).unwrap().template;
    let tools = Arc::new(Tools::new(&json::read(TOOLS).unwrap()).unwrap());
    let options = Options::default().tools(tools).recover(policies).validate(validate);
    let mut parser = Parser::new(&template, "<bot>", options).unwrap();
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        parser.feed_into(piece, &mut |event| shown += event.kind()).unwrap();
        rest = after;
    }
    let finished = parser.finish().unwrap();
    (json::Value::Object(finished.message).to_string(), finished.problems)
}

fn reported(problems: &[Problem]) -> String {
    let one = |problem: &Problem| {
        let names = problem.policies.iter().map(RecoveryPolicy::as_str).collect::<Vec<_>>().join("+");
        let mark = match (names.is_empty(), problem.is_recovered) {
            (true, _) => "",
            (_, true) => "=",
            (_, false) => "~",
        };
        format!("{}[{}..{}]{mark}{names}", problem.kind.as_str(), problem.span.start, problem.span.end)
    };
    problems.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Members of the arguments as tags, as drafts read arguments that a call may leave out.
const MEMBERS: &str = r#"{"start_anchor": "<bot>", "fields": {
    "calls": {"open_pattern": "<call=(?P<name>[^>]+)>", "close_pattern": "(?:</call>|<end>)\\s*", "repeats": true,
        "content": "xml-inline", "content_args": {"value_parser": {"name": "json", "args": {}}, "tag_pattern":
            "\"(?P<key>\\w+)\": (?P<value>\"[^\"]*\"|(?P<nested>\\{(?:[^{}\"]|\"[^\"]*\"|(?&nested))*\\})|\\w+)"},
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
    "content": {"close": "<end>"}}}"#;

#[test]
fn an_object_may_have_a_key_that_is_another_argument_of_the_tool() {
    for argument in [r#"{"b": {}}"#, r#"{"b": 1}"#, r#"{"x": {"b": "2"}}"#, r#"{"b": "{"}"#] {
        let text = format!("<call=add>{{\"a\": {argument}}}</call>");
        let want = format!(r#"{{"calls": [{{"function": {{"name": "add", "arguments": {{"a": {argument}}}}}}}]}}"#);
        for policies in [Policies::none(), Policies::all()] {
            let (message, problems) = read(MEMBERS, &text, policies, false, 1);
            assert_eq!((message, reported(&problems)), (want.clone(), String::new()), "{text}");
        }
    }
}

#[test]
fn each_problem_is_reported_and_recovered_by_its_policy() {
    let call = r#"{"name": "add", "arguments": {"a": 1}}"#;
    for (template, text, off, problems, on) in [
        (JSON, format!("<call>{call}</call>"), "=", String::new(), ""),
        (
            JSON,
            "<call>{\"name\": \"add\", \"arguments\": {\"a\": 1,}}</call>".into(),
            "{}",
            "malformed[6..45]=json-commas".into(),
            "",
        ),
        (JSON, "<call>{\"name\": \"fn.add\", \"arguments\": {\"a\": 1}}".into(), "=", "unknown-tool[6..47]".into(), ""),
        (
            JSON,
            "<call>{\"name\": \"Add\", \"arguments\": {\"a\": 1}}".into(),
            r#"{"calls": [{"function": {"name": "Add", "arguments": {"a": 1}}}]}"#,
            "unknown-tool[6..44]=tool-names".into(),
            "",
        ),
        (
            JSON,
            "Say `<call>` first.".into(),
            r#"{"content": "Say `"}"#,
            "false-opener[5..11]=false-openers".into(),
            r#"{"content": "Say `<call>` first."}"#,
        ),
        (
            JSON,
            format!("So:\n{call}\n</call>"),
            &format!(r#"{{"content": {}}}"#, json::Value::from(format!("So:\n{call}\n</call>").as_str())),
            "bare-call[4..43]=missing-call-opener".into(),
            r#"{"content": "So:", "calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}"#,
        ),
        (
            JSON,
            call.into(),
            &format!(r#"{{"content": {}}}"#, json::Value::from(call)),
            "bare-call[0..38]=missing-call-opener".into(),
            "",
        ),
        (
            JSON,
            format!("<t>Hm <call>{call}</call></t>"),
            &format!(r#"{{"thought": {}}}"#, json::Value::from(format!("Hm <call>{call}</call>").as_str())),
            "call-in-reasoning[6..57]=calls-in-reasoning".into(),
            r#"{"thought": "Hm", "calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}"#,
        ),
        (
            JSON,
            "Done.\n</call><end>".into(),
            r#"{"content": "Done.\n</call>"}"#,
            "stray-marker[6..13]=stray-closers".into(),
            r#"{"content": "Done."}"#,
        ),
        (
            JSON,
            "Hm.</t>Yes.<end>".into(),
            r#"{"content": "Yes."}"#,
            "stray-marker[3..7]=missing-reasoning-opener".into(),
            r#"{"thought": "Hm.", "content": "Yes."}"#,
        ),
        (
            JSON,
            r#"<call>{"name": "add", "arguments": {"a": "</call>"}}</call>"#.into(),
            r#"{"content": "\"}}</call>"}"#,
            "malformed[6..42]=closers-in-strings".into(),
            r#"{"calls": [{"function": {"name": "add", "arguments": {"a": "</call>"}}}]}"#,
        ),
        (
            TAGS,
            "<call=add><arg=a>1\n<arg=b>2</arg></call>".into(),
            r#"{"calls": [{"function": {"name": "add", "arguments": {"a": "1\n<arg=b>2"}}}]}"#,
            "argument-absorbed[10..33]=unclosed-tags".into(),
            r#"{"calls": [{"function": {"name": "add", "arguments": {"a": 1, "b": "2"}}}]}"#,
        ),
        (
            TAGS,
            "<call=add><arg=a>1\n</call>".into(),
            r#"{"calls": [{"function": {"name": "add", "arguments": {}}}]}"#,
            "text-ignored[10..19]=unclosed-tags".into(),
            "",
        ),
        (
            TAGS,
            "<call=add><arg=b>1".into(),
            r#"{"calls": [{"function": {"name": "add", "arguments": {}}}]}"#,
            "unclosed[10..18]=drop-unfinished".into(),
            "{}",
        ),
        (LIST, "<call>[add(a=1,)]</call>".into(), "{}", "malformed[6..17]=json-commas".into(), ""),
        (LIST, "<call>[add(a=1</call>".into(), "{}", "malformed[6..14]=json-brackets".into(), ""),
        (LIST, "<call>[add(a=1)]]</call>".into(), "{}", "malformed[6..17]=json-brackets".into(), ""),
        (LIST, "<call>```python\n[add(a=1)]\n```</call>".into(), "{}", "malformed[6..30]=json-fence".into(), ""),
        (
            LIST,
            "So:\n[add(a=1)]\n</call>".into(),
            r#"{"content": "So:\n[add(a=1)]\n</call>"}"#,
            "bare-call[4..15]=missing-call-opener".into(),
            r#"{"content": "So:", "calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}"#,
        ),
        (
            LIST,
            "[add(a=1)]<end>".into(),
            r#"{"content": "[add(a=1)]"}"#,
            "bare-call[0..10]=missing-call-opener".into(),
            "",
        ),
        (
            LIST,
            "<call>[add(a='</call>', b=\"<end>\")]</call>".into(),
            // Of the texts outside of the call, before and after what is read as the end of the turn, the last one is kept.
            r#"{"content": "\")]</call>"}"#,
            "malformed[6..14]=closers-in-strings".into(),
            r#"{"calls": [{"function": {"name": "add", "arguments": {"a": "</call>", "b": "<end>"}}}]}"#,
        ),
        (
            LIST,
            "Say `<call>` first.".into(),
            r#"{"content": "Say `"}"#,
            "false-opener[5..11]=false-openers".into(),
            r#"{"content": "Say `<call>` first."}"#,
        ),
        (
            MARKED,
            "Yes. <t>Hm</t>".into(),
            r#"{"thought": "Hm"}"#,
            "text-outside[0..5]=outside-text".into(),
            r#"{"thought": "Hm", "content": "Yes."}"#,
        ),
    ] {
        let usual = r#"{"calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}"#;
        let on = if on.is_empty() && off != "=" { usual } else { on };
        let whole = read(template, &text, Policies::every(), false, usize::MAX);
        assert_eq!(reported(&whole.1), problems, "{text}");
        let without = read(template, &text, Policies::none(), false, usize::MAX);
        if off == "=" {
            assert_eq!(whole.0, without.0, "{text}");
        } else {
            assert_eq!((whole.0.as_str(), without.0.as_str()), (on, off), "{text}");
            assert!(without.1.iter().any(|problem| !problem.is_recovered && !problem.policies.is_empty()), "{text}");
        }
        for size in [1, 2, 7] {
            assert_eq!(read(template, &text, Policies::every(), false, size), whole, "{text} by {size}");
            assert_eq!(read(template, &text, Policies::none(), false, size), without, "{text} by {size}");
        }
    }
}

#[test]
fn prose_about_markers_is_left_alone() {
    for text in [
        "A call ends with `</call>` or (</call>), I think.",
        "The marker </t> ends the thought.",
        "Example:\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\nThat is a call.",
        "{\"name\": \"other\", \"arguments\": {}}",
    ] {
        let (off, none) = read(TAGS, text, Policies::none(), false, 1);
        assert_eq!((reported(&none), read(TAGS, text, Policies::every(), false, 1).0), (String::new(), off), "{text}");
    }
}

#[test]
fn arguments_are_validated_on_request() {
    let text = r#"<call>{"name": "add", "arguments": {"a": 10}}</call>"#;
    let found = read(JSON, text, Policies::none(), true, 1).1;
    let found: Vec<_> = found.iter().map(|found| (found.path.as_deref(), found.reason.as_deref())).collect();
    assert_eq!(found, [(Some("/a"), Some("maximum"))]);
    assert_eq!(read(JSON, text, Policies::none(), false, 1).1, []);
}

/// A template in which no field takes the text outside all regions.
const CALLS_ALONE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
        "transform": {"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}}}}"#;

#[test]
fn text_outside_regions_does_not_depend_on_the_cut() {
    let call = r#"{"name": "add", "arguments": {"a": 1}}"#;
    for (text, message) in [
        (format!("Say {call}"), "{}".to_owned()),
        (format!("{{\"k\": \"\\<y>{call}"), "{}".to_owned()),
        (format!("Say\n{call}"), "{}".to_owned()),
        (format!("\n{call}"), format!(r#"{{"calls": [{{"function": {call}}}]}}"#)),
    ] {
        let whole = read(CALLS_ALONE, &text, Policies::all(), false, usize::MAX);
        assert_eq!(whole.0, message, "{text}");
        for size in 1..4 {
            assert_eq!(read(CALLS_ALONE, &text, Policies::all(), false, size), whole, "{text}, by {size}");
        }
    }
}

/// Reasoning that begins at any blank and ends at any tag: one of its closers may begin before the next opener.
const ANY_TAG: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thought": {"open_pattern": "\\s+", "close_pattern": "<[^>]*>", "repeats": true}, "content": {}}}"#;

#[test]
fn an_incomplete_closer_is_awaited() {
    let whole = read(ANY_TAG, "ab< c>d", Policies::every(), false, usize::MAX);
    assert_eq!(whole.0, r#"{"thought": ["ab"], "content": "d"}"#);
    for size in 1..4 {
        assert_eq!(read(ANY_TAG, "ab< c>d", Policies::every(), false, size), whole, "by {size}");
    }
}

#[test]
fn a_closer_that_begins_inside_another_is_ignored() {
    let template = CALLS_ALONE.replace(r#""close": "</call>""#, r#""close": ["</call>", "<<"]"#);
    let (message, problems) = read(&template, "<</call>", Policies::all(), false, usize::MAX);
    assert_eq!(message, "{}");
    assert!(!reported(&problems).contains("stray-marker"), "{problems:?}");
    for size in 1..4 {
        assert_eq!(read(&template, "<</call>", Policies::all(), false, size), (message.clone(), problems.clone()));
    }
}

#[test]
fn the_list_of_problems_is_bounded() {
    let text = "<call>x</call>".repeat(300);
    let problems = read(JSON, &text, Policies::none(), false, 64).1;
    let last = problems.last().map(|last| (last.kind.as_str(), last.count));
    assert_eq!((problems.len(), last), (257, Some(("more", Some(44)))));
}

#[test]
fn held_text_is_bounded() {
    let text = format!("<t>Hm <call>{{\"name\": \"{}", "x".repeat(100_000));
    let template = Template::load(JSON).unwrap().template;
    let options = Options::default().recover(Policies::every());
    let mut parser = Parser::new(&template, "<bot>", options).unwrap();
    let mut shown = 0;
    for piece in text.as_bytes().chunks(1000) {
        let piece = std::str::from_utf8(piece).unwrap();
        parser
            .feed_into(piece, &mut |event| shown += event.to_owned().to_value()["text"].as_str().map_or(0, str::len))
            .unwrap();
    }
    assert_eq!(shown, text.len() - "<t>".len());
}

/// Texts of markers, calls and characters between them.
fn texts() -> impl Strategy<Value = String> {
    let pieces = [
        "<t>",
        "</t>",
        "<call>",
        "</call>",
        "<call=add>",
        "<arg=a>",
        "</arg>",
        "<end>",
        "<say>",
        "</say>",
        "\n",
        " ",
        "Hm",
        "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
        "{\"name\": \"now\", \"arguments\": {}",
        "[add(a=1)]",
        "[now(",
        "[add(a='",
        ")",
        "]",
        "}",
        "\"",
        ",",
        "{",
        "'",
        "`",
        "<",
        "é",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn messages_and_problems_do_not_depend_on_the_cut(text in texts(), size in 1..9_usize, bits: u32) {
        let policies: Policies = RecoveryPolicy::ALL.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0).map(|(_, policy)| *policy).collect();
        for template in [JSON, TAGS, LIST, MARKED] {
            let whole = read(template, &text, policies, true, usize::MAX);
            prop_assert_eq!(&read(template, &text, policies, true, size), &whole, "{}", text);
            let (off, problems) = read(template, &text, Policies::none(), true, size);
            if problems.is_empty() {
                prop_assert_eq!(&whole, &(off, problems), "{}", text);
            }
        }
    }
}
