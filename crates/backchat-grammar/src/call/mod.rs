//! The calls of a request: one rule for each tool that can be called.

mod paired;
mod paired_value;
mod writer;

use crate::markers::{CALLS, Model};
use crate::notes::{Effect, Note};
use crate::reader::Reads;
use crate::request::{Demand, Request, Tool, Wants, shown_tools};
use crate::rules::{Node, Rules};
use crate::schema::{Cause, Order, Problem};
use backchat_core::diagnostic::{self, Diagnostic};
use backchat_core::json::Value;
use backchat_derive::wire::structure::Arguments;
use writer::CallWriter;

/// The context in which the schemas of a request are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaContext<'r> {
    /// Absent `additionalProperties` allow any member.
    pub open: bool,
    /// Allow only the white space that renders have.
    pub strict_space: bool,
    /// The order of a call's arguments.
    pub order: Order,
    pub reads: &'r Reads<'r>,
}

/// The calls of all usable tools; empty if none is usable and no call is required, or none is allowed.
///
/// # Errors
///
/// The wire has no calls, or a tool that the request demands cannot be called.
pub(crate) fn calls(
    rules: &mut Rules,
    model: &Model,
    request: &Request<'_>,
    demand: &Demand,
    notes: &mut Vec<Note>,
) -> Result<Vec<Node>, Vec<Diagnostic>> {
    if !demand.wants.may_call() {
        return Ok(Vec::new());
    }
    let calls = model.structure().calls.as_ref().filter(|_| model.template.field(CALLS).is_some());
    let Some(calls) = calls else {
        let message = "this template reads no calls, but the request has tools";
        return Err(vec![Diagnostic::error("grammar-no-calls", message).help("`--tool-choice none` works")]);
    };
    // Only arguments that are written one by one are parsed one by one.
    let alone = matches!(calls.body.arguments, Arguments::Pairs(_));
    let given = request.tools.as_deref().filter(|_| alone).map_or(Value::Null, shown_tools);
    let reading = SchemaContext {
        open: request.open_properties,
        strict_space: request.wire_space,
        order: if request.any_order { Order::Any } else { Order::Schema },
        reads: &Reads::new(&model.template, &given),
    };
    let writer = CallWriter::new(model, calls, reading);
    let (mut nodes, mut faults) = (Vec::new(), Vec::new());
    for tool in &demand.callable {
        match writer.call(rules, tool, notes) {
            Ok(node) => nodes.push(node),
            Err(problem) => faults.push(fault(tool, problem, demand.wants, notes)),
        }
    }
    let is_forced = demand.wants.is_forced();
    if faults.iter().any(|fault| !fault.is_dropped) || is_forced && nodes.is_empty() {
        return Err(faults.into_iter().map(|fault| fault.diagnostic).collect());
    }
    Ok(nodes)
}

/// A tool that cannot be called.
struct Fault {
    /// The model does without it.
    is_dropped: bool,
    diagnostic: Diagnostic,
}

/// What becomes of a tool with a problem. One that cannot be called is dropped. One whose schema is too large can be
/// called.
fn fault(tool: &Tool, problem: Problem, wants: Wants, notes: &mut Vec<Note>) -> Fault {
    let Problem { path, message, cause } = problem;
    let is_dropped = match cause {
        Cause::Wire => true,
        Cause::Schema => wants == Wants::Perhaps,
        Cause::Limit => false,
    };
    // Deep nesting makes a long path.
    let place = diagnostic::shortened(if path.is_empty() { "/" } else { &path }, 200);
    let text = format!("tool `{}` at `{place}`: {message}", tool.name);
    if is_dropped {
        let dropped = Note::new(Effect::Tighter, format!("the tool is dropped: {message}"));
        notes.push(Note { tool: Some(tool.name.clone()), path: Some(path), ..dropped });
    }
    Fault { is_dropped, diagnostic: Diagnostic::error("grammar-tool", text) }
}
