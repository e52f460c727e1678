//! The form of a field's calls, for recovery from deviations.

use std::sync::OnceLock;

use super::call_paths::CallPaths;
use super::tag_head::TagHead;
use crate::template::{ContentSpec, Field};

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
        let ContentSpec::XmlInline(args) = &field.content else { return None };
        self.head.get_or_init(|| TagHead::new(args)).as_ref()
    }
}
