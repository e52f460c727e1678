//! A response template derived from a chat template, and the turns that the chat template writes.

use backchat::Template;
use backchat::derive::{self, Status};
use backchat::json::Value;

use crate::request::{maybe, notes, options};

pub fn derive(chat_template: &str, variables: Option<&str>) -> Value {
    let options = options(variables);
    let derivation = derive::derive(chat_template, &options);
    let draft = derivation.response_template.as_ref();
    let loaded = draft.and_then(|draft| Template::from_value(draft).ok());
    let turns = loaded.and_then(|loaded| derive::readable_turns(chat_template, &loaded.template, &options).ok());
    let turns = turns.unwrap_or_default();
    // A draft that reads nothing right is none.
    let draft = draft.filter(|_| derivation.status != Status::Failed);
    let summary = if draft.is_some() { derivation.summary() } else { Vec::new() };
    let shown = turns.turns.iter().map(|turn| {
        let output = format!("{}{}", turn.output, turn.stop.as_deref().unwrap_or(""));
        Value::from([("name", turn.name.into()), ("prefix", turn.prefix.as_str().into()), ("output", output.into())])
    });
    Value::from([
        ("status", derivation.status.name().into()),
        ("headline", derivation.headline().into()),
        ("summary", Value::List(summary.into_iter().map(Value::from).collect())),
        ("template", maybe(draft.map(|draft| draft.to_pretty("  ")).as_deref())),
        ("readers", derivation.to_value().get("readers").cloned().unwrap_or_default()),
        ("notes", notes(&derivation.diagnostics, Some(chat_template))),
        ("tools", maybe(turns.tools.map(|tools| tools.to_pretty("  ")).as_deref())),
        ("turns", Value::List(shown.collect())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_comes_with_its_turns_and_readers() {
        let source = include_str!("../../page/example.jinja");
        let derived = derive(source, None);
        assert_eq!(derived.get("status").and_then(Value::as_str), Some("proved"));
        assert!(derived.get("turns").and_then(Value::as_list).is_some_and(|turns| turns.len() > 4));
        assert!(derived.get("readers").and_then(Value::as_list).is_some_and(|readers| !readers.is_empty()));
    }

    #[test]
    fn a_template_that_does_not_compile_says_where() {
        let derived = derive("one\n{% if", None);
        assert_eq!(derived.get("template"), Some(&Value::Null));
        let note = &derived.get("notes").and_then(Value::as_list).unwrap()[0];
        assert_eq!(note.get("line").and_then(Value::as_i64), Some(2));
    }
}
