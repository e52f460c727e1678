//! Compiling chat templates and rendering a conversation with them.
//!
//! `cargo bench --bench render` prints a line for each template in `chat_templates/`, or in the folder that the
//! environment variable `TEMPLATES` names. Rendering includes handing the conversation over to the engine.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::json::{self, Object};
use divan::Bencher;

fn main() {
    divan::main();
}

const CONVERSATION: &str = r#"{
  "messages": [
    {"role": "user", "content": "What is the weather in Paris?"},
    {"role": "assistant", "content": "", "tool_calls": [
      {"id": "abcdefghi", "type": "function", "function": {"name": "weather", "arguments": {"city": "Paris", "days": 2}}}
    ]},
    {"role": "tool", "tool_call_id": "abcdefghi", "name": "weather", "content": "{\"sky\": \"clear\"}"},
    {"role": "assistant", "content": "It is clear in Paris."},
    {"role": "user", "content": "Thank you."}
  ],
  "tools": [{"type": "function", "function": {
    "name": "weather", "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "The city."},
      "days": {"type": "integer"}}, "required": ["city"]}
  }}],
  "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"
}"#;

/// The same without tools, for templates that know none.
const PLAIN: &str = r#"{
  "messages": [
    {"role": "user", "content": "What is the weather in Paris?"},
    {"role": "assistant", "content": "It is clear in Paris."},
    {"role": "user", "content": "Thank you."}
  ],
  "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"
}"#;

fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("chat_templates");
    std::env::var_os("TEMPLATES").map_or(own, PathBuf::from)
}

fn names() -> Vec<&'static str> {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let leaked = entries.map(|entry| &*entry.file_name().to_string_lossy().into_owned().leak());
    let mut names: Vec<&str> = leaked.collect();
    names.retain(|name| name.ends_with(".jinja"));
    names.sort();
    names
}

fn source(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_default()
}

#[divan::bench(args = names())]
fn compile(bencher: Bencher, name: &str) {
    let source = source(name);
    bencher.bench(|| ChatTemplate::compile(black_box(&source)));
}

#[divan::bench(args = names())]
fn render(bencher: Bencher, name: &str) {
    let Ok(template) = ChatTemplate::compile(&source(name)) else { return };
    let options = RenderOptions::default();
    let contexts = [CONVERSATION, PLAIN].into_iter().filter_map(|text| json::read(text).ok());
    let mut contexts = contexts.filter_map(|context| context.as_object().cloned());
    let fits = |context: &Object| template.render(context, &options).is_ok();
    let Some(context) = contexts.find(fits) else { return };
    bencher.bench(|| template.render(black_box(&context), &options));
}
