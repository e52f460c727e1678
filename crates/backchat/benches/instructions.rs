//! How many instructions the parser takes, which no other program on the machine changes. Fails above a limit.
//!
//! `cargo bench --no-default-features --bench instructions` prints a table and exits with 1 if a figure is above its
//! limit: 3% more than it was, or what was promised. It counts with valgrind, and says so where that is missing. The
//! figures are those of the optimizer in use: after a change of the compiler, write them anew.

mod common;

use std::process::ExitCode;
use std::{env, fs};

use backchat::template::Template;
use common::{HEADLINE, PROMPT, answer, borrowed, feeds, ids_of, instructions_of_a_round, of_ids, owned, prose};

/// What is counted: the way of parsing, the template, the text, and the most instructions of one feed or kilobyte.
const FIGURES: [(&str, &str, &str, f64); 9] = [
    ("borrowed", "headline", "answer", 190.0),
    ("borrowed", "headline", "prose", 190.0),
    ("borrowed", "qwen3", "prose", 190.0),
    ("borrowed", "gpt_oss", "prose", 190.0),
    ("borrowed", "glm_4_6", "prose", 190.0),
    ("ids", "headline", "prose", 207.0),
    ("owned", "headline", "answer", 350.0),
    ("whole", "headline", "answer", 4980.0),
    ("whole", "headline", "prose", 5255.0),
];

fn main() -> ExitCode {
    // `cargo bench` and `cargo test` hand over options of their own.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let [way, template, text, rounds] = arguments.as_slice() {
        return if run(way, template, text, rounds).is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut is_good = true;
    for (way, template, text, most) in FIGURES {
        let Some(round) = instructions_of_a_round(&[way, template, text]) else {
            println!("the instructions of a feed are not counted: that needs valgrind");
            return ExitCode::SUCCESS;
        };
        let length = if text == "answer" { answer().len() } else { prose().len() } as f64;
        let (each, unit) = if way == "whole" { (1024.0, "KB") } else { (4.0, "feed") };
        let count = round / length * each;
        is_good &= count <= most;
        let verdict = if count <= most { "" } else { "  TOO MANY" };
        println!("{way:<9} {template:<9} {text:<7} {count:>7.1} instructions a {unit}, at most {most}{verdict}");
    }
    ExitCode::from(u8::from(!is_good))
}

/// Repeats one figure.
fn run(way: &str, template: &str, text: &str, rounds: &str) -> Option<()> {
    let json = match template {
        "headline" => HEADLINE.to_owned(),
        draft => fs::read_to_string(format!("{}/../../derived/{draft}.json", env!("CARGO_MANIFEST_DIR"))).ok()?,
    };
    let template = Template::load(&json).ok()?.template;
    let text = if text == "answer" { answer() } else { prose() };
    let feeds = if way == "whole" { vec![text.as_str()] } else { feeds(&text) };
    if way == "ids" {
        let (ready, ids) = ids_of(&template, &feeds)?;
        return (0..rounds.parse().ok()?).try_for_each(|_| of_ids(&ready, PROMPT, &ids));
    }
    (0..rounds.parse().ok()?).try_for_each(|_| match way {
        "owned" => owned(&template, PROMPT, &feeds),
        _ => borrowed(&template, PROMPT, &feeds),
    })
}
