//! The paths of a call's parts in a region, taken from the field's transform.

use crate::content::recovery::{CallPaths, path_of};
use crate::template::{Field, JsonArgs, Shape};

/// The source of a part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSource {
    /// A named group of the open pattern, which the close pattern does not have.
    Capture(String),
    /// Keys to go down from the region's value, or from each element of it.
    Path(Vec<String>),
}

/// The calls of a region.
#[derive(Clone, Debug)]
pub(in crate::parser) struct CallShape {
    pub(super) name: CallSource,
    pub(super) id: Option<CallSource>,
    /// Keys to go down to the arguments.
    pub(super) arguments: Vec<String>,
    /// Whether the region is a list of calls.
    pub(super) each: bool,
}

impl CallShape {
    /// The calls that regions of the field give, if their parts can be reported before the region is whole: the body is
    /// plain JSON or tagged values, and the transform puts a name and arguments under `function`.
    pub fn find(field: &Field) -> Option<Self> {
        let (paths, transform) = (CallPaths::find(field)?, field.transform.as_ref()?);
        let Shape::Object(call) = &transform.shape else { return None };
        let closing: Vec<&str> = field.close.iter().flat_map(|close| close.pattern().names()).collect();
        let source = |shape: &Shape| match (path_of(shape, transform), shape) {
            (Some(path), _) => Some(CallSource::Path(path)),
            // What the close captures, or may replace, is not known before.
            (None, Shape::Placeholder(capture)) if closing.contains(&capture.name.as_str()) => None,
            (None, Shape::Placeholder(capture)) => Some(CallSource::Capture(capture.name.clone())),
            _ => None,
        };
        let name = match (paths.name, call.get("function")?) {
            (Some(path), _) => CallSource::Path(path),
            (None, Shape::Object(function)) => source(function.get("name")?)?,
            _ => return None,
        };
        let (arguments, each) = (paths.arguments?, paths.each);
        let is_json = field.content.json().is_some_and(JsonArgs::is_plain) || field.content.is_call_list();
        let is_tagged = field.content.tags().is_some_and(|args| !args.merge_duplicates)
            && !each
            && arguments.is_empty()
            && matches!(name, CallSource::Capture(_));
        (is_json || is_tagged).then(|| Self { name, id: call.get("id").and_then(source), arguments, each })
    }
}
