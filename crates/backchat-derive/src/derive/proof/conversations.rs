//! The conversations of the proof. None is a probe, and each tests one way in which a parser can fail.

use std::borrow::Cow;

use backchat_core::json::{self, Object, Value};
use backchat_probe::coverage::Place;
use backchat_probe::probe::{Answer, Call, Message, PART_BREAK, schema};

/// The answer of one case, and its name in the report.
#[derive(Clone, Debug)]
pub(super) struct TestAnswer {
    pub name: String,
    pub answer: Answer,
    /// The conversations to try it in.
    pub reach: Reach,
    /// A part that is expected back although the template may spell it differently.
    pub keeps: Option<Place>,
}

impl TestAnswer {
    pub fn new(name: impl Into<String>, mut answer: Answer, reach: Reach, named_ids: bool) -> Self {
        name_ids(&mut answer.calls, named_ids, 0);
        Self { name: name.into(), answer, reach, keeps: None }
    }

    /// The same with these words before its reasoning, if it has any.
    pub fn begun_with(&self, words: &str) -> Self {
        let reasoning = self.answer.reasoning.as_ref().map(|thought| format!("{words}{thought}"));
        Self { answer: Answer { reasoning, ..self.answer.clone() }, ..self.clone() }
    }

    pub fn is_reasoning_alone(&self) -> bool {
        let Answer { content, reasoning, calls } = &self.answer;
        reasoning.is_some() && content.is_none() && calls.is_empty()
    }
}

/// How many histories and settings an answer is tried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// After a question, under the first setting that shows it: the answer tests how one value is written.
    Value,
    /// After every history, under the first setting that shows it.
    Histories,
    /// After every history and, after a question or a result, under every setting.
    Settings,
    /// After a question, under every setting that has the turn written differently.
    Rewritten,
}

/// The history before an answer.
#[derive(Clone, Debug)]
pub struct History {
    /// A description that follows the name of an answer.
    pub name: Cow<'static, str>,
    pub messages: Vec<Message>,
    /// A unique text near the end of the last message, to find the end of the history.
    pub last: Cow<'static, str>,
    /// Whether answers are tried after it under every setting.
    pub is_main: bool,
    /// Whether only the plainest answers are tried after it.
    pub is_brief: bool,
}

impl History {
    /// A history that answers are tried after under every setting. The last word of its last message ends it.
    pub fn main(name: String, messages: Vec<Message>) -> Self {
        let text = messages.last().and_then(Message::said).unwrap_or_default();
        let last = text.split_whitespace().next_back().unwrap_or_default();
        let word = last.trim_matches(|c: char| !c.is_alphanumeric());
        let last = Cow::Owned(if word.is_empty() { last } else { word }.to_owned());
        Self { name: name.into(), messages, last, is_main: true, is_brief: false }
    }
}

pub(super) const QUESTION: &str = "How far is it to Brzeg, say by 7f3a?";
const EARLIER_THOUGHT: &str = "They only greet me.";

/// The histories that answers follow.
pub(super) fn histories(named_ids: bool, several: bool) -> Vec<History> {
    let user = |text: &str| Message::User(text.to_owned());
    let mut lookup = call("c4LL9xyz1", "lookup_city", r#"{"country": "Poland"}"#);
    let mut clock = call("d5MM8wvu2", "get_time", "{}");
    name_ids(std::slice::from_mut(&mut lookup), named_ids, 0);
    name_ids(std::slice::from_mut(&mut clock), named_ids, 1);
    let result = |call: &Call, content: &str| Message::Tool {
        id: call.id.clone(),
        name: call.name.clone(),
        content: content.to_owned(),
    };
    let called = |calls: &[&Call]| {
        Message::Assistant(
            Answer::calls(calls.iter().map(|call| (*call).clone()).collect()).with_reasoning("I have to look."),
        )
    };
    let first = result(&lookup, r#"{"population": 36000, "ref": "res-91bd"}"#);
    let greeted = Message::Assistant(Answer::content("Good <b>day</b> to you.").with_reasoning(EARLIER_THOUGHT));
    let history = |name: &'static str, messages: Vec<Message>, last: &'static str| History {
        name: name.into(),
        messages,
        last: last.into(),
        is_main: false,
        is_brief: false,
    };
    let main = |history: History| History { is_main: true, ..history };
    let brief = |history: History| History { is_brief: true, ..history };
    let after_result = vec![user("How many people live there?"), called(&[&lookup]), first.clone()];
    let system = vec![Message::System("Answer in one line.".to_owned()), user(QUESTION)];
    let after_call = vec![user("Hello?"), called(&[&lookup]), first.clone(), greeted.clone(), user(QUESTION)];
    let mut histories = vec![
        main(history("after a question", vec![user(QUESTION)], "7f3a")),
        history("after earlier turns", vec![user("Hello?"), greeted, user(QUESTION)], "7f3a"),
        main(history("after a tool's result", after_result, "res-91bd")),
        brief(history("after a system message", system, "7f3a")),
        brief(history("after an earlier call", after_call, "7f3a")),
    ];
    if several {
        let second = result(&clock, "It is late: ten past two.");
        let after_two = vec![user("How many, and when?"), called(&[&lookup, &clock]), first, second];
        histories.push(brief(history("after two results", after_two, "ten past two")));
    }
    histories
}

/// Gives calls ids that contain their names, for templates that write only ids.
pub(super) fn name_ids(calls: &mut [Call], named_ids: bool, from: usize) {
    for (i, call) in calls.iter_mut().enumerate().filter(|_| named_ids) {
        call.id = format!("tools.{}:{}", call.name, from + i);
    }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Call {
    let arguments = match json::read(arguments) {
        Ok(Value::Object(entries)) => entries,
        _ => Object::new(),
    };
    Call { id: id.to_owned(), name: name.to_owned(), arguments }
}

const THOUGHT: &str = "The user wants a distance.\nWroclaw to Brzeg: some 43 km, if x < 60 holds.\n\n- so \"43\" it is, {\"k\": 1} or [x]";

pub(super) const PLAIN_THOUGHT: &str = "That is easy.";

/// Prose, and what it tests.
const TEXTS: [(&str, &str); 9] = [
    ("paragraphs", "First paragraph.\n\nBy train:\n- one; two, three\n- `four` (five)\n\n1. Buy a ticket.\n2. Get on."),
    (
        "code",
        "Use this:\n\n```python\ndef far(km):\n    return [km] if km > 50 else {\"near\": km}\nfar(43)\nprint(far(51))\n```\n\nDone.",
    ),
    (
        "signs",
        "If a < b and c > d: {x}, {\"k\": [1, 2]} and <b>bold</b><i>so</i> hold = 1 | see f(g), h(i, j=2); done?!",
    ),
    ("JSON", "{\"distance\": 43, \"unit\": [\"km\"]}"),
    ("an object with a name", "{\"name\": \"Brzeg\", \"size\": 3}"),
    (
        "other scripts",
        "Voilà: «Привет», “oui”, „ja“ – 「根特」『很近』【注】《书》, naïve.\n• Ghent → Brzeg ⇒ 43 km… Ça va! 🚆",
    ),
    (
        "signs before words",
        "Some $2 or 5% (#1, ~3 km) for @me; <br/> and &amp; stand in /etc/hosts, -v and C:\\x *too*.",
    ),
    (
        "a table",
        "# Far?\n\n| km | h |\n|---|---|\n| 43 | 1 |\n\n---\n\n> So it is. <!-- checked -->\n\n* **That** _is_ it",
    ),
    ("a list in brackets", "[a](b),  [1]   and (2): {3}"),
];

/// Arguments, and what they test.
const ARGUMENTS: [(&str, &str, &str); 19] = [
    ("no arguments", "get_time", "{}"),
    ("a string", "get_route", r#"{"city": "Ghent"}"#),
    ("an odd name", "run-sql.v2", r#"{"query": "SELECT 1", "limit": 10}"#),
    ("odd keys", "odd_keys", r#"{"max-size": 3, "x.y": "z", "K2": true, "by_foot": 1}"#),
    ("an integer", "get_route", r#"{"city": "Ghent", "days": 4217}"#),
    ("a negative number", "store_entry", r#"{"title": "q3", "count": -8, "ratio": 0.5}"#),
    ("a boolean", "get_route", r#"{"city": "Ghent", "exact": true, "free": false}"#),
    ("null", "store_entry", r#"{"title": "q3", "note": null}"#),
    ("a list", "get_route", r#"{"city": "Ghent", "tags": ["red", "dark blue", "x,y"]}"#),
    ("numbers in a list", "get_route", r#"{"sizes": [1, 2.5, 3], "tags": []}"#),
    (
        "an object",
        "get_route",
        r#"{"city": "Ghent", "options": {"mode": "fast", "deep": {"max": 12, "on": false, "list": [1, 2.5, "s"]}, "via": [{"at": "Lier", "km": 9}, {"at": "Aalst"}]}}"#,
    ),
    ("an empty object", "get_route", r#"{"options": {}, "city": "Ghent"}"#),
    ("numbers as text", "store_entry", r#"{"title": "42", "zip": "00420", "note": "1.50"}"#),
    ("words as text", "lookup_city", r#"{"query": "null", "country": "true", "zip": "None"}"#),
    ("an empty string", "store_entry", r#"{"title": "", "zip": "1", "note": "{\"a\": [1, \"x\"]}"}"#),
    ("lines", "run_code", r#"{"code": "def f(x):\n    if x:\n        return 1\n\nprint(f(2))\n", "days": 3}"#),
    (
        "signs",
        "run_code",
        r#"{"code": "if a < b and c > d: x = <T>y; <br/>; z = {k: [1]}; a << 2 >> 1, m[[0]] || {{k}} -> ~~u~~"}"#,
    ),
    ("quotes", "run-sql.v2", r#"{"query": "SELECT \"a\", 'it''s' FROM t WHERE x = '{y}'\n  AND z[1] < 3; -- (done)"}"#),
    ("other scripts", "get_route", r#"{"city": "São Paulo 根特 🚆"}"#),
];

/// The answers of the proof, independent of the draft.
pub(super) fn answers(named_ids: bool, foreign: &[String]) -> Vec<TestAnswer> {
    let tested = |(name, answer, reach)| TestAnswer::new(name, answer, reach, named_ids);
    let mut said: Vec<TestAnswer> = structures().map(tested).into();
    let mut value = |name: String, answer| said.push(TestAnswer::new(name, answer, Reach::Value, named_ids));
    for (name, text) in TEXTS {
        value(name.to_owned(), Answer::content(text));
    }
    for (name, tool, arguments) in ARGUMENTS {
        value(format!("a call with {name}"), Answer::calls(vec![call("a1B2c3D4e", tool, arguments)]));
    }
    if !foreign.is_empty() {
        let text = format!("Elsewhere people write {}, as you know.", foreign.join(" or "));
        value("markers of other formats".to_owned(), Answer::content(&text));
        let query = [("query", format!("{} end.", foreign.join(" then ")).into()), ("limit", 1.into())];
        value("a call with markers of other formats".to_owned(), called("run-sql.v2", query));
        let thought = format!("The text {} is only quoted.", foreign.join(" and "));
        value(
            "reasoning with markers of other formats".to_owned(),
            Answer::content("Yes, 43 km.").with_reasoning(&thought),
        );
    }
    said
}

/// Calls with values of every kind, for each setting that has them written differently.
pub(super) fn rewritten(named_ids: bool) -> Vec<TestAnswer> {
    let said = ARGUMENTS.map(|(name, tool, arguments)| {
        let answer = Answer::calls(vec![call("a1B2c3D4e", tool, arguments)]);
        TestAnswer::new(format!("a call with {name}"), answer, Reach::Rewritten, named_ids)
    });
    said.into()
}

/// The plainest call with arguments.
pub(super) fn plain_call() -> Call {
    call("a1B2c3D4e", "get_route", r#"{"city": "Ghent", "days": 2}"#)
}

/// Answers of every structure: which parts there are, and how many calls.
fn structures() -> [(&'static str, Answer, Reach); 18] {
    let route = |id: &str, arguments: &str| call(id, "get_route", arguments);
    let first = plain_call();
    let again = route("f5G6h7I8j", r#"{"city": "Ghent", "days": 2}"#);
    let second = call("f5G6h7I8j", "store_entry", r#"{"title": "trip", "count": 2}"#);
    let third = call("k9L0m1N2o", "get_time", "{}");
    // A list and a text that end like a call come before another call.
    let brackets =
        call("a1B2c3D4e", "store_entry", r#"{"title": "a)b(c", "zip": "{x}, {\"k\": 1}", "tags": ["]", "}", "[{"]}"#);
    let braces = call("f5G6h7I8j", "store_entry", r#"{"count": 2, "zip": "{x}, {\"k\": 1}"}"#);
    let one = Answer::calls(vec![first.clone()]);
    let two = Answer::calls(vec![first.clone(), second.clone()]);
    let bare = Answer::calls(vec![third.clone()]);
    let five = Answer::calls(vec![first.clone(), third.clone(), braces, third, again.clone()]);
    let same = Answer::calls(vec![first, again]);
    let bracketed = Answer::calls(vec![brackets, second]);
    let short = Answer::content("Yes, 43 km.");
    let in_parts = Answer::content(&format!("First to Ghent,{PART_BREAK}then to Brno."));
    let long = Answer::content(TEXTS.first().map_or("", |(_, text)| text));
    [
        ("a short answer", short.clone(), Reach::Settings),
        ("a call", one.clone(), Reach::Settings),
        ("two calls", two.clone(), Reach::Settings),
        ("a call without arguments", bare, Reach::Rewritten),
        ("an answer and a call", one.clone().with_content("Let me look that up."), Reach::Settings),
        ("reasoning and an answer", short.with_reasoning(THOUGHT), Reach::Settings),
        ("reasoning and a call", one.clone().with_reasoning(PLAIN_THOUGHT), Reach::Settings),
        (
            "reasoning, an answer and two calls",
            two.clone().with_content("I need two things.").with_reasoning(THOUGHT),
            Reach::Settings,
        ),
        ("reasoning and two calls", two.clone().with_reasoning(THOUGHT), Reach::Histories),
        ("an answer and two calls", two.with_content("I need two things.\n\nOne moment."), Reach::Histories),
        ("an answer in parts", in_parts, Reach::Value),
        ("five calls", five, Reach::Value),
        ("the same call twice", same, Reach::Value),
        ("two calls with brackets", bracketed, Reach::Value),
        ("reasoning alone", Answer::default().with_reasoning(PLAIN_THOUGHT), Reach::Value),
        ("one word of reasoning and one of content", Answer::content("Paris").with_reasoning("Easy"), Reach::Value),
        ("reasoning and paragraphs", long.with_reasoning(THOUGHT), Reach::Value),
        (
            "reasoning, an answer and a call",
            one.with_content("Let me look.").with_reasoning(PLAIN_THOUGHT),
            Reach::Value,
        ),
    ]
}

/// Calls with an argument that contains the text between two arguments, as a text and deep inside an object. It has no quotes
/// at its ends, which would be escaped.
pub(super) fn separated(between: &str, named_ids: bool) -> [TestAnswer; 2] {
    let text = format!("Ghent{}Brno", between.trim_matches('"'));
    let object = Value::from([("via", Value::List(vec![text.clone().into(), "Lier".into()]))]);
    let whole = called("lookup_city", [("query", text.into())]);
    let nested = called("get_route", [("options", object), ("city", "Ghent".into())]);
    [("a call with the text between arguments", whole), ("a call with that text in an object", nested)]
        .map(|(name, answer)| TestAnswer::new(name, answer, Reach::Value, named_ids))
}

/// Calls with a string in which more than its quotes has to be escaped: white space, or a backslash, which a template may
/// treat differently.
pub(super) fn partly_escaped(named_ids: bool) -> [TestAnswer; 2] {
    [("white space", "\"a\"\tb, \"c\"\rd"), ("a backslash", "\"e\" C:\\x")].map(|(what, text)| {
        let answer = called("run-sql.v2", [("query", text.into())]);
        TestAnswer::new(format!("a call with quotes and {what}"), answer, Reach::Value, named_ids)
    })
}

/// Whether a text has one of these strings with its quotes escaped and some other sign as it is.
pub(super) fn is_partly_escaped(text: &str) -> bool {
    ["\\\"\tb", "\\\"\rd", "\\\" C:\\x"].iter().any(|unescaped| text.contains(unescaped))
}

pub(super) fn called<const N: usize>(name: &str, arguments: [(&str, Value); N]) -> Answer {
    let arguments = arguments.map(|(key, value)| (key.to_owned(), value)).into();
    Answer::calls(vec![Call { id: "a1B2c3D4e".to_owned(), name: name.to_owned(), arguments }])
}

/// Markers of no known format, except those that overlap with literals of this one.
pub(super) fn foreign(literals: &[String]) -> Vec<String> {
    const FOREIGN: [&str; 6] = ["</scene>", "<|act_end|>", "[/SCENE]", "</line_text>", "<prop_9>", "[[PROPS]]"];
    let overlaps = |mark: &str| {
        literals
            .iter()
            .map(|literal| literal.trim())
            .any(|own| own.chars().count() > 2 && (own.contains(mark) || mark.contains(own)))
    };
    FOREIGN.iter().filter(|mark| !overlaps(mark)).map(|mark| (*mark).to_owned()).collect()
}

/// The answers for one draft: text with the beginnings of its delimiters.
pub(super) fn about(marks: &[String], named_ids: bool) -> Vec<TestAnswer> {
    let beginnings: Vec<&str> = marks.iter().filter_map(|mark| beginning(mark)).collect();
    if beginnings.is_empty() {
        return Vec::new();
    }
    let text = format!("These are not complete: {} and no more.", beginnings.join(" , "));
    let content = Answer::content(&text);
    let call = called("run-sql.v2", [("query", text.into())]);
    let said = [("beginnings of markers", content), ("a call with beginnings of markers", call)];
    said.map(|(name, answer)| TestAnswer::new(name, answer, Reach::Value, named_ids)).into()
}

/// A delimiter as the name of a conversation has it. A fence consists of the signs that would enclose it.
pub(super) fn quoted(delimiter: &str) -> String {
    let text = delimiter.trim();
    if text.contains('`') { format!("\"{text}\"") } else { format!("`{text}`") }
}

/// The first half of a mark, unless it is blank.
fn beginning(mark: &str) -> Option<&str> {
    let half = mark.chars().count() / 2;
    let at = mark.char_indices().nth(half)?.0;
    mark.get(..at).filter(|text| !text.trim().is_empty())
}

/// The definition of a tool, in OpenAI's form. Required are those of its arguments that each of its calls here has: a template
/// may write them in another way.
pub(super) fn one_tool(name: &str, description: &str, entries: Vec<(&str, Value)>) -> Value {
    let keys = entries.iter().map(|(key, _)| *key);
    let required: Vec<&str> = keys.filter(|key| REQUIRED.contains(&(name, key))).collect();
    let properties: Object = entries.iter().map(|(key, kind)| ((*key).to_owned(), kind.clone())).collect();
    schema::tool(name, description, schema::object(properties, &required))
}

/// The arguments without which no tool is called, with the names of the tools.
const REQUIRED: [(&str, &str); 2] = [("run_code", "code"), ("run-sql.v2", "query")];

/// The descriptions of three tools and of two arguments: no text of a mark that repeats one is always the same.
pub const DESCRIPTIONS: [&str; 5] = [
    "Answers what was asked.",
    "Looks up one, or several.",
    "Runs it again",
    "The wanted title.",
    "Counted from the next one",
];

/// The tools of these conversations: their arguments with types.
const TOOLS: [(&str, &[(&str, &str)]); 7] = [
    (
        "get_route",
        &[
            ("city", "string"),
            ("days", "integer"),
            ("exact", "boolean"),
            ("free", "boolean"),
            ("tags", "array"),
            ("sizes", "array"),
            ("options", "object"),
        ],
    ),
    (
        "store_entry",
        &[
            ("title", "string"),
            ("count", "integer"),
            ("ratio", "number"),
            ("note", "nullable"),
            ("zip", "string"),
            ("tags", "array"),
        ],
    ),
    ("run_code", &[("code", "string"), ("days", "integer")]),
    ("run-sql.v2", &[("query", "string"), ("limit", "integer")]),
    ("odd_keys", &[("max-size", "integer"), ("x.y", "string"), ("K2", "boolean"), ("by_foot", "integer")]),
    ("get_time", &[]),
    ("lookup_city", &[("query", "string"), ("country", "string"), ("zip", "string")]),
];

/// The names of these tools, each with the names and types of its arguments.
pub(super) const fn typed_tools() -> &'static [(&'static str, &'static [(&'static str, &'static str)])] {
    &TOOLS
}

/// The definitions of the tools of these conversations, in OpenAI's form. Some arguments have what others lack, by which a
/// template may distinguish them.
pub fn tools() -> Value {
    let [one, two, three, title, days] = DESCRIPTIONS;
    let mut descriptions = [one, two, three].into_iter().cycle();
    let tool = |(name, entries): (&str, &[(&str, &str)])| {
        let description = descriptions.next().unwrap_or_default();
        let schema = |(key, kind): (&str, &str)| match (key, kind) {
            (_, "nullable") => Value::from([("type", "string".into()), ("nullable", true.into())]),
            ("count", kind) => Value::from([("type", kind.into()), ("default", 1.into())]),
            ("title", kind) => Value::from([("type", kind.into()), ("description", title.into())]),
            ("days", kind) => Value::from([("type", kind.into()), ("description", days.into())]),
            ("country", kind) => {
                let countries = ["Poland", "Germany", "Czechia"].map(Value::from);
                Value::from([("type", kind.into()), ("enum", Value::List(countries.into()))])
            }
            ("query", kind) => Value::from([("type", kind.into()), ("format", "text".into())]),
            (_, kind) => schema::of_type(kind),
        };
        one_tool(name, description, entries.iter().map(|(key, kind)| (*key, schema((key, kind)))).collect())
    };
    Value::List(TOOLS.into_iter().map(tool).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_probe::probe::json_type;

    fn all_answers() -> Vec<TestAnswer> {
        answers(false, &foreign(&[]))
    }

    #[test]
    fn every_answer_has_a_unique_name_without_a_history() {
        let answers = all_answers();
        for (at, said) in answers.iter().enumerate() {
            assert!(!said.name.contains(" after "), "{}: the history follows these words", said.name);
            assert!(answers.iter().skip(at + 1).all(|other| other.name != said.name), "{}", said.name);
        }
    }

    #[test]
    fn every_call_matches_the_schema_of_its_tool() {
        let tools = tools();
        for TestAnswer { name, answer, .. } in all_answers() {
            for call in &answer.calls {
                let function = tools.as_list().unwrap().iter().map(|tool| tool.get("function").unwrap());
                let tool = function.clone().find(|tool| tool.get("name").and_then(Value::as_str) == Some(&call.name));
                let properties = tool.unwrap_or_else(|| panic!("{name}: no tool {}", call.name));
                let properties = properties.get("parameters").unwrap().get("properties").unwrap();
                for (key, value) in &call.arguments {
                    let schema = properties.get(key).unwrap_or_else(|| panic!("{name}: {} has no {key}", call.name));
                    let wanted = schema.get("type").and_then(Value::as_str).unwrap();
                    let is_null = value.is_null() && schema.get("nullable").is_some();
                    let is_number = wanted == "number" && json_type(value) == "integer";
                    assert!(is_null || is_number || json_type(value) == wanted, "{name}: {key} = {value}");
                }
            }
        }
    }

    #[test]
    fn each_history_ends_with_text_that_occurs_once() {
        for several in [false, true] {
            for history in histories(false, several) {
                let texts: Vec<&str> = history
                    .messages
                    .iter()
                    .filter_map(|message| match message {
                        Message::Assistant(answer) => answer.content.as_deref(),
                        message => message.said(),
                    })
                    .collect();
                let count: usize = texts.iter().map(|text| text.matches(&*history.last).count()).sum();
                assert_eq!(count, 1, "{}", history.name);
                assert!(texts.last().unwrap().contains(&*history.last), "{}", history.name);
            }
        }
        let has_two = |several| histories(false, several).iter().any(|history| history.name == "after two results");
        assert!(has_two(true) && !has_two(false));
    }

    #[test]
    fn ids_contain_names_only_for_templates_that_write_only_ids() {
        let mut calls = [call("a1", "f", "{}"), call("b2", "g", "{}")];
        name_ids(&mut calls, false, 0);
        assert_eq!(calls.clone().map(|call| call.id), ["a1", "b2"]);
        name_ids(&mut calls, true, 3);
        assert_eq!(calls.map(|call| call.id), ["tools.f:3", "tools.g:4"]);
    }

    #[test]
    fn foreign_marks_do_not_overlap_with_the_format() {
        let all = foreign(&[]);
        assert!(!all.is_empty());
        let mark = all.first().unwrap().clone();
        // One is part of the other; short literals occur in every text.
        for own in [format!("<bot>{mark}"), mark.get(..4).unwrap().to_owned()] {
            assert!(!foreign(std::slice::from_ref(&own)).contains(&mark), "{own}");
        }
        assert_eq!(foreign(&["<".to_owned()]), all);
    }

    #[test]
    fn answers_contain_only_halves_of_delimiters() {
        let marks = ["<call>", "|", "\n\n<a"].map(str::to_owned);
        let said = about(&marks, false);
        assert_eq!(said[0].answer.content.as_deref(), Some("These are not complete: <ca and no more."));
        assert_eq!([beginning("<call>"), beginning("|"), beginning("\n\n<a")], [Some("<ca"), None, None]);
        assert_eq!(about(&[], false).len(), 0);
        assert_eq!(about(&marks, true)[1].answer.calls[0].id, "tools.run-sql.v2:0");
    }
}
