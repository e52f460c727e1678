//! Recorded outputs of a model as a file of cases.

use std::collections::HashSet;

use crate::check::fixture::write_sections;
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{Explained, Sample};
use backchat_parser::parser::{self, Tools};
use backchat_parser::template::Template;

/// A case for each sample. The message of a sample that the template explains, or that has none, is the one that is
/// read; any other keeps the message that came with it, so that the case fails until one of the two is right.
///
/// `prefix` is the prompt of samples that come without one.
pub fn recorded(samples: &[Sample], template: &Template, explained: &Explained, prefix: &str, config: &str) -> String {
    let mut text = format!("# Outputs that the model wrote.\ntemplate: {config}\n");
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
        let text = recorded(&samples, &template, &Explained::default(), "<bot>", "../tokenizer_config.json");
        let file = read_text("a.fixture", text, &Shared::default());
        let cases: Vec<_> = file.cases.iter().map(|case| case.as_ref().unwrap()).collect();
        let shown = |case: &crate::check::fixture::Case| (case.name.clone(), case.prefix.clone(), case.output.clone());
        assert_eq!(shown(cases[0]), ("one".into(), "<bot>".into(), "Hi\n=== \n<end>".into()));
        assert_eq!(shown(cases[1]), ("one 2".into(), "<user>a\n<bot>".into(), "Ho<end>".into()));
    }
}
