//! What the benchmarks of the parser share: templates, texts, feeds, and the instructions that a run takes.
#![allow(dead_code, reason = "each benchmark takes what it needs")]

use std::env;
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;

use backchat::Value;
use backchat::parser::{Options, Parser, Policy, TokenTemplate};
use backchat::template::Template;
use backchat::tokens::Tokens;

/// A template in the usual form: literals around reasoning, JSON in tool calls, everything else content.
pub const HEADLINE: &str = r#"{
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

/// A prompt that ends with the start anchor of [`HEADLINE`].
pub const PROMPT: &str = "What is the weather in five cities?<|assistant|>";

/// 64 KB of prose, in which a template watches for the delimiters that open a field.
pub fn prose() -> String {
    let sentence = "The user wants 5 cities; if x < 3 then I ask again, else I call the tool (see above).\n";
    sentence.chars().cycle().take(64 * 1024).collect()
}

/// The same prose as reasoning, then five calls and an answer, as [`HEADLINE`] reads them.
pub fn answer() -> String {
    let mut text = format!("<think>{}</think>", prose());
    for city in ["Paris", "Oslo", "Lima", "Quito", "Hanoi"] {
        let arguments = format!(r#"{{"city": "{city}", "days": 3, "units": ["C", "F"]}}"#);
        text.push_str(&format!("<tool_call>{{\"name\": \"weather\", \"arguments\": {arguments}}}</tool_call>\n"));
    }
    text + "Here you are.<|end|>"
}

/// The text in feeds of four code points.
pub fn feeds(text: &str) -> Vec<&str> {
    let starts: Vec<_> = text.char_indices().step_by(4).map(|(at, _)| at).chain([text.len()]).collect();
    starts.windows(2).filter_map(|pair| text.get(*pair.first()?..*pair.last()?)).collect()
}

/// Parses the feeds, whose events are only looked at, to the end of the text.
pub fn borrowed(template: &Template, prompt: &str, feeds: &[&str]) -> Option<()> {
    let mut parser = Parser::new(template, prompt, Options::default()).ok()?;
    for feed in feeds {
        let looked_at = parser.feed_into(feed, &mut |event| {
            black_box(event);
        });
        looked_at.ok()?;
    }
    parser.finish().ok().map(|finished| drop(black_box(finished)))
}

/// The same with events that are kept, as the other crate gives them.
pub fn owned(template: &Template, prompt: &str, feeds: &[&str]) -> Option<()> {
    let mut parser = Parser::new(template, prompt, Options::default()).ok()?;
    for feed in feeds {
        drop(black_box(parser.feed(feed).ok()?));
    }
    parser.finish().ok().map(|finished| drop(black_box(finished)))
}

/// A template ready for a tokenizer that has each feed as a token, and the feeds as its ids.
pub fn ids_of(template: &Template, feeds: &[&str]) -> Option<(TokenTemplate, Vec<u32>)> {
    let mut vocab = feeds.to_vec();
    vocab.sort_unstable();
    vocab.dedup();
    let ids = feeds.iter().map(|feed| u32::try_from(vocab.binary_search(feed).ok()?).ok()).collect::<Option<_>>()?;
    let names: Vec<String> =
        vocab.iter().enumerate().map(|(id, text)| format!("{}: {id}", Value::from(*text))).collect();
    let json = format!(r#"{{"decoder": {{"type": "Fuse"}}, "model": {{"vocab": {{{}}}}}}}"#, names.join(", "));
    let ready = TokenTemplate::new(template, &Arc::new(Tokens::load(&json).ok()?), Policy::Exact).ok()?;
    Some((ready, ids))
}

/// What [`borrowed`] does, with ids.
pub fn of_ids(ready: &TokenTemplate, prompt: &str, ids: &[u32]) -> Option<()> {
    let mut parser = Parser::with_tokens_after(ready, prompt, Options::default()).ok()?;
    for id in ids.chunks(1) {
        let looked_at = parser.feed_tokens_into(id, &mut |event| {
            black_box(event);
        });
        looked_at.ok()?;
    }
    parser.finish().ok().map(|finished| drop(black_box(finished)))
}

/// The instructions that a run of this program takes with these arguments; `None` without valgrind.
fn instructions(arguments: &[&str]) -> Option<u64> {
    let program = env::current_exe().ok()?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let report = valgrind.output().ok()?.stderr;
    let report = String::from_utf8_lossy(&report);
    report.split_once("Collected : ")?.1.split_whitespace().next()?.parse().ok()
}

/// The instructions of one round of a figure, which the program repeats as often as its last argument says: what two
/// more rounds take, so that starting the program is no part of it.
pub fn instructions_of_a_round(arguments: &[&str]) -> Option<f64> {
    let rounds = |count: &str| instructions(&[arguments, &[count]].concat());
    Some((rounds("3")?.checked_sub(rounds("1")?)? as f64) / 2.0)
}
