//! Opening, compiling and rendering chat templates.
//!
//! `cargo bench --bench render` prints a line for each template in `chat_templates/`, or in the folder that the
//! environment variable `TEMPLATES` names. Rendering includes handing the conversation over to the engine. The GGUF
//! file that is opened has the vocabulary of a large model and a terabyte of tensors, in a hole.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use backchat::chat::{ChatTemplate, RenderOptions, source};
use backchat::json;
use divan::Bencher;

fn main() {
    divan::main();
}

const CONVERSATION: &str = include_str!("conversations/tools.json");

/// A short one without tools.
const PLAIN: &str = include_str!("conversations/plain.json");

fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chat_templates");
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
    bench_render(bencher, name, PLAIN);
}

#[divan::bench(args = names())]
fn render_with_tools(bencher: Bencher, name: &str) {
    bench_render(bencher, name, CONVERSATION);
}

/// Nothing is measured where the template refuses the conversation.
fn bench_render(bencher: Bencher, name: &str, conversation: &str) {
    let Ok(template) = ChatTemplate::compile(&source(name)) else { return };
    let options = RenderOptions::default();
    let Ok(json::Value::Object(context)) = json::read(conversation) else { return };
    if template.render(&context, &options).is_ok() {
        bencher.bench(|| template.render(black_box(&context), &options));
    }
}

/// How many tokens the vocabulary of a large model has.
const VOCABULARY: usize = 150_000;

fn gguf() -> Vec<u8> {
    fn string(out: &mut Vec<u8>, text: &str) {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    }
    fn strings(out: &mut Vec<u8>, key: &str, text: impl Fn(usize) -> String) {
        string(out, key);
        out.extend(9_u32.to_le_bytes());
        out.extend(8_u32.to_le_bytes());
        out.extend((VOCABULARY as u64).to_le_bytes());
        (0..VOCABULARY).for_each(|index| string(out, &text(index)));
    }
    let mut out = b"GGUF".to_vec();
    out.extend(3_u32.to_le_bytes());
    out.extend(0_u64.to_le_bytes());
    out.extend(4_u64.to_le_bytes());
    strings(&mut out, "tokenizer.ggml.tokens", |index| format!("token{index}"));
    strings(&mut out, "tokenizer.ggml.merges", |index| format!("to ken{index}"));
    string(&mut out, "tokenizer.ggml.eos_token_id");
    out.extend(4_u32.to_le_bytes());
    out.extend((VOCABULARY as u32 - 1).to_le_bytes());
    string(&mut out, "tokenizer.chat_template");
    out.extend(8_u32.to_le_bytes());
    string(&mut out, "{{ messages }}");
    out
}

#[divan::bench]
fn open_gguf(bencher: Bencher) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("model.gguf");
    let written = std::fs::write(&path, gguf());
    let stretched = std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(1 << 40));
    let Ok(name) = written.and(stretched).map(|()| path.display().to_string()) else { return };
    bencher.bench(|| source::open(black_box(&name), None));
}

#[divan::bench]
fn open_folder(bencher: Bencher) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let added: Vec<String> = (0..2000)
        .map(|index| format!("\"{index}\": {{\"content\": \"<extra_{index}>\", \"lstrip\": false, \"special\": true}}"))
        .collect();
    let config = format!("{{\"added_tokens_decoder\": {{{}}}, \"eos_token\": \"</s>\"}}", added.join(", "));
    let written = std::fs::write(folder.path().join("tokenizer_config.json"), config);
    let written = written.and(std::fs::write(folder.path().join("chat_template.jinja"), "{{ messages }}"));
    let Ok(name) = written.map(|()| folder.path().display().to_string()) else { return };
    bencher.bench(|| source::open(black_box(&name), None));
}
