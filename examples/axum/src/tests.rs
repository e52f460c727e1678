//! Whole answers and streams, without a socket.

use std::error::Error;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use backchat::{Value, json};
use tower::ServiceExt;

use super::{Engine, Model, application};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const WEATHER: &str = r#"{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}"#;

/// Asks a server that answers with this recording; its status and body.
async fn ask(recording: &str, body: &str) -> Result<(u16, String), Box<dyn Error>> {
    let server = application(Model::read(ROOT)?, Engine::of(recording)?);
    let request = Request::post("/v1/chat/completions").body(Body::from(body.to_owned()))?;
    let response = server.oneshot(request).await?;
    let status = response.status().as_u16();
    Ok((status, String::from_utf8(to_bytes(response.into_body(), 1 << 20).await?.to_vec())?))
}

fn recorded() -> Result<String, Box<dyn Error>> {
    Ok(std::fs::read_to_string(format!("{ROOT}/examples/weather/recording.jsonl"))?)
}

/// The arguments of the calls of a stream, and its last reason.
fn read(stream: &str) -> Result<(Vec<String>, Value), Box<dyn Error>> {
    let (mut calls, mut reason) = (Vec::new(), Value::Null);
    for line in stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|line| *line != "[DONE]") {
        let chunk = json::read(line)?;
        let Some([choice]) = chunk["choices"].as_list() else { continue };
        if choice["finish_reason"].as_str().is_some() {
            reason = choice["finish_reason"].clone();
        }
        let call = &choice["delta"]["tool_calls"][0];
        if call["id"].as_str().is_some() {
            calls.push(String::new());
        }
        if let (Some(arguments), Some(more)) = (calls.last_mut(), call["function"]["arguments"].as_str()) {
            arguments.push_str(more);
        }
    }
    Ok((calls, reason))
}

#[tokio::test]
async fn an_answer_has_calls_usage_and_a_reason() -> Result<(), Box<dyn Error>> {
    let body = format!(r#"{{"messages": [], "tools": [{WEATHER}], "tool_choice": "required"}}"#);
    let (status, answer) = ask(&recorded()?, &body).await?;
    let answer = json::read(&answer)?;
    let choice = &answer["choices"][0];
    let calls = choice["message"]["tool_calls"].as_list().ok_or("no calls")?;
    let arguments: Vec<_> = calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, [r#"{"city": "Oslo", "days": 1}"#, r#"{"city": "Rome", "days": 1}"#]);
    assert_eq!((status, choice["finish_reason"].as_str()), (200, Some("tool_calls")));
    assert_eq!(answer["usage"]["completion_tokens"].as_u64(), Some(recorded()?.lines().count() as u64));
    assert_eq!(choice["message"]["content"].as_str().map(str::trim), Some("I will look up both cities."));
    assert!(choice["message"]["reasoning_content"].as_str().is_some_and(|text| !text.contains("think>")));
    Ok(())
}

#[tokio::test]
async fn a_stream_grows_its_calls_and_counts_tokens_only_if_asked_to() -> Result<(), Box<dyn Error>> {
    let options = r#""stream": true, "stream_options": {"include_usage": true}"#;
    let (_, with) = ask(&recorded()?, &format!(r#"{{"messages": [], "tools": [{WEATHER}], {options}}}"#)).await?;
    let (calls, reason) = read(&with)?;
    assert_eq!(calls, [r#"{"city": "Oslo", "days": 1}"#, r#"{"city": "Rome", "days": 1}"#]);
    assert_eq!(reason.as_str(), Some("tool_calls"));
    assert!(with.ends_with("data: [DONE]\n\n") && with.contains(r#""choices": [], "usage""#), "{with}");
    let (_, without) =
        ask(&recorded()?, &format!(r#"{{"messages": [], "tools": [{WEATHER}], "stream": true}}"#)).await?;
    assert!(!without.contains("usage") && without.matches(r#""arguments""#).count() > 4, "{without}");
    Ok(())
}

#[tokio::test]
async fn an_answer_cut_at_the_limit_says_length_and_has_no_half_call() -> Result<(), Box<dyn Error>> {
    let text = "<think>\\nHm.\\n</think>\\n\\n<tool_call>\\n{\\\"name\\\": \\\"get_weather\\\", \\\"arguments\\\": {\\\"city\\\": \\\"Os";
    let recording = format!(r#"{{"text": "{text}", "finish_reason": "length"}}"#);
    let body = |more: &str| format!(r#"{{"messages": [], "tools": [{WEATHER}]{more}}}"#);
    let (_, answer) = ask(&recording, &body("")).await?;
    let choice = json::read(&answer)?["choices"][0].clone();
    assert_eq!(choice["finish_reason"].as_str(), Some("length"));
    assert_eq!(choice["message"]["tool_calls"], Value::Null);
    let (_, stream) = ask(&recording, &body(r#", "stream": true"#)).await?;
    let (calls, reason) = read(&stream)?;
    assert!(calls.iter().all(|arguments| json::read(arguments).is_err()), "{stream}");
    assert_eq!(reason.as_str(), Some("length"));
    Ok(())
}

#[tokio::test]
async fn a_request_that_cannot_be_kept_is_refused() -> Result<(), Box<dyn Error>> {
    for (body, why) in [
        ("{", "not JSON"),
        (r#"{"messages": "Hi"}"#, "`messages`"),
        (r#"{"messages": [], "tool_choice": "required"}"#, "tool"),
        (
            r#"{"messages": [], "tools": [{"name": "f"}], "tool_choice": {"type": "function", "function": {"name": "g"}}}"#,
            "g",
        ),
    ] {
        let (status, answer) = ask(&recorded()?, body).await?;
        let message = json::read(&answer)?["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(status == 400 && message.contains(why), "{body}: {answer}");
    }
    Ok(())
}
