//! Measures which alternatives of the search earn their place: for each, the templates that derive differently without
//! it.
//!
//! `BACKCHAT_ABLATION=FOLDER[:FOLDER] cargo test -p backchat-derive --lib ablation -- --ignored --nocapture` prints the
//! table for the chat templates of these folders and those here. The result is meaningful only with hundreds of them,
//! from many authors.

use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::compile::{CallRegion, Choices, Guard, Quotes, ThoughtEnd, ThoughtStart};
use super::{Options, derive};
use crate::wire::Reading;
use crate::wire::marks::Segmentation;
use crate::wire::turn::Comparison;

type IsIt = fn(&Choices) -> bool;
type IsReading = fn(Reading) -> bool;

/// Every alternative to the plainest choice, with the property of formats that requires it if fewer than two of the
/// templates here have it.
const ALTERNATIVES: &[(&str, IsIt, Option<&str>)] = &[
    ("another cut of the calls", |choices| choices.cut > 0, None),
    ("region: the arguments", |choices| choices.region == CallRegion::Arguments, None),
    (
        "region: handed over",
        |choices| choices.region == CallRegion::Handed,
        Some("objects without marks of their own, for a reader without look-arounds"),
    ),
    ("region: the whole call", |choices| choices.region == CallRegion::Whole, None),
    ("guard: always", |choices| choices.guard == Guard::Always, None),
    (
        "guard: behind",
        |choices| choices.guard == Guard::Behind,
        Some("a close that a value may hold, with a mark at the end of each argument"),
    ),
    ("space: exact", |choices| choices.exact_space, None),
    (
        "opening of reasoning: exact",
        |choices| choices.thought_start == ThoughtStart::Exact,
        Some("a word that opens reasoning, with which answers begin, too"),
    ),
    (
        "opening of reasoning: closed",
        |choices| choices.thought_start == ThoughtStart::Closed,
        Some("a sign that opens reasoning, with which answers begin, too"),
    ),
    ("section: required", |choices| choices.needs_section, None),
    ("inside: the section", |choices| choices.inside_section, None),
    (
        "quotes: plain",
        |choices| choices.quotes == Quotes::Plain,
        Some("values in quotes, for a reader without look-arounds"),
    ),
    ("lead: content", |choices| choices.after_content, None),
    ("thought: ends at the first mark", |choices| choices.thought_end == ThoughtEnd::FirstMark, None),
    (
        "thought: ends whole or at the first mark",
        |choices| choices.thought_end == ThoughtEnd::WholeOrFirst,
        Some("a mark after reasoning that only an answer follows"),
    ),
    (
        "thought: ends as a turn",
        |choices| choices.thought_end == ThoughtEnd::Turn,
        Some("reasoning in a turn of its own, before a header on a line of its own"),
    ),
    ("stray close: swallowed", |choices| choices.drops_stray, None),
];

thread_local! {
    static WITHOUT: Cell<Option<IsIt>> = const { Cell::new(None) };
    static WITHOUT_READING: Cell<Option<IsReading>> = const { Cell::new(None) };
}

pub(super) fn leaves_out(choices: &Choices) -> bool {
    WITHOUT.get().is_some_and(|is_it| is_it(choices))
}

pub(super) fn leaves_out_reading(reading: Reading) -> bool {
    WITHOUT_READING.get().is_some_and(|is_it| is_it(reading))
}

fn templates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("chat_templates"), root.join("tests/derive")];
    let named = env::var_os("BACKCHAT_ABLATION").expect("BACKCHAT_ABLATION names folders of chat templates");
    folders.extend(env::split_paths(&named));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jinja") && !file.ends_with("runs_forever.jinja"));
    files.sort();
    files
}

/// The part of a derivation that matters to a user: the status and the draft.
fn outcome(source: &str) -> (String, bool) {
    let variables = backchat_core::json::Object::from([("eos_token".to_owned(), "</s>".into())]);
    let options = Options { variables, now: Some("2026-01-01T00:00:00".to_owned()), ..Options::default() };
    let derivation = derive(source, &options);
    let draft = derivation.response_template.as_ref().map(ToString::to_string).unwrap_or_default();
    (format!("{} {draft}", derivation.headline()), !derivation.tried.is_empty())
}

#[test]
#[ignore = "takes minutes, and hundreds of chat templates"]
fn every_alternative_earns_its_place() {
    let files = templates();
    let sources: Vec<(String, String)> = files
        .iter()
        .map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(file).unwrap()))
        .collect();
    // If nothing was refuted, nothing was chosen.
    let searched: Vec<(&str, &str, String)> = sources
        .iter()
        .map(|(name, source)| (name, source, outcome(source)))
        .filter_map(|(name, source, (outcome, searched))| searched.then_some((name.as_str(), source.as_str(), outcome)))
        .collect();
    let changed = || -> Vec<&str> {
        let differ = searched.iter().filter(|(_, source, whole)| outcome(source).0 != *whole);
        differ.map(|(name, ..)| *name).collect()
    };
    let mut rows = Vec::new();
    for (name, is_it, reason) in ALTERNATIVES {
        WITHOUT.set(Some(*is_it));
        rows.push((*name, changed(), *reason));
        WITHOUT.set(None);
    }
    let together = "tokens that only together are a mark, as a role between two signs is";
    let readings: [(_, IsReading, _); 3] = [
        ("marks: spans of words", |reading| reading.segmentation == Segmentation::Spans, Some(together)),
        ("marks: signs", |reading| reading.segmentation == Segmentation::Signs, None),
        ("prompts: aligned", |reading| reading.comparison == Comparison::Aligned, None),
    ];
    for (name, reading, reason) in readings {
        WITHOUT_READING.set(Some(reading));
        rows.push((name, changed(), reason));
        WITHOUT_READING.set(None);
    }
    let mut out = std::io::stdout();
    writeln!(out, "{} templates, {} of them with a search", sources.len(), searched.len()).unwrap();
    for (name, changed, reason) in &rows {
        let rare = if changed.len() < 3 { changed.join(" ") } else { String::new() };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        writeln!(out, "{:4}  {name} {rare}{reason}", changed.len()).unwrap();
    }
    let idle: Vec<_> = rows.iter().filter(|(_, changed, reason)| changed.len() < 2 && reason.is_none()).collect();
    assert!(idle.is_empty(), "{idle:?} change fewer than two templates: take them out, or say what format needs them");
    assert!(rows.iter().filter(|(.., reason)| reason.is_some()).count() <= 8);
}
