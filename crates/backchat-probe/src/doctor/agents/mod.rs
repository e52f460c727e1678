//! What a template makes of the conversations that agents and OpenAI-style clients send: each is compared with the render
//! of a conversation that says the same and that the template takes.

mod base;
mod calls;
mod case;
mod cases;
mod contents;
mod forgery;
mod frames;
mod history;
mod problem;
mod roles;
pub mod said;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use super::probe::{Exhibit, Probe};
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use cases::Cases;

pub use base::Base;
pub use case::Case;
pub use case::Fate;
pub use forgery::Forgery;
pub use frames::SystemFrame;
pub use problem::Problem;

/// One conversation, and what became of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shape {
    /// The problem it may show.
    pub problem: Problem,
    /// Which of the problem's conversations it is.
    pub name: &'static str,
    /// The result.
    pub fate: Fate,
    /// The renders that are healthy, the preferred one first; empty if none is known.
    pub accepted: Vec<String>,
    /// The conversation and its render.
    pub exhibit: Rc<Exhibit>,
}

impl Shape {
    /// `problem.name`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.problem.id(), self.name)
    }

    /// The line of the template at which the render stopped.
    pub fn line(&self) -> Option<usize> {
        self.exhibit.outcome.as_ref().err().and_then(|error| error.line)
    }

    /// Why the template refuses it.
    pub fn message(&self) -> Option<&str> {
        self.exhibit.outcome.as_ref().err().map(|error| error.message.as_str())
    }

    fn entry(&self) -> Value {
        let mut entry = Object::from_iter([("result".to_owned(), self.fate.word().into())]);
        entry.extend(self.line().map(|line| ("line".to_owned(), line.into())));
        entry.extend(self.message().map(|message| ("message".to_owned(), message.into())));
        Value::Object(entry)
    }
}

/// What a template makes of the conversations of agents.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Agents {
    /// The conversations that apply to the template.
    pub shapes: Vec<Shape>,
    /// Facts about how renders of a conversation that goes on agree, those that apply.
    pub facts: Vec<(&'static str, bool)>,
    /// What content can imitate.
    pub forgery: Forgery,
}

impl Agents {
    /// The shapes that are a problem.
    pub fn problems(&self) -> impl Iterator<Item = &Shape> {
        self.shapes.iter().filter(|shape| shape.fate.is_problem())
    }

    /// The problems that the shapes show, each once.
    pub fn ailments(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.problems().map(|shape| shape.problem).collect();
        problems.dedup();
        problems
    }

    /// The shapes and facts that a name means, with or without `agents.` before it: `agents` is all of them, the id of a
    /// problem those of that problem.
    pub fn named(&self, name: &str) -> (Vec<&Shape>, Vec<(&'static str, bool)>) {
        let name = name.strip_prefix("agents.").unwrap_or(name);
        let is_meant = |id: &str, problem: &str| matches!(name, "agents") || id == name || problem == name;
        let shapes = self.shapes.iter().filter(|shape| is_meant(&shape.id(), shape.problem.id()));
        let problem = |fact: &str| if fact.starts_with("prefix_") { "prefix" } else { "" };
        let facts = self.facts.iter().filter(|(fact, _)| is_meant(fact, problem(fact)));
        (shapes.collect(), facts.copied().collect())
    }

    /// As one JSON object.
    pub fn to_json(&self) -> Value {
        let shapes = self.shapes.iter().map(|shape| (shape.id(), shape.entry()));
        let facts = self.facts.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        let list = |marks: &[String]| Value::List(marks.iter().map(|mark| mark.as_str().into()).collect());
        let roles = self.forgery.roles().map(|(role, marks)| (role, list(marks)));
        let forgery = [("forgery".to_owned(), Value::from(roles))];
        Value::Object(shapes.chain(facts).chain(forgery).collect())
    }
}

/// The names of facts about agents that may be required: all, those of a problem, and those about history.
pub fn agent_facts() -> Vec<&'static str> {
    let mut names = vec!["agents"];
    for name in Problem::ALL.iter().map(|problem| problem.fact()).chain(history::NAMES) {
        push_new(&mut names, name);
    }
    names
}

/// Whether a name is that of one conversation, `agents.PROBLEM.NAME`.
pub fn is_agent_shape(name: &str) -> bool {
    let shape = name.strip_prefix("agents.").and_then(|name| name.split_once('.'));
    shape.is_some_and(|(id, name)| Problem::named(id).is_some_and(|problem| problem.shapes().contains(&name)))
}

/// The conversations that apply to a template, with their healthy renders.
pub fn cases(base: &Base<'_, '_>) -> Vec<Case> {
    let mut cases = Cases { base, found: Vec::new() };
    cases.roles();
    cases.contents();
    cases.calls();
    let mut found = cases.found;
    found.sort_by_key(|case| case.problem);
    found
}

/// Examines how a template takes the conversations of agents.
pub(super) fn examine(probe: &Probe<'_>) -> Agents {
    let Some(base) = Base::find(probe) else { return Agents::default() };
    let shape = |case: Case| {
        let exhibit = probe.exhibit(&case.chat);
        let fate = case.fate(&exhibit.outcome);
        Shape { problem: case.problem, name: case.shape, fate, accepted: case.accepted, exhibit }
    };
    let shapes = cases(&base).into_iter().map(shape).collect();
    Agents { shapes, facts: history::facts(&base), forgery: Forgery::find(&base) }
}
