//! The facts about a chat template: what it accepts, drops and refuses, and how its renders behave. Every answer comes
//! from renders that differ in one thing.
//!
//! [`examine`] renders a fixed set of conversations in which every text is a needle, and returns the facts, each with
//! the renders that decided it. Messages are passed unchanged: nothing is filled in, and no key is copied to another.

mod explain;
mod facts;
pub(crate) mod messages;
mod probe;
mod schema;
pub mod traps;

use std::rc::Rc;

use backchat_chat::{ChatTemplate, RenderError};
use backchat_core::json::{Object, Value};

pub use explain::{departure, explain, summary, value_words, words};
pub use probe::Exhibit;
pub use schema::input_schema;
pub use traps::traps;

/// Options of an examination.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The variables that every render gets in addition to the conversation.
    pub variables: Object,
    /// The time that the chat template sees.
    pub now: Option<String>,
}

impl Options {
    /// Variables for every render, such as `bos_token` and `eos_token`.
    #[must_use]
    pub fn variables(mut self, variables: Object) -> Self {
        self.variables = variables;
        self
    }

    /// The clock that `strftime_now` reads.
    #[must_use]
    pub fn now(mut self, now: impl Into<Option<String>>) -> Self {
        self.now = now.into();
        self
    }
}

/// One fact about a template, and what decided it.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Its name in reports.
    pub name: &'static str,
    /// Its value: a word, a bool, a text, a list, or null if it does not apply.
    pub value: Value,
    /// The renders that decided it, in order.
    pub evidence: Vec<Rc<Exhibit>>,
}

impl Fact {
    /// Whether the fact says that the template can do it: `rendered`, `true`, or anything that is not empty.
    pub fn holds(&self) -> bool {
        match &self.value {
            Value::String(word) if word == "dropped" || word == "refused" || word == "printed" => false,
            value => value.is_truthy(),
        }
    }
}

/// Everything an examination found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The facts, in the order of their definitions.
    pub facts: Vec<Fact>,
    /// How many conversations were rendered.
    pub renders: usize,
    /// Why the examination ended early: the template exceeded a limit on work or time.
    pub stopped: Option<RenderError>,
}

impl Report {
    /// The fact of this name.
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }

    /// The facts as one JSON object.
    pub fn capabilities(&self) -> Value {
        Value::Object(self.facts.iter().map(|fact| (fact.name.to_owned(), fact.value.clone())).collect())
    }
}

/// Examines a template.
///
/// It renders about a hundred conversations, and stops after at most a few seconds.
pub fn examine(template: &ChatTemplate, options: &Options) -> Report {
    let probe = probe::Probe::new(template, options);
    let facts = facts::find(&probe);
    Report { facts, renders: probe.renders(), stopped: probe.stopped() }
}
