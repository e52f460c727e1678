//! A request of the Messages API as a chat request.

use crate::api_error::ApiError;
use crate::conversation::{self, Conversation, text_of};
use crate::members::{object, take};
use backchat_core::json::{Object, Value};

/// The members of a request that are named otherwise in a chat request.
pub const NAMES: [(&str, &str); 4] = [
    ("max_completion_tokens", "max_tokens"),
    ("stop", "stop_sequences"),
    ("response_format", "output_config.format"),
    ("reasoning_effort", "output_config.effort"),
];

/// Members that need something that only the API's own servers have.
const UNSUPPORTED: [&str; 2] = ["container", "mcp_servers"];

/// The variables by which chat templates switch thinking on and off.
const THINKING: [&str; 2] = ["enable_thinking", "thinking"];

const TEXT: [&str; 1] = ["text"];

/// The chat request that this request stands for. What neither names is left as it is.
pub fn to_chat(mut body: Object) -> Result<Object, ApiError> {
    let is_set = |name: &&str| body.get(name).is_some_and(|value| !value.as_list().is_some_and(<[Value]>::is_empty));
    if let Some(name) = UNSUPPORTED.into_iter().find(is_set) {
        return Err(ApiError::param(name, format!("`{name}` is not supported: leave it out")));
    }
    let mut conversation = Conversation::default();
    if let Some(system) = body.shift_remove("system") {
        let texts = conversation::texts(&system, &TEXT, "system")?;
        conversation.message("system", texts.join("\n\n").into());
    }
    let Some(Value::List(messages)) = body.shift_remove("messages") else {
        return Err(ApiError::param("messages", "`messages` must be a list of messages"));
    };
    for (index, message) in messages.iter().enumerate() {
        add(&mut conversation, message, &format!("messages[{index}]"))?;
    }
    // A last message of the assistant is the beginning of the answer.
    if messages.last().and_then(|message| message.get("role")?.as_str()) == Some("assistant") {
        body.insert("continue_final_message", true.into());
    }
    body.insert("messages", conversation.into_messages());
    if let Some(tools) = body.shift_remove("tools") {
        body.insert("tools", function_tools(&tools)?);
    }
    if let Some(choice) = object(&mut body, "tool_choice")? {
        choose(&mut body, &choice)?;
    }
    output(&mut body)?;
    for (name, chat_name) in [("stop_sequences", "stop"), ("max_tokens", "max_completion_tokens")] {
        if let Some(value) = body.shift_remove(name) {
            body.insert(chat_name, value);
        }
    }
    Ok(body)
}

/// Adds a message: its blocks are texts, thinking, calls and results.
fn add(conversation: &mut Conversation, message: &Value, place: &str) -> Result<(), ApiError> {
    let role = text_of(message, "role", place)?;
    let content = message.get("content").unwrap_or(&Value::Null);
    let place = format!("{place}.content");
    match (role, content) {
        ("assistant", Value::String(text)) => conversation.text(text),
        ("assistant", Value::List(blocks)) => {
            for (index, block) in blocks.iter().enumerate() {
                add_own(conversation, block, &format!("{place}[{index}]"))?;
            }
        }
        (_, Value::List(blocks)) => {
            // Results come before what the user says about them; each is a message of its own.
            let (results, texts): (Vec<_>, Vec<_>) =
                blocks.iter().enumerate().partition(|(_, block)| is(block, "tool_result"));
            for (index, block) in results {
                let place = format!("{place}[{index}]");
                let content = block.get("content").unwrap_or(&Value::Null);
                let texts = match content {
                    Value::Null => Vec::new(),
                    content => conversation::texts(content, &TEXT, &format!("{place}.content"))?,
                };
                conversation.result(text_of(block, "tool_use_id", &place)?, texts.join("\n").into());
            }
            if !texts.is_empty() || blocks.is_empty() {
                let texts = Value::List(texts.into_iter().map(|(_, block)| block.clone()).collect());
                conversation.message(role, conversation::content(&texts, &TEXT, &place)?);
            }
        }
        (_, content) => conversation.message(role, conversation::content(content, &TEXT, &place)?),
    }
    conversation.end_turn();
    Ok(())
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

/// Adds a block of the assistant.
fn add_own(conversation: &mut Conversation, block: &Value, place: &str) -> Result<(), ApiError> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => conversation.text(text_of(block, "text", place)?),
        Some("thinking") => conversation.reasoning(text_of(block, "thinking", place)?),
        // Another server encrypted it.
        Some("redacted_thinking") => {}
        Some("tool_use") => {
            let input = block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
            conversation.call(text_of(block, "id", place)?, text_of(block, "name", place)?, &input);
        }
        kind => {
            let kind = kind.unwrap_or("none");
            let message = format!(
                "`{place}` is a block of type `{kind}`: of the assistant this server takes `text`, `thinking` and `tool_use`"
            );
            return Err(ApiError::param(place, message));
        }
    }
    Ok(())
}

/// The tools as the chat API has them.
fn function_tools(tools: &Value) -> Result<Value, ApiError> {
    let Some(items) = tools.as_list() else { return Ok(tools.clone()) };
    let one = |(index, tool): (usize, &Value)| {
        let place = format!("tools[{index}]");
        if let Some(kind) = tool.get("type").and_then(Value::as_str).filter(|kind| *kind != "custom") {
            let message = format!(
                "`{place}` has the type `{kind}`: this server has no tools of its own, and takes those of a client"
            );
            return Err(ApiError::param(place, message));
        }
        let mut function = Object::new();
        for (name, chat_name) in
            [("name", "name"), ("description", "description"), ("input_schema", "parameters"), ("strict", "strict")]
        {
            function.extend(tool.get(name).map(|value| (chat_name.to_owned(), value.clone())));
        }
        Ok(Value::from([("type", "function".into()), ("function", Value::Object(function))]))
    };
    Ok(Value::List(items.iter().enumerate().map(one).collect::<Result<_, _>>()?))
}

fn choose(body: &mut Object, choice: &Object) -> Result<(), ApiError> {
    let kind = choice.get("type").and_then(Value::as_str);
    let chat_choice = match kind {
        Some("auto" | "none") => kind.into(),
        Some("any") => "required".into(),
        Some("tool") => {
            let name = Value::from([("name", choice.get("name").cloned().unwrap_or_default())]);
            Value::from([("type", "function".into()), ("function", name)])
        }
        _ => {
            let message = "`tool_choice.type` must be `auto`, `any`, `tool` or `none`";
            return Err(ApiError::param("tool_choice", message));
        }
    };
    body.insert("tool_choice", chat_choice);
    if choice.get("disable_parallel_tool_use").and_then(Value::as_bool) == Some(true) {
        body.insert("parallel_tool_calls", false.into());
    }
    Ok(())
}

/// The format of the answer, the effort, and whether the model thinks.
fn output(body: &mut Object) -> Result<(), ApiError> {
    let config = object(body, "output_config")?.unwrap_or_default();
    let format = body.shift_remove("output_format").or_else(|| config.get("format").cloned());
    match format.filter(|format| !format.is_null()) {
        Some(format) if is(&format, "json_schema") => {
            let own =
                Value::from([("name", "answer".into()), ("schema", format.get("schema").cloned().unwrap_or_default())]);
            body.insert("response_format", Value::from([("type", "json_schema".into()), ("json_schema", own)]));
        }
        Some(_) => {
            let message = "`output_config.format` must be `{\"type\": \"json_schema\", \"schema\": …}`";
            return Err(ApiError::param("output_config.format", message));
        }
        None => {}
    }
    if let Some(effort) = config.get("effort").filter(|effort| !effort.is_null()) {
        body.insert("reasoning_effort", effort.clone());
    }
    let thinking =
        take(body, "thinking", "an object with a `type`", |value| match value.get("type").and_then(Value::as_str) {
            Some("enabled" | "adaptive") => Ok(true),
            Some("disabled") => Ok(false),
            _ => Err(value),
        })?;
    if let Some(thinks) = thinking {
        let mut variables = object(body, "chat_template_kwargs")?.unwrap_or_default();
        for name in THINKING {
            variables.entry(name).or_insert(thinks.into());
        }
        body.insert("chat_template_kwargs", Value::Object(variables));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::request;

    fn chat(members: &str) -> Result<Object, ApiError> {
        to_chat(request::members(format!("{{{members}}}").as_bytes())?)
    }

    #[test]
    fn blocks_are_messages() {
        for (members, messages) in [
            (
                r#""system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": "Hi"}]"#,
                r#"[{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}]"#,
            ),
            (
                r#""messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "unsigned"}, {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
                    {"role": "user", "content": [{"type": "text", "text": "And?"},
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "5"}]}]}]"#,
                r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "t1", "name": "f", "content": "5"}, {"role": "user", "content": "And?"}]"#,
            ),
        ] {
            let body = chat(members).unwrap();
            assert_eq!(body["messages"].to_string(), messages, "{members}");
            assert!(!body.contains_key("continue_final_message"));
        }
        let begun =
            chat(r#""messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "He"}]"#).unwrap();
        assert_eq!(begun["continue_final_message"].as_bool(), Some(true));
    }

    #[test]
    fn members_have_the_names_of_a_chat_request() {
        let body = chat(
            r#""messages": [{"role": "user", "content": "Hi"}], "max_tokens": 7, "stop_sequences": ["X"], "top_k": 3,
            "thinking": {"type": "enabled", "budget_tokens": 1024}, "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
            "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
            "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}}"#,
        )
        .unwrap();
        for (name, expected) in [
            ("max_completion_tokens", "7"),
            ("stop", r#"["X"]"#),
            ("top_k", "3"),
            ("chat_template_kwargs", r#"{"enable_thinking": true, "thinking": true}"#),
            ("tool_choice", "\"required\""),
            ("parallel_tool_calls", "false"),
            ("reasoning_effort", "\"high\""),
            (
                "response_format",
                r#"{"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}"#,
            ),
            ("tools", r#"[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]"#),
        ] {
            assert_eq!(body[name].to_string(), expected, "{name}");
        }
    }

    #[test]
    fn what_this_server_does_not_have_is_refused_by_name() {
        let user = r#""messages": [{"role": "user", "content": "Hi"}]"#;
        for (members, word) in [
            (
                r#""messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]"#.to_owned(),
                "type `image`",
            ),
            (
                r#""messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]"#.to_owned(),
                "type `document`",
            ),
            (
                r#""messages": [{"role": "assistant", "content": [{"type": "server_tool_use"}]}]"#.to_owned(),
                "`server_tool_use`",
            ),
            (r#""messages": []"#.to_owned(), "`messages` must have a message"),
            (
                format!(r#"{user}, "tools": [{{"type": "web_search_20250305", "name": "web_search"}}]"#),
                "`web_search_20250305`",
            ),
            (format!(r#"{user}, "mcp_servers": [{{"type": "url"}}]"#), "`mcp_servers`"),
            (format!(r#"{user}, "tool_choice": {{"type": "some"}}"#), "`tool_choice.type`"),
            (format!(r#"{user}, "thinking": {{"type": "some"}}"#), "`thinking`"),
            (format!(r#"{user}, "max_tokens": 0"#), "`max_tokens`"),
            (format!(r#"{user}, "stop_sequences": [1]"#), "`stop_sequences`"),
        ] {
            let error = Api::Messages.read(format!("{{{members}}}").as_bytes()).unwrap_err();
            let answer = Api::Messages.error(&error);
            assert_eq!(
                (answer["type"].as_str(), answer["error"]["type"].as_str()),
                (Some("error"), Some("invalid_request_error"))
            );
            assert!(answer["error"]["message"].as_str().unwrap().contains(word), "{members}: {answer}");
        }
        assert!(Api::Messages.read(format!(r#"{{{user}, "mcp_servers": []}}"#).as_bytes()).is_ok());
    }
}
