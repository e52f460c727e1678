//! Conversations that every repair leaves alone: many forms of turns, texts, tools, calls and reasoning, in combination.

use backchat_core::json::{Object, Value};
use backchat_probe::doctor::agents::Base;
use backchat_probe::doctor::agents::said::{
    OTHER_RESULT, THIRD, answer, result, system, user, with_arguments, without,
};
use backchat_probe::doctor::messages::{tools, with};
use backchat_probe::doctor::probe::Chat;
use backchat_probe::probe::{needle, schema, text_part};

const U: &str = needle::USER;
const A: &str = needle::CONTENT;
const LATER: &str = needle::LATER;
const S: &str = needle::SYSTEM;
const R: &str = needle::REASONING;
const T: &str = needle::RESULT;

/// Texts with everything that a template might look for or escape.
const ODD: [&str; 10] = [
    "  <b>\"Qz\" & 'x'</b> {{ no }} {% raw %}\\n\n\ttab \u{4e2d}\u{6587} \u{1f600} <|im_end|> </s> [/INST]  \n",
    "",
    " ",
    "\n",
    "Qz\n\nsecond line, with a longer text that goes on and on and on until it is long",
    "None",
    "[{'type': 'text'}]",
    "<think>\nQz\n</think>\n\nQz",
    "developer",
    "null",
];

struct Controls<'b, 'p, 't> {
    base: &'b Base<'p, 't>,
    chats: Vec<Chat>,
}

/// The conversations, without duplicates.
pub(super) fn controls(base: &Base<'_, '_>) -> Vec<Chat> {
    let mut controls = Controls { base, chats: Vec::new() };
    controls.turns();
    controls.texts();
    controls.parts();
    controls.settings();
    controls.tools();
    if base.calls.is_some() {
        controls.calls();
    }
    if let Some(key) = base.reasoning.first() {
        controls.reasoning(key);
    }
    controls.chats
}

impl Controls<'_, '_, '_> {
    fn add(&mut self, messages: Vec<Value>, tools: Option<&Value>, prompt: bool) {
        self.chats.push(self.base.conversation(messages, tools, prompt));
    }

    fn turns(&mut self) {
        let offered = tools();
        let offered = self.base.call_tools().cloned().unwrap_or(offered);
        for head in [vec![], vec![system(S)], vec![system("")], vec![system("You are Qz.\n\nBe brief.\n")]] {
            let turns = [user(U), answer(A), user(LATER), answer(needle::ANSWER), user(THIRD), answer(needle::EARLIER)];
            for count in [1, 2, 3, 6] {
                let messages: Vec<_> = head.iter().chain(turns.iter().take(count)).cloned().collect();
                self.add(messages.clone(), None, false);
                self.add(messages, None, true);
            }
            let messages = head.iter().chain(turns.iter().take(1)).cloned().collect();
            self.add(messages, Some(&offered), true);
        }
        for head in [vec![], vec![system(S)]] {
            self.add(head.into_iter().chain([user(U), answer(A), user(LATER)]).collect(), Some(&offered), true);
        }
    }

    fn texts(&mut self) {
        for text in ODD {
            self.add(vec![user(text)], None, true);
            self.add(vec![user(U), answer(text), user(LATER)], None, true);
            self.add(vec![system(text), user(U)], None, true);
            self.add(vec![user(U), answer(text)], None, false);
            self.add(vec![user(U), answer(A), user(text), answer(needle::ANSWER), user(LATER)], None, true);
        }
        self.add(vec![user("one\ntwo"), answer("three\n\nfour")], None, false);
        self.add(vec![user(" Qz "), answer(" Qz"), user(LATER)], None, true);
    }

    /// Content of two parts, which templates join in different ways.
    fn parts(&mut self) {
        let parts = || Value::List([needle::FILLED, needle::PRINTED].map(text_part).to_vec());
        let in_parts = |message: Value| with(message, [("content", parts())]);
        self.add(vec![in_parts(user(U))], None, true);
        self.add(vec![in_parts(system(S)), user(U)], None, true);
        self.add(vec![user(U), in_parts(answer(A)), user(LATER)], None, true);
    }

    /// Every variable that the template reads, with true, false and a word.
    fn settings(&mut self) {
        const GIVEN: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];
        const MOST: usize = 12;
        let names = self.base.probe.template().variables().to_vec();
        let names = names.into_iter().filter(|name| !GIVEN.contains(&name.as_str()) && !name.ends_with("_token"));
        let mut chats = vec![vec![system(S), user(U), answer(A), user(LATER)]];
        if let Some(key) = self.base.reasoning.first() {
            chats.push(vec![user(U), with(answer(A), [(*key, R.into())]), user(LATER)]);
        }
        for name in names.take(MOST) {
            for value in [Value::Bool(true), Value::Bool(false), "low".into()] {
                for messages in &chats {
                    let chat = self.base.conversation(messages.clone(), None, true);
                    self.chats.push(chat.with(&name, value.clone()));
                }
            }
        }
    }

    fn tools(&mut self) {
        let offered = tools();
        let one = Value::List(offered.as_list().unwrap_or_default().iter().take(1).cloned().collect());
        let texts = Value::List(vec!["a".into(), "b\"c".into()]);
        let inner = schema::object(
            [("qzx", Value::from([("type", "array".into()), ("items", schema::of_type("integer"))]))],
            &["qzx"],
        );
        let choice = Value::from([("type", "string".into()), ("enum", texts), ("description", "d".into())]);
        let nested = schema::object([(needle::KEYS[0], inner), ("qzchoice", choice)], &[]);
        let nested = Value::List(vec![schema::tool(needle::NAMES[0], needle::DESCRIPTIONS[0], nested)]);
        let functions = offered.as_list().unwrap_or_default().iter().filter_map(|tool| tool.get("function"));
        let flat = Value::List(functions.cloned().collect());
        for tools in [offered, one, nested, flat] {
            self.add(vec![user(U)], Some(&tools), true);
            self.add(vec![system(S), user(U), answer(A), user(LATER)], Some(&tools), true);
        }
    }

    /// A message that makes this many calls; with one call, arguments may be given.
    fn calling(&self, content: &str, calls: usize, arguments: Option<Value>) -> Value {
        let message = self.base.calling(content, calls);
        match arguments {
            Some(arguments) if self.base.calls.as_ref().is_some_and(|calls| calls.as_text) => {
                with_arguments(message, arguments.to_string().into())
            }
            Some(arguments) => with_arguments(message, arguments),
            None => message,
        }
    }

    fn calls(&mut self) {
        let offered = self.base.call_tools().cloned();
        let offered = offered.as_ref();
        let results = self.base.calls.as_ref().is_some_and(|calls| calls.results);
        let answered: Vec<Value> = results.then(|| result(0, T)).into_iter().collect();
        let chat = |parts: &[&[Value]]| parts.concat();
        let call = self.calling("", 1, None);
        for head in [vec![user(U)], vec![system(S), user(U)]] {
            self.add(chat(&[&head, std::slice::from_ref(&call)]), offered, false);
            self.add(chat(&[&head, std::slice::from_ref(&call), &answered]), offered, true);
            self.add(chat(&[&head, &[self.calling(A, 1, None)], &answered]), offered, true);
            if results {
                let done = chat(&[&head, std::slice::from_ref(&call), &answered, &[answer(A)]]);
                self.add(done.clone(), offered, false);
                self.add(chat(&[&done, &[user(LATER)]]), offered, true);
                let again = [self.calling(needle::ANSWER, 1, None), result(0, OTHER_RESULT), answer(A)];
                self.add(chat(&[&head, std::slice::from_ref(&call), &answered, &again]), offered, false);
            }
        }
        self.add(chat(&[&[user(U), call.clone()], &answered]), None, true);
        self.add(chat(&[&[user(U), flat(&call)], &answered]), offered, true);
        for arguments in arguments() {
            let message = self.calling("", 1, Some(arguments));
            self.add(chat(&[&[user(U), message], &answered]), offered, true);
        }
        let two = vec![user(U), self.calling("", 2, None)];
        self.add(two.clone(), offered, false);
        if results {
            self.add(chat(&[&two, &[result(0, T), result(1, OTHER_RESULT)]]), offered, true);
            for text in [ODD[0], "", "{\"qz\": [1, 2]}", "None", "[]"] {
                self.add(vec![user(U), call.clone(), result(0, text)], offered, true);
            }
            for key in ["name", "tool_call_id"] {
                self.add(vec![user(U), call.clone(), without(result(0, T), key)], offered, true);
            }
        }
    }

    fn reasoning(&mut self, key: &'static str) {
        let think = |message: Value, text: &str| with(message, [(key, text.into())]);
        for text in [R, "\nQzreasonq\n\n", ""] {
            self.add(vec![user(U), think(answer(A), text)], None, false);
        }
        let both = vec![user(U), think(answer(A), R), user(LATER), think(answer(needle::ANSWER), needle::BEFORE)];
        self.add(both, None, false);
        self.add(vec![system(S), user(U), think(answer(A), R), user(LATER)], None, true);
        self.add(vec![user(U), think(answer(""), R)], None, false);
        let Some(calls) = self.base.calls.clone() else { return };
        let offered = calls.tools.as_ref();
        let called = |content: &str, text: &str| think(self.base.calling(content, 1), text);
        let mut chats = vec![(vec![user(U), called("", R)], false)];
        let answered: Vec<Value> = calls.results.then(|| result(0, T)).into_iter().collect();
        chats.push(([vec![user(U), called(A, R)], answered].concat(), true));
        if calls.results {
            let done = vec![user(U), called("", R), result(0, T), think(answer(A), needle::BEFORE)];
            let later = [done.clone(), vec![user(LATER)]].concat();
            let again = vec![user(U), called("", R), result(0, T), called("", needle::BEFORE), result(0, OTHER_RESULT)];
            chats.extend([(done, false), (later, true), (again, true)]);
        }
        for (messages, prompt) in chats {
            self.add(messages, offered, prompt);
        }
    }
}

/// A message whose calls have the name and the arguments themselves, without a function.
fn flat(message: &Value) -> Value {
    let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or_default();
    let calls = calls.iter().filter_map(|call| {
        let id = call.get("id")?.clone();
        Some(with(call.get("function")?.clone(), [("id", id), ("type", "function".into())]))
    });
    with(message.clone(), [("tool_calls", Value::List(calls.collect()))])
}

/// Arguments of every type.
fn arguments() -> [Value; 5] {
    let key = needle::KEYS[0];
    let list = Value::List(vec![1.into(), Value::from([("qza", Value::List(Vec::new()))])]);
    let nested = Value::from([("qzx", Value::from([("qzy", "qzz".into())]))]);
    [
        Value::Object(Object::new()),
        Value::from([(key, ODD[0].into())]),
        Value::from([(key, 3.into()), ("qzf", Value::from(-1.5)), ("qzb", false.into()), ("qzn", Value::Null)]),
        Value::from([(key, list), ("qzo", nested)]),
        Value::from([(key, "{\"qz\": 1}".into()), ("qzs", "true".into())]),
    ]
}
