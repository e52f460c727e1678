//! Answers of the chat API (`/v1/chat/completions`): chunks of a stream, and whole completions.

use crate::api_error::ApiError;
use crate::call_ids::CallIds;
use crate::custom::CustomTools;
use crate::identifier::identifier;
use crate::parts::{Part, Parts};
use crate::reply::Usage;
use crate::writer::{Finish, Writer};
use backchat_core::json::{Object, Value};
use backchat_parser::deltas::{Delta, ReasoningName};

/// A completion that is being written.
#[derive(Debug)]
pub struct Completion {
    id: String,
    /// Seconds since 1970.
    created: u64,
    model: String,
    reasoning: ReasoningName,
    custom: CustomTools,
    choices: Vec<Choice>,
    /// Whether a stream ends with the count of tokens.
    counts: bool,
    /// The beginning of each chunk; `None` if the completion is sent as a whole.
    head: Option<String>,
    unsent: String,
}

/// One choice: of a stream only its ids are kept.
#[derive(Debug)]
struct Choice {
    ids: CallIds,
    /// Whether the call that is being written is one of a custom tool.
    is_custom: bool,
    parts: Parts,
    /// The log probabilities of tokens: those that no chunk has yet, or of a whole answer all.
    logprobs: Vec<Value>,
    finish: Option<Finish>,
}

/// What a completion begins with.
#[derive(Clone, Debug)]
pub struct Start<'s> {
    pub model: &'s str,
    pub reasoning: ReasoningName,
    /// Seconds since 1970.
    pub created: u64,
    pub choices: usize,
    pub streams: bool,
    /// Whether a stream ends with the count of tokens.
    pub counts: bool,
    pub custom: CustomTools,
    pub ids: CallIds,
}

impl Completion {
    pub fn new(start: Start<'_>) -> Self {
        let id = identifier("chatcmpl-");
        let Start { model, reasoning, created, custom, ids, .. } = start;
        let name = Value::from(model);
        let head = format!(
            "data: {{\"id\": \"{id}\", \"object\": \"chat.completion.chunk\", \"created\": {created}, \"model\": {name}"
        );
        let choice = || Choice {
            ids: ids.clone(),
            is_custom: false,
            parts: Parts::new(ids.clone(), custom.clone()),
            logprobs: Vec::new(),
            finish: None,
        };
        let choices = (0..start.choices).map(|_| choice()).collect();
        let mut completion = Self {
            id,
            created,
            model: model.to_owned(),
            reasoning,
            choices,
            custom,
            counts: start.counts,
            head: start.streams.then_some(head),
            unsent: String::new(),
        };
        for choice in 0..start.choices {
            completion.chunk(choice, "{\"role\": \"assistant\", \"content\": \"\"}", "null", None);
        }
        completion
    }

    fn chunk(&mut self, choice: usize, delta: &str, reason: &str, problems: Option<&Value>) {
        let Some(head) = &self.head else { return };
        let out = &mut self.unsent;
        out.push_str(head);
        out.push_str(&format!(", \"choices\": [{{\"index\": {choice}, \"delta\": "));
        out.push_str(delta);
        if let Some(own) = self.choices.get_mut(choice).filter(|own| !own.logprobs.is_empty()) {
            out.push_str(", \"logprobs\": ");
            logprobs(std::mem::take(&mut own.logprobs)).write_to(out);
        }
        out.push_str(", \"finish_reason\": ");
        out.push_str(reason);
        out.push_str("}]");
        if let Some(problems) = problems {
            out.push_str(&format!(", \"backchat\": {{\"problems\": {problems}}}"));
        }
        out.push_str("}\n\n");
    }
}

impl Writer for Completion {
    fn id(&self) -> &str {
        &self.id
    }

    fn delta(&mut self, choice: usize, delta: Delta<'_>) {
        let Some(own) = self.choices.get_mut(choice) else { return };
        if self.head.is_none() {
            own.parts.add(delta);
            return;
        }
        let mut id = "";
        if let Delta::Call { id: given, name, .. } = delta {
            own.is_custom = self.custom.contains(name);
            id = own.ids.next(given);
        }
        let mut text = String::new();
        match custom_call(delta, id).filter(|_| own.is_custom) {
            Some(call) => Value::from([("tool_calls", Value::List(vec![call]))]).write_to(&mut text),
            None => delta.write_to(self.reasoning, id, &mut text),
        }
        self.chunk(choice, &text, "null", None);
    }

    fn logprobs(&mut self, choice: usize, tokens: Vec<Value>) {
        if let Some(own) = self.choices.get_mut(choice) {
            own.logprobs.extend(tokens);
        }
    }

    fn finish(&mut self, choice: usize, finish: Finish) {
        self.chunk(choice, "{}", &format!("\"{}\"", finish.reason), finish.problems.as_ref());
        if let Some(own) = self.choices.get_mut(choice) {
            own.finish = Some(finish);
        }
    }

    fn end(&mut self, usage: Option<Usage>) {
        let Some(head) = &self.head else { return };
        if let Some(usage) = usage.filter(|_| self.counts) {
            self.unsent.push_str(&format!("{head}, \"choices\": [], \"usage\": {}}}\n\n", usage.to_value()));
        }
        self.unsent.push_str("data: [DONE]\n\n");
    }

    fn fail(&mut self, error: &ApiError) {
        self.unsent.push_str(&format!("data: {}\n\n", error.to_value()));
    }

    fn unsent(&mut self) -> &mut String {
        &mut self.unsent
    }

    fn whole(&mut self, usage: Option<Usage>) -> Value {
        let mut problems = Vec::new();
        let choices = std::mem::take(&mut self.choices).into_iter().enumerate().map(|(index, choice)| {
            let finish = choice.finish.as_ref();
            let found = finish.and_then(|finish| finish.problems.as_ref()?.as_list()).unwrap_or_default();
            for problem in found {
                backchat_core::push_new(&mut problems, problem.clone());
            }
            Value::from([
                ("index", index.into()),
                ("message", message(choice.parts.list(), self.reasoning)),
                ("logprobs", if choice.logprobs.is_empty() { Value::Null } else { logprobs(choice.logprobs) }),
                ("finish_reason", finish.map(|finish| finish.reason).into()),
            ])
        });
        let choices = Value::List(choices.collect());
        let mut entries = Object::new();
        let mut add = |name: &str, value: Value| drop(entries.insert(name, value));
        add("id", self.id.as_str().into());
        add("object", "chat.completion".into());
        add("created", self.created.into());
        add("model", self.model.as_str().into());
        add("choices", choices);
        if let Some(usage) = usage {
            add("usage", usage.to_value());
        }
        if !problems.is_empty() {
            add("backchat", Value::from([("problems", Value::List(problems))]));
        }
        Value::Object(entries)
    }
}

fn logprobs(tokens: Vec<Value>) -> Value {
    Value::from([("content", Value::List(tokens)), ("refusal", Value::Null)])
}

/// A delta of a call of a custom tool, for which the chat API has a form of its own.
fn custom_call(delta: Delta<'_>, id: &str) -> Option<Value> {
    match delta {
        Delta::Call { index, name, .. } => {
            let custom = Value::from([("name", name.into()), ("input", "".into())]);
            Some(Value::from([
                ("index", index.into()),
                ("id", id.into()),
                ("type", "custom".into()),
                ("custom", custom),
            ]))
        }
        Delta::Arguments { index, text } => {
            Some(Value::from([("index", index.into()), ("custom", Value::from([("input", text.into())]))]))
        }
        Delta::Content(_) | Delta::Reasoning(_) => None,
    }
}

/// The message of these parts.
fn message(parts: &[Part], name: ReasoningName) -> Value {
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Reasoning(text) => reasoning.push_str(text),
            Part::Content(text) => content.push_str(text),
            Part::Call(call) => {
                let (kind, text) = if call.is_custom { ("custom", "input") } else { ("function", "arguments") };
                let texts = [("name", call.name.as_str().into()), (text, call.arguments.as_str().into())];
                calls.push(Value::from([
                    ("id", call.id.as_str().into()),
                    ("type", kind.into()),
                    (kind, Value::from(texts)),
                ]));
            }
        }
    }
    let mut message = Object::new();
    message.insert("role", "assistant".into());
    message.insert("content", if content.is_empty() && !calls.is_empty() { Value::Null } else { content.into() });
    if !reasoning.is_empty() {
        for name in name.names() {
            message.insert(*name, reasoning.as_str().into());
        }
    }
    if !calls.is_empty() {
        message.insert("tool_calls", Value::List(calls));
    }
    Value::Object(message)
}
