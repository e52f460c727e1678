//! Conversations that may reach a goal, made from one that came near and from what the condition compares.

use super::edits::{
    self, Path, Step, lists, objects, texts, with_clock, with_entries, with_items, with_key, with_messages,
    with_renamed, with_value, with_variable,
};
use super::taken::Goal;
use std::ops::Range;

use crate::kinds::{Conversation, object};
use backchat_chat::{Node, NodeKind, Relation, nodes};
use backchat_core::json::Value;
use backchat_core::push_new;

/// The most items, and the longest text, that are made to pass a threshold.
const MOST_ITEMS: usize = 70;
const LONGEST: usize = 20_000;

/// Collects conversations that are made from one.
pub(super) struct Made<'b> {
    base: &'b Conversation,
    pub(super) found: Vec<Conversation>,
    most: usize,
}

/// The source of a template, and its nodes.
pub(super) struct ParsedSource {
    text: String,
    nodes: Vec<Node>,
}

impl ParsedSource {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), nodes: nodes(text) }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// What is written at a place of it.
    pub(super) fn written(&self, span: &Range<usize>) -> &str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// What the template sets a name to.
    fn assigned(&self, name: &str) -> Vec<&str> {
        let field = format!(".{name}");
        let value_of = |(at, node): (usize, &Node)| {
            let is_set = matches!(&node.kind, NodeKind::Set(target) if target == name || target.ends_with(&field));
            let value = self.nodes.get(at + 1).filter(|inner| is_set && inner.parent == Some(at))?;
            self.text.get(value.span.clone())
        };
        self.nodes.iter().enumerate().filter_map(value_of).take(4).collect()
    }

    /// The keys that it looks up in a variable.
    fn looked_up(&self, name: &str) -> Vec<String> {
        let mut keys = Vec::new();
        for node in &self.nodes {
            if let NodeKind::Lookup { of, key } = &node.kind
                && self.text.get(of.clone()) == Some(name)
            {
                push_new(&mut keys, key.clone());
            }
        }
        keys
    }
}

/// The conversations that may reach a goal.
pub(super) fn candidates(
    goal: &Goal,
    source: &ParsedSource,
    base: &Conversation,
    clock: &str,
    most: usize,
) -> Vec<Conversation> {
    let condition = source.written(&goal.span);
    let mut made = Made::new(base, most);
    let mentioned = Mentioned::of(condition, source);
    made.by_clock(&mentioned, clock);
    made.by_operands(goal);
    made.by_variables(goal, &mentioned, source);
    made.by_numbers(goal, &mentioned);
    made.by_constants(goal, &mentioned);
    made.by_order(&mentioned);
    made.by_keys(goal, &mentioned);

    if goal.several || goal.relation == Relation::Items {
        for count in [2, 1, 0] {
            made.sizes(count);
        }
    }
    made.found
}

/// What a condition mentions.
#[derive(Debug, Default)]
struct Mentioned {
    names: Vec<String>,
    texts: Vec<String>,
    numbers: Vec<i64>,
    /// Keys that it looks up.
    keys: Vec<String>,
    has_clock: bool,
}

impl Mentioned {
    fn of(condition: &str, source: &ParsedSource) -> Self {
        let mut found = Self::default();
        found.read(condition);
        // A name that the template sets stands for what it is set to.
        let own: Vec<String> = found.names.clone();
        for name in own {
            for value in source.assigned(&name) {
                found.read(value);
            }
        }
        found.has_clock |= condition.contains("strftime_now");
        found
    }

    fn read(&mut self, expression: &str) {
        let wrapped = format!("{{{{ {expression} }}}}");
        for node in nodes(&wrapped) {
            match node.kind {
                NodeKind::Name(name) => {
                    self.has_clock |= name == "strftime_now";
                    push_new(&mut self.names, name);
                }
                NodeKind::Str(text) => {
                    push_new(&mut self.texts, text);
                }
                NodeKind::Lookup { key, .. } => {
                    push_new(&mut self.keys, key);
                }
                NodeKind::Expression => {
                    let text = wrapped.get(node.span).unwrap_or_default();
                    if let Ok(number) = text.parse() {
                        push_new(&mut self.numbers, number);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'b> Made<'b> {
    pub(super) fn new(base: &'b Conversation, most: usize) -> Self {
        Self { base, found: Vec::new(), most }
    }

    pub(super) fn push(&mut self, made: Option<Conversation>) {
        if let Some(made) = made
            && self.found.len() < self.most
        {
            self.found.push(made);
        }
    }

    /// Replaces a text of the conversation that is an operand by what the relation asks for.
    fn by_operands(&mut self, goal: &Goal) {
        for (left, right) in &goal.operands {
            match goal.relation {
                Relation::In if goal.wanted => match (left, right) {
                    (Value::String(part), Value::String(whole)) => {
                        self.put_into(whole, part);
                        self.replace(part, whole);
                    }
                    (left, Value::List(members)) => {
                        for member in members.iter().filter(|member| *member != left).take(6) {
                            self.replace_value(left, member);
                        }
                    }
                    _ => {}
                },
                Relation::Key => {
                    for key in right.as_list().into_iter().flatten().take(6) {
                        self.replace_value(left, key);
                    }
                }
                Relation::StartsWith | Relation::EndsWith if goal.wanted => {
                    if let (Value::String(whole), Some(parts)) = (left, texts_of(right)) {
                        parts.iter().for_each(|part| self.put_into(whole, part));
                    }
                }
                Relation::Equal if goal.wanted => {
                    self.replace_value(left, right);
                    self.replace_value(right, left);
                }
                Relation::Truth | Relation::Test => self.vary(left),
                Relation::Equal | Relation::In | Relation::StartsWith | Relation::EndsWith => {
                    for value in [left, right] {
                        if let Value::String(text) = value {
                            self.replace(text, "zqx");
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Puts values of every type in the place of one; an object is known by its keys.
    fn vary(&mut self, value: &Value) {
        let is_value = |other: &Value| match (value, other) {
            (Value::List(keys), Value::Object(entries)) => {
                entries.len() == keys.len()
                    && keys.iter().zip(entries.keys()).all(|(key, own)| key.as_str() == Some(own))
            }
            (one, other) => one == other,
        };
        let mut paths: Vec<Path> = Vec::new();
        for name in ["messages", "tools"] {
            let Some(given) = self.base.context.get(name) else { continue };
            let mut path = vec![Step::Key(name.to_owned())];
            edits::walk(given, &mut path, &mut |path, other| {
                if is_value(other) && path.len() > 2 {
                    paths.push(path.clone());
                }
            });
        }
        for path in paths.iter().take(4) {
            let part = object([("type", "text".into()), ("text", "zqw".into())]);
            let parts = Value::List(vec![part]);
            let object = object([("zqk", "zqv".into())]);
            for made in
                [Value::Null, "".into(), false.into(), 0.into(), "zqv".into(), true.into(), object, parts.clone()]
            {
                self.push(with_value(self.base, path, made));
            }
        }
    }

    /// The places of a text: where it is all of a text, else where it is a part of one or contains it.
    fn places(&self, wanted: &str) -> Vec<(Path, String)> {
        let mut all = texts(self.base);
        let wanted = wanted.trim();
        // Types are compared, but nothing is put into them.
        all.extend(edits::types(self.base).into_iter().filter(|(_, text)| text == wanted));
        if wanted.is_empty() {
            return Vec::new();
        }
        let exact: Vec<_> = all.iter().filter(|(_, text)| text.trim() == wanted).cloned().collect();
        if !exact.is_empty() {
            return exact;
        }
        let lower = wanted.to_lowercase();
        let near = |text: &str| {
            let text = text.trim().to_lowercase();
            !text.is_empty() && (text.contains(&lower) || lower.contains(&text))
        };
        all.into_iter().filter(|(_, text)| near(text)).collect()
    }

    fn put_into(&mut self, whole: &str, part: &str) {
        let mut places = self.places(whole);
        if places.is_empty() {
            places = texts(self.base);
        }
        for (path, text) in places.into_iter().take(6) {
            for made in
                [part.to_owned(), format!("{part}{text}"), format!("{text}{part}"), format!("{text}{part}{text}")]
            {
                self.push(with_value(self.base, &path, made.into()));
            }
        }
        self.rename_keys(whole, part);
    }

    fn rename_keys(&mut self, old: &str, new: &str) {
        for path in objects(self.base) {
            let is_arguments = matches!(path.last(), Some(Step::Key(key)) if key == "arguments" || key == "properties");
            if is_arguments {
                self.push(with_renamed(self.base, &path, old, new));
            }
        }
    }

    fn replace(&mut self, old: &str, new: &str) {
        for (path, _) in self.places(old).into_iter().take(4) {
            self.push(with_value(self.base, &path, new.into()));
        }
        self.rename_keys(old, new);
    }

    fn replace_value(&mut self, old: &Value, new: &Value) {
        match (old, new) {
            (Value::String(old), Value::String(new)) => self.replace(old, new),
            (Value::Number(_), Value::Number(_)) => {
                if let Some(count) = new.as_u64().and_then(|count| usize::try_from(count).ok()) {
                    self.sizes(count);
                }
            }
            _ => {}
        }
    }

    /// Sets variables that the condition mentions.
    fn by_variables(&mut self, goal: &Goal, mentioned: &Mentioned, source: &ParsedSource) {
        const GIVEN: [&str; 6] = ["messages", "tools", "documents", "add_generation_prompt", "loop", "message"];
        let is_given = |name: &str| GIVEN.contains(&name) || backchat_chat::function_names().any(|known| known == name);
        for name in mentioned.names.iter().filter(|name| !is_given(name)) {
            let keys = source.looked_up(name);
            if !keys.is_empty() {
                let entries = keys.into_iter().take(6).map(|key| {
                    let value = if key == "function" { object([("name", "zq".into())]) } else { "zq".into() };
                    (key, value)
                });
                self.push(Some(with_variable(self.base, name, Value::Object(entries.collect()))));
            }
            let mut values: Vec<Value> = Vec::new();
            for (left, right) in &goal.operands {
                for operand in [left, right] {
                    match operand {
                        Value::List(members) => values.extend(members.iter().cloned()),
                        Value::Null => {}
                        other => values.push(other.clone()),
                    }
                }
            }
            values.extend(mentioned.texts.iter().map(|text| text.as_str().into()));
            for number in &mentioned.numbers {
                values.extend([number.saturating_add(1), *number, number.saturating_sub(1)].map(Value::from));
            }
            values.extend([true.into(), false.into(), "zqv".into(), 1.into(), Value::List(vec!["zq".into()])]);
            for value in values.into_iter().take(16) {
                self.push(Some(with_variable(self.base, name, value)));
            }
        }
    }

    /// Passes thresholds by one more and one less.
    fn by_numbers(&mut self, goal: &Goal, mentioned: &Mentioned) {
        let is_order = matches!(goal.relation, Relation::Less | Relation::Greater | Relation::Equal | Relation::In);
        if !is_order && mentioned.numbers.is_empty() {
            return;
        }
        let mut numbers = mentioned.numbers.clone();
        let of_operands = goal.operands.iter().flat_map(|(left, right)| [left, right]);
        for number in of_operands.filter_map(Value::as_i64) {
            push_new(&mut numbers, number);
        }
        for number in numbers.into_iter().take(6) {
            for count in [number.saturating_add(1), number, number.saturating_sub(1)] {
                if let Ok(count) = usize::try_from(count) {
                    self.sizes(count);
                }
            }
        }
    }

    /// Lets each message be the first one, and the last one.
    fn by_order(&mut self, mentioned: &Mentioned) {
        if !["loop", "messages"].iter().any(|name| mentioned.names.iter().any(|own| own == name)) {
            return;
        }
        let count = self.base.messages().len();
        for at in 1..count {
            self.push(edits::with_range(self.base, at..count));
            self.push(edits::with_range(self.base, 0..at));
        }
    }

    /// So many messages, items, entries and characters, one at a time.
    pub(super) fn sizes(&mut self, count: usize) {
        if (1..=MOST_ITEMS).contains(&count) {
            self.push(with_messages(self.base, count));
        }
        for (path, _) in lists(self.base).into_iter().filter(|_| count <= MOST_ITEMS) {
            self.push(with_items(self.base, &path, count));
        }
        for path in objects(self.base).into_iter().filter(|_| count <= MOST_ITEMS) {
            if matches!(path.last(), Some(Step::Key(key)) if key == "arguments" || key == "properties") {
                self.push(with_entries(self.base, &path, count));
            }
        }
        if !(2..=LONGEST).contains(&count) {
            return;
        }
        for (path, _) in texts(self.base).into_iter().take(8) {
            let text: String = "zq".chars().cycle().take(count).collect();
            self.push(with_value(self.base, &path, text.into()));
        }
        for (path, value) in arguments(self.base) {
            if matches!(value, Value::Number(_)) {
                self.push(with_value(self.base, &path, count.into()));
            }
        }
    }

    /// Puts the texts of the condition wherever a text is.
    fn by_constants(&mut self, goal: &Goal, mentioned: &Mentioned) {
        if matches!(goal.relation, Relation::Test | Relation::Items) && mentioned.texts.is_empty() {
            return;
        }
        for constant in &mentioned.texts {
            for (path, text) in texts(self.base).into_iter().take(8) {
                for made in [constant.clone(), format!("{constant}{text}"), format!("{text}{constant}")] {
                    self.push(with_value(self.base, &path, made.into()));
                }
            }
            for path in objects(self.base) {
                if let Some(Step::Key(key)) = path.last()
                    && key == "arguments"
                {
                    self.push(with_key(self.base, &path, constant, Some("zqc".into())));
                }
            }
        }
    }

    /// Adds the keys that the condition looks up, wherever an object is, with a text or with what is compared.
    fn by_keys(&mut self, goal: &Goal, mentioned: &Mentioned) {
        let mut values: Vec<Value> = mentioned.texts.iter().map(|text| text.as_str().into()).collect();
        if goal.wanted || goal.relation == Relation::Equal {
            values.extend(["zqv".into(), true.into(), 1.into()]);
        }
        values.extend([false.into(), Value::Null, "".into()]);
        values.push(Value::List(vec!["zqv".into()]));
        values.push(object([("zqk", "zqv".into())]));
        let places = objects(self.base);
        for key in &mentioned.keys {
            for value in values.iter().take(7) {
                for path in places.iter().take(12) {
                    self.push(with_key(self.base, path, key, Some(value.clone())));
                }
            }
            for path in &places {
                self.push(with_key(self.base, path, key, None));
            }
        }
    }

    /// Every month, day of the week and quarter of a day.
    fn by_clock(&mut self, mentioned: &Mentioned, clock: &str) {
        if !mentioned.has_clock {
            return;
        }
        let (year, time) = (clock.get(..4).unwrap_or("2026"), clock.get(10..).unwrap_or("T08:00:00"));
        for month in 1..=12 {
            self.push(Some(with_clock(self.base, format!("{year}-{month:02}-01{time}"))));
        }
        for day in 2..=31 {
            self.push(Some(with_clock(self.base, format!("{year}-01-{day:02}{time}"))));
        }
        for hour in [0, 6, 12, 18, 23] {
            let date = clock.get(..10).unwrap_or("2026-01-01");
            self.push(Some(with_clock(self.base, format!("{date}T{hour:02}:00:00"))));
        }
        for year in mentioned.texts.iter().filter(|text| text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit())) {
            self.push(Some(with_clock(self.base, format!("{year}-01-05{time}"))));
        }
    }
}

/// A text, or the texts of a list.
fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::List(items) => Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        _ => None,
    }
}

/// The values of arguments, with their paths.
fn arguments(base: &Conversation) -> Vec<(Path, Value)> {
    let mut found = Vec::new();
    if let Some(messages) = base.context.get("messages") {
        let mut path = vec![Step::Key("messages".to_owned())];
        edits::walk(messages, &mut path, &mut |path, value| {
            if path.iter().any(|step| matches!(step, Step::Key(key) if key == "arguments")) {
                found.push((path.clone(), value.clone()));
            }
        });
    }
    found
}
