//! The response schema that is linted, with its nodes, its patterns and the places of its values.

use crate::schema::source::OpenedSchema;
use crate::schema::{Node, Schema};
use backchat_core::diagnostic::Place;
use backchat_core::json::Path;
use backchat_parser::pattern::{Pattern, PatternPart};

pub(super) struct Subject<'s> {
    pub opened: &'s OpenedSchema,
}

impl<'s> Subject<'s> {
    /// A schema with the file it was read from.
    pub fn new(opened: &'s OpenedSchema) -> Self {
        Self { opened }
    }

    pub fn schema(&self) -> &'s Schema {
        &self.opened.loaded.schema
    }

    /// The text of its file. An opened schema always has it among its sources.
    pub fn text(&self) -> &'s str {
        let text = self.opened.sources.text(Some(&self.opened.file));
        debug_assert!(text.is_some(), "an opened schema holds its text");
        text.unwrap_or("")
    }

    pub fn place(&self, path: &Path) -> Place {
        let text = self.text();
        let span = self.opened.places.at(path).map_or(0..0, |places| places.value.clone());
        Place::span(text, span).in_file(&self.opened.file).path(path.below(&self.opened.path).to_string())
    }

    pub fn nodes(&self) -> Vec<&'s Node> {
        let mut nodes = Vec::new();
        self.schema().root().walk(&mut |node| nodes.push(node));
        nodes
    }

    /// Each pattern that compiles, with its node and its key.
    pub fn patterns(&self) -> Vec<(&'s Node, &'static str, &'s Pattern)> {
        let keyed = |node: &'s Node| {
            let keys = [
                ("x-regex", &node.regex),
                ("x-regex-iterator", &node.iterator),
                ("x-regex-key-value", &node.key_value),
            ];
            keys.into_iter().filter_map(move |(key, regex)| Some((node, key, regex.as_ref()?.pattern.as_ref().ok()?)))
        };
        self.nodes().into_iter().flat_map(keyed).collect()
    }
}

/// Whether a pattern takes any literal text but white space.
pub(super) fn has_text(parts: &[PatternPart]) -> bool {
    parts.iter().any(|part| match part {
        PatternPart::Text(text) => !text.trim().is_empty(),
        PatternPart::Group { parts, .. } | PatternPart::Maybe(parts) | PatternPart::Many(parts) => has_text(parts),
        PatternPart::Either(branches) => branches.iter().any(|branch| has_text(branch)),
        _ => false,
    })
}
