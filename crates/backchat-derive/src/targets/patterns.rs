//! The patterns of a template, with the role of each.

use super::{Role, field_path};
use backchat_core::json::Path;
use backchat_parser::template::{Delimiter, Template};

/// Every pattern (not literals), with its path and role.
pub(crate) fn patterns(template: &Template) -> Vec<(Path, String, Role)> {
    let mut patterns = Vec::new();
    if let Delimiter::Pattern(pattern) = template.start_anchor() {
        patterns.push((Path::root().key("start_anchor_pattern"), pattern.source().to_owned(), Role::Anchor));
    }
    for field in template.fields() {
        let path = field_path(&field.name);
        for (key, delimiter) in [("open_pattern", &field.open), ("close_pattern", &field.close)] {
            if let Some(Delimiter::Pattern(pattern)) = delimiter {
                patterns.push((path.key(key), pattern.source().to_owned(), Role::Delimiter));
            }
        }
        if let Some(args) = field.content.tags() {
            let place = path.key("content_args").key("tag_pattern");
            patterns.push((place, args.tag_pattern.source().to_owned(), Role::Tag));
        }
    }
    patterns
}
