//! The board of many chat templates: a row for each, a column for each problem that some of them have, as text and as a
//! page.

use std::fmt::Write as _;

use super::html::Html;
use super::page::{Head, Mood, Section, page};
use backchat_core::diagnostic::{counted, escape};
use backchat_probe::doctor::{Fate, Problem};

/// A chat template on the board: what it makes of each conversation of agents, or why it was not examined.
pub struct BoardRow {
    pub name: String,
    pub found: Result<Vec<(Problem, Fate)>, String>,
}

/// The signs of what goes wrong, the worst first.
const SIGNS: [(Fate, &str, &str); 4] = [
    (Fate::Refused, "R", "refused"),
    (Fate::Dropped, "D", "dropped without an error"),
    (Fate::Printed, "P", "misprinted"),
    (Fate::AsAssistant, "A", "read as the assistant's"),
];

/// The worst of what goes wrong with the conversations of a problem; `None` if none of them applies.
fn worst(found: &[(Problem, Fate)], problem: Problem) -> Option<Fate> {
    let fates = || found.iter().filter(|(known, _)| *known == problem).map(|(_, fate)| *fate);
    let found = SIGNS.into_iter().map(|(fate, ..)| fate).find(|fate| fates().any(|other| other == *fate));
    found.or_else(|| fates().next().map(|_| Fate::Shown))
}

fn sign(fate: Option<Fate>) -> &'static str {
    match fate {
        None => " ",
        Some(fate) => SIGNS.into_iter().find(|(known, ..)| *known == fate).map_or(".", |(_, sign, _)| sign),
    }
}

/// The problems that some template has, those that most have first.
fn columns(rows: &[BoardRow]) -> Vec<(Problem, usize)> {
    let has = |row: &&BoardRow, problem| {
        let fate = row.found.as_ref().ok().and_then(|found| worst(found, problem));
        fate.is_some_and(Fate::is_problem)
    };
    let counts = Problem::ALL.map(|problem| (problem, rows.iter().filter(|row| has(row, problem)).count()));
    let mut found: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found
}

/// How many templates were examined, and how many have no problem.
fn counts(rows: &[BoardRow]) -> (usize, usize) {
    let found = || rows.iter().filter_map(|row| row.found.as_ref().ok());
    (found().count(), found().filter(|found| found.iter().all(|(_, fate)| !fate.is_problem())).count())
}

/// The board as text, safe to print: columns are numbered, and explained below.
pub fn board_text(rows: &[BoardRow]) -> String {
    let columns = columns(rows);
    let width = rows.iter().map(|row| escape(&row.name).chars().count()).max().unwrap_or(0);
    let mut out = format!("{:width$}", "");
    out.extend((1..=columns.len()).map(|number| format!(" {number:>2}")));
    out.push('\n');
    for row in rows {
        let _ = write!(out, "{:width$}", escape(&row.name));
        match &row.found {
            Ok(found) => out.extend(columns.iter().map(|(it, _)| format!("  {}", sign(worst(found, *it))))),
            Err(message) => out.push_str(&format!("  not examined: {}", escape(message))),
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out.push('\n');
    for (number, (problem, count)) in columns.iter().enumerate() {
        let _ = writeln!(out, "{:>2}  {:<18} {count:>4}  {}", number + 1, problem.id(), problem.words());
    }
    let legend: Vec<String> = SIGNS.iter().map(|(_, sign, words)| format!("{sign} {words}")).collect();
    let (examined, healthy) = counts(rows);
    let _ = writeln!(out, "\n{}; . taken; empty: does not apply", legend.join("; "));
    let _ = writeln!(out, "{}, {healthy} without a problem", counted(examined, "chat template"));
    out
}

/// The board as a page.
pub fn board(name: &str, rows: &[BoardRow]) -> String {
    let columns = columns(rows);
    let (examined, healthy) = counts(rows);
    let line = format!("{}; {}", counted(examined, "chat template"), counted(columns.len(), "kind of problem"));
    let badge = format!("{healthy} of {examined} without a problem");
    let mood = if healthy == rows.len() { Mood::Good } else { Mood::Doubtful };
    let head = Head { title: "Chat templates in", name, badge: (&badge, mood), line: &line, playground: None };
    let table = Section::new("board", "Templates and problems", |html| table(html, rows, &columns));
    let legend = Section::new("problems", "Problems", |html| legend(html, &columns));
    page(&head, vec![table, legend])
}

fn table(html: &mut Html, rows: &[BoardRow], columns: &[(Problem, usize)]) {
    html.element("div", &[("data-filter", "Filter the chat templates")], |_| {});
    let titles: Vec<&str> = std::iter::once("chat template").chain(columns.iter().map(|(it, _)| it.id())).collect();
    html.wide(&titles, |html| {
        for row in rows {
            html.row(
                |html| html.text(&row.name),
                |html| {
                    for (problem, _) in columns {
                        html.cell(problem.id(), |html| match &row.found {
                            Ok(found) => mark(html, worst(found, *problem)),
                            Err(message) => html.tag("span", "bad", message),
                        });
                    }
                },
            );
        }
    });
}

fn mark(html: &mut Html, fate: Option<Fate>) {
    let Some(fate) = fate else { return };
    let class = match fate {
        Fate::Refused => "doubtful",
        fate if fate.is_problem() => "bad",
        _ => "good",
    };
    let words = if fate.is_problem() { fate.word().replace('_', " ") } else { "✓".to_owned() };
    html.tag("span", class, &words);
}

fn legend(html: &mut Html, columns: &[(Problem, usize)]) {
    html.wide(&["problem", "templates", "the conversation has"], |html| {
        for (problem, count) in columns {
            html.row(
                |html| html.tag("code", "", problem.id()),
                |html| {
                    html.cell("templates", |html| html.text(&count.to_string()));
                    html.cell("the conversation has", |html| html.text(problem.words()));
                },
            );
        }
    });
}
