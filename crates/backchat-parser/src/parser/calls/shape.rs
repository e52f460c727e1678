//! The paths of a call's parts in a region, taken from the field's transform.

use crate::template::{ContentSpec, Field, Placeholder, Shape};

/// Where a part of a call comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSource {
    /// A named group of the open pattern.
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
        let transform = field.transform.as_ref()?;
        let each = transform.each;
        let Shape::Object(call) = &transform.shape else { return None };
        let part = |shape: &Shape| match shape {
            Shape::Placeholder(placeholder) => Some(part_of(placeholder, each)),
            _ => None,
        };
        let (name, arguments) = match call.get("function")? {
            Shape::Object(function) => (part(function.get("name")?)?, part(function.get("arguments")?)?),
            // The wire has a whole function; its keys are those of the call.
            Shape::Placeholder(placeholder) => {
                let CallSource::Path(path) = part_of(placeholder, each) else { return None };
                let below = |key: &str| CallSource::Path(path.iter().cloned().chain([key.to_owned()]).collect());
                (below("name"), below("arguments"))
            }
            _ => return None,
        };
        let CallSource::Path(arguments) = arguments else { return None };
        let is_readable = match &field.content {
            ContentSpec::Json(args) => !args.allow_non_json && !args.unquoted_keys && args.string_delims.is_empty(),
            ContentSpec::XmlInline(args) => {
                !args.merge_duplicates && !each && arguments.is_empty() && matches!(name, CallSource::Capture(_))
            }
            _ => false,
        };
        is_readable.then(|| Self { name, id: call.get("id").and_then(part), arguments, each })
    }
}

fn part_of(placeholder: &Placeholder, each: bool) -> CallSource {
    match (each, placeholder.name.as_str()) {
        (false, "content") => CallSource::Path(placeholder.keys.clone()),
        (false, name) => CallSource::Capture(name.to_owned()),
        // An element's keys come before the captures; only the element shows which of the two it is.
        (true, name) => {
            CallSource::Path([name.to_owned()].into_iter().chain(placeholder.keys.iter().cloned()).collect())
        }
    }
}
