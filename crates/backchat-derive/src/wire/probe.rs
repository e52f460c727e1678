//! Rendering probes: conversations whose every value is a needle, in a form that the template accepts.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

use foldhash::fast::FixedState;

use super::conversation::{Answer, Call, Message, Offer, ReasoningInput, RequestShape};
use super::steady::Varying;
use backchat_chat::{ChatTemplate, Origin, Prepared, RenderError, RenderErrorKind, RenderOptions};
use backchat_core::json::{Object, Value};

/// Strings that cannot occur by accident, so that their position shows the text around a value.
pub(crate) mod needle {
    pub(crate) use super::super::conversation::SYSTEM;
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

    /// One of three needles, in turn.
    pub fn pick([first, second, third]: [&'static str; 3], index: usize) -> &'static str {
        match index % 3 {
            0 => first,
            1 => second,
            _ => third,
        }
    }
}

/// Values of the variables a template reads as switches, such as one that turns thinking off.
pub(crate) type Setting = Object;

/// Renders probes with one chat template, always in the same way: whoever wants another way makes another prober of this
/// one. All of them share one memory of renders and errors.
#[derive(Clone)]
pub(crate) struct Prober<'t> {
    template: &'t ChatTemplate,
    /// Variables that hold for every render, such as the special tokens.
    variables: &'t Object,
    options: Rc<RenderOptions>,
    request_shape: RequestShape,
    reasoning_input: Option<ReasoningInput>,
    /// The tools to offer instead of those the conversation calls.
    offered: Option<Rc<Offered>>,
    /// Whether the template may ask for tools at all.
    reads_tools: bool,
    /// The texts of which renders show the class alone.
    varying: Option<Rc<Varying>>,
    memory: Rc<Memory>,
}

/// Tools that many requests offer.
struct Offered {
    tools: Value,
    key: u64,
    prepared: Option<Prepared>,
}

/// The tools of one request.
enum Tools<'p> {
    None,
    Offered(&'p Offered),
    Own(Value),
}

/// The state that probers of one template share.
#[derive(Default)]
struct Memory {
    renders: Cell<usize>,
    /// The error of a render that used up its allowance: no other is tried then.
    exhausted: RefCell<Option<RenderError>>,
    /// The errors of the template, each once.
    refused: RefCell<Vec<String>>,
    /// The contexts of requests, both by their keys.
    contexts: RefCell<HashMap<u64, u64, FixedState>>,
    /// Renders by their context.
    known: RefCell<HashMap<u64, Option<String>, FixedState>>,
    /// Refused conversations that no request shape helps.
    hopeless: RefCell<HashSet<Refusal>>,
    /// Those that are refused in every form of every remedy.
    unacceptable: RefCell<HashSet<Refusal>>,
}

/// What refusals depend on, as a hash.
type Refusal = u64;

impl<'t> Prober<'t> {
    pub fn new(template: &'t ChatTemplate, variables: &'t Object, now: Option<String>) -> Self {
        Self {
            template,
            variables,
            options: Rc::new(RenderOptions::default().now(now)),
            request_shape: RequestShape::USUAL,
            reasoning_input: None,
            offered: None,
            reads_tools: template.variables().iter().any(|name| name == "tools"),
            varying: None,
            memory: Rc::default(),
        }
    }

    /// One that writes conversations down in this request shape.
    pub fn with_shape(&self, request_shape: RequestShape) -> Self {
        Self { request_shape, ..self.clone() }
    }

    /// One that hands reasoning over in this way; in none, if there is none.
    pub fn with_reasoning(&self, reasoning_input: Option<&ReasoningInput>) -> Self {
        Self { reasoning_input: reasoning_input.cloned(), ..self.clone() }
    }

    /// One that offers these tools; those that the conversation calls, if there are none.
    pub fn offering(&self, tools: Option<Value>) -> Self {
        let offered = tools.map(|tools| Rc::new(Offered::new(tools)));
        Self { offered, ..self.clone() }
    }

    /// One whose renders have one sign in place of each text that varies.
    pub fn steady(&self, varying: &Varying) -> Self {
        Self { varying: Some(Rc::new(varying.clone())), ..self.clone() }
    }

    /// One whose clock says this time.
    pub fn at(&self, time: &str) -> Self {
        let options = self.options.as_ref().clone().now(Some(time.to_owned()));
        let memory = Memory { exhausted: self.memory.exhausted.clone(), ..Memory::default() };
        Self { options: Rc::new(options), memory: Rc::new(memory), ..self.clone() }
    }

    /// The variables that may switch the template.
    pub fn switches(&self) -> Vec<String> {
        self.template.switches(self.variables).into_iter().map(|(name, _)| name.to_owned()).collect()
    }

    pub fn request_shape(&self) -> RequestShape {
        self.request_shape
    }

    /// The tools that are offered instead of those that the conversation calls.
    pub fn offered(&self) -> Option<&Value> {
        self.offered.as_ref().map(|offered| &offered.tools)
    }

    pub fn reasoning_input(&self) -> Option<&ReasoningInput> {
        self.reasoning_input.as_ref()
    }

    /// Whether every request offers a tool.
    pub fn always_tools(&self) -> bool {
        self.request_shape.offer == Offer::Always
    }

    /// One with the first request shape in which content reaches the text.
    pub fn settled(&self) -> Option<Self> {
        let messages = [Message::User(needle::USER.to_owned()), Message::Assistant(Answer::content(needle::CONTENT))];
        let shows = |request_shape: &RequestShape| {
            let text = self.render_in(*request_shape, &messages, &Setting::new(), false);
            text.is_some_and(|text| text.contains(needle::CONTENT) && text.contains(needle::USER))
        };
        // No id is given, and no tool called, that a remedy could change.
        let mut ladder = self
            .request_shape
            .ladder()
            .filter(|shape| !shape.long_ids && matches!(shape.offer, Offer::Usual | Offer::Always));
        ladder.find(shows).map(|request_shape| self.with_shape(request_shape))
    }

    /// The texts that the template writes.
    pub fn literals(&self) -> &'t [String] {
        self.template.literals()
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
        if let Some(error) = &*self.memory.exhausted.borrow() {
            return Some(error.clone());
        }
        let context = self.context(self.request_shape, &messages, &Setting::new(), false);
        self.template.render(&context, &self.options).err()
    }

    /// The special tokens that the template reads and that were not given.
    pub fn unset_tokens(&self, template: &ChatTemplate) -> Vec<String> {
        let names = template.variables().iter().filter(|name| name.ends_with("_token"));
        names.filter(|name| !self.variables.contains_key(name.as_str())).cloned().collect()
    }

    /// Renders in this prober's request shape or, if the template refuses that, in the first one it accepts.
    pub fn render(&self, messages: &[Message], setting: &Setting, generation_prompt: bool) -> Option<String> {
        let render = |shape: RequestShape| self.render_in(shape, messages, setting, generation_prompt);
        let own = self.request_shape;
        render(own).or_else(|| {
            let refused = self.refusal(messages, setting, generation_prompt);
            if self.memory.hopeless.borrow().contains(&refused) {
                return None;
            }
            let is_other = |shape: &RequestShape| *shape != own && shape.bare_tools == own.bare_tools;
            let found = own.forms().filter(is_other).chain(own.remedies()).find_map(render);
            if found.is_none() {
                self.memory.hopeless.borrow_mut().insert(refused);
            }
            found
        })
    }

    /// A refused conversation as far as refusals depend on it: its setting, its request shape, and the parts of its
    /// messages. Where no request shape helped one, none is tried for another.
    fn refusal(&self, messages: &[Message], setting: &Setting, generation_prompt: bool) -> Refusal {
        let mut hasher = FixedState::default().build_hasher();
        hash_object(setting, &mut hasher);
        (self.request_shape, self.offered.is_some(), generation_prompt).hash(&mut hasher);
        self.reasoning_input.hash(&mut hasher);
        for message in messages {
            std::mem::discriminant(message).hash(&mut hasher);
            if let Message::Assistant(answer) = message {
                (answer.content.is_some(), answer.reasoning.is_some()).hash(&mut hasher);
                answer.calls.iter().for_each(|call| call.arguments.len().hash(&mut hasher));
            }
        }
        hasher.finish()
    }

    /// Renders in one request shape.
    pub fn render_in(
        &self,
        request_shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Option<String> {
        let steady = |text: Option<String>| match &self.varying {
            Some(varying) => text.map(|text| varying.steady(text)),
            None => text,
        };
        let known = |key: &u64| self.memory.known.borrow().get(key).cloned();
        let request = self.request_key(request_shape, messages, setting, generation_prompt);
        if let Some(text) = self.memory.contexts.borrow().get(&request).and_then(known) {
            return steady(text);
        }
        // Other requests may come to the same context.
        let mut context = self.without_tools(request_shape, messages, setting, generation_prompt);
        let tools = self.tools(request_shape, messages, setting);
        let key = key(&context, &tools);
        self.memory.contexts.borrow_mut().insert(request, key);
        if let Some(text) = known(&key) {
            return steady(text);
        }
        if self.is_exhausted() {
            return None;
        }
        self.memory.renders.set(self.memory.renders.get() + 1);
        let rendered = match tools {
            Tools::Offered(Offered { prepared: Some(prepared), .. }) => {
                self.template.render_prepared(&context, &[("tools", prepared)], &self.options)
            }
            tools => {
                tools.put(&mut context);
                self.template.render(&context, &self.options)
            }
        };
        let text = match rendered {
            Ok(rendered) => Some(request_shape.with_own_ids(rendered.text)),
            Err(error) => {
                let mut refused = self.memory.refused.borrow_mut();
                if !refused.contains(&error.message) {
                    refused.push(error.message.clone());
                }
                if error.kind() == RenderErrorKind::Exhausted {
                    self.memory.exhausted.replace(Some(error));
                }
                None
            }
        };
        self.memory.known.borrow_mut().insert(key, text.clone());
        steady(text)
    }

    /// The request shapes in which the template accepts a conversation: forms of its own request or, if it refuses them
    /// all, of the first remedy that it accepts.
    pub fn accepted(&self, messages: &[Message], setting: &Setting) -> impl Iterator<Item = RequestShape> {
        let accepts = |shape: &RequestShape| self.render_in(*shape, messages, setting, false).is_some();
        let refused = self.refusal(messages, setting, false);
        let mut request = None;
        if !self.memory.unacceptable.borrow().contains(&refused) {
            let mut requests = std::iter::once(self.request_shape).chain(self.request_shape.remedies());
            request = requests.find(|request| request.forms().any(|shape| accepts(&shape)));
        }
        if request.is_none() {
            self.memory.unacceptable.borrow_mut().insert(refused);
        }
        request.into_iter().flat_map(RequestShape::forms).filter(accepts)
    }

    fn is_exhausted(&self) -> bool {
        self.memory.exhausted.borrow().is_some()
    }

    /// The keys a render asks the context for; none if the template refuses it.
    pub fn paths(&self, request_shape: RequestShape, messages: &[Message], setting: &Setting) -> Vec<String> {
        if self.is_exhausted() {
            return Vec::new();
        }
        let context = self.context(request_shape, messages, setting, false);
        let options = self.options.as_ref().clone().watch(true);
        let watched = self.template.render(&context, &options).ok().and_then(|rendered| rendered.watched);
        watched.map_or_else(Vec::new, |watched| watched.paths)
    }

    /// Which place of the template printed each piece of this render of a conversation; nothing if no request shape gives
    /// that text.
    pub fn origins(
        &self,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
        text: &str,
    ) -> Option<Vec<Origin>> {
        let options = self.options.as_ref().clone().origins(true);
        let own = self.request_shape;
        own.forms().chain(own.remedies()).find_map(|shape| {
            let context = self.context(shape, messages, setting, generation_prompt);
            let rendered = self.template.render(&context, &options).ok()?;
            (rendered.text == text).then_some(rendered.origins)
        })
    }

    /// The chat template as its places are counted.
    pub fn source(&self) -> &str {
        self.template.source()
    }

    /// The context of a render.
    pub fn context(
        &self,
        request_shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Object {
        let mut context = self.without_tools(request_shape, messages, setting, generation_prompt);
        self.tools(request_shape, messages, setting).put(&mut context);
        context
    }

    fn without_tools(
        &self,
        request_shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Object {
        let mut context = self.variables.clone();
        context.insert("messages".to_owned(), request_shape.messages(messages, self.reasoning_input.as_ref()));
        context.insert("add_generation_prompt".to_owned(), generation_prompt.into());
        context.extend(setting.iter().map(|(name, value)| (name.clone(), value.clone())));
        context
    }

    /// The key of a request, which costs less to make than its context.
    fn request_key(
        &self,
        request_shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        (request_shape, generation_prompt, &self.reasoning_input).hash(&mut hasher);
        self.offered.as_ref().map(|offered| offered.key).hash(&mut hasher);
        hash_object(setting, &mut hasher);
        messages.iter().for_each(|message| hash_message(message, &mut hasher));
        hasher.finish()
    }
}

impl Offered {
    fn new(tools: Value) -> Self {
        Self { key: key_of(&tools), prepared: Prepared::new(&tools), tools }
    }
}

impl Tools<'_> {
    fn of(tools: Value) -> Self {
        if tools == Value::List(Vec::new()) { Self::None } else { Self::Own(tools) }
    }

    fn put(self, context: &mut Object) {
        let tools = match self {
            Self::None => return,
            Self::Offered(offered) => offered.tools.clone(),
            Self::Own(tools) => tools,
        };
        context.insert("tools".to_owned(), tools);
    }
}

impl Prober<'_> {
    /// The tools that a request offers, if the template asks for any and its setting has none.
    fn tools(&self, request_shape: RequestShape, messages: &[Message], setting: &Setting) -> Tools<'_> {
        if !self.reads_tools || setting.contains_key("tools") {
            return Tools::None;
        }
        let called = || request_shape.tools(messages);
        let own = self.offered.as_deref().map(|offered| match &offered.tools {
            Value::List(tools) if tools.is_empty() => Tools::None,
            _ => Tools::Offered(offered),
        });
        match request_shape.offer {
            Offer::Never => Tools::None,
            Offer::Usual => own.unwrap_or_else(|| Tools::of(called())),
            Offer::Always => match own.unwrap_or_else(|| Tools::of(called())) {
                Tools::None => Tools::Own(request_shape.tools(&[Message::Assistant(Answer::calls(vec![call(0, 1)]))])),
                tools => tools,
            },
            Offer::Called => match (self.offered(), called()) {
                (Some(Value::List(own)), Value::List(called)) => {
                    Tools::of(Value::List([own.as_slice(), &called].concat()))
                }
                (_, called) => Tools::of(called),
            },
        }
    }
}

/// The key of a context with these tools.
fn key(context: &Object, tools: &Tools<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hash_object(context, &mut hasher);
    let tools = match tools {
        Tools::None => None,
        Tools::Offered(offered) => Some(offered.key),
        Tools::Own(tools) => Some(key_of(tools)),
    };
    tools.hash(&mut hasher);
    hasher.finish()
}

fn key_of(value: &Value) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hash(value, &mut hasher);
    hasher.finish()
}

fn hash_message(message: &Message, hasher: &mut impl Hasher) {
    std::mem::discriminant(message).hash(hasher);
    match message {
        Message::System(text) | Message::User(text) => text.hash(hasher),
        Message::Tool { id, name, content } => (id, name, content).hash(hasher),
        Message::Assistant(Answer { content, reasoning, calls }) => {
            (content, reasoning, calls.len()).hash(hasher);
            for call in calls {
                (&call.id, &call.name).hash(hasher);
                hash_object(&call.arguments, hasher);
            }
        }
    }
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
    let argument = |at: usize| {
        (needle::pick(needle::KEYS, index + at).to_owned(), Value::from(needle::pick(needle::VALUES, index + at)))
    };
    call_with(index, (0..arguments).map(argument).collect())
}

/// The call number `index` of the probes, with these arguments.
pub(crate) fn call_with(index: usize, arguments: Object) -> Call {
    let (id, name) = (needle::pick(needle::IDS, index), needle::pick(needle::NAMES, index));
    Call { id: id.to_owned(), name: name.to_owned(), arguments }
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

#[cfg(test)]
mod tests {
    use super::super::conversation::Absent;
    use super::super::support::{chat_template, with_prober};
    use super::*;

    fn said(answer: Answer) -> [Message; 2] {
        [Message::User(needle::USER.to_owned()), Message::Assistant(answer)]
    }

    /// The request shape that a template accepts, and whether it demands tools.
    fn settled(source: &str) -> Option<(RequestShape, bool)> {
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None).settled()?;
        Some((prober.request_shape(), prober.always_tools()))
    }

    #[test]
    fn a_prober_settles_on_the_first_request_shape_that_shows_content() {
        let parts = "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}";
        let demanding = "{% if not tools %}{{ raise_exception('tools are required') }}{% endif %}\
                         {% for m in messages %}{{ m.content }}{% endfor %}";
        let table = [
            ("{% for m in messages %}{{ m.content }}{% endfor %}", Some((RequestShape::USUAL, false))),
            (parts, Some((RequestShape { content_parts: true, ..RequestShape::USUAL }, false))),
            (demanding, Some((RequestShape { offer: Offer::Always, ..RequestShape::USUAL }, true))),
            // The prompt alone does not do: content has to show, too.
            ("{{ messages[0].content }}", None),
            ("{{ raise_exception('no') }}", None),
        ];
        for (source, expected) in table {
            assert_eq!(settled(source), expected, "{source}");
        }
    }

    #[test]
    fn a_conversation_is_rendered_once_by_all_probers_of_a_template() {
        with_prober(&chat_template("{{ m.content }}"), |prober| {
            let messages = said(Answer::content("Hello"));
            let known = prober.renders();
            let first = prober.render(&messages, &Setting::new(), false);
            assert_eq!(first.as_deref(), Some("<|user|>Qzuserq<|end|><|assistant|>Hello<|end|>"));
            assert_eq!(prober.with_reasoning(None).render(&messages, &Setting::new(), false), first);
            assert_eq!(prober.renders(), known + 1);
            prober.render(&messages, &Setting::from([("mode".to_owned(), 1.into())]), false);
            assert_eq!(prober.renders(), known + 2, "another setting is another context");
        });
    }

    #[test]
    fn a_refused_conversation_is_rendered_in_another_request_shape() {
        let source = chat_template(
            "{% if m.tool_calls and m.content is not none %}{{ raise_exception('calls have no content') }}{% endif %}\
             {{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}",
        );
        with_prober(&source, |prober| {
            let messages = said(Answer::calls(vec![call(0, 0)]));
            let none = Setting::new();
            assert_eq!(prober.render_in(RequestShape::USUAL, &messages, &none, false), None);
            let text = prober.render(&messages, &none, false).unwrap();
            assert!(text.ends_with("<|assistant|>Noneqzname_one<|end|>"), "{text}");
            // Each message of the template is kept once, however often it refuses.
            prober.render_in(RequestShape { arguments_text: true, ..RequestShape::USUAL }, &messages, &none, false);
            assert_eq!(prober.refused(), ["calls have no content"]);
            assert!(prober.refuses_calls().is_none(), "another request shape is accepted");
        });
    }

    #[test]
    fn a_prober_knows_the_error_of_a_template_that_accepts_no_calls() {
        let source =
            chat_template("{% if m.tool_calls %}{{ raise_exception('no tools here') }}{% endif %}{{ m.content }}");
        with_prober(&source, |prober| {
            assert_eq!(prober.refuses_calls().unwrap().message, "no tools here");
            assert!(prober.refuses_answers().is_none());
        });
    }

    #[test]
    fn a_refused_request_says_something_else_besides() {
        let calls = "{{ m.content }}{% for c in m.tool_calls %}{{ c.id }}{% endfor %}";
        let refuses = |test: &str| {
            format!("{{% if {test} %}}{{{{ raise_exception('no') }}}}{{% endif %}}{}", chat_template(calls))
        };
        let each = |test: &str| {
            let guard = format!("{{% if {test} %}}{{{{ raise_exception('no') }}}}{{% endif %}}");
            chat_template(&format!("{calls}{{% for c in m.tool_calls %}}{guard}{{% endfor %}}"))
        };
        let named = "c.function.name not in tools | map(attribute='function') | map(attribute='name')";
        let usual = RequestShape::USUAL;
        for (source, helps) in [
            (refuses("tools"), RequestShape { offer: Offer::Never, ..usual }),
            (refuses("messages[0].role != 'system'"), RequestShape { system: true, ..usual }),
            (each("c.id | length < 12"), RequestShape { long_ids: true, ..usual }),
            (each(named), RequestShape { offer: Offer::Called, ..usual }),
        ] {
            with_prober(&source, |prober| {
                let other = usual.tools(&said(Answer::calls(vec![call(2, 1)])));
                let prober = prober.offering(Some(other));
                let messages = said(Answer::calls(vec![call(0, 1)]));
                let shape = prober.accepted(&messages, &Setting::new()).next();
                assert_eq!(shape, Some(helps), "{source}");
                // Whatever the template was given, the render has the ids of the conversation.
                let text = prober.render(&messages, &Setting::new(), false).unwrap();
                assert!(text.ends_with("<|assistant|>qzId1aaaa<|end|>"), "{text}");
            });
        }
    }

    #[test]
    fn special_tokens_that_a_template_reads_and_nobody_gave_are_unset() {
        let template = ChatTemplate::compile("{{ bos_token }}{{ eos_token }}{{ mode }}").unwrap();
        let variables = Object::from_iter([("eos_token".to_owned(), "</s>".into())]);
        assert_eq!(Prober::new(&template, &variables, None).unset_tokens(&template), ["bos_token"]);
    }

    #[test]
    fn the_paths_of_a_render_are_the_keys_it_asks_for() {
        with_prober("{% for m in messages %}{{ m.content }}{{ m.thinking }}{% endfor %}", |prober| {
            let paths = prober.paths(RequestShape::USUAL, &said(Answer::content("Hello")), &Setting::new());
            assert!(paths.iter().any(|path| path == "messages[].thinking"), "{paths:?}");
            assert!(!paths.iter().any(|path| path == "messages[].role"), "{paths:?}");
        });
    }

    #[test]
    fn the_tools_of_a_context_are_those_called_offered_or_demanded() {
        with_prober("{{ tools }}{% for m in messages %}{{ m.content }}{% endfor %}", |prober| {
            let shape = RequestShape { absent: Absent::Null, ..RequestShape::USUAL };
            let names = |prober: &Prober<'_>, answer: Answer| -> Option<String> {
                let context = prober.context(shape, &said(answer), &Setting::new(), false);
                let tools = context.get("tools")?.as_list()?.to_vec();
                let name = |tool: &Value| tool.get("function")?.get("name")?.as_str().map(str::to_owned);
                Some(tools.iter().filter_map(name).collect::<Vec<_>>().join(" "))
            };
            let called = || Answer::calls(vec![call(1, 1)]);
            assert_eq!(names(prober, Answer::content("Hello")), None, "without a tool the variable is missing");
            assert_eq!(names(prober, called()).as_deref(), Some(needle::NAMES[1]));
            let other = shape.tools(&said(Answer::calls(vec![call(2, 1)])));
            let offered = prober.offering(Some(other));
            assert_eq!(names(&offered, called()).as_deref(), Some(needle::NAMES[2]));
        });
    }

    #[test]
    fn offered_tools_show_as_those_of_the_context() {
        with_prober("{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}", |prober| {
            let tools = RequestShape::USUAL.tools(&said(Answer::calls(vec![call(2, 1)])));
            let offered = prober.offering(Some(tools.clone()));
            let (messages, none) = (said(Answer::content("Hello")), Setting::new());
            let of_context = |prober: &Prober<'_>, setting: &Setting| {
                let context = prober.context(RequestShape::USUAL, &messages, setting, false);
                prober.template.render(&context, &prober.options).unwrap().text
            };
            let shown = offered.render(&messages, &none, false).unwrap();
            assert!(shown.contains(needle::NAMES[2]), "{shown}");
            assert_eq!(shown, of_context(&offered, &none));
            // Those of a setting come first.
            let setting = Setting::from([("tools".to_owned(), Value::List(Vec::new()))]);
            let shown = offered.render(&messages, &setting, false).unwrap();
            assert!(shown.starts_with("[]"), "{shown}");
            assert_eq!(shown, of_context(&offered, &setting));
        });
    }

    #[test]
    fn requests_that_come_to_one_context_are_rendered_once() {
        with_prober("{% for m in messages %}{{ m.content }}{% endfor %}", |prober| {
            let messages = said(Answer::content("Hello"));
            let shown = prober.render(&messages, &Setting::new(), false);
            let renders = prober.renders();
            // No content is absent, and nobody asks for tools.
            let other =
                prober.with_shape(RequestShape { absent: Absent::Null, offer: Offer::Always, ..RequestShape::USUAL });
            assert_eq!(other.render(&messages, &Setting::new(), false), shown);
            assert_eq!(prober.renders(), renders);
            assert_ne!(prober.render(&said(Answer::content("Goodbye")), &Setting::new(), false), shown);
            assert_eq!(prober.renders(), renders + 1);
        });
    }

    #[test]
    fn a_conversation_that_no_form_helps_is_tried_in_all_of_them_once() {
        let chat = "{% for m in messages %}{{ m.content }}{{ raise_exception('no') if m.tool_calls }}{% endfor %}";
        with_prober(chat, |prober| {
            let none = Setting::new();
            let accepted = |answer: Answer| prober.accepted(&said(answer), &none).count();
            assert_eq!(accepted(Answer::calls(vec![call(0, 1)])), 0);
            let renders = prober.renders();
            assert_eq!(accepted(Answer::calls(vec![call(1, 1)])), 0);
            assert_eq!(prober.renders(), renders);
            assert!(accepted(Answer::content("Hello")) > 0);
        });
    }

    #[test]
    fn a_template_that_never_ends_is_rendered_once() {
        let endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
        let template = ChatTemplate::compile(endless).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None);
        assert_eq!(prober.refuses_answers().map(|error| error.kind()), Some(RenderErrorKind::Exhausted));
        assert_eq!(prober.refuses_calls(), prober.refuses_answers());
        assert_eq!((prober.renders(), prober.at("2026-01-01T00:00:00").settled().is_none()), (1, true));
    }

    #[test]
    fn a_setting_overrides_the_variables_of_every_render() {
        let template = ChatTemplate::compile("{{ mode }}").unwrap();
        let variables = Object::from_iter([("mode".to_owned(), "usual".into())]);
        let prober = Prober::new(&template, &variables, None);
        let shown = |setting: &Setting| prober.render(&[], setting, false).unwrap();
        assert_eq!(shown(&Setting::new()), "usual");
        assert_eq!(shown(&Setting::from([("mode".to_owned(), "brief".into())])), "brief");
    }

    #[test]
    fn contexts_that_differ_have_different_keys() {
        let contexts: Vec<Object> = [
            r#"{}"#,
            r#"{"a": 1}"#,
            r#"{"a": "1"}"#,
            r#"{"a": 1.0}"#,
            r#"{"a": true}"#,
            r#"{"a": null}"#,
            r#"{"a": [1]}"#,
            r#"{"a": [[1]]}"#,
            r#"{"a": {"b": 1}}"#,
            r#"{"a": 1, "b": 1}"#,
            // Templates print objects in their order.
            r#"{"b": 1, "a": 1}"#,
        ]
        .iter()
        .map(|text| backchat_core::json::read(text).unwrap().as_object().unwrap().clone())
        .collect();
        for (at, one) in contexts.iter().enumerate() {
            for other in &contexts[at + 1..] {
                assert_ne!(key(one, &Tools::None), key(other, &Tools::None), "{one:?} {other:?}");
            }
            assert_eq!(key(one, &Tools::None), key(&one.clone(), &Tools::None));
        }
    }

    #[test]
    fn the_arguments_of_a_call_are_needles_of_its_own() {
        let (first, second) = (call(0, 2), call(1, 2));
        assert_eq!(first.arguments.keys().collect::<Vec<_>>(), ["qzkey_one", "qzkey_two"]);
        assert_eq!(second.arguments.keys().collect::<Vec<_>>(), ["qzkey_two", "qzkey_tre"]);
        assert_ne!((&first.id, &first.name), (&second.id, &second.name));
    }

    #[test]
    fn a_tools_result_ends_the_history_of_its_call() {
        let messages = after_tool();
        let [Message::User(_), Message::Assistant(answer), Message::Tool { id, name, content }] = messages.as_slice()
        else {
            panic!("{messages:?}");
        };
        assert_eq!((&answer.calls[0].id, &answer.calls[0].name, content.as_str()), (id, name, needle::RESULT));
    }
}
