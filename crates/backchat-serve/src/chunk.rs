//! The JSON of OpenAI's protocol: chunks of a stream, and whole answers.

use crate::identifier::identifier;
use crate::reply::Usage;
use backchat_core::json::{Object, Value};
use backchat_parser::deltas::{Delta, ReasoningName};

/// The common members of an answer's chunks.
#[derive(Clone, Debug)]
pub struct Envelope {
    pub id: String,
    /// Seconds since 1970.
    pub created: u64,
    model: String,
    reasoning: ReasoningName,
    /// The beginning of each chunk.
    head: String,
}

/// The ids of the calls of one choice: the model's own if it is unique, else a new one.
#[derive(Clone, Debug, Default)]
pub struct CallIds(Vec<String>);

impl CallIds {
    pub fn next(&mut self, own: Option<&str>) -> &str {
        let own = own.filter(|id| !id.is_empty() && !self.0.iter().any(|known| known == id));
        self.0.push(own.map_or_else(|| identifier("call_"), str::to_owned));
        self.0.last().map_or("", String::as_str)
    }
}

impl Envelope {
    /// For an answer that begins at this time.
    pub fn new(model: &str, reasoning: ReasoningName, created: u64) -> Self {
        let id = identifier("chatcmpl-");
        let name = Value::from(model);
        let head = format!(
            "data: {{\"id\": \"{id}\", \"object\": \"chat.completion.chunk\", \"created\": {created}, \"model\": {name}"
        );
        Self { id, created, model: model.to_owned(), reasoning, head }
    }

    /// The first chunk of a choice.
    pub fn role(&self, choice: usize, out: &mut String) {
        self.begin(choice, out);
        out.push_str("{\"role\": \"assistant\", \"content\": \"\"}");
        end(None, "null", out);
    }

    pub fn delta(&self, choice: usize, delta: Delta<'_>, ids: &mut CallIds, out: &mut String) {
        self.begin(choice, out);
        let call_id = if let Delta::Call { id, .. } = delta { ids.next(id) } else { "" };
        delta.write_to(self.reasoning, call_id, out);
        end(None, "null", out);
    }

    /// The last chunk of a choice, with what went wrong in it.
    pub fn finish(&self, choice: usize, reason: &str, problems: Option<&Value>, out: &mut String) {
        self.begin(choice, out);
        out.push_str("{}");
        end(problems, &format!("\"{reason}\""), out);
    }

    /// The chunk that counts the tokens.
    pub fn usage(&self, usage: Usage, out: &mut String) {
        out.push_str(&self.head);
        out.push_str(&format!(", \"choices\": [], \"usage\": {}}}\n\n", usage.to_value()));
    }

    fn begin(&self, choice: usize, out: &mut String) {
        out.push_str(&self.head);
        out.push_str(&format!(", \"choices\": [{{\"index\": {choice}, \"delta\": "));
    }

    pub fn completion(&self, choices: Vec<Value>, usage: Option<Usage>) -> Value {
        let mut entries = Object::new();
        let mut add = |name: &str, value: Value| drop(entries.insert(name, value));
        add("id", self.id.as_str().into());
        add("object", "chat.completion".into());
        add("created", self.created.into());
        add("model", self.model.as_str().into());
        add("choices", Value::List(choices));
        if let Some(usage) = usage {
            add("usage", usage.to_value());
        }
        Value::Object(entries)
    }
}

fn end(problems: Option<&Value>, reason: &str, out: &mut String) {
    out.push_str(", \"finish_reason\": ");
    out.push_str(reason);
    out.push_str("}]");
    if let Some(problems) = problems {
        out.push_str(&format!(", \"backchat\": {{\"problems\": {problems}}}"));
    }
    out.push_str("}\n\n");
}

/// The message assembled from the deltas of a choice.
#[derive(Clone, Debug, Default)]
pub struct WholeMessage {
    content: String,
    reasoning: String,
    /// The id, the name and the arguments of each call.
    calls: Vec<(String, String, String)>,
    ids: CallIds,
}

impl WholeMessage {
    pub fn add(&mut self, delta: Delta<'_>) {
        match delta {
            Delta::Content(text) => self.content.push_str(text),
            Delta::Reasoning(text) => self.reasoning.push_str(text),
            Delta::Call { id, name, .. } => {
                self.calls.push((self.ids.next(id).to_owned(), name.to_owned(), String::new()));
            }
            Delta::Arguments { text, .. } => {
                if let Some((.., arguments)) = self.calls.last_mut() {
                    arguments.push_str(text);
                }
            }
        }
    }

    /// The choice of a whole answer.
    pub fn choice(self, index: usize, reason: &str, name: ReasoningName) -> Value {
        let mut message = Object::new();
        message.insert("role", "assistant".into());
        let content = if self.content.is_empty() && !self.calls.is_empty() { Value::Null } else { self.content.into() };
        message.insert("content", content);
        if !self.reasoning.is_empty() {
            for name in name.names() {
                message.insert(*name, self.reasoning.as_str().into());
            }
        }
        let calls = self.calls.into_iter().map(|(id, name, arguments)| {
            let function = Value::from([("name", name.into()), ("arguments", arguments.into())]);
            Value::from([("id", id.into()), ("type", "function".into()), ("function", function)])
        });
        let calls: Vec<Value> = calls.collect();
        if !calls.is_empty() {
            message.insert("tool_calls", Value::List(calls));
        }
        Value::from([
            ("index", index.into()),
            ("message", Value::Object(message)),
            ("logprobs", Value::Null),
            ("finish_reason", reason.into()),
        ])
    }
}
