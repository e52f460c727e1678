//! Makes a file of cases from recorded outputs: each distinct complete output once, with its recorded message, or else
//! the one that its template reads.

use std::collections::HashSet;

use super::fixture::{Broken, Case, FixtureFile, json_section, prefix_section, write_section};
use super::reading::Reading;
use super::scaffold::{errors_of_cases, failing, most_frequent, shared};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{self, Value};
use backchat_core::text::slice;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Options, Parser};
use backchat_parser::template::Template;

/// The paths that the file refers to.
#[derive(Clone, Copy, Debug)]
pub struct RecordNames<'n> {
    /// The file itself.
    pub file: &'n str,
    /// The response template.
    pub template: &'n str,
    /// The record.
    pub record: &'n str,
}

/// A file of cases made from a record, and the rows that are not in it.
#[derive(Clone, Debug)]
pub struct RecordCases {
    /// Its text.
    pub text: String,
    /// How many cases it has.
    pub cases: usize,
    /// How many of them the template reads differently from the recorded message.
    pub failing: usize,
    /// How many rows were interrupted.
    pub incomplete: usize,
    /// How many rows repeat an output of the same prompt and tools.
    pub repeated: usize,
    /// The rows that are not cases.
    pub broken: Vec<Broken>,
}

/// The text of a file with a case for each output of a record.
pub fn record_cases(record: FixtureFile, template: &Template, names: RecordNames<'_>) -> RecordCases {
    let mut seen = HashSet::new();
    let mut kept: Vec<(Case, String)> = Vec::new();
    let (mut incomplete, mut repeated, mut broken) = (0, 0, Vec::new());
    for case in record.cases {
        let case = match case {
            Ok(case) => case,
            Err(problem) => {
                broken.push(problem);
                continue;
            }
        };
        let row = json::read(slice(&record.text, case.span.clone())).unwrap_or_default();
        let tools = case.tools.as_ref().map(Value::to_string).unwrap_or_default();
        let said = |key: &str| row.get(key).and_then(Value::as_str);
        if said("outcome").is_some_and(|outcome| outcome != "complete") || said("finish_reason") == Some("length") {
            incomplete += 1;
        } else if !seen.insert((case.prefix.clone(), case.output.clone(), tools)) {
            repeated += 1;
        } else {
            match expectation(&case, template) {
                Ok(text) => kept.push((case, text)),
                Err(why) => {
                    let problem = Diagnostic::error("record-unread", format!("the output cannot be read: {why}"));
                    let diagnostics = vec![problem.at(case.place(&record.text, case.span.clone()))];
                    broken.push(Broken { id: case.id, diagnostics });
                }
            }
        }
    }
    let text = text(&kept, names);
    let failing = failing(&errors_of_cases(names.file, text.clone(), template, None));
    RecordCases { text, cases: kept.len(), failing, incomplete, repeated, broken }
}

/// The sections with the expectation of an output, or why it cannot be parsed.
fn expectation(case: &Case, template: &Template) -> Result<String, String> {
    let section = |message| json_section("message", &Value::Object(message));
    if let Some(recorded) = &case.expected.message {
        return Ok(section(recorded.value.clone()));
    }
    let tools = case.tools.as_ref().map(Tools::new).transpose().map_err(|error| error.to_string())?;
    let options = Options::default().tools(tools.map(Into::into)).recover(case.recover).validate(case.validate);
    let parser = Parser::new(template, &case.prefix, options).map_err(|error| error.to_string())?;
    let reading = Reading::new(parser, std::iter::once(&*case.output));
    let (message, _) = reading.outcome.as_ref().map_err(ToString::to_string)?;
    let mut text = section(message.clone());
    for (name, lines) in [("error", reading.errors()), ("problems", reading.problems)] {
        if !lines.is_empty() {
            text += &format!("=== {name}\n{}\n", lines.join("\n"));
        }
    }
    Ok(text)
}

fn text(kept: &[(Case, String)], names: RecordNames<'_>) -> String {
    let mut text = format!(
        "# Outputs recorded in {}. A message is what was read of its output then: check each once.\ntemplate: {}\n\n",
        one_line(names.record),
        names.template
    );
    let prefix = most_frequent(kept.iter().map(|(case, _)| case.prefix.as_str()));
    let tools = shared(kept.iter().map(|(case, _)| case.tools.as_ref())).flatten();
    text += &prefix.map(prefix_section).unwrap_or_default();
    text += &tools.map(|tools| json_section("tools", tools)).unwrap_or_default();
    let cases = kept.iter().map(|(case, expectation)| {
        let mut text = format!("=== case {}\n", one_line(&case.name));
        text.extend(Some(case.prefix.as_str()).filter(|own| Some(*own) != prefix).map(prefix_section));
        let own_tools = case.tools.as_ref().filter(|_| tools.is_none());
        text.extend(own_tools.map(|tools| json_section("tools", tools)));
        text + &write_section("output", &case.output) + expectation
    });
    text + &cases.collect::<Vec<_>>().join("\n")
}

fn one_line(name: &str) -> String {
    name.split(char::is_control).collect::<Vec<_>>().join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::{Shared, TemplateSource, read_text};

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
        "tool_calls": {"open": "<call>", "close": "</call>", "content": "json", "repeats": true},
        "content": {"close": "<end>"}}}"#;

    fn of(rows: &str) -> RecordCases {
        let template = Template::load(TEMPLATE).unwrap().template;
        let shared = Shared::default().standing_in(TemplateSource::File("t.json".into()), None);
        let record = read_text("r.jsonl", rows.to_owned(), &shared);
        record_cases(record, &template, RecordNames { file: "new.fixture", template: "t.json", record: "r.jsonl" })
    }

    #[test]
    fn each_complete_output_is_a_case_once() {
        let rows = [
            r#"{"id": "a", "prefix": "<bot>", "text": "Hi<end>", "message": {"content": "Hi"}, "outcome": "complete"}"#,
            r#"{"id": "b", "prefix": "<bot>", "text": "Hi<end>", "message": {"content": "Hi"}, "outcome": "complete"}"#,
            r#"{"id": "c", "prefix": "<bot>", "text": "<call>{oops</call>", "parsed": {}, "outcome": "complete",
                "problems": [{"kind": "malformed"}]}"#,
            r#"{"id": "d", "prefix": "<bot>", "text": "Hal", "parsed": {"content": "Hal"}, "outcome": "cancelled"}"#,
            r#"{"id": "l", "prefix": "<bot>", "text": "Hall", "message": {"content": "Hall"}, "finish_reason": "length"}"#,
            r#"{"id": "e\nf", "prefix": "<sys><bot>", "text": "=== Yo", "message": {"content": "No"}}"#,
            r#"{"id": "g", "text": "Without a prompt."}"#,
            r#"{"id": "h", "prefix": "<bot>", "text": "Hi", "tools": 7}"#,
        ]
        .map(|row| row.replace("\n", " "));
        let made = of(&rows.join("\n"));
        insta::assert_snapshot!(made.text, @r#"
        # Outputs recorded in r.jsonl. A message is what was read of its output then: check each once.
        template: t.json

        === prefix
        <bot>
        === case a
        === output
        Hi<end>
        === message
        {
          "content": "Hi"
        }

        === case c
        === output
        <call>{oops</call>
        === message
        {}
        === error
        malformed tool_calls: not JSON: expected a key in double quotes, at "oops"
        === problems
        malformed tool_calls

        === case e f
        === prefix
        <sys><bot>
        === output
        \=== Yo
        === message
        {
          "content": "No"
        }
        "#);
        assert_eq!((made.cases, made.failing, made.incomplete, made.repeated, made.broken.len()), (3, 1, 2, 1, 2));
    }
}
