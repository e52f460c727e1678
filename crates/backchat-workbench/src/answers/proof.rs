//! The JSON result of `prove`.

use crate::repair::{self, Plan};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{self, Failure, Options, Proven};
use backchat_parser::template::Template;

/// The output of `backchat prove --format json`: the report of the proof, and the repairs of the template. What a
/// repair fixes has its message as the hint.
pub fn proof(proven: &Proven, plan: Option<&Plan>) -> Value {
    let Value::Object(mut report) = proven.to_value() else { return proven.to_value() };
    let steps = plan.map_or(&[][..], |plan| plan.steps.as_slice());
    if let Some(plan) = plan {
        explain(&mut report, plan, &proven.verdict.failures);
    }
    report.insert("repairs", Value::List(steps.iter().map(|step| step.repair.to_value()).collect()));
    Value::Object(report)
}

/// Proves a response template that is in no file, and looks for its repairs.
pub fn prove(chat_template: &str, template: &Template, options: &Options) -> Value {
    let proven = derive::prove(chat_template, template, options);
    let plan = match proven.verdict.failures.is_empty() {
        true => None,
        false => repair::plan(chat_template, "", &template.to_json(), options),
    };
    proof(&proven, plan.as_ref())
}

/// Puts the repairs in place of the hints that concern one failure each.
fn explain(report: &mut Object, plan: &Plan, failures: &[Failure]) {
    let hints: Vec<Option<String>> =
        failures.iter().map(|failure| plan.step_of(failure).map(|step| step.repair.describe())).collect();
    let put = |list: Option<&mut Value>, key: &'static str, is_failure: fn(&Object) -> bool| {
        let entries = list.and_then(as_list).into_iter().flatten().filter_map(as_object);
        for (entry, hint) in entries.filter(|entry| is_failure(entry)).zip(&hints) {
            if let Some(hint) = hint {
                entry.insert(key, hint.as_str().into());
            }
        }
    };
    let verification = report.get_mut("verification").and_then(as_object);
    put(verification.and_then(|verification| verification.get_mut("failures")), "hint", |_| true);
    put(report.get_mut("diagnostics"), "help", |entry| {
        entry.get("id").and_then(Value::as_str) == Some("derive-unproved")
    });
}

fn as_list(value: &mut Value) -> Option<&mut Vec<Value>> {
    if let Value::List(list) = value { Some(list) } else { None }
}

fn as_object(value: &mut Value) -> Option<&mut Object> {
    if let Value::Object(object) = value { Some(object) } else { None }
}
