//! What the tests of pages share: making one with the real command, and reading its markup.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{backchat_in, empty_folder};

pub use crate::support::root;

/// A template whose every field shows something: text, a list of calls, text outside every mark.
pub const TEMPLATE: &str = r#"{
  "start_anchor": "<bot>",
  "defaults": {"role": "assistant"},
  "fields": {
    "thought": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
    "content": {"close": "<stop>"}
  }
}
"#;

/// A folder of a test's own, with the template in it.
pub fn folder(name: &str) -> PathBuf {
    let folder = empty_folder(&format!("report/{name}"));
    fs::write(folder.join("template.json"), TEMPLATE).unwrap();
    fs::write(folder.join("prompt.txt"), "<user>Is 1 < 2?<bot>").unwrap();
    folder
}

pub fn backchat(folder: &Path, arguments: &[&str]) -> Output {
    backchat_in(folder, arguments, "")
}

/// The page that a command writes.
pub fn page(folder: &Path, arguments: &[&str]) -> String {
    let file = folder.join("page.html");
    let _ = fs::remove_file(&file);
    let output = backchat(folder, &[arguments, &["--report", "page.html"]].concat());
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{output:?}"))
}

/// The page of an output that the template reads.
pub fn replayed(folder: &Path, output: &str) -> String {
    fs::write(folder.join("output.txt"), output).unwrap();
    page(folder, &["replay", "template.json", "output.txt", "--prefix", "prompt.txt"])
}

/// A piece of markup.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Start { tag: String, attributes: Vec<(String, String)> },
    End(String),
    Text(String),
}

/// What has no end tag.
const VOID: [&str; 3] = ["!doctype", "meta", "input"];

/// Takes markup apart, strictly: panics where a browser would have to guess.
pub fn pieces(markup: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = markup;
    while let Some(at) = rest.find('<') {
        if at > 0 {
            pieces.push(Piece::Text(unescaped(&rest[..at])));
        }
        let end = at + rest[at..].find('>').expect("a tag ends");
        let inside = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(tag) = inside.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(tag), "tags nest");
            pieces.push(Piece::End(tag.to_owned()));
            continue;
        }
        let (tag, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        assert!(tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '!'), "a tag is a name: {tag:?}");
        let attributes = if tag == "!doctype" { Vec::new() } else { self::attributes(attributes) };
        pieces.push(Piece::Start { tag: tag.to_owned(), attributes });
        if !VOID.contains(&tag) {
            open.push(tag.to_owned());
        }
        // The contents of these two are not markup.
        if ["script", "style"].contains(&tag) {
            let end = rest.find("</").unwrap();
            pieces.push(Piece::Text(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    assert!(open.is_empty(), "every element ends: {open:?}");
    pieces
}

fn attributes(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = text.split_once("=\"") {
        let (value, rest) = rest.split_once('"').expect("a value is quoted");
        found.push((name.trim().to_owned(), unescaped(value)));
        text = rest;
    }
    assert_eq!(text.trim(), "");
    found
}

/// A text as a browser shows it.
pub fn unescaped(text: &str) -> String {
    for (_, rest) in text.match_indices('&').map(|(at, _)| text.split_at(at)) {
        assert!(["&lt;", "&gt;", "&amp;", "&quot;"].iter().any(|known| rest.starts_with(known)), "{rest:.20}");
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The whole text that a page shows, its script's data left out.
pub fn shown(markup: &str) -> String {
    let mut hidden = false;
    let mut text = String::new();
    for piece in pieces(markup) {
        match piece {
            Piece::Start { tag, .. } => hidden = ["script", "style"].contains(&tag.as_str()),
            Piece::End(_) => hidden = false,
            Piece::Text(piece) if !hidden => text.push_str(&piece),
            Piece::Text(_) => {}
        }
    }
    text
}

/// A page in few lines: its headings, what each list, table and summary says, and how long its texts are.
pub fn outline(markup: &str) -> String {
    const LINES: [&str; 11] = ["title", "h1", "h2", "h3", "p", "li", "tr", "summary", "figcaption", "caption", "pre"];
    let mut out = String::new();
    let mut line: Option<(String, String)> = None;
    let mut hidden = false;
    for piece in pieces(markup) {
        match piece {
            Piece::Start { tag, .. } if LINES.contains(&tag.as_str()) => {
                // A paragraph inside an item or a cell is part of it.
                match &mut line {
                    Some((_, text)) if tag == "p" => text.push(' '),
                    _ => line = Some((tag, String::new())),
                }
            }
            Piece::Start { tag, attributes } => {
                hidden = ["script", "style"].contains(&tag.as_str());
                let class = attributes.iter().find(|(name, _)| name == "class").map(|(_, class)| class.as_str());
                if let Some((_, text)) = &mut line {
                    match tag.as_str() {
                        "td" | "th" if !text.is_empty() => text.push_str(" | "),
                        "del" => text.push_str("[-"),
                        "ins" => text.push_str("[+"),
                        "span" if class.is_some_and(|class| class.starts_with("f ")) => text.push('‹'),
                        _ => {}
                    }
                }
            }
            Piece::End(tag) => {
                hidden = false;
                match (&mut line, tag.as_str()) {
                    (Some((open, text)), _) if *open == tag => {
                        out.push_str(&format!("{open:<10} {}\n", text.trim().replace('\n', "⏎")));
                        line = None;
                    }
                    (Some((_, text)), "del" | "ins") => text.push(']'),
                    (Some((_, text)), "span") if text.matches('‹').count() > text.matches('›').count() => {
                        text.push('›')
                    }
                    _ => {}
                }
            }
            Piece::Text(text) => {
                if let (Some((_, line)), false) = (&mut line, hidden) {
                    line.push_str(&text);
                }
            }
        }
    }
    out
}
