//! How the parser reads an argument's text: with its value parser, then by the types of the tools.

use std::sync::Arc;

use super::marks::CALLS;
use backchat_core::json::Value;
use backchat_parser::content::{self, Mode, coerce};
use backchat_parser::parser::Tools;
use backchat_parser::template::{ContentSpec, Template};

/// Reads the text of arguments as the parser does.
#[derive(Clone, Debug)]
pub(crate) struct Reads {
    /// Values are text if there is none.
    parser: Option<Arc<ContentSpec>>,
    tools: Tools,
}

impl Reads {
    /// Reads as the calls of a template, for the tools of a request.
    pub fn new(template: &Template, tools: &Value) -> Self {
        let parser = template.field(CALLS).and_then(|field| match &field.content {
            ContentSpec::XmlInline(args) => args.value_parser.clone(),
            ContentSpec::KvLines(args) => args.value_parser.clone(),
            _ => None,
        });
        Self { parser, tools: Tools::new(tools).unwrap_or_default() }
    }

    /// Whether an argument's text is read as this value.
    pub fn is(&self, tool: &str, argument: &str, text: &str, value: &Value) -> bool {
        let read = match &self.parser {
            None => Ok(text.into()),
            Some(parser) => content::value(parser, text, Mode::Stable),
        };
        let Ok(mut read) = read else { return false };
        coerce::cast_argument_of(&self.tools, tool, argument, &mut read, Mode::Stable).is_ok() && read == *value
    }
}
