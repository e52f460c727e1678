//! Parses and validates a client's request: invalid parameters are refused by name, and nothing that would change the
//! answer is dropped.

use crate::api_error::ApiError;
use crate::members::{count, flag, object, string, take, wrong};
use crate::messages;
use backchat_core::json::{self, Object, Value};
use backchat_grammar::{Choice, is_custom_tool, shown_tools, tool_name};

/// How deep a request may nest.
const MOST_LEVELS: usize = 128;
/// The most alternatives of a token with their log probabilities.
const MOST_ALTERNATIVES: u64 = 20;
/// The most choices in one request.
pub const MOST_CHOICES: u64 = 64;

/// The sampling parameters, which are passed on.
const SAMPLING: [&str; 10] = [
    "temperature",
    "top_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "top_k",
    "min_p",
    "repetition_penalty",
    "min_tokens",
];

/// Names that are no variables of a client: what the server itself passes to the chat template, what its checks depend on,
/// and arguments of a tokenizer that would have no effect.
const RESERVED: [&str; 18] = [
    "messages",
    "tools",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template",
    "tokenize",
    "raise_exception",
    "strftime_now",
    "namespace",
    "range",
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
    "additional_special_tokens",
];

/// Parameters that are recorded and otherwise ignored.
const NOTED: [&str; 4] = ["user", "metadata", "store", "service_tier"];

/// The value of `response_format`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Format {
    #[default]
    Text,
    Object,
    /// JSON of a schema.
    Schema(Value),
}

/// A request for a completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatRequest {
    /// The messages, unchanged.
    pub messages: Vec<Value>,
    /// The tools; not null.
    pub tools: Option<Value>,
    /// Which of the tools may or must be called.
    pub choice: Option<Choice>,
    /// The same, unchanged.
    pub choice_value: Value,
    pub parallel: Option<bool>,
    pub format: Format,
    /// The same, unchanged.
    pub format_value: Value,
    /// The parameters of sampling under OpenAI's names, without nulls.
    pub sampling: Object,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// The most tokens of the answer.
    pub limit: Option<u64>,
    /// How many alternatives of each token are asked for with its log probability.
    pub logprobs: Option<u64>,
    pub n: usize,
    pub stream: bool,
    /// Whether a stream ends with the count of tokens.
    pub include_usage: bool,
    /// Variables of the chat template.
    pub variables: Object,
    /// Whether the last message is continued rather than answered.
    pub continues: bool,
    /// The model's name, which is repeated in the answer.
    pub model: Option<String>,
    /// Members that are recorded and not passed on.
    pub noted: Object,
    /// How many members were unknown.
    pub ignored: usize,
}

impl ChatRequest {
    /// Reads the members of a request, or returns the first problem.
    pub fn read(mut body: Object) -> Result<Self, ApiError> {
        refuse_unsupported(&body)?;
        let Some(Value::List(messages)) = body.shift_remove("messages") else {
            return Err(ApiError::param("messages", "`messages` must be a list of messages"));
        };
        messages::check(&messages)?;
        let tools = tools(body.shift_remove("tools"))?;
        let choice_value = body.shift_remove("tool_choice").unwrap_or_default();
        let choice = choice(&choice_value, tools.as_ref())?;
        let options = object(&mut body, "stream_options")?.unwrap_or_default();
        let limit = count(&mut body, "max_completion_tokens")?;
        let other_limit = count(&mut body, "max_tokens")?;
        let format_value = body.get("response_format").cloned().unwrap_or_default();
        let request = Self {
            variables: variables(&mut body)?,
            format: format(&mut body)?,
            format_value,
            sampling: sampling(&mut body)?,
            stop: stop(&mut body)?,
            limit: limit.or(other_limit),
            logprobs: logprobs(&mut body)?,
            n: choices(&mut body)?,
            stream: flag(&mut body, "stream")?.unwrap_or(false),
            include_usage: options.get("include_usage").and_then(Value::as_bool).unwrap_or(false),
            continues: flag(&mut body, "continue_final_message")?.unwrap_or(false),
            parallel: flag(&mut body, "parallel_tool_calls")?,
            model: take(&mut body, "model", "text", string)?,
            noted: NOTED.iter().filter_map(|name| Some(((*name).to_owned(), body.shift_remove(name)?))).collect(),
            messages,
            tools,
            choice,
            choice_value,
            ignored: 0,
        };
        // `add_generation_prompt` follows from the other members.
        body.shift_remove("add_generation_prompt");
        let request = Self { ignored: body.len(), ..request };
        request.check()?;
        Ok(request)
    }

    /// Refuses members that contradict each other.
    fn check(&self) -> Result<(), ApiError> {
        if self.continues && self.last_role() != Some("assistant") {
            let message = "`continue_final_message` needs a last message of the assistant";
            return Err(ApiError::param("continue_final_message", message));
        }
        if self.format != Format::Text && self.wants_calls() {
            let message = "`response_format` cannot be combined with a required tool call";
            return Err(ApiError::param("response_format", message));
        }
        Ok(())
    }

    fn last_role(&self) -> Option<&str> {
        self.messages.last()?.get("role")?.as_str()
    }

    /// Whether the answer must be a call.
    pub fn wants_calls(&self) -> bool {
        matches!(self.choice, Some(Choice::Required | Choice::Named(_) | Choice::RequiredOf(_)))
    }

    /// Whether not every tool may be called, or not as often as the model likes.
    pub fn limits_calls(&self) -> bool {
        let is_limit = self.parallel == Some(false) || matches!(self.choice, Some(Choice::Allowed(_)));
        is_limit && self.tools.is_some() && !self.refuses_calls()
    }

    /// Whether no tool may be called, even if the request has some.
    pub fn refuses_calls(&self) -> bool {
        self.choice == Some(Choice::None)
    }

    /// Whether the schemas of the tools, or the grammars of their inputs, must be enforced.
    pub fn is_strict(&self) -> bool {
        let tools = self.tools.as_ref().and_then(Value::as_list).unwrap_or_default();
        !self.refuses_calls()
            && tools.iter().any(|tool| {
                let function = tool.get("function").unwrap_or(tool);
                function.get("strict").and_then(Value::as_bool) == Some(true) || has_grammar(tool)
            })
    }

    /// The tools as the chat template is shown them, and as the answer is read.
    pub fn shown_tools(&self) -> Option<Value> {
        self.tools.as_ref().map(shown_tools)
    }

    /// The request in the record, besides messages and tools.
    pub fn to_record(&self) -> Object {
        let mut entries = self.sampling.clone();
        let mut add = |name: &str, value: Value| drop(entries.insert(name, value));
        if !self.stop.is_empty() {
            add("stop", Value::List(self.stop.iter().map(|text| text.as_str().into()).collect()));
        }
        if let Some(limit) = self.limit {
            add("max_tokens", limit.into());
        }
        if !self.choice_value.is_null() {
            add("tool_choice", self.choice_value.clone());
        }
        if let Some(parallel) = self.parallel {
            add("parallel_tool_calls", parallel.into());
        }
        entries.extend(self.noted.clone());
        entries
    }
}

/// The members of a request's body, without nulls.
pub fn members(body: &[u8]) -> Result<Object, ApiError> {
    let text = str::from_utf8(body).map_err(|_| ApiError::new(400, "the body is not UTF-8"))?;
    let value = json::read(text).map_err(|error| ApiError::new(400, format!("the body is not JSON: {error}")))?;
    if levels(&value) > MOST_LEVELS {
        return Err(ApiError::new(400, format!("the body nests more than {MOST_LEVELS} levels")));
    }
    if !is_finite(&value) {
        return Err(ApiError::new(400, "the body has a number that is not finite"));
    }
    let Value::Object(mut body) = value else {
        return Err(ApiError::new(400, format!("the body must be a JSON object, not {}", value.kind())));
    };
    body.retain(|_, value| !value.is_null());
    Ok(body)
}

fn levels(value: &Value) -> usize {
    let inner = match value {
        Value::List(items) => items.iter().map(levels).max(),
        Value::Object(entries) => entries.values().map(levels).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}

/// Whether no number is NaN or infinite.
fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_integer() || number.as_f64().is_finite(),
        Value::List(items) => items.iter().all(is_finite),
        Value::Object(entries) => entries.values().all(is_finite),
        _ => true,
    }
}

/// Refuses parameters that would change the answer and are unsupported.
fn refuse_unsupported(body: &Object) -> Result<(), ApiError> {
    let modalities = body.get("modalities").and_then(Value::as_list).unwrap_or_default();
    if modalities.iter().any(|kind| kind.as_str() != Some("text")) {
        return Err(ApiError::param("modalities", "`modalities` can only be `[\"text\"]`: this server writes text"));
    }
    for name in ["audio", "functions", "function_call", "prediction", "web_search_options"] {
        if body.contains_key(name) {
            return Err(ApiError::param(name, format!("`{name}` is not supported: leave it out")));
        }
    }
    Ok(())
}

/// The variables of the chat template.
fn variables(body: &mut Object) -> Result<Object, ApiError> {
    const PARAM: &str = "chat_template_kwargs";
    let mut variables = object(body, PARAM)?.unwrap_or_default();
    match RESERVED.into_iter().find(|name| variables.contains_key(name)) {
        None => {
            if let Some(effort) = body.shift_remove("reasoning_effort") {
                variables.entry("reasoning_effort").or_insert(effort);
            }
            Ok(variables)
        }
        Some(name) => {
            let message = format!("`{name}` cannot be set by a request: the server sets it");
            Err(ApiError::param(format!("{PARAM}.{name}"), message))
        }
    }
}

/// How many answers are asked for.
fn choices(body: &mut Object) -> Result<usize, ApiError> {
    let n = count(body, "n")?.unwrap_or(1);
    if n > MOST_CHOICES {
        return Err(ApiError::param("n", format!("`n` must be at most {MOST_CHOICES}")));
    }
    Ok(usize::try_from(n).unwrap_or(1))
}

/// The number of alternatives, if log probabilities are asked for.
fn logprobs(body: &mut Object) -> Result<Option<u64>, ApiError> {
    let is_asked = flag(body, "logprobs")?.unwrap_or(false);
    let Some(value) = body.shift_remove("top_logprobs") else { return Ok(is_asked.then_some(0)) };
    match value.as_u64().filter(|count| *count <= MOST_ALTERNATIVES) {
        None => {
            let message = format!("`top_logprobs` must be a whole number of at most {MOST_ALTERNATIVES}");
            Err(ApiError::param("top_logprobs", message))
        }
        Some(_) if !is_asked => Err(ApiError::param("top_logprobs", "`top_logprobs` needs `logprobs` to be true")),
        count => Ok(count),
    }
}

fn sampling(body: &mut Object) -> Result<Object, ApiError> {
    let mut sampling = Object::new();
    for name in SAMPLING {
        let value = match name {
            "logit_bias" => object(body, name)?.map(Value::Object),
            _ => take(body, name, "a number", |value| match value {
                Value::Number(_) => Ok(value),
                other => Err(other),
            })?,
        };
        sampling.extend(value.map(|value| (name.to_owned(), value)));
    }
    Ok(sampling)
}

fn stop(body: &mut Object) -> Result<Vec<String>, ApiError> {
    let texts = take(body, "stop", "text or a list of texts", |value| match value {
        Value::List(items) => items.into_iter().map(string).collect(),
        one => string(one).map(|text| vec![text]),
    })?;
    Ok(texts.unwrap_or_default().into_iter().filter(|text| !text.is_empty()).collect())
}

fn format(body: &mut Object) -> Result<Format, ApiError> {
    let Some(format) = object(body, "response_format")? else { return Ok(Format::Text) };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(Format::Text),
        Some("json_object") => Ok(Format::Object),
        Some("json_schema") => {
            let schema = format.get("json_schema").and_then(|own| own.get("schema"));
            schema
                .cloned()
                .map(Format::Schema)
                .ok_or_else(|| ApiError::param("response_format", "`response_format.json_schema` must have a `schema`"))
        }
        _ => Err(ApiError::param(
            "response_format",
            "`response_format.type` must be `text`, `json_object` or `json_schema`",
        )),
    }
}

fn tools(tools: Option<Value>) -> Result<Option<Value>, ApiError> {
    let Some(tools) = tools else { return Ok(None) };
    let Value::List(items) = &tools else { return Err(wrong("tools", "a list", &tools)) };
    for (index, tool) in items.iter().enumerate() {
        let (kind, a_kind) =
            if is_custom_tool(tool) { ("custom", "a custom tool") } else { ("function", "a function") };
        if tool_name(tool).is_none() {
            return Err(ApiError::param(
                format!("tools[{index}].{kind}.name"),
                format!("`tools[{index}]` must be {a_kind} with a name"),
            ));
        }
        let function = tool.get("function").unwrap_or(tool);
        if function.get("parameters").is_some_and(|value| !value.is_null() && value.as_object().is_none()) {
            let place = format!("tools[{index}].function.parameters");
            return Err(ApiError::param(place.clone(), format!("`{place}` must be a JSON schema")));
        }
    }
    // An empty list of tools counts as absent, for chat templates as well.
    Ok(if items.is_empty() { None } else { Some(tools) })
}

fn choice(value: &Value, tools: Option<&Value>) -> Result<Option<Choice>, ApiError> {
    if value.is_null() {
        return Ok(None);
    }
    let refused = |message: String| ApiError::param("tool_choice", message);
    let choice = Choice::read(value).map_err(|problem| {
        let help = problem.help.map(|help| format!(": use {help}")).unwrap_or_default();
        refused(format!("{}{help}", problem.message))
    })?;
    let known: Vec<&str> = tools.and_then(Value::as_list).unwrap_or_default().iter().filter_map(tool_name).collect();
    let asked: &[String] = match &choice {
        Choice::Required if known.is_empty() => {
            return Err(refused("`tool_choice` requires a call, but there are no `tools`".to_owned()));
        }
        Choice::Named(name) => std::slice::from_ref(name),
        Choice::Allowed(names) | Choice::RequiredOf(names) => names,
        _ => &[],
    };
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(refused(format!("`tool_choice` names `{name}`, which is not among the `tools`"))),
        None => Ok(Some(choice)),
    }
}

/// Whether the input of a custom tool follows a grammar.
fn has_grammar(tool: &Value) -> bool {
    let format = tool.get("custom").unwrap_or(tool).get("format");
    is_custom_tool(tool) && format.and_then(|format| format.get("type")?.as_str()) == Some("grammar")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_body(body: &str) -> Result<ChatRequest, ApiError> {
        super::members(body.as_bytes()).and_then(ChatRequest::read)
    }

    fn read(members: &str) -> Result<ChatRequest, ApiError> {
        read_body(&format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}]{members}}}"#))
    }

    #[test]
    fn errors_name_the_parameter() {
        for (members, param) in [
            (r#", "temperature": "hot""#, "temperature"),
            (r#", "stream": "yes""#, "stream"),
            (r#", "max_tokens": 0"#, "max_tokens"),
            (r#", "n": 65"#, "n"),
            (r#", "stop": [1]"#, "stop"),
            (r#", "tools": [{"type": "function", "function": {}}]"#, "tools[0].function.name"),
            (r#", "tools": [{"type": "custom", "custom": {}}]"#, "tools[0].custom.name"),
            (r#", "tools": [], "tool_choice": "required""#, "tool_choice"),
            (r#", "tool_choice": {"type": "function", "function": {"name": "f"}}"#, "tool_choice"),
            (r#", "logprobs": 1"#, "logprobs"),
            (r#", "logprobs": true, "top_logprobs": 21"#, "top_logprobs"),
            (r#", "top_logprobs": 2"#, "top_logprobs"),
            (r#", "modalities": ["text", "audio"]"#, "modalities"),
            (r#", "response_format": {"type": "grammar"}"#, "response_format"),
            (r#", "continue_final_message": true"#, "continue_final_message"),
        ] {
            let error = read(members).unwrap_err();
            assert_eq!((error.status, error.param.as_deref()), (400, Some(param)), "{members}");
            assert!(error.message.contains(param.split('[').next().unwrap()), "{members}: {}", error.message);
        }
        for name in RESERVED {
            let error = read(&format!(r#", "chat_template_kwargs": {{"{name}": 1}}"#)).unwrap_err();
            assert_eq!((error.status, error.param), (400, Some(format!("chat_template_kwargs.{name}"))));
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let (infinite, too_large) = (r#"{"temperature": NaN}"#, r#"{"temperature": 1e400}"#);
        for (body, word) in [
            ("{", "JSON"),
            ("[]", "object"),
            ("\u{0}", "JSON"),
            (&*deep, "levels"),
            (infinite, "not finite"),
            (too_large, "not finite"),
        ] {
            assert!(read_body(body).unwrap_err().message.contains(word), "{body}");
        }
        let image =
            r#"{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}"#;
        assert_eq!(read_body(image).unwrap_err().param.as_deref(), Some("messages[0].content"));
    }

    #[test]
    fn members_have_the_meaning_of_openais_protocol() {
        let request = read(
            r#", "max_tokens": 7, "max_completion_tokens": 9, "stop": "X", "stream": true, "stream_options":
            {"include_usage": true}, "temperature": null, "top_k": 3, "user": "u", "reasoning_effort": "low", "logprobs": false,
            "chat_template_kwargs": {"a": 1}, "nobody_knows": 1, "echo": true"#,
        )
        .unwrap();
        assert_eq!((request.limit, request.n, request.stream, request.include_usage), (Some(9), 1, true, true));
        assert_eq!(request.stop, ["X"]);
        assert_eq!(Value::Object(request.sampling.clone()).to_string(), r#"{"top_k": 3}"#);
        assert_eq!(Value::Object(request.variables.clone()).to_string(), r#"{"a": 1, "reasoning_effort": "low"}"#);
        assert_eq!(request.ignored, 2);
        assert!(!request.wants_calls() && !request.is_strict());
    }
}
