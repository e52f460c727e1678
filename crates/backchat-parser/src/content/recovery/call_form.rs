//! How the calls of a field are written, as far as it is needed where they are not written so.

use std::sync::OnceLock;

use super::call_paths::CallPaths;
use super::tag_head::TagHead;
use crate::template::{ContentSpec, Field};

/// What a field says about its calls, worked out once for all of them.
#[derive(Clone, Debug)]
pub(crate) struct CallForm {
    /// Where the parts of a call are.
    pub paths: Option<CallPaths>,
    /// The beginning of a tag; made for the first body that needs it, as few do and its pattern is to be compiled.
    head: OnceLock<Option<TagHead>>,
}

impl CallForm {
    /// The form of the calls that regions of a field give.
    pub fn of(field: &Field) -> Self {
        Self { paths: CallPaths::of(field), head: OnceLock::new() }
    }

    pub(super) fn head(&self, field: &Field) -> Option<&TagHead> {
        let ContentSpec::XmlInline(args) = &field.content else { return None };
        self.head.get_or_init(|| TagHead::of(args)).as_ref()
    }
}
