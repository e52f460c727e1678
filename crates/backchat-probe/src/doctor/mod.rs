//! The facts about a chat template: what it accepts, drops and refuses, and how its renders behave. Every answer comes
//! from renders that differ in one thing.
//!
//! [`examine`] renders a fixed set of conversations in which every text is a needle, and returns the facts, each with
//! the renders that decided it. Messages are passed unchanged: nothing is filled in, and no key is copied to another.

pub mod agents;
mod explain;
mod explain_agents;
mod facts;
pub mod messages;
pub mod probe;
mod schema;
pub mod traps;

use std::rc::Rc;

use crate::probe::stand_ins;
use backchat_chat::{Budget, ChatTemplate, RenderError};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{Object, Value};

pub use agents::{Agents, Fate, Forgery, Problem, Shape, agent_facts, is_agent_shape};
pub use explain::{departure, explain, summary, value_words, words};
pub use explain_agents::explain_agents;
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
    /// The work that the examination may do.
    pub budget: Budget,
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

    /// The work that an examination may do; a repair may do several times as much.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
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
    /// What it makes of the conversations of agents.
    pub agents: Agents,
    /// How many conversations were rendered.
    pub renders: usize,
    /// Why the examination ended early: the template exceeded a limit on work or time.
    pub stopped: Option<RenderError>,
    /// The names and markers that the template probably misspells.
    misspelt: Vec<Diagnostic>,
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

/// The facts about a template without what it makes of the conversations of agents.
pub fn facts(template: &ChatTemplate, options: &Options) -> Vec<Fact> {
    backchat_chat::examine(Budget::default(), || facts::find(&probe::Probe::new(template, options)))
}

/// Examines a template.
///
/// It renders about a hundred conversations, and stops at the end of its budget of work.
pub fn examine(template: &ChatTemplate, options: &Options) -> Report {
    backchat_chat::examine(options.budget, || {
        let probe = probe::Probe::new(template, options);
        let facts = facts::find(&probe);
        let agents = agents::examine(&probe);
        let mut misspelt = traps::misspelt_names(template.source());
        misspelt.extend(traps::misspelt_marks(template.source()));
        Report { facts, agents, renders: probe.renders(), stopped: probe.stopped(), misspelt }
    })
}

/// Examines only what a template makes of the conversations of agents. Special tokens that were not given have texts in
/// their place.
pub fn examine_agents(template: &ChatTemplate, options: &Options) -> Agents {
    let mut options = options.clone();
    options.variables.extend(stand_ins(template, &options.variables, "|"));
    backchat_chat::examine(options.budget, || agents::examine(&probe::Probe::new(template, &options)))
}
