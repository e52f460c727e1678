//! Conversations to prove a draft with; none of them is a probe.

use super::conversation::{Answer, Call, Message};
use crate::json::{self, Object, Value};

/// A name for the case, and what the assistant says in it.
pub(super) struct Sample {
    pub name: String,
    pub answer: Answer,
    /// Whether it shows how one text or argument is written, and nothing else.
    pub is_about_a_value: bool,
}

impl Sample {
    /// Gives calls ids that hold their names, for templates that write nothing else.
    pub fn name_ids(&mut self) {
        for (i, call) in self.answer.calls.iter_mut().enumerate() {
            call.id = format!("tools.{}:{i}", call.name);
        }
    }
}

/// The histories that proofs start from.
pub(super) fn histories() -> Vec<(&'static str, Vec<Message>)> {
    let user = |text: &str| Message::User(text.to_owned());
    let lookup = call("c4LL9xyz1", "lookup_city", r#"{"query": "Ghent"}"#);
    let result = Message::Tool {
        id: lookup.id.clone(),
        name: lookup.name.clone(),
        content: r#"{"population": 265000}"#.to_owned(),
    };
    vec![
        ("after a question", vec![user("How far is it to Ghent?")]),
        (
            "after earlier turns",
            vec![
                Message::System("Answer in one line.".to_owned()),
                user("Good morning."),
                Message::Assistant(Answer::content("Good morning to you.")),
                user("How far is it to Ghent?"),
            ],
        ),
        (
            "after a tool's result",
            vec![user("How many people live there?"), Message::Assistant(Answer::calls(vec![lookup])), result],
        ),
    ]
}

fn call(id: &str, name: &str, arguments: &str) -> Call {
    let arguments = match json::read(arguments) {
        Ok(Value::Object(entries)) => entries,
        _ => Object::new(),
    };
    Call { id: id.to_owned(), name: name.to_owned(), arguments }
}

const THOUGHT: &str =
    "The user wants a distance.\nBrussels to Ghent: about 55 km, if x < 60 holds.\n\n- so \"55\" it is";

/// What assistants say, plain and tricky; `marks` are the draft's own delimiters, whose beginnings must stay text.
pub(super) fn answers(marks: &[String]) -> Vec<Sample> {
    let mut answers: Vec<(String, Answer)> = Vec::new();
    let mut values: Vec<(String, Answer)> = Vec::new();
    answers.push(("a short answer".to_owned(), Answer::content("About 55 km.")));
    let texts = [
        ("paragraphs", "About 55 km.\n\nBy train it takes half an hour.\n\n1. Buy a ticket.\n2. Get on."),
        ("code", "Use this:\n\n```python\ndef far(km):\n    return [km] if km > 50 else {\"near\": km}\n```\n\nDone."),
        ("signs", "If a < b & c > d then {x} or [y] or <b>z</b> | see (e), f(g), h(i)."),
        ("JSON", "{\"distance\": 55, \"unit\": [\"km\"]}"),
        ("an object with a name", "{\"name\": \"Ghent\", \"size\": 3}"),
        ("other scripts", "Het is 55 km – 根特很近。 Ça va! 🚆"),
    ];
    for (name, text) in texts {
        values.push((name.to_owned(), Answer::content(text)));
    }
    let beginnings: Vec<&str> = marks.iter().filter_map(|mark| beginning(mark)).collect();
    if !beginnings.is_empty() {
        let text = format!("These are not complete: {} and no more.", beginnings.join(" , "));
        values.push(("beginnings of marks".to_owned(), Answer::content(&text)));
    }
    let arguments = [
        ("no arguments", "{}"),
        ("a string", r#"{"city": "Ghent"}"#),
        ("an integer", r#"{"city": "Ghent", "days": 4217}"#),
        ("a float", r#"{"city": "Ghent", "ratio": 3.25}"#),
        ("a boolean", r#"{"city": "Ghent", "exact": true}"#),
        ("null", r#"{"city": "Ghent", "note": null}"#),
        ("a list", r#"{"city": "Ghent", "tags": ["a", "b c"]}"#),
        ("an object", r#"{"city": "Ghent", "options": {"mode": "fast", "deep": {"max": 12, "on": false}}}"#),
        ("a string of digits", r#"{"city": "Ghent", "zip": "09000"}"#),
        ("an empty string", r#"{"city": "", "zip": "1"}"#),
        ("lines", r#"{"code": "def f(x):\n    if x:\n        return 1\n\nprint(f(2))", "days": 3}"#),
        ("signs", r#"{"code": "if a < b and c > d: x = <T>y; z = {k: [1]}"}"#),
        ("quotes", r#"{"code": "say(\"it's\", 'b')"}"#),
        ("other scripts", r#"{"city": "根特 🚆"}"#),
    ];
    for (name, arguments) in arguments {
        let tool = if arguments.contains("code") { "run_code" } else { "get_route" };
        values.push((format!("a call with {name}"), Answer::calls(vec![call("a1B2c3D4e", tool, arguments)])));
    }
    let first = call("a1B2c3D4e", "get_route", r#"{"city": "Ghent", "days": 2}"#);
    let second = call("f5G6h7I8j", "save-note.v2", r#"{"title": "trip"}"#);
    let third = call("k9L0m1N2o", "get_time", "{}");
    let two = Answer::calls(vec![first.clone(), second.clone()]);
    let three = Answer::calls(vec![first.clone(), second, third]);
    let one = Answer::calls(vec![first]);
    answers.push(("two calls".to_owned(), two.clone()));
    answers.push(("three calls".to_owned(), three));
    answers.push(("an answer and a call".to_owned(), one.clone().with_content("Let me look that up.")));
    answers.push(("an answer and two calls".to_owned(), two.clone().with_content("I need two things.\n\nWait.")));
    answers.push(("reasoning and an answer".to_owned(), Answer::content("About 55 km.").with_reasoning(THOUGHT)));
    answers.push(("reasoning and a call".to_owned(), one.clone().with_reasoning(THOUGHT)));
    answers.push(("reasoning, an answer and a call".to_owned(), one.with_content("A moment.").with_reasoning(THOUGHT)));
    answers.push(("reasoning and two calls".to_owned(), two.with_reasoning(THOUGHT)));
    let sample = |is_about_a_value| move |(name, answer)| Sample { name, answer, is_about_a_value };
    answers.into_iter().map(sample(false)).chain(values.into_iter().map(sample(true))).collect()
}

/// The first half of a mark, where that much says nothing yet.
fn beginning(mark: &str) -> Option<&str> {
    let half = mark.chars().count() / 2;
    let at = mark.char_indices().nth(half)?.0;
    mark.get(..at).filter(|text| !text.trim().is_empty())
}

/// The definitions of the tools of these samples, in OpenAI's form.
pub fn tools() -> Value {
    let typed = |kind: &str| Value::from([("type", kind.into())]);
    let properties = |entries: Vec<(&str, &str)>| -> Value {
        let entries: Object = entries.into_iter().map(|(name, kind)| (name.to_owned(), typed(kind))).collect();
        Value::from([("type", "object".into()), ("properties", Value::Object(entries))])
    };
    let tool = |name: &str, parameters: Value| {
        let function =
            Value::from([("name", name.into()), ("description", "A tool.".into()), ("parameters", parameters)]);
        Value::from([("type", "function".into()), ("function", function)])
    };
    let mut route = properties(vec![
        ("city", "string"),
        ("days", "integer"),
        ("ratio", "number"),
        ("exact", "boolean"),
        ("tags", "array"),
        ("options", "object"),
        ("zip", "string"),
    ]);
    if let Value::Object(schema) = &mut route
        && let Some(Value::Object(entries)) = schema.get_mut("properties")
    {
        entries.insert("note".to_owned(), Value::from([("type", "string".into()), ("nullable", true.into())]));
    }
    Value::List(vec![
        tool("get_route", route),
        tool("run_code", properties(vec![("code", "string"), ("days", "integer")])),
        tool("save-note.v2", properties(vec![("title", "string")])),
        tool("get_time", properties(vec![])),
        tool("lookup_city", properties(vec![("query", "string")])),
    ])
}
