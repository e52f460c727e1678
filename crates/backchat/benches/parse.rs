//! Parsing a long answer: 64 KB of reasoning, then five tool calls. Beside it the crate `smg-response-template`.
//!
//! `cargo bench --bench parse` prints a table. A parser is made for each round, so its set-up is in the figures; an
//! item is one feed, so items a second at `chunks of 4` say what a feed costs.

use std::hint::black_box;

use backchat::parser::{Options, Parser};
use backchat::template::Template;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use smg_response_template::{ResponseParser, ResponseTemplate, load_response_template};

fn main() {
    divan::main();
}

/// A template in the usual form: literals around reasoning, JSON in tool calls, everything else content.
const TEMPLATE: &str = r#"{
  "defaults": {"role": "assistant"},
  "start_anchor": "<|assistant|>",
  "fields": {
    "reasoning_content": {"open": "<think>", "close": "</think>"},
    "tool_calls": {
      "open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
      "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}
    },
    "content": {"close": ["<|end|>"]}
  }
}"#;

const PROMPT: &str = "<|user|>What is the weather in five cities?<|assistant|>";

/// The text of the answer.
fn answer() -> String {
    let sentence = "The user wants 5 cities; if x < 3 then I ask again, else I call the tool (see above).\n";
    let reasoning = sentence.repeat(64 * 1024 / sentence.len() + 1);
    let mut text = format!("<think>{}</think>", reasoning.get(..64 * 1024).unwrap_or(&reasoning));
    for city in ["Paris", "Oslo", "Lima", "Quito", "Hanoi"] {
        let arguments = format!(r#"{{"city": "{city}", "days": 3, "units": ["C", "F"]}}"#);
        text.push_str(&format!("<tool_call>{{\"name\": \"weather\", \"arguments\": {arguments}}}</tool_call>\n"));
    }
    text.push_str("Here you are.<|end|>");
    text
}

/// The text in feeds of four code points.
fn feeds(text: &str) -> Vec<&str> {
    let starts: Vec<_> = text.char_indices().step_by(4).map(|(at, _)| at).chain([text.len()]).collect();
    starts.windows(2).filter_map(|pair| text.get(*pair.first()?..*pair.last()?)).collect()
}

fn whole(text: &str) -> Vec<&str> {
    vec![text]
}

#[divan::bench(args = ["whole text", "chunks of 4"])]
fn backchat(bencher: Bencher, cut: &str) {
    let Ok(loaded) = Template::load(TEMPLATE) else { return };
    let text = answer();
    let feeds = if cut == "whole text" { whole(&text) } else { feeds(&text) };
    bencher.counter(BytesCount::of_str(&text)).counter(ItemsCount::new(feeds.len())).bench(|| {
        let mut parser = Parser::new(&loaded.template, PROMPT, Options::default()).ok()?;
        for feed in &feeds {
            parser
                .feed_into(feed, &mut |event| {
                    black_box(event);
                })
                .ok()?;
        }
        parser.finish().ok()
    });
}

/// The same with events that are kept, as the other crate gives them.
#[divan::bench(args = ["whole text", "chunks of 4"])]
fn backchat_owned_events(bencher: Bencher, cut: &str) {
    let Ok(loaded) = Template::load(TEMPLATE) else { return };
    let text = answer();
    let feeds = if cut == "whole text" { whole(&text) } else { feeds(&text) };
    bencher.counter(BytesCount::of_str(&text)).counter(ItemsCount::new(feeds.len())).bench(|| {
        let mut parser = Parser::new(&loaded.template, PROMPT, Options::default()).ok()?;
        for feed in &feeds {
            black_box(parser.feed(feed).ok()?);
        }
        parser.finish().ok()
    });
}

#[divan::bench(args = ["whole text", "chunks of 4"])]
fn smg_response_template(bencher: Bencher, cut: &str) {
    let Some(template) = reference_template() else { return };
    let text = answer();
    let feeds = if cut == "whole text" { whole(&text) } else { feeds(&text) };
    bencher.counter(BytesCount::of_str(&text)).counter(ItemsCount::new(feeds.len())).bench(|| {
        let mut parser = ResponseParser::new(&template, PROMPT, &[]).ok()?;
        for feed in &feeds {
            black_box(parser.feed(feed).ok()?);
        }
        parser.finalize().ok()
    });
}

fn reference_template() -> Option<ResponseTemplate> {
    load_response_template(&serde_json::from_str(TEMPLATE).ok()?).ok()
}
