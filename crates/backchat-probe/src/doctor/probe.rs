//! Renders of the examination: each conversation once, as text or in parts, all within a budget of time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use super::Options;
use super::messages::in_parts;
use backchat_chat::{ChatTemplate, RenderError, RenderErrorKind, RenderOptions, Stopwatch};
use backchat_core::json::{Object, Value};

/// How long all renders together may take. A real template needs a hundredth of it.
const BUDGET: Duration = Duration::from_secs(4);

/// A conversation to render.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chat {
    pub messages: Vec<Value>,
    /// Further variables: tools, documents, switches.
    pub variables: Object,
    pub prompt: bool,
}

impl Chat {
    pub fn new(messages: Vec<Value>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// With a generation prompt.
    #[must_use]
    pub fn prompted(mut self) -> Self {
        self.prompt = true;
        self
    }

    /// With a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.variables.insert(name.to_owned(), value);
        self
    }

    /// With these tools, if any.
    #[must_use]
    pub fn offered(self, tools: Option<&Value>) -> Self {
        match tools {
            Some(tools) => self.with("tools", tools.clone()),
            None => self,
        }
    }
}

/// A render, or why there is none.
pub(crate) type Outcome = Result<String, RenderError>;

/// One conversation as it was given to the template, and what came of it.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The messages, as the template got them.
    pub messages: Value,
    /// The other variables that the conversation sets.
    pub variables: Object,
    /// The render, or the template's refusal.
    pub outcome: Result<String, RenderError>,
}

/// Renders conversations with one template, and remembers them.
pub(crate) struct Probe<'t> {
    pub template: &'t ChatTemplate,
    options: &'t Options,
    render: RenderOptions,
    /// Whether text content is given in parts first: the template shows it in no other way.
    pub parts_first: Cell<bool>,
    watch: Stopwatch,
    stopped: RefCell<Option<RenderError>>,
    known: RefCell<HashMap<String, Rc<Exhibit>>>,
    /// The renders since the last [`Probe::exhibits`].
    seen: RefCell<Vec<Rc<Exhibit>>>,
}

impl<'t> Probe<'t> {
    pub fn new(template: &'t ChatTemplate, options: &'t Options) -> Self {
        Self {
            template,
            options,
            render: RenderOptions::default().now(options.now.clone()),
            parts_first: Cell::new(false),
            watch: Stopwatch::start(),
            stopped: RefCell::default(),
            known: RefCell::default(),
            seen: RefCell::default(),
        }
    }

    /// The text that ends a sequence, if one was given.
    pub fn eos_token(&self) -> Option<&str> {
        self.options.variables.get("eos_token").and_then(Value::as_str)
    }

    /// Why the examination ended early, if it did.
    pub fn stopped(&self) -> Option<RenderError> {
        self.stopped.borrow().clone()
    }

    /// How many conversations were rendered.
    pub fn renders(&self) -> usize {
        self.known.borrow().len()
    }

    /// The renders since the last call.
    pub fn exhibits(&self) -> Vec<Rc<Exhibit>> {
        std::mem::take(&mut self.seen.borrow_mut())
    }

    /// Renders with text content as text; if that raises, in parts; the other way around if only parts are shown.
    pub fn render(&self, chat: &Chat) -> Outcome {
        let parts = || self.exactly(&Chat { messages: in_parts(&chat.messages), ..chat.clone() });
        if self.parts_first.get() {
            return parts().or_else(|error| self.exactly(chat).map_err(|_| error));
        }
        self.exactly(chat).or_else(|error| parts().map_err(|_| error))
    }

    /// Renders these very messages.
    pub fn exactly(&self, chat: &Chat) -> Outcome {
        let context = self.context(chat);
        let key = Value::Object(context.clone()).to_string();
        let known = self.known.borrow().get(&key).cloned();
        let exhibit = match known {
            Some(exhibit) => exhibit,
            None => {
                let exhibit = Rc::new(Exhibit {
                    messages: Value::List(chat.messages.clone()),
                    variables: self.shown(chat),
                    outcome: self.try_render(&context),
                });
                self.known.borrow_mut().insert(key, exhibit.clone());
                exhibit
            }
        };
        let mut seen = self.seen.borrow_mut();
        if !seen.iter().any(|other| Rc::ptr_eq(other, &exhibit)) {
            seen.push(exhibit.clone());
        }
        exhibit.outcome.clone()
    }

    /// A render and what the template's own generation blocks wrote in it, in code points.
    pub fn spans(&self, chat: &Chat) -> Result<(String, Vec<(usize, usize)>), RenderError> {
        let render = |chat: &Chat| self.template.render(&self.context(chat), &self.render);
        let parts = Chat { messages: in_parts(&chat.messages), ..chat.clone() };
        let (first, second) = if self.parts_first.get() { (&parts, chat) } else { (chat, &parts) };
        let rendered = render(first).or_else(|error| render(second).map_err(|_| error))?;
        Ok((rendered.text, rendered.assistant_spans))
    }

    fn try_render(&self, context: &Object) -> Outcome {
        if let Some(error) = self.stopped() {
            return Err(error);
        }
        let outcome = self.template.render(context, &self.render).map(|rendered| rendered.text);
        if let Err(error) = &outcome
            && (error.kind() == RenderErrorKind::Exhausted || self.watch.elapsed() > BUDGET)
        {
            *self.stopped.borrow_mut() = Some(error.clone());
        }
        outcome
    }

    fn shown(&self, chat: &Chat) -> Object {
        let mut variables = chat.variables.clone();
        if chat.prompt {
            variables.insert("add_generation_prompt".to_owned(), true.into());
        }
        variables
    }

    /// The whole context: what transformers always gives, what the user gave, what the conversation sets.
    pub fn context(&self, chat: &Chat) -> Object {
        let mut context = Object::new();
        context.insert("messages".to_owned(), Value::List(chat.messages.clone()));
        context.insert("tools".to_owned(), Value::Null);
        context.insert("documents".to_owned(), Value::Null);
        context.extend(self.options.variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        context.extend(chat.variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        context.insert("add_generation_prompt".to_owned(), chat.prompt.into());
        context
    }
}
