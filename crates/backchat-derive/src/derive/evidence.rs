//! Evidence: two renders of requests that differ in one thing, and the bytes in which the renders differ.

use crate::wire::structure::WireFormat;
use backchat_core::diagnostic::line_column;
use backchat_core::distinct;
use backchat_core::json::Value;
use backchat_core::text::{common_end, common_start, is_word, runs, slice};
use backchat_probe::diff::{self, DiffTag};
use backchat_probe::probe::{Answer, Message, Prober, Setting, call, needle};

/// Two renders and their differences.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The finding it supports.
    pub finding: &'static str,
    /// The first render, in words.
    pub without: String,
    /// The second render, in words.
    pub with: String,
    pub first: String,
    /// The ranges in which the second render differs, in order.
    pub changes: Vec<Change>,
}

/// A range in which the second render differs from the first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Its position in the second render, in bytes.
    pub at: usize,
    /// What the first render has there.
    pub removed: String,
    /// What the second render has there.
    pub inserted: String,
    /// The lines of the chat template that print this range of the second render, in order, each with its text; empty if
    /// unknown.
    pub printed: Vec<Printed>,
}

/// What a line of the chat template prints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    /// The line, counted from 1.
    pub line: usize,
    pub text: String,
}

fn changes(without: &str, with: &str) -> Vec<Change> {
    // Only compare the text between the common ends.
    let start = common_start(without, with).len();
    let (a, b) = (slice(without, start..), slice(with, start..));
    let end = common_end(a, b).len();
    let (a, b) = (slice(a, ..a.len() - end), slice(b, ..b.len() - end));
    // A change should not split a word.
    let [a, b] = [a, b].map(|text| runs(text, |c| is_word(c).then_some(0)));
    let join = |pieces: &[&str], range: std::ops::Range<usize>| pieces.get(range).unwrap_or(&[]).concat();
    diff::operations(&a, &b)
        .into_iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| Change {
            at: start + join(&b, 0..op.new_range().start).len(),
            removed: join(&a, op.old_range()),
            inserted: join(&b, op.new_range()),
            printed: Vec::new(),
        })
        .collect()
}

/// A request for a render, and its description.
struct Asked<'a> {
    words: &'a str,
    messages: &'a [Message],
    setting: &'a Setting,
    generation_prompt: bool,
}

impl Asked<'_> {
    fn prompted(self) -> Self {
        Self { generation_prompt: true, ..self }
    }

    fn render(&self, prober: &Prober) -> Option<String> {
        prober.render(self.messages, self.setting, self.generation_prompt)
    }

    /// Records for each change which lines of the chat template print it.
    fn trace(&self, prober: &Prober, text: &str, changes: &mut [Change]) {
        let known = prober.origins(self.messages, self.setting, self.generation_prompt, text).unwrap_or_default();
        // Nothing prints a text that is only left out.
        for change in changes.iter_mut().filter(|change| !change.inserted.is_empty()) {
            let (start, end) = (change.at, change.at + change.inserted.len());
            for origin in known.iter().filter(|origin| origin.text.end > start && origin.text.start < end) {
                let piece = slice(text, origin.text.start.max(start)..origin.text.end.min(end));
                let (line, _) = line_column(prober.template().source(), origin.source.start);
                match change.printed.last_mut() {
                    Some(last) if last.line == line => last.text.push_str(piece),
                    _ => change.printed.push(Printed { line, text: piece.to_owned() }),
                }
            }
        }
    }
}

/// Renders the evidence for a wire, and compares.
pub(super) fn collect(prober: &Prober, wire: &WireFormat) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let mut add = |finding: &'static str, without: Asked<'_>, with: Asked<'_>| {
        let (Some(first), Some(second)) = (without.render(prober), with.render(prober)) else { return };
        let mut changes = changes(&first, &second);
        if !changes.is_empty() {
            with.trace(prober, &second, &mut changes);
            let (without, with) = (without.words.to_owned(), with.words.to_owned());
            evidence.push(Evidence { finding, without, with, first, changes });
        }
    };
    let base = Setting::new();
    let user = [Message::User(needle::USER.to_owned())];
    add(
        "turn",
        full("a user message without the generation prompt", &user, &base),
        full("the same with the generation prompt", &user, &base).prompted(),
    );
    let settings = distinct(wire.prompts.iter().map(|prompt| &prompt.setting));
    for (setting, (name, value)) in settings.into_iter().filter_map(|setting| Some((setting, setting.first()?))) {
        let with = format!("the prompt with {name} = {value}");
        let other = full(&with, &user, setting).prompted();
        add("generation_prompts", full("the prompt as it is", &user, &base).prompted(), other);
    }
    let after_user = |answer: Answer| [user.as_slice(), &[Message::Assistant(answer)]].concat();
    let content = Answer::content(needle::CONTENT);
    let answer = after_user(content.clone());
    add("content", full("a user message", &user, &base), full("the same with an answer", &answer, &base));
    if let Some(reasoning) = &wire.reasoning {
        let setting = &reasoning.setting;
        let thought = after_user(content.with_reasoning(needle::REASONING));
        add("reasoning", full("an answer", &answer, setting), full("the same with reasoning", &thought, setting));
    }
    if let Some(calls) = &wire.calls {
        let setting = &calls.setting;
        let one = after_user(Answer::calls(vec![call(0, 1)]));
        let two = after_user(Answer::calls(vec![call(0, 1), call(1, 1)]));
        let more = after_user(Answer::calls(vec![call(0, 2)]));
        let none = after_user(Answer::calls(vec![call(0, 0)]));
        let full = |words, messages| full(words, messages, setting);
        add("tools", full("an answer", &answer), full("a call instead", &one));
        add("tools", full("one call", &one), full("two calls", &two));
        add("arguments", full("a call without arguments", &none), full("a call with one", &one));
        add("arguments", full("a call with one argument", &one), full("a call with two", &more));
    }
    evidence
}

/// A conversation without the prompt for the next turn.
fn full<'a>(words: &'a str, messages: &'a [Message], setting: &'a Setting) -> Asked<'a> {
    Asked { words, messages, setting, generation_prompt: false }
}

impl Evidence {
    /// The pair as JSON.
    pub fn to_value(&self) -> Value {
        let printed =
            |printed: &Printed| Value::from([("line", printed.line.into()), ("text", printed.text.as_str().into())]);
        let changes = self.changes.iter().map(|change| {
            Value::from([
                ("at", change.at.into()),
                ("removed", change.removed.as_str().into()),
                ("inserted", change.inserted.as_str().into()),
                ("printed", Value::List(change.printed.iter().map(printed).collect())),
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
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;

    #[test]
    fn changes_are_whole_words_at_their_byte() {
        let found = changes("é<end>", "é<call>name</call><end>");
        let inserted = "call>name</call><".to_owned();
        assert_eq!(found, [Change { at: 3, removed: String::new(), inserted, printed: Vec::new() }]);
    }

    #[test]
    fn a_text_that_is_left_out_is_printed_by_no_line() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None);
        let messages = [Message::User("Hi".to_owned()), Message::User("Ho".to_owned())];
        let setting = Setting::default();
        let asked = Asked { words: "", messages: &messages, setting: &setting, generation_prompt: false };
        let text = asked.render(&prober).unwrap();
        let change = |removed: &str, inserted: &str| {
            let (removed, inserted) = (removed.to_owned(), inserted.to_owned());
            Change { at: text.find("user").unwrap() + 2, removed, inserted, printed: Vec::new() }
        };
        let mut changes = [change("!", ""), change("", "er")];
        asked.trace(&prober, &text, &mut changes);
        assert_eq!(changes[0].printed, []);
        assert_eq!(changes[1].printed, [Printed { line: 1, text: "er".to_owned() }]);
    }
}
