//! Conversations whose content, keys or tools have another form than templates expect.

use super::cases::Cases;
use super::problem::Problem::{EmptyCalls, Parts, ReasoningKey, ReasoningOnly, Text, Tools};
use super::said::{answer, in_part, system, user, without};
use crate::doctor::messages::with;
use crate::doctor::probe::Chat;
use crate::probe::{needle, schema};
use backchat_core::json::{Object, Value};

const U: &str = needle::USER;
const A: &str = needle::CONTENT;
const LATER: &str = needle::LATER;
const S: &str = needle::SYSTEM;
const R: &str = needle::REASONING;

/// The texts that a render must show.
type Needles = Vec<&'static str>;

impl Cases<'_, '_, '_> {
    pub(super) fn contents(&mut self) {
        if self.base.chat {
            self.empty_calls();
        }
        if !self.base.in_parts {
            self.parts();
        } else if self.base.chat {
            let chat = vec![user(U), answer(A), user(LATER)];
            let twin = self.base.prompted(chat.clone());
            self.add((Text, "chat"), Chat::new(chat).prompted(), [twin], &[U, A, LATER]);
        }
        if self.base.tools || self.base.tools_with_system {
            self.tools();
        }
        if let Some(key) = self.base.reasoning.first() {
            self.reasoning_keys(key);
            self.reasoning_only(key);
        }
    }

    /// Keys that hold nothing, as client libraries dump them.
    fn empty_calls(&mut self) {
        let twin = self.base.prompted(vec![user(U), answer(A), user(LATER)]);
        let nulls = ["refusal", "annotations", "audio", "function_call", "tool_calls"].map(|key| (key, Value::Null));
        for (shape, message) in
            [("null", with(answer(A), nulls)), ("list", with(answer(A), [("tool_calls", Value::List(Vec::new()))]))]
        {
            let chat = vec![user(U), message, user(LATER)];
            self.add_prompted((EmptyCalls, shape), chat, [twin.clone()], &[U, A, LATER]);
        }
    }

    fn parts(&mut self) {
        let base = self.base;
        let chat = vec![user(U), answer(A), user(LATER)];
        let (said, asked) = (base.prompted(chat), base.prompted(vec![user(U)]));
        if base.system {
            let twin = base.prompted(vec![system(S), user(U)]);
            let messages = vec![in_part(system(S)), user(U)];
            self.add_prompted((Parts, "system"), messages, [twin], &[S, U]);
        }
        self.add_prompted((Parts, "user"), vec![in_part(user(U))], [asked], &[U]);
        if base.chat {
            let messages = vec![user(U), in_part(answer(A)), user(LATER)];
            self.add_prompted((Parts, "assistant"), messages, [said], &[U, A, LATER]);
        }
    }

    fn tools(&mut self) {
        let base = self.base;
        let asked = if base.tools { vec![user(U)] } else { vec![system(S), user(U)] };
        let [name, key] = [needle::NAMES[0], needle::KEYS[0]];
        let description = needle::DESCRIPTIONS[0];
        let empty = Value::List(Vec::new());
        let twin = base.prompted(asked.clone());
        self.add((Tools, "empty"), base.conversation(asked.clone(), Some(&empty), true), [twin], &[U]);
        let usual = parameters([(key, schema::of_type("string"))]);
        let shapes: [(_, Vec<(&str, Value)>, Needles); 4] = [
            ("no_parameters", vec![("description", description.into())], vec![name, description]),
            ("no_description", vec![("parameters", usual)], vec![name, key]),
            (
                "refs",
                vec![("description", description.into()), ("parameters", references(key))],
                vec![name, key, "qzlist"],
            ),
            (
                "any_of",
                vec![("description", description.into()), ("parameters", unions(key))],
                vec![name, key, "qzlist", "qzfree", "qztrue"],
            ),
        ];
        for (shape, entries, needles) in shapes {
            let named = [("name", Value::from(name))].into_iter().chain(entries);
            let function = Object::from_iter(named.map(|(key, value)| (key.to_owned(), value)));
            let tools = Value::List(vec![schema::function(function)]);
            let chat = base.conversation(asked.clone(), Some(&tools), true);
            self.add((Tools, shape), chat, [], &needles);
        }
    }

    fn reasoning_keys(&mut self, read: &'static str) {
        let base = self.base;
        let thinking = |message: Value, key: &str| with(message, [(key, R.into())]);
        let answered = |key: &str| vec![user(U), thinking(answer(A), key)];
        let called = |key: &str| vec![user(U), thinking(base.calling("", 1), key)];
        let offered = base.call_tools().cloned();
        let shown = base.text(answered(read)).filter(|text| text.contains(R));
        let beside_call = shown.is_none();
        let twin = shown.or_else(|| base.outcome(called(read), offered.as_ref(), false).ok());
        for key in ["reasoning_content", "reasoning", "thinking"].into_iter().filter(|key| *key != read) {
            let (messages, tools) = if beside_call { (called(key), offered.as_ref()) } else { (answered(key), None) };
            let needles: &[_] = if beside_call { &[U, R] } else { &[U, R, A] };
            let chat = base.conversation(messages, tools, false);
            self.add((ReasoningKey, key), chat, [twin.clone()], needles);
        }
    }

    fn reasoning_only(&mut self, key: &str) {
        let thinking = with(answer(""), [(key, R.into())]);
        let Some(twin) = self.base.text(vec![user(U), thinking.clone()]).filter(|text| text.contains(R)) else {
            return;
        };
        let null = with(thinking.clone(), [("content", Value::Null)]);
        for (shape, message) in [("null", null), ("missing", without(thinking, "content"))] {
            let chat = self.base.conversation(vec![user(U), message], None, false);
            self.add((ReasoningOnly, shape), chat, [Some(twin.clone())], &[U, R]);
        }
    }
}

fn parameters<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required: Vec<_> = properties.iter().map(|(key, _)| *key).take(1).collect();
    schema::object(Value::from(properties), &required)
}

/// A schema whose parts are defined once.
fn references(key: &str) -> Value {
    let point =
        Value::from([("type", "object".into()), ("properties", Value::from([("qzx", schema::of_type("number"))]))]);
    let reference = || Value::from([("$ref", "#/$defs/qzpoint".into())]);
    let list = Value::from([("type", "array".into()), ("items", reference())]);
    Value::from([
        ("type", "object".into()),
        ("$defs", Value::from([("qzpoint", point)])),
        ("properties", Value::from([(key, reference()), ("qzlist", list)])),
        ("required", Value::List(vec![key.into()])),
    ])
}

/// A schema with unions, lists of types, and without required keys.
fn unions(key: &str) -> Value {
    let null = || schema::of_type("null");
    let either =
        Value::from([("anyOf", Value::List(vec![schema::of_type("string"), null()])), ("default", Value::Null)]);
    let values = Value::List(vec!["Qzenumone".into(), "Qzenumtwo".into()]);
    let item = Value::from([("qzx", Value::from([("type", "string".into()), ("enum", values)]))]);
    let item = Value::from([("type", "object".into()), ("properties", item)]);
    let list = Value::from([("type", Value::List(vec!["array".into(), "null".into()])), ("items", item)]);
    let anything = Value::from([("type", "object".into()), ("additionalProperties", true.into())]);
    let properties = [(key, either), ("qzlist", list), ("qzfree", Value::Object(Object::new())), ("qztrue", anything)];
    Value::from([("type", "object".into()), ("properties", Value::from(properties))])
}
