//! Assembles the messages and tools of a reading, text by text.

use super::chat::{Chat, Offset};
use super::frames::{Frames, Step};
use super::script::{Kind, PARAMETERS};
use super::text::CodePoints;
use super::walk::TextReading;
use backchat_core::json::{self, Object, Value, entries_mut};
use backchat_probe::probe::RequestShape;
use backchat_probe::probe::schema::function;

/// The messages of a reading.
pub(crate) fn assemble(frames: &Frames, reading: &TextReading, text: &str) -> Chat {
    let mut builder = Builder {
        frames,
        points: CodePoints::new(text),
        chat: Chat { open: !reading.closed, ..Chat::default() },
        tools: Vec::new(),
        tool_list: None,
        key: None,
        echoes: Vec::new(),
        parameter: None,
        descriptions: Vec::new(),
        into: None,
    };
    for step in &reading.steps {
        if let (Some(frame), Some(slot)) = (frames.frames.get(step.frame), text.get(step.start..step.end)) {
            let cut = matches!(frame.from.kind, Kind::Content | Kind::Reasoning) && frame.gap.is_empty();
            // If the template writes nothing after an answer, the answer may continue.
            builder.chat.open |= frame.to.kind.is_end() && cut;
            if frame.to.kind == Kind::Prompt && !cut {
                builder.chat.add_generation_prompt = true;
            } else {
                builder.take(frame.to.kind, frame.to.echo, frame.step, slot, (step.start, step.end));
            }
        }
    }
    builder.finish()
}

/// Assembles messages from the texts of a reading.
struct Builder<'b> {
    frames: &'b Frames,
    points: CodePoints<'b>,
    chat: Chat,
    tools: Vec<Object>,
    tool_list: Option<Vec<Value>>,
    /// The argument that waits for its value.
    key: Option<String>,
    /// Names and ids that were just repeated: they assign a result to its call.
    echoes: Vec<(Kind, String)>,
    /// The parameter that a description is about.
    parameter: Option<String>,
    /// Descriptions that wait for the name of the tool or parameter they describe.
    descriptions: Vec<(Kind, String)>,
    /// The earlier message that the current text belongs to, instead of the last one.
    into: Option<usize>,
}

impl Builder<'_> {
    fn take(&mut self, kind: Kind, echo: bool, step: Step, slot: &str, place: (usize, usize)) {
        let text = self.frames.decode(kind, slot);
        if echo {
            return self.repeated(kind, text);
        }
        self.into = None;
        let echoes = std::mem::take(&mut self.echoes);
        match kind {
            Kind::System => self.say("system", &text, place),
            Kind::User => self.say("user", &text, place),
            Kind::Result => {
                self.say("tool", &text, place);
                self.identify(echoes);
            }
            Kind::Content => {
                self.assistant(step);
                let content = self.frames.form.shape.text(&text);
                self.put("content", content);
                self.offset("content", place);
            }
            Kind::Reasoning => {
                self.assistant(step);
                self.put(self.frames.form.reasoning.unwrap_or("reasoning_content"), text.into());
                self.offset("reasoning", place);
            }
            Kind::Name | Kind::Id => {
                self.begin_call(kind, step);
                self.identify_call(kind, text);
                self.offset("call", place);
            }
            Kind::Arguments | Kind::ArgumentsText => {
                self.begin_call(kind, step);
                let value = match read_or_null(slot) {
                    Value::String(text) => read_or_null(&text),
                    value => value,
                };
                if let Some(arguments) = self.arguments() {
                    *arguments = value;
                }
                self.extend_call(place.1);
            }
            Kind::Key => {
                self.begin_call(kind, step);
                self.key = Some(text);
                self.extend_call(place.1);
            }
            Kind::Value => self.argument(text.into(), place),
            Kind::Literal => {
                let value = json::read(slot.trim()).unwrap_or_else(|_| text.into());
                self.argument(value, place);
            }
            Kind::ToolsText => {
                self.chat.tools_text = Some((self.points.of_byte(place.0), self.points.of_byte(place.1)));
            }
            Kind::Begin | Kind::End | Kind::Prompt => {}
            _ => self.tool(kind, text, slot),
        }
    }

    /// Takes a text that the template writes again, which refers to what it was first written for.
    fn repeated(&mut self, kind: Kind, text: String) {
        if matches!(kind, Kind::Parameter(_)) {
            self.parameter = Some(text);
            return;
        }
        let is_result = self.last().is_some_and(|last| last.get("role").and_then(Value::as_str) == Some("tool"));
        if is_result && self.frames.trailing.contains(&kind) {
            self.identify(vec![(kind, text)]);
        } else {
            self.echoes.push((kind, text));
        }
    }

    /// Gives the current call its name or id. An id that comes before the name is the first key: templates may print the
    /// whole call.
    fn identify_call(&mut self, kind: Kind, text: String) {
        if let Some(call) = self.call() {
            let is_first = call.get("function").is_some_and(|function| function.get("name").is_none());
            match (kind, call.get_mut("function")) {
                (Kind::Id, _) if is_first => call.insert_at(0, "id", text.into()),
                (Kind::Id, _) => drop(call.insert("id", text.into())),
                (_, Some(Value::Object(function))) => function.insert_at(0, "name", text.into()),
                _ => drop(call.insert("name", text.into())),
            }
        }
    }

    fn say(&mut self, role: &str, text: &str, place: (usize, usize)) {
        let content = self.frames.form.shape.text(text);
        self.chat.messages.push(Value::from([("role", role.into()), ("content", content)]));
        self.offset("content", place);
    }

    /// Assigns a result to its call.
    fn identify(&mut self, echoes: Vec<(Kind, String)>) {
        for (kind, text) in echoes {
            match kind {
                Kind::Name => self.put("name", text.into()),
                Kind::Id => self.put("tool_call_id", text.into()),
                _ => {}
            }
        }
    }

    fn last_index(&self) -> Option<usize> {
        self.into.or(self.chat.messages.len().checked_sub(1))
    }

    /// The message that is being written.
    fn last(&mut self) -> Option<&mut Object> {
        let index = self.last_index()?;
        entries_mut(self.chat.messages.get_mut(index)?)
    }

    fn put(&mut self, key: &str, value: Value) {
        if let Some(message) = self.last() {
            message.insert(key, value);
        }
    }

    /// Begins a message of the assistant unless one is being written.
    fn assistant(&mut self, step: Step) {
        if step == Step::Back {
            let called = |message: &Value| message.get("tool_calls").is_some();
            self.into = self.chat.messages.iter().rposition(called);
            if self.into.is_some() {
                return;
            }
        }
        let goes_on = step != Step::Message
            && self.last().is_some_and(|message| message.get("role").and_then(Value::as_str) == Some("assistant"));
        if !goes_on {
            self.chat.messages.push(Value::from([("role", "assistant".into())]));
        }
    }

    fn calls(&mut self) -> Option<&mut Vec<Value>> {
        let calls = self.last()?.entry("tool_calls").or_insert_with(|| Value::List(Vec::new()));
        match calls {
            Value::List(calls) => Some(calls),
            _ => None,
        }
    }

    fn call(&mut self) -> Option<&mut Object> {
        entries_mut(self.calls()?.last_mut()?)
    }

    fn begin_call(&mut self, kind: Kind, step: Step) {
        self.assistant(step);
        let is_taken = self.call().is_none_or(|call| match kind {
            Kind::Id => call.contains_key("id"),
            Kind::Name => call.get("function").is_some_and(|function| function.get("name").is_some()),
            _ => false,
        });
        if is_taken || step == Step::Call {
            let call = function([("arguments", Value::Object(Object::new()))]);
            if let Some(calls) = self.calls() {
                calls.push(call);
            }
        }
    }

    fn arguments(&mut self) -> Option<&mut Value> {
        entries_mut(self.call()?.get_mut("function")?)?.get_mut("arguments")
    }

    fn argument(&mut self, value: Value, place: (usize, usize)) {
        let Some(key) = self.key.take() else { return };
        let value = self.typed(&key, value);
        if let Some(arguments) = self.arguments().and_then(entries_mut) {
            arguments.insert(key, value);
        }
        self.extend_call(place.1);
    }

    /// A value spelled as a number, or another JSON value, is one unless its tool takes text.
    fn typed(&mut self, key: &str, value: Value) -> Value {
        let Value::String(text) = &value else { return value };
        let name = self.call().and_then(|call| call.get("function")?.get("name")).cloned();
        let tools = self.definitions();
        let mut functions = tools.iter().map(|tool| tool.get("function").unwrap_or(tool));
        let tool = functions.find(|tool| name.is_some() && tool.get("name") == name.as_ref());
        let schema = tool.and_then(|tool| tool.get("parameters")?.get("properties")?.get(key)?.get("type"));
        if schema.and_then(Value::as_str) == Some("string") {
            return value;
        }
        match json::read(text.trim()) {
            Ok(Value::String(_)) | Err(_) => value,
            Ok(other) => other,
        }
    }

    fn definitions(&self) -> Vec<Value> {
        match &self.tool_list {
            Some(list) => list.clone(),
            None => self.tools.iter().map(|tool| Value::Object(tool.clone())).collect(),
        }
    }

    fn offset(&mut self, part: &'static str, place: (usize, usize)) {
        let Some(message) = self.last_index() else { return };
        let (start, end) = (self.points.of_byte(place.0), self.points.of_byte(place.1));
        self.chat.offsets.push(Offset { message, part, start, end });
    }

    /// The part of a call ends with its last argument.
    fn extend_call(&mut self, end: usize) {
        let end = self.points.of_byte(end);
        if let Some(Offset { part: "call", end: before, .. }) = self.chat.offsets.last_mut() {
            *before = end;
        }
    }

    /// Takes one text of a tool's definition.
    fn tool(&mut self, kind: Kind, text: String, slot: &str) {
        let wrap = |value: Value| match value.get("function") {
            Some(_) => value,
            None => function(value),
        };
        match kind {
            Kind::ToolList => {
                let Ok(Value::List(list)) = json::read(slot) else { return };
                self.tool_list = Some(list.into_iter().map(wrap).collect());
            }
            Kind::ToolObject => {
                let Ok(tool) = json::read(slot) else { return };
                self.tool_list.get_or_insert_default().push(wrap(tool));
            }
            Kind::ToolName => {
                let schema = Value::from([("type", "object".into()), ("properties", Value::Object(Object::new()))]);
                let function = Value::from([("name", text.into()), ("parameters", schema)]);
                let entries = [("type".to_owned(), "function".into()), ("function".to_owned(), function)];
                self.tools.push(Object::from_iter(entries));
                self.describe(Kind::ToolDescription);
            }
            Kind::ToolDescription | Kind::ParameterDescription if self.frames.leading.contains(&kind) => {
                self.descriptions.push((kind, text));
            }
            _ => {
                self.tool_detail(kind, text);
                if let Kind::Parameter(_) = kind {
                    self.describe(Kind::ParameterDescription);
                }
            }
        }
    }

    /// Adds the description that came before the name of a tool or parameter.
    fn describe(&mut self, kind: Kind) {
        if let Some(at) = self.descriptions.iter().position(|(waiting, _)| *waiting == kind) {
            let (_, text) = self.descriptions.remove(at);
            self.tool_detail(kind, text);
        }
    }

    fn tool_detail(&mut self, kind: Kind, text: String) {
        let Some(function) = self.tools.last_mut().and_then(|tool| entries_mut(tool.get_mut("function")?)) else {
            return;
        };
        if kind == Kind::ToolDescription {
            // Keys are in the usual order: templates may print the whole definition.
            let parameters = function.shift_remove("parameters");
            function.insert("description", text.into());
            function.extend(parameters.map(|parameters| ("parameters".to_owned(), parameters)));
            return;
        }
        let Some(schema) = function.get_mut("parameters").and_then(entries_mut) else { return };
        let Some(properties) = schema.get_mut("properties").and_then(entries_mut) else { return };
        let Kind::Parameter(index) = kind else {
            let property = self.parameter.as_ref().and_then(|name| properties.get_mut(name));
            if let Some(property) = property.and_then(entries_mut) {
                property.insert("description", text.into());
            }
            return;
        };
        let (kind, _, is_required) = PARAMETERS.get(usize::from(index)).copied().unwrap_or(("string", true, false));
        self.parameter = Some(text.clone());
        properties.insert(text.clone(), Value::from([("type", kind.into())]));
        if is_required
            && let Value::List(required) = schema.entry("required").or_insert_with(|| Value::List(Vec::new()))
        {
            required.push(text.into());
        }
    }

    fn finish(mut self) -> Chat {
        let tools = self.definitions();
        self.chat.tools = (!tools.is_empty()).then_some(Value::List(tools));
        self.chat
    }
}

/// Adds missing content to messages, and writes arguments in the form that the template takes.
pub(crate) fn fill(messages: &mut [Value], shape: RequestShape) {
    let absent = shape.absent_content().unwrap_or_default();
    for message in messages {
        let Value::Object(entries) = message else { continue };
        if !entries.contains_key("content") {
            entries.insert_at(1, "content", absent.clone());
        }
        if shape.arguments_text
            && let Some(Value::List(calls)) = entries.get_mut("tool_calls")
        {
            calls.iter_mut().for_each(arguments_as_text);
        }
    }
}

/// Adds ids to calls and results in order, so that a template can find the call of a result.
pub(crate) fn link_results(messages: &mut [Value]) {
    let mut waiting: std::collections::VecDeque<(Value, Value)> = std::collections::VecDeque::new();
    let mut next = 0;
    for message in messages {
        let Value::Object(entries) = message else { continue };
        if let Some(Value::List(calls)) = entries.get_mut("tool_calls") {
            waiting.clear();
            for call in calls {
                let Value::Object(call) = call else { continue };
                let id = call.entry("id").or_insert_with(|| Value::from(format!("call{next:05}"))).clone();
                next += 1;
                let name = call.get("function").and_then(|function| function.get("name")).cloned();
                waiting.push_back((id, name.unwrap_or(Value::Null)));
            }
        } else if entries.get("role").and_then(Value::as_str) == Some("tool")
            && let Some((id, name)) = waiting.pop_front()
        {
            entries.entry("tool_call_id").or_insert(id);
            entries.entry("name").or_insert(name);
        }
    }
}

/// The JSON value of a text; null if it is not JSON, which does not render back.
fn read_or_null(text: &str) -> Value {
    json::read(text).unwrap_or(Value::Null)
}

fn arguments_as_text(call: &mut Value) {
    let function = entries_mut(call).and_then(|call| entries_mut(call.get_mut("function")?));
    if let Some(arguments) = function.and_then(|function| function.get_mut("arguments")) {
        *arguments = arguments.to_string().into();
    }
}
