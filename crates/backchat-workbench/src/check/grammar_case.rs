//! Checks whether the grammar of a case's request accepts its output.

use super::fixture::Case;
use super::round_trip::joined;
use backchat_core::diagnostic::{Diagnostic, line_column};
use backchat_derive::wire::Wire;
use backchat_grammar::{Fed, Request};
use backchat_parser::template::Template;

/// Follows the output of a case through the grammar of its prompt and tools. The error has the place of the rejection,
/// or says why there is no grammar.
pub fn run(case: &Case, template: &Template, wire: &Wire) -> Result<(), String> {
    let prompt = (!case.prefix.is_empty()).then_some(case.prefix.as_str());
    let refused =
        |problems: Vec<Diagnostic>| format!("no grammar could be written for the request: {}", joined(&problems));
    let request = match &case.request {
        Some(body) => Request::from_body(body).map_err(refused)?,
        None => Request::default().tools(case.tools.as_ref()),
    };
    let grammar = backchat_grammar::build(template, wire, &request.prompt(prompt)).map_err(refused)?;
    // The engine ends at the stop, which is not part of the grammar; without one it was cut short, and may be anywhere.
    let stops = grammar.stop().iter().map(|(stop, _)| stop).chain(&case.stop);
    let turn = case.output.trim_end();
    let cut = stops.filter_map(|stop| turn.strip_suffix(stop.as_str())).min_by_key(|cut| cut.len());
    match grammar.matcher().feed(cut.unwrap_or(&case.output)) {
        Fed::Ok { may_end: true } => Ok(()),
        Fed::Ok { may_end: false } if cut.is_none() => Ok(()),
        Fed::Ok { may_end: false } => Err("the grammar does not let the output end here".to_owned()),
        Fed::Broken { at, expected } => {
            let (line, column) = line_column(&case.output, at);
            let expected = if expected.is_empty() { "the end".to_owned() } else { expected.join(", ") };
            Err(format!("the grammar rejects the output at line {line}, column {column}: expected {expected}"))
        }
    }
}
