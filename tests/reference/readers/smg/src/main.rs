//! Reads rows `{"id", "template"}` and prints whether smg-response-template loads each: `{"id", "refused"}`.

use std::io::{BufRead, stdin};

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let refused = smg_response_template::load_response_template(&row["template"]).err().map(|error| error.to_string());
        println!("{}", json!({"id": row["id"], "refused": refused}));
    }
    Ok(())
}
