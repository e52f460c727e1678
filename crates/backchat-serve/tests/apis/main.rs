//! The same text of an engine, read through each API, is the same message: streamed or not, however it is cut.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where its own data is wrong"
)]

mod calls;

use std::fs;
use std::path::Path;

use backchat_chat::source;
use backchat_core::json::{self, Value};
use backchat_parser::deltas::{CallDelivery, ReasoningName};
use backchat_parser::template::Template;
use backchat_serve::api::Api;
use backchat_serve::engine::Engine;
use backchat_serve::model::Model;
use backchat_serve::reply::{End, Reply, Update, Usage};
use backchat_serve::turn::Turn;

/// A message without what only one API has.
#[derive(Debug, Default, PartialEq)]
struct Message {
    reasoning: String,
    content: String,
    /// The name and the arguments of each call.
    calls: Vec<(String, String)>,
    /// Why it ended, under the chat API's name.
    reason: String,
}

fn text(value: &Value, path: &str) -> String {
    let found = path.split('.').fold(value, |value, key| match key.parse::<usize>() {
        Ok(index) => &value.as_list().unwrap()[index],
        Err(_) => value.get(key).unwrap_or_else(|| panic!("{value} has no `{key}`")),
    });
    found.as_str().unwrap_or_default().to_owned()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_list).unwrap_or_default()
}

/// The events of a stream: their names, if they have some, and their data.
fn events(stream: &str) -> Vec<(Option<String>, Value)> {
    let event = |event: &str| {
        let name = event.strip_prefix("event: ").map(|rest| rest.lines().next().unwrap().to_owned());
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        (name, json::read(data).unwrap_or_else(|_| data.into()))
    };
    stream.split_terminator("\n\n").map(event).collect()
}

fn chat_whole(answer: &Value) -> Message {
    let choice = &list(answer, "choices")[0];
    let message = &choice["message"];
    Message {
        reasoning: message.get("reasoning_content").and_then(Value::as_str).unwrap_or_default().to_owned(),
        content: text(message, "content"),
        calls: list(message, "tool_calls")
            .iter()
            .map(|call| (text(call, "function.name"), text(call, "function.arguments")))
            .collect(),
        reason: text(choice, "finish_reason"),
    }
}

fn chat_stream(stream: &str) -> Message {
    let mut message = Message::default();
    let events = events(stream);
    let (last, chunks) = events.split_last().unwrap();
    assert_eq!(last.1.as_str(), Some("[DONE]"));
    for (_, chunk) in chunks {
        let choice = &list(chunk, "choices")[0];
        let delta = &choice["delta"];
        let more = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        message.reasoning += more("reasoning_content");
        message.content += more("content");
        for call in list(delta, "tool_calls") {
            match call["function"].get("name") {
                Some(name) => message.calls.push((name.as_str().unwrap().to_owned(), text(call, "function.arguments"))),
                None => message.calls.last_mut().unwrap().1 += &text(call, "function.arguments"),
            }
        }
        message.reason += choice["finish_reason"].as_str().unwrap_or_default();
    }
    message
}

fn response_whole(response: &Value) -> Message {
    let mut message = Message::default();
    for item in list(response, "output") {
        match item["type"].as_str().unwrap() {
            "reasoning" => message.reasoning += &text(item, "content.0.text"),
            "message" => message.content += &text(item, "content.0.text"),
            "function_call" => message.calls.push((text(item, "name"), text(item, "arguments"))),
            other => panic!("an item of type {other}"),
        }
    }
    message.reason = match (text(response, "status").as_str(), message.calls.is_empty()) {
        ("incomplete", _) => "length",
        ("completed", false) => "tool_calls",
        ("completed", true) => "stop",
        other => panic!("{other:?}"),
    }
    .to_owned();
    message
}

/// Checks the order of the events as well: each item begins, grows and ends before the next.
fn response_stream(stream: &str) -> Message {
    let events = events(stream);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_deref().unwrap()).collect();
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    let mut items: Vec<Value> = Vec::new();
    let (mut open, mut grown) = (None, String::new());
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!((data["type"].as_str(), data["sequence_number"].as_u64()), (name.as_deref(), Some(number as u64)));
        let name = name.as_deref().unwrap();
        if let Some(id) = data.get("item_id") {
            assert_eq!((Some(id), data["output_index"].as_u64()), (open.as_ref(), Some(items.len() as u64)), "{data}");
        }
        match name {
            "response.output_item.added" => {
                assert_eq!((&open, data["item"]["status"].as_str()), (&None, Some("in_progress")));
                (open, grown) = (data["item"].get("id").cloned(), String::new());
            }
            "response.output_item.done" => {
                assert_eq!(data["item"].get("id"), open.take().as_ref());
                items.push(data["item"].clone());
            }
            _ if name.ends_with(".delta") => grown += data["delta"].as_str().unwrap(),
            _ if name.ends_with("text.done") => assert_eq!(data["text"].as_str(), Some(&*grown)),
            "response.function_call_arguments.done" => assert_eq!(data["arguments"].as_str(), Some(&*grown)),
            _ => {}
        }
    }
    let (last, response) = events.last().map(|(name, data)| (name.as_deref().unwrap(), &data["response"])).unwrap();
    assert_eq!(last, format!("response.{}", text(response, "status")));
    assert_eq!((list(response, "output"), open), (&*items, None));
    response_whole(response)
}

fn reason_of(stop_reason: &str) -> String {
    match stop_reason {
        "max_tokens" => "length",
        "tool_use" => "tool_calls",
        "end_turn" => "stop",
        other => panic!("{other}"),
    }
    .to_owned()
}

fn message_whole(answer: &Value, text_of_input: impl Fn(&Value) -> String) -> Message {
    let mut message = Message { reason: reason_of(answer["stop_reason"].as_str().unwrap()), ..Message::default() };
    for block in list(answer, "content") {
        match block["type"].as_str().unwrap() {
            "thinking" => message.reasoning += &text(block, "thinking"),
            "text" => message.content += &text(block, "text"),
            "tool_use" => message.calls.push((text(block, "name"), text_of_input(&block["input"]))),
            other => panic!("a block of type {other}"),
        }
    }
    message
}

/// Checks the order of the events as well: each block begins, grows and ends before the next.
fn message_stream(stream: &str) -> Message {
    let mut message = Message::default();
    let events = events(stream);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_deref().unwrap()).collect();
    assert_eq!((names[0], &names[names.len() - 2..]), ("message_start", &["message_delta", "message_stop"][..]));
    let (mut blocks, mut is_open) = (0, false);
    for (name, data) in &events {
        assert_eq!(data["type"].as_str(), name.as_deref());
        if let Some(index) = data.get("index") {
            assert_eq!(index.as_u64(), Some(blocks), "{data}");
        }
        match name.as_deref().unwrap() {
            "content_block_start" => {
                assert!(!std::mem::replace(&mut is_open, true), "{data}");
                let block = &data["content_block"];
                if block["type"].as_str() == Some("tool_use") {
                    message.calls.push((text(block, "name"), String::new()));
                }
            }
            "content_block_delta" => {
                let delta = &data["delta"];
                match delta["type"].as_str().unwrap() {
                    "thinking_delta" => message.reasoning += &text(delta, "thinking"),
                    "text_delta" => message.content += &text(delta, "text"),
                    "input_json_delta" => message.calls.last_mut().unwrap().1 += &text(delta, "partial_json"),
                    "signature_delta" => {}
                    other => panic!("a delta of type {other}"),
                }
            }
            "content_block_stop" => {
                assert!(std::mem::replace(&mut is_open, false), "{data}");
                blocks += 1;
            }
            "message_delta" => message.reason = reason_of(data["delta"]["stop_reason"].as_str().unwrap()),
            "message_start" | "ping" | "message_stop" => assert!(!is_open, "{data}"),
            other => panic!("an event {other}"),
        }
    }
    message
}

const FUNCTION: &str = r#""description": "The weather in a city.", "NAME": {"type": "object", "properties": {"city":
    {"type": "string"}, "days": {"type": "integer"}, "celsius": {"type": "boolean"}, "note": {"type": "string", "nullable": true}},
    "required": ["city"]}"#;

/// The same request in each API.
fn body(api: Api, streams: bool) -> String {
    let function = |name: &str| format!(r#""name": "get_weather", {}"#, FUNCTION.replace("NAME", name));
    let members = match api {
        Api::Chat => format!(
            r#""messages": [{{"role": "user", "content": "Weather?"}}], "tools": [{{"type": "function", "function": {{{}}}}}]"#,
            function("parameters")
        ),
        Api::Responses => {
            format!(r#""input": "Weather?", "tools": [{{"type": "function", {}}}]"#, function("parameters"))
        }
        Api::Messages => format!(
            r#""max_tokens": 100, "messages": [{{"role": "user", "content": "Weather?"}}], "tools": [{{{}}}]"#,
            function("input_schema")
        ),
    };
    format!(r#"{{"model": "m", "stream": {streams}, {members}}}"#)
}

/// What an engine's text in these pieces becomes in one API: the stream, or the whole answer.
fn answer(model: &Model, api: Api, streams: bool, pieces: &[&str], end: End) -> (String, Value) {
    let mut asked = api.read(body(api, streams).as_bytes()).unwrap();
    let prepared = model.prepare(&asked.request, Engine::Vllm, false).unwrap();
    let writer = asked.writer("m", ReasoningName::ReasoningContent, 1, model.id_form());
    let mut turn = Turn::new(model, &prepared, &asked.request, CallDelivery::Growing, writer).unwrap();
    let mut stream = turn.unsent();
    let updates = pieces.iter().map(|piece| Update::Text((*piece).to_owned())).chain([Update::End(end)]);
    for update in updates {
        turn.take(Reply::Choice(0, update), 0).unwrap();
        stream += &turn.unsent();
    }
    turn.end();
    stream += &turn.unsent();
    (stream, if streams { Value::Null } else { turn.whole() })
}

/// Asserts that the message is the same in each API; returns it as it is sent as a whole.
fn same(model: &Model, pieces: &[&str], end: End) -> Message {
    let streamed = |api| answer(model, api, true, pieces, end).0;
    let chat = chat_stream(&streamed(Api::Chat));
    assert_eq!(response_stream(&streamed(Api::Responses)), chat, "/v1/responses: {pieces:?}");
    assert_eq!(message_stream(&streamed(Api::Messages)), chat, "/v1/messages: {pieces:?}");

    let whole = |api| answer(model, api, false, pieces, end).1;
    let chat = chat_whole(&whole(Api::Chat));
    assert_eq!(response_whole(&whole(Api::Responses)), chat, "/v1/responses: {pieces:?}");
    // This API has arguments as a value, so that those that the limit cut off are less than their text.
    let values = Message {
        calls: chat
            .calls
            .iter()
            .map(|(name, text)| {
                (name.clone(), json::read(text).map_or_else(|_| String::new(), |value| value.to_string()))
            })
            .collect(),
        reason: chat.reason.clone(),
        content: chat.content.clone(),
        reasoning: chat.reasoning.clone(),
    };
    let mut messages = message_whole(&whole(Api::Messages), Value::to_string);
    for (call, value) in messages.calls.iter_mut().zip(&values.calls).filter(|(_, value)| value.1.is_empty()) {
        assert!(call.1.starts_with('{') && value.1.is_empty());
        call.1.clear();
    }
    assert_eq!(messages, values, "/v1/messages: {pieces:?}");
    chat
}

/// The model of a format, and the outputs that its fixture has.
fn format(name: &str) -> (Model, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: String| fs::read_to_string(root.join(path)).unwrap();
    let source = source::open(root.join(format!("chat_templates/{name}.jinja")).to_str().unwrap(), None).unwrap();
    let template = Template::load(&read(format!("derived/{name}.json"))).unwrap().template;
    let fixture = read(format!("tests/fixtures/formats/{name}.fixture"));
    let outputs = fixture.split("\n=== output\n").skip(1).map(|rest| rest.split("\n=== ").next().unwrap().to_owned());
    (Model::new(&source, Some(template)).unwrap(), outputs.collect())
}

#[test]
fn every_api_reads_the_same_message() {
    let (mut calls, mut reasoning) = (0, 0);
    for name in [
        "deepseek_v3_1",
        "glm_4_6",
        "gpt_oss",
        "hermes",
        "kimi_k2",
        "llama_3_1",
        "mistral_nemo",
        "qwen3",
        "qwen3_coder",
    ] {
        let (model, outputs) = format(name);
        assert!(outputs.len() > 10, "{name} has {} outputs", outputs.len());
        for output in outputs {
            let characters: Vec<&str> = output.split("").filter(|piece| !piece.is_empty()).collect();
            for end in [End::Stop, End::Length] {
                let message = same(&model, &[&output], end);
                assert_eq!(same(&model, &characters, end), message, "{name}: {output}");
                calls += message.calls.len();
                reasoning += usize::from(!message.reasoning.is_empty());
            }
        }
    }
    assert!(calls > 200 && reasoning >= 20, "{calls} calls, {reasoning} messages with reasoning");
}

#[test]
fn every_api_reads_the_same_message_at_every_cut() {
    let call =
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 12}}\n</tool_call>";
    let broken = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\" 1}}\n</tool_call>";
    let (model, _) = format("qwen3");
    for text in [
        format!("<think>\nHm, <b>? \n</think>\n\nI look.\n{call}\n{call}<|im_end|>"),
        format!("Text. {broken} More.<|im_end|>"),
        format!("{call}\nBetween.\n{broken}"),
    ] {
        for (cut, _) in text.char_indices() {
            let (before, after) = text.split_at(cut);
            same(&model, &[before, after], End::Stop);
            same(&model, &[before], End::Length);
            same(&model, &[before], End::Stop);
        }
    }
}

#[test]
fn tokens_of_reasoning_are_those_that_came_with_it() {
    let (model, _) = format("qwen3");
    let tokens = ["<think>", "\n", "Hm", ".", "\n</think>", "\n\n", "Yes", "<|im_end|>"];
    let together = tokens.concat();
    // The marker that opens it belongs to it, the one that closes it does not. Of a piece with both nothing is known.
    for (counts_each, pieces, expected) in
        [(true, &tokens[..], Some(4)), (false, &tokens[..], None), (true, &[together.as_str()][..], None)]
    {
        for api in Api::ALL {
            let mut asked = api.read(body(api, false).as_bytes()).unwrap();
            let prepared = model.prepare(&asked.request, Engine::Vllm, false).unwrap();
            let writer = asked.writer("m", ReasoningName::ReasoningContent, 1, model.id_form());
            let mut turn = Turn::new(&model, &prepared, &asked.request, CallDelivery::Growing, writer).unwrap();
            let mut take = |update| turn.take(Reply::Choice(0, update), 0).unwrap();
            for (number, piece) in (1..).zip(pieces) {
                take(Update::Text((*piece).to_owned()));
                if counts_each || number == pieces.len() {
                    let completion = (number + tokens.len() - pieces.len()) as u64;
                    take(Update::Usage(Usage { prompt: 5, completion, reasoning: None }));
                }
            }
            take(Update::End(End::Stop));
            let usage = turn.count().unwrap();
            assert_eq!((usage.prompt, usage.completion, usage.reasoning), (5, 8, expected), "{api:?}");
            let whole = turn.whole();
            let (details, expected) = match api {
                Api::Chat => (whole["usage"].get("completion_tokens_details"), expected),
                // The clients of this API need a number.
                Api::Responses => (whole["usage"].get("output_tokens_details"), expected.or(Some(0))),
                Api::Messages => continue,
            };
            assert_eq!(details.and_then(|details| details.get("reasoning_tokens")?.as_u64()), expected, "{api:?}");
        }
    }
}

#[test]
fn log_probabilities_of_every_token_reach_the_client() {
    let (model, _) = format("qwen3");
    let pieces = ["<think>", "Hm", "</think>", "Yes", "<|im_end|>"];
    for stream in [false, true] {
        let body =
            format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "logprobs": true, "stream": {stream}}}"#);
        let mut asked = Api::Chat.read(body.as_bytes()).unwrap();
        let prepared = model.prepare(&asked.request, Engine::Vllm, false).unwrap();
        let writer = asked.writer("m", ReasoningName::ReasoningContent, 1, model.id_form());
        let mut turn = Turn::new(&model, &prepared, &asked.request, CallDelivery::Growing, writer).unwrap();
        let mut take = |update| turn.take(Reply::Choice(0, update), 0).unwrap();
        for piece in pieces {
            take(Update::Logprobs(vec![Value::from([("token", piece.into())])]));
            take(Update::Text(piece.to_owned()));
        }
        take(Update::End(End::Stop));
        let answers = if stream {
            events(&turn.unsent()).into_iter().map(|(_, data)| data).collect()
        } else {
            vec![turn.whole()]
        };
        let tokens = answers.iter().flat_map(|answer| {
            let choice = &list(answer, "choices")[0];
            choice.get("logprobs").map(|logprobs| list(logprobs, "content")).unwrap_or_default()
        });
        assert_eq!(tokens.map(|token| text(token, "token")).collect::<Vec<_>>(), pieces, "stream: {stream}");
    }
}

#[test]
fn a_stop_text_of_the_request_is_named() {
    let (model, _) = format("qwen3");
    for (stop, reason, sequence) in [("END", "stop_sequence", Some("END")), ("<|im_end|>", "end_turn", None)] {
        let body = r#"{"max_tokens": 9, "stop_sequences": ["END"], "messages": [{"role": "user", "content": "Hi"}]}"#;
        let mut asked = Api::Messages.read(body.as_bytes()).unwrap();
        let prepared = model.prepare(&asked.request, Engine::Vllm, false).unwrap();
        let writer = asked.writer("m", ReasoningName::ReasoningContent, 1, model.id_form());
        let mut turn = Turn::new(&model, &prepared, &asked.request, CallDelivery::Growing, writer).unwrap();
        for update in [Update::Text("Hi".to_owned()), Update::Stop(stop.to_owned()), Update::End(End::Stop)] {
            turn.take(Reply::Choice(0, update), 0).unwrap();
        }
        let whole = turn.whole();
        assert_eq!((whole["stop_reason"].as_str(), whole["stop_sequence"].as_str()), (Some(reason), sequence));
    }
}

/// A request with a custom tool after a call of it, in an API that has such tools.
fn custom_body(api: Api, streams: bool) -> String {
    let format = r#""syntax": "regex", "definition": "ls( -[al]+)?""#;
    let (tool, history) = match api {
        Api::Chat => (
            format!(
                r#"{{"type": "custom", "custom": {{"name": "run", "format": {{"type": "grammar", "grammar": {{{format}}}}}}}}}"#
            ),
            r#""messages": [{"role": "user", "content": "Files?"}, {"role": "assistant", "content": null, "tool_calls":
                [{"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}]"#,
        ),
        _ => (
            format!(r#"{{"type": "custom", "name": "run", "format": {{"type": "grammar", {format}}}}}"#),
            r#""input": [{"role": "user", "content": "Files?"}, {"type": "custom_tool_call", "call_id": "c1", "name": "run",
                "input": "ls"}, {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"}]"#,
        ),
    };
    format!(r#"{{"stream": {streams}, {history}, "tools": [{tool}]}}"#)
}

/// The inputs of custom calls in an answer, or in the deltas of a stream.
fn inputs(stream: &str, whole: &Value) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    for (name, data) in events(stream) {
        if name.as_deref() == Some("response.output_item.added") && data["item"]["type"].as_str() != Some("message") {
            assert_eq!(data["item"]["type"].as_str(), Some("custom_tool_call"));
            inputs.push(text(&data["item"], "input"));
        }
        if name.as_deref() == Some("response.custom_tool_call_input.delta") {
            inputs.last_mut().unwrap().push_str(data["delta"].as_str().unwrap());
        }
        let choices = list(&data, "choices").iter();
        for call in choices.flat_map(|choice| list(&choice["delta"], "tool_calls").to_vec()) {
            if call.get("type").is_some() {
                assert_eq!((call["type"].as_str(), call["custom"]["name"].as_str()), (Some("custom"), Some("run")));
                inputs.push(String::new());
            }
            inputs.last_mut().unwrap().push_str(&text(&call, "custom.input"));
        }
    }
    let choices = list(whole, "choices").iter();
    inputs.extend(choices.flat_map(|choice| list(&choice["message"], "tool_calls")).map(|call| {
        assert_eq!((call["type"].as_str(), call["custom"]["name"].as_str()), (Some("custom"), Some("run")));
        text(call, "custom.input")
    }));
    let items = list(whole, "output").iter().filter(|item| item["type"].as_str() == Some("custom_tool_call"));
    inputs.extend(items.map(|item| text(item, "input")));
    inputs
}

#[test]
fn a_custom_tool_takes_a_text_in_either_api() {
    let (model, _) = format("qwen3");
    let call = r#"<tool_call>
{"name": "run", "arguments": {"input": "say \"é\\\" \u00e9\ud83d\ude00\n"}}
</tool_call>"#;
    let expected = "say \"é\\\" é😀\n";
    for (api, streams) in [(Api::Chat, false), (Api::Chat, true), (Api::Responses, false), (Api::Responses, true)] {
        let body = custom_body(api, streams);
        let read = || api.read(body.as_bytes()).unwrap();
        // The model is shown a function, and its earlier call; the grammar is that of the input.
        let prepared = model.prepare(&read().request, Engine::Vllm, false).unwrap();
        assert!(prepared.prompt.contains(r#"{"name": "run", "arguments": {"input": "ls"}}"#), "{}", prepared.prompt);
        assert!(prepared.prompt.contains(r#""type": "function", "function": {"name": "run""#), "{}", prepared.prompt);
        assert!(prepared.grammar_text().unwrap().contains("-["), "{:?}", prepared.grammar_text());
        for (cut, _) in call.char_indices() {
            let (before, after) = call.split_at(cut);
            let mut asked = read();
            let writer = asked.writer("m", ReasoningName::ReasoningContent, 1, model.id_form());
            let mut turn = Turn::new(&model, &prepared, &asked.request, CallDelivery::Growing, writer).unwrap();
            for update in
                [before, after].map(|piece| Update::Text(piece.to_owned())).into_iter().chain([Update::End(End::Stop)])
            {
                turn.take(Reply::Choice(0, update), 0).unwrap();
            }
            turn.end();
            let stream = turn.unsent();
            let whole = if streams { Value::Null } else { turn.whole() };
            assert_eq!(inputs(&stream, &whole), [expected], "{api:?}, {cut}: {stream}{whole}");
        }
    }
}
