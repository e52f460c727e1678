//! Renders conversations in a form that the template accepts.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use super::context::Context;
use super::conversation::{Answer, Changes, Message, ReasoningInput, call};
use super::key::{self, Entries, Known};
use super::needle;
use super::renderer::{Outcome, Renderer};
use super::request_shape::{Offer, RequestShape};
use super::steady::Varying;
use super::tools::{Offered, is_same};
use backchat_chat::{Assumed, ChatTemplate, Details, Origin, Ran, RenderError, RenderOptions, Rendered, switches};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;

#[cfg(test)]
mod tests;

/// Values of the variables a template reads as switches, such as one that turns thinking off.
pub type Setting = Object;

/// Renders probes with one chat template. A prober is immutable: for other settings, derive another one from it. All of
/// them share one renderer and the known refusals.
#[derive(Clone)]
pub struct Prober<'t> {
    renderer: Renderer<'t>,
    /// Variables that hold for every render, such as the special tokens.
    variables: &'t Object,
    request_shape: RequestShape,
    reasoning_input: Option<ReasoningInput>,
    /// The tools to offer instead of those the conversation calls.
    offered: Option<Rc<Offered>>,
    /// Whether the template may read tools at all.
    reads_tools: bool,
    /// The varying texts, which renders show as placeholders.
    varying: Option<Rc<Varying>>,
    cache: Rc<RequestCache>,
}

/// The requests known to all probers of one renderer.
#[derive(Default)]
struct RequestCache {
    /// The contexts of requests, which are cheaper to compare than to build.
    contexts: Rc<RefCell<Known<Requested, Rc<Context>>>>,
    /// Conversations that are refused in every request shape.
    hopeless: RefCell<HashSet<Refusal>>,
    /// Those that are refused in every form of every remedy.
    unacceptable: RefCell<HashSet<Refusal>>,
}

/// What refusals depend on: the setting, the request shape, and the parts of the messages.
#[derive(PartialEq, Eq, Hash)]
struct Refusal {
    setting: String,
    shape: RequestShape,
    offers: bool,
    generation_prompt: bool,
    reasoning_input: Option<ReasoningInput>,
    messages: Vec<Parts>,
}

/// The parts of a message.
#[derive(PartialEq, Eq, Hash)]
enum Parts {
    System,
    User,
    Tool,
    /// Whether it has content and reasoning, and how many arguments its calls have.
    Assistant(bool, bool, Vec<usize>),
    /// The keys that are changed, with their values.
    Changed(Box<Parts>, String),
}

impl Parts {
    fn of(message: &Message) -> Self {
        match message {
            Message::System(_) => Self::System,
            Message::User(_) => Self::User,
            Message::Tool { .. } => Self::Tool,
            Message::Assistant(answer) => {
                let arguments = answer.calls.iter().map(|call| call.arguments.len()).collect();
                Self::Assistant(answer.content.is_some(), answer.reasoning.is_some(), arguments)
            }
            Message::Changed(message, Changes(changes)) => {
                Self::Changed(Box::new(Self::of(message)), Value::Object(changes.clone()).to_string())
            }
        }
    }
}

/// A request that was rendered, with what its prober adds.
struct Requested {
    shape: RequestShape,
    messages: Vec<Message>,
    setting: Setting,
    generation_prompt: bool,
    reasoning_input: Option<ReasoningInput>,
    offered: Option<Rc<Offered>>,
}

/// A conversation to render.
#[derive(Clone, Copy)]
struct Request<'r> {
    shape: RequestShape,
    messages: &'r [Message],
    setting: &'r Setting,
    generation_prompt: bool,
}

impl<'t> Prober<'t> {
    pub fn new(template: &'t ChatTemplate, variables: &'t Object, now: Option<String>) -> Self {
        Self::with_options(template, variables, RenderOptions::default().now(now))
    }

    pub fn with_options(template: &'t ChatTemplate, variables: &'t Object, options: RenderOptions) -> Self {
        Self {
            renderer: Renderer::new(template, options),
            variables,
            request_shape: RequestShape::USUAL,
            reasoning_input: None,
            offered: None,
            reads_tools: template.variables().iter().any(|name| name == "tools"),
            varying: None,
            cache: Rc::default(),
        }
    }

    /// A prober with this request shape.
    pub fn with_shape(&self, request_shape: RequestShape) -> Self {
        Self { request_shape, ..self.clone() }
    }

    /// A prober that passes reasoning in this way, or not at all.
    pub fn with_reasoning(&self, reasoning_input: Option<&ReasoningInput>) -> Self {
        Self { reasoning_input: reasoning_input.cloned(), ..self.clone() }
    }

    /// A prober that offers these tools, or those that the conversation calls.
    pub fn offering(&self, tools: Option<Value>) -> Self {
        let offered = tools.map(|tools| Rc::new(Offered::new(tools)));
        Self { offered, ..self.clone() }
    }

    /// A prober whose renders have one placeholder character for each varying text.
    pub fn steady(&self, varying: &Varying) -> Self {
        Self { varying: Some(Rc::new(varying.clone())), ..self.clone() }
    }

    /// A prober whose clock shows this time.
    pub fn at(&self, time: &str) -> Self {
        Self { renderer: self.renderer.at(time), cache: Rc::default(), ..self.clone() }
    }

    /// A prober in whose renders conditions have these outcomes, whatever their operands are.
    pub fn assuming(&self, assumed: &[Assumed]) -> Self {
        let cache = RequestCache { contexts: self.cache.contexts.clone(), ..RequestCache::default() };
        Self { renderer: self.renderer.assuming(assumed), cache: Rc::new(cache), ..self.clone() }
    }

    /// The same prober without what it remembers of earlier renders: many conversations need no more memory than a few.
    pub fn forgetful(&self) -> Self {
        Self { renderer: self.renderer.forgetful(), cache: Rc::default(), ..self.clone() }
    }

    /// The variables that may switch the template.
    pub fn switches(&self) -> Vec<String> {
        let switches = switches(self.renderer.template(), self.variables);
        switches.into_iter().map(|(name, _)| name.to_owned()).collect()
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

    /// A prober with the first request shape whose render shows content.
    pub fn settled(&self) -> Option<Self> {
        let messages = [Message::User(needle::USER.to_owned()), Message::Assistant(Answer::content(needle::CONTENT))];
        let shows = |request_shape: &RequestShape| {
            let text = self.render_in(*request_shape, &messages, &Setting::new(), false);
            text.is_some_and(|text| text.contains(needle::CONTENT) && text.contains(needle::USER))
        };
        // No call: remedies for ids and called tools change nothing.
        let mut ladder = self
            .request_shape
            .ladder()
            .filter(|shape| !shape.long_ids && matches!(shape.offer, Offer::Usual | Offer::Always));
        ladder.find(shows).map(|request_shape| self.with_shape(request_shape))
    }

    pub fn template(&self) -> &'t ChatTemplate {
        self.renderer.template()
    }

    /// How many renders were tried.
    pub fn renders(&self) -> usize {
        self.renderer.renders()
    }

    /// The errors of the template, each once.
    pub fn refused(&self) -> Vec<String> {
        self.renderer.refused()
    }

    /// The template's error for an answer with content, if it refuses one in every request shape.
    pub fn refuses_answers(&self) -> Option<RenderError> {
        let answer = Message::Assistant(Answer::content(needle::CONTENT));
        let messages = [Message::User(needle::USER.to_owned()), answer];
        let (none, generation_prompt) = (Setting::new(), false);
        if self.render(&messages, &none, generation_prompt).is_some() {
            return None;
        }
        let own = Request { shape: self.request_shape, messages: &messages, setting: &none, generation_prompt };
        let error = self.renderer.exhausted().or_else(|| self.outcome(own).err())?;
        Some(RenderError::clone(&error))
    }

    /// The template's errors for a conversation, in the forms of the request in which it takes another conversation.
    pub fn refusals(&self, taken: &[Message], refused: &[Message], setting: &Setting) -> Vec<RenderError> {
        let own = self.request_shape;
        let forms = own.forms().filter(|shape| shape.bare_tools == own.bare_tools);
        let taken = forms.filter(|shape| self.render_in(*shape, taken, setting, false).is_some());
        let request = |shape| Request { shape, messages: refused, setting, generation_prompt: false };
        taken.filter_map(|shape| self.outcome(request(shape)).err()).map(|error| RenderError::clone(&error)).collect()
    }

    /// The special tokens that the template reads but that were not given.
    pub fn unset_tokens(&self) -> Vec<String> {
        let names = self.renderer.template().variables().iter().filter(|name| name.ends_with("_token"));
        names.filter(|name| !self.variables.contains_key(name.as_str())).cloned().collect()
    }

    /// Renders in this prober's request shape or, if the template refuses that, in the first one it accepts.
    pub fn render(&self, messages: &[Message], setting: &Setting, generation_prompt: bool) -> Option<String> {
        let render = |shape: RequestShape| self.render_in(shape, messages, setting, generation_prompt);
        let own = self.request_shape;
        render(own).or_else(|| {
            if self.renderer.exhausted().is_some() {
                return None;
            }
            let refused = self.refusal(messages, setting, generation_prompt);
            if self.cache.hopeless.borrow().contains(&refused) {
                return None;
            }
            let is_other = |shape: &RequestShape| *shape != own && shape.bare_tools == own.bare_tools;
            let found = own.forms().filter(is_other).chain(own.remedies()).find_map(render);
            if found.is_none() {
                self.cache.hopeless.borrow_mut().insert(refused);
            }
            found
        })
    }

    /// What refusals of this conversation depend on. If every request shape of one conversation was refused, none is tried
    /// for another with the same.
    fn refusal(&self, messages: &[Message], setting: &Setting, generation_prompt: bool) -> Refusal {
        Refusal {
            setting: Value::Object(setting.clone()).to_string(),
            shape: self.request_shape,
            offers: self.offered.is_some(),
            generation_prompt,
            reasoning_input: self.reasoning_input.clone(),
            messages: messages.iter().map(Parts::of).collect(),
        }
    }

    /// Renders in one request shape.
    pub fn render_in(
        &self,
        shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Option<String> {
        let outcome = self.outcome(Request { shape, messages, setting, generation_prompt });
        let text = shape.with_own_ids(outcome.ok()?.text.clone());
        Some(match &self.varying {
            Some(varying) => varying.steady(text),
            None => text,
        })
    }

    fn outcome(&self, request: Request<'_>) -> Outcome {
        let context = match self.renderer.exhausted() {
            // A context that was not rendered before is never rendered now.
            Some(error) => self.known_context(self.request_hash(request), request).ok_or(error)?,
            None => self.shared_context(request),
        };
        self.renderer.render_context(&context)
    }

    fn known_context(&self, hash: u64, request: Request<'_>) -> Option<Rc<Context>> {
        self.cache.contexts.borrow().get(hash, |known| self.is_known(known, request)).cloned()
    }

    fn shared_context(&self, request: Request<'_>) -> Rc<Context> {
        let hash = self.request_hash(request);
        self.known_context(hash, request).unwrap_or_else(|| {
            let context = Rc::new(Context::with_tools(self.without_tools(request), self.tools(request)));
            self.cache.contexts.borrow_mut().insert(hash, self.requested(request), context.clone());
            context
        })
    }

    /// The request shapes in which the template accepts a conversation: forms of its own request or, if it refuses them
    /// all, of the first remedy that it accepts.
    pub fn accepted(&self, messages: &[Message], setting: &Setting) -> impl Iterator<Item = RequestShape> {
        let accepts = |shape: &RequestShape| self.render_in(*shape, messages, setting, false).is_some();
        let refused = self.refusal(messages, setting, false);
        let mut request = None;
        if !self.cache.unacceptable.borrow().contains(&refused) {
            let mut requests = std::iter::once(self.request_shape).chain(self.request_shape.remedies());
            request = requests.find(|request| request.forms().any(|shape| accepts(&shape)));
        }
        if request.is_none() {
            self.cache.unacceptable.borrow_mut().insert(refused);
        }
        request.into_iter().flat_map(RequestShape::forms).filter(accepts)
    }

    /// The keys that a render looks up in the context; none if the template refuses it.
    pub fn paths(&self, shape: RequestShape, messages: &[Message], setting: &Setting) -> Vec<String> {
        let context = self.context(shape, messages, setting, false);
        self.renderer.watched(&context).map_or_else(Vec::new, |watched| watched.paths)
    }

    /// What ran in the render of a conversation that gives this text; `None` if no request shape gives it.
    pub fn ran(&self, messages: &[Message], setting: &Setting, generation_prompt: bool) -> Option<Ran> {
        let own = self.request_shape;
        own.forms().chain(own.remedies()).find_map(|shape| {
            let context = self.shared_context(Request { shape, messages, setting, generation_prompt });
            self.renderer.recorded(&context)
        })
    }

    /// The origin of each piece of this render of a conversation; `None` if no request shape gives that text, or if it has
    /// placeholders for varying texts.
    pub fn origins(
        &self,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
        text: &str,
    ) -> Option<Vec<Origin>> {
        let own = self.request_shape;
        own.forms().chain(own.remedies()).find_map(|shape| {
            let context = self.context(shape, messages, setting, generation_prompt);
            let Rendered { text: given, mut origins, .. } = self.renderer.render_with_origins(&context)?;
            let own = |text: &str| shape.with_own_ids(text.to_owned());
            let place = |at: usize| own(slice(&given, ..at)).len();
            for origin in origins.iter_mut().filter(|_| shape.long_ids) {
                origin.text = place(origin.text.start)..place(origin.text.end);
            }
            (own(&given) == text).then_some(origins)
        })
    }

    /// The render of a conversation with its origins and details, and its context; `None` if no request shape gives a
    /// render.
    pub fn explained(
        &self,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Option<(Object, Rendered, Details)> {
        let own = self.request_shape;
        own.forms().chain(own.remedies()).find_map(|shape| {
            let context = self.context(shape, messages, setting, generation_prompt);
            let (rendered, details) = self.renderer.explained(&context)?;
            Some((context, rendered, details))
        })
    }

    /// The context of a render.
    pub fn context(
        &self,
        shape: RequestShape,
        messages: &[Message],
        setting: &Setting,
        generation_prompt: bool,
    ) -> Object {
        let request = Request { shape, messages, setting, generation_prompt };
        Context::with_tools(self.without_tools(request), self.tools(request)).full()
    }

    fn without_tools(&self, request: Request<'_>) -> Object {
        let mut context = self.variables.clone();
        let messages = request.shape.messages(request.messages, self.reasoning_input.as_ref());
        context.insert("messages", messages);
        context.insert("add_generation_prompt", request.generation_prompt.into());
        context.extend(request.setting.iter().map(|(name, value)| (name, value.clone())));
        context
    }

    fn request_hash(&self, request: Request<'_>) -> u64 {
        let Request { shape, messages, setting, generation_prompt } = request;
        let offered = self.offered.as_ref().map(|offered| offered.hash);
        key::hash((shape, generation_prompt, &self.reasoning_input, offered, Entries(setting), messages))
    }

    fn is_known(&self, known: &Requested, request: Request<'_>) -> bool {
        let Request { shape, messages, setting, generation_prompt } = request;
        (known.shape, known.generation_prompt) == (shape, generation_prompt)
            && known.messages == messages
            && Entries(&known.setting) == Entries(setting)
            && known.reasoning_input == self.reasoning_input
            && is_same(known.offered.as_ref(), self.offered.as_ref())
    }

    fn requested(&self, request: Request<'_>) -> Requested {
        let Request { shape, messages, setting, generation_prompt } = request;
        let (reasoning_input, offered) = (self.reasoning_input.clone(), self.offered.clone());
        let (messages, setting) = (messages.to_vec(), setting.clone());
        Requested { shape, messages, setting, generation_prompt, reasoning_input, offered }
    }

    /// The tools that a request offers, if the template reads tools and its setting has none.
    fn tools(&self, request: Request<'_>) -> Option<Rc<Offered>> {
        let Request { shape, messages, setting, .. } = request;
        if !self.reads_tools || setting.contains_key("tools") {
            return None;
        }
        let usual = || match &self.offered {
            Some(offered) => (offered.tools != Value::List(Vec::new())).then(|| offered.clone()),
            None => Offered::unless_empty(shape.tools(messages)),
        };
        match shape.offer {
            Offer::Never => None,
            Offer::Usual => usual(),
            Offer::Always => usual().or_else(|| {
                let called = [Message::Assistant(Answer::calls(vec![call(0, 1)]))];
                Some(Rc::new(Offered::new(shape.tools(&called))))
            }),
            Offer::Called => match (self.offered(), shape.tools(messages)) {
                (Some(Value::List(own)), Value::List(called)) => {
                    Offered::unless_empty(Value::List([own.as_slice(), &called].concat()))
                }
                (_, called) => Offered::unless_empty(called),
            },
        }
    }
}
