//! A proof as a grid of conversations, and each conversation with the positions of its parts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;

use super::colors::{self, color};
use super::html::Html;
use super::page::Mood;
use super::sides;
use crate::repair::Plan;
use crate::replay::{Recording, Run};
use backchat_core::diagnostic::shortened;
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_derive::derive::{self, Conversation, Failure, Fate, Options, Verdict};
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::Mode;
use backchat_parser::template::Template;

/// How much of an example is shown in a sentence, in characters.
const EXCERPT: usize = 240;

/// A conversation, and how the template reads its turn.
pub(super) struct Shown {
    pub conversation: Conversation,
    pub recording: Recording,
}

pub(super) struct Proof {
    pub conversations: Vec<Shown>,
    verdict: Verdict,
    plan: Option<Plan>,
}

impl Proof {
    /// Judges the conversations again and parses each turn to locate its parts.
    pub fn new(source: &str, template: &Template, verdict: &Verdict, options: &Options) -> Self {
        let tools = Tools::new(&derive::proof_tools()).ok().map(Arc::new);
        let conversations = match verdict.cases {
            0 => Vec::new(),
            _ => derive::conversations(source, template, options),
        };
        let shown = conversations.into_iter().filter_map(|conversation| {
            let run = Run {
                template,
                prefix: &conversation.prefix,
                mode: Mode::Stable,
                tools: tools.clone(),
                recovery: Default::default(),
            };
            let recording = Recording::new(&run, [conversation.text.as_str()]).ok()?;
            Some(Shown { conversation, recording })
        });
        Self { conversations: shown.collect(), verdict: verdict.clone(), plan: None }
    }

    /// The same, with the repairs of what fails.
    pub fn with_repairs(self, plan: Option<&Plan>) -> Self {
        Self { plan: plan.cloned(), ..self }
    }

    /// The turn with the most parts, and of those the shortest that is read right.
    pub fn fullest(&self) -> Option<&Shown> {
        self.conversations.iter().min_by_key(|shown| {
            let conversation = &shown.conversation;
            let parts = conversation.expected.as_object().map_or(0, |message| message.len());
            let is_read = matches!(conversation.fate, Fate::Passed);
            (usize::MAX - parts, !is_read, conversation.text.len())
        })
    }
}

impl Shown {
    fn mood(&self) -> (Mood, &'static str, &'static str) {
        match self.conversation.fate {
            Fate::Passed => (Mood::Good, "✓", "parses back exactly"),
            Fate::Lost(_) => (Mood::Doubtful, "~", "loses something to the wire format"),
            Fate::Failed(_) => (Mood::Bad, "✗", "parses back differently"),
        }
    }

    fn setting(&self) -> Option<String> {
        let setting = &self.conversation.setting;
        (!setting.is_empty()).then(|| Value::Object(setting.clone()).to_string())
    }
}

/// The verdict, the failures and losses, and the grid: a row for each answer, a column for each history.
pub(super) fn grid(html: &mut Html, proof: &Proof) {
    let verdict = &proof.verdict;
    let (cases, passed, lost, failed) = (verdict.cases, verdict.passed, verdict.lost(), verdict.failed());
    let words = format!(
        "{cases} conversations were rendered. The last turn of each was cut out and parsed whole and one character at a \
         time, with and without the stop token. {passed} parse back exactly, {lost} lose something to the wire format, \
         {failed} parse back differently."
    );
    html.tag("p", "", &words);
    causes(html, proof);
    let (mut rows, mut columns) = (IndexSet::new(), IndexSet::new());
    let mut cells: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (index, shown) in proof.conversations.iter().enumerate() {
        let Conversation { said, after, .. } = &shown.conversation;
        let cell = (rows.insert_full(said.as_str()).0, columns.insert_full(after.as_str()).0);
        cells.entry(cell).or_default().push(index);
    }
    html.of_class("div", "wide", |html| {
        let titles: Vec<&str> = std::iter::once("said, after …").chain(columns.iter().copied()).collect();
        html.table("grid", "Each cell opens its conversation.", &titles, |html| {
            for (row, said) in rows.iter().enumerate() {
                let header = |html: &mut Html| html.text(said);
                html.row(header, |html| {
                    for (column, after) in columns.iter().enumerate() {
                        let found = cells.get(&(row, column)).map_or(&[][..], Vec::as_slice);
                        html.cell(&format!("after {after}"), |html| {
                            found.iter().for_each(|index| mark(html, proof, *index))
                        });
                    }
                });
            }
        });
    });
}

fn mark(html: &mut Html, proof: &Proof, index: usize) {
    let Some(shown) = proof.conversations.get(index) else { return };
    let (mood, sign, words) = shown.mood();
    let (said, after) = (&shown.conversation.said, &shown.conversation.after);
    let with = shown.setting().map_or_else(String::new, |setting| format!(", with {setting}"));
    let (class, link) = (format!("mark {}", mood.class()), format!("#c{index}"));
    let title = format!("{said}, after {after}{with}: {words}");
    let attributes = [("class", class.as_str()), ("href", &link), ("title", &title), ("aria-label", &title)];
    html.element("a", &attributes, |html| html.text(sign));
}

/// Failures and losses, one cause at a time.
fn causes(html: &mut Html, proof: &Proof) {
    let verdict = &proof.verdict;
    if !verdict.failures.is_empty() {
        html.tag("h3", "", "Failures");
        html.of_class("ul", "notes", |html| {
            for failure in &verdict.failures {
                html.of_class("li", "bad", |html| {
                    html.prose(&failure.describe());
                    hint(html, proof, failure);
                });
            }
        });
    }
    if !verdict.losses.is_empty() {
        html.tag("h3", "", "Losses");
        html.of_class("ul", "notes", |html| {
            for loss in &verdict.losses {
                html.of_class("li", "doubtful", |html| {
                    html.prose(&loss.describe());
                    if !loss.example.is_empty() {
                        html.of_class("p", "", |html| html.tag("code", "", &shortened(&loss.example, EXCERPT)));
                    }
                });
            }
        });
    }
}

/// Every conversation, failures first; those that passed are folded.
pub(super) fn texts(html: &mut Html, proof: &Proof) {
    if let Some(shown) = proof.conversations.first() {
        colors::legend(html, &shown.recording);
    }
    let mut order: Vec<(usize, &Shown)> = proof.conversations.iter().enumerate().collect();
    order.sort_by_key(|(_, shown)| Reverse(shown.mood().0));
    for (place, (index, shown)) in order.into_iter().enumerate() {
        let (mood, sign, words) = shown.mood();
        // The first few failures are unfolded.
        let is_open = mood == Mood::Bad && place < 3;
        let summary = |html: &mut Html| {
            html.tag("span", &format!("mark {}", mood.class()), sign);
            html.text(" ");
            html.text(&format!("{}, after {}", shown.conversation.said, shown.conversation.after));
            if let Some(setting) = shown.setting() {
                html.text(", with ");
                html.tag("code", "", &setting);
            }
            html.tag("span", "aside", &format!(" {words}"));
        };
        html.folded(is_open, summary, |html| {
            html.target(&format!("c{index}"), |html| conversation(html, proof, shown));
        });
    }
}

/// The text of a conversation, and its message: beside the expected one unless they are the same.
fn conversation(html: &mut Html, proof: &Proof, shown: &Shown) {
    let recording = &shown.recording;
    let got = || Value::Object(recording.message(recording.end()));
    match &shown.conversation.fate {
        Fate::Passed => {
            colors::text(html, recording);
            sides::json(html, &got());
        }
        Fate::Lost(loss) => {
            colors::text(html, recording);
            html.words("p", "help", &loss.message);
            sides::values(html, ["expected", "parsed"], &shown.conversation.expected, &got());
        }
        Fate::Failed(failure) => {
            html.words("p", "bad", &failure.describe());
            hint(html, proof, failure);
            html.of_class("div", "sides", |html| {
                html.figure("positions of the parts", |html| expected(html, shown));
                html.figure("how it was parsed", |html| colors::text(html, recording));
            });
            sides::values(html, ["expected", "parsed"], &failure.expected, &failure.got);
        }
    }
}

/// The repair that fixes a failure, or else what its boundary suggests.
fn hint(html: &mut Html, proof: &Proof, failure: &Failure) {
    let step = proof.plan.as_ref().and_then(|plan| plan.step_of(failure));
    let hint = step.map(|step| step.repair.describe()).or_else(|| failure.hint());
    hint.iter().for_each(|hint| html.words("p", "help", hint));
}

/// The turn with the parts of its message at their positions.
fn expected(html: &mut Html, shown: &Shown) {
    let text = &shown.conversation.text;
    let fields = shown.recording.template().fields();
    let mut at = 0;
    html.pre(&[("class", "text")], |html| {
        for (start, end, key) in places(text, &shown.conversation.expected) {
            if start < at {
                continue;
            }
            html.lines(slice(text, at..start));
            let class = fields.iter().position(|field| field.name == key).map_or_else(|| "f".to_owned(), color);
            html.element("span", &[("class", &class), ("data-f", key)], |html| {
                html.lines(slice(text, start..end));
            });
            at = end;
        }
        html.lines(slice(text, at..));
    });
}

/// The positions of a message's texts in its rendered turn, in order.
fn places<'m>(text: &str, message: &'m Value) -> Vec<(usize, usize, &'m str)> {
    let mut places = Vec::new();
    for (key, value) in message.as_object().into_iter().flatten().filter(|(key, _)| *key != "role") {
        let mut from = 0;
        strings(value, &mut |part| {
            let part = part.trim();
            if let Some(at) = text.get(from..).and_then(|rest| rest.find(part)).filter(|_| !part.is_empty()) {
                places.push((from + at, from + at + part.len(), key));
                from += at + part.len();
            }
        });
    }
    places.sort_unstable();
    places
}

/// The texts of a value that occur in a turn: its own, or the names and arguments of its calls.
fn strings<'v>(value: &'v Value, take: &mut impl FnMut(&'v str)) {
    match value {
        Value::String(text) => take(text),
        Value::List(calls) => {
            for function in calls.iter().filter_map(|call| call.get("function")) {
                function.get("name").and_then(Value::as_str).into_iter().for_each(&mut *take);
                let arguments = function.get("arguments").and_then(Value::as_object);
                arguments.into_iter().flatten().filter_map(|(_, value)| value.as_str()).for_each(&mut *take);
            }
        }
        _ => {}
    }
}
