//! The data of an audit as JSON.

use backchat_core::json::{Object, Value};
use backchat_parser::parser::ProblemKind;
use backchat_workbench::audit::{Cause, Counted, Tally};
use backchat_workbench::repair::Plan;

/// The counts, the causes, those of the most outputs first, and the repairs of the template.
pub fn to_json(tally: &Tally, by: &str, plan: Option<&Plan>) -> Value {
    let causes = tally.ranked().into_iter().map(|(cause, counted)| self::cause(tally, cause, counted)).collect();
    Value::from([
        ("outputs", tally.outputs.into()),
        ("not_read", tally.failed.into()),
        ("with_problems", tally.with_problems.into()),
        ("by", by.into()),
        ("groups", groups(&tally.groups)),
        ("causes", Value::List(causes)),
        ("repairs", Value::List(plan.iter().flat_map(|plan| &plan.steps).map(|step| step.repair.to_value()).collect())),
    ])
}

fn groups(counts: &std::collections::BTreeMap<String, u64>) -> Value {
    Value::Object(counts.iter().map(|(name, count)| (name.clone(), (*count).into())).collect())
}

fn cause(tally: &Tally, cause: &Cause, counted: &Counted) -> Value {
    let policies = cause.policy_names().into_iter().map(Value::from).collect();
    let row = counted.example.value();
    let keys = ["id", "text", "token_ids", "prefix"];
    let kept = keys.into_iter().filter_map(|key| Some((key.to_owned(), row.get(key)?.clone())));
    let line = ("line".to_owned(), counted.example.line.into());
    let example: Object = std::iter::once(line).chain(kept).collect();
    let (field, is_cut) = match cause {
        Cause::Template => (None, false),
        Cause::UnreadMarker { meant, .. } => (meant.as_ref().map(|meant| meant.field.as_str()), false),
        Cause::Output(cause) => (cause.field.as_deref(), cause.is_cut),
    };
    Value::from([
        ("name", cause.name().into()),
        ("explanation", cause.explain().into()),
        ("kind", cause.kind().map(ProblemKind::as_str).into()),
        ("field", field.into()),
        ("at_end", is_cut.into()),
        ("recoverable", Value::List(policies)),
        ("outputs", counted.outputs.into()),
        ("share", tally.share(counted.outputs).into()),
        ("cut", counted.cut.into()),
        ("groups", groups(&counted.groups)),
        ("also", groups(&counted.also)),
        ("example", Value::Object(example)),
    ])
}
