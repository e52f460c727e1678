//! A stand-in for the engine: it has the output, the reason why it stopped, and the token counts.

use std::error::Error;
use std::fs;
use std::time::Duration;

use backchat::Value;
use backchat::grammar::Grammar;
use backchat::json;
use tokio::time::sleep;

pub struct Engine {
    /// The duration and the text of each piece.
    pieces: Vec<(Duration, String)>,
    finish_reason: Option<String>,
}

/// The remaining pieces.
pub struct Pieces(std::vec::IntoIter<(Duration, String)>);

impl Engine {
    pub fn read(recording: &str) -> Result<Self, Box<dyn Error>> {
        Self::of(&fs::read_to_string(recording)?)
    }

    /// From lines of `{"after_ms": 25, "text": "Hel"}`, the last of which may have a `finish_reason`.
    pub fn of(lines: &str) -> Result<Self, Box<dyn Error>> {
        let mut engine = Self { pieces: Vec::new(), finish_reason: None };
        for line in lines.lines() {
            let row = json::read(line)?;
            let wait = row.get("after_ms").and_then(Value::as_u64).unwrap_or(0);
            let text = row.get("text").and_then(Value::as_str).unwrap_or_default();
            engine.pieces.push((Duration::from_millis(wait), text.to_owned()));
            engine.finish_reason = row.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
        }
        Ok(engine)
    }

    /// A real engine passes the grammar to its sampler, in the format that it supports: `to_gbnf`, `to_ebnf`, `to_lark`.
    pub fn generate(&self, grammar: &Grammar) -> Pieces {
        debug_assert!(!grammar.to_ebnf().is_empty());
        Pieces(self.pieces.clone().into_iter())
    }

    pub fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref()
    }

    pub fn usage(&self) -> Value {
        let written = self.pieces.len();
        Value::from([
            ("prompt_tokens", 0.into()),
            ("completion_tokens", written.into()),
            ("total_tokens", written.into()),
        ])
    }
}

impl Pieces {
    pub async fn next(&mut self) -> Option<String> {
        let (wait, text) = self.0.next()?;
        sleep(wait).await;
        Some(text)
    }
}
