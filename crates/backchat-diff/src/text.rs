//! A comparison as text for a terminal of 80 columns: the verdict first, one screen, white space visible, nothing that
//! could affect the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::kinds::{Conversation, Dim};
use crate::pieces::tokens;
use crate::response::{ParseChange, Parsed, ResponseDiff};
use crate::search::Coverage;
use crate::side::Outcome;
use crate::templates::{Change, ChatDiff, Drafts, LineHunk, Touched, Verdict, What};
use backchat_core::diagnostic::{counted, escape};
use backchat_core::json::{Object, Value};
use backchat_core::python::text::is_word;

/// Columns of a line.
const COLUMNS: usize = 80;

/// Lines of a screen.
const SCREEN: usize = 30;

/// How many changes are listed; those of response templates may take so many lines together.
const MOST_CHANGES: usize = 12;
const LINES: usize = 15;

/// How many facts are listed.
const MOST_FACTS: usize = 4;

/// How many characters around a hunk are shown at most.
const AROUND: usize = 24;

/// What the words of conversations are shown as.
const WORDS: [(&str, &str); 24] = [
    ("zqu1", "hi"),
    ("zqu2", "go on"),
    ("zqu3", "and then?"),
    ("zqa1", "yes"),
    ("zqa2", "sure"),
    ("zqa3", "done"),
    ("zqa9", "all right"),
    ("zqr1", "so"),
    ("zqr2", "hm"),
    ("zqr3", "ah"),
    ("zqr9", "aha"),
    ("zqi1", "so"),
    ("zqi2", "hm"),
    ("zqi3", "ah"),
    ("zqi9", "aha"),
    ("zqs", "be kind"),
    ("zqd", "brief"),
    ("zql", "stop"),
    ("zqo", "once"),
    ("zqt1", "22"),
    ("zqt2", "8"),
    ("zqc1", "Oslo"),
    ("zqc2", "Rome"),
    ("zqn", "Ann"),
];

/// A text with ordinary words in the place of the made ones.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("zq") {
        let (before, from) = (rest.get(..at).unwrap_or_default(), rest.get(at..).unwrap_or_default());
        let end = from.find(|c| !is_word(c)).unwrap_or(from.len());
        // Two made words may be printed without anything between them.
        let end = from.get(2..end).and_then(|inside| inside.find("zq")).map_or(end, |next| next + 2);
        let (word, after) = from.split_at(end);
        out.push_str(before);
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, shown)) => out.push_str(shown),
            None => out.push_str(word.strip_prefix("zq").filter(|rest| !rest.is_empty()).unwrap_or("x")),
        }
        rest = after;
    }
    out + rest
}

/// A text in one line: line breaks and tabs as signs, everything else that moves a cursor escaped.
fn visible(text: &str) -> String {
    escape(&text.replace('\n', "⏎").replace('\t', "⇥")).into_owned()
}

/// The beginning of a text that takes at most so many columns.
fn fitted(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        out.push(c);
    }
    out + "…"
}

/// A conversation in one line.
pub(crate) fn conversation_line(conversation: &Conversation) -> String {
    let messages = conversation.messages().iter().filter_map(Value::as_object).map(message);
    let shown: Vec<String> = messages.collect();
    let skipped = shown.len().saturating_sub(5);
    let mut parts: Vec<String> = match skipped {
        0 => shown,
        _ => {
            let ends = shown.iter().take(2).cloned().chain([format!("… {skipped} more …")]);
            ends.chain(shown.iter().skip(skipped + 2).cloned()).collect()
        }
    };
    let mut line = std::mem::take(&mut parts).join(" → ");
    if let Some(tools) = conversation.context.get("tools").and_then(Value::as_list) {
        line += &format!(", {}", counted(tools.len(), "tool"));
    }
    if let Some(documents) = conversation.context.get("documents").and_then(Value::as_list) {
        line += &format!(", {}", counted(documents.len(), "document"));
    }
    if conversation.context.get("add_generation_prompt").is_some_and(Value::is_truthy) {
        line += ", prompt";
    }
    if let Some(now) = &conversation.now {
        line += &format!(", at {now}");
    }
    let known = ["messages", "tools", "add_generation_prompt", "documents"];
    for (name, value) in conversation.context.iter().filter(|(name, _)| !known.contains(name)) {
        line += &format!(", {name}={}", plain(&value.to_string()));
    }
    visible(&line)
}

fn quoted(text: &str) -> String {
    let shown = plain(text);
    match shown.chars().count() > 40 {
        true => format!("\"{}…\" ({} characters)", shown.chars().take(12).collect::<String>(), text.chars().count()),
        false => format!("\"{shown}\""),
    }
}

/// Keys of messages that have a form of their own, and the ids that connect calls with results.
const SHOWN_KEYS: [&str; 7] =
    ["role", "content", "reasoning_content", "thinking", "reasoning", "tool_calls", "tool_call_id"];

fn message(message: &Object) -> String {
    let mut shown = message.get("role").and_then(Value::as_str).unwrap_or("?").to_owned();
    match message.get("content") {
        Some(Value::String(text)) if !(text.is_empty() && message.contains_key("tool_calls")) => {
            shown += &format!(" {}", quoted(text));
        }
        Some(Value::List(parts)) => {
            let part = |part: &Value| match part.get("text").and_then(Value::as_str) {
                Some(text) => quoted(text),
                None => part.get("type").and_then(Value::as_str).unwrap_or("?").to_owned(),
            };
            shown += &format!(" [{}]", parts.iter().map(part).collect::<Vec<_>>().join(", "));
        }
        Some(Value::Object(object)) => shown += &format!(" {}", plain(&Value::Object(object.clone()).to_string())),
        Some(Value::Null) => shown += " null",
        _ => {}
    }
    for key in ["reasoning_content", "thinking", "reasoning"] {
        if let Some(text) = message.get(key).and_then(Value::as_str) {
            shown += &format!(" (thought {})", quoted(text));
        }
    }
    for call in message.get("tool_calls").and_then(Value::as_list).unwrap_or_default().iter().take(3) {
        let function = call.get("function").unwrap_or(call);
        let name = function.get("name").and_then(Value::as_str).unwrap_or("?");
        let arguments = match function.get("arguments") {
            Some(Value::Object(arguments)) => {
                let arguments =
                    arguments.iter().map(|(key, value)| format!("{}={}", plain(key), plain(&value.to_string())));
                arguments.collect::<Vec<_>>().join(", ")
            }
            Some(Value::String(text)) => quoted(text),
            _ => String::new(),
        };
        shown += &format!(" {name}({arguments})");
    }
    for (key, value) in message.iter().filter(|(key, _)| !SHOWN_KEYS.contains(key)) {
        shown += &format!(" ({key}={})", plain(&value.to_string()));
    }
    shown
}

/// The beginning of a text that has at most so many characters and ends with a whole word or mark.
fn whole_words(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let kept = text.get(..end).unwrap_or_default();
    let ends = tokens(text).into_iter().scan(0, |at, token| {
        *at += token.len();
        Some(*at)
    });
    let last = ends.take_while(|at| *at <= end).last().unwrap_or(0);
    if last == 0 { kept } else { text.get(..last).unwrap_or_default() }
}

/// One side of a hunk, with what is around it, and the line that prints it.
fn side_line(sign: char, text: &str, range: &std::ops::Range<usize>, line: Option<(&str, usize)>) -> String {
    let before: String = text.get(..range.start).unwrap_or_default().chars().rev().take(AROUND).collect();
    let before: String = before.chars().rev().collect();
    // From the last mark before it.
    let from = before.rfind('<').unwrap_or(0);
    let is_whole = before.len() == range.start && from == 0;
    let before = before.get(from..).unwrap_or_default();
    let rest = text.get(range.end..).unwrap_or_default();
    let after = whole_words(rest, AROUND);
    let end = if after.len() < rest.len() { "…" } else { "" };
    let own = text.get(range.clone()).unwrap_or_default();
    let own = match !own.is_empty() && own.chars().all(|c| c == ' ') {
        true => "␣".repeat(own.len()),
        false => own.to_owned(),
    };
    let start = if is_whole { "" } else { "…" };
    let shown = visible(&plain(&format!("{start}{before}{own}{after}{end}")));
    let note = line.map(|(side, line)| format!("{side} line {line}")).unwrap_or_default();
    let room = COLUMNS - 7 - note.len() - 2;
    let shown = fitted(&shown, room);
    match note.is_empty() {
        true => format!("     {sign} {shown}"),
        false => format!("     {sign} {shown}{} {note}", " ".repeat((room + 1).saturating_sub(shown.width()))),
    }
}

fn hunk_lines(change: &Change, hunk: &LineHunk) -> Vec<String> {
    let Some(case) = change.cases.first() else { return Vec::new() };
    let [Some(old), Some(new)] = [case.outcomes[0].text(), case.outcomes[1].text()] else { return Vec::new() };
    let first = |side: &'static str, lines: &[usize]| lines.first().map(|line| (side, *line));
    vec![
        side_line('-', old, &hunk.old, first("old", &hunk.old_lines)),
        side_line('+', new, &hunk.new, first("new", &hunk.new_lines)),
    ]
}

/// A title in at most two lines.
fn titled(title: &str) -> Vec<String> {
    if title.width() <= COLUMNS {
        return vec![title.to_owned()];
    }
    let fits = |end: &usize| title.get(..*end).is_some_and(|start| start.width() <= COLUMNS);
    let end = title.match_indices(' ').map(|(at, _)| at).filter(|at| *at > 3).take_while(fits).last();
    match end.and_then(|end| Some((title.get(..end)?, title.get(end + 1..)?))) {
        Some((first, rest)) => vec![first.to_owned(), fitted(&format!("   {rest}"), COLUMNS)],
        None => vec![fitted(title, COLUMNS)],
    }
}

/// The lines of a change: its title, the conversation, and what differs.
fn change_lines(number: usize, change: &Change, is_whole: bool) -> Vec<String> {
    let title = format!("{number:<2} {}", visible(&change.summary));
    let Some(case) = change.cases.first().filter(|_| is_whole) else { return vec![fitted(&title, COLUMNS)] };
    let mut lines = titled(&title);
    lines.push(fitted(&format!("     {}", conversation_line(&case.conversation)), COLUMNS));
    match (change.what, change.hunks.first()) {
        (What::Text, Some(hunk)) => lines.extend(hunk_lines(change, hunk)),
        (What::Refusal, _) => {
            for (sign, outcome) in ['-', '+'].into_iter().zip(&case.outcomes) {
                let shown = match outcome {
                    Outcome::Refused(message) => format!("refused: {}", visible(message)),
                    Outcome::Text { text, .. } => format!("rendered, {} bytes", text.len()),
                };
                lines.push(fitted(&format!("     {sign} {shown}"), COLUMNS));
            }
        }
        _ => {
            for (sign, outcome) in ['-', '+'].into_iter().zip(&case.outcomes) {
                if let Outcome::Text { spans, .. } = outcome {
                    lines.push(format!("     {sign} {}", counted(spans.len(), "generation block")));
                }
            }
        }
    }
    lines
}

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

fn labelled(label: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + word.width() + 12 > COLUMNS {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    let first = |at: usize| if at == 0 { label } else { "" };
    lines.iter().enumerate().map(|(at, line)| fitted(&format!("{:<11}{line}", first(at)), COLUMNS)).collect()
}

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
                "undecided: same on {} conversations, but {} did not run",
                thousands(self.conversations),
                self.lines_that_did_not_run()
            ),
            Verdict::Differs => {
                let summaries: Vec<&str> = self.changes.iter().map(|change| change.summary.as_str()).collect();
                let ways = counted(self.changes.len(), "way");
                fitted(&format!("differs in {ways}: {}", visible(&summaries.join("; "))), COLUMNS)
            }
        }
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
        for (at, change) in self.changes.iter().take(listed).enumerate() {
            // Those after it take a line each.
            let least = listed - at - 1;
            let whole = change_lines(at + 1, change, true);
            let shown = if whole.len() + least <= room { whole } else { change_lines(at + 1, change, false) };
            room = room.saturating_sub(shown.len());
            lines.extend(shown);
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
        let side = |taken: &Coverage, name: &str| {
            let lines: Vec<String> = taken.not_taken.iter().take(5).map(usize::to_string).collect();
            let more = if taken.not_taken.len() > 5 { ", …" } else { "" };
            let but = format!(" but for lines {}{more}", lines.join(", "));
            let but = if taken.not_taken.is_empty() { String::new() } else { but };
            format!("{name} {} of {} branches{but}", taken.taken, taken.all)
        };
        format!("{}; {}", side(old, "old"), side(new, "new"))
    }

    /// A change as a whole: every case, both renders, and the lines that print what differs.
    pub fn explained(&self, number: usize) -> Option<String> {
        let change = self.changes.get(number.checked_sub(1)?)?;
        let mut out = change_lines(number, change, true).join("\n") + "\n";
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
        out += &format!("\ncontext {}\n", escape(&Value::Object(case.conversation.context.clone()).to_string()));
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
        let cell = |text: &str| visible(text).replace('|', "\\|").replace('`', "'").replace('<', "&lt;");
        let mut out = format!("**{}**\n", cell(&self.headline()));
        if !self.changes.is_empty() {
            out += "\n| | what | for whom |\n|---|---|---|\n";
        }
        for (at, change) in self.changes.iter().enumerate().take(40) {
            out += &format!("| {} | {} | {} |\n", at + 1, change.what.name(), cell(&change.summary));
        }
        for (at, _) in self.changes.iter().enumerate() {
            let Some(explained) = self.explained(at + 1) else { continue };
            let body = explained.replace("```", "'''");
            let section = format!("\n<details><summary>{}</summary>\n\n```text\n{body}```\n\n</details>\n", at + 1);
            if out.len() + section.len() > MOST_MARKDOWN {
                out += &format!("\n{} more changes are left out here.\n", self.changes.len() - at);
                break;
            }
            out += &section;
        }
        let notes = self.notes();
        if !notes.is_empty() && out.len() < MOST_MARKDOWN {
            out += &format!("\n```text\n{}\n```\n", notes.join("\n").replace("```", "'''"));
        }
        out
    }
}

/// Bytes of a Markdown comment; GitHub takes 65,536 characters.
const MOST_MARKDOWN: usize = 50_000;

/// A sentence in lines that fit.
fn wrapped(sentence: &str) -> Vec<String> {
    if sentence.width() <= COLUMNS {
        return vec![sentence.to_owned()];
    }
    labelled("", sentence).into_iter().map(|line| line.trim_start().to_owned()).collect()
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn fact_word(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "does not apply".to_owned(),
        other => fitted(&visible(&plain(&other.to_string())), 30),
    }
}

fn draft_words(drafts: &Drafts) -> String {
    let same = match &drafts.drafts {
        [None, None] => "none can be derived of either",
        [Some(_), None] => "none can be derived of the new one",
        [None, Some(_)] => "none could be derived of the old one",
        _ if drafts.is_same() => "the same for both",
        _ => "another one",
    };
    let reads = match drafts.reads_other {
        [Some(true), Some(true)] => ", and reads the renders of both",
        [Some(false), Some(false)] => "; neither reads the renders of the other",
        [Some(false), _] => "; the old one does not read the new renders",
        [_, Some(false)] => "; the new one does not read the old renders",
        _ => "",
    };
    format!("{same}{reads}")
}

impl ResponseDiff {
    /// The first line: the verdict, and what differs.
    pub fn headline(&self) -> String {
        match self.verdict {
            _ if self.is_proved => "same, proved: the two are one response template".to_owned(),
            Verdict::Differs => {
                let fields: Vec<String> = self.changes.iter().map(|change| change.fields.join(" and ")).collect();
                let ways = counted(self.changes.len(), "way");
                fitted(&format!("differs in {ways}: {}", visible(&fields.join("; "))), COLUMNS)
            }
            Verdict::Undecided => {
                let fields: Vec<String> = self.unfilled.iter().map(|field| format!("`{}`", visible(field))).collect();
                let count = thousands(self.texts);
                fitted(&format!("undecided: none of {count} texts fills {}", fields.join(" and ")), COLUMNS)
            }
            Verdict::Same => format!("same on {} texts", thousands(self.texts)),
        }
    }

    /// The comparison for a terminal of 80 columns, with escapes for everything that could affect it.
    pub fn text(&self) -> String {
        let mut lines = vec![self.headline()];
        if self.verdict == Verdict::Undecided && self.turns == 0 {
            lines.push("`--chat-template SOURCE` compares them on the turns that it writes.".to_owned());
        }
        if !self.changes.is_empty() {
            lines.push(String::new());
        }
        let listed = self.changes.len().min(MOST_CHANGES);
        let whole = LINES.saturating_sub(listed) / 3;
        for (at, change) in self.changes.iter().take(listed).enumerate() {
            lines.extend(parse_lines(at + 1, change, self.turns, at < whole));
        }
        for (side, findings) in ["old", "new"].into_iter().zip(&self.lint) {
            for finding in findings.iter().take(3) {
                lines.push(fitted(&format!("{:<11}only of the {side} one: {}", "lint", visible(finding)), COLUMNS));
            }
        }
        lines.join("\n") + "\n"
    }

    /// A change as a whole.
    pub fn explained(&self, number: usize) -> Option<String> {
        let change = self.changes.get(number.checked_sub(1)?)?;
        let mut out = parse_lines(number, change, self.turns, true).join("\n") + "\n";
        out += &format!("\nafter the prompt `{}`\n", visible(&change.prefix));
        for (sign, parsed) in ['-', '+'].into_iter().zip(&change.parsed) {
            out += &format!("{sign} {}\n", visible(&parsed_words(parsed)));
        }
        Some(out)
    }

    /// The comparison as Markdown.
    pub fn markdown(&self) -> String {
        let cell = |text: &str| visible(text).replace('|', "\\|").replace('`', "'").replace('<', "&lt;");
        let mut out = format!("**{}**\n", cell(&self.headline()));
        for (at, _) in self.changes.iter().enumerate().take(30) {
            let body = self.explained(at + 1).unwrap_or_default().replace("```", "'''");
            let section = format!("\n<details><summary>{}</summary>\n\n```text\n{body}```\n\n</details>\n", at + 1);
            if out.len() + section.len() > MOST_MARKDOWN {
                break;
            }
            out += &section;
        }
        out
    }
}

fn parsed_words(parsed: &Parsed) -> String {
    match parsed {
        Parsed::Message(message) => Value::Object(message.clone()).to_string(),
        Parsed::Error(message) => format!("error: {message}"),
    }
}

fn parse_lines(number: usize, change: &ParseChange, of: usize, is_whole: bool) -> Vec<String> {
    let by = match (of, change.turns, change.is_written) {
        (0, ..) => String::new(),
        (_, 0, false) => " (in no turn of the chat template)".to_owned(),
        (_, 0, true) => " (in turns of the chat template that are cut off)".to_owned(),
        (of, turns, _) => format!(" (in {turns} of {of} turns of the chat template)"),
    };
    let mut lines = vec![fitted(&format!("{number:<2} {}{by}", visible(&change.fields.join(" and "))), COLUMNS)];
    if is_whole {
        lines.push(fitted(&format!("     `{}`", visible(&change.text)), COLUMNS));
        for (sign, words) in ['-', '+'].into_iter().zip(differing_words(change)) {
            lines.push(fitted(&format!("     {sign} {}", visible(&words)), COLUMNS));
        }
    }
    lines
}

/// How many characters are left before the first one in which two messages differ.
const BEFORE: usize = 24;

/// What each makes of the text: the fields that differ, or all beside an error, from a little before the first difference
/// on.
fn differing_words(change: &ParseChange) -> [String; 2] {
    let [old, new] = change.parsed.each_ref().map(|parsed| match parsed {
        Parsed::Message(message) => {
            let is_shown = |key: &str| change.fields.iter().any(|field| field == key || field == "error");
            let fields = message.iter().filter(|(key, _)| is_shown(key));
            Value::Object(fields.map(|(key, value)| (key.to_owned(), value.clone())).collect()).to_string()
        }
        Parsed::Error(_) => parsed_words(parsed),
    });
    let shared = old.chars().zip(new.chars()).take_while(|(one, other)| one == other).count();
    let skipped = shared.saturating_sub(BEFORE);
    let from = |text: &str| match skipped {
        0 => text.to_owned(),
        _ => format!("…{}", text.chars().skip(skipped).collect::<String>()),
    };
    [from(&old), from(&new)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_affects_a_terminal_is_left_and_lines_fit() {
        let hostile = "\u{1b}[31m\u{202e}x\r\n\u{7}".repeat(2_000);
        let shown = fitted(&visible(&hostile), COLUMNS);
        assert!(shown.width() <= COLUMNS, "{shown}");
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown}");
    }

    #[test]
    fn made_words_are_ordinary_ones() {
        assert_eq!(plain("<u>zqu1<e> zqunknown zq"), "<u>hi<e> unknown x");
    }
}
