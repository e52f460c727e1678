//! Where a field's transform takes the name and the arguments of a call from.

use crate::template::{Field, Placeholder, Shape, Transform};

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
