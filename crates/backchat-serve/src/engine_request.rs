//! Requests to engines, in the format of their own endpoints. No other parameters reach an engine.

use crate::api_error::ApiError;
use crate::engine::{Engine, Facts};
use crate::request::{ChatRequest, Format};
use backchat_core::json::{Object, Value};
use backchat_grammar::{Trigger, Written};

/// A request for one completion.
#[derive(Clone, Debug)]
pub struct EngineRequest<'o> {
    pub request: &'o ChatRequest,
    /// The prompt as the chat template wrote it.
    pub prompt: &'o str,
    /// The BOS token, if the prompt starts with it.
    pub bos: Option<&'o str>,
    /// The grammar of the request, in the engine's format.
    pub constraint: Option<&'o Written>,
    /// The format that the engine enforces on the whole answer.
    pub format: &'o Format,
    /// The markers whose text must be sent.
    pub preserved: &'o [String],
    /// Whether to send the BOS token, if set by the user.
    pub keeps_bos: Option<bool>,
    /// Whether the ids of tokens are recorded.
    pub token_ids: bool,
}

/// Refuses a parameter that would change which tokens are possible, on an engine that lacks it. Preferences among
/// tokens are left out.
pub fn check(engine: Engine, request: &ChatRequest) -> Result<(), ApiError> {
    for name in ["logit_bias", "min_tokens"] {
        let is_default = |value: &Value| match value {
            Value::Object(entries) => entries.is_empty(),
            value => value.as_f64() == Some(0.0),
        };
        if request.sampling.get(name).is_some_and(|value| !is_default(value)) && parameter(engine, name).is_none() {
            let message = format!("`{name}` is not supported by this engine ({}): leave it out", engine.name());
            return Err(ApiError::param(name, message));
        }
    }
    if request.logprobs.is_some() && !engine.gives_logprobs() {
        let message = format!("`logprobs` is not supported with this engine ({}): leave it out", engine.name());
        return Err(ApiError::param("logprobs", message));
    }
    if engine == Engine::Tgi && request.stop.len() > 4 {
        return Err(ApiError::param("stop", "`stop` can have at most 4 texts on this engine (tgi)"));
    }
    Ok(())
}

/// The sampling parameters that this engine lacks.
pub fn left_out(engine: Engine, request: &ChatRequest) -> Vec<&str> {
    request.sampling.keys().filter(|name| parameter(engine, name).is_none()).collect()
}

/// An engine's name for a sampling parameter; `None` if it lacks it.
fn parameter(engine: Engine, name: &str) -> Option<&'static str> {
    Some(match (engine, name) {
        (_, "temperature") => "temperature",
        (_, "top_p") => "top_p",
        (Engine::Sglang, "seed") => "sampling_seed",
        (_, "seed") => "seed",
        (_, "frequency_penalty") => "frequency_penalty",
        (Engine::Tgi, _) if matches!(name, "presence_penalty" | "min_p" | "logit_bias" | "min_tokens") => return None,
        (_, "presence_penalty") => "presence_penalty",
        (Engine::Ollama, "logit_bias" | "min_tokens") | (Engine::LlamaCpp, "min_tokens") => return None,
        (_, "logit_bias") => "logit_bias",
        (Engine::OpenAi, _) => return None,
        (_, "top_k") => "top_k",
        (_, "min_p") => "min_p",
        (Engine::LlamaCpp | Engine::Ollama, "repetition_penalty") => "repeat_penalty",
        (_, "repetition_penalty") => "repetition_penalty",
        (Engine::Sglang, "min_tokens") => "min_new_tokens",
        (_, "min_tokens") => "min_tokens",
        _ => return None,
    })
}

impl EngineRequest<'_> {
    /// The body for an engine.
    pub fn body(&self, engine: Engine, facts: &Facts) -> Value {
        let prompt = self.sent_prompt(engine, facts);
        let body = match engine {
            Engine::LlamaCpp => self.llama_cpp(prompt),
            Engine::Vllm => self.vllm(prompt, facts),
            Engine::Sglang => self.sglang(prompt),
            Engine::Tgi => self.tgi(prompt),
            Engine::Ollama => self.ollama(prompt, facts),
            Engine::OpenAi => self.open_ai(prompt, facts),
        };
        Value::Object(body)
    }

    /// The prompt, without its BOS token if the engine adds that itself.
    fn sent_prompt(&self, engine: Engine, facts: &Facts) -> &str {
        let writes_it = match (self.keeps_bos, engine) {
            (Some(keeps), _) => !keeps,
            (None, Engine::Vllm) => false,
            (None, Engine::LlamaCpp) => facts.adds_bos,
            (None, _) => true,
        };
        let bare = self.bos.filter(|bos| writes_it && !bos.is_empty()).and_then(|bos| self.prompt.strip_prefix(bos));
        bare.unwrap_or(self.prompt)
    }

    /// The sampling parameters under the engine's names, and the stop texts.
    fn sampling(&self, engine: Engine) -> Object {
        let known = self.request.sampling.iter();
        let mut entries: Object =
            known.filter_map(|(name, value)| Some((parameter(engine, name)?.to_owned(), value.clone()))).collect();
        if !self.request.stop.is_empty() {
            let stop = self.request.stop.iter().map(|text| text.as_str().into()).collect();
            entries.insert("stop", Value::List(stop));
        }
        entries
    }

    fn choices(&self) -> Option<Value> {
        (self.request.n > 1).then(|| self.request.n.into())
    }

    fn llama_cpp(&self, prompt: &str) -> Object {
        let mut body = self.sampling(Engine::LlamaCpp);
        if let Some(Value::Object(biases)) = body.get("logit_bias") {
            let pairs = biases.iter().map(|(token, bias)| {
                let token = token.parse::<u64>().map_or_else(|_| token.into(), Value::from);
                Value::List(vec![token, bias.clone()])
            });
            let pairs = Value::List(pairs.collect());
            body.insert("logit_bias", pairs);
        }
        let preserved = self.preserved.iter().map(|text| text.as_str().into()).collect();
        let triggers = self.constraint.and_then(|constraint| constraint.triggers.as_ref());
        let trigger = |Trigger { kind, value, .. }: &Trigger| {
            let number = if *kind == "word" { 1 } else { 2 };
            Value::from([("type", number.into()), ("value", value.as_str().into())])
        };
        let members = [
            ("prompt", Some(prompt.into())),
            ("stream", Some(true.into())),
            ("n_predict", Some(self.request.limit.map_or_else(|| Value::from(-1), Value::from))),
            ("preserved_tokens", Some(Value::List(preserved))),
            ("n_cmpl", self.choices()),
            // Without alternatives it gives no log probability at all.
            ("n_probs", self.request.logprobs.map(|count| count.max(1).into())),
            ("return_tokens", self.token_ids.then(|| true.into())),
            ("json_schema", self.schema()),
            ("grammar", self.constraint.map(|constraint| constraint.grammar.clone())),
            ("grammar_lazy", triggers.map(|_| true.into())),
            ("grammar_triggers", triggers.map(|triggers| Value::List(triggers.iter().map(trigger).collect()))),
        ];
        with(body, members)
    }

    fn vllm(&self, prompt: &str, facts: &Facts) -> Object {
        // Its default limit is 16 tokens; it refuses a limit above the context.
        let limit = match (self.request.limit, facts.context) {
            (Some(limit), Some(context)) => Some(limit.min(context)),
            (limit, context) => limit.or(context),
        };
        let outputs = match (self.constraint, self.format) {
            (Some(tag), _) => Some(("structural_tag", tag.grammar.to_string().into())),
            (_, Format::Schema(schema)) => Some(("json", schema.clone())),
            (_, Format::Object) => Some(("json_object", true.into())),
            _ => None,
        };
        let members = [
            ("model", facts.model.as_deref().map(Value::from)),
            ("prompt", Some(prompt.into())),
            ("stream", Some(true.into())),
            // With the count in each event, the tokens of reasoning are known.
            (
                "stream_options",
                Some(Value::from([("include_usage", true.into()), ("continuous_usage_stats", true.into())])),
            ),
            ("max_tokens", limit.map(Value::from)),
            ("n", self.choices()),
            ("logprobs", self.request.logprobs.map(Value::from)),
            ("skip_special_tokens", Some(false.into())),
            ("spaces_between_special_tokens", Some(false.into())),
            ("add_special_tokens", Some((self.keeps_bos == Some(false) || self.bos.is_none()).into())),
            ("structured_outputs", outputs.map(|output| Value::from([output]))),
            ("return_token_ids", self.token_ids.then(|| true.into())),
        ];
        with(self.sampling(Engine::Vllm), members)
    }

    fn sglang(&self, prompt: &str) -> Object {
        let members = [
            // Its own default is 128 tokens; null means all that is left.
            ("max_new_tokens", Some(self.request.limit.map_or(Value::Null, Value::from))),
            ("n", self.choices()),
            ("skip_special_tokens", Some(false.into())),
            ("spaces_between_special_tokens", Some(false.into())),
            ("structural_tag", self.constraint.map(|tag| tag.grammar.to_string().into())),
            ("json_schema", self.schema().map(|schema| schema.to_string().into())),
        ];
        let sampling = with(self.sampling(Engine::Sglang), members);
        let members = [("text", prompt.into()), ("sampling_params", Value::Object(sampling)), ("stream", true.into())];
        with(Object::new(), members.map(|(name, value)| (name, Some(value))))
    }

    fn tgi(&self, prompt: &str) -> Object {
        let mut parameters = self.sampling(Engine::Tgi);
        // It refuses values that disable sampling or the limit.
        let number = |parameters: &Object, name: &str| parameters.get(name).and_then(Value::as_f64);
        let is_greedy = number(&parameters, "temperature").is_some_and(|value| value <= 0.0);
        if is_greedy {
            parameters.shift_remove("temperature");
        }
        if number(&parameters, "top_p").is_some_and(|value| value >= 1.0) {
            parameters.shift_remove("top_p");
        }
        let grammar = self.schema().map(|schema| Value::from([("type", "json".into()), ("value", schema)]));
        let members = [
            ("do_sample", Some((!is_greedy).into())),
            ("max_new_tokens", self.request.limit.map(Value::from)),
            ("details", Some(true.into())),
            ("grammar", grammar),
        ];
        let parameters = Value::Object(with(parameters, members));
        with(Object::new(), [("inputs", Some(prompt.into())), ("parameters", Some(parameters))])
    }

    fn ollama(&self, prompt: &str, facts: &Facts) -> Object {
        let options = with(self.sampling(Engine::Ollama), [("num_predict", self.request.limit.map(Value::from))]);
        let format = match self.format {
            Format::Text => None,
            Format::Object => Some("json".into()),
            Format::Schema(schema) => Some(schema.clone()),
        };
        let members = [
            ("model", facts.model.as_deref().map(Value::from)),
            ("prompt", Some(prompt.into())),
            ("raw", Some(true.into())),
            ("stream", Some(true.into())),
            // Otherwise it splits off the reasoning of a thinking model, even in raw mode.
            ("think", Some(false.into())),
            // Otherwise it silently truncates a long prompt.
            ("truncate", Some(false.into())),
            ("shift", Some(false.into())),
            ("format", format),
            ("options", Some(Value::Object(options))),
        ];
        with(Object::new(), members)
    }

    fn open_ai(&self, prompt: &str, facts: &Facts) -> Object {
        let format = match self.format {
            Format::Text => None,
            Format::Object => Some(Value::from([("type", "json_object".into())])),
            Format::Schema(schema) => {
                let own = Value::from([("name", "answer".into()), ("schema", schema.clone())]);
                Some(Value::from([("type", "json_schema".into()), ("json_schema", own)]))
            }
        };
        let members = [
            ("model", facts.model.as_deref().map(Value::from)),
            ("prompt", Some(prompt.into())),
            ("stream", Some(true.into())),
            ("stream_options", Some(Value::from([("include_usage", true.into())]))),
            ("max_tokens", self.request.limit.map(Value::from)),
            ("n", self.choices()),
            ("logprobs", self.request.logprobs.map(Value::from)),
            ("response_format", format),
        ];
        with(self.sampling(Engine::OpenAi), members)
    }

    /// The JSON schema of the content.
    fn schema(&self) -> Option<Value> {
        match self.format {
            Format::Text => None,
            Format::Object => Some(Value::from([("type", "object".into())])),
            Format::Schema(schema) => Some(schema.clone()),
        }
    }
}

/// A body with these members, except those without a value.
fn with<const N: usize>(mut body: Object, members: [(&str, Option<Value>); N]) -> Object {
    body.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request;

    fn body(engine: Engine, members: &str, facts: &Facts) -> String {
        let request = format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}]{members}}}"#);
        let request = request::members(request.as_bytes()).and_then(ChatRequest::read).unwrap();
        let preserved = ["<call>".to_owned()];
        let order = EngineRequest {
            request: &request,
            prompt: "<s>Hi",
            bos: Some("<s>"),
            constraint: None,
            format: &request.format,
            preserved: &preserved,
            keeps_bos: None,
            token_ids: false,
        };
        order.body(engine, facts).to_string()
    }

    #[test]
    fn the_bos_token_is_sent_once() {
        let facts = Facts::default();
        for engine in [Engine::Sglang, Engine::Tgi, Engine::Ollama, Engine::OpenAi] {
            assert!(!body(engine, "", &facts).contains("<s>"), "{engine:?}");
        }
        assert!(body(Engine::Vllm, "", &facts).contains(r#""add_special_tokens": false"#));
        assert!(
            body(Engine::Vllm, "", &facts).contains("<s>Hi") && body(Engine::LlamaCpp, "", &facts).contains("<s>Hi")
        );
        let adds = Facts { adds_bos: true, ..facts };
        assert!(!body(Engine::LlamaCpp, "", &adds).contains("<s>"));
    }

    #[test]
    fn only_known_names_reach_an_engine() {
        let facts = Facts { context: Some(4096), ..Facts::default() };
        for engine in Engine::ALL {
            let body = body(
                engine,
                r#", "echo": true, "kv_transfer_params": {}, "user": "u", "repetition_penalty": 1.5"#,
                &facts,
            );
            assert!(!body.contains("echo") && !body.contains("kv_transfer") && !body.contains("user"), "{body}");
            let name = match engine {
                Engine::LlamaCpp | Engine::Ollama => "\"repeat_penalty\": 1.5",
                Engine::OpenAi => "\"stream\": true",
                _ => "\"repetition_penalty\": 1.5",
            };
            assert!(body.contains(name), "{engine:?}: {body}");
        }
    }

    #[test]
    fn no_default_limit_of_an_engine_cuts_an_answer() {
        let facts = Facts { context: Some(4096), ..Facts::default() };
        for (engine, limit, expected) in [
            (Engine::Vllm, "", "\"max_tokens\": 4096"),
            (Engine::Vllm, r#", "max_tokens": 9000"#, "\"max_tokens\": 4096"),
            (Engine::Sglang, "", "\"max_new_tokens\": null"),
            (Engine::LlamaCpp, "", "\"n_predict\": -1"),
            (Engine::LlamaCpp, r#", "max_tokens": 9"#, "\"n_predict\": 9"),
        ] {
            let body = body(engine, limit, &facts);
            assert!(body.contains(expected), "{engine:?}: {body}");
        }
    }
}
