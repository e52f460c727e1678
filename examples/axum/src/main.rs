//! Serves a recorded generation as OpenAI's chat completions with axum: streamed or not, with usage, errors and tools.
//!
//! ```sh
//! cargo run --manifest-path examples/axum/Cargo.toml          # then, in another terminal:
//! curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream": true, "messages": []}'
//! ```
//!
//! Every request is answered with the recording of `examples/weather`. In your own server, the pieces come from the engine,
//! which also reports why it stopped and counts the tokens; it gets the grammar of the request, so that the output obeys
//! `tool_choice`, `parallel_tool_calls` and the schemas.

mod answer;
mod engine;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use backchat::grammar::{Builder, Choice, Grammar, Request};
use backchat::json::{self, Object};
use backchat::parser::{Options, ParseError, Tools};
use backchat::{Parser, Template, Value};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use answer::{Answer, Message};
use engine::{Engine, Pieces};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let engine = Engine::read(&format!("{root}/examples/weather/recording.jsonl"))?;
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("http://{}/v1/chat/completions", listener.local_addr()?);
    Ok(axum::serve(listener, application(Model::read(root)?, engine)).await?)
}

/// How the model writes its turns, inferred once and shared by all requests.
struct Model {
    template: Template,
    grammars: Builder,
    prompt: String,
}

impl Model {
    fn read(root: &str) -> Result<Self, Box<dyn Error>> {
        let text = |name: &str| std::fs::read_to_string(format!("{root}/{name}"));
        let template = Template::load(&text("examples/weather/response_template.json")?)?.template;
        let options = backchat::derive::Options::default();
        let opened = backchat::derive::Model::open(&text("chat_templates/qwen3.jinja")?, Some(template), &options);
        let Ok(opened) = opened else { return Err("the renders of the chat template show no content".into()) };
        let template = opened.template;
        let grammars = Builder::new(template.clone(), opened.wire);
        Ok(Self { template, grammars, prompt: text("examples/weather/prompt.txt")? })
    }
}

fn application(model: Model, engine: Engine) -> Router {
    Router::new().route("/v1/chat/completions", post(complete)).with_state(Arc::new((model, engine)))
}

/// The members of a request that this server reads.
struct Asked {
    grammar: Grammar,
    tools: Option<Arc<Tools>>,
    stream: bool,
    include_usage: bool,
}

impl Asked {
    /// A choice that the tools do not allow is refused here, before anything is written.
    fn read(body: &str, model: &Model) -> Result<Self, String> {
        let body = json::read(body).map_err(|error| format!("the body is not JSON: {error}"))?;
        body.get("messages").and_then(Value::as_list).ok_or("`messages` is a list of messages")?;
        let tools = body.get("tools");
        let choice = body.get("tool_choice").filter(|choice| !choice.is_null()).map(Choice::read).transpose();
        let choice = choice.map_err(|problem| problem.message)?;
        let request = Request::default()
            .tools(tools)
            .choice(choice.as_ref())
            .parallel(body.get("parallel_tool_calls").and_then(Value::as_bool))
            .prompt(model.prompt.as_str());
        let told = |problems: Vec<backchat::Diagnostic>| {
            problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
        };
        let is_true = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            grammar: model.grammars.build(&request).map_err(told)?,
            tools: tools.map(Tools::new).transpose().map_err(|error| error.to_string())?.map(Arc::new),
            stream: is_true(body.get("stream")),
            include_usage: is_true(body.get("stream_options").and_then(|options| options.get("include_usage"))),
        })
    }

    fn parser(&self, model: &Model) -> Result<Parser, String> {
        let options = Options::default().tools(self.tools.clone()).grow_calls(true);
        Parser::new(&model.template, &model.prompt, options).map_err(|error| error.to_string())
    }
}

async fn complete(State(state): State<Arc<(Model, Engine)>>, body: String) -> Response {
    let begun = Asked::read(&body, &state.0).and_then(|asked| Ok((asked.parser(&state.0)?, asked)));
    let (parser, asked) = match begun {
        Ok(begun) => begun,
        Err(message) => return failed(StatusCode::BAD_REQUEST, "invalid_request_error", &message),
    };
    let pieces = state.1.generate(&asked.grammar);
    // If a client disconnects, the steps are dropped, and the next send ends the generation.
    let (sender, steps) = mpsc::channel(64);
    tokio::spawn({
        let state = Arc::clone(&state);
        async move { generate(parser, pieces, &state.1, sender).await }
    });
    let usage = state.1.usage();
    if asked.stream { stream(steps, asked.include_usage.then_some(usage)) } else { whole(steps, usage).await }
}

/// A step of an answer.
enum Step {
    Delta(Object),
    /// The answer ended, for this reason.
    End(&'static str),
    /// The parser failed: the text exceeds a limit.
    Failed(String),
}

async fn generate(parser: Parser, mut pieces: Pieces, engine: &Engine, steps: mpsc::Sender<Step>) {
    let mut answer = Answer::new(parser);
    let mut deltas: Result<_, ParseError> = Ok(answer.begin());
    let mut is_over = false;
    loop {
        match deltas {
            Ok(deltas) => {
                for delta in deltas {
                    if steps.send(Step::Delta(delta)).await.is_err() {
                        return;
                    }
                }
            }
            Err(error) => return steps.send(Step::Failed(error.to_string())).await.unwrap_or_default(),
        }
        if is_over {
            break;
        }
        deltas = match pieces.next().await {
            Some(piece) => answer.feed(&piece),
            None => {
                is_over = true;
                answer.finish(engine.finish_reason())
            }
        };
    }
    steps.send(Step::End(answer.finish_reason(engine.finish_reason()))).await.unwrap_or_default();
}

/// Each delta as a chunk. A failure is also an event, because the answer has begun; no `[DONE]` follows it.
fn stream(steps: mpsc::Receiver<Step>, usage: Option<Value>) -> Response {
    let chunk = |delta: Object, reason: Value| {
        let choice = Value::from([("index", 0.into()), ("delta", Value::Object(delta)), ("finish_reason", reason)]);
        envelope("chat.completion.chunk", vec![choice])
    };
    let lines = ReceiverStream::new(steps).map(move |step| {
        let text = match step {
            Step::Delta(delta) => format!("data: {}\n\n", Value::Object(chunk(delta, Value::Null))),
            Step::Failed(message) => format!("data: {}\n\n", error("server_error", &message)),
            Step::End(reason) => {
                let mut text = format!("data: {}\n\n", Value::Object(chunk(Object::new(), reason.into())));
                if let Some(usage) = &usage {
                    let mut last = envelope("chat.completion.chunk", Vec::new());
                    last.insert("usage", usage.clone());
                    text += &format!("data: {}\n\n", Value::Object(last));
                }
                text + "data: [DONE]\n\n"
            }
        };
        Ok::<_, Infallible>(text)
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (head, Body::from_stream(lines)).into_response()
}

/// All deltas as one message.
async fn whole(mut steps: mpsc::Receiver<Step>, usage: Value) -> Response {
    let mut message = Message::default();
    while let Some(step) = steps.recv().await {
        match step {
            Step::Delta(delta) => message.add(&delta),
            Step::Failed(why) => return failed(StatusCode::INTERNAL_SERVER_ERROR, "server_error", &why),
            Step::End(reason) => {
                let choice = [("index", 0.into()), ("message", message.into_value()), ("finish_reason", reason.into())];
                let mut answer = envelope("chat.completion", vec![Value::from(choice)]);
                answer.insert("usage", usage);
                return in_json(StatusCode::OK, &Value::Object(answer));
            }
        }
    }
    failed(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "the generation ended without a reason")
}

fn envelope(object: &str, choices: Vec<Value>) -> Object {
    let created = UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    [
        ("id", "chatcmpl-recorded".into()),
        ("object", object.into()),
        ("created", created.into()),
        ("model", "recorded".into()),
        ("choices", Value::List(choices)),
    ]
    .into_iter()
    .map(|(key, value): (&str, Value)| (key.to_owned(), value))
    .collect()
}

fn error(kind: &str, message: &str) -> Value {
    let error = [("message", message.into()), ("type", kind.into()), ("param", Value::Null), ("code", Value::Null)];
    Value::from([("error", Value::from(error))])
}

fn failed(status: StatusCode, kind: &str, message: &str) -> Response {
    in_json(status, &error(kind, message))
}

fn in_json(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
