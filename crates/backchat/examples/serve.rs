//! Serves a recorded generation on the loopback as an OpenAI-style stream of `chat.completion.chunk`s.
//!
//! ```sh
//! cargo run --example serve          # then, in another terminal:
//! curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream": true}'
//! curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream": true, "tool_choice": "none"}'
//! ```
//!
//! This is the code between an engine's text and its clients. Every request is answered with the recording, parsed with
//! its response template. A request that the recording cannot answer, because of its tools, its tool choice or
//! `parallel_tool_calls`, is refused with the position at which the recording violates the request's grammar: a real engine
//! would have passed that grammar to its sampler.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, sleep};
use std::time::Duration;
use std::{env, fs};

use backchat::derive::{Model, Options as ModelOptions};
use backchat::grammar::{self, Choice, Fed, Grammar, Request};
use backchat::json::{self, Object};
use backchat::parser::Options;
use backchat::{Event, Parser, Template, Value};

/// The folder of a recorded generation, and the chat template of its model.
const WEATHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/weather");
const CHAT_TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../chat_templates/qwen3.jinja");

fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    println!("http://{}/v1/chat/completions", listener.local_addr()?);
    let generation = Generation::read(WEATHER)?;
    thread::scope(|scope| {
        for connection in listener.incoming().flatten() {
            let generation = &generation;
            scope.spawn(move || {
                if let Err(error) = answer(connection, generation) {
                    eprintln!("error: {error}");
                }
            });
        }
    });
    Ok(())
}

struct Generation {
    /// The response template, and how the model writes a turn: inferred once and shared by all requests.
    model: Model,
    prompt: String,
    /// The tools of requests that have none.
    tools: Value,
    /// The pieces of the model's output, and how long each took.
    pieces: Vec<(Duration, String)>,
}

impl Generation {
    fn read(folder: &str) -> Result<Self, Box<dyn Error>> {
        let text = |name: &str| fs::read_to_string(format!("{folder}/{name}"));
        let template = Template::load(&text("response_template.json")?)?.template;
        let mut pieces = Vec::new();
        for line in text("recording.jsonl")?.lines() {
            let row = json::read(line)?;
            let wait = row.get("after_ms").and_then(Value::as_i64).unwrap_or(0);
            let text = row.get("text").and_then(Value::as_str).unwrap_or_default();
            pieces.push((Duration::from_millis(wait.try_into()?), text.to_owned()));
        }
        let chat_template = fs::read_to_string(CHAT_TEMPLATE)?;
        let Ok(model) = Model::open(&chat_template, Some(template), &ModelOptions::default()) else {
            return Err("the chat template shows no content".into());
        };
        Ok(Self { model, prompt: text("prompt.txt")?, tools: json::read(&text("tools.json")?)?, pieces })
    }

    /// The grammar of a request, which an engine passes to its sampler: `to_gbnf`, `to_ebnf`, `to_lark`.
    fn grammar(&self, request: &Value) -> Result<Grammar, String> {
        let choice = request.get("tool_choice").map(Choice::read).transpose().map_err(|error| error.message)?;
        let request = Request::default()
            .tools(request.get("tools").unwrap_or(&self.tools))
            .choice(choice.as_ref())
            .parallel(request.get("parallel_tool_calls").and_then(Value::as_bool))
            .prompt(self.prompt.as_str());
        grammar::build(&self.model.template, &self.model.wire, &request)
            .map_err(|problems| problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; "))
    }

    /// Whether a sampler that follows the grammar could have written the recording.
    fn answers(&self, grammar: &Grammar) -> Result<(), String> {
        let text: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        let end = grammar.stop().iter().filter_map(|(stop, _)| text.find(stop.as_str())).min();
        match grammar.matcher().feed(&text[..end.unwrap_or(text.len())]) {
            Fed::Ok { may_end: true } => Ok(()),
            Fed::Broken { at, expected } => {
                Err(format!("the recording breaks the grammar at byte {at}: expected {}", expected.join(", ")))
            }
            _ => Err("the recording ends before the grammar does".to_owned()),
        }
    }
}

fn answer(connection: TcpStream, generation: &Generation) -> Result<(), Box<dyn Error>> {
    connection.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut reader = BufReader::new(&connection).take(1 << 20);
    let mut length = 0;
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some((_, value)) = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse()?;
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    let mut out = &connection;
    let request = if body.is_empty() { Ok(Value::Null) } else { json::read(&body).map_err(|error| error.to_string()) };
    let is_answered = request.and_then(|request| generation.answers(&generation.grammar(&request)?));
    if let Err(message) = is_answered {
        let error = Value::from([("message", message.into()), ("type", "invalid_request_error".into())]);
        let body = Value::from([("error", error)]);
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close";
        return Ok(write!(out, "{head}\r\n\r\n{body}\n")?);
    }
    write!(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    stream(generation, &mut out)
}

/// The whole stream: a chunk for the role, one for each event with new data, one for the end.
fn stream(generation: &Generation, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let options = Options::default().grow_calls(true);
    let mut parser = Parser::new(&generation.model.template, &generation.prompt, options)?;
    send(out, object([("role", "assistant".into())]), Value::Null)?;
    let tell = |events: &[Event], out: &mut _| -> io::Result<()> {
        events.iter().filter_map(delta).try_for_each(|delta| send(out, delta, Value::Null))
    };
    tell(parser.initial_events(), out)?;
    for (wait, piece) in &generation.pieces {
        sleep(*wait);
        tell(&parser.feed(piece)?, out)?;
    }
    let finished = parser.finish()?;
    tell(&finished.events, out)?;
    let reason = if finished.message.contains_key("tool_calls") { "tool_calls" } else { "stop" };
    send(out, Object::new(), reason.into())?;
    write!(out, "data: [DONE]\n\n")?;
    Ok(out.flush()?)
}

/// The delta of an event in OpenAI's protocol: a call begins with its name, and its arguments are a growing JSON string.
fn delta(event: &Event) -> Option<Object> {
    match event {
        Event::Chunk { field, text, dirty: false, .. } => Some(object([(field, text.as_str().into())])),
        Event::CallStart { index, name, id, .. } => {
            let id = id.clone().unwrap_or_else(|| format!("call_{index}"));
            let function = object([("name", name.as_str().into()), ("arguments", "".into())]);
            let call = [
                ("index", (*index).into()),
                ("id", id.into()),
                ("type", "function".into()),
                ("function", function.into()),
            ];
            Some(object([("tool_calls", Value::List(vec![Value::from(call)]))]))
        }
        Event::CallArguments { index, delta, .. } => {
            let function = Value::from([("arguments", delta.as_str().into())]);
            let call = Value::from([("index", (*index).into()), ("function", function)]);
            Some(object([("tool_calls", Value::List(vec![call]))]))
        }
        _ => None,
    }
}

fn send(out: &mut impl Write, delta: Object, finish_reason: Value) -> io::Result<()> {
    let choice = [("index", 0.into()), ("delta", Value::Object(delta)), ("finish_reason", finish_reason)];
    let chunk = [
        ("id", "chatcmpl-recorded".into()),
        ("object", "chat.completion.chunk".into()),
        ("choices", Value::List(vec![Value::Object(object(choice))])),
    ];
    write!(out, "data: {}\n\n", Value::Object(object(chunk)))?;
    out.flush()
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn a_request_that_the_recording_does_not_answer_is_refused() -> Result<(), Box<dyn Error>> {
    let generation = Generation::read(WEATHER)?;
    let said = |request: &str| -> Result<(), String> {
        let request = json::read(request).map_err(|error| error.to_string())?;
        generation.answers(&generation.grammar(&request)?)
    };
    assert_eq!(said("{}"), Ok(()));
    assert_eq!(said(r#"{"tool_choice": "auto", "parallel_tool_calls": true}"#), Ok(()));
    for (request, why) in [
        (r#"{"tool_choice": "none"}"#, "breaks the grammar at byte"),
        (r#"{"parallel_tool_calls": false}"#, "breaks the grammar at byte"),
        (r#"{"tools": [{"name": "get_time"}]}"#, "breaks the grammar at byte"),
        (r#"{"tool_choice": {"type": "function", "function": {"name": "get_time"}}}"#, "not among the tools"),
        (r#"{"tool_choice": 7}"#, "invalid `tool_choice`"),
    ] {
        let refused = said(request).unwrap_err();
        assert!(refused.contains(why), "{request}: {refused}");
    }
    Ok(())
}

#[test]
fn clients_get_both_calls_and_none_of_the_marks() -> Result<(), Box<dyn Error>> {
    let mut generation = Generation::read(WEATHER)?;
    // Nobody watches: the pieces come at once.
    generation.pieces.iter_mut().for_each(|(wait, _)| *wait = Duration::ZERO);
    let mut out = Vec::new();
    stream(&generation, &mut out)?;
    let out = String::from_utf8(out)?;
    let mut arguments = [String::new(), String::new()];
    for line in out.lines().filter_map(|line| line.strip_prefix("data: {")) {
        let chunk = json::read(&format!("{{{line}"))?;
        let call = &chunk["choices"][0]["delta"]["tool_calls"][0];
        if let Some(text) = call["function"]["arguments"].as_str() {
            let index = usize::try_from(call["index"].as_u64().ok_or("a call without its number")?)?;
            arguments.get_mut(index).ok_or("a third call")?.push_str(text);
        }
    }
    assert_eq!(arguments, [r#"{"city": "Oslo", "days": 1}"#, r#"{"city": "Rome", "days": 1}"#]);
    assert!(out.contains(r#""finish_reason": "tool_calls""#) && out.ends_with("data: [DONE]\n\n"), "{out}");
    assert!(!out.contains("<tool_call>") && !out.contains("think>"), "{out}");
    Ok(())
}
