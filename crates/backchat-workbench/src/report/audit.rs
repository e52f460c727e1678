//! The page of an audit: the causes of problems in a log, each with its smallest output.

use super::html::Html;
use super::page::{Head, Mood, Section, open_link, page};
use crate::audit::{Cause, Counted, Tally};
use backchat_core::json::Value;

/// How much of an output is shown, in characters.
const SHOWN: usize = 20_000;

/// The page of an audit. `by` says what groups are: models or servers. `link` gives a link to the output of a row.
pub fn audit(name: &str, by: &str, tally: &Tally, link: &dyn Fn(&Value) -> Option<String>) -> String {
    let ranked = tally.ranked();
    let share = tally.share(tally.with_problems) * 100.0;
    let (badge, mood) = match tally.with_problems {
        0 => ("no problems".to_owned(), Mood::Good),
        _ => (format!("{share:.2}% with problems"), Mood::Doubtful),
    };
    let line = format!("{} of {} outputs have problems", tally.with_problems, tally.outputs);
    let examples: Vec<(Value, Option<String>)> = ranked
        .iter()
        .map(|(_, counted)| {
            let row = counted.example.value();
            let link = link(&row);
            (row, link)
        })
        .collect();
    let playground = examples.first().and_then(|(_, link)| link.clone());
    let head = Head { title: "Audit", name, badge: (&badge, mood), line: &line, playground };
    let mut sections = vec![Section::new("causes", "Causes", |html| causes(html, tally, &ranked))];
    if tally.groups.len() > 1 {
        sections.push(Section::new("groups", "Outputs with problems", |html| groups(html, by, tally, &ranked)));
    }
    sections.push(Section::new("examples", "Smallest outputs", |html| {
        for (index, ((cause, counted), (row, link))) in ranked.iter().zip(&examples).enumerate() {
            example(html, index, cause, counted.example.line, row);
            link.iter().for_each(|link| html.of_class("p", "", |html| open_link(html, link)));
            html.gap();
        }
    }));
    page(&head, sections)
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn causes(html: &mut Html, tally: &Tally, ranked: &[(&Cause, &Counted)]) {
    html.wide(&["problem", "policies that recover it", "outputs", "share", "at a token limit", ""], |html| {
        for (index, (cause, counted)) in ranked.iter().enumerate() {
            let header = |html: &mut Html| html.tag("code", "", cause.kind.as_str());
            html.row(header, |html| {
                html.tag("td", "", &cause.policy_names().join(", "));
                html.tag("td", "", &counted.outputs.to_string());
                html.tag("td", "", &percent(tally.share(counted.outputs)));
                html.tag("td", "", &counted.cut.to_string());
                html.cell("example", |html| {
                    html.link(&format!("#c{index}"), "smallest output");
                });
            });
        }
    });
}

/// The outputs of each model or server that have each cause.
fn groups(html: &mut Html, by: &str, tally: &Tally, ranked: &[(&Cause, &Counted)]) {
    html.wide(&[by, "problem", "outputs", "share of its outputs"], |html| {
        for (name, all) in tally.ranked_groups() {
            let header = |html: &mut Html| html.text(if name.is_empty() { "(none)" } else { name });
            for (cause, counted) in ranked {
                let Some(outputs) = counted.groups.get(name) else { continue };
                html.row(header, |html| {
                    html.tag("td", "", &cause.to_string());
                    html.tag("td", "", &outputs.to_string());
                    html.tag("td", "", &percent(*outputs as f64 / (all as f64).max(1.0)));
                });
            }
        }
    });
}

fn example(html: &mut Html, index: usize, cause: &Cause, line: u64, row: &Value) {
    html.target(&format!("c{index}"), |html| {
        html.tag("h3", "", &cause.to_string());
        html.tag("p", "", &format!("Line {line} of the log."));
        let text = match row.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => row.get("token_ids").map(ToString::to_string).unwrap_or_default(),
        };
        let shown: String = text.chars().take(SHOWN).collect();
        html.pre(&[("class", "text")], |html| html.lines(&shown));
        if shown.len() < text.len() {
            html.tag("p", "", &format!("The first {SHOWN} characters."));
        }
    });
}
