//! How the parser reads the parts of a call: an argument's text, by its value parser and the types of the tools, and names.

use std::sync::Arc;

use crate::markers::CALLS;
use backchat_core::json::Value;
use backchat_parser::content::{self, Mode, coerce};
use backchat_parser::parser::Tools;
use backchat_parser::template::{ContentSpec, Template};

/// Reads the text of arguments as the parser does.
#[derive(Clone, Debug)]
pub(crate) struct Reads {
    /// Values are text if there is none.
    parser: Option<Arc<ContentSpec>>,
    /// The parser of lists of Python calls, if the template reads calls with it.
    call_list: Option<ContentSpec>,
    tools: Tools,
}

impl Reads {
    /// Reads as the calls of a template, for the tools of a request.
    pub fn new(template: &Template, tools: &Value) -> Self {
        let content = template.field(CALLS).map(|field| &field.content);
        let parser = content.and_then(|content| content.value_parser().cloned());
        let call_list = content.filter(|content| content.is_call_list()).cloned();
        Self { parser, call_list, tools: Tools::new(tools).unwrap_or_default() }
    }

    /// Whether calls are read as a list of Python's, whose strings, numbers and names are limited.
    pub fn is_call_list(&self) -> bool {
        self.call_list.is_some()
    }

    /// Whether a tool or an argument with this name is read.
    pub fn takes_name(&self, name: &str) -> bool {
        !self.is_call_list() || content::is_call_name(name)
    }

    /// Whether an argument's text is read as this value.
    pub fn is(&self, tool: &str, argument: &str, text: &str, value: &Value) -> bool {
        let read = match (&self.call_list, &self.parser) {
            (Some(calls), _) => content::value(calls, &format!("[f(a={text})]"), Mode::Stable).map(only_argument),
            (None, None) => Ok(text.into()),
            (None, Some(parser)) => content::value(parser, text, Mode::Stable),
        };
        let Ok(mut read) = read else { return false };
        coerce::cast_argument_of(&self.tools, tool, argument, &mut read, Mode::Stable).is_ok() && read == *value
    }
}

/// The argument `a` of the first call of a list.
fn only_argument(calls: Value) -> Value {
    let Value::List(calls) = calls else { return Value::Null };
    let argument = calls.first().and_then(|call| call.get("arguments")?.get("a"));
    argument.cloned().unwrap_or_default()
}
