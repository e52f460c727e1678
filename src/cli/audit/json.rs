//! The data of an audit as JSON.

use backchat_core::json::{Object, Value};
use backchat_workbench::audit::{Cause, Counted, Tally};

/// The counts and the causes, those of the most outputs first.
pub fn to_json(tally: &Tally, by: &str) -> Value {
    let causes = tally.ranked().into_iter().map(|(cause, counted)| self::cause(tally, cause, counted)).collect();
    Value::from([
        ("outputs", tally.outputs.into()),
        ("not_read", tally.failed.into()),
        ("with_problems", tally.with_problems.into()),
        ("by", by.into()),
        ("groups", groups(&tally.groups)),
        ("causes", Value::List(causes)),
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
    Value::from([
        ("kind", cause.kind.as_str().into()),
        ("recoverable", Value::List(policies)),
        ("outputs", counted.outputs.into()),
        ("share", tally.share(counted.outputs).into()),
        ("cut", counted.cut.into()),
        ("groups", groups(&counted.groups)),
        ("example", Value::Object(example)),
    ])
}
