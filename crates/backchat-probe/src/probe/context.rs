//! The context of a render.

use std::rc::Rc;

use super::key::{self, Entries};
use super::tools::{Offered, is_same};
use backchat_chat::{ChatTemplate, Ran, RenderError, RenderOptions, Rendered, render_prepared, render_recorded};
use backchat_core::json::{Object, Value};

/// All that a render depends on besides the template and the clock, and its hash.
pub(crate) struct Context {
    hash: u64,
    variables: Object,
    /// The tools, if they are not among the variables.
    tools: Option<Rc<Offered>>,
}

impl Context {
    pub fn new(variables: Object) -> Self {
        Self { hash: key::hash(Entries(&variables)), variables, tools: None }
    }

    /// A context that may share its tools with others.
    pub fn with_tools(variables: Object, tools: Option<Rc<Offered>>) -> Self {
        let hash = key::hash((Entries(&variables), tools.as_ref().map(|tools| tools.hash)));
        Self { hash, variables, tools }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether another context gives the same render.
    pub fn is(&self, other: &Self) -> bool {
        self.hash == other.hash
            && Entries(&self.variables) == Entries(&other.variables)
            && is_same(self.tools.as_ref(), other.tools.as_ref())
    }

    pub fn render(&self, template: &ChatTemplate, options: &RenderOptions) -> Result<Rendered, RenderError> {
        match self.tools.as_ref().map(|tools| tools.prepared()) {
            Some(Some(prepared)) => render_prepared(template, &self.variables, &[("tools", prepared)], options),
            _ => template.render(&self.full(), options),
        }
    }

    /// Renders, and records which way conditions go.
    pub fn recorded(&self, template: &ChatTemplate, options: &RenderOptions) -> Option<Ran> {
        let (rendered, ran) = match self.tools.as_ref().map(|tools| tools.prepared()) {
            Some(Some(prepared)) => render_recorded(template, &self.variables, &[("tools", prepared)], options),
            _ => render_recorded(template, &self.full(), &[], options),
        };
        rendered.is_ok().then_some(ran)
    }

    /// The variables, the tools among them.
    pub fn full(&self) -> Object {
        let mut full = self.variables.clone();
        full.extend(self.tools.as_ref().map(|offered| ("tools".to_owned(), offered.tools.clone())));
        full
    }
}

/// The variables of a conversation, with those that transformers always gives.
pub fn context(variables: &Object, messages: &[Value], tools: &Value, prompt: bool) -> Object {
    let mut context = Object::new();
    context.insert("messages", Value::List(messages.to_vec()));
    context.insert("tools", tools.clone());
    context.insert("documents", Value::Null);
    context.extend(variables.iter().map(|(name, value)| (name, value.clone())));
    context.insert("add_generation_prompt", prompt.into());
    context
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_with_one_hash_are_told_apart() {
        let text = |text: &str| Object::from_iter([("text".to_owned(), text.into())]);
        let [one, other] = ["one", "other"].map(|own| Context { hash: 7, variables: text(own), tools: None });
        assert!(one.is(&Context { hash: 7, variables: text("one"), tools: None }));
        assert!(!one.is(&other));
        let offered = |name: &str| Some(Rc::new(Offered::new(Value::List(vec![name.into()]))));
        let [add, sub] = ["add", "sub"].map(|tool| Context { hash: 7, variables: text("one"), tools: offered(tool) });
        assert!(add.is(&Context { hash: 7, variables: text("one"), tools: offered("add") }));
        assert!(!add.is(&sub) && !add.is(&one));
    }
}
