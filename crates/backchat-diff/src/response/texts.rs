//! The texts that two response templates are compared with.

use std::collections::HashSet;

use crate::kinds::{Conversation, Dim, Kind, Universe, conversation};
use crate::side::{Chat, Outcome, Ready, Side};
use crate::templates::Options;
use backchat_chat::switches;
use backchat_core::json::{Object, Value};
use backchat_core::{distinct, push_new};
use backchat_parser::pattern::Pattern;
use backchat_parser::template::{Delimiter, Field, Placeholder, Shape, Template};

/// How many examples of one pattern are used, and how many marks are combined in pairs and in threes.
const MOST_EXAMPLES: usize = 6;
const MOST_MARKS: usize = 18;
const MOST_IN_THREES: usize = 9;

/// How many characters of a turn are cut off one by one.
const MOST_CUTS: usize = 260;

/// How many settings of switches are tried.
const MOST_SETTINGS: usize = 8;

/// What is put between marks.
const FILLERS: [&str; 9] = ["", "f", "\n", " ", "T\n", "{}", "{\"\":1}", "{\"a\": 1}", "<"];

/// A text of a model, and the prompt before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) prefix: String,
    pub(crate) text: String,
    /// Whether a chat template writes it, or the beginning of it.
    pub(crate) is_turn: bool,
}

/// The turns that a chat template writes, each after its prompt.
pub(super) fn turns(chat: Option<&Chat>, options: &Options) -> Vec<Text> {
    use Dim::{
        Answer, AssistantLines, AssistantSpaces, Beside, BoolArgument, Call, CallId, EmptyArguments, NestedArgument,
        NullContent, NumberArgument, Reasoning, ReasoningContent, SecondCall, SpecialArgument, TextArguments, Thinking,
        Tools, TwoArguments,
    };
    let Some(side) = chat.and_then(|chat| Side::new(chat).ok()) else { return Vec::new() };
    let universe = Universe::new(Vec::new(), options.clock());
    let mut found: Vec<Text> = Vec::new();
    let kinds: [&[Dim]; 22] = [
        &[Answer],
        &[AssistantLines],
        &[AssistantSpaces],
        &[ReasoningContent],
        &[Thinking],
        &[Reasoning],
        &[Call],
        &[Call, NullContent],
        &[SecondCall],
        &[Call, Beside],
        &[Call, ReasoningContent],
        &[Call, Thinking],
        &[SecondCall, Beside, ReasoningContent],
        &[TwoArguments],
        &[NumberArgument, BoolArgument],
        &[NestedArgument],
        &[SpecialArgument],
        &[EmptyArguments],
        &[TextArguments],
        &[TextArguments, NestedArgument],
        &[Call, CallId],
        &[SecondCall, CallId],
    ];
    for dims in kinds {
        for extra in [&[][..], &[Tools]] {
            let kind = Kind::of(dims).union(Kind::of(extra)).closed();
            if let Some(text) = turn(&side, &conversation(kind, &universe), options.clock())
                && !found.contains(&text)
            {
                found.push(text);
            }
        }
    }
    found
}

/// The prompts of a chat template, with each value of its switches; the usual one is the first.
pub(super) fn prompts(chat: Option<&Chat>, options: &Options) -> Vec<String> {
    let Some(side) = chat.and_then(|chat| Side::new(chat).ok()) else { return Vec::new() };
    let settings = switches(&side.template, &Object::new());
    let settings =
        settings.iter().flat_map(|(name, values)| values.iter().map(|value| ((*name).to_owned(), value.clone())));
    let universe = Universe::new(settings.take(MOST_SETTINGS).collect(), options.clock());
    let settings = universe.settings().map(|(bit, ..)| Kind::NONE.with_bit(bit));
    let mut found: Vec<String> = Vec::new();
    let mut ends: Vec<String> = Vec::new();
    for kind in std::iter::once(Kind::NONE).chain(settings) {
        let asked = conversation(kind.with(Dim::Prompt), &universe);
        let Some(ready) = Ready::new(&asked, options.clock()) else { continue };
        let Outcome::Text { text, .. } = side.render(&ready) else { continue };
        // Only the end of a prompt matters to what is read after it.
        let tail: String = text.chars().rev().take(40).collect();
        if push_new(&mut ends, tail) {
            found.push(text);
        }
    }
    found
}

/// The last message of a conversation, as it is rendered after its prompt.
fn turn(side: &Side, whole: &Conversation, clock: &str) -> Option<Text> {
    let render = |conversation: &Conversation| match side.render(&Ready::new(conversation, clock)?) {
        Outcome::Text { text, .. } => Some(text),
        Outcome::Refused(_) => None,
    };
    let mut before = whole.clone();
    let Some(Value::List(messages)) = before.context.get_mut("messages") else { return None };
    messages.pop();
    before.context.insert("add_generation_prompt", true.into());
    let (text, prompt) = (render(whole)?, render(&before)?);
    let shared: usize =
        text.chars().zip(prompt.chars()).take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum();
    let (prefix, text) = text.split_at_checked(shared)?;
    Some(Text { prefix: prefix.to_owned(), text: text.to_owned(), is_turn: true })
}

/// The texts, each once: turns, cut and changed, and marks in every order.
pub(super) fn texts(templates: [&Template; 2], turns: &[Text], prompts: &[String]) -> Vec<Text> {
    let marks = marks(templates);
    let mut made = Made { fillers: fillers(templates), known: HashSet::new(), texts: Vec::new() };
    for turn in turns {
        made.push(&turn.prefix, turn.text.clone(), true);
        made.push(&turn.prefix, format!("{}\n", turn.text), false);
        let places: Vec<usize> = turn.text.char_indices().map(|(at, _)| at).collect();
        for place in places.iter().rev().take(MOST_CUTS).chain(places.iter().take(MOST_CUTS)) {
            made.push(&turn.prefix, turn.text.get(..*place).unwrap_or_default().to_owned(), true);
        }
        for mark in &marks {
            made.changed(turn, mark);
        }
    }
    let mut ends: Vec<&str> = prompts.iter().map(String::as_str).collect();
    if ends.is_empty() {
        ends.push("");
    }
    for (at, prefix) in ends.iter().enumerate() {
        for filler in made.fillers.clone() {
            made.push(prefix, filler, false);
        }
        made.alone(prefix, &marks);
        // The other prompts differ from the first in how they end.
        if at == 0 {
            made.combined(prefix, &marks);
        }
        for turn in turns.iter().filter(|turn| turn.text.len() < 400).take(8) {
            made.push(prefix, turn.text.clone(), false);
        }
    }
    made.texts
}

struct Made {
    fillers: Vec<String>,
    known: HashSet<(String, String)>,
    texts: Vec<Text>,
}

impl Made {
    fn push(&mut self, prefix: &str, text: String, is_turn: bool) {
        if self.known.insert((prefix.to_owned(), text.clone())) {
            self.texts.push(Text { prefix: prefix.to_owned(), text, is_turn });
        }
    }

    /// A turn without a mark, with it twice, and with other text around it.
    fn changed(&mut self, turn: &Text, mark: &str) {
        for (at, _) in turn.text.match_indices(mark).take(4) {
            let (before, after) =
                (turn.text.get(..at).unwrap_or_default(), turn.text.get(at + mark.len()..).unwrap_or_default());
            for middle in [
                String::new(),
                format!("{mark}{mark}"),
                format!("{mark}ll{mark}"),
                format!("\n{mark}"),
                format!("{mark}\n"),
                format!("{mark} \n"),
                format!("x{mark}"),
                format!("{mark}x"),
            ] {
                self.push(&turn.prefix, format!("{before}{middle}{after}"), false);
            }
        }
        for made in [format!("{mark}{}", turn.text), format!("{mark}f{}", turn.text), format!("{}{mark}", turn.text)] {
            self.push(&turn.prefix, made, false);
        }
    }

    /// Marks alone, with and without something beside them.
    fn alone(&mut self, prefix: &str, marks: &[String]) {
        let fillers = self.fillers.clone();
        for one in marks {
            for filler in &fillers {
                self.push(prefix, format!("{one}{filler}"), false);
                self.push(prefix, format!("{filler}{one}"), false);
                self.push(prefix, format!("{filler}{one}{filler}"), false);
            }
        }
    }

    /// Marks in pairs and in threes, with and without something between.
    fn combined(&mut self, prefix: &str, marks: &[String]) {
        let fillers = self.fillers.clone();
        for one in marks.iter().take(MOST_MARKS) {
            for other in marks.iter().take(MOST_MARKS) {
                for filler in &fillers {
                    self.push(prefix, format!("{one}{filler}{other}"), false);
                    self.push(prefix, format!("{one}{filler}{other}\n"), false);
                    self.push(prefix, format!("f{one}{filler}{other}T"), false);
                }
            }
        }
        for one in marks.iter().take(MOST_IN_THREES) {
            for second in marks.iter().take(MOST_IN_THREES) {
                for third in marks.iter().take(MOST_IN_THREES) {
                    for [first_filler, second_filler] in [["", ""], ["f", ""], ["", "f"], ["f", "{\"\":1}"]] {
                        self.push(prefix, format!("{one}{first_filler}{second}{second_filler}{third}"), false);
                    }
                }
            }
        }
    }
}

/// What is put between marks: values that the shapes of the two templates take, besides the usual ones.
fn fillers(templates: [&Template; 2]) -> Vec<String> {
    let mut found: Vec<String> = FILLERS.map(str::to_owned).to_vec();
    let fields = || templates.into_iter().flat_map(Template::fields).filter(|field| field.transform.is_some());
    for name in distinct(fields().map(|field| field.name.as_str())) {
        let same: Vec<&Field> = fields().filter(|field| field.name == name).collect();
        // The value of each, and one with the keys of both.
        let sets = same.iter().map(|field| vec![*field]).chain([same.clone()]);
        for set in sets {
            let mut value = Object::new();
            for transform in set.iter().filter_map(|field| field.transform.as_ref()) {
                for (key, hole) in holes(&transform.shape, "") {
                    let rest = if transform.each { std::slice::from_ref(&hole.name) } else { &[] };
                    let path = rest.iter().chain(&hole.keys).map(String::as_str);
                    put(&mut value, path, key);
                }
            }
            let is_list = set.iter().any(|field| field.transform.as_ref().is_some_and(|transform| transform.each));
            let value = Value::Object(value);
            let value = if is_list { Value::List(vec![value]) } else { value };
            push_new(&mut found, value.to_string());
        }
    }
    found
}

/// The placeholders of a shape, each with the key that it fills.
fn holes<'s>(shape: &'s Shape, key: &'s str) -> Vec<(&'s str, &'s Placeholder)> {
    match shape {
        Shape::Placeholder(hole) => vec![(key, hole)],
        Shape::List(items) => items.iter().flat_map(|item| holes(item, key)).collect(),
        Shape::Object(entries) => entries.iter().flat_map(|(key, shape)| holes(shape, key)).collect(),
        _ => Vec::new(),
    }
}

/// Puts a value for a key of the message at a path.
fn put<'p>(value: &mut Object, mut path: impl Iterator<Item = &'p str>, key: &str) {
    let Some(first) = path.next() else { return };
    let mut rest = path.peekable();
    if rest.peek().is_none() {
        let filled = if key == "arguments" { Value::from([("a", 1.into())]) } else { "f".into() };
        if !value.contains_key(first) {
            value.insert(first, filled);
        }
        return;
    }
    let mut inner = value.get(first).and_then(Value::as_object).cloned().unwrap_or_default();
    put(&mut inner, &mut rest as &mut dyn Iterator<Item = &str>, key);
    value.insert(first, Value::Object(inner));
}

/// The marks of both templates: literals, and examples of patterns.
fn marks(templates: [&Template; 2]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |texts: Vec<String>| {
        for text in texts.into_iter().filter(|text| !text.is_empty()).take(MOST_EXAMPLES) {
            push_new(&mut found, text);
        }
    };
    for template in templates {
        for field in template.fields() {
            for delimiter in [&field.open, &field.close].into_iter().flatten() {
                add(match delimiter {
                    Delimiter::Literals { literals, .. } => literals.clone(),
                    Delimiter::Pattern(pattern) => pattern.examples().to_vec(),
                });
            }
        }
        patterns(&template.to_value(), &mut |pattern| {
            add(Pattern::new(pattern).map(|it| it.examples().to_vec()).unwrap_or_default())
        });
    }
    found
}

/// Visits the patterns of content parsers.
fn patterns(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(pattern)
                        if key.ends_with("_pattern") && key != "open_pattern" && key != "close_pattern" =>
                    {
                        visit(pattern);
                    }
                    value => patterns(value, visit),
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| patterns(item, visit)),
        _ => {}
    }
}
