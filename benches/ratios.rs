//! How fast the parser is on every derived template, as a ratio to the crate `smg-response-template` in the same run.
//!
//! `cargo bench --bench ratios` prints two tables: the templates of `derived/`, and those of `benches/drafts/`, which
//! stay as they are so that figures can be compared over time. Each figure is the best of several rounds in which the
//! two crates take turns, so a machine that others use too spoils a round of both. `2.0×` is twice as fast as the
//! other.
//!
//! The text is 64 KB of prose outside of every region, where a template watches for the most delimiters at once.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use backchat::parser::{Options, Parser};
use backchat::template::Template;
use smg_response_template::{ResponseParser, ResponseTemplate, load_response_template};

/// How often each figure is taken.
const ROUNDS: usize = 15;

/// A template in the usual form: literals around reasoning, JSON in tool calls, everything else content.
const HEADLINE: &str = r#"{
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

fn main() {
    // What `cargo bench` and `cargo test` hand over besides is of no interest here.
    let only = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let sentence = "The user wants 5 cities; if x < 3 then I ask again, else I call the tool (see above).\n";
    let text: String = sentence.chars().cycle().take(64 * 1024).collect();
    let starts: Vec<_> = text.char_indices().step_by(4).map(|(at, _)| at).chain([text.len()]).collect();
    let feeds: Vec<&str> = starts.windows(2).filter_map(|pair| text.get(*pair.first()?..*pair.last()?)).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["derived", "benches/drafts"] {
        println!(
            "\n{folder:<26}{:>9}{:>8}{:>9}{:>8}{:>9}{:>8}{:>9}{:>8}",
            "feed", "", "owned", "", "whole", "", "new", ""
        );
        let mut lines = vec![("(headline)".to_owned(), HEADLINE.to_owned())];
        let files = fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            lines.extend(fs::read_to_string(&file).map(|json| (name, json)));
        }
        lines.sort();
        for (name, json) in lines.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| name.contains(only))) {
            match Figures::take(json, &text, &feeds) {
                Some(figures) => println!("{name:<26}{figures}"),
                None => println!("{name:<26}not run"),
            }
        }
    }
}

/// The time of one feed, one owned feed, the whole text, and a new parser: ours, and the other's where it takes the
/// template.
struct Figures {
    bytes: usize,
    feed: Pair,
    owned: Pair,
    whole: Pair,
    new: Pair,
}

/// In nanoseconds.
struct Pair {
    ours: f64,
    theirs: Option<f64>,
}

impl Figures {
    fn take(json: &str, text: &str, feeds: &[&str]) -> Option<Self> {
        let template = Template::load(json).ok()?.template;
        let other = serde_json::from_str(json).ok().and_then(|json| load_response_template(&json).ok());
        let prompt = prompt(json);
        let count = feeds.len() as f64;
        let prompt = prompt.as_str();
        let parse = |feeds: &[&str]| {
            let mut parser = Parser::new(&template, prompt, Options::default()).ok()?;
            feeds
                .iter()
                .try_for_each(|feed| {
                    parser.feed_into(feed, &mut |event| {
                        black_box(event);
                    })
                })
                .ok()
        };
        let parse_owned = |feeds: &[&str]| {
            let mut parser = Parser::new(&template, prompt, Options::default()).ok()?;
            feeds.iter().try_for_each(|feed| parser.feed(feed).map(|events| drop(black_box(events)))).ok()
        };
        let theirs = |other: &ResponseTemplate, feeds: &[&str]| {
            let mut parser = ResponseParser::new(other, prompt, &[]).ok()?;
            feeds.iter().try_for_each(|feed| parser.feed(feed).map(|events| drop(black_box(events)))).ok()
        };
        let pair = |ours: &dyn Fn() -> Option<()>, theirs: &dyn Fn(&ResponseTemplate) -> Option<()>, times: f64| {
            let (mut best, mut best_of_other) = (Duration::MAX, None);
            for _ in 0..ROUNDS {
                let start = Instant::now();
                ours()?;
                best = best.min(start.elapsed());
                let start = Instant::now();
                if let Some(other) = &other
                    && theirs(other).is_some()
                {
                    let took = start.elapsed();
                    best_of_other = Some(best_of_other.map_or(took, |best: Duration| best.min(took)));
                }
            }
            let each = |took: Duration| took.as_secs_f64() * 1e9 / times;
            Some(Pair { ours: each(best), theirs: best_of_other.map(each) })
        };
        Some(Self {
            bytes: text.len(),
            feed: pair(&|| parse(feeds), &|other| theirs(other, feeds), count)?,
            owned: pair(&|| parse_owned(feeds), &|other| theirs(other, feeds), count)?,
            whole: pair(&|| parse(&[text]), &|other| theirs(other, &[text]), 1.0)?,
            new: pair(
                &|| (0..1000).try_for_each(|_| parse(&[])),
                &|other| (0..1000).try_for_each(|_| theirs(other, &[])),
                1000.0,
            )?,
        })
    }
}

/// A prompt that ends in the template's start anchor, if that is a literal.
fn prompt(json: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let anchor = value.as_ref().and_then(|value| value.get("start_anchor"));
    let anchor = anchor.and_then(|anchor| anchor.as_str().or_else(|| anchor.get(0)?.as_str())).unwrap_or("");
    format!("What is the weather in five cities?{anchor}")
}

impl std::fmt::Display for Figures {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ratio = |pair: &Pair| match pair.theirs {
            Some(theirs) => format!("{:.1}×", theirs / pair.ours),
            None => "-".to_owned(),
        };
        for pair in [&self.feed, &self.owned] {
            write!(out, "{:>6.1} ns{:>8}", pair.ours, ratio(pair))?;
        }
        let speed = self.bytes as f64 / self.whole.ours;
        write!(out, "{speed:>4.2} GB/s{:>8}{:>6.0} ns{:>8}", ratio(&self.whole), self.new.ours, ratio(&self.new))
    }
}
