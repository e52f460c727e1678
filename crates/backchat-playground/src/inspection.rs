//! Inspects a response template: problems, findings, its proof, and repairs.

use backchat::Template;
use backchat::derive::Options;
use backchat::json::Value;
use backchat_derive::derive::{self, Conversation, Fate};
use backchat_derive::targets::Target;
use backchat_parser::template::source;
use backchat_workbench::lint::{Subject, lint};

use crate::request::{count, maybe, notes, options};

/// The name of the template in messages.
pub const FILE: &str = "response_template.json";

pub fn inspect(text: &str, chat_template: Option<&str>, variables: Option<&str>) -> Value {
    let opened = match source::from_text(FILE.to_owned(), text.to_owned()) {
        Ok(opened) => opened,
        Err(error) => {
            let found = notes(&error.diagnostics, Some(text));
            return Value::from([("loads", false.into()), ("notes", found), ("proof", Value::Null)]);
        }
    };
    let no_targets: [&'static Target; 0] = [];
    let found = lint(&Subject::of_file(&opened, &no_targets));
    let options = options(variables);
    let template = &opened.loaded.template;
    Value::from([
        ("loads", true.into()),
        ("notes", notes(&found, Some(text))),
        ("proof", chat_template.map_or(Value::Null, |chat_template| proof(chat_template, template, &options))),
    ])
}

fn proof(chat_template: &str, template: &Template, options: &Options) -> Value {
    let (proven, conversations) = derive::prove_and_list(chat_template, template, options);
    let verdict = &proven.verdict;
    let failures = verdict.failures.iter().map(|failure| {
        Value::from([
            ("count", count(failure.count)),
            ("what", failure.describe().into()),
            ("hint", maybe(failure.hint().as_deref())),
            ("case", failure.case.as_str().into()),
        ])
    });
    Value::from([
        ("status", proven.status.name().into()),
        ("headline", proven.headline().into()),
        ("cases", count(verdict.cases)),
        ("passed", count(verdict.passed)),
        ("lost", count(verdict.lost())),
        ("failed", count(verdict.failed())),
        ("failures", Value::List(failures.collect())),
        ("conversations", Value::List(conversations.iter().map(conversation).collect())),
        ("notes", notes(&proven.diagnostics, Some(chat_template))),
    ])
}

fn conversation(conversation: &Conversation) -> Value {
    let Conversation { said, after, setting, prefix, text, expected, fate } = conversation;
    let with = if setting.is_empty() { String::new() } else { Value::Object(setting.clone()).to_string() };
    let (fate, what) = match fate {
        Fate::Passed => ("passed", String::new()),
        Fate::Lost(loss) => ("lost", loss.message.clone()),
        Fate::Failed(failure) => ("failed", failure.describe()),
    };
    Value::from([
        ("said", said.as_str().into()),
        ("after", after.as_str().into()),
        ("with", with.into()),
        ("fate", fate.into()),
        ("what", what.into()),
        ("prefix", prefix.as_str().into()),
        ("text", text.as_str().into()),
        ("expected", expected.to_pretty("  ").into()),
    ])
}

pub fn repairs(text: &str, chat_template: &str, variables: Option<&str>) -> Value {
    let found = backchat_workbench::repair::repairs(chat_template, FILE, text, &options(variables));
    let shown = found.into_iter().map(|repair| {
        Value::from([
            ("message", repair.fix.message.as_str().into()),
            ("line", repair.place.line_column.map_or(Value::Null, |(line, _)| count(line))),
            ("fixes", count(repair.fixes)),
            ("breaks", count(repair.breaks)),
            ("text", repair.fix.apply(text).into()),
        ])
    });
    Value::List(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = include_str!("../../../playground/page/example.jinja");

    #[test]
    fn a_wrong_delimiter_is_found_and_repaired() {
        let derived = crate::derivation::derive(CHAT, None);
        let draft = derived.get("template").and_then(Value::as_str).unwrap();
        let wrong = draft.replace("</call>", "</cal>");
        let inspected = inspect(&wrong, Some(CHAT), None);
        let proof = inspected.get("proof").unwrap();
        assert_eq!(proof.get("status").and_then(Value::as_str), Some("partial"));
        let found = repairs(&wrong, CHAT, None);
        let repair = &found.as_list().unwrap()[0];
        assert_eq!(repair.get("text").and_then(Value::as_str), Some(draft));
        assert_eq!(repair.get("breaks").and_then(Value::as_i64), Some(0));
    }

    #[test]
    fn load_errors_have_their_position() {
        let inspected = inspect("{\n  \"fields\": 1\n}", Some(CHAT), None);
        assert_eq!(inspected.get("loads"), Some(&Value::from(false)));
        let notes = inspected.get("notes").and_then(Value::as_list).unwrap();
        assert!(notes.iter().any(|note| note.get("line").and_then(Value::as_i64) == Some(2)), "{notes:?}");
    }
}
