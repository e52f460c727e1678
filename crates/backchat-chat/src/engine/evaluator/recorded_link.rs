//! What the outcome recorder is given of a step of a chain: its constants, and the value before and after it.
//!
//! The recorder knows no program: the built-ins, which programs name, belong to the run that it is part of.

use minijinja::Value;
use minijinja::value::ValueKind;

use crate::engine::outcome_recorder::{OutcomeRecorder, Relation};
use crate::engine::program::{Argument, Arguments, ExpressionKind, Link, LinkKind};

/// Records a step that tests or changes a value, and returns its result.
pub(super) fn recorded(outcomes: &OutcomeRecorder, link: &Link, before: &Value, after: Value) -> Value {
    let decided = |relation: Relation, arguments: &Arguments| {
        let right = constants(arguments).next().unwrap_or(Value::UNDEFINED);
        outcomes.decide(&link.span, after.is_true(), relation, before, &right).into()
    };
    match &link.kind {
        LinkKind::Slice(bounds) => {
            let bounds: Vec<Value> = bounds.iter().flatten().filter_map(|bound| constant(&bound.kind)).collect();
            outcomes.change(&link.span, "[]", &bounds, [before, &after]);
        }
        LinkKind::Test(_, _, arguments) => return decided(Relation::Test, arguments),
        LinkKind::Method(method, arguments) if after.kind() == ValueKind::Bool => {
            let relation = match &*method.name {
                "startswith" => Relation::StartsWith,
                "endswith" => Relation::EndsWith,
                _ => Relation::Test,
            };
            return decided(relation, arguments);
        }
        LinkKind::Method(method, arguments) => {
            outcomes.change(&link.span, &method.name, &constants(arguments).collect::<Vec<_>>(), [before, &after]);
        }
        LinkKind::Filter(_, name, arguments) => {
            outcomes.change(&link.span, name, &constants(arguments).collect::<Vec<_>>(), [before, &after]);
        }
        _ => {}
    }
    after
}

/// The arguments that are the same in every render.
fn constants(arguments: &Arguments) -> impl Iterator<Item = Value> {
    arguments.given.iter().filter_map(|argument| match argument {
        Argument::Positional(value) | Argument::Keyword(_, value) => match &value.kind {
            ExpressionKind::Tuple(items) | ExpressionKind::List(items) => {
                let items: Option<Vec<Value>> = items.iter().map(|item| constant(&item.kind)).collect();
                items.map(Value::from)
            }
            kind => constant(kind),
        },
        _ => None,
    })
}

fn constant(kind: &ExpressionKind) -> Option<Value> {
    if let ExpressionKind::Constant(value) = kind { Some(value.clone()) } else { None }
}
