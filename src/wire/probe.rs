//! Rendering probes: conversations whose every value is a needle, in a form that the template accepts.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

use foldhash::fast::FixedState;

use super::conversation::{Answer, Call, Message, ReasoningInput, RequestShape};
use crate::chat::{ChatTemplate, RenderError, RenderErrorKind, RenderOptions};
use crate::json::{Object, Value};

/// Strings that cannot occur by accident, so that their position shows the text around a value.
pub(crate) mod needle {
    pub const SYSTEM: &str = "Qzsystemq";
    pub const USER: &str = "Qzuserq";
    pub const LATER: &str = "Qzlaterq";
    pub const CONTENT: &str = "Qzcontentq";
    pub const REASONING: &str = "Qzreasonq";
    pub const EARLIER: &str = "Qzearlierq";
    pub const RESULT: &str = "Qzresultq";
    pub const NAMES: [&str; 3] = ["qzname_one", "qzname_two", "qzname_tre"];
    pub const KEYS: [&str; 3] = ["qzkey_one", "qzkey_two", "qzkey_tre"];
    pub const VALUES: [&str; 3] = ["Qzvalueoneq", "Qzvaluetwoq", "Qzvaluetreq"];
    /// How needles begin.
    pub const BEGINNINGS: [&str; 5] = ["Qz", "qzname_", "qzkey_", "qzId", "qzspace"];
    /// Nine letters and digits: some templates refuse any other id.
    pub const IDS: [&str; 3] = ["qzId1aaaa", "qzId2bbbb", "qzId3cccc"];
}

/// Values of the variables a template reads as switches, such as one that turns thinking off.
pub(crate) type Setting = Object;

/// Renders probes with one chat template and remembers what it refused.
pub(crate) struct Prober<'t> {
    template: &'t ChatTemplate,
    /// Variables that hold for every render, such as the special tokens.
    variables: &'t Object,
    options: RenderOptions,
    pub request_shape: RequestShape,
    pub reasoning_input: Option<ReasoningInput>,
    /// Whether a tool is offered even if none is called: some templates require it.
    pub always_tools: bool,
    /// The tools to offer instead of those the conversation calls.
    pub offered: Option<Value>,
    memory: Rc<Memory>,
}

/// The state that probers of one template share.
#[derive(Default)]
struct Memory {
    renders: Cell<usize>,
    /// Whether a render used up its allowance: no other is tried then.
    exhausted: Cell<bool>,
    /// The errors of the template, each once.
    refused: RefCell<Vec<String>>,
    /// Renders by their context.
    known: RefCell<HashMap<u64, Option<String>>>,
}

impl<'t> Prober<'t> {
    pub fn new(template: &'t ChatTemplate, variables: &'t Object, now: Option<String>) -> Self {
        Self {
            template,
            variables,
            options: RenderOptions { now, ..RenderOptions::default() },
            request_shape: RequestShape::USUAL,
            reasoning_input: None,
            always_tools: false,
            offered: None,
            memory: Rc::default(),
        }
    }

    /// Another one with the same template, request shape and renders.
    pub fn fresh(&self) -> Self {
        let fresh = Self::new(self.template, self.variables, self.options.now.clone());
        Self {
            request_shape: self.request_shape,
            always_tools: self.always_tools,
            memory: Rc::clone(&self.memory),
            ..fresh
        }
    }

    /// Finds the first request shape in which content reaches the text, and whether a tool must be offered for it.
    pub fn settle(&mut self) -> Option<()> {
        let messages = [Message::User(needle::USER.to_owned()), Message::Assistant(Answer::content(needle::CONTENT))];
        for always_tools in [false, true] {
            self.always_tools = always_tools;
            let shows = |request_shape: &RequestShape| {
                let text = self.render_in(*request_shape, &messages, &Setting::new(), false);
                text.is_some_and(|text| text.contains(needle::CONTENT) && text.contains(needle::USER))
            };
            if let Some(request_shape) = RequestShape::all().find(shows) {
                self.request_shape = request_shape;
                return Some(());
            }
        }
        None
    }

    /// How many renders were tried.
    pub fn renders(&self) -> usize {
        self.memory.renders.get()
    }

    /// The errors of the template, each once.
    pub fn refused(&self) -> Vec<String> {
        self.memory.refused.borrow().clone()
    }

    /// The error of the template on an answer with content, if it accepts none in any request shape.
    pub fn refuses_answers(&self) -> Option<RenderError> {
        self.refuses(Answer::content(needle::CONTENT))
    }

    /// The error of the template on a call, if it accepts none in any request shape.
    pub fn refuses_calls(&self) -> Option<RenderError> {
        self.refuses(Answer::calls(vec![call(0, 1)]))
    }

    fn refuses(&self, answer: Answer) -> Option<RenderError> {
        let messages = [Message::User(needle::USER.to_owned()), Message::Assistant(answer)];
        if self.render(&messages, &Setting::new(), false).is_some() {
            return None;
        }
        let context = self.context(self.request_shape, &messages, &Setting::new(), false);
        self.template.render(&context, &self.options).err()
    }

    /// The special tokens that the template reads and nobody gave.
    pub fn unset_tokens(&self, template: &ChatTemplate) -> Vec<String> {
        let names = template.variables().iter().filter(|name| name.ends_with("_token"));
        names.filter(|name| !self.variables.contains_key(name.as_str())).cloned().collect()
    }

    /// Renders in this prober's request shape or, if the template refuses that, in the first one it accepts.
    pub fn render(&self, messages: &[Message], setting: &Setting, generation_prompt: bool) -> Option<String> {
        self.render_in(self.request_shape, messages, setting, generation_prompt).or_else(|| {
            RequestShape::all()
                .filter(|request_shape| {
                    *request_shape != self.request_shape && request_shape.bare_tools == self.request_shape.bare_tools
                })
                .find_map(|request_shape| self.render_in(request_shape, messages, setting, generation_prompt))
        })
    }

    /// Renders in one request shape.
    pub fn render_in(
        &self,
        request_shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Option<String> {
        let context = self.context(request_shape, messages, setting, generation_prompt);
        let key = key(&context);
        if let Some(known) = self.memory.known.borrow().get(&key) {
            return known.clone();
        }
        if self.memory.exhausted.get() {
            return None;
        }
        self.memory.renders.set(self.memory.renders.get() + 1);
        let text = match self.template.render(&context, &self.options) {
            Ok(rendered) => Some(rendered.text),
            Err(error) => {
                self.memory.exhausted.set(error.kind() == RenderErrorKind::Exhausted);
                let mut refused = self.memory.refused.borrow_mut();
                if !refused.contains(&error.message) {
                    refused.push(error.message);
                }
                None
            }
        };
        self.memory.known.borrow_mut().insert(key, text.clone());
        text
    }

    /// The keys a render asks the context for.
    pub fn paths(&self, request_shape: RequestShape, messages: &[Message], setting: &Setting) -> Vec<String> {
        let context = self.context(request_shape, messages, setting, false);
        let options = RenderOptions { watch: true, ..self.options.clone() };
        let rendered = self.template.render(&context, &options).ok();
        rendered.and_then(|rendered| rendered.watched).map(|watched| watched.paths).unwrap_or_default()
    }

    /// The context of a render.
    pub fn context(
        &self,
        request_shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Object {
        let mut context = self.variables.clone();
        context.insert("messages".to_owned(), request_shape.messages(messages, self.reasoning_input.as_ref()));
        let mut tools = self.offered.clone().unwrap_or_else(|| request_shape.tools(messages));
        if self.always_tools && tools == Value::List(Vec::new()) {
            tools = request_shape.tools(&[Message::Assistant(Answer::calls(vec![call(0, 1)]))]);
        }
        if tools != Value::List(Vec::new()) {
            context.insert("tools".to_owned(), tools);
        }
        context.insert("add_generation_prompt".to_owned(), generation_prompt.into());
        context.extend(setting.iter().map(|(name, value)| (name.clone(), value.clone())));
        context
    }
}

/// The key of a context.
fn key(context: &Object) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hash_object(context, &mut hasher);
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(hasher),
        Value::Number(number) => number.as_str().hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::List(values) => {
            values.len().hash(hasher);
            values.iter().for_each(|value| hash(value, hasher));
        }
        Value::Object(object) => hash_object(object, hasher),
    }
}

fn hash_object(object: &Object, hasher: &mut impl Hasher) {
    object.len().hash(hasher);
    for (name, value) in object {
        name.hash(hasher);
        hash(value, hasher);
    }
}

/// The call number `index` of the probes, with as many needle arguments as wanted.
pub(crate) fn call(index: usize, arguments: usize) -> Call {
    let pick = |from: &[&'static str; 3], at: usize| from.get(at % 3).copied().unwrap_or_default();
    let arguments = (0..arguments)
        .map(|i| (pick(&needle::KEYS, index + i).to_owned(), Value::from(pick(&needle::VALUES, index + i))))
        .collect();
    call_with(index, arguments)
}

/// The call number `index` of the probes, with these arguments.
pub(crate) fn call_with(index: usize, arguments: Object) -> Call {
    let pick = |from: &[&'static str; 3]| from.get(index % 3).copied().unwrap_or_default().to_owned();
    Call { id: pick(&needle::IDS), name: pick(&needle::NAMES), arguments }
}

/// A history that ends in a tool's result.
pub(crate) fn after_tool() -> Vec<Message> {
    let called = call(2, 1);
    vec![
        Message::User(needle::USER.to_owned()),
        Message::Assistant(Answer::calls(vec![called.clone()])),
        Message::Tool { id: called.id, name: called.name, content: needle::RESULT.to_owned() },
    ]
}
