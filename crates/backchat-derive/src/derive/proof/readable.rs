//! Turns for a readable fixture: typical answers and calls, cut out of renders of a chat template.

use std::sync::Arc;

use super::Proof;
use super::case::{Case, Cutter, TurnStarts};
use super::conversations::{History, Reach, TestAnswer, call, one_tool};
use super::judge::Judge;
use super::reading::{message_of, reasoning_field};
use super::verdict::Fate;
use backchat_chat::Origin;
use backchat_core::json::{Object, Value};
use backchat_parser::parser::Tools;
use backchat_parser::template::Template;
use backchat_probe::probe::schema::of_type as typed;
use backchat_probe::probe::{Answer, Message, Prober};

/// The text of one turn, and its message.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadableTurn {
    /// A short description of the answer.
    pub name: &'static str,
    /// The prompt.
    pub prefix: String,
    /// The output of the model, without the stop token if that is known.
    pub output: String,
    /// The token it stops at.
    pub stop: Option<String>,
    /// The variables of the chat template under which it writes the turn.
    pub variables: Object,
    /// The message, with the names of the response template.
    pub message: Object,
    /// What the wire format loses, if the message differs from the answer for that reason.
    pub loss: Option<String>,
    /// The places of the chat template that print the output and its stop; empty if unknown.
    pub origins: Vec<Origin>,
}

/// The turns, and the conversation and tools they share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadableTurns {
    /// The conversation before each of them.
    pub messages: Vec<Value>,
    /// The tools that were offered, if the chat template shows calls.
    pub tools: Option<Value>,
    /// The turns, from plain to complex.
    pub turns: Vec<ReadableTurn>,
}

const QUESTION: &str = "Do I need a coat in Oslo or in Rome today? And please book a table for tonight.";
const THOUGHT: &str = "Two cities, so I compare them.\nOslo is cold today.";
const ANSWER: &str = "Take a coat to Oslo. In Rome you will not need one.";
const LIST: &str = "- **Oslo**: 4 °C, rain\n- **Rome**: 19 °C, sunny\n\nTake a coat to Oslo only.";

/// The answers, from plain to complex, each for one part that a template must read.
fn said() -> Vec<(&'static str, Answer)> {
    let weather = |id: &str, city: &str| call(id, "get_weather", &format!(r#"{{"city": "{city}", "days": 1}}"#));
    let oslo = || weather("a1B2c3D4e", "Oslo");
    let both = || vec![oslo(), weather("f5G6h7I8j", "Rome")];
    let table = r#"{"restaurant": "Trattoria \"da Gino\"", "guests": 2, "outdoor": false, "dishes": ["gnocchi", "panna cotta"], "contact": {"name": "Ana Sørensen", "phone": "+47 22 00 00 00"}, "note": "No nuts.\nA quiet corner, please."}"#;
    let one = |name: &str, arguments: &str| Answer::calls(vec![call("a1B2c3D4e", name, arguments)]);
    vec![
        ("an answer", Answer::content(ANSWER)),
        ("an answer with a list", Answer::content(LIST)),
        ("a thought and an answer", Answer::content(ANSWER).with_reasoning(THOUGHT)),
        ("a call", Answer::calls(vec![oslo()])),
        ("two calls in parallel", Answer::calls(both())),
        ("an answer and a call", Answer::calls(vec![oslo()]).with_content("I will look up the weather in Oslo.")),
        ("a thought and a call", Answer::calls(vec![oslo()]).with_reasoning(THOUGHT)),
        (
            "a thought, an answer and two calls",
            Answer::calls(both()).with_content("I will look up both cities.").with_reasoning(THOUGHT),
        ),
        ("a call without arguments", one("get_time", "{}")),
        ("a call with text that looks like a number", one("find_city", r#"{"postal_code": "00184"}"#)),
        ("a call with nested arguments", one("book_table", table)),
    ]
}

/// The tools that are called, as a caller would define them.
fn tools() -> Value {
    let contact = [("name", typed("string")), ("phone", typed("string"))].map(|(key, kind)| (key.to_owned(), kind));
    let contact =
        Value::from([("type", "object".into()), ("properties", Value::Object(contact.into_iter().collect()))]);
    let dishes = Value::from([("type", "array".into()), ("items", typed("string"))]);
    let table = vec![
        ("restaurant", typed("string")),
        ("guests", typed("integer")),
        ("outdoor", typed("boolean")),
        ("dishes", dishes),
        ("contact", contact),
        ("note", typed("string")),
    ];
    Value::List(vec![
        one_tool("get_weather", "The weather in a city.", vec![("city", typed("string")), ("days", typed("integer"))]),
        one_tool("get_time", "The time now.", vec![]),
        one_tool("find_city", "The city of a postal code.", vec![("postal_code", typed("string"))]),
        one_tool("book_table", "Book a table in a restaurant.", table),
    ])
}

impl Proof<'_> {
    /// The turns that this chat template writes, with the message that a response template reads in each. A turn that the
    /// response template misreads keeps the original message.
    pub fn readable(&self, template: &Template) -> Option<ReadableTurns> {
        let shows_calls = self.request.calls.shown;
        let tools = tools();
        let offering = self.offering.offering(Some(super::offered_as(self.request.request_shape, tools.clone())));
        let mut request = self.request.clone();
        // One prompt leads to all turns, with or without calls.
        request.always_tools = shows_calls;
        let messages = vec![Message::User(QUESTION.to_owned())];
        let history = History::main("after a question".to_owned(), messages.clone());
        let (histories, turn_starts) = (vec![history], TurnStarts::default());
        let Self { plain, tokens, .. } = self;
        let cutter = Cutter { plain, offering: &offering, request: &request, histories, tokens: *tokens, turn_starts };
        let mut cutter = cutter.with_openings();
        let known_tools = Tools::new(&tools).map(Arc::new).ok()?;
        let judge = Judge::new(template, known_tools, &self.plain, &offering);
        let mut turns = Vec::new();
        for (name, answer) in said() {
            let said = TestAnswer::new(name, answer, Reach::Value, request.calls.named_ids);
            let Some(case) = cutter.cases(&[said]).into_iter().next() else { continue };
            // Without a part that the template drops, this would be another answer.
            if !case.drops_content {
                let prober = if case.offers_tools { &offering } else { &self.plain };
                turns.push(ReadableTurn { origins: origins(&case, prober), ..turn(name, &case, &judge) });
            }
        }
        let messages = match request.request_shape.messages(&messages, None) {
            Value::List(messages) => messages,
            _ => Vec::new(),
        };
        Some(ReadableTurns { messages, tools: shows_calls.then_some(tools), turns })
    }
}

fn turn(name: &'static str, case: &Case, judge: &Judge<'_, '_>) -> ReadableTurn {
    let output = case.unstopped.clone().unwrap_or_else(|| case.text.clone());
    let stop = case.text.strip_prefix(&output).filter(|stop| !stop.is_empty()).map(str::to_owned);
    let read = |prefix: &str| Some(judge.read(prefix, &output).ok()?.0);
    let (loss, is_read) = match judge.fate(case) {
        Fate::Passed => (None, true),
        Fate::Lost(loss) => (Some(loss.message), true),
        Fate::Failed(_) => (None, false),
    };
    let whole = read(&case.prefix);
    // Leave out the system prompt and the tools if the parser reads the turn the same.
    let short = from_question(&case.prefix).filter(|short| read(short) == whole);
    let prefix = short.unwrap_or(&case.prefix).to_owned();
    let said = || match message_of(&case.expected, reasoning_field(judge.template)) {
        Value::Object(message) => message,
        _ => Object::new(),
    };
    let message = whole.filter(|_| is_read).unwrap_or_else(said);
    ReadableTurn { name, prefix, output, stop, variables: case.setting.clone(), message, loss, origins: Vec::new() }
}

/// The places of the chat template that print the text of a case.
fn origins(case: &Case, prober: &Prober<'_>) -> Vec<Origin> {
    let messages = case.with(case.said.clone());
    let Some(start) = case.whole.rfind(&case.text) else { return Vec::new() };
    let end = start + case.text.len();
    let known = prober.origins(&messages, &case.setting, false, &case.whole).unwrap_or_default();
    let inside = known.into_iter().filter(|origin| origin.text.end > start && origin.text.start < end);
    let counted_from_start = |mut origin: Origin| {
        origin.text = origin.text.start.saturating_sub(start)..origin.text.end.min(end).saturating_sub(start);
        origin
    };
    inside.map(counted_from_start).collect()
}

/// The prompt from the user's turn on: from the line of the question, or from the last place in that line where one mark
/// follows another.
fn from_question(prompt: &str) -> Option<&str> {
    let question = prompt.rfind(QUESTION)?;
    let before = prompt.get(..question)?;
    let line = before.trim_end().rfind('\n').map_or(0, |newline| newline + 1);
    let between_marks = ["><", "]["].iter().filter_map(|marks| before.rfind(marks)).max().map_or(0, |at| at + 1);
    prompt.get(line.max(between_marks)..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER as ANSWER_TEMPLATE, CHAT};

    #[test]
    fn the_origins_of_a_turn_cover_its_output_and_stop() {
        let template = crate::derive::by_hand::template(ANSWER_TEMPLATE);
        let turns = crate::derive::readable_turns(CHAT, &template, &crate::derive::Options::default()).unwrap().turns;
        assert!(turns.len() > 3);
        for turn in turns {
            let length = turn.output.len() + turn.stop.as_deref().map_or(0, str::len);
            let ends: Vec<usize> = turn.origins.iter().map(|origin| origin.text.end).collect();
            let starts: Vec<usize> = turn.origins.iter().map(|origin| origin.text.start).collect();
            assert_eq!((starts.first(), ends.last()), (Some(&0), Some(&length)), "{}", turn.name);
            assert_eq!(starts[1..], ends[..ends.len() - 1], "{}", turn.name);
            let last = turn.origins.last().unwrap();
            assert_eq!(&CHAT[last.source.clone()], "<end>", "{}", turn.name);
        }
    }

    #[test]
    fn a_prompt_is_cut_before_the_turn_of_the_user() {
        for (before, shown) in [
            ("<tools>[]\n<user>", "<user>"),
            ("<s>\n# Tools\n<|user|>user\n\n", "<|user|>user\n\n"),
            ("<s><tools>[]</tools><|user|>user<|says|>", "<|user|>user<|says|>"),
            ("[TOOLS][][/TOOLS][INST]", "[INST]"),
            ("", ""),
        ] {
            let prompt = format!("{before}{QUESTION}<bot>");
            assert_eq!(from_question(&prompt), Some(format!("{shown}{QUESTION}<bot>").as_str()), "{before}");
        }
        assert_eq!(from_question("no question"), None);
    }
}
