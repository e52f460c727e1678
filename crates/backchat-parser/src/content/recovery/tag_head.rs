//! The part of a tag up to its value, which locates the next tag if one lacks its closer.

use std::ops::Range;

use crate::content::Reason;
use crate::pattern::{Pattern, PatternPart, source_of};
use crate::template::XmlInlineArgs;

/// The part of a tag up to its value.
#[derive(Clone, Debug)]
pub(super) struct TagHead {
    pattern: Pattern,
}

impl TagHead {
    pub fn new(args: &XmlInlineArgs) -> Option<Self> {
        let parts = args.tag_pattern.outline();
        let is_value =
            |part: &PatternPart| matches!(part, PatternPart::Group { name: Some(name), .. } if name == "value");
        let before = parts.get(..parts.iter().position(is_value)?)?;
        let source = source_of(before, &|_, name| name.map(str::to_owned))?;
        let pattern = Pattern::new(&source).ok().filter(|pattern| !pattern.can_be_empty())?;
        let has_key = pattern.names().any(|name| name == "key");
        has_key.then_some(Self { pattern })
    }

    /// The heads in a text, with their keys.
    pub fn heads<'t>(&self, text: &'t str) -> Result<Vec<(&'t str, Range<usize>)>, Reason> {
        let mut heads = Vec::new();
        for found in self.pattern.matches(text) {
            let found = found.map_err(|error| Reason::Pattern(error.to_string()))?;
            let (start, end) = found.span();
            heads.extend(found.name("key").map(|key| (key, start..end)));
        }
        Ok(heads)
    }
}
