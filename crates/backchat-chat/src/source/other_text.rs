//! Recognizes texts that are given for a chat template by mistake, and says where a chat template may be found.

use std::path::Path;

use super::SourceError;
use backchat_core::diagnostic::{OUTPUTS_ALONE, has_jinja, is_page, is_rows};

/// What a text is that contains no chat template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherText {
    Empty,
    Page,
    Rows,
    Plain,
}

impl OtherText {
    fn of(text: &str, is_template: bool) -> Option<Self> {
        if text.trim().is_empty() {
            Some(Self::Empty)
        } else if is_page(text) {
            Some(Self::Page)
        } else if is_rows(text) {
            Some(Self::Rows)
        } else {
            // A template without any Jinja prints the same text for every conversation.
            (!is_template && !has_jinja(text)).then_some(Self::Plain)
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Empty => "the file is empty",
            Self::Page => "this is an HTML page, not a chat template",
            Self::Rows => "this is a JSON Lines file, not a chat template",
            Self::Plain => "this is text without any Jinja, such as the output of a model, not a chat template",
        }
    }

    fn help(self) -> String {
        match self {
            Self::Empty => "check that the download is complete".to_owned(),
            Self::Page => "download the raw file, not the page that shows it".to_owned(),
            Self::Rows => {
                format!("{OUTPUTS_ALONE}. Rows with a chat template each: `backchat derive --jsonl FILE`")
            }
            Self::Plain => format!("{OUTPUTS_ALONE}. `backchat convert` makes one of a response schema"),
        }
    }
}

/// Refuses a text that cannot be a chat template. `is_config`: it looks like a configuration with one, which has errors of
/// its own if the template is missing. A file that is named as a template may lack Jinja: it prints the same text for every
/// conversation.
pub(super) fn refuse(file: &str, text: &str, is_config: bool) -> Result<(), SourceError> {
    let is_named = Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jinja"));
    match OtherText::of(text, is_config || is_named) {
        Some(other) => Err(SourceError::about(file, "no-chat-template", other.message(), other.help())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_chat_template() {
        let cases = [
            ("", Some(OtherText::Empty)),
            (" \n", Some(OtherText::Empty)),
            ("<!DOCTYPE html>\n<p>{{ messages }}</p>", Some(OtherText::Page)),
            ("\n<HTML lang=en>", Some(OtherText::Page)),
            ("{\"text\": \"a\"}\n\n{\"text\": \"b\"}\n", Some(OtherText::Rows)),
            ("<think>Hm.</think>Hello<|end|>", Some(OtherText::Plain)),
            ("{{ messages }}", None),
            ("<html>", Some(OtherText::Page)),
            ("<htm{% if x %}l{% endif %}>", None),
            ("{# nothing #}", None),
            // An object on one line is a configuration.
            ("{\"eos_token\": \"</s>\"}\n", None),
        ];
        for (text, other) in cases {
            assert_eq!(OtherText::of(text, text.starts_with("{\"")), other, "{text:?}");
        }
    }

    #[test]
    fn a_file_named_as_a_template_needs_no_jinja() {
        assert!(refuse("constant.jinja", "Hello", false).is_ok());
        assert!(refuse("output.txt", "Hello", false).is_err());
        assert!(refuse("empty.jinja", "", false).is_err());
    }
}
