//! Incremental tagged values: each becomes an entry of the arguments once no continuation can change its tag.

use crate::content::coerce::{Tools, cast_argument_of};
use crate::content::{Mode, Reason, tagged_value};
use crate::parser::part::part;
use crate::pattern::{Search, SearchResult};
use crate::template::TagArgs;
use backchat_core::json::{Object, Value};

/// The search for tags in a body that grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Tags {
    search: Search,
    has_entries: bool,
}

impl Tags {
    /// Appends the entries of newly completed tags to the text of the arguments.
    pub fn read(
        &mut self,
        args: &TagArgs,
        body: &str,
        name: Option<&str>,
        tools: Option<&Tools>,
        text: &mut String,
    ) -> Result<(), Reason> {
        let pattern = &args.tag_pattern;
        let group = |search: &Search, name: &str| {
            let (_, index) = pattern
                .named_groups()
                .iter()
                .find(|(other, index)| &**other == name && search.group(*index as usize).is_some())?;
            let (start, end) = search.group(*index as usize)?;
            body.get(start..end)
        };
        loop {
            let found = self.search.resume(pattern, body, 0, false);
            let SearchResult::Match { start, end } = found.map_err(|error| Reason::Pattern(error.to_string()))? else {
                return Ok(());
            };
            // A pattern without the group gives empty values.
            let has_value = pattern.names().any(|name| name == "value");
            let text_of_value = if has_value { group(&self.search, "value") } else { Some("") };
            let (key, mut value) = tagged_value(args, group(&self.search, "key"), text_of_value, Mode::Stable)?;
            if let (Some(tools), Some(name)) = (tools, name) {
                cast_argument_of(tools, name, key, &mut value, Mode::Stable)?;
            }
            text.push_str(if self.has_entries { ", " } else { "{" });
            let entry = Value::Object(Object::from([(key.to_owned(), value)])).to_string();
            text.push_str(part(&entry, 1..entry.len() - 1));
            self.has_entries = true;
            self.search.begin(pattern, end, start == end);
        }
    }
}
