//! Requests to `/v1/completions`, which are forwarded to the engine's own endpoint: only known members reach it.

use crate::api_error::ApiError;
use backchat_core::json::Object;

/// The members that reach an engine: those of the protocol, and parameters of sampling that engines share.
const PASSED: [&str; 21] = [
    "prompt",
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "min_p",
    "min_tokens",
    "n",
    "presence_penalty",
    "repetition_penalty",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "suffix",
    "temperature",
    "top_k",
    "top_p",
    "user",
];

/// The request for an engine, which serves this model.
pub fn for_engine(mut body: Object, model: Option<&str>) -> Result<Object, ApiError> {
    if !body.contains_key("prompt") {
        return Err(ApiError::param("prompt", "`prompt` is missing: set it to text or to token ids"));
    }
    body.retain(|name, _| PASSED.contains(&name));
    if let Some(model) = model {
        body.insert("model", model.into());
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request;
    use backchat_core::json::Value;

    #[test]
    fn only_known_names_reach_an_engine() {
        let read = |body: &str| for_engine(request::members(body.as_bytes()).unwrap(), Some("own"));
        let sent = read(
            r#"{"model": "any", "prompt": "a", "max_tokens": 5, "kv_transfer_params": {}, "top_k": 3, "n": null}"#,
        );
        let expected = r#"{"prompt": "a", "max_tokens": 5, "top_k": 3, "model": "own"}"#;
        assert_eq!(Value::Object(sent.unwrap()).to_string(), expected);
        assert_eq!(read("{}").unwrap_err().param.as_deref(), Some("prompt"));
    }
}
