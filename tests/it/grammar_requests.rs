//! Grammars of whole requests: the body of a chat completion, the format of its answer, custom tools, and the other fields of
//! results.

use backchat::chat::RenderOptions;
use backchat::grammar::{self, Choice, Effect, Fed, Format, Grammar, Presence, Reasoning, Request};
use backchat::json::{Object, Value};
use backchat::parser::parse;
use backchat::template::Template;
use backchat_derive::derive;
use backchat_grammar::Layout;

use crate::grammar::{Model, call, models, tools, value, verdict};

const ANSWER: &str = r#"{"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {
    "answer": {"type": "string"}, "score": {"type": "integer", "minimum": 0, "maximum": 100}}, "required": ["answer"],
    "additionalProperties": false}}}"#;

fn body(fields: &str) -> Value {
    value(&format!("{{{fields}}}"))
}

fn build(model: &Model, request: &Request<'_>) -> Grammar {
    grammar::build(&model.template, &model.wire, request)
        .unwrap_or_else(|problems| panic!("{}: {}", model.name, problems[0].message))
}

fn result(grammar: &Grammar) -> Value {
    backchat_grammar::result(grammar, Format::Gbnf, Layout::default())
}

fn answer_of(content: &str) -> String {
    Value::from([("role", "assistant".into()), ("content", content.into())]).to_string()
}

#[test]
fn the_content_is_json_of_the_schema_inside_the_turn() {
    let mut seen = 0;
    let format = body(&format!(r#""response_format": {ANSWER}"#));
    for model in models() {
        let Some(prompt) = model.prompt() else { continue };
        let request = Request::from_body(&format).unwrap().prompt(prompt.as_str());
        let grammar = build(model, &request);
        assert!(grammar.to_lazy_gbnf().is_none(), "{}", model.name);
        for (content, expected) in [
            (r#"{"answer": "Zürich \"x\" \\ \n", "score": 7}"#, "accept"),
            ("{\n  \"answer\": \"\"\n}", "accept"),
            (r#"{"answer": "a", "score": 101}"#, "reject"),
            (r#"{"score": 7}"#, "reject"),
            (r#"{"answer": "a", "more": 1}"#, "reject"),
            (r#"Here: {"answer": "a"}"#, "reject"),
            (r#"{"answer": "a"} Done."#, "reject"),
            ("Sure.", "reject"),
        ] {
            let Some(output) = model.output(&answer_of(content), &grammar) else { continue };
            // Some templates change the content.
            if !output.contains(content) {
                continue;
            }
            assert_eq!(verdict(&grammar, &output), expected, "{}: {output:?}", model.name);
            if expected == "accept" {
                let message = parse(&model.template, &prompt, &output, None).unwrap().message;
                assert_eq!(message.get("content").and_then(Value::as_str), Some(content), "{}", model.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_tool_choice_decides_between_answer_and_calls() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let json = r#"{"answer": "a"}"#;
    let spoken = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";
    for (choice, content, answer, call, both) in [
        ("\"auto\"", Presence::Auto, "accept", "accept", "reject"),
        ("\"auto\"", Presence::Always, "accept", "reject", "accept"),
        ("\"none\"", Presence::Auto, "accept", "reject", "reject"),
        ("\"required\"", Presence::Auto, "reject", "accept", "reject"),
        (r#"{"type": "function", "function": {"name": "get_time"}}"#, Presence::Auto, "reject", "accept", "reject"),
    ] {
        let body = body(&format!(r#""tools": {}, "tool_choice": {choice}, "response_format": {ANSWER}"#, tools()));
        let grammar = build(model, &Request::from_body(&body).unwrap().content(content).prompt(prompt.as_str()));
        let verdicts = [json, spoken, &format!("{json}\n{spoken}")].map(|text| verdict(&grammar, text));
        assert_eq!(verdicts, [answer, call, both], "{choice} {content:?}");
        let is_noted = grammar.notes().iter().any(|note| note.message.contains("the form of the answer has no effect"));
        assert_eq!(is_noted, answer == "reject", "{choice}");
    }
}

#[test]
fn json_object_allows_any_members() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let loose = r#"{"type": "json_schema", "json_schema": {"strict": false, "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}"#;
    for (format, text, expected) in [
        (r#"{"type": "json_object"}"#, r#"{"a": [1, {"b": null}], "ü": "x"}"#, "accept"),
        (r#"{"type": "json_object"}"#, "{}", "accept"),
        (r#"{"type": "json_object"}"#, "[1]", "reject"),
        (r#"{"type": "json_object", "schema": {"type": "array"}}"#, "[1, \"a\"]", "accept"),
        (r#"{"type": "json_schema", "schema": {"enum": ["yes", "no"]}}"#, "\"yes\"", "accept"),
        (
            r#"{"type": "json_schema", "schema": {"type": "object", "properties": {"free": {"type": "object"}}}}"#,
            r#"{"free": {"a": [1, {"b": null}]}}"#,
            "accept",
        ),
        (loose, r#"{"a": 1, "b": "c"}"#, "accept"),
        (loose, r#"{"a": "x"}"#, "reject"),
        (r#"{"type": "text"}"#, "Sure.", "accept"),
        (r#"{"type": "json_schema", "schema": {"type": "string", "format": "date"}}"#, "\"2024-02-29\"", "accept"),
        // A marker inside a string would end the content.
        (r#"{"type": "json_object"}"#, r#"{"a": "<tool_call>"}"#, "reject"),
        (r#"{"type": "json_object"}"#, r#"{"a": "\u003ctool_call>"}"#, "accept"),
    ] {
        let body = body(&format!(r#""response_format": {format}"#));
        let grammar = build(model, &Request::from_body(&body).unwrap().prompt(prompt.as_str()));
        assert_eq!(verdict(&grammar, text), expected, "{format}: {text}");
    }
}

#[test]
fn invalid_and_unenforceable_fields_are_refused_with_their_pointers() {
    for (fields, problem) in [
        (r#""guided_json": {}"#, "`/guided_json` is a grammar of its own"),
        (r#""structured_outputs": {"regex": "a"}"#, "`/structured_outputs` is a grammar of its own"),
        (r#""response_format": {"type": "grammar"}"#, "`/response_format/type` is `grammar`"),
        (r#""response_format": {}"#, "`/response_format` has no `type`"),
        (
            r#""response_format": {"type": "json_schema", "json_schema": {}}"#,
            "`/response_format/json_schema` has no `schema`",
        ),
        (
            r#""response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}}"#,
            "`/response_format/json_schema/strict` must be true or false",
        ),
        (r#""text": {"format": {"type": "json_schema"}}"#, "`/text/format` has no `schema`"),
        (r#""tool_choice": 7"#, "invalid `/tool_choice`"),
        (r#""parallel_tool_calls": "no""#, "`/parallel_tool_calls` must be true or false"),
    ] {
        let body = body(fields);
        let problems = Request::from_body(&body).unwrap_err();
        assert!(problems[0].message.contains(problem), "{fields}: {}", problems[0].message);
    }
    let model = Model::named("hermes");
    for (fields, problem) in [
        (
            r#""response_format": {"type": "json_schema", "schema": {"allOf": [{"type": "string"}, {"type": "null"}]}}"#,
            "`/response_format/schema` cannot be written: nothing satisfies this schema",
        ),
        (
            r##""response_format": {"type": "json_schema", "schema": {"type": "array", "minItems": 1, "items": {"$ref": "#"}}}"##,
            "`/response_format/schema` cannot be written: nothing satisfies this schema",
        ),
        (
            r##""response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"$ref": "#/$defs/x"}}}}}"##,
            "`/response_format/json_schema/schema/properties/a` cannot be written",
        ),
        (r#""tools": [{"type": "web_search"}], "tool_choice": "required""#, "of the type `web_search`"),
        (
            r#""tools": [{"name": "f", "strict": "no"}], "tool_choice": "required""#,
            "`strict` at `/0` must be true or false",
        ),
        (
            r#""tools": [{"type": "custom", "name": "f", "format": {"type": "grammar", "syntax": "lark", "definition": "start: %json {}"}}], "tool_choice": "required""#,
            "tool `f`: the Lark grammar is not supported at line 1, column 8: `%json`",
        ),
    ] {
        let body = body(fields);
        let problems = grammar::build(&model.template, &model.wire, &Request::from_body(&body).unwrap()).unwrap_err();
        assert!(problems[0].message.contains(problem), "{fields}: {}", problems[0].message);
    }
}

#[test]
fn a_wire_that_changes_json_or_ends_inside_it_supports_no_format() {
    let turns = |content: &str| {
        format!(
            "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ {content} }}}}<|end|>{{% endfor %}}\
             {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        )
    };
    let plain = r#"{"start_anchor": "<|assistant|>", "fields": {"content": {"close": "<|end|>"}}}"#;
    let braces = r#"{"start_anchor": "<|assistant|>", "fields": {"content": {"close": ["<|end|>", "}"]}}}"#;
    for (content, template, expected) in [
        ("m.content", plain, None),
        ("m.content | replace('&', 'and')", plain, Some("the chat template changes an answer that is JSON")),
        ("m.content", braces, Some("the response template does not read all of")),
    ] {
        let template = Template::load(template).unwrap().template;
        let opened = derive::Model::open(&turns(content), Some(template), &derive::Options::default()).unwrap();
        let derive::Model { template, wire, .. } = opened;
        let format = body(&format!(r#""response_format": {ANSWER}"#));
        let built = grammar::build(&template, &wire, &Request::from_body(&format).unwrap());
        match expected {
            None => assert!(built.is_ok(), "{content}"),
            Some(start) => {
                let problems = built.unwrap_err();
                assert!(problems[0].message.starts_with(start), "{content}: {}", problems[0].message);
            }
        }
        // Without a format, any text is an answer.
        assert!(grammar::build(&template, &wire, &Request::default()).is_ok(), "{content}");
    }
}

#[test]
fn white_space_that_ends_renders_may_follow_an_answer() {
    let turns = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n\n{% endfor %}\
        {% if add_generation_prompt %}assistant:{% endif %}";
    let template = Template::load(r#"{"start_anchor": "assistant:", "fields": {"content": {}}}"#).unwrap().template;
    let opened = derive::Model::open(turns, Some(template), &derive::Options::default()).unwrap();
    let derive::Model { template, wire, .. } = opened;
    let format = body(&format!(r#""response_format": {ANSWER}"#));
    let request = Request::from_body(&format).unwrap().prompt("user: Hi\n\nassistant:");
    let grammar = grammar::build(&template, &wire, &request).unwrap();
    for (text, expected) in [
        (r#" {"answer": "a"}"#, "accept"),
        (" {\"answer\": \"a\"}\n\n", "accept"),
        (" {\"answer\": \"a\"}\n", "prefix"),
        (" {\"answer\": \"a\"}\n\n\n", "reject"),
        (r#"{"answer": "a"}"#, "reject"),
    ] {
        assert_eq!(verdict(&grammar, text), expected, "{text:?}");
    }
}

#[test]
fn unusable_tools_do_not_affect_the_others() {
    let model = Model::named("hermes");
    let body = body(
        r#""tools": [{"type": "web_search"}, {"type": "function", "name": "go", "parameters": {"type": "object", "properties": {}}},
            {"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "("}}}}]"#,
    );
    let grammar = build(model, &Request::from_body(&body).unwrap().prompt(model.prompt().unwrap().as_str()));
    let dropped: Vec<_> = grammar.notes().iter().filter(|note| note.message.contains("the tool is dropped")).collect();
    assert_eq!(dropped.len(), 2, "{:?}", grammar.notes());
    assert!(dropped.iter().all(|note| note.effect == Effect::Tighter));
    assert_eq!(verdict(&grammar, "<tool_call>\n{\"name\": \"go\", \"arguments\": {}}\n</tool_call>"), "accept");
}

#[test]
fn a_custom_tool_takes_text_of_its_grammar_in_the_spelling_of_the_wire() {
    let tools = r#"[{"type": "custom", "custom": {"name": "note", "description": "n"}},
        {"type": "custom", "custom": {"name": "clock", "description": "c", "format": {"type": "grammar", "grammar":
            {"syntax": "regex", "definition": "^[0-2][0-9]:[0-5][0-9] \"(am|pm)\"$"}}}},
        {"type": "custom", "name": "sum", "description": "s", "format": {"type": "grammar", "syntax": "lark", "definition":
            "start: term | start \" + \" term\nterm: /[0-9]+/ | \"(\" start \")\""}}]"#;
    let body = body(&format!(r#""tools": {tools}, "tool_choice": "required""#));
    let mut seen = 0;
    for model in models() {
        let Some(prompt) = model.prompt() else { continue };
        let request = Request::from_body(&body).unwrap().prompt(prompt.as_str());
        let Ok(grammar) = grammar::build(&model.template, &model.wire, &request) else { continue };
        let custom = value(r#"{"note": "input", "clock": "input", "sum": "input"}"#);
        assert_eq!(result(&grammar).get("custom_tools"), Some(&custom), "{}", model.name);
        for (name, input, expected) in [
            ("note", "Buy milk.", "accept"),
            ("clock", "08:30 \"am\"", "accept"),
            ("clock", "08:61 \"am\"", "reject"),
            ("clock", "noon", "reject"),
            ("sum", "1 + (2 + 33)", "accept"),
            ("sum", "1 + ", "reject"),
            ("sum", "(1", "reject"),
        ] {
            let arguments = Value::from([("input", input.into())]).to_string();
            let Some(output) = model.output(&call(name, &arguments), &grammar) else { continue };
            if !output.contains(name) || !output.contains(input.split('"').next().unwrap()) {
                continue;
            }
            assert_eq!(verdict(&grammar, &output), expected, "{}: {output:?}", model.name);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn forcing_the_end_of_reasoning_leads_to_an_answer() {
    let format = body(&format!(r#""response_format": {ANSWER}"#));
    let mut seen = 0;
    for model in models() {
        let Some(prompt) = model.prompt() else { continue };
        let request = Request::from_body(&format).unwrap().prompt(prompt.as_str());
        let grammar = build(model, &request);
        let result = result(&grammar);
        let text = |name: &str| result.get("reasoning").unwrap().get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(open), Some(end), Some(force)) = (text("open"), text("end"), text("force")) else { continue };
        // Reasoning may come after other text.
        if matches!(grammar.matcher().feed(&open), Fed::Broken { .. }) {
            continue;
        }
        for (thought, close) in
            [("Half a wo", &force), ("", &force), ("Half a wo", &end), ("Maybe {\"answer\": 1}?", &force)]
        {
            let written = format!("{open}{thought}{close}");
            let fed = grammar.matcher().feed(&written);
            assert!(matches!(fed, Fed::Ok { .. }), "{}: {written:?}: {fed:?}", model.name);
        }
        assert_ne!(verdict(&grammar, &format!("{open}Sure.{force}Sure.")), "accept", "{}", model.name);
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn a_grammar_outside_reasoning_starts_after_it() {
    let model = Model::named("qwen3");
    let format = body(&format!(r#""response_format": {ANSWER}"#));
    let prompt = format!("{}<think>\n", model.prompt().unwrap());
    let request = Request::from_body(&format).unwrap().prompt(prompt.as_str()).reasoning(Reasoning::Outside);
    let grammar = build(model, &request);
    for (text, expected) in [
        ("\n\n{\"answer\": \"a\"}", "accept"),
        ("{\"answer\": \"a\"}", "accept"),
        ("Half a thought\n</think>\n\n{\"answer\": \"a\"}", "reject"),
        ("Sure.", "reject"),
    ] {
        assert_eq!(verdict(&grammar, text), expected, "{text:?}");
    }
    let waits = |grammar: &Grammar| grammar.notes().iter().any(|note| note.message.contains("the engine has to wait"));
    assert!(!waits(&grammar));
    let prompt = model.prompt().unwrap();
    assert!(waits(&build(model, &request.clone().prompt(prompt.as_str()))));
}

#[test]
fn every_call_has_a_text_that_may_be_banned() {
    let mut seen = 0;
    let (tools, none) = (tools(), Choice::None);
    for model in models() {
        let Some(prompt) = model.prompt() else { continue };
        let request = Request::default().tools(&tools).choice(&none).prompt(prompt.as_str());
        let grammar = build(model, &request);
        let result = result(&grammar);
        let Some(bans) = result.get("bans").and_then(|bans| bans.get("texts")).and_then(Value::as_list) else {
            continue;
        };
        if bans.is_empty() {
            assert!(
                grammar.notes().iter().any(|note| note.message.contains("no markers of their own")),
                "{}",
                model.name
            );
            continue;
        }
        let holds = |text: &str| bans.iter().filter_map(Value::as_str).any(|ban| text.contains(ban));
        if let Some(called) = model.output(&call("get_weather", r#"{"city": "Rome"}"#), &grammar) {
            assert!(holds(&called), "{}: {bans:?} {called:?}", model.name);
        }
        if let Some(said) = model.output(&answer_of("It is sunny."), &grammar) {
            assert!(!holds(&said), "{}: {bans:?} {said:?}", model.name);
        }
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn the_prompt_of_a_body_is_rendered_with_the_chat_template() {
    let model = Model::named("qwen3");
    let options = RenderOptions::default().now("2026-01-01T00:00:00".to_owned());
    let prompt = |fields: &str| grammar::render_prompt(&model.chat, &body(fields), &Object::new(), &options);
    let asked = r#""messages": [{"role": "user", "content": "What now?"}]"#;
    let with_tools = format!(r#"{asked}, "tools": {}"#, tools());
    assert_eq!(prompt(&with_tools).unwrap(), model.prompt());
    assert_eq!(prompt(r#""tools": []"#).unwrap(), None);
    let closed = prompt(&format!(r#"{asked}, "chat_template_kwargs": {{"enable_thinking": false}}"#)).unwrap().unwrap();
    assert!(closed.ends_with("</think>\n\n"), "{closed:?}");
    // The last is a text that the end of the turn has, too.
    for begun in ["First,", "First,  ", "e"] {
        let messages = format!(
            r#""messages": [{{"role": "user", "content": "What now?"}}, {{"role": "assistant", "content": "{begun}"}}]"#
        );
        let continued = prompt(&format!(r#"{messages}, "continue_final_message": true"#)).unwrap().unwrap();
        assert!(continued.ends_with(&format!("</think>\n\n{begun}")), "{continued:?}");
    }
    let problem = prompt(r#""messages": "hello""#).unwrap_err();
    assert!(problem.message.contains("`/messages` must be a list"), "{}", problem.message);
}

#[test]
fn structural_tags_use_native_formats_if_they_are_equivalent() {
    fn kinds(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(entries) => {
                found.extend(entries.get("type").and_then(Value::as_str).map(str::to_owned));
                entries.values().for_each(|value| kinds(value, found));
            }
            Value::List(items) => items.iter().for_each(|item| kinds(item, found)),
            _ => {}
        }
    }
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let own = r#"[{"name": "go", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}]"#;
    let odd = r#"[{"name": "go", "parameters": {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 7}}}}]"#;
    for (tools, is_native) in [(own, true), (odd, false)] {
        let body = body(&format!(r#""tools": {tools}, "tool_choice": "required""#));
        let grammar = build(model, &Request::from_body(&body).unwrap().prompt(prompt.as_str()));
        let (mut native, mut plain) = (Vec::new(), Vec::new());
        kinds(&grammar.to_structural_tag(), &mut native);
        kinds(&grammar.to_grammar_tag(), &mut plain);
        assert_eq!(plain, ["structural_tag", "grammar"]);
        assert!(native.iter().any(|kind| kind == "tag"), "{native:?}");
        // The call is written once, even if several are allowed.
        assert_eq!(native.get(..3), Some(&["structural_tag", "tags_with_separator", "tag"].map(str::to_owned)[..]));
        assert_eq!(native.iter().filter(|kind| *kind == "json_schema").count(), usize::from(is_native), "{native:?}");
    }
}

/// xgrammar refuses a tag with a type that it does not know, and takes numbers that do not fit a double.
#[test]
fn types_that_xgrammar_reads_otherwise_are_left_to_rules() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    for (kind, is_native) in [
        (r#""string""#, true),
        (r#"["integer", "null"]"#, true),
        (r#""float""#, false),
        (r#"["string", "any"]"#, false),
        (r#""number""#, false),
        (r#"["number", "null"]"#, false),
    ] {
        let schema = format!(r#"{{"type": "array", "items": {{"type": {kind}}}}}"#);
        for parameters in [
            format!(r#"{{"type": "object", "properties": {{"a": {schema}}}}}"#),
            format!(r#"{{"type": "object", "properties": {{"a": {{"anyOf": [{{"type": "null"}}, {schema}]}}}}}}"#),
        ] {
            let tools = format!(r#"[{{"name": "go", "parameters": {parameters}}}]"#);
            let body = body(&format!(r#""tools": {tools}, "tool_choice": "required""#));
            let grammar = build(model, &Request::from_body(&body).unwrap().prompt(prompt.as_str()));
            let tag = grammar.to_structural_tag().to_string();
            assert_eq!(tag.contains(&format!(r#""type": {kind}"#)), is_native, "{kind}: {tag}");
        }
    }
}

#[test]
fn structural_tags_that_engines_would_refuse_become_one_grammar() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let is_grammar = |body: &Value| {
        let grammar = build(model, &Request::from_body(body).unwrap().prompt(prompt.as_str()));
        grammar.to_structural_tag() == grammar.to_grammar_tag()
    };
    for (levels, expected) in [(5, false), (40, true), (190, true)] {
        let (open, close) = (r#"{"type": "array", "items": "#.repeat(levels), "}".repeat(levels));
        let schema = format!(r#"{open}{{"type": "integer"}}{close}"#);
        let body = body(&format!(r#""response_format": {{"type": "json_schema", "schema": {schema}}}"#));
        assert_eq!(is_grammar(&body), expected, "{levels} levels");
    }
    for (count, expected) in [(5, false), (5000, true)] {
        let tools: Vec<String> = (0..count)
            .map(|at| format!(r#"{{"name": "t{at}", "parameters": {{"type": "object", "properties": {{"a": {{"type": "integer"}}}}}}}}"#))
            .collect();
        let body = body(&format!(r#""tools": [{}], "tool_choice": "required""#, tools.join(", ")));
        assert_eq!(is_grammar(&body), expected, "{count} tools");
    }
}
