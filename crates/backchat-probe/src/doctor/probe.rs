//! Renders of the examination: each conversation once, as text or in parts, all within a budget of time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use super::Options;
use super::messages::in_parts;
use crate::probe::{Renderer, context, key_of};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions};
use backchat_core::json::{Object, Value};

/// The time limit for all renders together. A real template needs a hundredth of it.
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
pub(crate) struct Probe<'t> {
    renderer: Renderer<'t>,
    variables: &'t Object,
    /// Whether text content is passed in parts first, because the template shows it in no other way.
    parts_first: bool,
    exhibits: Rc<Exhibits>,
}

#[derive(Default)]
struct Exhibits {
    /// Those of each context, by its key.
    known: RefCell<HashMap<u64, Rc<Exhibit>>>,
    /// The renders since the last [`Probe::exhibits`].
    seen: RefCell<Vec<Rc<Exhibit>>>,
}

impl<'t> Probe<'t> {
    pub fn new(template: &'t ChatTemplate, options: &'t Options) -> Self {
        let render = RenderOptions::default().now(options.now.clone());
        Self {
            renderer: Renderer::within(template, render, BUDGET),
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

    /// The EOS token, if one was given.
    pub fn eos_token(&self) -> Option<&str> {
        self.variables.get("eos_token").and_then(Value::as_str)
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

    /// Renders these messages unchanged.
    pub fn exactly(&self, chat: &Chat) -> Outcome {
        let context = self.context(chat);
        let key = key_of(&context);
        let outcome = self.renderer.render_keyed(key, |template, options| template.render(&context, options));
        let make = || {
            let outcome = outcome.map(|rendered| rendered.text.clone()).map_err(Rc::unwrap_or_clone);
            Rc::new(Exhibit { messages: Value::List(chat.messages.clone()), variables: shown(chat), outcome })
        };
        let exhibit = self.exhibits.known.borrow_mut().entry(key).or_insert_with(make).clone();
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
