//! The causes as a table: the most frequent first, each with its smallest output.

use backchat_core::diagnostic::escape;
use backchat_workbench::audit::{Cause, Counted, Tally};
use backchat_workbench::repair::Plan;

/// How many models or servers have a column.
const COLUMNS: usize = 6;

/// How much of an output is shown, in characters.
const SHOWN: usize = 80;

/// What precedes the lines about a cause.
const INDENT: &str = "        ";

pub fn render(tally: &Tally, plan: Option<&Plan>, color: bool) -> String {
    let share = tally.share(tally.with_problems) * 100.0;
    let mut out = format!("{} of {} outputs have problems ({share:.2}%).\n", tally.with_problems, tally.outputs);
    let ranked = tally.ranked();
    if ranked.is_empty() {
        return out;
    }
    let columns = columns(tally);
    let title = |name: &str| if name.is_empty() { "(none)".to_owned() } else { escape(name).into_owned() };
    let mut lines = vec![["OUTPUTS", "SHARE"].map(str::to_owned).to_vec()];
    lines.extend(ranked.iter().map(|(_, counted)| {
        let share = format!("{:.2}%", tally.share(counted.outputs) * 100.0);
        vec![counted.outputs.to_string(), share]
    }));
    for (line, counted) in lines.iter_mut().zip(std::iter::once(None).chain(ranked.iter().map(Some))) {
        line.extend(columns.iter().map(|name| match counted {
            None => title(name),
            Some((_, counted)) => counted.groups.get(*name).copied().unwrap_or_default().to_string(),
        }));
    }
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns.len() + 2).map(|column| width(column).unwrap_or_default()).collect();
    out.push('\n');
    for (index, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let cause = index.checked_sub(1).and_then(|index| ranked.get(index));
        let name = cause.map_or_else(|| "CAUSE".to_owned(), |(cause, _)| cause.name());
        out.push_str(&format!("{}  {name}\n", cells.join("  ")));
        if let Some((cause, counted)) = cause {
            out.push_str(&format!("{INDENT}{}\n", escape(&explained(cause, counted))));
            let example = format!("{INDENT}line {}: {}", counted.example.line, shown(counted));
            out.push_str(&if color { format!("\x1b[2m{example}\x1b[0m\n") } else { format!("{example}\n") });
        }
    }
    if let Some(plan) = plan {
        let steps = plan.steps.iter().map(|step| step.repair.describe()).collect::<Vec<_>>().join("; ");
        out.push_str(&format!("\nTo repair the template, {}.\n`backchat prove --fix` writes it.\n", escape(&steps)));
    }
    out
}

/// What is wrong, what recovers it, and what else the outputs have.
fn explained(cause: &Cause, counted: &Counted) -> String {
    let mut text = cause.explain();
    if counted.cut > 0 {
        text.push_str(&format!("; {} at a token limit", counted.cut));
    }
    let policies = cause.policy_names();
    if !policies.is_empty() {
        text.push_str(&format!("; recovered by {}", policies.join(", ")));
    }
    if !counted.also.is_empty() {
        let also: Vec<String> = counted.also.iter().map(|(problem, count)| format!("{count} {problem}")).collect();
        text.push_str(&format!("; also: {}", also.join(", ")));
    }
    text
}

/// The models or servers with the most outputs, if there is more than one.
fn columns(tally: &Tally) -> Vec<&str> {
    if tally.groups.len() < 2 {
        return Vec::new();
    }
    tally.ranked_groups().into_iter().take(COLUMNS).map(|(name, _)| name).collect()
}

/// The beginning of the smallest output of a cause.
fn shown(counted: &Counted) -> String {
    let row = counted.example.value();
    let text = row.get("text").or_else(|| row.get("token_ids")).map(ToString::to_string).unwrap_or_default();
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{more}", escape(&shown))
}
