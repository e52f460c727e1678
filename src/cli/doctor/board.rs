//! `doctor` over a folder of chat templates: a row for each, a column for each problem that some of them have.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::{Doctor, Format, broken_agents};
use crate::cli::on_all_cores::on_all_cores;
use crate::cli::{Failure, Global, folders};
use backchat_core::diagnostic::{Diagnostic, escape, escape_json};
use backchat_core::json::Value;
use backchat_probe::doctor::{self, Fate, Options, Problem};
use backchat_workbench::answers;
use backchat_workbench::input::Problem as InputProblem;
use backchat_workbench::report::{self, BoardRow};

/// Examines every chat template of a folder.
pub(super) fn show(command: &Doctor, folder: &str, global: &Global) -> Result<ExitCode, Failure> {
    check(command)?;
    let files = folders::templates_in(folder, |_| false)?;
    let names: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
    let mut rows = Vec::with_capacity(names.len());
    let mut broken = Vec::new();
    let mut out = io::stdout().lock();
    on_all_cores(
        &names,
        global,
        |name| examine(command, name),
        |name, found: Result<Found, String>| {
            let inside = Path::new(name).strip_prefix(folder).ok().map(|inside| inside.to_string_lossy().into_owned());
            let name = inside.filter(|inside| !inside.is_empty()).unwrap_or_else(|| name.clone());
            if command.format == Format::Json {
                writeln!(out, "{}", escape_json(&json(&name, &found).to_string()))?;
            }
            broken.extend(found.iter().flat_map(|found| &found.broken).map(|fact| (name.clone(), fact.clone())));
            rows.push(BoardRow { name, found: found.map(|found| found.fates) });
            Ok(())
        },
    )?;
    if command.format == Format::Text {
        out.write_all(report::board_text(&rows).as_bytes())?;
    }
    out.flush()?;
    command.page.write(global, || report::board(folder, &rows))?;
    Ok(verdict(&broken, &rows, global))
}

/// Options that make sense for one template only.
fn check(command: &Doctor) -> Result<(), Diagnostic> {
    let given =
        [("--explain", command.explain.is_some()), ("--format json-schema", command.format == Format::JsonSchema)];
    if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
        let message = format!("`{option}` takes one chat template, not a folder of them");
        return Err(Diagnostic::error("several-sources", message).help("run it once for each template"));
    }
    let agents = doctor::agent_facts();
    let other = command.require.iter().find(|name| !agents.contains(&name.as_str()) && !doctor::is_agent_shape(name));
    match other {
        Some(name) => {
            let message = format!("`{name}` is not examined for a folder");
            let help = format!("a folder is examined for: {}", agents.join(", "));
            Err(Diagnostic::error("unknown-fact", message).help(help))
        }
        None => Ok(()),
    }
}

/// What became of the conversations of agents.
struct Found {
    fates: Vec<(Problem, Fate)>,
    json: Value,
    /// What does not hold of the facts that are required.
    broken: Vec<String>,
}

fn examine(command: &Doctor, name: &str) -> Result<Found, String> {
    let words = |failure: Failure| {
        let problem = InputProblem::from(failure).diagnostics.into_iter().next();
        problem.map_or_else(|| "cannot be read".to_owned(), |problem| problem.message)
    };
    let source = command.selected.open(name).map_err(words)?.with_tokens_beside();
    let template = answers::compile(&source).map_err(|problem| words(problem.into()))?;
    let given = &command.selected.given;
    let options = Options::default().variables(given.variables(&source)).now(given.clock());
    command.budget.examine(|| {
        let agents = doctor::examine_agents(&template, &options);
        match (backchat_chat::ended(), agents.shapes.is_empty()) {
            (Some(why), _) => Err(format!("the examination ended early: {why}")),
            (None, true) => Err("renders no user message".to_owned()),
            (None, false) => Ok(Found {
                fates: agents.shapes.iter().map(|shape| (shape.problem, shape.fate)).collect(),
                broken: command.require.iter().flat_map(|name| broken_agents(&agents, name)).collect(),
                json: agents.to_json(),
            }),
        }
    })
}

fn json(name: &str, found: &Result<Found, String>) -> Value {
    let entry = match found {
        Ok(found) => ("agents", found.json.clone()),
        Err(message) => ("error", message.as_str().into()),
    };
    Value::from([("id", Value::from(name)), entry])
}

/// 1 if a required fact does not hold, 2 if a template could not be examined.
fn verdict(broken: &[(String, String)], rows: &[BoardRow], global: &Global) -> ExitCode {
    for (name, fact) in broken {
        tell!(global, "{}: a required fact does not hold: {fact}", escape(name));
    }
    let unread = rows.iter().filter_map(|row| Some((&row.name, row.found.as_ref().err()?)));
    for (name, message) in unread.clone() {
        tell!(global, "{}: not examined: {}", escape(name), escape(message));
    }
    ExitCode::from(if unread.count() > 0 { 2 } else { u8::from(!broken.is_empty()) })
}
