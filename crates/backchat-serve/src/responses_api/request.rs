//! A request of the Responses API as a chat request.

use super::PLAIN;
use crate::api_error::ApiError;
use crate::conversation::{self, Conversation, text_of};
use crate::members::{object, string, take};
use backchat_core::json::{Object, Value};

/// The members of a request that are named otherwise in a chat request.
pub const NAMES: [(&str, &str); 4] = [
    ("messages", "input"),
    ("max_completion_tokens", "max_output_tokens"),
    ("response_format", "text.format"),
    ("reasoning_effort", "reasoning.effort"),
];

/// Members that say something about a store or about a stream, which the answer does not depend on.
const WITHOUT_EFFECT: [&str; 9] = [
    "include",
    "max_tool_calls",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "stream_options",
    "top_logprobs",
    "truncation",
    "background",
];

const LOGPROBS: &str = "message.output_text.logprobs";
const TEXT: [&str; 4] = ["input_text", "output_text", "text", "refusal"];

/// The chat request that this request stands for. What neither names is left as it is.
pub fn to_chat(mut body: Object) -> Result<Object, ApiError> {
    refuse_stored(&body)?;
    refuse_logprobs(&body)?;
    let mut conversation = Conversation::default();
    if let Some(text) = take(&mut body, "instructions", "text", string)? {
        conversation.message("system", text.into());
    }
    match body.shift_remove("input") {
        Some(Value::String(text)) => conversation.message("user", text.into()),
        Some(Value::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                add(&mut conversation, item, &format!("input[{index}]"))?;
            }
        }
        _ => return Err(ApiError::param("input", "`input` must be text or a list of items")),
    }
    body.insert("messages", conversation.into_messages());
    if let Some(tools) = body.shift_remove("tools") {
        body.insert("tools", chat_tools(&tools)?);
    }
    let text = object(&mut body, "text")?.unwrap_or_default();
    if let Some(format) = text.get("format") {
        body.insert("response_format", chat_format(format));
    }
    let reasoning = object(&mut body, "reasoning")?.unwrap_or_default();
    if let Some(effort) = reasoning.get("effort").filter(|effort| !effort.is_null()) {
        body.insert("reasoning_effort", effort.clone());
    }
    if let Some(limit) = body.shift_remove("max_output_tokens") {
        body.insert("max_completion_tokens", limit);
    }
    for name in WITHOUT_EFFECT {
        body.shift_remove(name);
    }
    Ok(body)
}

/// Refuses what needs answers of the past or an answer that is fetched later: this server keeps none. Clients leave
/// `store` out, which means nothing here.
fn refuse_stored(body: &Object) -> Result<(), ApiError> {
    let is_true = |name: &str| body.get(name).and_then(Value::as_bool) == Some(true);
    let help = |name: &str| match name {
        "store" => "leave it out, or set it to false",
        "background" => "wait for the answer, or set `stream`",
        "prompt" => "send its text in `instructions` and `input`",
        _ => "send the items of the conversation in `input`",
    };
    let stored = ["previous_response_id", "conversation", "prompt"].into_iter().find(|name| body.contains_key(name));
    match stored.or_else(|| ["store", "background"].into_iter().find(|name| is_true(name))) {
        None => Ok(()),
        Some(name) => {
            Err(ApiError::param(name, format!("`{name}` needs a store, and this server keeps nothing: {}", help(name))))
        }
    }
}

/// Refuses log probabilities, which this API has inside of a text: there are no tokens of a text that is regrouped.
fn refuse_logprobs(body: &Object) -> Result<(), ApiError> {
    let included = body.get("include").and_then(Value::as_list).unwrap_or_default();
    let is_asked = body.get("top_logprobs").is_some_and(|count| count.as_u64() != Some(0));
    if is_asked || included.iter().any(|name| name.as_str() == Some(LOGPROBS)) {
        let message = "log probabilities are not supported here: leave `top_logprobs` and `message.output_text.logprobs` out, \
                       or ask at /v1/chat/completions";
        return Err(ApiError::param("top_logprobs", message));
    }
    Ok(())
}

/// Adds an item of the input.
fn add(conversation: &mut Conversation, item: &Value, place: &str) -> Result<(), ApiError> {
    let kind = item.get("type").and_then(Value::as_str);
    match kind {
        None | Some("message") => add_message(conversation, item, place),
        Some("reasoning") => {
            conversation.reasoning(&reasoning(item, place)?);
            Ok(())
        }
        Some("function_call") => {
            let text = |name| text_of(item, name, place);
            conversation.call(text("call_id")?, text("name")?, text("arguments")?);
            Ok(())
        }
        Some("custom_tool_call") => {
            let text = |name| text_of(item, name, place);
            conversation.custom_call(text("call_id")?, text("name")?, text("input")?);
            Ok(())
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            let output = item.get("output").unwrap_or(&Value::Null);
            let content = conversation::texts(output, &TEXT, &format!("{place}.output"))?.join("\n");
            conversation.result(text_of(item, "call_id", place)?, content.into());
            Ok(())
        }
        Some("item_reference") => {
            let message = format!(
                "`{place}` refers to an item of an earlier answer, and this server keeps none: send the item itself (clients do if \
                 `store` is false)"
            );
            Err(ApiError::param(place, message))
        }
        Some(kind) => {
            let message = format!(
                "`{place}` is an item of type `{kind}`: this server takes `message`, `reasoning`, `function_call`, \
                 `custom_tool_call` and their outputs"
            );
            Err(ApiError::param(place, message))
        }
    }
}

fn add_message(conversation: &mut Conversation, item: &Value, place: &str) -> Result<(), ApiError> {
    let role = text_of(item, "role", place)?;
    let content = item.get("content").unwrap_or(&Value::Null);
    let place = format!("{place}.content");
    if role != "assistant" {
        conversation.message(role, conversation::content(content, &TEXT, &place)?);
        return Ok(());
    }
    // Two texts in a row are two answers; reasoning, text and calls are one.
    conversation.end_text();
    let texts = conversation::texts(content, &TEXT, &place)?;
    conversation.text(&texts.concat());
    Ok(())
}

/// The text of a reasoning item. What another server encrypted, and a summary, are not what the model wrote.
fn reasoning(item: &Value, place: &str) -> Result<String, ApiError> {
    let content = item.get("content").filter(|content| !content.is_null());
    let texts = content.map(|content| conversation::texts(content, &["reasoning_text"], &format!("{place}.content")));
    let text = texts.transpose()?.unwrap_or_default().concat();
    let plain = item.get("encrypted_content").and_then(Value::as_str).and_then(|text| text.strip_prefix(PLAIN));
    Ok(if text.is_empty() { plain.unwrap_or_default().to_owned() } else { text })
}

/// The tools as the chat API has them: the members of each are in an object of their own.
fn chat_tools(tools: &Value) -> Result<Value, ApiError> {
    let Some(items) = tools.as_list() else { return Ok(tools.clone()) };
    let one = |(index, tool): (usize, &Value)| {
        let place = format!("tools[{index}]");
        match (tool, tool.get("type").and_then(Value::as_str)) {
            (Value::Object(entries), Some(kind @ ("function" | "custom"))) => {
                let mut own = entries.clone();
                own.shift_remove("type");
                Ok(Value::from([("type", kind.into()), (kind, Value::Object(own))]))
            }
            (_, kind) => {
                let kind = kind.unwrap_or("none");
                let message = format!(
                    "`{place}` has the type `{kind}`: this server has no tools of its own, and takes those of type `function` or `custom`"
                );
                Err(ApiError::param(place, message))
            }
        }
    };
    Ok(Value::List(items.iter().enumerate().map(one).collect::<Result<_, _>>()?))
}

/// The format of the answer as the chat API has it: a schema is in an object of its own.
fn chat_format(format: &Value) -> Value {
    match format {
        Value::Object(entries) if format.get("type").and_then(Value::as_str) == Some("json_schema") => {
            let mut schema = entries.clone();
            schema.shift_remove("type");
            Value::from([("type", "json_schema".into()), ("json_schema", Value::Object(schema))])
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::request;

    /// The members of the chat request.
    fn chat(members: &str) -> Result<Object, ApiError> {
        to_chat(request::members(format!("{{{members}}}").as_bytes())?)
    }

    #[test]
    fn items_are_messages() {
        for (input, messages) in [
            (r#""input": "Hi""#, r#"[{"role": "user", "content": "Hi"}]"#),
            (
                r#""instructions": "Be short.", "input": [{"role": "developer", "content": [{"type": "input_text", "text": "In verse."}]},
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}]"#,
                r#"[{"role": "system", "content": "Be short.\n\nIn verse."}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]"#,
            ),
            (
                r#""input": [{"role": "user", "content": "Hi"},
                    {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
                    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
                    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1}"},
                    {"type": "function_call_output", "call_id": "c1", "output": "5"},
                    {"type": "reasoning", "summary": [], "encrypted_content": "plain:So."},
                    {"role": "assistant", "content": "It is 5."}]"#,
                r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "5"}, {"role": "assistant", "content": "It is 5.", "reasoning_content": "So."}]"#,
            ),
            (
                r#""input": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]"#,
                r#"[{"role": "assistant", "content": "No."}]"#,
            ),
            // Reasoning between two answers leads to the second.
            (
                r#""input": [{"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "R1"}]},
                    {"role": "assistant", "content": "a"}, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text",
                    "text": "R2"}]}, {"role": "assistant", "content": "b"}]"#,
                r#"[{"role": "assistant", "content": "a", "reasoning_content": "R1"}, {"role": "assistant", "content": "b", "reasoning_content": "R2"}]"#,
            ),
            // What another server encrypted says nothing here.
            (
                r#""input": [{"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]"#,
                r#"[{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]"#,
            ),
        ] {
            assert_eq!(chat(input).unwrap()["messages"].to_string(), messages, "{input}");
        }
    }

    #[test]
    fn members_have_the_names_of_a_chat_request() {
        let body = chat(
            r#""input": "Hi", "max_output_tokens": 7, "reasoning": {"effort": "low", "summary": "auto"}, "store": false, "top_k": 3,
            "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": true}},
            "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": null}], "include": ["reasoning.encrypted_content"]"#,
        )
        .unwrap();
        for (name, expected) in [
            ("max_completion_tokens", "7"),
            ("reasoning_effort", "\"low\""),
            ("top_k", "3"),
            (
                "response_format",
                r#"{"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": true}}"#,
            ),
            ("tools", r#"[{"type": "function", "function": {"name": "f", "parameters": {}, "strict": null}}]"#),
        ] {
            assert_eq!(body[name].to_string(), expected, "{name}");
        }
        assert!(!body.contains_key("include") && !body.contains_key("reasoning"));
    }

    #[test]
    fn what_this_server_does_not_have_is_refused_by_name() {
        for (members, param, word) in [
            (r#""previous_response_id": "resp_1", "input": "Hi""#, "previous_response_id", "keeps nothing"),
            (r#""conversation": {"id": "c"}, "input": "Hi""#, "conversation", "keeps nothing"),
            (r#""store": true, "input": "Hi""#, "store", "leave it out"),
            (r#""background": true, "input": "Hi""#, "background", "`stream`"),
            (r#""input": [{"type": "item_reference", "id": "rs_1"}]"#, "input[0]", "`store` is false"),
            (r#""input": [{"type": "web_search_call", "id": "w"}]"#, "input[0]", "`web_search_call`"),
            (
                r#""input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]"#,
                "input[0].content",
                "`input_image`",
            ),
            (
                r#""input": [{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}]"#,
                "input[0].content",
                "`input_file`",
            ),
            (r#""input": [{"type": "function_call", "name": "f", "arguments": "{}"}]"#, "input[0].call_id", "text"),
            (r#""input": "Hi", "tools": [{"type": "web_search"}]"#, "tools[0]", "`web_search`"),
            (r#""input": "Hi", "include": ["message.output_text.logprobs"]"#, "top_logprobs", "/v1/chat/completions"),
            (r#""input": 1"#, "input", "text or a list"),
            (r#""input": []"#, "input", "`input` must have a message"),
            (r#""input": "Hi", "max_output_tokens": 0"#, "max_output_tokens", "`max_output_tokens`"),
            (r#""input": "Hi", "n": 2"#, "n", "one choice"),
            (r#""input": "Hi", "tool_choice": {"type": "function", "name": "f"}"#, "tool_choice", "`f`"),
        ] {
            let error = Api::Responses.read(format!("{{{members}}}").as_bytes()).unwrap_err();
            let answer = Api::Responses.error(&error);
            assert_eq!(answer["error"]["param"].as_str(), Some(param), "{members}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(word), "{members}: {answer}");
        }
    }
}
