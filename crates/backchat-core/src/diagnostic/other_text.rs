//! Recognizes texts that are given for a template by mistake, and says what to do with outputs that have no template.

use crate::json::{self, Value};

/// What to do with outputs alone: they do not show where a turn begins and ends.
pub const OUTPUTS_ALONE: &str = "outputs are read with the template of their model. Its chat template is its chat_template.jinja, the key \
     `chat_template` of its tokenizer_config.json, or in its .gguf file: `backchat derive SOURCE --samples FILE` makes a \
     response template. If the model has none, write a chat template that prints the markers of the outputs \
     (docs/troubleshooting.md, \"You only have outputs\"), and pass it as SOURCE, or write a response template by hand: \
     `backchat schema` describes the format, and `backchat replay TEMPLATE OUTPUT` shows how it reads an output";

/// Whether a text is an HTML page, as a download may be.
pub fn is_page(text: &str) -> bool {
    let start = text.trim_start();
    ["<!doctype html", "<html"]
        .iter()
        .any(|tag| start.get(..tag.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(tag)))
}

/// Whether a text begins with two lines that are an object each. A single one may be a configuration.
pub fn is_rows(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut is_row = || {
        let line = lines.next().filter(|line| line.starts_with('{'));
        line.is_some_and(|line| matches!(json::read(line), Ok(Value::Object(_))))
    };
    is_row() && is_row()
}

/// Whether a text has tags of Jinja.
pub fn has_jinja(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|tag| text.contains(tag))
}
