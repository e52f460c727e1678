//! Downloads: a fixture, and the patch of a `tokenizer_config.json`.

use backchat::json::{self, Value};
use backchat::parser;
use backchat_parser::template::source;
use backchat_workbench::check::fixture;

use crate::inspection::FILE;
use crate::request::tools;

pub fn fixture(template_text: &str, prefix: &str, output: &str, tools_text: Option<&str>) -> Option<String> {
    let template = source::from_text(FILE.to_owned(), template_text.to_owned()).ok()?.loaded.template;
    let read = parser::parse(&template, prefix, output, tools(tools_text)).ok()?;
    let tools = tools_text.and_then(|text| json::read(text).ok());
    Some(fixture::write_case(FILE, prefix, tools.as_ref(), output, &read.message))
}

pub fn patch(template_text: &str) -> Option<String> {
    let template = source::from_text(FILE.to_owned(), template_text.to_owned()).ok()?.loaded.template;
    Some(Value::from([("response_template", template.to_value())]).to_pretty("  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_workbench::check::fixture::{Shared, read_text};

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;

    #[test]
    fn a_fixture_round_trips() {
        let text = fixture(TEMPLATE, "<user>Hi\n<bot>", "Hello\n=== \n<end>", None).unwrap();
        let file = read_text("a.fixture", text, &Shared::default());
        let case = file.cases[0].as_ref().unwrap();
        assert_eq!(case.output, "Hello\n=== \n<end>");
        assert_eq!(case.prefix, "<user>Hi\n<bot>");
    }

    #[test]
    fn a_patch_has_the_template_under_its_key() {
        let patched = patch(TEMPLATE).unwrap();
        let opened = source::from_text("tokenizer_config.json".to_owned(), patched).unwrap();
        assert_eq!(opened.loaded.template.fields().len(), 1);
        assert_eq!(patch("{"), None);
    }
}
