//! Recorded outputs of a model as a file of cases.

use std::collections::HashSet;

use crate::check::fixture::write_sections;
use crate::check::{TRUNCATION_IS_KNOWN, errors_of_cases, failing};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{Explained, Sample};
use backchat_parser::parser::{self, Tools};
use backchat_parser::template::Template;

/// A file of recorded outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its text.
    pub text: String,
    /// How many of its cases fail.
    pub failing: usize,
}

/// A case for each sample. A sample that the template explains, or that has no message, gets the parsed message; any
/// other keeps its own message, so that the case fails until one of the two is corrected. If a prefix of an output
/// parses as another call, as the format itself implies, the file marks this as known.
///
/// `prefix` is the prompt of samples that come without one.
pub fn recorded(
    samples: &[Sample],
    template: &Template,
    explained: &Explained,
    prefix: &str,
    config: &str,
) -> Recorded {
    let cases = cases(samples, template, explained, prefix);
    let file = |known: &str| format!("# Outputs that the model wrote.\ntemplate: {config}\n{known}{cases}");
    let errors = |text: &str| errors_of_cases("", text.to_owned(), template, None);
    let plain = file("");
    let found = errors(&plain);
    if !found.iter().any(|errors| errors.contains(&"check-truncated")) {
        return Recorded { text: plain, failing: failing(&found) };
    }
    let text = file(TRUNCATION_IS_KNOWN);
    let failing = failing(&errors(&text));
    Recorded { text, failing }
}

fn cases(samples: &[Sample], template: &Template, explained: &Explained, prefix: &str) -> String {
    let mut text = String::new();
    let mut names = HashSet::new();
    for (index, sample) in samples.iter().enumerate() {
        let plain = sample.name.replace(['\n', '\r', '#'], " ").trim().to_owned();
        let name = match plain.is_empty() || !names.insert(plain.clone()) {
            true => format!("{plain} {}", index + 1).trim().to_owned(),
            false => plain,
        };
        let prefix = sample.prefix.as_deref().unwrap_or(prefix);
        let tools = sample.tools.as_ref().and_then(|tools| Tools::new(tools).ok()).map(std::sync::Arc::new);
        let read = parser::parse(template, prefix, &sample.text, tools).map(|read| read.message);
        let departs = explained.departures.iter().any(|departure| departure.sample == sample.name);
        let message = match sample.message.as_ref().and_then(Value::as_object).filter(|_| departs) {
            Some(message) => message.clone(),
            None => read.unwrap_or_else(|_| Object::new()),
        };
        text += &format!("\n=== case {name}\n");
        text += &write_sections(prefix, sample.tools.as_ref(), &sample.text, &message);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::{Shared, read_text};

    #[test]
    fn each_sample_is_a_case() {
        let text = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
        let template = Template::load(text).unwrap().template;
        let samples =
            [Sample::new("one", "Hi\n=== \n<end>"), Sample::new("one", "Ho<end>").prefix("<user>a\n<bot>".to_owned())];
        let made = recorded(&samples, &template, &Explained::default(), "<bot>", "../tokenizer_config.json");
        assert_eq!(made.failing, 0);
        let file = read_text("a.fixture", made.text, &Shared::default());
        let cases: Vec<_> = file.cases.iter().map(|case| case.as_ref().unwrap()).collect();
        let shown = |case: &crate::check::fixture::Case| (case.name.clone(), case.prefix.clone(), case.output.clone());
        assert_eq!(shown(cases[0]), ("one".into(), "<bot>".into(), "Hi\n=== \n<end>".into()));
        assert_eq!(shown(cases[1]), ("one 2".into(), "<user>a\n<bot>".into(), "Ho<end>".into()));
    }

    #[test]
    fn outputs_whose_beginnings_read_as_other_calls_say_so() {
        let text = r#"{"start_anchor": "<bot>", "fields": {
            "tool_calls": {"open_pattern": "<call (?P<name>\\w+)", "close": "</call>", "repeats": true,
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}"#;
        let template = Template::load(text).unwrap().template;
        let samples = [Sample::new("one", "<call add>1</call>")];
        let made = recorded(&samples, &template, &Explained::default(), "<bot>", "../tokenizer_config.json");
        assert!(made.text.contains("\nallow: check-truncated\n"), "{}", made.text);
        assert_eq!(made.failing, 0);
    }
}
