//! Conversion: what becomes of a schema, and that nothing changes without being reported.

use std::fs;

use backchat::parser::parse;
use backchat::{Template, Value, json};
use backchat_legacy::convert::{Conversion, Options, Status, convert};
use backchat_legacy::schema::Schema;

use crate::support::outcome_in;

fn converted(schema: &str) -> Conversion {
    let schema = Schema::load(schema).unwrap_or_else(|found| panic!("{schema}: {found:?}")).schema;
    convert(&schema, &Options { anchor: Some(("start_anchor", "<|bot_start|>".into())), ..Options::default() })
}

/// A schema whose calls are read by this node, and whose content ends before them.
fn with_calls(calls: &str) -> String {
    let content = r#"{"type": "string", "x-regex": "^([^\\[<{]*)"}"#;
    format!(r#"{{"type": "object", "properties": {{"content": {content}, "tool_calls": {calls}}}}}"#)
}

#[test]
fn calls_carry_over_from_every_form_of_schema() {
    let json = r#""x-parser": "json""#;
    let item = |pattern: &str, item: &str| {
        format!(r#"{{"type": "array", "x-regex-iterator": "{pattern}", "items": {{"type": "object", {item}}}}}"#)
    };
    let parts = |name: &str, arguments: &str| {
        let name = format!(r#""name": {{"type": "string", "x-regex": "{name}"}}"#);
        item("<c>(.*?)</c>", &format!(r#""properties": {{{name}, "arguments": {{{arguments}}}}}"#))
    };
    let list = |pattern: &str| format!(r#"{{"type": "array", "x-regex": "{pattern}", "items": {{}}, {json}}}"#);
    let call = r#"{"name": "f", "arguments": {"a": "x"}}"#;
    for (what, calls, output, arguments) in [
        ("a list that nothing closes", list(r"@calls(\\[.*\\])"), format!("@calls[{call}]"), r#"{"a": "x"}"#),
        ("a list without a marker", list(r"^\\s*(\\[.*\\])"), format!("[{call}]"), r#"{"a": "x"}"#),
        ("objects without a marker", item(r#"(\\{\"name\".*?\\}\\})"#, json), call.to_owned(), r#"{"a": "x"}"#),
        (
            "a name that ends with the brace of its arguments",
            parts(r"^(\\w+)\\{", &format!(r#""type": "object", "x-regex": "(\\{{.*\\}})", {json}"#)),
            r#"<c>f{"a": "x"}</c>"#.to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "arguments that stay text",
            parts(r"^(\\w+)", r#""type": "string", "x-regex": "<a>(.*?)</a>""#),
            "<c>f<a>x y</a></c>".to_owned(),
            r#""x y""#,
        ),
        (
            "arguments that an optional text opens",
            parts(r"^(\\w+)", &format!(r#""type": "object", "x-regex": "(?:<a>)?(\\{{.*\\}})", {json}"#)),
            r#"<c>f{"a": "x"}</c>"#.to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "a key that a substitution renames",
            item("<c>(.*?)</c>", &format!(r#""x-regex-substitutions": [["\"input\":", "\"arguments\":"]], {json}"#)),
            r#"<c>{"name": "f", "input": {"a": "x"}}</c>"#.to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "quotes that a substitution strips",
            parts(
                r"^(\\w+)\\(",
                r#""type": "object", "x-regex-key-value": "(?P<key>\\w+)=(?P<value>\"[^\"]*\"|[^,)]+)",
                    "additionalProperties": {"type": "string", "x-regex-substitutions": [["^\"|\"$", ""]]}"#,
            ),
            r#"<c>f(a="x", b=y)</c>"#.to_owned(),
            r#"{"a": "x", "b": "y"}"#,
        ),
        (
            "a closing sign of the item",
            parts(r"^(\\w+)", &format!(r#""type": "object", "x-regex": "\\((.*)\\)", {json}"#)),
            r#"<c>f({"a": "x"})</c>"#.to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "arguments that substitutions write",
            parts(
                r"^(\\w+)",
                &format!(
                    r#""type": "object", "x-regex-substitutions": [["^\\w+", ""],
                        ["<(\\w+)>(.*?)</>", "\"\\1\": \"\\2\", "], ["^(.*), $", "{{\\1}}"]], {json}"#
                ),
            ),
            "<c>f<a>x</><b>y</></c>".to_owned(),
            r#"{"a": "x", "b": "y"}"#,
        ),
        (
            "a call that only the next one's marker ends",
            item(
                r"<c>(.*?)(?=<c>|<e>|$)",
                &format!(
                    r#""properties": {{"name": {{"type": "string", "x-regex": "^(\\w+)"}},
                        "arguments": {{"type": "object", "x-regex": "(\\{{.*\\}})", {json}}}}}"#
                ),
            ),
            r#"<c>f{"a": "x"}<e>"#.to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "a name whose marker is found further on",
            parts(r"#(\\w+)\\n", &format!(r#""type": "object", "x-regex": "```(.*?)```", {json}"#)),
            "<c>function#f\n```{\"a\": \"x\"}```</c>".to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "arguments up to the last brace but one",
            parts(
                r#"\"name\":\\s*\"(\\w+)\""#,
                r#""type": "string", "x-regex": "\"arguments\":\\s*(\\{.*\\})\\s*\\}""#,
            ),
            r#"<c>{"name": "f", "arguments": {"a": {"b": 1}}}</c>"#.to_owned(),
            r#""{\"a\": {\"b\": 1}}""#,
        ),
        (
            "a call inside another object",
            item(
                "<c>(.*?)</c>",
                r#""x-parser": "json", "x-parser-args": {"transform": "{name: call.tool, arguments: call.input}"}"#,
            ),
            r#"<c>{"call": {"tool": "f", "input": {"a": "x"}}}</c>"#.to_owned(),
            r#"{"a": "x"}"#,
        ),
        (
            "a list with markers of its own",
            format!(
                r#"{{"type": "array", "x-regex": "<list>(.*?)</list>", "x-regex-iterator": "<c>(.*?)</c>",
                    "items": {{"type": "object", {json}}}}}"#
            ),
            format!("<list><c>{call}</c></list>"),
            r#"{"a": "x"}"#,
        ),
        (
            "a last call that the end of the list closes",
            format!(
                r#"{{"type": "array", "x-regex": "<list>(.*?)</list>", "x-regex-iterator": "(.+?)(?:<next>|$)",
                    "items": {{"type": "object", {json}}}}}"#
            ),
            format!("<list>{call}</list>"),
            r#"{"a": "x"}"#,
        ),
        ("lines without markers", item(r#"(\\{\"name\".*?\\})(?:\\n|$)"#, json), format!("{call}\n"), r#"{"a": "x"}"#),
    ] {
        let schema = with_calls(&calls);
        let wanted = format!(r#"{{"name": "f", "arguments": {arguments}}}"#);
        let by_schema = Schema::load(&schema).unwrap().schema.parse(&output).unwrap();
        assert_eq!(by_schema["tool_calls"][0].to_string(), wanted, "{what}: the test is wrong");
        let conversion = converted(&schema);
        let message = json::read(&read(&conversion, &output)).unwrap();
        assert_eq!(message["tool_calls"].to_string(), format!("[{wanted}]"), "{what}: {:?}", conversion.losses);
    }
}

#[test]
fn other_texts_of_a_call_carry_over() {
    let arguments = r#""arguments": {"type": "object", "x-parser": "json"}"#;
    let grouped = format!(
        r#"{{"type": "array", "x-regex-iterator": "<c (?P<id>\\w+) (?P<name>\\w+)>(?P<arguments>.*?)</c>",
            "items": {{"type": "object", "properties": {{"id": {{"type": "string"}}, "name": {{"type": "string"}}, {arguments}}}}}}}"#
    );
    let own = r#"{"type": "array", "x-regex-iterator": "<c (.*?)</c>", "items": {"type": "object", "properties": {
        "id": {"type": "string", "x-regex": "^(\\S+)"}, "name": {"type": "string", "x-regex": "^\\w+\\.(\\w+)"},
        "arguments": {"type": "object", "x-regex": ">(.*)$", "x-parser": "json"}}}}"#;
    for (calls, output, id) in
        [(grouped.as_str(), r#"<c c7 f>{"a": 1}</c>"#, "c7"), (own, r#"<c at.f:7 >{"a": 1}</c>"#, "at.f:7")]
    {
        let schema = with_calls(calls);
        let wanted = format!(r#"[{{"id": "{id}", "name": "f", "arguments": {{"a": 1}}}}]"#);
        let by_schema = Schema::load(&schema).unwrap().schema.parse(output).unwrap();
        assert_eq!(by_schema["tool_calls"].to_string(), wanted, "the test is wrong");
        let conversion = converted(&schema);
        let message = json::read(&read(&conversion, output)).unwrap();
        assert_eq!(message["tool_calls"].to_string(), wanted, "{:?}", conversion.losses);
    }
}

/// The content ends where a section of calls begins that the schema says nothing else of.
#[test]
fn markers_around_calls_are_not_content() {
    let schema = r#"{"type": "object", "properties": {
        "content": {"type": "string", "x-regex": "^(.*?)(?:<list>|<e>|$)"},
        "tool_calls": {"type": "array", "x-regex-iterator": "<c>(.*?)</c>", "items": {"type": "object", "x-parser": "json"}}}}"#;
    let conversion = converted(schema);
    let output = r#"Yes.<list><c>{"name": "f", "arguments": {}}</c></list><e>"#;
    let wanted = r#"{"content": "Yes.", "tool_calls": [{"name": "f", "arguments": {}}]}"#;
    assert_eq!(Schema::load(schema).unwrap().schema.parse(output).unwrap().to_string(), wanted, "the test is wrong");
    assert_eq!(read(&conversion, output), wanted, "{:?}", conversion.losses);
}

/// The message of a converted template for an output.
fn read(conversion: &Conversion, output: &str) -> String {
    let finished = parse(conversion.template.as_ref().unwrap(), "<|bot_start|>", output, None).unwrap();
    Value::Object(finished.message).to_string()
}

const FIELDS: &str = r#"{"type": "object", "properties": {
    "role": {"const": "assistant"},
    "thinking": {"type": "string", "x-regex": "<r>(.*?)</r>"},
    "content": {"type": "string", "x-regex": "<a>\\n?(.*?)\\n?(?:</a>|$)"},
    "calls": {"type": "array", "x-regex-iterator": "<c>\\s*(\\{.*?\\})\\s*</c>", "items": {"x-parser": "json", "type": "object"}}
}}"#;

#[test]
fn fields_between_markers_carry_over_with_literals() {
    let conversion = converted(FIELDS);
    assert_eq!(conversion.status, Status::Proved);
    assert_eq!((conversion.losses.len(), conversion.passed), (0, conversion.cases));
    assert!(conversion.cases > 20, "{}", conversion.cases);
    let template = conversion.template.as_ref().unwrap().to_value();
    let fields = &template["fields"];
    assert_eq!(fields["thinking"].to_string(), r#"{"open": "<r>", "close": "</r>"}"#);
    assert_eq!(fields["content"].to_string(), r#"{"open": "<a>", "close": "</a>"}"#);
    assert_eq!(fields["calls"]["open"].as_str(), Some("<c>"));
    assert_eq!(template["defaults"].to_string(), r#"{"role": "assistant"}"#);
}

#[test]
fn a_mistake_of_the_schema_is_a_better_loss() {
    // One call by construction, and a content that runs to the end.
    let schema = r#"{"type": "object", "x-regex":
        "^(?:<r>(?P<thinking>.*?)</r>\\s*)?(?P<content>.*?)(?:<c>(?P<tool_calls>.*?)</c>)?$",
        "properties": {"thinking": {"type": "string"}, "content": {"type": "string"},
            "tool_calls": {"type": "array", "x-parser": "json", "x-parser-args": {"transform": "[{type: 'function', function: @}]"},
                "items": {"type": "object"}}}}"#;
    let conversion = converted(schema);
    assert_eq!(conversion.status, Status::Partial);
    assert!(conversion.losses.iter().any(|loss| loss.better), "{:?}", conversion.losses);
    let two = r#"<r>Hm.</r>Sure.<c>{"name": "f", "arguments": {}}</c><c>{"name": "g", "arguments": {}}</c><|bot_end|>"#;
    let want = r#"{"thinking": "Hm.", "content": "Sure.", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}, {"type": "function", "function": {"name": "g", "arguments": {}}}]}"#;
    assert_eq!(read(&conversion, two), want);
}

#[test]
fn calls_that_patterns_parse_carry_over() {
    for (items, output) in [
        (
            r#"{"type": "object", "x-regex": "run (?P<name>\\w+)(?P<arguments>\\{.*\\})",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object", "x-parser": "json"}}}"#,
            r#"<c>run f{"a": 1}</c>"#,
        ),
        (
            r#"{"type": "object", "properties": {"name": {"type": "string", "x-regex": "<fn=(\\w+)>"},
                "arguments": {"type": "object", "x-regex-key-value": "<p=(?P<key>\\w+)>(?P<value>.*?)</p>",
                    "additionalProperties": {"x-parser": "json", "x-parser-args": {"allow_non_json": true}}}}}"#,
            "<c><fn=f><p=a>1</p></fn></c>",
        ),
        (
            r#"{"type": "object", "properties": {"name": {"type": "string", "x-regex": "^(\\S+)"},
                "arguments": {"type": "object", "x-regex": "args: (.*)", "x-parser": "json"}}}"#,
            r#"<c>f args: {"a": 1}</c>"#,
        ),
    ] {
        let schema = format!(
            r#"{{"type": "object", "properties": {{"content": {{"type": "string", "x-regex": "<a>(.*?)</a>"}},
                "tool_calls": {{"type": "array", "x-regex-iterator": "<c>(.*?)</c>", "items": {items}}}}}}}"#
        );
        let conversion = converted(&schema);
        let calls = r#"{"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}"#;
        assert_eq!(read(&conversion, output), calls, "{items}: {:?}", conversion.losses);
    }
}

/// Converts a schema with these properties, reads an output, and checks that the schema reads the same.
fn proved_and_read(properties: &str, output: &str) -> String {
    let schema = format!(r#"{{"type": "object", "properties": {{{properties}}}}}"#);
    let conversion = converted(&schema);
    assert_eq!(conversion.status, Status::Proved, "{schema}: {:?}", conversion.losses);
    let read = read(&conversion, output);
    let by_schema = Schema::load(&schema).unwrap().schema.parse(output).unwrap();
    assert_eq!(json::read(&read).unwrap(), by_schema, "{schema}");
    read
}

#[test]
fn a_marker_that_ends_content_opens_its_field() {
    let content = |ends: &str| format!(r#""content": {{"type": "string", "x-regex": "^(.*?)(?:{ends}|$)"}}"#);
    let field = |name: &str, pattern: &str| format!(r#""{name}": {{"type": "string", "x-regex": "{pattern}"}}"#);
    let code = field("code", "<tag>(.*?)</tag>");
    let notes = [field("plan", "<plan>(.*?)</plan>"), field("note", "<note>(.*?)(?:</note>|$)")].join(", ");
    let call = r#""call": {"type": "object", "x-regex": "<call>(.*?)</call>", "x-parser": "json"}"#;
    for (ends, fields, output, wanted) in [
        ("<tag>", &*code, "a<tag>b</tag>", r#"{"content": "a", "code": "b"}"#),
        ("<tag>", &*code, "a<tag>b</tag>\nMore.", r#"{"content": "a", "code": "b"}"#),
        ("<tag>", &*field("code", "<tag>(.*)$"), "a<tag>b", r#"{"content": "a", "code": "b"}"#),
        ("<tag>|<e>", &*field("code", "<tag>(.*?)(?:<e>|$)"), "a<tag>b<e>", r#"{"content": "a", "code": "b"}"#),
        ("<plan>|<note>", &*notes, "a<plan>p</plan><note>n", r#"{"content": "a", "plan": "p", "note": "n"}"#),
        ("<call>", call, r#"a<call>{"name": "x"}</call>"#, r#"{"content": "a", "call": {"name": "x"}}"#),
    ] {
        let read = proved_and_read(&format!("{}, {fields}", content(ends)), output);
        assert_eq!(json::read(&read).unwrap(), json::read(wanted).unwrap(), "{fields}");
    }
}

#[test]
fn every_field_of_many_is_written() {
    let field = |at: usize| format!(r#""f{at}": {{"type": "string", "x-regex": "<f{at}>(.*?)</f{at}>"}}"#);
    let fields: Vec<String> = (0..8).map(field).collect();
    assert_eq!(proved_and_read(&fields.join(", "), "<f0>a</f0><f7>b</f7>"), r#"{"f0": "a", "f7": "b"}"#);
}

#[test]
fn groups_before_a_call_carry_over_in_their_order() {
    let calls = r#"{"type": "array", "x-regex-iterator": "<c>(?P<type>\\w+)<sep>(?P<function>.*?)</c>", "items": {
        "type": "object", "properties": {"type": {"type": "string"}, "function": {"type": "object",
            "x-regex": "^(?P<name>\\w+)\\n```json\\n(?P<arguments>.*?)\\n```$",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object", "x-parser": "json"}}}}}}"#;
    let schema = with_calls(calls);
    let output = "<c>function<sep>get\n```json\n{\"a\": 1}\n```</c>";
    let wanted = r#"{"tool_calls": [{"type": "function", "function": {"name": "get", "arguments": {"a": 1}}}]}"#;
    let conversion = converted(&schema);
    assert_eq!(read(&conversion, output), wanted, "{:?}", conversion.losses);
    let by_schema = Schema::load(&schema).unwrap().schema.parse(output).unwrap();
    assert_eq!(by_schema["tool_calls"], json::read(wanted).unwrap()["tool_calls"], "the test is wrong");
}

#[test]
fn a_group_that_takes_no_part_gets_the_default() {
    let schema = r#"{"type": "object", "x-regex": "^(?:<t>(?P<thinking>.*?)</t>)?(?P<content>.*)$", "properties": {
        "thinking": {"type": "string", "default": "-"}, "content": {"type": "string"}}}"#;
    let conversion = converted(schema);
    for (output, wanted) in [
        ("Yes", r#"{"thinking": "-", "content": "Yes"}"#),
        ("<t>Hm.</t>Yes", r#"{"thinking": "Hm.", "content": "Yes"}"#),
    ] {
        assert_eq!(read(&conversion, output), wanted, "{:?}", conversion.losses);
        assert_eq!(Schema::load(schema).unwrap().schema.parse(output).unwrap().to_string(), wanted);
    }
}

/// Checks that a schema converts with a loss, which is no improvement, and returns the messages of all losses.
fn losing(schema: &str, path: &str, construct: &str) -> Vec<String> {
    let conversion = converted(schema);
    let is_named = conversion.losses.iter().any(|loss| (&*loss.path, &*loss.construct) == (path, construct));
    assert!(is_named, "{schema}: {:?}", conversion.losses);
    assert_eq!((conversion.status, conversion.is_no_worse()), (Status::Partial, false), "{schema}");
    conversion.losses.into_iter().map(|loss| loss.message).collect()
}

/// Calls between marks, whose items have these keys.
fn marked_calls(item: &str) -> String {
    let items = format!(r#"{{"type": "object", {item}}}"#);
    with_calls(&format!(r#"{{"type": "array", "x-regex-iterator": "<c>(.*?)</c>", "items": {items}}}"#))
}

#[test]
fn what_a_schema_does_to_calls_is_a_loss() {
    let json = |more: &str| marked_calls(&format!(r#""x-parser": "json", {more}"#));
    let items = "$.properties.tool_calls.items";
    let arguments = "$.properties.tool_calls.items.properties.arguments";
    for (schema, path, construct) in [
        (
            json(r#""properties": {"name": {"type": "string"}, "arguments": {"type": "object", "default": {}}}"#),
            arguments,
            "default",
        ),
        (
            json(r#""properties": {"arguments": {"type": "object", "properties": {"n": {"type": "integer"}}}}"#),
            &*format!("{arguments}.properties.n"),
            "type",
        ),
        (
            json(
                r#""properties": {"arguments": {"type": "object", "properties": {
                    "o": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}"#,
            ),
            &*format!("{arguments}.properties.o.properties.n"),
            "type",
        ),
        (
            json(
                r#""properties": {"arguments": {"type": "object", "properties": {
                    "ids": {"type": "array", "items": {"type": "integer"}}}}}"#,
            ),
            &*format!("{arguments}.properties.ids.items"),
            "type",
        ),
        (
            json(r#""properties": {"name": {}, "arguments": {}}, "additionalProperties": false"#),
            items,
            "additionalProperties",
        ),
        (
            json(r#""x-parser-args": {"transform": "{name: tool, arguments: params || `{}`}"}"#),
            items,
            "optional key `params`",
        ),
        (
            marked_calls(
                r#""x-regex": "^(?P<name>\\w+)>(?P<arguments>.*)$", "properties": {"name": {}, "arguments": {
                    "type": "object", "x-regex-key-value": "\\[(?P<key>\\w+)=(?P<value>.*?)\\]",
                    "properties": {"ok": {"type": "boolean"}}}}"#,
            ),
            &*format!("{arguments}.properties.ok"),
            "type",
        ),
        (
            marked_calls(
                r#""x-regex": "^(?P<n>\\d+) (?P<name>\\w+)>(?P<arguments>.*)$", "properties": {
                    "n": {"type": "integer"}, "name": {}, "arguments": {"type": "object", "x-parser": "json"}}"#,
            ),
            &*format!("{items}.properties.n"),
            "property of a call",
        ),
    ] {
        losing(&schema, path, construct);
    }
}

#[test]
fn what_a_schema_does_to_fields_is_a_loss() {
    let field = |more: &str| {
        format!(r#"{{"type": "object", "properties": {{"content": {{"x-regex": "<a>(.*?)</a>", {more}}}}}}}"#)
    };
    let json =
        |properties: &str| field(&format!(r#""x-parser": "json", "type": "object", "properties": {properties}"#));
    let integer = json(r#"{"a": {"type": "integer"}}"#);
    let content = "$.properties.content";
    for (schema, path, construct) in [
        (&*integer, &*format!("{content}.properties.a"), "type"),
        (
            &*integer.replace("{\"content\"", r#"{"text": {"x-regex": "<t>(.*?)</t>"}, "content""#).replacen(
                '{',
                r#"{"required": ["text", "content"], "#,
                1,
            ),
            &*format!("{content}.properties.a"),
            "type",
        ),
        (
            &*json(r#"{"ids": {"type": "array", "items": {"type": "integer"}}}"#),
            &*format!("{content}.properties.ids.items"),
            "type",
        ),
        (
            &*json(
                r#"{"rows": {"type": "array", "items": {"type": "array", "items": {
                    "type": "object", "properties": {"n": {"type": "number"}}}}}}"#,
            ),
            &*format!("{content}.properties.rows.items.items.properties.n"),
            "type",
        ),
        (
            &*json(r#"{"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}]}}"#),
            &*format!("{content}.properties.pair.prefixItems[1]"),
            "type",
        ),
        (&*field(r#""x-parser": "json", "type": "integer""#), content, "type"),
        (
            &*field(r#""type": "string""#).replace("<a>(.*?)</a>", r"<(?=a)\\w>(.*?)</a>"),
            content,
            "field that the proof does not reach",
        ),
    ] {
        losing(schema, path, construct);
    }
}

#[test]
fn what_a_substitution_does_is_a_loss() {
    let compared = "the template does not rewrite the text of the field";
    let unshown = "no output of the proof shows what a substitution does, so it is not compared";
    for (substitutions, message) in [
        (r#"["colour", "color"]"#, compared),
        (r#"["[0-9]{4}", "(year)"]"#, unshown),
        (r#"["colou?r", "color"]"#, unshown),
        (r#"["(?<=[a-z]{3})!", "."]"#, unshown),
        (r#"["<b>", ""], ["colou?r", "color"]"#, unshown),
    ] {
        let schema = format!(
            r#"{{"type": "object", "properties": {{"content": {{"type": "string", "x-regex": "<a>(.*?)</a>",
                "x-regex-substitutions": [{substitutions}]}}}}}}"#
        );
        let messages = losing(&schema, "$.properties.content", "x-regex-substitutions");
        assert!(messages.iter().any(|known| known == message), "{substitutions}: {messages:?}");
    }
}

#[test]
fn what_a_schema_does_to_groups_is_a_loss() {
    let root = |pattern: &str, properties: &str| {
        format!(r#"{{"type": "object", "x-regex": "{pattern}", "properties": {{{properties}}}}}"#)
    };
    let thinking = r#""thinking": {"type": "string", "default": "-"}, "content": {"type": "string"}"#;
    for (schema, path, construct) in [
        (root("<a>(?P<content>.*?)</a>(?P<rest>.*)", r#""content": {}"#), "$", "group `rest` without a property"),
        (
            root("^(?:<t(?!>).>(?P<thinking>.*?)</t>)?(?P<content>.*)$", thinking),
            "$.properties.thinking",
            "field that the proof does not reach",
        ),
    ] {
        losing(&schema, path, construct);
    }
}

#[test]
fn a_field_with_markers_that_the_template_lacks_is_named() {
    let schema = r#"{"type": "object", "properties": {
        "content": {"type": "string", "x-regex": "^(.*?)(?:<e>|$)"}, "a": {"type": "string", "x-regex": "<a>([A-Z]{7})</a>"}}}"#;
    let derived = Value::from([
        ("start_anchor", "<|bot_start|>".into()),
        ("fields", Value::from([("content", Value::from([("close", "<e>".into())]))])),
    ]);
    let derived = Template::from_value(&derived).unwrap().template;
    let anchor = Some(("start_anchor", "<|bot_start|>".into()));
    let options = Options { anchor, derived: Some(derived), ..Options::default() };
    let conversion = convert(&Schema::load(schema).unwrap().schema, &options);
    let of_field = conversion.losses.iter().filter(|loss| loss.path == "$.properties.a");
    let named: Vec<&str> = of_field.map(|loss| &*loss.construct).collect();
    assert_eq!(named, ["field that the template lacks", "field that the proof does not reach"]);
}

#[test]
fn a_default_without_a_group_is_a_literal() {
    let schema = r#"{"type": "object", "x-regex": "^(?P<content>.*)$", "properties": {
        "role": {"default": "assistant"}, "content": {"type": "string"}}}"#;
    let conversion = converted(schema);
    assert_eq!((conversion.status, &*conversion.losses), (Status::Proved, &[][..]));
    let wanted = json::read(r#"{"role": "assistant", "content": "Yes"}"#).unwrap();
    assert_eq!(json::read(&read(&conversion, "Yes")).unwrap(), wanted);
    assert_eq!(Schema::load(schema).unwrap().schema.parse("Yes").unwrap(), wanted);
}

#[test]
fn a_list_with_other_keys_gets_transform_each() {
    let schema = r#"{"type": "object", "properties": {"tool_calls": {"type": "array", "x-regex": "<l>(.*?)</l>", "x-parser": "json",
        "x-parser-args": {"transform": "[*].{type: 'function', function: {name: tool, arguments: input}}"},
        "items": {"type": "object", "properties": {"function": {"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}}}}}}}"#;
    let conversion = converted(schema);
    let want = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}, "type": "function"}]}"#;
    assert_eq!(read(&conversion, r#"<l>[{"tool": "f", "input": {"a": 1}}]</l>"#), want, "{:?}", conversion.losses);
}

#[test]
fn an_inexpressible_schema_has_a_reason() {
    for (schema, construct) in [
        (r#"{"type": "array", "x-regex-iterator": "<c>(.*?)</c>", "items": {}}"#, "root that is a list"),
        (r#"{"const": 1}"#, "root that is a constant"),
        (r#"{"type": "string", "x-regex": "(a)"}"#, "root of type string"),
        (r#"{"type": "object", "x-parser": "json"}"#, "x-parser at the root"),
        (
            r#"{"type": "object", "properties": {"content": {"type": "string", "x-regex": "(a"}}}"#,
            "pattern that does not compile",
        ),
    ] {
        let conversion = converted(schema);
        assert_eq!(conversion.status, Status::Inexpressible, "{schema}");
        assert!(conversion.template.is_none());
        assert_eq!(conversion.losses[0].construct, construct, "{schema}");
    }
}

#[test]
fn unused_keys_are_reported() {
    let schema = FIELDS
        .replace(r#""role": {"const": "assistant"},"#, r#""role": {"const": "assistant", "x-mapping": {"a": "b"}},"#);
    let conversion = converted(&schema);
    assert!(conversion.losses.iter().any(|loss| loss.construct == "x-mapping" && loss.path == "$.properties.role"));
}

#[test]
fn a_config_gets_the_template_and_keeps_every_other_byte() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{{\n  \"eos_token\": \"</s>\",\n  \"response_schema\": {FIELDS},\n  \"x\": 1.50\n}}\n");
    let path = folder.path().join("tokenizer_config.json");
    fs::write(&path, &config).unwrap();
    let (code, _, err) = outcome_in(folder.path(), &["convert", ".", "--write"]);
    assert_eq!(code, 2);
    assert!(err.contains("error[no-start-anchor]") && err.contains("--chat-template"), "{err}");

    let (code, _, err) = outcome_in(folder.path(), &["convert", ".", "--start-anchor", "<|bot|>", "--write"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("proved: "), "{err}");
    let written = fs::read_to_string(&path).unwrap();
    assert!(
        written.contains("\"response_schema\"")
            && written.contains("\"response_template\"")
            && written.contains("1.50")
    );

    fs::write(&path, &config).unwrap();
    outcome_in(folder.path(), &["convert", ".", "--start-anchor", "<|bot|>", "--write", "--remove"]);
    let written = json::read(&fs::read_to_string(&path).unwrap()).unwrap();
    let keys: Vec<&str> = written.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["eos_token", "response_template", "x"]);
}

#[test]
fn a_schema_is_removed_once_the_template_is_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("model")).unwrap();
    let path = folder.path().join("model/tokenizer_config.json");
    let read = || fs::read_to_string(&path).unwrap();
    let convert =
        |more: &[&str]| outcome_in(folder.path(), &[&["convert", "model", "--start-anchor", "<|bot|>"], more].concat());
    let with = |rest: &str| fs::write(&path, format!("{{\n  \"response_schema\": {FIELDS}{rest}\n}}\n")).unwrap();
    let said = |text: &str| (0, String::new(), text.to_owned());
    let nothing = said("model already has a response template; nothing to do\n");
    with("");
    assert_eq!(convert(&["--write"]).0, 0);
    let written = read();
    assert_eq!(convert(&["--write"]), nothing);
    assert_eq!(read(), written);
    assert_eq!(convert(&["--write", "--remove"]), said("Removed `response_schema` from model.\n"));
    let keys =
        |text: &str| json::read(text).unwrap().as_object().unwrap().keys().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(keys(&read()), ["response_template"]);
    assert_eq!(convert(&["--write", "--remove"]), nothing);
    let (code, out, err) = convert(&["--write", "--format", "json"]);
    let row = json::read(&out).unwrap();
    assert_eq!((code, row["status"].as_str(), err.as_str()), (0, Some("unchanged"), ""));
    assert_eq!(row["response_template"], json::read(&read()).unwrap()["response_template"]);
    // Without --write, a template is asked for, and there is none to make.
    assert_eq!(convert(&[]).0, 2);
    // What is read from standard input can't be written there.
    let (code, _, err) = outcome_in(folder.path(), &["convert", "-", "--write"]);
    assert!(code == 2 && err.contains("pass the config as a file"), "{err}");

    // A null is like no template, and a schema may be there twice.
    with(",\n  \"response_template\": null");
    assert_eq!(convert(&["--write"]).0, 0);
    assert!(read().contains("\"response_template\": {") && !read().contains("null,"), "{}", read());
    with(&format!(
        ",\n  \"response_template\": {{\"start_anchor\": \"a\", \"fields\": {{\"content\": {{}}}}}},\n  \"response_schema\": {FIELDS}"
    ));
    assert_eq!(convert(&["--write", "--remove"]).0, 0);
    assert_eq!(read(), "{\n  \"response_template\": {\"start_anchor\": \"a\", \"fields\": {\"content\": {}}}\n}\n");
}

#[test]
fn the_anchor_comes_from_the_chat_template() {
    let folder = tempfile::tempdir().unwrap();
    let chat_template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|stop|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    let schema =
        r#"{"type": "object", "properties": {"content": {"type": "string", "x-regex": "^(.*?)(?:<\\|stop\\|>|$)"}}}"#;
    let row = Value::from([("chat_template", chat_template.into()), ("response_schema", json::read(schema).unwrap())]);
    fs::write(folder.path().join("tokenizer_config.json"), row.to_string()).unwrap();
    let (code, out, err) = outcome_in(folder.path(), &["convert", "."]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(json::read(&out).unwrap()["start_anchor"].as_str(), Some("<|assistant|>"));
}

#[test]
fn every_command_handles_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.json"), FIELDS).unwrap();
    fs::write(folder.path().join("o.txt"), "<r>Hm.</r><a>Yes</a>").unwrap();
    let (code, out, _) = outcome_in(folder.path(), &["parse", "s.json", "o.txt"]);
    assert_eq!((code, out.trim()), (0, r#"{"role": "assistant", "thinking": "Hm.", "content": "Yes"}"#));
    for option in [&["--events"][..], &["--chunks", "3"], &["--mode", "reference"]] {
        let (code, _, err) = outcome_in(folder.path(), &[&["parse", "s.json", "o.txt"][..], option].concat());
        assert_eq!(code, 2, "{option:?}");
        assert!(err.contains("a response schema reads the whole output; convert it to stream"), "{err}");
    }
    #[cfg(feature = "tui")]
    {
        let (code, _, err) = outcome_in(folder.path(), &["replay", "s.json", "o.txt"]);
        assert_eq!(code, 2);
        assert!(err.contains("a response schema reads the whole output; convert it to stream"), "{err}");
    }
    let (code, out, _) = outcome_in(folder.path(), &["lint", "s.json"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("SC001"), "{out}");

    let case = "template: s.json\n\n=== prefix none\n\n=== case one\n=== output\n<a>Yes</a>\n=== message\n{\"role\": \"assistant\", \"content\": \"Yes\"}\n";
    fs::write(folder.path().join("one.fixture"), case).unwrap();
    let (code, out, err) = outcome_in(folder.path(), &["check", "one.fixture"]);
    assert_eq!(code, 0, "{out}{err}");
    fs::write(folder.path().join("one.fixture"), case.replace("\"Yes\"", "\"No\"")).unwrap();
    assert_eq!(outcome_in(folder.path(), &["check", "one.fixture"]).0, 1);

    fs::write(folder.path().join("both.json"), r#"{"fields": {"content": {}}, "x-regex": "a"}"#).unwrap();
    let (code, _, err) = outcome_in(folder.path(), &["parse", "both.json", "o.txt"]);
    assert_eq!(code, 2);
    assert!(err.contains("error[two-formats]"), "{err}");
}

#[test]
fn lint_reports_what_fails_in_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    for (rule, schema) in [
        ("SC010", r#"{"type": "object", "properties": {"content": {"x-regex": "\\p{L}"}}}"#),
        ("SC010", r#"{"x-parser": "json", "x-parser-args": {"transform": "["}}"#),
        ("SC011", r#"{"type": "object", "properties": {"content": {"x-regex": "<a>.*</a>"}}}"#),
        ("SC011", r#"{"type": "object", "x-regex-key-value": "(?P<key>a)"}"#),
        ("SC012", r#"{"type": "object", "x-regex-iterator": "(a)"}"#),
        ("SC020", r#"{"type": "string", "x-mapping": {}}"#),
        ("SC020", r#"{"type": "string", "anyOf": []}"#),
        ("SC030", r#"{"type": "string", "x-regex": "((?:a+)+)b"}"#),
        ("SC040", r#"{"type": "object", "properties": {"content": {"type": "string", "x-regex": "^(.*)$"}}}"#),
        (
            "SC050",
            r#"{"type": "array", "x-regex": "<c>(.*?)</c>", "x-parser": "json", "x-parser-args": {"transform": "[@]"}, "items": {}}"#,
        ),
    ] {
        fs::write(folder.path().join("s.json"), schema).unwrap();
        let (_, out, _) = outcome_in(folder.path(), &["lint", "s.json"]);
        assert!(out.contains(rule), "{rule}: {schema}\n{out}");
    }
    fs::write(folder.path().join("s.json"), FIELDS).unwrap();
    let (_, out, _) = outcome_in(folder.path(), &["lint", "s.json"]);
    assert!(!out.contains("SC0") || out.matches("SC0").count() == out.matches("SC001").count(), "{out}");
}

#[test]
fn where_nothing_is_to_be_converted_the_next_command_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tokenizer_config.json"), "{\"chat_template\": \"{{ messages }}\"}").unwrap();
    let (code, _, err) = outcome_in(folder.path(), &["convert", "."]);
    assert!(code == 2 && err.starts_with("error[no-schema]") && err.contains("`backchat derive .`"), "{err}");
}
