//! A response template derived from a chat template.

use backchat::json::Value;
use backchat_derive::derive::{self, ReaderVerdict, Status};

use crate::request::{maybe, notes, options};

pub fn derive(chat_template: &str, variables: Option<&str>) -> Value {
    // `inspect` tries them with the draft, which is shown first.
    let options = options(variables).leave_policies(true);
    let derivation = derive::derive(chat_template, &options);
    // A draft that parses no conversation correctly is not shown.
    let draft = derivation.response_template.as_ref().filter(|_| derivation.status != Status::Failed);
    let summary = if draft.is_some() { derivation.summary() } else { Vec::new() };
    Value::from([
        ("status", derivation.status.name().into()),
        ("headline", derivation.headline().into()),
        ("summary", Value::List(summary.into_iter().map(Value::from).collect())),
        ("template", maybe(draft.map(|draft| draft.to_pretty("  ")).as_deref())),
        ("readers", Value::List(derivation.readers.iter().map(ReaderVerdict::to_value).collect())),
        ("notes", notes(&derivation.diagnostics, Some(chat_template))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_comes_with_its_readers() {
        let source = include_str!("../../../playground/page/example.jinja");
        let derived = derive(source, None);
        assert_eq!(derived.get("status").and_then(Value::as_str), Some("proved"));
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
