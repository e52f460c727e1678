//! The input of a chat template as a JSON Schema: a request can be validated before it is rendered.
//!
//! The schema refuses what the template refuses or silently drops. A schema cannot express that roles alternate, or
//! what the template compares values with.

use super::Options;
use super::agents::Agents;
use super::agents::said::without;
use super::messages::{ARGUMENTS, answer, call, calling, in_parts, result, tools, user, with};
use super::probe::{Chat, Probe};
use super::{Report, facts};
use crate::probe::schema::{object, of_type};
use crate::probe::{RequestShape, needle, said};
use backchat_chat::ChatTemplate;
use backchat_core::json::{Object, Value};

/// The JSON Schema of a template's input: its variables, with the messages by role, the tools and the documents.
pub fn input_schema(template: &ChatTemplate, options: &Options) -> Value {
    backchat_chat::examine(options.budget, || {
        let probe = Probe::new(template, options);
        let facts = facts::find(&probe);
        let (agents, misspelt) = (Agents::default(), Vec::new());
        let report = Report { facts, agents, renders: probe.renders(), stopped: probe.stopped(), misspelt };
        Input { probe: &probe, report: &report }.schema()
    })
}

struct Input<'p, 't> {
    probe: &'p Probe<'t>,
    report: &'p Report,
}

impl Input<'_, '_> {
    fn schema(&self) -> Value {
        let mut properties = Object::new();
        properties.insert("messages", self.messages());
        properties.insert("tools", self.tools());
        let listed = || any_of(vec![listed(of_type("object")), of_type("null")]);
        let documents = if self.takes("documents") { listed() } else { nothing() };
        properties.insert("documents", documents);
        properties.insert("add_generation_prompt", of_type("boolean"));
        let variables = self.report.fact("variables").and_then(|fact| fact.value.as_list()).unwrap_or(&[]);
        for name in variables.iter().filter_map(Value::as_str) {
            properties.entry(name).or_insert_with(|| Value::Object(Object::new()));
        }
        Value::from([
            ("$schema", "https://json-schema.org/draft/2020-12/schema".into()),
            ("title", "The input of a chat template".into()),
            ("type", "object".into()),
            ("required", Value::List(vec!["messages".into()])),
            ("properties", Value::Object(properties)),
        ])
    }

    /// Whether the template shows what a fact is about.
    fn takes(&self, name: &str) -> bool {
        self.report.fact(name).is_some_and(|fact| matches!(fact.value.as_str(), Some("rendered" | "escaped")))
    }

    /// Whether exactly these messages are rendered with all their words.
    fn shows(&self, messages: Vec<Value>, words: &[&str]) -> bool {
        let offers: &[bool] = if self.takes("tools") { &[false, true] } else { &[false] };
        offers.iter().any(|offered| {
            let tools = tools();
            let chat = Chat::new(messages.clone()).offered(offered.then_some(&tools));
            let is_shown = |text: &str| words.iter().all(|word| text.contains(word)) && !lists_parts(text);
            self.probe.exactly(&chat).is_ok_and(|text| is_shown(&text))
        })
    }

    /// Content of a role as text, and as parts.
    fn content(&self, message: &Value, word: &str, before: &[Value], after: &[Value]) -> Vec<Value> {
        let mut forms = Vec::new();
        let chat =
            |message: Value| before.iter().cloned().chain([message]).chain(after.iter().cloned()).collect::<Vec<_>>();
        if self.shows(chat(message.clone()), &[word]) {
            forms.push(of_type("string"));
        }
        if let [parts] = in_parts(std::slice::from_ref(message)).as_slice()
            && self.shows(chat(parts.clone()), &[word])
        {
            let mut kinds = vec![part("text", &["text"])];
            if crate::probe::role_of(message) == Some("user") {
                let media = ["image", "video", "audio"].into_iter().filter(|kind| self.takes(kind));
                kinds.extend(media.map(|kind| part(kind, &[])));
            }
            forms.push(listed(any_of(kinds)));
        }
        forms
    }

    fn messages(&self) -> Value {
        let turn = |role: &str, content: Vec<Value>| {
            (!content.is_empty()).then(|| message(role, [("content", any_of(content))], &["content"]))
        };
        let mut roles = Vec::new();
        roles.extend(turn("user", self.content(&user(), needle::USER, &[], &[])));
        let answers = self.content(&answer(), needle::CONTENT, &[user()], &[]);
        if !answers.is_empty() {
            let entries = [("content", any_of(answers.clone())), ("tool_calls", nothing())];
            roles.push(message("assistant", entries, &["content"]));
        }
        roles.extend(self.calling(&answers));
        if self.takes("tool_results") {
            let call = calling("", vec![call(0, self.arguments().first().copied().unwrap_or(RequestShape::USUAL))]);
            let mut content = self.content(&result(), needle::RESULT, &[user(), call], &[]);
            if content.is_empty() {
                content.push(of_type("string"));
            }
            roles.extend(turn("tool", content));
        }
        let later = roles.clone();
        let mut first = roles;
        for role in ["system", "developer"] {
            if !self.takes(role) {
                continue;
            }
            let content = self.content(&said(role, needle::OTHER), needle::OTHER, &[], &[user()]);
            first.extend(turn(role, content));
        }
        // A template may refuse instructions anywhere but at the start, and an answer at the start.
        let mut rest = later;
        for role in ["system", "developer"] {
            let between = vec![user(), answer(), said(role, needle::OTHER), said("user", needle::LATER)];
            if self.shows(between, &[needle::OTHER, needle::LATER]) {
                rest.extend(first.iter().filter(|schema| role_of(schema) == Some(role)).cloned());
            }
        }
        if self.takes("other_role") {
            let known = ["user", "assistant", "tool", "system", "developer"].map(Value::from).to_vec();
            let other = Value::from([("not", Value::from([("enum", Value::List(known))]))]);
            let other = object([("role", other), ("content", of_type("string"))], &["role", "content"]);
            first.push(other.clone());
            rest.push(other);
        }
        if !self.takes("assistant_first") {
            first.retain(|schema| !matches!(role_of(schema), Some("assistant" | "tool")));
        }
        Value::from([
            ("type", "array".into()),
            ("minItems", 1.into()),
            ("prefixItems", Value::List(vec![any_of(first)])),
            ("items", any_of(rest)),
        ])
    }

    /// The forms of arguments that show a call.
    fn arguments(&self) -> Vec<RequestShape> {
        ARGUMENTS.into_iter().filter(|(fact, _)| self.takes(fact)).map(|(_, form)| form).collect()
    }

    /// An answer that calls, if the template shows calls.
    fn calling(&self, content: &[Value]) -> Option<Value> {
        let forms = self.arguments();
        let form = forms.first().copied().filter(|_| self.takes("tool_calls"))?;
        let words = [needle::KEYS[0], needle::VALUES[0]];
        let shows = |message: Value| {
            self.shows(vec![user(), message.clone()], &words) || self.shows(vec![user(), message, result()], &words)
        };
        let usual = calling("", vec![call(0, form)]);
        let mut contents = content.to_vec();
        if shows(with(usual.clone(), [("content", Value::Null)]))
            && self.report.fact("null_content_beside_call").is_some_and(super::Fact::holds)
        {
            contents.push(of_type("null"));
        }
        let mut required = vec!["tool_calls"];
        if !shows(without(usual, "content")) {
            required.push("content");
        }
        let kinds = forms.iter().map(|form| of_type(if form.arguments_text { "string" } else { "object" }));
        let parts = [("name", of_type("string")), ("arguments", any_of(kinds.collect()))];
        let function = object(parts, &["name", "arguments"]);
        let mut entries = Object::from([("function".to_owned(), function)]);
        let mut needed = vec!["function"];
        let other_id = with(call(0, form), [("id", "call_Qz-0123456789".into())]);
        if !shows(calling("", vec![other_id])) {
            let id = Value::from([("type", "string".into()), ("pattern", "^[a-zA-Z0-9]{9}$".into())]);
            entries.insert("id", id);
        }
        if !shows(calling("", vec![without(call(0, form), "id")])) {
            needed.push("id");
        }
        let item = object(entries, &needed);
        let mut calls = Value::from([("type", "array".into()), ("minItems", 1.into()), ("items", item)]);
        if !self.takes("parallel_calls") {
            calls = with(calls, [("maxItems", 1.into())]);
        }
        let content = if contents.is_empty() { Value::Object(Object::new()) } else { any_of(contents) };
        Some(message("assistant", [("tool_calls", calls), ("content", content)], &required))
    }

    fn tools(&self) -> Value {
        if !self.takes("tools") {
            return nothing();
        }
        let parts = [("name", "string"), ("description", "string"), ("parameters", "object")];
        let function = object(parts.map(|(name, kind)| (name, of_type(kind))), &["name"]);
        let kind = Value::from([("const", "function".into())]);
        any_of(vec![listed(object([("type", kind), ("function", function)], &["function"])), of_type("null")])
    }
}

/// A render that shows the list of parts instead of their text.
fn lists_parts(text: &str) -> bool {
    text.contains("'type': 'text'") || text.contains("\"type\": \"text\"")
}

fn listed(items: Value) -> Value {
    Value::from([("type", "array".into()), ("items", items)])
}

/// A value whose loss does not matter.
fn nothing() -> Value {
    any_of(vec![Value::from([("type", "array".into()), ("maxItems", 0.into())]), of_type("null")])
}

fn any_of(mut schemas: Vec<Value>) -> Value {
    match schemas.len() {
        1 => schemas.pop().unwrap_or_default(),
        _ => Value::from([("anyOf", Value::List(schemas))]),
    }
}

/// A part of a content list.
fn part(kind: &str, needs: &[&str]) -> Value {
    let mut properties = Object::from([("type".to_owned(), Value::from([("const", kind.into())]))]);
    properties.extend(needs.iter().map(|key| ((*key).to_owned(), of_type("string"))));
    object(properties, &[&["type"], needs].concat())
}

fn message<'k>(role: &str, entries: impl IntoIterator<Item = (&'k str, Value)>, required: &[&str]) -> Value {
    let mut properties = Object::from([("role".to_owned(), Value::from([("const", role.into())]))]);
    properties.extend(entries.into_iter().map(|(key, value)| (key.to_owned(), value)));
    object(properties, &[&["role"], required].concat())
}

/// The role that the schema of a message is for.
fn role_of(schema: &Value) -> Option<&str> {
    schema.get("properties")?.get("role")?.get("const")?.as_str()
}
