//! The same diagnostics in every format.

use std::time::Duration;

use backchat::diagnostic::{Diagnostic, Edit, Place, Severity};
use backchat_core::diagnostic::{Case, Format, Sources, Suite, render, render_junit};

const FILE: &str = "models/a b,100%.json";
const TEXT: &str = "{\n  \"opens\": \"é\",\n  \"open\": 1\n}\n";

fn sources() -> Sources {
    Sources::none().with(FILE, TEXT)
}

fn place(part: &str) -> Place {
    let start = TEXT.find(part).unwrap();
    Place::span(TEXT, start..start + part.len()).in_file(FILE)
}

fn diagnostics() -> Vec<Diagnostic> {
    let opens = place("\"opens\"");
    let edit = Edit { span: opens.span.clone().unwrap(), text: "\"open\"".to_owned() };
    vec![
        Diagnostic::error("unknown-key", "unknown key `opens`")
            .at(opens.path("fields.x.opens"))
            .label(place("\"open\""), "the key that stands here already")
            .help("rename it to `open`")
            .fix("rename it to `open`", vec![edit]),
        Diagnostic::warning("hostile", "a\u{1b}]0;title\u{7} <b>&\"quoted\"\r\n::error::injected%0A\u{202e}")
            .at(place("\"é\"").path("$")),
        Diagnostic::new(Severity::Note, "nowhere", "it is about no file"),
    ]
}

#[test]
fn full() {
    insta::assert_snapshot!(render(&diagnostics(), Format::Full, &sources(), false));
}

#[test]
fn full_without_the_text_of_the_file() {
    insta::assert_snapshot!(render(&diagnostics(), Format::Full, &Sources::none(), false));
}

#[test]
fn full_in_color() {
    let colored = render(&diagnostics(), Format::Full, &sources(), true);
    insta::assert_snapshot!(colored.replace('\u{1b}', "␛"));
}

#[test]
fn concise() {
    insta::assert_snapshot!(render(&diagnostics(), Format::Concise, &sources(), false));
}

#[test]
fn json() {
    let json = render(&diagnostics(), Format::Json, &sources(), false);
    let read = backchat::json::read(&json).unwrap();
    assert_eq!(read.get("diagnostics").and_then(|list| list.as_list()).map(<[_]>::len), Some(3));
    insta::assert_snapshot!(json);
}

#[test]
fn github() {
    let commands = render(&diagnostics(), Format::Github, &sources(), false);
    assert_eq!(commands.lines().count(), 3, "a message must not begin a command of its own");
    insta::assert_snapshot!(commands);
}

#[test]
fn junit() {
    insta::assert_snapshot!(render(&diagnostics(), Format::Junit, &sources(), false));
}

#[test]
fn junit_of_cases_that_passed() {
    let passed = Case { name: "whole".to_owned(), time: Some(Duration::from_millis(1234)), diagnostics: Vec::new() };
    let suite = Suite { name: "a.json".to_owned(), cases: vec![passed] };
    insta::assert_snapshot!(render_junit(&[suite]));
}

#[test]
fn sarif() {
    let log = render(&diagnostics(), Format::Sarif, &sources(), false);
    assert!(backchat::json::read(&log).is_ok());
    insta::assert_snapshot!(log);
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!("{}<here>{}", "ä".repeat(50_000), "ö".repeat(50_000));
    let diagnostic = Diagnostic::error("long", "a long line").at(Place::span(&text, 100_000..100_006));
    let sources = Sources::none().with_unnamed(text);
    insta::assert_snapshot!(render(&[diagnostic], Format::Full, &sources, false));
}

#[test]
fn wide_characters_are_underlined_where_they_stand() {
    let text = "日本語 <x> 終";
    let start = text.find("<x>").unwrap();
    let diagnostic = Diagnostic::error("wide", "wide characters").at(Place::span(text, start..start + 3));
    let sources = Sources::none().with_unnamed(text);
    insta::assert_snapshot!(render(&[diagnostic], Format::Full, &sources, false));
}
