//! The comparison of two chat templates as text.

use super::changes::{Entry, entry, hunk_lines, title_line};
use super::conversation::conversation_line;
use super::lines::{COLUMNS, MOST_CHANGES, fitted, labelled, plain, thousands, visible, wrapped};
use super::markdown::{MOST_MARKDOWN, cell, fenced, section};
use crate::kinds::Dim;
use crate::search::{Coverage, Idle};
use crate::side::Outcome;
use crate::templates::{Change, ChatDiff, Drafts, LineHunk, Touched, Verdict, is_proved};
use backchat_core::diagnostic::{counted, escape};
use backchat_core::json::Value;
use backchat_derive::derive::Held;

/// Lines of a screen.
const SCREEN: usize = 24;

/// Of how many untaken branches the text says why they were not taken.
const MOST_REASONS: usize = 2;

/// How many filters that changed nothing are named, or how many more there are.
const MOST_IDLE: usize = 3;

/// How many facts are listed.
const MOST_FACTS: usize = 4;

/// Areas of conversations, and the dimensions of each.
const AREAS: [(&str, &[Dim]); 9] = [
    ("prompt", &[Dim::Prompt]),
    ("answers", &[Dim::Answer, Dim::AssistantEmpty, Dim::AssistantSpaces, Dim::AssistantLines]),
    ("reasoning", &[Dim::ReasoningContent, Dim::Thinking, Dim::Reasoning, Dim::InlineThink, Dim::EmptyReasoning]),
    (
        "calls",
        &[Dim::Call, Dim::SecondCall, Dim::TextArguments, Dim::TwoArguments, Dim::NumberArgument, Dim::BoolArgument],
    ),
    ("results", &[Dim::Result, Dim::SecondResult, Dim::AfterResult, Dim::ToolObject]),
    ("history", &[Dim::LaterUser, Dim::SecondAnswer, Dim::ThirdTurn]),
    ("roles", &[Dim::System, Dim::Developer, Dim::LateSystem, Dim::OtherRole]),
    ("tools offered", &[Dim::Tools, Dim::EmptyTools, Dim::NestedTools]),
    ("parts", &[Dim::UserParts, Dim::SystemParts, Dim::AssistantParts, Dim::ToolParts]),
];

impl ChatDiff {
    /// The first line: the verdict, and what differs.
    pub fn headline(&self) -> String {
        let branches = match self.coverage.iter().all(|side| side.not_taken.is_empty()) {
            true => "every branch of both was taken".to_owned(),
            false => {
                let [old, new] = &self.coverage;
                format!("{} of {} branches were taken", old.taken + new.taken, old.all + new.all)
            }
        };
        match self.verdict {
            Verdict::Same if self.is_proved => {
                "same, proved: the two differ in names, comments and white space only".to_owned()
            }
            Verdict::Same => format!("same on {} conversations: {branches}", thousands(self.conversations)),
            Verdict::Undecided => format!(
                "undecided: same on {} conversations, but {}",
                thousands(self.conversations),
                self.what_was_not_seen()
            ),
            Verdict::Differs => {
                let summaries: Vec<&str> = self.changes.iter().map(|change| change.summary.as_str()).collect();
                let ways = counted(self.changes.len(), "way");
                fitted(&format!("differs in {ways}: {}", visible(&summaries.join("; "))), COLUMNS)
            }
        }
    }

    /// The parts of the edit that did not run, and its filters that changed nothing.
    fn what_was_not_seen(&self) -> String {
        let not_run = self.lines_that_did_not_run();
        let not_run = (!not_run.is_empty()).then(|| format!("{not_run} did not run"));
        let [old, new] = &self.idle;
        let named = |idle: &[Idle], side: &str| {
            let shown = idle.iter().map(|one| format!("`{}` on line {} ({side})", one.name, one.line));
            shown.collect::<Vec<_>>()
        };
        let mut idle = [named(new, "new"), named(old, "old")].concat();
        if idle.len() > MOST_IDLE {
            let more = idle.len() - (MOST_IDLE - 1);
            idle.truncate(MOST_IDLE - 1);
            idle.push(format!("{more} more"));
        }
        let idle = (!idle.is_empty()).then(|| format!("{} had nothing to change", idle.join(" and ")));
        not_run.into_iter().chain(idle).collect::<Vec<_>>().join(", and ")
    }

    fn lines_that_did_not_run(&self) -> String {
        let [old, new] = &self.touched;
        let named = |lines: &[usize], side: &str| {
            let shown: Vec<String> = lines.iter().take(4).map(usize::to_string).collect();
            let more = if lines.len() > 4 { ", …" } else { "" };
            let word = if lines.len() == 1 { "line" } else { "lines" };
            (!lines.is_empty()).then(|| format!("{word} {}{more} ({side})", shown.join(", ")))
        };
        [named(new, "new"), named(old, "old")].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// The comparison for a terminal of 80 columns, with escapes for everything that could affect it.
    pub fn text(&self) -> String {
        let notes = self.notes();
        let mut lines = wrapped(&self.headline());
        if !self.changes.is_empty() {
            lines.push(String::new());
        }
        let between = usize::from(!notes.is_empty());
        let mut room = SCREEN.saturating_sub(lines.len() + between + notes.len());
        let mut listed = self.changes.len().min(MOST_CHANGES);
        if self.changes.len() > listed.min(room) {
            listed = listed.min(room.saturating_sub(1));
            room = room.saturating_sub(1);
        }
        let mut entries: Vec<Entry> = Vec::new();
        for (at, change) in self.changes.iter().take(listed).enumerate() {
            // Those after it take a line each.
            let least = listed - at - 1;
            let mut whole = entry(at + 1, change);
            let mut shown = whole.after(&entries);
            if shown.len() + least > room {
                shown = vec![title_line(at + 1, change)];
                whole.body.clear();
            }
            room = room.saturating_sub(shown.len());
            lines.extend(shown);
            entries.push(whole);
        }
        if self.changes.len() > listed {
            lines.push(format!("   and {} more: `--explain` lists all", self.changes.len() - listed));
        }
        lines.extend(std::iter::repeat_n(String::new(), between));
        lines.extend(notes);
        lines.join("\n") + "\n"
    }

    /// The lines after the changes: those that say something.
    fn notes(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.verdict == Verdict::Differs {
            let is_kept = |dims: &[Dim]| dims.iter().all(|dim| self.unchanged.contains(dim));
            let kept: Vec<&str> = AREAS.iter().filter(|(_, dims)| is_kept(dims)).map(|(area, _)| *area).collect();
            let is_general = self.changes.iter().any(|change| change.touches.contains(&Touched::Prompt));
            if !kept.is_empty() && !is_general {
                lines.extend(labelled("unchanged", &kept.join(", ")));
            }
        }
        for token in &self.tokens {
            let [old, new] = [&token.old, &token.new].map(|value| visible(&value.to_string()));
            lines.push(fitted(&format!("{:<11}{}: {old} → {new}", "tokens", token.fact), COLUMNS));
        }
        for token in &self.token_ids {
            let [old, new] = [&token.old, &token.new].map(|id| match id {
                Value::Null => "no single token".to_owned(),
                id => format!("id {id}"),
            });
            lines.push(fitted(&format!("{:<11}{}: {old} → {new}", "tokens", visible(&token.fact)), COLUMNS));
        }
        let [old, new] = &self.turn;
        for (label, one, other) in [("prompt", &old.prompt, &new.prompt), ("turn ends", &old.end, &new.end)] {
            if one != other {
                let (one, other) = (visible(&plain(one)), visible(&plain(other)));
                lines.push(fitted(&format!("{label:<11}`{one}` → `{other}`"), COLUMNS));
            }
        }
        let (prefix, facts): (Vec<_>, Vec<_>) = self.facts.iter().partition(|fact| fact.fact.starts_with("prefix_"));
        for (label, facts) in [("facts", facts), ("prefix", prefix)] {
            for (at, fact) in facts.iter().take(MOST_FACTS).enumerate() {
                let label = if at == 0 { label } else { "" };
                let [old, new] = [&fact.old, &fact.new].map(fact_word);
                lines.push(fitted(&format!("{label:<11}{}: {old} → {new}", fact.fact), COLUMNS));
            }
            if facts.len() > MOST_FACTS {
                lines.push(format!("{:<11}and {} more", "", facts.len() - MOST_FACTS));
            }
        }
        if let Some(drafts) = &self.drafts {
            lines.extend(labelled("draft", &draft_words(drafts)));
        }
        if let Some(shared) = self.shared_bytes.filter(|_| self.verdict == Verdict::Differs) {
            let text = format!("a prompt whose history has an answer shares {shared} bytes with one cached before");
            lines.extend(labelled("cache", &text));
        }
        if !self.is_proved
            && (self.verdict != Verdict::Same || self.coverage.iter().any(|side| !side.not_taken.is_empty()))
        {
            lines.extend(labelled("covered", &self.covered()));
        }
        if let Some(why) = self.ended {
            lines.extend(labelled("ended", &format!("early: {why}")));
        }
        lines
    }

    fn covered(&self) -> String {
        let [old, new] = &self.coverage;
        if old.not_taken.is_empty() && new.not_taken.is_empty() {
            return "every branch of both was taken".to_owned();
        }
        if old.not_taken.len() + new.not_taken.len() <= MOST_REASONS {
            let of = |coverage: &Coverage, side: &str| {
                let named = coverage.not_taken.iter();
                named.map(|untaken| format!("line {} ({side}): {}", untaken.line, untaken.why)).collect::<Vec<_>>()
            };
            return format!("every branch but for {}", [of(new, "new"), of(old, "old")].concat().join("; "));
        }
        let side = |taken: &Coverage, name: &str| {
            let lines: Vec<String> = taken.not_taken.iter().take(5).map(|untaken| untaken.line.to_string()).collect();
            let more = if taken.not_taken.len() > 5 { ", …" } else { "" };
            let word = if taken.not_taken.len() == 1 { "line" } else { "lines" };
            let but = format!(" but for {word} {}{more}", lines.join(", "));
            let but = if taken.not_taken.is_empty() { String::new() } else { but };
            format!("{name} {} of {} branches{but}", taken.taken, taken.all)
        };
        format!("{}; {}", side(old, "old"), side(new, "new"))
    }

    /// A change as a whole: every case, both renders, and the lines that print what differs.
    pub fn explained(&self, number: usize) -> Option<String> {
        let change = self.changes.get(number.checked_sub(1)?)?;
        let mut out = entry(number, change).after(&[]).join("\n") + "\n";
        for hunk in change.hunks.iter().skip(1) {
            out += &(hunk_lines(change, hunk).join("\n") + "\n");
        }
        out += &self.code(change);
        for case in &change.cases {
            let always = if case.is_special { "certain texts or values" } else { "always" };
            let dims = if case.dims.is_empty() { always.to_owned() } else { visible(&case.dims.join(", ")) };
            out += &format!("\n{dims}\n");
            out += &format!("  {}\n", conversation_line(&case.conversation));
        }
        let case = change.cases.first()?;
        out +=
            &format!("\ncontext {}\n", escape(&plain(&Value::Object(case.conversation.context.clone()).to_string())));
        for (name, outcome) in ["old", "new"].into_iter().zip(&case.outcomes) {
            let text = match outcome {
                Outcome::Text { text, .. } => backchat_core::diagnostic::escape_lines(&plain(text)).into_owned(),
                Outcome::Refused(message) => format!("refused: {}", visible(message)),
            };
            out += &format!("\n--- {name}\n{text}\n");
        }
        Some(out)
    }

    /// The lines of the templates that print what differs, with their code.
    fn code(&self, change: &Change) -> String {
        let mut out = String::new();
        for (at, (side, source)) in ["old", "new"].into_iter().zip(&self.sources).enumerate() {
            let of_hunk = |hunk: &LineHunk| if at == 0 { hunk.old_lines.clone() } else { hunk.new_lines.clone() };
            let mut numbers: Vec<usize> = change.hunks.iter().flat_map(of_hunk).collect();
            numbers.sort_unstable();
            numbers.dedup();
            for number in numbers {
                let code = source.lines().nth(number - 1).unwrap_or_default().trim();
                out += &format!("\n{side} line {number}: {}", fitted(&visible(code), 160));
            }
        }
        if out.is_empty() { out } else { out + "\n" }
    }

    /// The comparison as Markdown, for a comment on a pull request: the verdict, a table of changes, and each case.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n", cell(&self.headline()));
        if !self.changes.is_empty() {
            out += "\n| | what | for whom |\n|---|---|---|\n";
        }
        for (at, change) in self.changes.iter().enumerate().take(40) {
            out += &format!("| {} | {} | {} |\n", at + 1, change.what.name(), cell(&change.summary));
        }
        for (at, _) in self.changes.iter().enumerate() {
            let Some(explained) = self.explained(at + 1) else { continue };
            let section = section(at + 1, &explained);
            if out.len() + section.len() > MOST_MARKDOWN {
                out += &format!("\n{} more changes are left out here.\n", self.changes.len() - at);
                break;
            }
            out += &section;
        }
        let notes = self.notes();
        if !notes.is_empty() && out.len() < MOST_MARKDOWN {
            out += &format!("\n{}", fenced(&(notes.join("\n") + "\n")));
        }
        out
    }
}

fn fact_word(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "does not apply".to_owned(),
        other => fitted(&visible(&plain(&other.to_string())), 30),
    }
}

/// Which response templates there are, and what each reads.
fn draft_words(drafts: &Drafts) -> String {
    let [of_old, of_new] = &drafts.reads;
    let what = match &drafts.templates {
        [None, None] => "none can be derived of either",
        [Some(_), None] => "none can be derived of the new one",
        [None, Some(_)] => "none could be derived of the old one",
        _ if drafts.is_same() => {
            let subject = if drafts.are_given { "the response template" } else { "the same for both, and" };
            return format!("{subject} {}", reads(of_old));
        }
        _ => "another one",
    };
    let lost = |held: &Option<Held>, own: &Option<Held>, words: &str| {
        let misread = held.as_ref().filter(|held| !is_proved(held) && own.as_ref().is_none_or(is_proved));
        misread.map(|held| format!("; the {words} renders{}", example(held)))
    };
    let old_on_new = lost(&of_old[1], &of_old[0], "old one misreads new");
    let new_on_old = lost(&of_new[0], &of_new[1], "new one misreads old");
    let both = of_old.iter().chain(of_new).all(|held| held.as_ref().is_some_and(is_proved));
    let both = if both { ", and each reads the renders of both" } else { "" };
    format!("{what}{both}{}{}", old_on_new.unwrap_or_default(), new_on_old.unwrap_or_default())
}

/// What one response template reads of the old renders and the new ones.
fn reads([old, new]: &[Option<Held>; 2]) -> String {
    let misread = |held: &Option<Held>| held.as_ref().filter(|held| !is_proved(held)).map(example);
    match (misread(old), misread(new)) {
        (None, None) => "reads the renders of both".to_owned(),
        (None, Some(example)) => format!("misreads new renders{example}"),
        (Some(example), None) => format!("misreads old renders{example}"),
        (Some(_), Some(example)) => format!("misreads renders of both{example}"),
    }
}

/// The shortest text that is misread.
fn example(held: &Held) -> String {
    let shown = |text: &String| format!(": `{}`", fitted(&visible(&plain(text)), 40));
    held.misread.as_ref().map(shown).unwrap_or_default()
}
