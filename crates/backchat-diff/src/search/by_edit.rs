//! Conversations that hold what an edit mentions, for edits that no branch asks about: the argument of a filter, a key that
//! is printed, a role in a list, the end of a slice.

use std::ops::Range;

use super::candidates::{Made, ParsedSource};
use super::edits::{Step, objects, texts, types, with_key, with_value};
use crate::kinds::{Conversation, Dim, Kind};
use backchat_chat::NodeKind;
use backchat_core::{REASONING_KEYS, push_new};

/// How many texts, keys and numbers of an edit are tried.
const MOST_TEXTS: usize = 8;
const MOST_KEYS: usize = 6;
const MOST_NUMBERS: usize = 4;

/// The longest text that conversations are given.
const LONGEST: usize = 200;

/// Keys that conversations of kinds have, beside those of reasoning.
const OF_KINDS: [&str; 11] = [
    "role",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "type",
    "text",
    "parameters",
    "description",
    "tool_call_id",
];

/// What an edit mentions.
#[derive(Debug, Default)]
pub(super) struct Edit {
    texts: Vec<String>,
    keys: Vec<String>,
    numbers: Vec<usize>,
}

fn is_of_kinds(key: &str) -> bool {
    OF_KINDS.contains(&key) || REASONING_KEYS.contains(&key)
}

impl Edit {
    /// What the edited parts of some sources mention.
    pub(super) fn new(sources: &[ParsedSource; 2], edited: &[Vec<Range<usize>>; 2]) -> Self {
        let mut edit = Self::default();
        for (source, edited) in sources.iter().zip(edited) {
            let meets = |span: &Range<usize>| edited.iter().any(|edit| edit.start < span.end && span.start < edit.end);
            for node in source.nodes().iter().filter(|node| meets(&node.span)) {
                match &node.kind {
                    NodeKind::Str(text) if !text.trim().is_empty() && text.len() <= LONGEST => {
                        push_new(&mut edit.texts, text.clone());
                    }
                    NodeKind::Lookup { key, .. } if !is_of_kinds(key) => {
                        push_new(&mut edit.keys, key.clone());
                    }
                    NodeKind::Expression => {
                        if let Some(number) = source.written(&node.span).parse().ok().filter(|number| *number > 0) {
                            push_new(&mut edit.numbers, number);
                        }
                    }
                    _ => {}
                }
            }
        }
        edit.texts.truncate(MOST_TEXTS);
        edit.keys.truncate(MOST_KEYS);
        edit.numbers.truncate(MOST_NUMBERS);
        edit
    }

    /// The texts and keys, in the order of the candidates.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        self.texts.iter().chain(&self.keys)
    }

    /// For each text, key and number, a conversation with it in one place at a time.
    pub(super) fn candidates(&self, base: &Conversation, most: usize) -> Vec<Vec<Conversation>> {
        let of_texts = self.texts.iter().map(|text| {
            let mut made = Made::new(base, most);
            holding(&mut made, base, text);
            made.found
        });
        let of_keys = self.keys.iter().map(|key| {
            let paths = objects(base);
            paths.iter().filter_map(|path| with_key(base, path, key, Some("zqv".into()))).collect()
        });
        let of_numbers = self.numbers.iter().map(|number| {
            let mut made = Made::new(base, most);
            made.sizes(number + 1);
            made.found
        });
        of_texts.chain(of_keys).chain(of_numbers).collect()
    }
}

/// A text within each text, in the place of each, and as a role, a type and a key.
fn holding(made: &mut Made<'_>, base: &Conversation, text: &str) {
    for (path, own) in texts(base) {
        made.push(with_value(base, &path, format!("{own}{text}{own}").into()));
        made.push(with_value(base, &path, text.trim().into()));
    }
    if text.contains(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
        return;
    }
    let messages = base.messages().len();
    for at in [0, messages.saturating_sub(1)] {
        let path = [Step::Key("messages".to_owned()), Step::Index(at), Step::Key("role".to_owned())];
        made.push(with_value(base, &path, text.into()));
    }
    for (path, _) in types(base) {
        made.push(with_value(base, &path, text.into()));
    }
    for path in objects(base) {
        made.push(with_key(base, &path, text, Some("zqv".into())));
    }
}

/// The kinds whose conversations are changed: one with everything, and for templates that refuse that the plainest ones.
pub(super) fn bases() -> [Kind; 5] {
    let whole = [Dim::System, Dim::ReasoningContent, Dim::Beside, Dim::AfterResult, Dim::Tools];
    let of = |dims: &[Dim]| Kind::of(dims).closed();
    [of(&whole), Kind::NONE, of(&[Dim::UserParts]), of(&[Dim::System, Dim::LaterUser]), of(&[Dim::Result, Dim::Tools])]
}
