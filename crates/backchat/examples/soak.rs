//! Parses generated texts with generated templates at two chunkings, on every core, and stops at the first difference.
//!
//!     cargo run --release --example soak -- STREAMS [SEED]
//!
//! A stream is one text, parsed with random recovery policies in one piece and again in random pieces. Message, signals,
//! problems and events must agree, policies that report nothing must change nothing, and nothing may panic. A difference
//! is printed with everything needed to reproduce it; the exit code is 1. A stream that takes more than ten seconds is a
//! hang: a watchdog prints it and exits with 2. Progress goes to standard error every ten seconds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backchat::json::Value;
use backchat::parser::{ClosersInStrings, Event, EventRef, Finished, Options, Parser, Policies, RecoveryPolicy, Tools};
use backchat::template::Template;

/// Longer than any stream takes, even on a busy machine.
const HANG: Duration = Duration::from_secs(10);
/// How often the watchdog checks, and how often it prints progress.
const LOOK: Duration = Duration::from_millis(250);
const TELL: Duration = Duration::from_secs(10);
/// How many texts are generated for each template.
const TEXTS: u64 = 256;

/// The parts of literals, patterns and texts.
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
const TEXT: [&str; 31] = [
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
    "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
    "{\"name\": \"F\", \"parameters\": {",
    "\"a\": \"",
    "}}",
    "{",
    ",",
    "'",
    "```",
    "`",
];

/// The tools of every stream.
const TOOLS: &str = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]"#;

/// The settings of a field of calls.
const CALLS: &str = r#""transform": {"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}"#;

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
        fields.push(match (name, draw.below(2)) {
            ("y", 0) => {
                format!("\"calls\": {{{open}, {close}\"repeats\": {repeats}, \"content\": \"json\", {CALLS}}}")
            }
            _ => format!("\"{name}\": {{{open}, {close}\"repeats\": {repeats}, \"content\": \"{content}\"}}"),
        });
    }
    match draw.below(4) {
        0 => {}
        1 => fields.push(format!("\"content\": {{{}}}", delimiter(draw, "close"))),
        _ => fields.push("\"content\": {}".to_owned()),
    }
    format!("{{\"start_anchor\": \"A\", \"fields\": {{{}}}}}", fields.join(", "))
}

/// No policy, all of them, or any.
fn policies(draw: &mut Draw) -> Policies {
    match draw.below(4) {
        0 => Policies::none(),
        1 => Policies::all(),
        2 => Policies::every(),
        _ => RecoveryPolicy::ALL.iter().copied().filter(|_| draw.below(2) == 1).collect(),
    }
}

fn tools() -> Option<Arc<Tools>> {
    Some(Arc::new(Tools::new(&backchat::json::read(TOOLS).ok()?).ok()?))
}

/// Everything in an answer.
#[derive(Debug, PartialEq)]
struct Answer {
    finished: Finished,
    /// The events, with adjacent chunks merged.
    events: Vec<Event>,
}

impl Answer {
    fn is_quiet(&self) -> bool {
        self.finished.problems.is_empty()
    }
}

/// The answer; `None` if a pattern exceeded its steps.
fn answer(template: &Template, prefix: &str, feeds: &[&str], options: &Options) -> Option<Answer> {
    let mut parser = Parser::new(template, prefix, options.clone()).ok()?;
    let mut events: Vec<Event> = Vec::new();
    let mut add = |event: EventRef<'_>| match (events.last_mut(), event) {
        (Some(Event::Chunk { text, span, .. }), EventRef::Chunk { text: more, span: next, .. }) => {
            text.push_str(more);
            span.end = next.end;
        }
        (_, event) => events.push(event.to_owned()),
    };
    parser.initial_events().iter().for_each(|event| add(event.borrowed()));
    for feed in feeds {
        parser.feed_into(feed, &mut add).ok()?;
    }
    let mut finished = parser.finish().ok()?;
    std::mem::take(&mut finished.events).iter().for_each(|event| add(event.borrowed()));
    Some(Answer { finished, events })
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

/// The state of a worker: when it began its stream, in milliseconds from the start of the run, and the stream's numbers.
#[derive(Default)]
struct Post {
    begun: AtomicU64,
    stream: Mutex<Option<Stream>>,
}

/// Everything needed to reproduce a stream.
#[derive(Clone)]
struct Stream {
    source: Arc<str>,
    draw: u64,
}

impl Stream {
    /// The prefix, the text, and the options.
    fn texts(draw: &mut Draw, tools: &Arc<Tools>) -> (String, String, Options) {
        let (prefix, text) = (draw.several(&TEXT, 3), draw.several(&TEXT, 12));
        let closers = [ClosersInStrings::Ends, ClosersInStrings::Text];
        let closers_in_strings = closers.get(draw.below(2)).copied().unwrap_or_default();
        let options = Options::default().closers_in_strings(closers_in_strings);
        let tools = (draw.below(4) > 0).then(|| Arc::clone(tools));
        let options = options.tools(tools).recover(policies(draw)).validate(draw.below(2) == 1);
        (format!("A{prefix}"), text, options)
    }

    fn tell(&self) {
        let mut draw = Draw(self.draw);
        let Some(tools) = tools() else { return };
        let (prefix, text, options) = Self::texts(&mut draw, &tools);
        let cut = feeds(&mut draw, &text);
        eprintln!("template: {}\nprefix: {prefix:?}\nfeeds: {cut:?}\n{options:?}", self.source);
    }
}

/// The state that all workers share.
struct Soak {
    started: Instant,
    wanted: u64,
    streams: AtomicU64,
    failed: AtomicBool,
    posts: Vec<Post>,
}

impl Soak {
    fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.streams.load(Ordering::Relaxed) >= self.wanted
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Parses streams until there are enough, or one differs or panics.
    fn work(&self, post: &Post, mut draw: Draw) {
        let Some(tools) = tools() else { return };
        while !self.is_over() {
            let source: Arc<str> = template(&mut draw).into();
            let Ok(loaded) = Template::load(&source) else { continue };
            for _ in 0..TEXTS {
                let stream = Stream { source: source.clone(), draw: draw.0 };
                post.begun.store(self.now(), Ordering::Relaxed);
                if let Ok(mut at) = post.stream.lock() {
                    *at = Some(stream.clone());
                }
                let (prefix, text, options) = Stream::texts(&mut draw, &tools);
                let cut = feeds(&mut draw, &text);
                let run = || {
                    let whole = answer(&loaded.template, &prefix, &[&text], &options);
                    let plain = answer(&loaded.template, &prefix, &[&text], &options.clone().recover(Policies::none()));
                    let pieces = answer(&loaded.template, &prefix, &cut, &options);
                    let is_quiet = |answer: &Option<Answer>| answer.as_ref().is_some_and(Answer::is_quiet);
                    // What a policy finds may lie behind the place up to which a parser without it looks.
                    let whole = if is_quiet(&whole) && is_quiet(&plain) { plain } else { whole };
                    (pieces, whole)
                };
                let told = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                    Ok((pieces, whole)) if pieces == whole => continue,
                    Ok((pieces, whole)) => format!("whole: {whole:?}\npieces: {pieces:?}"),
                    Err(_) => "it panics".to_owned(),
                };
                stream.tell();
                eprintln!("{told}");
                return self.failed.store(true, Ordering::Relaxed);
            }
            self.streams.fetch_add(TEXTS, Ordering::Relaxed);
        }
    }

    /// Prints progress, and ends the process if a stream hangs.
    fn watch(&self) {
        let mut told = Instant::now();
        while !self.is_over() {
            std::thread::sleep(LOOK);
            for post in &self.posts {
                let took = self.now().saturating_sub(post.begun.load(Ordering::Relaxed));
                if u128::from(took) > HANG.as_millis() && !self.is_over() {
                    if let Some(stream) = post.stream.lock().ok().and_then(|at| at.clone()) {
                        stream.tell();
                    }
                    eprintln!("hangs: {took} ms in this stream");
                    std::process::exit(2);
                }
            }
            if told.elapsed() > TELL {
                told = Instant::now();
                eprintln!("{}", self.progress());
            }
        }
    }

    fn progress(&self) -> String {
        let (count, time) = (self.streams.load(Ordering::Relaxed), self.started.elapsed().as_secs_f64());
        format!("{count} of {} streams in {time:.0} s, {:.0} a second", self.wanted, count as f64 / time)
    }
}

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap_or(0));
    let wanted = arguments.next().unwrap_or(1_000_000);
    let seed = arguments.next().unwrap_or(1);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let soak = Soak {
        started: Instant::now(),
        wanted,
        streams: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        posts: (0..workers).map(|_| Post::default()).collect(),
    };
    std::thread::scope(|scope| {
        for (worker, post) in soak.posts.iter().enumerate() {
            let soak = &soak;
            let draw = Draw(seed.wrapping_mul(0x9E37_79B9).wrapping_add((worker as u64) << 48));
            scope.spawn(move || soak.work(post, draw));
        }
        soak.watch();
    });
    println!("{}, seed {seed}", soak.progress());
    std::process::ExitCode::from(u8::from(soak.failed.load(Ordering::Relaxed)))
}
