//! Evidence: two renders that differ in one thing, and the bytes in which they differ.

use crate::wire::conversation::{Answer, Message};
use crate::wire::probe::{Prober, Setting, call, needle};
use crate::wire::structure::WireFormat;
use backchat_core::json::Value;
use backchat_core::text::{common_end, common_start, slice};
use backchat_probe::diff::{self, DiffTag};

/// Two renders and their differences.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The finding it supports.
    pub finding: &'static str,
    /// The first render, in words.
    pub without: String,
    /// The second render, in words.
    pub with: String,
    /// The first render.
    pub first: String,
    pub changes: Vec<Change>,
}

/// A stretch in which the second render differs from the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its position in the second render, in bytes.
    pub at: usize,
    pub removed: String,
    pub inserted: String,
}

/// Compares two renders.
fn changes(without: &str, with: &str) -> Vec<Change> {
    // Only the text between the common ends is worth the work.
    let start = common_start(without, with).len();
    let (a, b) = (slice(without, start..), slice(with, start..));
    let end = common_end(a, b).len();
    let (a, b) = (slice(a, ..a.len() - end), slice(b, ..b.len() - end));
    let a: Vec<&str> = pieces(a);
    let b: Vec<&str> = pieces(b);
    let join = |pieces: &[&str], range: std::ops::Range<usize>| pieces.get(range).unwrap_or(&[]).concat();
    diff::operations(&a, &b)
        .into_iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| Change {
            at: start + join(&b, 0..op.new_range().start).len(),
            removed: join(&a, op.old_range()),
            inserted: join(&b, op.new_range()),
        })
        .collect()
}

/// Words and single signs: a change should not part a word.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let word = c.is_alphanumeric() || c == '_';
        if at > start && !(word && in_word) {
            pieces.push(slice(text, start..at));
            start = at;
        }
        in_word = word;
    }
    if start < text.len() {
        pieces.push(slice(text, start..));
    }
    pieces
}

/// Renders the evidence of a wire again, and compares.
pub(super) fn collect(prober: &Prober, wire: &WireFormat) -> Vec<Evidence> {
    let base = Setting::new();
    let user = [Message::User(needle::USER.to_owned())];
    let full = |answer: &Answer, setting: &Setting| {
        let messages = [user.as_slice(), &[Message::Assistant(answer.clone())]].concat();
        prober.render(&messages, setting, false)
    };
    let mut evidence = Vec::new();
    let mut add = |finding: &'static str, without: (&str, Option<String>), with: (&str, Option<String>)| {
        if let (Some(a), Some(b)) = (&without.1, &with.1) {
            let changes = changes(a, b);
            if !changes.is_empty() {
                let (without, with, first) = (without.0.to_owned(), with.0.to_owned(), a.clone());
                evidence.push(Evidence { finding, without, with, first, changes });
            }
        }
    };
    let prompt = prober.render(&user, &base, true);
    add(
        "turn",
        ("a user message without the generation prompt", prober.render(&user, &base, false)),
        ("the same with the generation prompt", prompt.clone()),
    );
    let mut settings: Vec<&Setting> = Vec::new();
    for setting in wire.prompts.iter().map(|prompt| &prompt.setting).filter(|setting| !setting.is_empty()) {
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    for (setting, (name, value)) in settings.iter().filter_map(|setting| Some((setting, setting.first()?))) {
        let other = prober.render(&user, setting, true);
        let with = format!("the prompt with {name} = {value}");
        add("generation_prompts", ("the prompt as it is", prompt.clone()), (&with, other));
    }
    let content = Answer::content(needle::CONTENT);
    add(
        "content",
        ("a user message", prober.render(&user, &base, false)),
        ("the same with an answer", full(&content, &base)),
    );
    if let Some(reasoning) = &wire.reasoning {
        let thought = content.clone().with_reasoning(needle::REASONING);
        let setting = &reasoning.setting;
        add("reasoning", ("an answer", full(&content, setting)), ("the same with reasoning", full(&thought, setting)));
    }
    if let Some(calls) = &wire.calls {
        let setting = &calls.setting;
        let one = full(&Answer::calls(vec![call(0, 1)]), setting);
        let two = full(&Answer::calls(vec![call(0, 1), call(1, 1)]), setting);
        let more = full(&Answer::calls(vec![call(0, 2)]), setting);
        let none = full(&Answer::calls(vec![call(0, 0)]), setting);
        add("tools", ("an answer", full(&content, setting)), ("a call instead", one.clone()));
        add("tools", ("one call", one.clone()), ("two calls", two));
        add("arguments", ("a call without arguments", none), ("a call with one", one.clone()));
        add("arguments", ("a call with one argument", one), ("a call with two", more));
    }
    evidence
}

impl Evidence {
    pub fn to_value(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            Value::from([
                ("at", Value::from(i64::try_from(change.at).unwrap_or(i64::MAX))),
                ("removed", change.removed.as_str().into()),
                ("inserted", change.inserted.as_str().into()),
            ])
        });
        Value::from([
            ("without", self.without.as_str().into()),
            ("with", self.with.as_str().into()),
            ("changes", Value::List(changes.collect())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_whole_words_at_their_byte() {
        let found = changes("é<end>", "é<call>name</call><end>");
        assert_eq!(found, [Change { at: 3, removed: String::new(), inserted: "call>name</call><".to_owned() }]);
    }
}
