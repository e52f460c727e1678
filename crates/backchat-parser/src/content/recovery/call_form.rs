//! The form of a field's calls: where the transform takes their parts from, and where a tag's value begins.

use std::ops::Range;
use std::sync::OnceLock;

use crate::content::Reason;
use crate::pattern::{Pattern, PatternPart, source_of};
use crate::template::{Field, Placeholder, Shape, TagArgs, Transform};

/// The form of a field's calls, computed once.
#[derive(Clone, Debug)]
pub(crate) struct CallForm {
    /// Where the parts of a call are.
    pub paths: Option<CallPaths>,
    /// The beginning of a tag; compiled lazily, because few bodies need it.
    head: OnceLock<Option<TagHead>>,
}

impl CallForm {
    /// The form of the calls that regions of a field give.
    pub fn new(field: &Field) -> Self {
        Self { paths: CallPaths::find(field), head: OnceLock::new() }
    }

    pub(super) fn head(&self, field: &Field) -> Option<&TagHead> {
        let args = field.content.tags()?;
        self.head.get_or_init(|| TagHead::new(args)).as_ref()
    }
}

/// The keys that lead to the parts of a call in the value of a region, or in each of its elements. A part that is not
/// in the value, as the opening holds it, has no keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallPaths {
    pub name: Option<Vec<String>>,
    pub arguments: Option<Vec<String>>,
    /// Whether the value is a list of calls.
    pub each: bool,
}

impl CallPaths {
    /// The paths of the calls that regions of a field give, if its transform says where they are.
    pub fn find(field: &Field) -> Option<Self> {
        let transform = field.transform.as_ref()?;
        let Shape::Object(call) = &transform.shape else { return None };
        let below = |path: &[String], key: &str| Some(path.iter().cloned().chain([key.to_owned()]).collect());
        let (name, arguments) = match call.get("function")? {
            Shape::Object(function) => {
                let path = |key| function.get(key).and_then(|shape| path_of(shape, transform));
                (path("name"), path("arguments"))
            }
            shape @ Shape::Placeholder(_) => {
                let path = path_of(shape, transform)?;
                (below(&path, "name"), below(&path, "arguments"))
            }
            _ => return None,
        };
        Some(Self { name, arguments, each: transform.each })
    }
}

/// The keys that lead to a part of the value; `None` for what is not a part of it.
pub(crate) fn path_of(shape: &Shape, transform: &Transform) -> Option<Vec<String>> {
    let Shape::Placeholder(Placeholder { name, keys }) = shape else { return None };
    match (transform.each, name.as_str()) {
        (false, "content") => Some(keys.clone()),
        (false, _) => None,
        // An element may have any key that is not a capture; only the element shows which.
        (true, name) => Some([name.to_owned()].into_iter().chain(keys.iter().cloned()).collect()),
    }
}

/// The part of a tag up to its value, which locates the next tag if one lacks its closer.
#[derive(Clone, Debug)]
pub(super) struct TagHead {
    pattern: Pattern,
}

impl TagHead {
    pub fn new(args: &TagArgs) -> Option<Self> {
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
