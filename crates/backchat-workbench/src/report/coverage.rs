//! The chat template on the page of a derivation: each line with the conversations that run it, and what it prints.

use std::collections::BTreeSet;

use super::html::Html;
use backchat_core::diagnostic::shortened;
use backchat_derive::derive::Coverage;
use backchat_probe::coverage::CoveredLine;

/// How much of a text that a line prints is shown, in characters.
const PRINTED: usize = 160;

pub(super) fn write(html: &mut Html, coverage: &Coverage) {
    html.words("p", "", &coverage.summary());
    html.words(
        "p",
        "p",
        "A number opens the first of the conversations that run the line; ✓ and ✗, the first in which a condition is true or false.",
    );
    let mut opened = BTreeSet::new();
    html.wide(&["line", "chat template", "runs", "conditions"], |html| {
        for (at, line) in coverage.lines.iter().enumerate() {
            row(html, at + 1, line, &mut opened);
        }
    });
    for number in opened {
        let Some(shown) = coverage.conversations.get(number) else { continue };
        html.target(&anchor(number), |html| {
            html.folded(
                false,
                |html| html.text(&shown.name),
                |html| html.pre(&[("class", "text")], |html| html.lines(&shown.text)),
            );
        });
    }
}

fn anchor(number: usize) -> String {
    format!("run{number}")
}

fn row(html: &mut Html, number: usize, line: &CoveredLine, opened: &mut BTreeSet<usize>) {
    let class = if line.has_code && line.run_by.is_empty() { "doubtful" } else { "" };
    let mut link = |html: &mut Html, text: &str, takers: &[usize]| match takers.first() {
        Some(first) => {
            opened.insert(*first);
            html.link(&format!("#{}", anchor(*first)), text);
        }
        None => html.tag("span", "doubtful", text),
    };
    html.row(
        |html| html.text(&number.to_string()),
        |html| {
            html.cell("chat template", |html| {
                html.of_class("code", class, |html| html.lines(&line.text));
                for printed in line.prints.iter().filter(|printed| printed.trim() != line.text.trim()).take(1) {
                    html.of_class("p", "p", |html| {
                        html.text("prints ");
                        html.tag("code", "", &shortened(&printed.replace('\n', "⏎"), PRINTED));
                    });
                }
            });
            html.cell("runs", |html| match (line.has_code, line.run_by.len()) {
                (true, 0) => html.tag("span", "doubtful", "never"),
                (false, 0) => {}
                (_, count) => link(html, &count.to_string(), &line.run_by),
            });
            html.cell("conditions", |html| {
                for condition in line.conditions.iter().filter(|condition| !condition.is_fixed) {
                    html.of_class("p", "", |html| {
                        html.of_class("code", "", |html| html.lines(&condition.text));
                        for (sign, takers) in [(" ✓ ", &condition.holds_in), (" ✗ ", &condition.fails_in)] {
                            let count = if takers.is_empty() { "never".to_owned() } else { takers.len().to_string() };
                            html.text(sign);
                            link(html, &count, takers);
                        }
                    });
                }
            });
        },
    );
}
