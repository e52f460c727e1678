//! An answer of the Responses API: its items, and the events in which a stream builds them.

use super::item::{self, Item, Stage};
use crate::api_error::ApiError;
use crate::identifier::identifier;
use crate::parts::Parts;
use crate::reply::Usage;
use crate::writer::{Events, Finish, Writer};
use backchat_core::json::{Object, Value};
use backchat_parser::deltas::Delta;

/// The members of a response that repeat the request.
const REPEATED: [&str; 17] = [
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// What such a member means if the request does not have it.
fn default(name: &str) -> Value {
    match name {
        "metadata" => Value::Object(Object::new()),
        "parallel_tool_calls" => true.into(),
        "reasoning" => Value::from([("effort", Value::Null), ("summary", Value::Null)]),
        "text" => Value::from([("format", Value::from([("type", "text".into())]))]),
        "tool_choice" => "auto".into(),
        "tools" => Value::List(Vec::new()),
        "top_logprobs" => 0.into(),
        "truncation" => "disabled".into(),
        _ => Value::Null,
    }
}

/// What a response repeats of its request.
#[derive(Clone, Debug, Default)]
pub struct Repeated {
    members: Object,
    /// Whether the client asks for reasoning in the form in which it sends it back.
    wants_reasoning: bool,
}

impl Repeated {
    pub fn of(body: &Object) -> Self {
        let member = |name: &&str| {
            let value = body.get(name).filter(|value| !value.is_null()).cloned();
            ((*name).to_owned(), value.unwrap_or_else(|| default(name)))
        };
        let included = body.get("include").and_then(Value::as_list).unwrap_or_default();
        let wants_reasoning = included.iter().any(|name| name.as_str() == Some("reasoning.encrypted_content"));
        Self { members: REPEATED.iter().map(member).collect(), wants_reasoning }
    }
}

/// A response that is being written.
#[derive(Debug)]
pub struct Response {
    id: String,
    /// Seconds since 1970.
    created: u64,
    model: String,
    repeated: Repeated,
    parts: Parts,
    /// The ids of the items, one for each part.
    ids: Vec<String>,
    finish: Option<Finish>,
    events: Events,
}

impl Response {
    pub fn new(model: &str, created: u64, streams: bool, parts: Parts, repeated: Repeated) -> Self {
        let mut response = Self {
            id: identifier("resp_"),
            created,
            model: model.to_owned(),
            repeated,
            parts,
            ids: Vec::new(),
            finish: None,
            events: Events::numbered(streams),
        };
        for event in ["response.created", "response.in_progress"] {
            let body = response.body("in_progress", None);
            response.events.add(event, &[("response", body)]);
        }
        response
    }

    /// The items so far.
    fn items(&self) -> impl DoubleEndedIterator<Item = Item<'_>> {
        let wants_reasoning = self.repeated.wants_reasoning;
        let parts = self.parts.list().iter().zip(&self.ids).enumerate();
        parts.map(move |(index, (part, id))| Item { index, id, part, wants_reasoning })
    }

    /// The events that begin the last item.
    fn open(&mut self) {
        let Some(part) = self.parts.list().last() else { return };
        self.ids.push(identifier(item::lead(part)));
        let (events, item) = self.last();
        let Some(item) = item else { return };
        events.add(
            "response.output_item.added",
            &[("output_index", item.index.into()), ("item", item.value(Stage::Begun))],
        );
        if let Some(content) = item.content(Stage::Begun) {
            events.add("response.content_part.added", &[item.place(), vec![("part", content)]].concat());
        }
    }

    /// The events that end the last item.
    fn close(&mut self, stage: Stage) {
        let (events, item) = self.last();
        let Some(item) = item else { return };
        events.add(&format!("{}.done", item.event()), &[item.place(), item.text()].concat());
        if let Some(content) = item.content(stage) {
            events.add("response.content_part.done", &[item.place(), vec![("part", content)]].concat());
        }
        events.add("response.output_item.done", &[("output_index", item.index.into()), ("item", item.value(stage))]);
    }

    /// The last item, and the events to write about it.
    fn last(&mut self) -> (&mut Events, Option<Item<'_>>) {
        let Self { parts, ids, events, repeated, .. } = self;
        let last = parts.list().last().zip(ids.last());
        let item =
            last.map(|(part, id)| Item { index: ids.len() - 1, id, part, wants_reasoning: repeated.wants_reasoning });
        (events, item)
    }

    /// The response with this status, as it stands.
    fn body(&self, status: &str, usage: Option<Usage>) -> Value {
        let cut = self.cut().filter(|_| status == "incomplete");
        let last = self.ids.len().saturating_sub(1);
        let items = self
            .items()
            .map(|item| item.value(if cut.is_some() && item.index == last { Stage::CutOff } else { Stage::Complete }));
        let mut body = Object::new();
        let mut add = |name: &str, value: Value| drop(body.insert(name, value));
        add("id", self.id.as_str().into());
        add("object", "response".into());
        add("created_at", self.created.into());
        add("status", status.into());
        add("background", false.into());
        add("error", Value::Null);
        add("incomplete_details", cut.map_or(Value::Null, |reason| Value::from([("reason", reason.into())])));
        add("model", self.model.as_str().into());
        add("output", Value::List(items.collect()));
        add("previous_response_id", Value::Null);
        add("store", false.into());
        add("usage", usage.map(counts).into());
        body.extend(self.repeated.members.clone());
        if let Some(problems) = self.finish.as_ref().and_then(|finish| finish.problems.clone()) {
            body.insert("backchat", Value::from([("problems", problems)]));
        }
        Value::Object(body)
    }

    /// What cut the response off, if something did.
    fn cut(&self) -> Option<&'static str> {
        match self.finish.as_ref()?.reason {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        }
    }

    /// The status of the response once it has ended.
    fn status(&self) -> &'static str {
        if self.cut().is_some() { "incomplete" } else { "completed" }
    }
}

impl Writer for Response {
    fn id(&self) -> &str {
        &self.id
    }

    fn delta(&mut self, _choice: usize, delta: Delta<'_>) {
        let text = match delta {
            Delta::Reasoning(text) | Delta::Content(text) | Delta::Arguments { text, .. } => Some(text),
            Delta::Call { .. } => None,
        };
        if self.parts.begins(delta) {
            self.close(Stage::Complete);
            self.parts.add(delta);
            self.open();
        } else {
            self.parts.add(delta);
        }
        let (events, item) = self.last();
        if let (Some(text), Some(item)) = (text, item) {
            let logprobs = ("logprobs", Value::List(Vec::new()));
            let mut members = [item.place(), vec![("delta", text.into())]].concat();
            members.extend(matches!(delta, Delta::Content(_)).then_some(logprobs));
            events.add(&format!("{}.delta", item.event()), &members);
        }
    }

    fn finish(&mut self, _choice: usize, finish: Finish) {
        self.finish = Some(finish);
        self.close(if self.cut().is_some() { Stage::CutOff } else { Stage::Complete });
    }

    fn end(&mut self, usage: Option<Usage>) {
        let status = self.status();
        let body = self.body(status, usage);
        self.events.add(&format!("response.{status}"), &[("response", body)]);
    }

    fn fail(&mut self, error: &ApiError) {
        let Value::Object(mut body) = self.body("failed", None) else { return };
        let code = error.code.unwrap_or("server_error");
        body.insert("error", Value::from([("code", code.into()), ("message", error.message.as_str().into())]));
        self.events.add("response.failed", &[("response", Value::Object(body))]);
    }

    fn ends_by_failing(&self) -> bool {
        true
    }

    fn unsent(&mut self) -> &mut String {
        &mut self.events.unsent
    }

    fn whole(&mut self, usage: Option<Usage>) -> Value {
        self.body(self.status(), usage)
    }
}

/// The tokens under this API's names.
fn counts(usage: Usage) -> Value {
    let mut counts = Object::new();
    counts.insert("input_tokens", usage.prompt.into());
    counts.insert("input_tokens_details", Value::from([("cached_tokens", 0.into())]));
    counts.insert("output_tokens", usage.completion.into());
    // Clients of this API need the member, even if the engine did not count.
    counts.insert("output_tokens_details", Value::from([("reasoning_tokens", usage.reasoning.unwrap_or(0).into())]));
    counts.insert("total_tokens", usage.total().into());
    Value::Object(counts)
}
