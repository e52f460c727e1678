//! Formats what a template makes of agents' conversations for people, safe to print.

use std::fmt::Write as _;

use super::agents::{Agents, Forgery, Problem, Shape};
use super::probe::Exhibit;
use backchat_core::diagnostic::escape;
use backchat_core::json::Value;

/// How many marks are listed for a role.
const MOST_LISTED: usize = 8;

/// The section of the summary: the problems, those of calls first; empty if there are none.
pub(super) fn section(agents: &Agents) -> String {
    let has_problem = |problem: &Problem| shapes(agents, *problem).next().is_some();
    let mut problems: Vec<Problem> = Problem::ALL.into_iter().filter(has_problem).collect();
    problems.sort_by_key(|problem| !problem.is_about_calls());
    let mut out = String::new();
    for problem in problems {
        let _ = writeln!(out, "  {:<26} {}", problem.id(), problem.words());
        for shape in shapes(agents, problem) {
            let _ = writeln!(out, "    {:<24} {}", shape.name, escape(&result(shape)));
        }
    }
    if !out.is_empty() {
        out = format!("\nAgents: conversations of clients that it refuses, drops or misprints\n{out}");
        out += "  `backchat fix SOURCE --list` shows which of them have a proved repair.\n";
    }
    out + &forgeries(&agents.forgery)
}

fn shapes(agents: &Agents, problem: Problem) -> impl Iterator<Item = &Shape> {
    agents.problems().filter(move |shape| shape.problem == problem)
}

/// The result in words, with the template's own.
fn result(shape: &Shape) -> String {
    match (shape.line(), shape.message()) {
        (Some(line), Some(message)) => format!("{} in line {line}: {message}", shape.fate.word()),
        _ => shape.fate.word().replace('_', " "),
    }
}

/// The marks that content can imitate, and what an engine can do about it.
fn forgeries(forgery: &Forgery) -> String {
    let mut out = String::new();
    for (role, marks) in forgery.roles().into_iter().filter(|(_, marks)| !marks.is_empty()) {
        let mut listed: Vec<&str> = marks.iter().map(String::as_str).take(MOST_LISTED).collect();
        listed.extend((marks.len() > MOST_LISTED).then_some("…"));
        let _ = writeln!(out, "  {:<26} {}", role, escape(&listed.join(" ")));
    }
    if !out.is_empty() {
        out = format!("\nMarks that content can imitate\n{out}");
        out += "  An engine should encode control tokens in content as text; `chat_control_tokens` names marks that are\n  \
                no special tokens.\n";
    }
    out
}

/// The conversations and facts that a name means, with the renders that decided them.
pub fn explain_agents(agents: &Agents, name: &str) -> String {
    let (shapes, facts) = agents.named(name);
    let mut out = String::new();
    for shape in &shapes {
        let _ = writeln!(out, "agents.{}: {}\n{}", shape.id(), shape.fate.word(), shape.problem.words());
        out += &write_exhibit(&shape.exhibit);
        for accepted in &shape.accepted {
            let _ = writeln!(out, "  healthy:  {}", escape(&Value::from(accepted.as_str()).to_string()));
        }
        out.push('\n');
    }
    for (fact, holds) in &facts {
        let _ = writeln!(out, "agents.{fact}: {holds}");
    }
    if shapes.is_empty() && facts.is_empty() {
        let _ = writeln!(out, "{}: does not apply to this template", escape(name));
    }
    out
}

/// A conversation, and its render or refusal.
pub(super) fn write_exhibit(exhibit: &Exhibit) -> String {
    let mut out = format!("  messages: {}\n", escape(&exhibit.messages.to_string()));
    if !exhibit.variables.is_empty() {
        let _ = writeln!(out, "  with:     {}", escape(&Value::Object(exhibit.variables.clone()).to_string()));
    }
    match &exhibit.outcome {
        Ok(text) => drop(writeln!(out, "  renders:  {}", escape(&Value::from(text.as_str()).to_string()))),
        Err(error) => drop(writeln!(out, "  raises:   {}", escape(&error.to_string()))),
    }
    out
}
