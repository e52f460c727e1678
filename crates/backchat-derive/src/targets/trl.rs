//! TRL: it parses with transformers and then needs a list of calls. If anything fails, the whole output becomes
//! content.

use super::{Caution, Reader, TOOL_CALLS};
use backchat_core::json::Path;
use backchat_parser::template::Template;

pub(super) fn cautions(template: &Template) -> Vec<Caution> {
    let Some(field) = template.field(TOOL_CALLS) else { return Vec::new() };
    let path = Path::root().key("fields").key(TOOL_CALLS);
    let each = field.transform.as_ref().is_some_and(|transform| transform.each);
    let caution = |place, effect: &str, help| vec![Caution::new(Reader::Trl, place, effect, help)];
    match (field.repeats, each) {
        (true, true) => caution(
            path.key("transform_each"),
            "`tool_calls` becomes a list of lists, so the whole output becomes content",
            "use `repeats` for one call per region, or `transform_each` for a region that holds the list",
        ),
        (false, false) => caution(
            path,
            "`tool_calls` is not a list, so the whole output becomes content",
            "add `\"repeats\": true`, or `transform_each` if the region holds a list of calls",
        ),
        _ => Vec::new(),
    }
}
