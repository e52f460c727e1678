//! The real server between a client and an engine that plays a recorded answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use backchat::{Value, json};

const ANSWER: &str = "<think>\nHm.\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
const TOOLS: &str = r#"[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]"#;

/// The head and the body of a message of HTTP whose body has a length, or ends with the connection.
pub fn message(stream: &mut impl BufRead) -> (String, String) {
    let (mut head, mut length) = (String::new(), None);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = Some(value.trim().parse().unwrap());
        }
        head.push_str(&line);
    }
    let mut body = Vec::new();
    match length {
        Some(length) => stream.take(length).read_to_end(&mut body).unwrap(),
        None if head.starts_with("GET") || head.is_empty() => 0,
        None => stream.read_to_end(&mut body).unwrap(),
    };
    (head, String::from_utf8(body).unwrap())
}

/// The engines, each with the path at which it completes a prompt.
const ENGINES: [(&str, &str); 6] = [
    ("llama.cpp", "/completion"),
    ("vllm", "/v1/completions"),
    ("sglang", "/generate"),
    ("tgi", "/generate_stream"),
    ("ollama", "/api/generate"),
    ("openai", "/v1/completions"),
];

/// An engine with vLLM's protocol. Gives its address, and the requests it got.
fn engine(refuses: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    engine_with_protocol("vllm", refuses)
}

/// An engine that answers as the named one does: its own page that tells it apart, its facts, and the answer in events of
/// three characters.
fn engine_with_protocol(name: &'static str, refuses: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (head, body) = message(&mut BufReader::new(stream.try_clone().unwrap()));
            let (method, path) = head.split_once(' ').unwrap_or_default();
            let path = path.split(' ').next().unwrap_or_default();
            let (status, answer) = match (name, method, path) {
                (_, "GET", "/v1/models") => {
                    (200, r#"{"data": [{"id": "the-model", "max_model_len": 4096}]}"#.to_owned())
                }
                ("llama.cpp", "GET", "/props") => (200, r#"{"total_slots": 4}"#.to_owned()),
                ("llama.cpp", "POST", "/tokenize") => (200, r#"{"tokens": []}"#.to_owned()),
                ("vllm", "GET", "/version") | ("ollama", "GET", "/api/version") => {
                    (200, r#"{"version": "1.0"}"#.to_owned())
                }
                ("sglang", "GET", "/model_info" | "/server_info") | ("tgi", "GET", "/info") => (200, "{}".to_owned()),
                ("ollama", "GET", "/api/tags") => (200, r#"{"models": [{"model": "the-model"}]}"#.to_owned()),
                (_, "POST", _) if ENGINES.contains(&(name, path)) => {
                    seen.lock().unwrap().push(body);
                    if refuses {
                        (400, r#"{"error": {"message": "context too long"}}"#.to_owned())
                    } else {
                        (200, events(path))
                    }
                }
                _ => (404, "{}".to_owned()),
            };
            let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
        }
    });
    (address, asked)
}

/// The stream that an engine answers a request to this path with.
fn events(path: &str) -> String {
    let characters: Vec<char> = ANSWER.chars().collect();
    let (mut stream, mut text) = (String::new(), String::new());
    for (number, piece) in characters.chunks(3).enumerate() {
        let piece: String = piece.iter().collect();
        text += &piece;
        let (piece, text) = (Value::from(piece), Value::from(text.as_str()));
        let is_last = text.as_str() == Some(ANSWER);
        let end = |value: &'static str| if is_last { value } else { "null" };
        stream += &match path {
            "/completion" => {
                format!("data: {{\"index\": 0, \"content\": {piece}, \"tokens\": [], \"stop\": false}}\n\n")
            }
            "/generate" => {
                let reason = end(r#"{"type": "stop", "matched": 2}"#);
                format!(
                    "data: {{\"text\": {text}, \"output_ids\": [7], \"meta_info\": {{\"finish_reason\": {reason}, \
                     \"prompt_tokens\": 11, \"completion_tokens\": 22}}}}\n\n"
                )
            }
            "/generate_stream" => {
                let details = end(r#"{"finish_reason": "eos_token", "generated_tokens": 22, "input_length": 11}"#);
                format!(
                    "data:{{\"index\": {}, \"token\": {{\"id\": 7, \"text\": {piece}, \"special\": false}}, \
                     \"generated_text\": null, \"details\": {details}}}\n\n",
                    number + 1
                )
            }
            "/api/generate" => format!("{{\"model\": \"the-model\", \"response\": {piece}, \"done\": false}}\n"),
            _ => {
                let reason = end("\"stop\"");
                format!("data: {{\"choices\": [{{\"index\": 0, \"text\": {piece}, \"finish_reason\": {reason}}}]}}\n\n")
            }
        };
    }
    stream
        + match path {
            "/completion" => {
                "data: {\"index\": 0, \"content\": \"\", \"stop\": true, \"stop_type\": \"eos\", \"tokens_evaluated\": 11, \
                 \"tokens_predicted\": 22}\n\n"
            }
            "/api/generate" => {
                "{\"response\": \"\", \"done\": true, \"done_reason\": \"stop\", \"prompt_eval_count\": 11, \"eval_count\": 22}\n"
            }
            "/v1/completions" => {
                "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 11, \"completion_tokens\": 22}}\n\ndata: [DONE]\n\n"
            }
            _ => "",
        }
}

/// A server in front of an engine, ended when it is dropped.
pub struct Server(Child, String);

impl Server {
    fn start(upstream: &str, record: &Path) -> Self {
        Self::with(&["--engine", "vllm", "--upstream", upstream, "--record", record.to_str().unwrap()])
    }

    pub fn with(options: &[&str]) -> Self {
        Self::of("chat_templates/qwen3.jinja", options)
    }

    fn of(model: &str, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        command.args(["serve", "-q", model, "--port", "0"]).args(options);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdout(Stdio::piped());
        Self::run(command)
    }

    fn run(mut command: Command) -> Self {
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1")).unwrap().to_owned();
        Self(server, address)
    }

    pub fn ask(&self, head: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        message(&mut BufReader::new(stream))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The rows of a record once it has this many: a thread writes them, and answers do not wait for it.
fn rows(record: &Path, count: usize) -> String {
    let began = Instant::now();
    loop {
        let rows = fs::read_to_string(record).unwrap();
        if rows.lines().count() >= count {
            assert_eq!(rows.lines().count(), count, "{rows}");
            return rows;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{rows}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_call_is_served_streamed_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.jsonl");
    let (upstream, asked) = engine(false);
    let server = Server::start(&upstream, &record);
    let body = |more: &str| {
        let messages = r#"[{"role": "user", "content": "Weather?"}]"#;
        format!(r#"{{"messages": {messages}, "tools": {TOOLS}, "temperature": 0.5{more}}}"#)
    };
    let (head, whole) = server.ask("POST /v1/chat/completions", &body(""));
    assert!(head.starts_with("HTTP/1.1 200"), "{head}{whole}");
    let answer = json::read(&whole).unwrap();
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["reasoning_content"].as_str(), Some("Hm."));
    assert_eq!(message["tool_calls"][0]["function"]["arguments"].as_str(), Some(r#"{"city": "Oslo"}"#));
    assert_eq!(answer["choices"][0]["finish_reason"].as_str(), Some("tool_calls"));
    assert_eq!(answer["usage"]["total_tokens"].as_i64(), Some(33));

    let (head, stream) = server.ask("POST /v1/chat/completions", &body(r#", "stream": true"#));
    assert!(head.contains("text/event-stream") && stream.contains("data: [DONE]"), "{head}{stream}");
    assert!(stream.matches("\"arguments\"").count() > 3 && !stream.contains("tool_call>"), "{stream}");

    let sent = json::read(&asked.lock().unwrap()[0]).unwrap();
    assert!(sent["prompt"].as_str().unwrap().ends_with("<|im_start|>assistant\n"), "{sent}");
    assert_eq!((sent["temperature"].as_f64(), sent["max_tokens"].as_i64()), (Some(0.5), Some(4096)));
    assert_eq!(sent["skip_special_tokens"].as_bool(), Some(false));

    let rows = rows(&record, 2);
    let row = json::read(rows.lines().next().unwrap()).unwrap();
    assert_eq!((row["text"].as_str(), row["outcome"].as_str()), (Some(ANSWER), Some("complete")));
    let parse = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["parse", "-q", "derived/qwen3.json", "--jsonl"])
        .arg(&record)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let parsed = json::read(String::from_utf8(parse.stdout).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(parsed["message"]["tool_calls"], row["message"]["tool_calls"]);
    let (_, metrics) = server.ask("GET /metrics", "");
    assert!(metrics.contains("backchat_requests_total{status=\"200\"} 2"), "{metrics}");
}

#[test]
fn every_engine_is_recognized_and_read() {
    for (name, _) in ENGINES {
        let (upstream, _) = engine_with_protocol(name, false);
        let server = Server::with(&["--upstream", &upstream]);
        let body = |more: &str| {
            format!(r#"{{"messages": [{{"role": "user", "content": "Weather?"}}], "tools": {TOOLS}{more}}}"#)
        };
        let (head, whole) = server.ask("POST /v1/chat/completions", &body(""));
        assert!(head.starts_with("HTTP/1.1 200"), "{name}: {head}{whole}");
        let answer = json::read(&whole).unwrap();
        let choice = &answer["choices"][0];
        let call = &choice["message"]["tool_calls"][0]["function"];
        assert_eq!(choice["message"]["reasoning_content"].as_str(), Some("Hm."), "{name}: {whole}");
        assert_eq!(call["arguments"].as_str(), Some(r#"{"city": "Oslo"}"#), "{name}: {whole}");
        assert_eq!(choice["finish_reason"].as_str(), Some("tool_calls"), "{name}: {whole}");
        assert_eq!(answer["usage"]["total_tokens"].as_i64(), Some(33), "{name}: {whole}");
        let (_, stream) = server.ask("POST /v1/chat/completions", &body(r#", "stream": true"#));
        assert!(stream.matches("\"arguments\"").count() > 3 && stream.contains("data: [DONE]"), "{name}: {stream}");
    }
}

/// The same request in each API is the same prompt, and its answer the same message in the form of each.
#[test]
fn every_api_asks_the_engine_for_the_same_completion() {
    let (upstream, asked) = engine(false);
    let server = Server::with(&["--engine", "vllm", "--upstream", &upstream]);
    let function =
        r#"{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}"#;
    let (flat, own) =
        (function.replacen('{', r#"{"type": "function", "#, 1), function.replace("parameters", "input_schema"));
    for (path, body, whole, streamed) in [
        (
            "chat/completions",
            format!(
                r#""messages": [{{"role": "system", "content": "Be short."}}, {{"role": "user", "content": "Weather?"}}],
                    "tools": [{{"type": "function", "function": {function}}}], "max_tokens": 50, "reasoning_effort": "low""#
            ),
            r#""arguments": "{\"city\": \"Oslo\"}""#,
            "data: [DONE]",
        ),
        (
            "responses",
            format!(
                r#""instructions": "Be short.", "input": "Weather?", "tools": [{flat}], "max_output_tokens": 50,
                    "reasoning": {{"effort": "low"}}"#
            ),
            r#""arguments": "{\"city\": \"Oslo\"}", "status": "completed""#,
            "event: response.completed\n",
        ),
        (
            "messages",
            format!(
                r#""system": "Be short.", "messages": [{{"role": "user", "content": "Weather?"}}], "tools": [{own}],
                    "max_tokens": 50, "output_config": {{"effort": "low"}}"#
            ),
            r#""input": {"city": "Oslo"}}], "stop_reason": "tool_use""#,
            "event: message_stop\n",
        ),
    ] {
        for (stream, expected) in [(false, whole), (true, streamed)] {
            let (head, answer) = server.ask(&format!("POST /v1/{path}"), &format!(r#"{{{body}, "stream": {stream}}}"#));
            assert!(head.starts_with("HTTP/1.1 200") && answer.contains(expected), "{path}: {head}{answer}");
            assert_eq!(head.contains("text/event-stream"), stream, "{path}: {head}");
        }
    }
    let asked = asked.lock().unwrap();
    assert!(asked.len() == 6 && asked.iter().all(|body| *body == asked[0]), "{asked:#?}");
    assert!(
        asked[0].contains("Be short.") && asked[0].contains("get_weather") && asked[0].contains("\"max_tokens\": 50")
    );
}

/// Plain text is the engine's: nothing is rendered, parsed or recorded, and what the client does not know stays out.
#[test]
fn completions_of_plain_text_are_the_engines_own() {
    let (upstream, asked) = engine(false);
    let server = Server::with(&["--engine", "vllm", "--upstream", &upstream]);
    let body = r#"{"model": "any", "prompt": "Once", "max_tokens": 5, "kv_transfer_params": {}}"#;
    let (head, answer) = server.ask("POST /v1/completions", body);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(answer.replace("\r\n", "").contains(&events("/v1/completions")), "{answer}");
    assert_eq!(*asked.lock().unwrap(), [r#"{"prompt": "Once", "max_tokens": 5, "model": "the-model"}"#]);
    let (_, metrics) = server.ask("GET /metrics", "");
    assert!(metrics.contains("backchat_requests_total{status=\"200\"} 1"), "{metrics}");

    let (upstream, _) = engine(true);
    let refusing = Server::with(&["--engine", "vllm", "--upstream", &upstream]);
    let recorded = Server::with(&["--replay", "examples/weather/recording.jsonl"]);
    for (server, body, status, word) in [
        (&server, "{}", 400, "`prompt`"),
        (&refusing, body, 400, "context too long"),
        (&recorded, body, 404, "needs an engine"),
    ] {
        let (head, answer) = server.ask("POST /v1/completions", body);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(word), "{head}{answer}");
    }
}

/// A failure inside a stream is an event in the form of its API, and the stream does not end as a whole one does.
#[test]
fn an_engine_that_breaks_off_ends_a_stream_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            message(&mut BufReader::new(stream.try_clone().unwrap()));
            let event = "data: {\"choices\": [{\"index\": 0, \"text\": \"Hi\"}]}\n\n";
            let _ = write!(stream, "HTTP/1.1 200 X\r\nContent-Length: 500\r\n\r\n{event}");
        }
    });
    let server = Server::start(&upstream, &folder.path().join("record.jsonl"));
    for (path, body, error, end) in [
        (
            "chat/completions",
            r#""messages": [{"role": "user", "content": "Hi"}]"#,
            "data: {\"error\": {\"message\"",
            "[DONE]",
        ),
        ("responses", r#""input": "Hi""#, "event: response.failed\n", "response.completed"),
        (
            "messages",
            r#""messages": [{"role": "user", "content": "Hi"}]"#,
            "event: error\ndata: {\"type\": \"error\", \"error\"",
            "message_stop",
        ),
    ] {
        let (_, answer) = server.ask(&format!("POST /v1/{path}"), &format!(r#"{{"stream": true, {body}}}"#));
        assert!(answer.contains("Hi") && answer.contains(error) && !answer.contains(end), "{path}: {answer}");
        // Of a response it is the last event, which the end of the body follows.
        assert_eq!(answer.ends_with("\r\n0\r\n\r\n"), path == "responses", "{path}: {answer}");
    }
}

fn backchat(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
    let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn every_command_reads_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.jsonl");
    let (upstream, _) = engine(false);
    let server = Server::start(&upstream, &record);
    let messages = r#"[{"role": "user", "content": "Weather?"}]"#;
    for choice in ["\"auto\"", "\"required\"", "\"required\""] {
        let body = format!(r#"{{"messages": {messages}, "tools": {TOOLS}, "tool_choice": {choice}}}"#);
        let (head, answer) = server.ask("POST /v1/chat/completions", &body);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}{answer}");
    }
    let rows = rows(&record, 3);
    assert!(rows.contains("\"grammar\": \""), "a required call has a grammar: {rows}");
    let first = folder.path().join("first.fixture");
    let (record, first) = (record.to_str().unwrap(), first.to_str().unwrap());
    let template = "derived/qwen3.json";
    for (arguments, told) in [
        (&["parse", template, "--jsonl", record, "--strict"][..], "\"get_weather\""),
        (&["replay", template, record], "as expected"),
        (&["check", "--template", template, record], "3 cases: 3 passed"),
        (&["audit", record, "--template", template], "0 of 3 outputs have problems"),
        (&["derive", "chat_templates/qwen3.jinja", "--samples", record], "3 of 3 explained"),
        (
            &["check", "--new", "chat_templates/qwen3.jinja", "--template", template, "--from", record, first],
            "1 case. Next",
        ),
        (&["check", first], "1 case: 1 passed"),
    ] {
        let (code, output) = backchat(arguments);
        assert!(code == Some(0) && output.contains(told), "{arguments:?}: {code:?}: {output}");
    }
}

#[test]
fn a_server_says_at_its_start_if_the_derivation_is_not_proved() {
    let (upstream, _) = engine(false);
    for (model, is_proved) in [("tests/derive/arguments_of_a_url.jinja", false), ("chat_templates/qwen3.jinja", true)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        command.args(["serve", model, "--port", "0", "--engine", "vllm", "--upstream", &upstream]);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = Server::run(command);
        server.0.kill().unwrap();
        let mut said = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let warning = "\nwarning: the derived response template is partial: 41 of 56 ";
        assert_eq!(said.contains(warning), !is_proved, "{model}: {said}");
    }
}

#[test]
fn recorded_outputs_are_served_one_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outputs.jsonl");
    let text = Value::from(ANSWER);
    fs::write(
        &file,
        format!("{{\"text\": {text}, \"chunks\": [5, 9]}}\n{{\"text\": \"Hi\", \"finish_reason\": \"length\"}}\n"),
    )
    .unwrap();
    let server = Server::with(&["--replay", file.to_str().unwrap(), "--calls", "whole"]);
    let ask = |more: &str| {
        let body = format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "tools": {TOOLS}{more}}}"#);
        let (head, text) = server.ask("POST /v1/chat/completions", &body);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}{text}");
        text
    };
    let stream = ask(r#", "stream": true"#);
    assert!(stream.contains("data: [DONE]"), "{stream}");
    // One for the name, one for all arguments.
    assert_eq!(stream.matches("\"tool_calls\": [").count(), 2, "{stream}");
    assert!(stream.contains(r#""arguments": "{\"city\": \"Oslo\"}""#), "{stream}");
    let second = json::read(&ask("")).unwrap();
    assert_eq!(second["choices"][0]["message"]["content"].as_str(), Some("Hi"));
    assert_eq!(second["choices"][0]["finish_reason"].as_str(), Some("length"));
    let third = json::read(&ask(r#", "tool_choice": "required""#)).unwrap();
    assert_eq!(third["choices"][0]["finish_reason"].as_str(), Some("tool_calls"));
    assert_eq!(third["backchat"]["problems"][0]["kind"].as_str(), Some("unconstrained"));
    let both = json::read(&ask(r#", "n": 2"#)).unwrap();
    assert_eq!(both["choices"].as_list().unwrap().len(), 2);
    assert!(server.ask("GET /health", "").0.starts_with("HTTP/1.1 200"));
    fs::write(&file, "{\"text\": \"Hi\"}\n{}\n").unwrap();
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    for (file, why) in [
        ("nowhere.jsonl", "nowhere.jsonl"),
        (file.to_str().unwrap(), "outputs.jsonl:2:1"),
        (empty.to_str().unwrap(), "the file holds no output"),
    ] {
        let (code, output) = backchat(&["serve", "chat_templates/qwen3.jinja", "--replay", file]);
        assert!(code == Some(2) && output.contains(why), "{output}");
    }
}

/// The request that an engine gets for an answer in JSON, or the refusal.
fn asked_for_json(model: &str, engine: &'static str, more: &str) -> Result<Value, String> {
    let (upstream, asked) = engine_with_protocol(engine, false);
    let server = Server::of(&format!("chat_templates/{model}.jinja"), &["--engine", engine, "--upstream", &upstream]);
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#;
    let format = format!(r#"{{"type": "json_schema", "json_schema": {{"name": "n", "schema": {schema}}}}}"#);
    let messages = r#"[{"role": "user", "content": "Hi"}]"#;
    let body = format!(r#"{{"messages": {messages}, "response_format": {format}{more}}}"#);
    let (head, answer) = server.ask("POST /v1/chat/completions", &body);
    if !head.starts_with("HTTP/1.1 200") {
        return Err(head + &answer);
    }
    Ok(json::read(&asked.lock().unwrap()[0]).unwrap())
}

#[test]
fn the_json_of_an_answer_stands_where_the_format_of_the_model_has_it() {
    let tools = format!(r#", "tools": {TOOLS}"#);
    // Nothing but the answer: the engine's own constraint is enough.
    let sent = asked_for_json("gemma_2", "vllm", "").unwrap();
    assert!(sent["structured_outputs"]["json"].get("properties").is_some(), "{sent}");
    // The model may think first, must, or may call a tool instead.
    for (model, more) in [("qwen3", ""), ("qwq", ""), ("gpt_oss", ""), ("hermes", tools.as_str())] {
        let sent = asked_for_json(model, "vllm", more).unwrap();
        let outputs = &sent["structured_outputs"];
        assert!(outputs.get("structural_tag").is_some() && outputs.get("json").is_none(), "{model}: {sent}");
        let sent = asked_for_json(model, "llama.cpp", more).unwrap();
        assert!(sent.get("grammar").is_some() && sent.get("json_schema").is_none(), "{model}: {sent}");
    }
    // An engine without grammars takes the schema for a model that need not think, and nothing for the others.
    assert!(asked_for_json("qwen3", "ollama", "").unwrap()["format"].get("properties").is_some());
    for (model, more) in [("qwq", ""), ("gpt_oss", ""), ("hermes", tools.as_str())] {
        let refused = asked_for_json(model, "ollama", more).unwrap_err();
        assert!(
            refused.starts_with("HTTP/1.1 400") && refused.contains("from the first token on"),
            "{model}: {refused}"
        );
    }
}

#[test]
fn an_answer_that_is_sent_as_a_whole_has_no_broken_call() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("output.txt");
    let broken = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"\n</tool_call>";
    fs::write(&recorded, format!("Well.{broken}")).unwrap();
    let server = Server::with(&["--replay", recorded.to_str().unwrap()]);
    let body = format!(r#"{{"messages": [{{"role": "user", "content": "Weather?"}}], "tools": {TOOLS}}}"#);
    let (_, answer) = server.ask("POST /v1/chat/completions", &body);
    let choice = &json::read(&answer).unwrap()["choices"][0];
    assert!(choice["message"].get("tool_calls").is_none(), "{answer}");
    assert!(choice["message"]["content"].as_str().unwrap().contains(broken), "{answer}");
    assert_eq!(choice["finish_reason"].as_str(), Some("stop"), "{answer}");
}

#[test]
fn an_answer_has_the_same_problems_whole_and_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("output.txt");
    fs::write(&recorded, "Well.</tool_call>So.</tool_call>").unwrap();
    let server = Server::with(&["--replay", recorded.to_str().unwrap()]);
    let asked = |more: &str| {
        let body = format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "tools": {TOOLS}{more}}}"#);
        let (_, answer) = server.ask("POST /v1/chat/completions", &body);
        answer.split_once("\"backchat\": ").unwrap().1.split_once("]}").unwrap().0.to_owned()
    };
    let whole = asked("");
    assert_eq!(whole.matches("stray-marker").count(), 1, "{whole}");
    assert_eq!(whole, asked(r#", "stream": true"#));
}

/// A client that rules calls out gets the same plain answer.
#[test]
fn without_calls_an_answer_is_trimmed_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("output.txt");
    fs::write(&recorded, "<think>\nok\n</think>\n\nHi").unwrap();
    let server = Server::with(&["--replay", recorded.to_str().unwrap()]);
    let messages = r#""messages": [{"role": "user", "content": "Hi"}]"#;
    for (path, body, content) in [
        ("chat/completions", format!(r#"{messages}, "tool_choice": "none""#), r#""content": "Hi""#),
        ("responses", r#""input": "Hi", "tool_choice": "none""#.to_owned(), r#""text": "Hi""#),
        ("messages", format!(r#"{messages}, "max_tokens": 9, "tool_choice": {{"type": "none"}}"#), r#""text": "Hi""#),
    ] {
        for stream in [false, true] {
            let (_, answer) = server.ask(&format!("POST /v1/{path}"), &format!(r#"{{{body}, "stream": {stream}}}"#));
            assert!(answer.contains(content) && !answer.contains(r"\nHi"), "{path}: {answer}");
        }
    }
}

#[test]
fn failures_have_a_status_and_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (upstream, _) = engine(true);
    let server = Server::start(&upstream, &folder.path().join("record.jsonl"));
    let messages = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#;
    for (head, body, status, word) in [
        ("POST /v1/chat/completions", "{", "400", "JSON"),
        ("POST /v1/chat/completions", "{}", "400", "messages"),
        ("POST /v1/chat/completions", messages, "400", "context too long"),
        ("GET /v1/chat/completions", "", "405", "POST"),
        ("GET /nothing", "", "404", "/nothing"),
        ("GET /v1/models/another", "", "404", "another"),
        ("POST /v1/responses", r#"{"input": "Hi"}"#, "400", "context too long"),
        ("POST /v1/responses", r#"{"input": "Hi", "previous_response_id": "r"}"#, "400", "keeps nothing"),
        ("GET /v1/responses/resp_1", "", "404", "keeps no responses"),
        ("POST /v1/messages", messages, "400", "context too long"),
        ("POST /v1/messages", "{}", "400", "messages"),
        ("GET /v1/messages", "", "405", "POST"),
        ("POST /v1/messages/count_tokens", "{}", "404", "/v1/messages/count_tokens"),
    ] {
        let (answer, text) = server.ask(head, body);
        let error = json::read(&text).unwrap();
        let is_own = head.contains("/v1/messages");
        assert_eq!(error.get("type").and_then(Value::as_str), is_own.then_some("error"), "{head}: {text}");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
        assert!(error["error"]["message"].as_str().unwrap().contains(word), "{head}: {text}");
    }
}

/// A request with these headers; its status, and the answer with its head.
fn with_headers(server: &Server, method: &str, headers: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(&server.1).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} /v1/chat/completions HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let (head, body) = message(&mut BufReader::new(stream));
    (head.split(' ').nth(1).unwrap_or_default().to_owned(), head + &body)
}

#[test]
fn pages_of_strangers_do_not_reach_a_server_without_a_key() {
    let (upstream, asked) = engine(false);
    let options =
        ["--engine", "vllm", "--upstream", &upstream, "--cors", "https://app.example", "--allow-host", "box.lan"];
    let server = Server::with(&options);
    let body = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#;
    for (headers, status, word) in [
        ("Host: evil.example:8080\r\n", "403", "--allow-host evil.example"),
        ("Host: localhost\r\nOrigin: https://evil.example\r\n", "403", "--cors https://evil.example"),
        ("Host: localhost\r\nOrigin: null\r\n", "403", "--cors null"),
        ("Host: localhost\r\nContent-Type: text/plain\r\n", "415", "application/json"),
        ("Host: box.lan:80\r\nContent-Type: application/json\r\n", "200", "choices"),
        (
            "Host: localhost\r\nOrigin: https://app.example\r\n",
            "200",
            "access-control-allow-origin: https://app.example",
        ),
    ] {
        let before = asked.lock().unwrap().len();
        let (found, answer) = with_headers(&server, "POST", headers, body);
        assert!(found == status && answer.contains(word), "{headers}: {answer}");
        assert_eq!(asked.lock().unwrap().len() - before, usize::from(status == "200"), "{headers}");
    }
    // What a browser asks first, for the headers of OpenAI's JavaScript client.
    let preflight = "Host: localhost\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n\
        Access-Control-Request-Headers: authorization,content-type,x-stainless-arch\r\n";
    let (status, answer) = with_headers(&server, "OPTIONS", preflight, "");
    assert!(
        status == "200" && answer.contains("access-control-allow-headers: authorization,content-type,x-stainless-arch")
    );
}

#[test]
fn a_request_cannot_replace_what_the_server_checked() {
    let (upstream, asked) = engine(false);
    let server = Server::with(&["--engine", "vllm", "--upstream", &upstream]);
    let ask = |variables: &str| {
        let messages = r#"[{"role": "user", "content": "Hi"}]"#;
        let body = format!(r#"{{"messages": {messages}, "chat_template_kwargs": {variables}}}"#);
        server.ask("POST /v1/chat/completions", &body)
    };
    for name in ["messages", "tools", "add_generation_prompt", "bos_token", "raise_exception"] {
        let (head, answer) = ask(&format!(r#"{{"{name}": false}}"#));
        assert!(head.starts_with("HTTP/1.1 400") && answer.contains(&format!("`{name}` cannot be set")), "{answer}");
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    let (head, answer) = ask(r#"{"enable_thinking": false}"#);
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn unfinished_bodies_do_not_fill_the_memory() {
    let (upstream, _) = engine(false);
    let server = Server::with(&["--engine", "vllm", "--upstream", &upstream, "--max-body", "1000"]);
    let unfinished = || {
        let mut stream = TcpStream::connect(&server.1).unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n";
        write!(stream, "{head}{}", "a".repeat(900)).unwrap();
        stream
    };
    let mut held: Vec<TcpStream> = (0..8).map(|_| unfinished()).collect();
    let body = format!(r#"{{"messages": [{{"role": "user", "content": "{}"}}]}}"#, "a".repeat(900));
    let began = Instant::now();
    loop {
        // The server reads the other bodies while this one is sent.
        let (head, _) = server.ask("POST /v1/chat/completions", &body);
        if head.starts_with("HTTP/1.1 503") {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{head}");
    }
    held.clear();
    while !server.ask("POST /v1/chat/completions", &body).0.starts_with("HTTP/1.1 200") {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn the_access_log_has_a_line_for_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.jsonl");
    let (upstream, _) = engine(false);
    let options =
        ["--engine", "vllm", "--upstream", &upstream, "--model-name", "a/b", "--access-log", log.to_str().unwrap()];
    let server = Server::with(&options);
    assert!(server.ask("GET /v1/models/a/b", "").1.contains(r#""id": "a/b""#));
    assert!(server.ask("GET /v1/models/a%2Fb", "").1.contains(r#""id": "a/b""#));
    server.ask("GET /nothing", "");
    server.ask("POST /v1/chat/completions", r#"{"messages": [{"role": "user", "content": "a secret"}]}"#);
    let rows = rows(&log, 4);
    let row = json::read(rows.lines().next().unwrap()).unwrap();
    let member = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    assert_eq!([member("client"), member("method"), member("path")], ["127.0.0.1", "GET", "/v1/models/a/b"]);
    assert_eq!(row["status"].as_i64(), Some(200));
    assert!(!rows.contains("a secret"), "{rows}");
}

#[test]
fn a_key_is_required_whatever_the_case_of_its_scheme() {
    let (upstream, _) = engine(false);
    let server = Server::with(&["--engine", "vllm", "--upstream", &upstream, "--api-key", "the-key"]);
    let body = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#;
    for (header, status) in [
        ("", "401"),
        ("Authorization: Bearer another\r\n", "401"),
        ("Authorization: Basic the-key\r\n", "401"),
        ("Authorization: Bearer the-key\r\n", "200"),
        ("Authorization: bearer the-key\r\n", "200"),
        ("X-Api-Key: the-key\r\n", "200"),
        ("X-Api-Key: another\r\n", "401"),
    ] {
        // A key keeps pages of strangers out, so the server may have any name.
        let headers = format!("Host: any.example\r\n{header}");
        assert_eq!(with_headers(&server, "POST", &headers, body).0, status, "{header}");
    }
}

#[test]
fn other_machines_are_served_only_with_a_key() {
    let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["serve", "chat_templates/qwen3.jinja", "--upstream", "http://127.0.0.1:9", "--host", "0.0.0.0"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("BACKCHAT_API_KEY")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && told.contains("--api-key-file"), "{told}");
}

/// With the feature, which the Python module enables, `test_https.py` tests connections.
#[cfg(not(feature = "serve-tls"))]
#[test]
fn https_is_refused_with_the_required_feature() {
    let (status, said) = backchat(&["serve", "chat_templates/qwen3.jinja", "--upstream", "https://example.org"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("--features serve-tls"), "{said}");
}
