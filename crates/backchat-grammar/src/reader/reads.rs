//! How the parser reads the parts of a call: an argument's text, by its value parser and the types of the tools, and names.

use super::assumed::{Hole, hole};
use crate::markers::CALLS;
use backchat_core::json::Value;
use backchat_parser::content::{self, Mode, coerce};
use backchat_parser::parser::Tools;
use backchat_parser::template::{Delimiter, Field, Template};

/// Reads the parts of calls as the parser does.
#[derive(Clone, Debug)]
pub(crate) struct Reads<'t> {
    /// The field of calls, if the template has one.
    field: Option<&'t Field>,
    tools: Tools,
}

impl<'t> Reads<'t> {
    /// Reads as the calls of a template, for the tools of a request.
    pub fn new(template: &'t Template, tools: &Value) -> Self {
        Self { field: template.field(CALLS), tools: Tools::new(tools).unwrap_or_default() }
    }

    /// Whether calls are read as a list of Python's, whose strings, numbers and names are limited.
    pub fn is_call_list(&self) -> bool {
        self.field.is_some_and(|field| field.content.is_call_list())
    }

    /// Whether a tool's name is read back from the text of a call up to its arguments.
    pub fn takes_tool(&self, name: &str, opening: &str) -> bool {
        if self.is_call_list() {
            return content::is_call_name(name);
        }
        let Some(Hole::Capture(group)) = self.hole("name") else { return true };
        let open = self.field.and_then(|field| field.open.as_ref()).map(Delimiter::pattern);
        let Some(open) = open.filter(|open| open.names().any(|own| own == group)) else { return true };
        let found = open.find_at(opening, 0).ok().flatten();
        found.is_some_and(|found| found.name(&group) == Some(name))
    }

    /// Whether an argument's name is read back from the text of a call's arguments, which has no other.
    pub fn takes_argument(&self, name: &str, text: &str) -> bool {
        if self.is_call_list() {
            return content::is_call_name(name);
        }
        let read = self.arguments(text);
        read.is_some_and(|read| read.as_object().is_some_and(|read| read.keys().eq([name])))
    }

    /// Whether the parser closes a call inside this text.
    pub fn closes_in(&self, arguments: &str) -> bool {
        let close = self.field.and_then(|field| field.close.as_ref()).map(Delimiter::pattern);
        let found = close.and_then(|close| close.find_at(arguments, 0).ok().flatten());
        found.is_some_and(|found| !found.text().is_empty())
    }

    /// Whether an argument's text is read as this value.
    pub fn is(&self, tool: &str, argument: &str, text: &str, value: &Value) -> bool {
        let parser = self.field.and_then(|field| field.content.value_parser());
        let read = match parser {
            _ if self.is_call_list() => self.arguments(&format!("a={text}")).and_then(|read| read.get("a").cloned()),
            None => Some(text.into()),
            Some(parser) => content::value(parser, text, Mode::Stable).ok(),
        };
        let Some(mut read) = read else { return false };
        coerce::cast_argument_of(&self.tools, tool, argument, &mut read, Mode::Stable).is_ok() && read == *value
    }

    /// The arguments of a call that are written as this text, without the parentheses of a list of calls.
    pub fn arguments(&self, text: &str) -> Option<Value> {
        let content = &self.field?.content;
        if self.is_call_list() {
            let calls = content::value(content, &format!("[f({text})]"), Mode::Stable).ok()?;
            return calls.as_list()?.first()?.get("arguments").cloned();
        }
        let Hole::Content(path) = self.hole("arguments")? else { return None };
        let read = content::value(content, text, Mode::Stable).ok()?;
        path.iter().try_fold(&read, |value, key| value.get(key)).cloned()
    }

    /// Where a part of the function comes from.
    fn hole(&self, part: &str) -> Option<Hole> {
        let Some(transform) = &self.field?.transform else {
            return Some(Hole::Content(vec!["function".to_owned(), part.to_owned()]));
        };
        hole(&transform.shape, &["function", part], transform.each)
    }
}
