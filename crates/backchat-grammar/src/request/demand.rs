//! What a request demands of calls: which tools the model may call, and how many calls are required.

use super::Request;
use super::choice::Choice;
use super::tools::{self, Fault, Tool};
use crate::notes::{Effect, Note};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;

/// How many calls the request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Nothing,
    Perhaps,
    Some,
    One,
}

impl Wants {
    /// Whether a call is allowed.
    pub fn may_call(self) -> bool {
        self != Self::Nothing
    }

    /// Whether a call is required.
    pub fn is_forced(self) -> bool {
        matches!(self, Self::Some | Self::One)
    }
}

/// The calls that a request demands.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The tools that the model may call.
    pub callable: Vec<Tool>,
    pub wants: Wants,
    /// The names of the custom tools.
    pub custom: Vec<String>,
}

impl Request<'_> {
    /// The calls that it demands, with its notes.
    ///
    /// # Errors
    ///
    /// A tool that must be callable is invalid, or the choice names none.
    pub(crate) fn demand(&self, notes: &mut Vec<Note>) -> Result<Demand, Vec<Diagnostic>> {
        notes.extend(self.notes.iter().cloned());
        let given = self.tools.as_deref().unwrap_or(&Value::Null);
        let given = match given {
            Value::Null => &[][..],
            Value::List(items) => items,
            _ => return Err(vec![Diagnostic::error("grammar-tools", "the tools must be a JSON list")]),
        };
        let default = if given.is_empty() { Choice::None } else { Choice::Auto };
        let (names, wants) = wanted(self.choice.as_deref().unwrap_or(&default), given);
        let callable = callable(given, names, wants, notes)?;
        let custom = given.iter().filter(|tool| tools::is_custom(tool)).filter_map(tools::name).map(str::to_owned);
        Ok(Demand { callable, wants, custom: custom.collect() })
    }
}

/// The names that a choice is limited to, and how many calls it requires.
fn wanted<'c>(choice: &'c Choice, given: &[Value]) -> (Option<&'c [String]>, Wants) {
    match choice {
        Choice::None => (Some(&[]), Wants::Nothing),
        Choice::Auto if given.is_empty() => (None, Wants::Nothing),
        Choice::Auto => (None, Wants::Perhaps),
        Choice::Required => (None, Wants::Some),
        Choice::Named(name) => (Some(std::slice::from_ref(name)), Wants::One),
        Choice::Allowed(names) => (Some(names), Wants::Perhaps),
        Choice::RequiredOf(names) => (Some(names), Wants::Some),
    }
}

/// The tools of these names, or all of them; the faults of others are harmless.
fn callable(
    given: &[Value],
    names: Option<&[String]>,
    wants: Wants,
    notes: &mut Vec<Note>,
) -> Result<Vec<Tool>, Vec<Diagnostic>> {
    let (mut tools, mut faults) = tools::read(given, notes);
    if let Some(names) = names {
        // An invalid tool that the model may not call is harmless.
        faults.retain(|fault| fault.of_list || fault.name.as_ref().is_some_and(|name| names.contains(name)));
    }
    let mut problems = Vec::new();
    for Fault { name, of_list, message } in faults {
        if wants == Wants::Perhaps && !of_list {
            let message = format!("the tool is dropped: {message}");
            notes.push(Note { tool: name, ..Note::new(Effect::Tighter, message) });
        } else {
            let name = name.map_or(String::new(), |name| format!("tool `{name}`: "));
            problems.push(Diagnostic::error("grammar-tools", format!("{name}{message}")));
        }
    }
    if wants == Wants::Nothing {
        return if problems.is_empty() { Ok(Vec::new()) } else { Err(problems) };
    }
    if let Some(names) = names {
        let known: Vec<&str> = given.iter().filter_map(tools::name).collect();
        for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
            let message = format!("`tool_choice` names `{name}`, which is not among the tools");
            let help = format!("the tools are {}", known.join(", "));
            problems.push(Diagnostic::error("grammar-choice", message).help(help));
        }
        tools.retain(|tool| names.contains(&tool.name));
    }
    if wants == Wants::Some && tools.is_empty() && problems.is_empty() {
        problems.push(Diagnostic::error("grammar-tools", "a call is required, but there are no tools"));
    }
    if problems.is_empty() { Ok(tools) } else { Err(problems) }
}
