//! Converts the parser's events to OpenAI's protocol: deltas, and the message that they add up to.

use backchat::json::{self, Object};
use backchat::parser::{ParseError, Parser};
use backchat::{Event, Value};

/// The keys that a message may use for reasoning. Clients know the first.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// One answer as it is written.
pub struct Answer {
    parser: Option<Parser>,
    calls: usize,
    /// Whether the region's call was cut off, so that its arguments stay incomplete.
    skips: bool,
}

impl Answer {
    pub fn new(parser: Parser) -> Self {
        Self { parser: Some(parser), calls: 0, skips: false }
    }

    /// The role, and the events of the prompt.
    pub fn begin(&mut self) -> Vec<Object> {
        let events = self.parser.as_ref().map(|parser| parser.initial_events().to_vec()).unwrap_or_default();
        let mut deltas = vec![object([("role", "assistant".into())])];
        deltas.extend(self.deltas(events));
        deltas
    }

    pub fn feed(&mut self, piece: &str) -> Result<Vec<Object>, ParseError> {
        let events =
            self.parser.as_mut().map_or(Ok(Vec::new()), |parser| parser.feed(piece).map(|events| events.to_vec()))?;
        Ok(self.deltas(events))
    }

    /// Ends the text. If the engine stopped at its limit, an open call stays incomplete.
    pub fn finish(&mut self, said: Option<&str>) -> Result<Vec<Object>, ParseError> {
        let Some(parser) = self.parser.take() else { return Ok(Vec::new()) };
        let mut events = parser.finish()?.events;
        if said != Some("length") {
            events.retain(|event| !matches!(event, Event::Problem(_)));
        }
        Ok(self.deltas(events))
    }

    pub fn finish_reason(&self, said: Option<&str>) -> &'static str {
        match said {
            Some("length") => "length",
            _ if self.calls > 0 => "tool_calls",
            _ => "stop",
        }
    }

    fn deltas(&mut self, events: Vec<Event>) -> Vec<Object> {
        events.iter().filter_map(|event| self.delta(event)).collect()
    }

    fn delta(&mut self, event: &Event) -> Option<Object> {
        match event {
            Event::Open { .. } => {
                self.skips = false;
                None
            }
            Event::Problem(problem) => {
                self.skips |= problem.at_end && problem.field.as_deref() == Some("tool_calls");
                None
            }
            Event::Chunk { field, text, dirty: false, .. } => {
                let field = if REASONING.contains(&&**field) { REASONING[0] } else { field };
                Some(object([(field, text.as_str().into())]))
            }
            _ if self.skips => None,
            Event::CallStart { index, name, id, .. } => {
                self.calls += 1;
                let id = id.clone().unwrap_or_else(|| format!("call_{index}"));
                let function = Value::from([("name", name.as_str().into()), ("arguments", "".into())]);
                let kind = "function".into();
                Some(call([("index", (*index).into()), ("id", id.into()), ("type", kind), ("function", function)]))
            }
            Event::CallArguments { index, delta, .. } => {
                let function = Value::from([("arguments", delta.as_str().into())]);
                Some(call([("index", (*index).into()), ("function", function)]))
            }
            _ => None,
        }
    }
}

fn call<const N: usize>(entries: [(&str, Value); N]) -> Object {
    object([("tool_calls", Value::List(vec![Value::from(entries)]))])
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into()
}

/// The message that deltas add up to.
#[derive(Default)]
pub struct Message {
    texts: Object,
    /// The id, the name and the arguments of each call.
    calls: Vec<(Value, String, String)>,
}

impl Message {
    pub fn add(&mut self, delta: &Object) {
        for (name, value) in delta {
            match value {
                Value::List(calls) => calls.iter().for_each(|call| self.add_call(call)),
                value => {
                    let text = self.texts.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                    self.texts.insert(name, (text + value.as_str().unwrap_or_default()).into());
                }
            }
        }
    }

    fn add_call(&mut self, call: &Value) {
        let function = |name: &str| call.get("function")?.get(name)?.as_str().map(str::to_owned);
        if let Some(name) = function("name") {
            self.calls.push((call.get("id").cloned().unwrap_or_default(), name, String::new()));
        }
        if let (Some((.., arguments)), Some(more)) = (self.calls.last_mut(), function("arguments")) {
            arguments.push_str(&more);
        }
    }

    /// The message, without calls whose arguments are incomplete.
    pub fn into_value(mut self) -> Value {
        if !self.texts.contains_key("content") {
            self.texts.insert("content", Value::Null);
        }
        self.calls.retain(|(.., arguments)| json::read(arguments).is_ok());
        let calls = self.calls.into_iter().map(|(id, name, arguments)| {
            let function = Value::from([("name", name.into()), ("arguments", arguments.into())]);
            Value::from([("id", id), ("type", "function".into()), ("function", function)])
        });
        let calls: Vec<Value> = calls.collect();
        if !calls.is_empty() {
            self.texts.insert("tool_calls", Value::List(calls));
        }
        Value::Object(self.texts)
    }
}
