//! How long the worst patterns keep the engine busy: nanoseconds a byte, at most 1,000 for any pattern that loads.
//!
//! `cargo bench --bench patterns [-- COUNT [SEED]]` runs a table of patterns known to be bad, and COUNT patterns drawn
//! from bad pieces, on texts of 100 KB that hardly any matches. `-- PATTERN` runs that one. It prints the slowest. A
//! search that used up its steps is marked `gave up`; its time counts like any other.

use std::time::Instant;
use std::{env, fs};

use backchat_parser::pattern::Pattern;

/// How long a text is, in bytes.
const LENGTH: usize = 100_000;

/// How many of the slowest are printed.
const SHOWN: usize = 40;

/// What takes longer than this, in nanoseconds a byte, is run again so many times, and the best round counts.
const SLOW: f64 = 500.0;
const ROUNDS: usize = 4;

/// What the texts repeat.
const TEXTS: [&str; 9] = ["a", "ab", "é", "aé日 ", " ", "a\n", "Aa", "日", "<a b='c'>"];

const KNOWN: &[&str] = &[
    r"a{1,4000}b",
    r"a{1,4000}?b",
    r"a{1,4000}\d",
    r"a{1,4000}?\d",
    r"\w{1,4000}!",
    r"\w{1,4000}\d",
    r"[\s\S]{1,4000}!",
    r"[\s\S]{1,4000}?!",
    r"[\s\S]{1,4000}\d",
    r"(?:a{1,100}){1,100}b",
    r"(?:a{1,30}b?){1,30}c",
    r"(?:(?:a{1,9}){1,9}){1,9}c",
    r"(?:a|b|ab|ba|aa|bb)*c",
    r"(?:a?){50}b",
    r"(?:a?){300}b",
    r"(?:a?b?){200}c",
    r"(?:\w?){300}!",
    r"a*a*a*a*b",
    r"\w*\w*\w*\w*!",
    r"(a*)*$",
    r"(a+)+\1c",
    r"(a{1,500})\1b",
    r"(?i)(a+)\1b",
    r"(?i)(\w+)\1\1!",
    r"(?i)(\w{1,50})-?\1!",
    r"(?fi)(?:ss|ß)*x",
    r"(?fi)aß*!",
    r"(?fi)aaaaaaaaaaaaaaaaaaaa!",
    r"(?fi)éééééééééééé!",
    r"(?<=a{1,4000})b",
    r"(?<=a*)b",
    r"(?<=\w*\w*)!",
    r"(?<=(?:a|b)*)c",
    r"a(?<=b{0,4}a+)c",
    r"(?<!b*a+)c",
    r"(?=a*b)a",
    r"(?=a{1,4000}b)a",
    r"(?=(\w+))\1!",
    r"(?!a+)b|a(?=a+b)",
    r"(?:(?=a+)a)*b",
    r"(?:(?!</x>)[\s\S])*</x>",
    r"(?:(?!</x>)[\s\S])*?</x>",
    r"(?R)",
    r"(?:a(?R)?)*b",
    r"(a|b(?1))*c",
    r"(?>a*)b",
    r"(?>(?:\w+ )*)y",
    r"(?:\w++ )++y",
    r"(\s+?)\1*y",
    r"(?=(\s+))\sx",
    r"\s{0,100000}(?:y|\sz)",
    r"(\s*)x?(?:y|\1z)",
    r"\b\w+\b!",
    r"(?:\b|\B)*!",
    r"(?:\ba|\Ba|é|日)*!",
    r"a\Kb",
    r"(?:a\K)*b",
    r"(?:a|(b))*(?(1)c|d)e",
    r"\G(?:a|b)*c",
    r"[a-yé日]{3,7}?z",
    r"(?:a{2}){1,2000}b",
    r"(?:ab){1,4000}c",
    r"(?:a|aa){1,400}b",
    r"(?:.|\n)*!",
    r"(?:(?:(?:a)*)*)*b",
    r"(?:a(?:a(?:a(?:a)?)?)?)*b",
    r"(?:[^!]|a)*!",
    r"\w+\s\w+\s\w+!",
    r"(?:\p{Lu}|\p{Ll}|\p{Lo})+!",
];

const PIECES: &[&str] = &[
    "a",
    "b",
    "é",
    ".",
    "\\w",
    "\\s",
    "\\b",
    "\\B",
    "a*",
    "a+?",
    "a{1,50}",
    "\\w{1,900}",
    "\\w{2,9}?",
    ".{0,4000}",
    ".{0,99}?",
    "\\w+",
    "\\w*+",
    "[^!]*",
    "(a+)",
    "(\\w{1,9})",
    "\\1",
    "(?i:\\1)",
    "(?i:a)",
    "(?:a|ab)",
    "(?:a|b|é|日)",
    "(?=a*)",
    "(?=\\w+b)",
    "(?!a+!)",
    "(?<=a{1,50})",
    "(?<!\\w\\w)",
    "(?<=.)",
    "(?>a+)",
    "(?>a|b)",
    "(?:aa?)",
    "a?",
    "$",
    "^",
    "\\Z",
    "(?:\\w\\b?)",
    "(?:a{1,9}b?)",
    "(?<=\\w{1,300})",
    "(?:a*b*)",
];
const REPEATS: &[&str] =
    &["", "", "", "*", "+", "*?", "+?", "*+", "{1,20}", "{2,300}", "{0,3000}", "{3}", "?", "{2,300}?"];
const ENDS: &[&str] = &["!", "#", "\\d", "!|#", "(?:!|\\d)", "(?=!)", "!{2,3}", "\\1!"];

fn main() {
    // What `cargo bench` hands over besides is of no interest here.
    let given: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut arguments = given.iter().filter_map(|argument| argument.parse::<u64>().ok());
    let only = given.first().filter(|argument| argument.parse::<u64>().is_err());
    let count = arguments.next().unwrap_or(0);
    let mut draw = Draw(arguments.next().unwrap_or(1));
    let texts: Vec<String> = TEXTS.iter().map(|text| text.repeat(LENGTH / text.len())).collect();
    let drawn = (0..count).map(|_| drawn(&mut draw)).collect::<Vec<_>>();
    let known = KNOWN.iter().map(|source| (*source).to_owned()).chain(drawn);
    let sources: Vec<String> = only.map_or_else(|| known.collect(), |only| vec![only.clone()]);
    let (mut found, mut run) = (Vec::new(), 0);
    for source in sources {
        let Ok(pattern) = Pattern::new(&source) else { continue };
        run += 1;
        for (text, name) in texts.iter().zip(TEXTS) {
            let (mut each, mut gave_up) = time(&pattern, text);
            // A machine that others use too spoils some rounds.
            for _ in 0..if each > SLOW { ROUNDS } else { 0 } {
                let again = time(&pattern, text);
                (each, gave_up) = (each.min(again.0), again.1);
            }
            found.push((each, source.clone(), name, gave_up));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("{run} patterns on {} texts of {LENGTH} bytes; nanoseconds a byte, the slowest first", texts.len());
    for (each, source, name, gave_up) in found.iter().take(SHOWN) {
        println!("{each:>8.1}  {:<8}{source}  on {name:?}", if *gave_up { "gave up" } else { "" });
    }
}

/// Nanoseconds a byte, and whether the search gave up.
fn time(pattern: &Pattern, text: &str) -> (f64, bool) {
    let (started, spent) = (Instant::now(), on_processor());
    let gave_up = pattern.find_at(text, 0).is_err();
    let took = match (spent, on_processor()) {
        (Some(before), Some(after)) => after - before,
        _ => started.elapsed().as_secs_f64() * 1e9,
    };
    (took / text.len() as f64, gave_up)
}

/// How long this thread has been on a processor, in nanoseconds, where the system says so.
fn on_processor() -> Option<f64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// A pattern of bad pieces.
fn drawn(draw: &mut Draw) -> String {
    let mut source = String::new();
    for _ in 0..1 + draw.below(3) {
        let inside: String = (0..1 + draw.below(3)).map(|_| draw.one(PIECES).to_owned() + draw.one(REPEATS)).collect();
        source += &format!("(?:{inside}){}", draw.one(REPEATS));
    }
    source + draw.one(ENDS)
}

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

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of.get(self.below(of.len())).copied().unwrap_or("")
    }
}
