//! Detects the engine and the facts that requests for it depend on.

use std::time::Duration;

use hyper::Method;

use super::upstream::Upstream;
use backchat_core::json::Value;
use backchat_serve::engine::{Engine, Facts};

/// The timeout for probing an engine.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Detects which engine it is; `None` if nothing answers.
pub async fn recognize(upstream: &Upstream) -> Option<Engine> {
    for engine in Engine::ALL {
        match engine.probe() {
            Some(path) if upstream.ask(Method::GET, path, "", PATIENCE).await.is_some() => return Some(engine),
            Some(_) => {}
            None => {
                let models = upstream.ask(Method::GET, "/v1/models", "", PATIENCE).await;
                return models.map(|_| engine);
            }
        }
    }
    None
}

/// Queries the facts; `None` if the engine does not answer.
pub async fn facts(engine: Engine, upstream: &Upstream) -> Option<Facts> {
    let ask = |path: &'static str| upstream.ask(Method::GET, path, "", PATIENCE);
    let first = |value: &Value, list: &str| value.get(list)?.as_list()?.first().cloned();
    let name = |model: &Value, key: &str| model.get(key)?.as_str().map(str::to_owned);
    let mut facts = Facts { streams_pieces: true, ..Facts::default() };
    match engine {
        Engine::LlamaCpp => {
            let body = r#"{"content": "", "add_special": true}"#;
            let tokens = upstream.ask(Method::POST, "/tokenize", body, PATIENCE).await?;
            facts.adds_bos = tokens.get("tokens").and_then(Value::as_list).is_some_and(|list| !list.is_empty());
        }
        Engine::Vllm | Engine::OpenAi => {
            let model = first(&ask("/v1/models").await?, "data")?;
            facts.model = name(&model, "id");
            facts.context = model.get("max_model_len").and_then(Value::as_u64);
        }
        Engine::Sglang => {
            let info = ask("/server_info").await?;
            let pieces = info.get("incremental_streaming_output").or_else(|| info.get("stream_output"));
            facts.streams_pieces = pieces.and_then(Value::as_bool) == Some(true);
        }
        Engine::Tgi => drop(ask("/info").await?),
        Engine::Ollama => {
            let model = first(&ask("/api/tags").await?, "models");
            facts.model = model.and_then(|model| name(&model, "model").or_else(|| name(&model, "name")));
        }
    }
    Some(facts)
}
