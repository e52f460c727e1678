//! The page of a comparison: each change with both renders side by side, and the two templates with their lines marked.

use std::ops::Range;

use super::html::Html;
use super::page::{Head, Mood, Section, page};
use super::sides::{Piece, columns};
use backchat_core::diagnostic::{counted, shortened};
use backchat_core::json::Value;
use backchat_diff::{Case, Change, ChatDiff, Coverage, ModelDiff, Outcome, Parsed, ResponseDiff, Verdict};
use backchat_probe::diff::{DiffTag, lines, operations};

/// How many characters of a render are compared on the page.
const LONGEST: usize = 20_000;

/// The two sides of a comparison, as the page shows them.
pub struct Compared<'p> {
    /// Their names.
    pub names: [&'p str; 2],
    /// The sources of their chat templates, if both have one.
    pub sources: Option<[&'p str; 2]>,
    pub diff: &'p ModelDiff,
}

/// The page of a comparison.
pub fn diff(compared: &Compared<'_>) -> String {
    let verdict = compared.diff.verdict();
    let mood = match verdict {
        Verdict::Same => Mood::Good,
        Verdict::Undecided => Mood::Doubtful,
        Verdict::Differs => Mood::Bad,
    };
    let [old, new] = compared.names;
    let name = format!("{old} → {new}");
    let lines: Vec<String> = [
        compared.diff.chat.as_ref().map(ChatDiff::headline),
        compared.diff.response.as_ref().map(ResponseDiff::headline),
    ]
    .into_iter()
    .flatten()
    .collect();
    let line = lines.join("; ");
    let head = Head { title: "Diff", name: &name, badge: (verdict.name(), mood), line: &line, playground: None };
    let mut sections = Vec::new();
    if let Some(chat) = &compared.diff.chat {
        sections.push(Section::new("changes", "Changes", |html| changes(html, chat)));
        if let Some(sources) = compared.sources {
            sections.push(Section::new("templates", "Templates", move |html| templates(html, chat, sources)));
        }
    }
    if let Some(response) = &compared.diff.response {
        sections.push(Section::new("response", "Response templates", |html| parses(html, response)));
    }
    page(&head, sections)
}

fn changes(html: &mut Html, chat: &ChatDiff) {
    for (index, change) in chat.changes.iter().enumerate() {
        html.target(&format!("d{}", index + 1), |html| {
            html.folded(
                index < 3,
                |html| html.text(&format!("{} · {}", index + 1, change.summary)),
                |html| {
                    of_change(html, change);
                },
            );
        });
        html.gap();
    }
    for fact in &chat.facts {
        html.tag("p", "", &format!("{}: {} → {}", fact.fact, fact.old, fact.new));
    }
}

fn of_change(html: &mut Html, change: &Change) {
    if let Some(case) = change.cases.first() {
        sides(html, ["old", "new"], [shown(&case.outcomes[0]), shown(&case.outcomes[1])]);
        html.figure("the conversation", |html| {
            html.pre(&[("class", "text json")], |html| {
                html.lines(&shortened(&Value::Object(case.conversation.context.clone()).to_pretty("  "), LONGEST));
            });
        });
    }
    let dims = |case: &Case| match case.dims.is_empty() {
        true => "always".to_owned(),
        false => case.dims.join(", "),
    };
    html.tag(
        "p",
        "",
        &format!(
            "{}: {}",
            counted(change.cases.len(), "case"),
            change.cases.iter().map(dims).collect::<Vec<_>>().join("; ")
        ),
    );
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Text { text, .. } => shortened(text, LONGEST).into_owned(),
        Outcome::Refused(message) => format!("refused: {message}"),
    }
}

/// Two texts side by side, with the characters that differ marked.
fn sides(html: &mut Html, titles: [&str; 2], [old, new]: [String; 2]) {
    let words = |text: &str| -> Vec<String> {
        text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let (one, other) = (words(&old), words(&new));
    let (x, y): (Vec<&str>, Vec<&str>) =
        (one.iter().map(String::as_str).collect(), other.iter().map(String::as_str).collect());
    let parts: Vec<(DiffTag, String, String)> = operations(&x, &y)
        .into_iter()
        .map(|op| {
            let joined =
                |words: &[&str], range| words.get::<std::ops::Range<usize>>(range).unwrap_or_default().concat();
            (op.tag(), joined(&x, op.old_range()), joined(&y, op.new_range()))
        })
        .collect();
    let mut pieces = Vec::new();
    for (tag, first, second) in &parts {
        if *tag == DiffTag::Equal {
            pieces.push(Piece::Same(first));
        } else {
            pieces.extend((!first.is_empty()).then_some(Piece::First(first)));
            pieces.extend((!second.is_empty()).then_some(Piece::Second(second)));
        }
    }
    columns(html, titles, &pieces);
}

fn templates(html: &mut Html, chat: &ChatDiff, [old, new]: [&str; 2]) {
    for (name, coverage) in ["old", "new"].into_iter().zip(&chat.coverage) {
        html.tag("p", "", &format!("{name}: {} of {} branches were taken", coverage.taken, coverage.all));
    }
    let (lines, others) = (lines(old), lines(new));
    let mut touched: [Vec<Range<usize>>; 2] = Default::default();
    for op in operations(&lines, &others).into_iter().filter(|op| op.tag() != DiffTag::Equal) {
        touched[0].push(op.old_range());
        touched[1].push(op.new_range());
    }
    let [old, new] = touched;
    source(html, "old", &Marked { lines: &lines, touched: &old, class: "del", coverage: &chat.coverage[0] });
    source(html, "new", &Marked { lines: &others, touched: &new, class: "ins", coverage: &chat.coverage[1] });
}

/// The source of a chat template with what is marked in it.
struct Marked<'s> {
    lines: &'s [&'s str],
    /// The lines that the edit touches, from 0.
    touched: &'s [Range<usize>],
    class: &'static str,
    coverage: &'s Coverage,
}

/// A chat template line by line: those that the edit touches, and those with a branch that no conversation took.
fn source(html: &mut Html, name: &str, marked: &Marked<'_>) {
    let title = format!("the {name} chat template");
    html.folded(
        true,
        |html| html.text(&title),
        |html| {
            html.wide(&["line", name, "not taken"], |html| {
                for (at, line) in marked.lines.iter().enumerate() {
                    let is_touched = marked.touched.iter().any(|range| range.contains(&at));
                    let untaken = marked.coverage.not_taken.iter().find(|untaken| untaken.line == at + 1);
                    html.row(
                        |html| html.text(&(at + 1).to_string()),
                        |html| {
                            html.cell(name, |html| {
                                let class = if is_touched { marked.class } else { "" };
                                html.of_class("code", class, |html| html.lines(line.trim_end_matches(['\r', '\n'])));
                            });
                            html.cell("not taken", |html| {
                                html.tag("span", "doubtful", untaken.map_or("", |untaken| untaken.why));
                            });
                        },
                    );
                }
            });
        },
    );
}

fn parses(html: &mut Html, response: &ResponseDiff) {
    let parsed = |parsed: &Parsed| match parsed {
        Parsed::Message(message) => Value::Object(message.clone()),
        Parsed::Error(message) => message.as_str().into(),
    };
    for change in &response.changes {
        html.tag("p", "", &format!("{}: {}", change.fields.join(" and "), shortened(&change.text, 400)));
        let [old, new] = &change.parsed;
        super::sides::values(html, ["old", "new"], &parsed(old), &parsed(new));
        html.gap();
    }
}
