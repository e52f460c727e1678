//! Parses generated texts with generated templates at two chunkings, on every core, and stops at the first difference.
//!
//!     cargo run --release --example soak -- SECONDS [SEED]
//!
//! A stream is one text, parsed in one piece and again in random pieces: message, signals and events must agree, nothing may
//! panic, and nothing may hang. What differs is printed with all it takes to see it again; exit 1.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backchat::json::Value;
use backchat::parser::{ClosersInStrings, Event, Options, Parser};
use backchat::template::Template;

/// Longer than any stream takes, also on a machine that is busy with other things.
const HANG: Duration = Duration::from_secs(30);

/// What literals, patterns and texts are made of.
const MARKS: [&str; 10] = ["<x>", "</x>", "<a", "a>", "ab", "<<", "\n", "</", "<y>", "b"];
const PATTERNS: [&str; 18] = [
    "<x>\\s*",
    "\\s*</x>",
    "ab|$",
    "$",
    "(?=<)",
    "a(?:ba)?",
    "<a.*?>",
    "a\\B",
    "\\bb",
    "<[^>]*>",
    "aab|a",
    "(?:ab)?b",
    "a(?!ab)",
    "</x>|\\Z",
    "(?i)<X>",
    "\\s+",
    "(?<=a)b",
    "<x>(?=[\\s\\S]*?b)",
];
const TEXT: [&str; 22] = [
    "<x>",
    "</x>",
    "<y>",
    "a",
    "b",
    "ab",
    "<",
    ">",
    "</",
    "\n",
    " ",
    "é",
    "{\"k\": \"",
    "\"}",
    "1",
    "\\",
    "\"",
    "[",
    "]",
    "日",
    "aba",
    ".",
];

/// A series of numbers that is the same for the same seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of.get(self.below(of.len())).copied().unwrap_or("")
    }

    fn several(&mut self, of: &[&'static str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| self.one(of)).collect()
    }
}

/// A delimiter: a literal, a list of them, or a pattern.
fn delimiter(draw: &mut Draw, name: &str) -> String {
    let literal = |draw: &mut Draw| Value::from(format!("{}{}", draw.one(&MARKS), draw.several(&MARKS, 1))).to_string();
    match draw.below(3) {
        0 => format!("\"{name}\": {}", literal(draw)),
        1 => format!("\"{name}\": [{}, {}]", literal(draw), literal(draw)),
        _ => format!("\"{name}_pattern\": {}", Value::from(draw.one(&PATTERNS))),
    }
}

fn template(draw: &mut Draw) -> String {
    let mut fields = Vec::new();
    for name in ["x", "y"] {
        let content = draw.one(&["text", "json", "text"]);
        let repeats = draw.below(2) == 1;
        let open = delimiter(draw, "open");
        let close = if draw.below(8) == 0 { String::new() } else { format!("{}, ", delimiter(draw, "close")) };
        fields.push(format!("\"{name}\": {{{open}, {close}\"repeats\": {repeats}, \"content\": \"{content}\"}}"));
    }
    match draw.below(4) {
        0 => {}
        1 => fields.push(format!("\"content\": {{{}}}", delimiter(draw, "close"))),
        _ => fields.push("\"content\": {}".to_owned()),
    }
    format!("{{\"start_anchor\": \"A\", \"fields\": {{{}}}}}", fields.join(", "))
}

/// Everything an answer says, adjacent chunks as one; nothing where a pattern used up its steps.
fn answer(template: &Template, prefix: &str, feeds: &[&str], options: &Options) -> Option<String> {
    let mut parser = Parser::new(template, prefix, options.clone()).ok()?;
    let mut events = parser.initial_events().to_vec();
    for feed in feeds {
        events.extend(parser.feed(feed).ok()?);
    }
    let mut finished = parser.finish().ok()?;
    events.append(&mut finished.events);
    let mut joined: Vec<Event> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(Event::Chunk { text, span, .. }), Event::Chunk { text: more, span: next, .. }) => {
                text.push_str(&more);
                span.end = next.end;
            }
            (_, event) => joined.push(event),
        }
    }
    Some(format!("{finished:?}\n{joined:?}"))
}

/// Cuts a text into feeds of one to four characters, or of one each.
fn feeds<'t>(draw: &mut Draw, text: &'t str) -> Vec<&'t str> {
    let longest = 1 + draw.below(4);
    let mut rest = text;
    let mut feeds = Vec::new();
    while !rest.is_empty() {
        let length = 1 + draw.below(longest);
        let at = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (feed, more) = rest.split_at(at);
        feeds.push(feed);
        rest = more;
    }
    feeds
}

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap_or(0));
    let seconds = arguments.next().unwrap_or(60);
    let seed = arguments.next().unwrap_or(1);
    let (streams, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let started = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (streams, failed) = (&streams, &failed);
            let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9).wrapping_add((worker as u64) << 48));
            scope.spawn(move || {
                while !failed.load(Ordering::Relaxed) && started.elapsed() < Duration::from_secs(seconds) {
                    let source = template(&mut draw);
                    let Ok(loaded) = Template::load(&source) else { continue };
                    for _ in 0..64 {
                        let (prefix, text) = (draw.several(&TEXT, 3), draw.several(&TEXT, 12));
                        let prefix = format!("A{prefix}");
                        let closers = [ClosersInStrings::Ends, ClosersInStrings::Text];
                        let closers_in_strings = closers.get(draw.below(2)).copied().unwrap_or_default();
                        let options = Options { closers_in_strings, ..Options::default() };
                        let cut = feeds(&mut draw, &text);
                        let begun = Instant::now();
                        let told = || eprintln!("template: {source}\nprefix: {prefix:?}\nfeeds: {cut:?}\n{options:?}");
                        let run = || {
                            let whole = answer(&loaded.template, &prefix, &[&text], &options);
                            (answer(&loaded.template, &prefix, &cut, &options), whole)
                        };
                        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                            Ok((pieces, whole)) if pieces == whole && begun.elapsed() < HANG => {}
                            Ok((pieces, whole)) => {
                                told();
                                eprintln!("in {:?}\nwhole: {whole:?}\npieces: {pieces:?}", begun.elapsed());
                                failed.store(true, Ordering::Relaxed);
                            }
                            Err(_) => {
                                told();
                                failed.store(true, Ordering::Relaxed);
                            }
                        }
                        if failed.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                    streams.fetch_add(64, Ordering::Relaxed);
                }
            });
        }
    });
    let (count, time) = (streams.load(Ordering::Relaxed), started.elapsed().as_secs_f64());
    println!("{count} streams in {time:.0} s, {:.0} a second, seed {seed}", count as f64 / time);
    std::process::ExitCode::from(u8::from(failed.load(Ordering::Relaxed)))
}
