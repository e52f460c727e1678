//! Reads rows `{"id", "template"}` and prints whether vLLM's Rust frontend loads each: `{"id", "refused"}`.

use std::io::{BufRead, stdin};

use serde_json::{Value, json};
use vllm_parser::unified::ResponseTemplate;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let refused = ResponseTemplate::from_json(&row["template"]).err().map(|error| error.to_string());
        println!("{}", json!({"id": row["id"], "refused": refused}));
    }
    Ok(())
}
