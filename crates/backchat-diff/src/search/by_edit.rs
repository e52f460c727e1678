//! Conversations that hold what an edit mentions, for edits that no branch asks about: the argument of a filter, a key that
//! is printed, a role in a list, the end of a slice. What an edited expression reads is empty as well, in each of the ways
//! that `is defined`, `default`, `or` and comparisons tell apart.

use std::ops::Range;

use super::candidates::{Made, ParsedSource};
use super::edits::{Path, Step, objects, texts, types, with_key, with_value, with_variable};
use crate::kinds::{Conversation, Dim, Kind};
use backchat_chat::{Node, NodeKind};
use backchat_core::json::Value;
use backchat_core::{REASONING_KEYS, push_new};

/// How many texts, keys and numbers of an edit are tried.
const MOST_TEXTS: usize = 8;
const MOST_KEYS: usize = 6;
const MOST_NUMBERS: usize = 4;

/// In how many places a key is emptied.
const MOST_PLACES: usize = 12;

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
    /// The keys that the edited expressions read.
    read: Vec<String>,
    /// The variables of the template that they read.
    variables: Vec<String>,
}

fn is_of_kinds(key: &str) -> bool {
    OF_KINDS.contains(&key) || REASONING_KEYS.contains(&key)
}

impl Edit {
    /// What the edited parts of some sources mention, and the expressions that they are in. `variables` are those of the
    /// templates.
    pub(super) fn new(sources: &[ParsedSource; 2], edited: &[Vec<Range<usize>>; 2], variables: &[&str]) -> Self {
        let mut edit = Self::default();
        for (source, edited) in sources.iter().zip(edited) {
            let meets = |span: &Range<usize>| edited.iter().any(|edit| edit.start < span.end && span.start < edit.end);
            for node in source.nodes().iter().filter(|node| meets(&node.span)) {
                match &node.kind {
                    NodeKind::Lookup { key, .. } if !is_of_kinds(key) => {
                        push_new(&mut edit.keys, key.clone());
                    }
                    NodeKind::Expression => {
                        if let Some(number) = source.written(&node.span).parse().ok().filter(|number| *number > 0) {
                            push_new(&mut edit.numbers, number);
                        }
                    }
                    kind => edit.add_text(kind),
                }
            }
            for node in edited.iter().flat_map(|range| within_expression(source, range)) {
                match &node.kind {
                    NodeKind::Lookup { key, .. } => {
                        push_new(&mut edit.read, key.clone());
                    }
                    NodeKind::Name(name) if variables.contains(&name.as_str()) => {
                        push_new(&mut edit.variables, name.clone());
                    }
                    kind => edit.add_text(kind),
                }
            }
        }
        edit.texts.truncate(MOST_TEXTS);
        edit.numbers.truncate(MOST_NUMBERS);
        [&mut edit.keys, &mut edit.read, &mut edit.variables].into_iter().for_each(|keys| keys.truncate(MOST_KEYS));
        edit
    }

    fn add_text(&mut self, kind: &NodeKind) {
        if let NodeKind::Str(text) = kind
            && !text.trim().is_empty()
            && text.len() <= LONGEST
        {
            push_new(&mut self.texts, text.clone());
        }
    }

    /// The texts and keys, in the order of the candidates.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        self.texts.iter().chain(&self.keys)
    }

    /// For each text, key and number, a conversation with it in one place at a time.
    pub(super) fn holding(&self, base: &Conversation, most: usize) -> Vec<Vec<Conversation>> {
        let of_texts = self.texts.iter().map(|text| {
            let mut made = Made::new(base, most);
            hold(&mut made, base, text);
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

    /// For each key and variable that an expression reads, conversations with other values of it.
    pub(super) fn reading(&self, base: &Conversation) -> Vec<Vec<Conversation>> {
        let of_keys = self.read.iter().map(|key| emptied(base, key));
        let of_variables = self.variables.iter().map(|name| {
            let values = ["zqv".into(), "".into(), Value::Null];
            values.into_iter().map(|value| with_variable(base, name, value)).collect()
        });
        of_keys.chain(of_variables).collect()
    }
}

/// The parts of the innermost expression around an edit.
fn within_expression<'s>(source: &'s ParsedSource, edit: &Range<usize>) -> impl Iterator<Item = &'s Node> {
    use NodeKind::{For, If, Macro, Output, Set, Statement, Text};
    let is_around = |outer: &Range<usize>, inner: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
    let written = source.written(edit);
    let start = edit.start + written.len() - written.trim_start().len();
    let edit = start..start + written.trim().len();
    let around = source.nodes().iter().filter(|node| is_around(&node.span, &edit)).min_by_key(|node| node.span.len());
    let is_statement =
        |kind: &NodeKind| matches!(kind, For { .. } | If(_) | Macro | Output | Set(_) | Statement | Text);
    let around = around.filter(|node| !is_statement(&node.kind)).map(|node| node.span.clone());
    source.nodes().iter().filter(move |node| around.as_ref().is_some_and(|around| is_around(around, &node.span)))
}

/// A key with each value that holds nothing, in each message and wherever it is.
fn emptied(base: &Conversation, key: &str) -> Vec<Conversation> {
    let has = |path: &Path| path.len() == 2 || with_key(base, path, key, None).is_some();
    let places: Vec<Path> = objects(base).into_iter().filter(has).take(MOST_PLACES).collect();
    let values = [Value::Null, "".into(), Value::List(Vec::new())];
    let made = |value: &Value| -> Vec<Conversation> {
        places.iter().filter_map(|path| with_key(base, path, key, Some(value.clone()))).collect()
    };
    values.iter().flat_map(made).collect()
}

/// A text within each text, once and twice, and in the place of each; it, and a longer one, as a role and a type; as a key.
fn hold(made: &mut Made<'_>, base: &Conversation, text: &str) {
    for (path, own) in texts(base) {
        made.push(with_value(base, &path, format!("{own}{text}{own}").into()));
        made.push(with_value(base, &path, text.trim().into()));
        made.push(with_value(base, &path, format!("{own}{text}{own}{text}{own}").into()));
    }
    if text.contains(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
        return;
    }
    let longer = format!("input_{text}");
    let messages = base.messages().len();
    for at in [0, messages.saturating_sub(1)] {
        let path = [Step::Key("messages".to_owned()), Step::Index(at), Step::Key("role".to_owned())];
        made.push(with_value(base, &path, text.into()));
        made.push(with_value(base, &path, longer.as_str().into()));
    }
    for (path, _) in types(base) {
        made.push(with_value(base, &path, text.into()));
        made.push(with_value(base, &path, longer.as_str().into()));
    }
    for path in objects(base) {
        made.push(with_key(base, &path, text, Some("zqv".into())));
    }
}

/// The kinds whose conversations are changed: one with everything, and for templates that refuse that the plainest ones.
pub(super) fn bases() -> [Kind; 5] {
    let of_result = [Dim::Prompt, Dim::Result, Dim::ResultName, Dim::Tools];
    let whole =
        [Dim::Prompt, Dim::System, Dim::ReasoningContent, Dim::Beside, Dim::AfterResult, Dim::ResultName, Dim::Tools];
    let history = [Dim::Prompt, Dim::System, Dim::ReasoningContent, Dim::Thinking, Dim::Reasoning, Dim::LaterUser];
    let of = |dims: &[Dim]| Kind::of(dims).closed();
    [of(&whole), of(&[Dim::Prompt]), of(&[Dim::UserParts]), of(&history), of(&of_result)]
}
