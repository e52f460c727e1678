//! A comparison as JSON: every change, case and hunk.

use crate::response::{ParseChange, Parsed, ResponseDiff};
use crate::search::{Coverage, Idle};
use crate::side::Outcome;
use crate::templates::{Case, Change, ChatDiff, Drafts, LineHunk, Turn, is_proved};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::Held;

fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Value {
    Value::List(items.iter().map(value).collect())
}

fn lines(lines: &[usize]) -> Value {
    list(lines, |line| (*line).into())
}

impl ChatDiff {
    /// The comparison as JSON.
    pub fn to_value(&self) -> Value {
        let coverage = |coverage: &Coverage| {
            object([
                ("all", coverage.all.into()),
                ("taken", coverage.taken.into()),
                ("not_taken", list(&coverage.not_taken, |untaken| untaken.line.into())),
            ])
        };
        let [old, new] = &self.coverage;
        let branches = object([("old", coverage(old).into()), ("new", coverage(new).into())]);
        let basis = object([
            ("conversations", self.conversations.into()),
            ("differing", self.differing.into()),
            ("variables", list(&self.variables, |name| name.as_str().into())),
            ("branches", branches.into()),
        ]);
        let [old, new] = &self.turn;
        let fact = |fact: &crate::templates::FactChange| {
            object([("fact", fact.fact.as_str().into()), ("old", fact.old.clone()), ("new", fact.new.clone())]).into()
        };
        let drafts = self.drafts.as_ref().map_or(Value::Null, read);
        let (prefix, facts): (Vec<_>, Vec<_>) =
            self.facts.iter().cloned().partition(|fact| fact.fact.starts_with("prefix_"));
        let masks: Vec<_> = facts
            .iter()
            .filter(|fact| ["generation_blocks", "stop_masked"].contains(&fact.fact.as_str()))
            .cloned()
            .collect();
        let shared = self.shared_bytes.map_or(Value::Null, Value::from);
        let [touched_old, touched_new] = &self.touched;
        let [idle_old, idle_new] = self.idle.each_ref().map(|idle| list(idle, named_on_line));
        Value::Object(object([
            ("version", 1.into()),
            ("kind", "chat_templates".into()),
            ("verdict", self.verdict.name().into()),
            ("proved", self.is_proved.into()),
            ("basis", basis.into()),
            ("changes", list(&self.changes, change)),
            ("unchanged", list(&self.unchanged, |dim| dim.name().into())),
            ("turn", object([("old", turn(old)), ("new", turn(new))]).into()),
            ("facts", list(&self.facts, fact)),
            ("response_template", drafts),
            ("masks", list(&masks, fact)),
            ("prefix", object([("facts", list(&prefix, fact)), ("shared_bytes", shared)]).into()),
            ("tokens", list(&self.tokens, fact)),
            ("token_ids", list(&self.token_ids, fact)),
            ("not_run", object([("old", lines(touched_old)), ("new", lines(touched_new))]).into()),
            ("idle", object([("old", idle_old), ("new", idle_new)]).into()),
        ]))
    }
}

fn named_on_line(idle: &Idle) -> Value {
    object([("line", idle.line.into()), ("name", idle.name.as_str().into())]).into()
}

/// The response templates, and how each reads the renders of both.
fn read(drafts: &Drafts) -> Value {
    let [old, new] = drafts.templates.clone().map(Option::unwrap_or_default);
    let [[old_on_old, old_on_new], [new_on_old, new_on_new]] = &drafts.reads;
    let misread = |held: &Option<Held>| held.as_ref().and_then(|held| held.misread.as_deref()).map(Value::from);
    let is_read = |held: &Option<Held>| held.as_ref().map_or(Value::Null, |held| is_proved(held).into());
    let misread = [("old_on_new", misread(old_on_new)), ("new_on_old", misread(new_on_old))];
    object([
        ("old", old),
        ("new", new),
        ("given", drafts.are_given.into()),
        ("same", drafts.is_same().into()),
        ("old_on_old", is_read(old_on_old)),
        ("old_on_new", is_read(old_on_new)),
        ("new_on_old", is_read(new_on_old)),
        ("new_on_new", is_read(new_on_new)),
        ("misread", object(misread.map(|(name, text)| (name, text.unwrap_or_default()))).into()),
    ])
    .into()
}

fn turn(turn: &Turn) -> Value {
    object([("prompt", turn.prompt.as_str().into()), ("end", turn.end.as_str().into())]).into()
}

fn change(change: &Change) -> Value {
    let texts =
        change.cases.first().map(|case| [0, 1].map(|side: usize| case.outcomes.get(side).and_then(Outcome::text)));
    let [old, new] = texts.unwrap_or_default().map(Option::unwrap_or_default);
    object([
        ("what", change.what.name().into()),
        ("summary", change.summary.as_str().into()),
        ("touches", list(&change.touches, |touched| touched.name().into())),
        ("hunks", list(&change.hunks, |one| hunk(one, old, new))),
        ("cases", list(&change.cases, case)),
    ])
    .into()
}

fn hunk(hunk: &LineHunk, old: &str, new: &str) -> Value {
    object([
        ("old", old.get(hunk.old.clone()).unwrap_or_default().into()),
        ("new", new.get(hunk.new.clone()).unwrap_or_default().into()),
        ("old_lines", lines(&hunk.old_lines)),
        ("new_lines", lines(&hunk.new_lines)),
    ])
    .into()
}

fn case(case: &Case) -> Value {
    let outcome = |outcome: &Outcome| match outcome {
        Outcome::Text { text, .. } => object([("text", text.as_str().into())]),
        Outcome::Refused(message) => object([("error", message.as_str().into())]),
    };
    let mut entries = object([
        ("dims", list(&case.dims, |dim| dim.as_str().into())),
        ("context", case.conversation.context.clone().into()),
    ]);
    if let Some(now) = &case.conversation.now {
        entries.insert("now", now.as_str().into());
    }
    let [old, new] = &case.outcomes;
    entries.insert("old", outcome(old).into());
    entries.insert("new", outcome(new).into());
    entries.into()
}

impl ResponseDiff {
    /// The comparison as JSON.
    pub fn to_value(&self) -> Value {
        let [old, new] = &self.lint;
        let texts = |texts: &Vec<String>| list(texts, |text| text.as_str().into());
        Value::Object(object([
            ("version", 1.into()),
            ("kind", "response_templates".into()),
            ("verdict", self.verdict.name().into()),
            ("proved", self.is_proved.into()),
            ("basis", object([("texts", self.texts.into()), ("turns", self.turns.into())]).into()),
            ("unfilled", texts(&self.unfilled)),
            ("changes", list(&self.changes, parse_change)),
            ("lint", object([("old", texts(old)), ("new", texts(new))]).into()),
        ]))
    }
}

fn parse_change(change: &ParseChange) -> Value {
    let parsed = |parsed: &Parsed| match parsed {
        Parsed::Message(message) => object([("message", message.clone().into())]),
        Parsed::Error(message) => object([("error", message.as_str().into())]),
    };
    let [old, new] = &change.parsed;
    object([
        ("fields", list(&change.fields, |field| field.as_str().into())),
        ("text", change.text.as_str().into()),
        ("prefix", change.prefix.as_str().into()),
        ("written", change.is_written.into()),
        ("turns", change.turns.into()),
        ("old", parsed(old).into()),
        ("new", parsed(new).into()),
    ])
    .into()
}
