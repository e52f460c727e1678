//! Renders of the examination: each conversation once, as text or in parts, all with one renderer.

use std::cell::RefCell;
use std::rc::Rc;

use super::Options;
use super::messages::in_parts;
use crate::probe::{Context, Known, Renderer, context};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions};
use backchat_core::json::{Object, Value};

/// A conversation to render.
#[derive(Clone, Debug, Default)]
pub struct Chat {
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
        self.variables.insert(name, value);
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

/// One conversation as it was passed to the template, and the result.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The messages, as the template got them.
    pub messages: Value,
    /// The other variables that the conversation sets.
    pub variables: Object,
    /// The render, or the template's refusal.
    pub outcome: Result<String, RenderError>,
}

/// Renders conversations with one template, and records inputs and results.
#[derive(Clone)]
pub struct Probe<'t> {
    renderer: Renderer<'t>,
    variables: &'t Object,
    /// Whether text content is passed in parts first, because the template shows it in no other way.
    parts_first: bool,
    exhibits: Rc<Exhibits>,
}

#[derive(Default)]
struct Exhibits {
    /// Those of each context.
    known: RefCell<Known<Rc<Context>, Rc<Exhibit>>>,
    /// The renders since the last [`Probe::exhibits`].
    seen: RefCell<Vec<Rc<Exhibit>>>,
}

impl<'t> Probe<'t> {
    pub fn new(template: &'t ChatTemplate, options: &'t Options) -> Self {
        let render = RenderOptions::default().now(options.now.clone());
        Self {
            renderer: Renderer::new(template, render),
            variables: &options.variables,
            parts_first: false,
            exhibits: Rc::default(),
        }
    }

    /// A probe that passes text content in parts first.
    pub fn giving_parts_first(&self) -> Self {
        Self { parts_first: true, ..self.clone() }
    }

    pub fn template(&self) -> &'t ChatTemplate {
        self.renderer.template()
    }

    /// The variables of the user.
    pub fn variables(&self) -> &'t Object {
        self.variables
    }

    /// The EOS token, if one was given.
    pub fn eos_token(&self) -> Option<&str> {
        self.variables.get("eos_token").and_then(Value::as_str)
    }

    /// The BOS token; empty if none was given.
    pub fn bos_token(&self) -> &str {
        self.variables.get("bos_token").and_then(Value::as_str).unwrap_or_default()
    }

    /// Why the examination ended early, if it did.
    pub fn stopped(&self) -> Option<RenderError> {
        self.renderer.exhausted().map(Rc::unwrap_or_clone)
    }

    /// How many conversations were rendered.
    pub fn renders(&self) -> usize {
        self.renderer.renders()
    }

    /// The renders since the last call.
    pub fn exhibits(&self) -> Vec<Rc<Exhibit>> {
        std::mem::take(&mut self.exhibits.seen.borrow_mut())
    }

    /// Renders text content as text, or in parts if that raises; the other way around if only parts are shown.
    pub fn render(&self, chat: &Chat) -> Outcome {
        self.in_either_form(chat, |chat| self.exactly(chat))
    }

    /// A render and the spans of the template's own generation blocks, in code points.
    pub fn spans(&self, chat: &Chat) -> Result<(String, Vec<(usize, usize)>), RenderError> {
        let rendered = self.in_either_form(chat, |chat| self.renderer.render(&self.context(chat)));
        let rendered = Rc::unwrap_or_clone(rendered.map_err(Rc::unwrap_or_clone)?);
        Ok((rendered.text, rendered.assistant_spans))
    }

    fn in_either_form<T, E>(&self, chat: &Chat, render: impl Fn(&Chat) -> Result<T, E>) -> Result<T, E> {
        let parts = || render(&Chat { messages: in_parts(&chat.messages), ..chat.clone() });
        match self.parts_first {
            true => parts().or_else(|error| render(chat).map_err(|_| error)),
            false => render(chat).or_else(|error| parts().map_err(|_| error)),
        }
    }

    /// A conversation, passed unchanged, and its render.
    pub fn exhibit(&self, chat: &Chat) -> Rc<Exhibit> {
        let context = Rc::new(Context::new(self.context(chat)));
        if let Some(known) = self.exhibits.known.borrow().get(context.hash(), |known| known.is(&context)) {
            return known.clone();
        }
        let outcome = self.renderer.render_context(&context);
        let outcome = outcome.map(|rendered| rendered.text.clone()).map_err(Rc::unwrap_or_clone);
        let messages = Value::List(chat.messages.clone());
        let exhibit = Rc::new(Exhibit { messages, variables: shown(chat), outcome });
        self.exhibits.known.borrow_mut().insert(context.hash(), context, exhibit.clone());
        exhibit
    }

    /// Renders these messages unchanged.
    pub fn exactly(&self, chat: &Chat) -> Outcome {
        let exhibit = self.exhibit(chat);
        let mut seen = self.exhibits.seen.borrow_mut();
        if !seen.iter().any(|other| Rc::ptr_eq(other, &exhibit)) {
            seen.push(exhibit.clone());
        }
        exhibit.outcome.clone()
    }

    /// The whole context: the variables that transformers always passes, those of the user, and those of the
    /// conversation.
    fn context(&self, chat: &Chat) -> Object {
        let mut variables = self.variables.clone();
        variables.extend(chat.variables.iter().map(|(name, value)| (name, value.clone())));
        context(&variables, &chat.messages, &Value::Null, chat.prompt)
    }
}

/// The variables that a conversation sets.
fn shown(chat: &Chat) -> Object {
    let mut variables = chat.variables.clone();
    if chat.prompt {
        variables.insert("add_generation_prompt", true.into());
    }
    variables
}
