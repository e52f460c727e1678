//! A row of the record: one choice of one exchange, in the form that `parse --jsonl`, `replay`, `check` and
//! `derive --samples` read.

use std::hash::Hasher;

use crate::answer::{Answer, problem_values};
use crate::reply::Usage;
use backchat_core::json::{Object, Value};

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The engine ended it.
    Complete,
    /// The client left.
    Cancelled,
    /// The engine reported an error, or sent invalid data.
    UpstreamError,
    /// The engine closed the connection in the middle.
    UpstreamClosed,
    /// The engine was silent for too long.
    UpstreamTimeout,
    /// The engine could not be reached.
    UpstreamUnreachable,
}

impl Outcome {
    /// Its name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cancelled => "cancelled",
            Self::UpstreamError => "upstream_error",
            Self::UpstreamClosed => "upstream_closed",
            Self::UpstreamTimeout => "upstream_timeout",
            Self::UpstreamUnreachable => "upstream_unreachable",
        }
    }
}

/// The common part of all rows of an exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub id: String,
    pub engine: &'static str,
    /// The name that the model is served under.
    pub model: String,
    /// The prompt as the chat template wrote it.
    pub prompt: String,
    /// The messages, unchanged.
    pub messages: Vec<Value>,
    pub tools: Option<Value>,
    /// The rest of the request.
    pub request: Object,
    /// The grammar that the engine was given.
    pub grammar: Option<String>,
    /// When it began, in seconds since 1970.
    pub at: f64,
}

/// What a record keeps.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Whether prompts and messages are only lengths.
    pub redacts: bool,
    /// Whether the ids of tokens are recorded.
    pub tokens: bool,
}

/// One finished choice.
#[derive(Debug)]
pub struct Ended<'e> {
    pub choice: usize,
    /// The answer so far.
    pub answer: &'e Answer,
    pub outcome: Outcome,
    /// The tokens, if the engine counted them.
    pub usage: Option<Usage>,
    /// Problems outside the text.
    pub problems: &'e [Value],
    /// The ids of the tokens, if the engine reports them.
    pub token_ids: &'e [u64],
    /// Milliseconds until its end.
    pub total_ms: u32,
}

/// Replaces a text if texts are not recorded.
fn length(text: &str) -> Value {
    Value::from([("characters", text.chars().count().into())])
}

impl Exchange {
    /// The row of a choice as one line.
    pub fn row(&self, ended: &Ended<'_>, kept: Kept) -> String {
        let redact = kept.redacts;
        let mut row = Object::new();
        let mut add = |name: &str, value: Value| drop(row.insert(name, value));
        let id = if ended.choice == 0 { self.id.clone() } else { format!("{}-{}", self.id, ended.choice) };
        let mut problems = problem_values(ended.answer.problems(), ended.problems);
        if ended.outcome != Outcome::Complete {
            problems.push(Value::from([("kind", "upstream".into()), ("reason", ended.outcome.name().into())]));
        }
        let is_whole = ended.outcome == Outcome::Complete && problems.is_empty();
        let chunks = ended.answer.chunks();
        let list = |values: &mut dyn Iterator<Item = u32>| Value::List(values.map(Value::from).collect());
        add("id", id.into());
        if redact {
            add("redacted", Value::from([("prefix", length(&self.prompt)), ("messages", self.messages.len().into())]));
        } else {
            add("prefix", self.prompt.as_str().into());
        }
        add("text", ended.answer.text().into());
        add("chunks", list(&mut chunks.iter().map(|(length, _)| *length)));
        if !redact {
            add("tools", self.tools.clone().unwrap_or_else(|| Value::List(Vec::new())));
            add("messages", Value::List(self.messages.clone()));
        }
        // Readers of rows trust a `message`.
        add(if is_whole { "message" } else { "parsed" }, Value::Object(ended.answer.message()));
        add("finish_reason", (ended.outcome == Outcome::Complete).then(|| ended.answer.finish_reason()).into());
        add("usage", ended.usage.map(Usage::to_value).into());
        add("outcome", ended.outcome.name().into());
        add("problems", Value::List(problems));
        let after = list(&mut chunks.iter().map(|(_, after)| *after));
        let timing = Value::from([
            ("at", number(self.at)),
            ("first_ms", chunks.first().map(|(_, first)| *first).into()),
            ("total_ms", ended.total_ms.into()),
            ("after_ms", after),
        ]);
        add("timing", timing);
        add("engine", self.engine.into());
        add("model", self.model.as_str().into());
        add("request", Value::Object(self.request.clone()));
        add("grammar", self.grammar.as_deref().map(hash).into());
        if kept.tokens {
            add("token_ids", Value::List(ended.token_ids.iter().map(|id| Value::from(*id)).collect()));
        }
        line(&Value::Object(row))
    }
}

/// Seconds with three decimals.
fn number(seconds: f64) -> Value {
    backchat_core::json::read(&format!("{seconds:.3}")).unwrap_or_default()
}

/// A hash of the grammar, in 16 digits.
fn hash(text: &str) -> String {
    // The keys are fixed, so the same grammar has the same name in every run.
    #[expect(deprecated, reason = "the standard library's hasher with fixed keys")]
    let mut hasher = std::hash::SipHasher::new();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}

/// A value on one line. Readers that split at Unicode line separators must not split inside a text.
fn line(value: &Value) -> String {
    let mut text = value.to_string();
    for (separator, escape) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029"), ('\u{85}', "\\u0085")] {
        if text.contains(separator) {
            text = text.replace(separator, escape);
        }
    }
    text.push('\n');
    text
}
