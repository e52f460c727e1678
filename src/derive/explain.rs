//! The evidence as a page a person reads, in a pull request for instance.

use std::collections::HashSet;
use std::fmt::Write;

use super::calls::{Beside, Layout};
use super::evidence::{Change, Evidence};
use super::header::PromptEnd;
use super::probe::needle;
use super::report::{Derivation, Status, Story};
use crate::diagnostic::{escape, escape_lines, shortened};
use crate::json::Value;

/// How much of a render an excerpt shows.
const EXCERPT: usize = 240;

impl Derivation {
    /// One line: how far it got.
    pub fn headline(&self) -> String {
        let (passed, cases) = (self.passed, self.cases);
        match self.status {
            Status::Proved => format!("proved: {passed} of {cases} conversations come back as they went in"),
            Status::Partial => format!("partial: {passed} of {cases} conversations come back as they went in"),
            Status::Inexpressible => {
                "inexpressible: calls are written in a form no response template was found for".into()
            }
            Status::Failed => "failed: no draft".to_owned(),
        }
    }

    /// How many of the samples the draft explains, where there are some.
    pub fn samples_line(&self) -> Option<String> {
        let explained = self.samples.saturating_sub(self.unexplained.len());
        (self.samples > 0).then(|| format!("samples: {explained} of {} explained", self.samples))
    }

    /// What the draft reads, a line a part.
    pub fn summary(&self) -> Vec<String> {
        let Some(story) = self.story() else { return Vec::new() };
        let findings = &story.findings;
        let mut lines = Vec::new();
        let mut seen = HashSet::new();
        let headers = findings.turn.headers.iter().filter(|header| seen.insert(&header.text));
        let headers: Vec<String> = headers.map(|header| code(&header.text)).collect();
        lines.push(format!("turn: starts after {}, ends with {}", headers.join(" or "), list(&findings.stops)));
        lines.push(match &findings.reasoning {
            Some(reasoning) => format!(
                "reasoning: {} to {}, {}, into `{}`",
                code(&reasoning.open),
                code(&reasoning.close),
                reasoning.source.name(),
                findings.reasoning_field
            ),
            None => "reasoning: none".to_owned(),
        });
        lines.push(match findings.content.opens.as_slice() {
            [] => "content: what stands outside every mark".to_owned(),
            opens => format!("content: opened by {}", list(opens)),
        });
        lines.push(match &findings.calls {
            Some(calls) => format!(
                "calls: {}, opened by {}, closed by {}{}",
                calls.layout.name(),
                match calls.opening().as_str() {
                    "" => "their own first characters".to_owned(),
                    open => code(open),
                },
                if calls.close.trim().is_empty() {
                    "what ends the turn".to_owned()
                } else {
                    code(&calls.close.trim().replace(needle::NAMES[0], "NAME"))
                },
                if calls.parallel { ", several a turn" } else { ", one a turn" }
            ),
            None => "calls: none".to_owned(),
        });
        lines
    }

    /// The whole evidence as Markdown.
    pub fn explain(&self, name: &str) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_page(&mut page, name);
        page
    }

    fn write_page(&self, page: &mut String, name: &str) -> std::fmt::Result {
        writeln!(page, "# Response template for {}\n", escape(name))?;
        writeln!(page, "{}.\n", capitalised(&self.headline()))?;
        let Some(story) = self.story() else {
            for diagnostic in &self.diagnostics {
                writeln!(page, "- {}", escape(&diagnostic.message))?;
            }
            return Ok(());
        };
        for line in self.summary().into_iter().chain(self.samples_line()) {
            writeln!(page, "- {}", escape(&line))?;
        }
        if let Some(template) = &self.response_template {
            writeln!(page, "\n```json\n{}\n```", escape_lines(&template.to_pretty("  ")))?;
        }
        writeln!(page, "\n## Evidence\n")?;
        writeln!(
            page,
            "Each pair of renders differs in one thing. Positions are bytes of the second render; needles begin with `Qz` \
             or `qz`.\n"
        )?;
        for (finding, title) in SECTIONS {
            section(page, story, finding, title)?;
        }
        prompts(page, story)?;
        arguments(page, story)?;
        writeln!(page, "## Proof\n")?;
        writeln!(
            page,
            "{} renders were looked at. {} conversations, none of them a probe, were rendered, their last turn cut out and \
             parsed back: whole and one character at a time, with the stop token and without. {} came back as they went in.",
            story.renders, self.cases, self.passed
        )?;
        for failure in &story.failures {
            writeln!(page, "\n- {}: {} differs.", failure.case, failure.what)?;
            writeln!(page, "  - text: {}", code(&shortened(&failure.text, EXCERPT)))?;
            writeln!(page, "  - expected: {}", code(&shortened(&failure.expected.to_string(), EXCERPT)))?;
            writeln!(page, "  - got: {}", code(&shortened(&failure.got.to_string(), EXCERPT)))?;
        }
        self.notes(page)?;
        if !story.refused.is_empty() {
            writeln!(page, "\n## Refused probes\n")?;
            writeln!(page, "The template raised on some probes; others took their place ({}).\n", story.manner)?;
            for message in &story.refused {
                writeln!(page, "- {}", code(&shortened(message, EXCERPT)))?;
            }
        }
        Ok(())
    }

    fn notes(&self, page: &mut String) -> std::fmt::Result {
        let mut notes = self.diagnostics.iter().filter(|diagnostic| diagnostic.id != "derive-unproved").peekable();
        if notes.peek().is_some() {
            writeln!(page, "\n## Limits\n")?;
        }
        for note in notes {
            let help = note.help.as_ref().map(|help| format!(" {}.", capitalised(help))).unwrap_or_default();
            writeln!(page, "- {}.{}", escape(&capitalised(&note.message)), escape(&help))?;
        }
        Ok(())
    }
}

const SECTIONS: [(&str, &str); 5] = [
    ("turn", "The turn"),
    ("content", "Content"),
    ("reasoning", "Reasoning"),
    ("tools", "Calls"),
    ("arguments", "Arguments"),
];

fn section(page: &mut String, story: &Story, finding: &str, title: &str) -> std::fmt::Result {
    let found: Vec<&Evidence> = story.evidence.iter().filter(|evidence| evidence.finding == finding).collect();
    if found.is_empty() {
        return Ok(());
    }
    writeln!(page, "### {title}\n")?;
    if finding == "tools"
        && let Some(calls) = &story.findings.calls
    {
        let content = match calls.content {
            Beside::Before => "Content stands before calls.",
            Beside::After => "Content stands after calls.",
            Beside::Dropped => "Content beside calls is dropped.",
        };
        writeln!(page, "{content} Calls are given with {}.\n", calls.manner.describe())?;
    }
    for evidence in found {
        writeln!(page, "- {} → {}", escape(&evidence.without), escape(&evidence.with))?;
        for change in &evidence.changes {
            writeln!(page, "  - {}", shown(change))?;
        }
    }
    writeln!(page)
}

fn shown(change: &Change) -> String {
    let inserted = code(&shortened(&change.inserted, EXCERPT));
    if change.removed.is_empty() {
        format!("at {}: {inserted}", change.at)
    } else if change.inserted.is_empty() {
        format!("at {}: without {}", change.at, code(&shortened(&change.removed, EXCERPT)))
    } else {
        format!("at {}: {inserted} instead of {}", change.at, code(&shortened(&change.removed, EXCERPT)))
    }
}

fn prompts(page: &mut String, story: &Story) -> std::fmt::Result {
    let prompts = &story.findings.turn.prompts;
    let mut rows: Vec<(String, String)> = Vec::new();
    for prompt in prompts {
        // Said once: a history or a setting is worth a row only where it makes a difference.
        let known = |other: &&PromptEnd| {
            let earlier = other.after == prompt.after && other.setting.is_empty() && !prompt.setting.is_empty();
            let elsewhere = prompts.first().is_some_and(|first| other.after == first.after)
                && other.after != prompt.after
                && other.setting == prompt.setting;
            earlier || elsewhere
        };
        if prompts.iter().filter(known).any(|other| other.prefill == prompt.prefill) {
            continue;
        }
        let setting = match prompt.setting.first() {
            Some((name, value)) => format!("`{name}` = {value}"),
            None => "nothing set".to_owned(),
        };
        rows.push((format!("{}, {setting}", prompt.after), prompt.prefill.clone()));
    }
    if rows.iter().all(|(_, prefill)| prefill.is_empty()) {
        return Ok(());
    }
    writeln!(page, "### What the prompt already writes\n")?;
    writeln!(page, "| prompt after | writes |\n|---|---|")?;
    for (what, prefill) in rows {
        let prefill = if prefill.is_empty() { "nothing".to_owned() } else { code(&prefill).replace('|', "\\|") };
        writeln!(page, "| {} | {prefill} |", escape(&what))?;
    }
    writeln!(page)
}

fn arguments(page: &mut String, story: &Story) -> std::fmt::Result {
    let Some(calls) = &story.findings.calls else { return Ok(()) };
    let Layout::Marked { arguments, .. } = &calls.layout else { return Ok(()) };
    let described = arguments.describe();
    let Some(Value::Object(written)) = described.get("written") else { return Ok(()) };
    writeln!(page, "### How each type is written\n")?;
    writeln!(page, "| type | after the key |\n|---|---|")?;
    for (kind, text) in written {
        let text = text.as_str().unwrap_or("");
        writeln!(page, "| {kind} | {} |", code(text).replace('|', "\\|"))?;
    }
    writeln!(page)
}

/// A text as Markdown code on one line.
fn code(text: &str) -> String {
    let text = text.replace('\n', "⏎");
    let shown = escape(&text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{shown}{space}{fence}")
}

fn list(texts: &[String]) -> String {
    if texts.is_empty() {
        return "nothing".to_owned();
    }
    texts.iter().map(|text| code(text)).collect::<Vec<_>>().join(" or ")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
