//! How fast the parser is on every derived template, as a ratio to the crate `smg-response-template` in the same run.
//!
//! `cargo bench --bench ratios` prints two tables: the templates of `derived/`, and those of `benches/drafts/`, which
//! stay as they are so that figures can be compared over time. Each figure is the median of several rounds in which the
//! two crates take turns, and after it the best, so a machine that others use too spoils a round of both. `2.0×` is
//! twice as fast as the other. With `--instructions` they are counted instead, by valgrind, which takes minutes; pass
//! the name of a template for its line alone.
//!
//! The first text is 64 KB of prose outside of every region, where a template watches for the most delimiters at once;
//! the second, `in`, is the same inside the first field that literals open and close, such as a thought, where most of a
//! reasoning model's text lies. A round ends with `finish`.

mod common;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use backchat::parser::{Options, Parser};
use backchat::template::Template;
use common::{HEADLINE, borrowed, feeds, instructions_of_a_round, owned, prose};
use smg_response_template::{ResponseParser, ResponseTemplate, load_response_template};

/// How often each figure is taken.
const ROUNDS: usize = 15;

/// How many parsers are made for the figure of one.
const PARSERS: usize = 1000;

/// The figures: the way of parsing, the text, and the heading.
const FIGURES: [(&str, &str, &str); 7] = [
    ("borrowed", "prose", "feed"),
    ("borrowed", "inside", "in"),
    ("owned", "prose", "owned"),
    ("owned", "inside", "in"),
    ("whole", "prose", "whole"),
    ("whole", "inside", "in"),
    ("new", "prose", "new"),
];

fn main() {
    // `cargo bench` and `cargo test` hand over options of their own.
    let (options, names): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|argument| argument.starts_with('-'));
    if let [crate_name, file, way, text, rounds] = names.as_slice() {
        let json = if file == "headline" { HEADLINE.to_owned() } else { fs::read_to_string(file).unwrap_or_default() };
        if let (Some(subject), Ok(rounds)) = (Subject::new(&json), rounds.parse::<usize>())
            && let Some(feeds) = subject.feeds(way, text)
        {
            for _ in 0..rounds {
                subject.round(crate_name == "ours", way, &feeds);
            }
        }
        return;
    }
    let counts = options.iter().any(|option| option == "--instructions");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (folder, place) in [("derived", "../../derived"), ("drafts", "benches/drafts")] {
        print!("\n{folder:<26}");
        FIGURES.iter().for_each(|(.., heading)| print!("{heading:>12}{:>15}", ""));
        println!();
        let mut lines = vec![("(headline)".to_owned(), "headline".to_owned(), HEADLINE.to_owned())];
        let files = fs::read_dir(root.join(place)).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let json = fs::read_to_string(&file);
            lines.extend(json.map(|json| (name, file.to_string_lossy().into_owned(), json)));
        }
        lines.sort();
        for (name, file, json) in lines.iter().filter(|(name, ..)| names.iter().all(|only| name.contains(only))) {
            let Some(subject) = Subject::new(json) else {
                println!("{name:<26}not run");
                continue;
            };
            print!("{name:<26}");
            for (way, text, _) in FIGURES {
                let figure = if counts { subject.count(file, way, text) } else { subject.time(way, text) };
                print!("{:>27}", figure.unwrap_or_else(|| "-".to_owned()));
            }
            println!();
        }
    }
}

/// A template and its texts, as both crates read them.
struct Subject {
    template: Template,
    other: Option<ResponseTemplate>,
    prompt: String,
    prose: String,
    inside: Option<String>,
}

impl Subject {
    fn new(json: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(json).ok()?;
        let literal = |value: Option<&serde_json::Value>| {
            value.and_then(|value| value.as_str().or_else(|| value.get(0)?.as_str())).map(str::to_owned)
        };
        let between = |field: &serde_json::Value| Some((literal(field.get("open"))?, literal(field.get("close"))?));
        let marks = value.get("fields")?.as_object()?.values().find_map(between);
        Some(Self {
            template: Template::load(json).ok()?.template,
            other: load_response_template(&value).ok(),
            // A prompt that ends in the template's start anchor, if that is a literal.
            prompt: format!("What is the weather?{}", literal(value.get("start_anchor")).unwrap_or_default()),
            inside: marks.map(|(open, close)| format!("{open}{}{close}", prose())),
            prose: prose(),
        })
    }

    /// A text as it is fed.
    fn feeds(&self, way: &str, text: &str) -> Option<Vec<&str>> {
        let text = if text == "inside" { self.inside.as_deref()? } else { &self.prose };
        Some(if way == "whole" { vec![text] } else { feeds(text) })
    }

    /// One round of a figure, and the number of things in it that are measured.
    fn round(&self, ours: bool, way: &str, feeds: &[&str]) -> Option<usize> {
        let prompt = self.prompt.as_str();
        if way == "new" {
            (0..PARSERS).try_for_each(|_| match (ours, &self.other) {
                (true, _) => {
                    Parser::new(&self.template, prompt, Options::default()).ok().map(|new| drop(black_box(new)))
                }
                (false, other) => {
                    ResponseParser::new(other.as_ref()?, prompt, &[]).ok().map(|new| drop(black_box(new)))
                }
            })?;
            return Some(PARSERS);
        }
        match (ours, &self.other) {
            (true, _) if way == "owned" => owned(&self.template, prompt, feeds)?,
            (true, _) => borrowed(&self.template, prompt, feeds)?,
            (false, other) => theirs(other.as_ref()?, prompt, feeds)?,
        }
        Some(feeds.len())
    }

    /// The median and the best time of ours, and how many times as fast the median is as the other's.
    fn time(&self, way: &str, text: &str) -> Option<String> {
        let feeds = self.feeds(way, text)?;
        let (mut took, mut took_other) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            for (ours, took) in [(true, &mut took), (false, &mut took_other)] {
                let start = Instant::now();
                if let Some(count) = self.round(ours, way, &feeds) {
                    took.push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
                }
            }
        }
        took.sort_by(f64::total_cmp);
        took_other.sort_by(f64::total_cmp);
        let (median, best) = (*took.get(ROUNDS / 2)?, took.first()?);
        let ratio = took_other.get(ROUNDS / 2).map_or("-".to_owned(), |other| format!("{:.1}×", other / median));
        let speed = |took: f64| self.prose.len() as f64 / took;
        Some(match way {
            "whole" => format!("{:.2} {:.2} GB/s {ratio:>6}", speed(median), speed(*best)),
            _ => format!("{median:.1} {best:.1} ns {ratio:>6}"),
        })
    }

    /// The instructions of ours, and how many times as many the other takes.
    fn count(&self, file: &str, way: &str, text: &str) -> Option<String> {
        let feeds = self.feeds(way, text)?;
        let things = self.round(true, way, &feeds)? as f64;
        let ours = instructions_of_a_round(&["ours", file, way, text])? / things;
        let other = self.round(false, way, &feeds).and_then(|_| instructions_of_a_round(&["other", file, way, text]));
        let ratio = other.map_or("-".to_owned(), |other| format!("{:.1}×", other / things / ours));
        Some(format!("{ours:.0} {ratio:>6}"))
    }
}

fn theirs(template: &ResponseTemplate, prompt: &str, feeds: &[&str]) -> Option<()> {
    let mut parser = ResponseParser::new(template, prompt, &[]).ok()?;
    feeds.iter().try_for_each(|feed| parser.feed(feed).map(|events| drop(black_box(events)))).ok()?;
    parser.finalize().ok().map(|message| drop(black_box(message)))
}
