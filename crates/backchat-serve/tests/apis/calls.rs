//! Calls in the chat API: their ids and arguments, limits on them, those of earlier turns, and answers that are continued.

use super::{body, chat_stream, chat_whole, events, format, list, text};
use backchat_core::json::Value;
use backchat_parser::deltas::{CallDelivery, ReasoningName};
use backchat_serve::api::Api;
use backchat_serve::engine::Engine;
use backchat_serve::model::Model;
use backchat_serve::reply::{End, Reply, Update};
use backchat_serve::turn::Turn;

/// The answer to a chat request, streamed or whole, of an engine that writes these pieces.
fn chat(model: &Model, body: &str, delivery: CallDelivery, pieces: &[&str]) -> (String, Value) {
    let mut asked = Api::Chat.read(body.as_bytes()).unwrap();
    let prepared = model.prepare(&asked.request, Engine::Vllm, false).unwrap();
    let writer = asked.writer("m", ReasoningName::ReasoningContent, 1, model.id_form());
    let mut turn = Turn::new(model, &prepared, &asked.request, delivery, writer).unwrap();
    for update in pieces.iter().map(|piece| Update::Text((*piece).to_owned())).chain([Update::End(End::Stop)]) {
        turn.take(Reply::Choice(0, update), 0).unwrap();
    }
    turn.end();
    let stream = turn.unsent();
    (stream, if asked.request.stream { Value::Null } else { turn.whole() })
}

#[test]
fn a_continued_answer_is_what_is_new() {
    let (model, _) = format("qwen3");
    // The end of the turn has the first of these, too; transformers keeps the space of the second; the others may begin a
    // marker, which the parser waits for.
    for begun in ["e", "x  ", "a <", "a <tool"] {
        let body = format!(
            r#"{{"continue_final_message": true, "messages": [{{"role": "user", "content": "Hi"}},
                {{"role": "assistant", "content": "{begun}"}}]}}"#
        );
        let asked = Api::Chat.read(body.as_bytes()).unwrap();
        let prompt = model.prepare(&asked.request, Engine::Vllm, false).unwrap().prompt;
        assert!(prompt.ends_with(&format!("</think>\n\n{begun}")), "{prompt:?}");
        let (_, whole) = chat(&model, &body, CallDelivery::Growing, &["nd", ".<|im_end|>"]);
        assert_eq!(chat_whole(&whole).content, "nd.", "{begun:?}");
    }
}

/// The id of the only call of an answer.
fn call_id(stream: &str, whole: &Value) -> String {
    let first = |message: &Value| list(message, "tool_calls").first().map(|call| text(call, "id"));
    let chunks = events(stream).into_iter().flat_map(|(_, data)| list(&data, "choices").to_vec());
    let mut ids = chunks.filter_map(|choice| first(&choice["delta"])).filter(|id| !id.is_empty());
    ids.next().or_else(|| list(whole, "choices").first().and_then(|choice| first(&choice["message"]))).unwrap()
}

#[test]
fn the_id_of_a_call_is_the_models_or_one_that_its_template_takes() {
    let (model, _) = format("mistral_nemo");
    let output = r#"[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "abcdefgh0"}]</s>"#;
    for (streams, delivery) in
        [(false, CallDelivery::Growing), (true, CallDelivery::Whole), (true, CallDelivery::Growing)]
    {
        for (cut, _) in output.char_indices() {
            let (before, after) = output.split_at(cut);
            let (stream, whole) = chat(&model, &body(Api::Chat, streams), delivery, &[before, after]);
            let id = call_id(&stream, &whole);
            if streams && delivery == CallDelivery::Growing {
                // The call may have begun before its id came.
                assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "cut at {cut}: {id}");
            } else {
                assert_eq!(id, "abcdefgh0", "cut at {cut}");
            }
        }
    }
}

#[test]
fn a_whole_answer_has_the_calls_of_the_value() {
    let (model, _) = format("hermes");
    for (json, call) in [
        (r#"{"name": "f", "arguments": {}, "arguments": {"x": 1}}"#, Some(("f", r#"{"x": 1}"#))),
        (r#"{"name": "a", "name": "b", "arguments": {"x": 1, "x": 2}}"#, Some(("b", r#"{"x": 2}"#))),
        (r#"{"name": "f", "arguments": null}"#, Some(("f", "{}"))),
        (r#"{"name": "f", "arguments": "{\"x\": 1}"}"#, Some(("f", r#"{"x": 1}"#))),
        // No client can take these.
        (r#"{"name": 5, "arguments": {}}"#, None),
        (r#"{"name": "", "arguments": {}}"#, None),
        (r#"{"name": "f", "arguments": [1]}"#, None),
        (r#"{"name": "f", "arguments": "x"}"#, None),
    ] {
        let output = format!("<tool_call>\n{json}\n</tool_call>");
        let characters: Vec<&str> = output.split("").filter(|piece| !piece.is_empty()).collect();
        for pieces in [&[output.as_str()][..], &characters] {
            let (_, whole) = chat(&model, &body(Api::Chat, false), CallDelivery::Growing, pieces);
            let message = chat_whole(&whole);
            let calls: Vec<_> = message.calls.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            assert_eq!(calls, Vec::from_iter(call), "{json}");
            assert_eq!(message.content, if call.is_some() { "" } else { &output }, "{json}");
        }
    }
}

/// What a stream has sent stays; the rest of it is still JSON.
#[test]
fn a_stream_has_the_first_arguments_of_a_call() {
    let (model, _) = format("hermes");
    for (json, name, arguments) in [
        (r#"{"name": "f", "arguments": {"a": 1}, "arguments": {"x": 1}}"#, "f", r#"{"a": 1}"#),
        (r#"{"name": "a", "name": "b", "arguments": {}}"#, "a", "{}"),
        (r#"{"name": "f", "arguments": null}"#, "f", "{}"),
    ] {
        let output = format!("<tool_call>\n{json}\n</tool_call>");
        let characters: Vec<&str> = output.split("").filter(|piece| !piece.is_empty()).collect();
        let (stream, _) = chat(&model, &body(Api::Chat, true), CallDelivery::Growing, &characters);
        assert_eq!(chat_stream(&stream).calls, [(name.to_owned(), arguments.to_owned())], "{json}");
    }
}

/// Such arguments are sent when the call ends, so a stream has the same message as a whole answer.
#[test]
fn a_stream_waits_for_arguments_that_do_not_begin_as_an_object() {
    let (model, _) = format("hermes");
    for (json, arguments) in [
        (r#"{"name": "f", "arguments": "{\"x\": \"\u00e9\"}"}"#, Some(r#"{"x": "é"}"#)),
        (r#"{"arguments": "{}", "name": "f"}"#, Some("{}")),
        (r#"{"name": "f", "arguments": null}"#, Some("{}")),
        (r#"{"name": "f", "arguments": "x"}"#, None),
        (r#"{"name": "f", "arguments": [{"x": 1}]}"#, None),
        (r#"{"name": "f", "arguments": 5}"#, None),
    ] {
        let output = format!("<tool_call>\n{json}\n</tool_call>");
        let characters: Vec<&str> = output.split("").filter(|piece| !piece.is_empty()).collect();
        for pieces in [&[output.as_str()][..], &characters] {
            let (stream, _) = chat(&model, &body(Api::Chat, true), CallDelivery::Growing, pieces);
            let (_, whole) = chat(&model, &body(Api::Chat, false), CallDelivery::Growing, pieces);
            for message in [chat_stream(&stream), chat_whole(&whole)] {
                let calls: Vec<_> = message.calls.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                assert_eq!(calls, Vec::from_iter(arguments.map(|text| ("f", text))), "{json}");
                assert_eq!(message.content, if arguments.is_some() { "" } else { &output }, "{json}");
            }
        }
    }
}

#[test]
fn a_limit_on_calls_is_enforced_or_reported() {
    let (model, _) = format("qwen3");
    let function = r#"{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}"#;
    for (members, limits) in [
        (r#""parallel_tool_calls": false"#, true),
        (
            r#""tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}}"#,
            true,
        ),
        (r#""parallel_tool_calls": false, "tool_choice": "none""#, false),
        (r#""parallel_tool_calls": true"#, false),
    ] {
        let body =
            format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "tools": [{function}], {members}}}"#);
        let asked = Api::Chat.read(body.as_bytes()).unwrap();
        let prepared = |engine| model.prepare(&asked.request, engine, false).unwrap();
        assert_eq!(prepared(Engine::Vllm).constraint.is_some(), limits, "{members}");
        assert_eq!(prepared(Engine::Ollama).unconstrained, limits, "{members}");
    }
}

#[test]
fn a_call_of_the_past_without_arguments_has_none() {
    let (model, _) = format("qwen3");
    for arguments in [r#", "arguments": """#, r#", "arguments": null"#, r#", "arguments": "null""#, ""] {
        let body = format!(
            r#"{{"messages": [{{"role": "user", "content": "Hi"}}, {{"role": "assistant", "content": null, "tool_calls":
                [{{"id": "c1", "type": "function", "function": {{"name": "f"{arguments}}}}}]}},
                {{"role": "tool", "tool_call_id": "c1", "content": "5"}}]}}"#
        );
        let asked = Api::Chat.read(body.as_bytes()).unwrap();
        let prompt = model.prepare(&asked.request, Engine::Vllm, false).unwrap().prompt;
        assert!(prompt.contains(r#"{"name": "f", "arguments": {}}"#), "{arguments}: {prompt}");
    }
}
