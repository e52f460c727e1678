//! The markers of a model's turns, which free text must not contain and servers must not strip.

mod free_texts;
mod preserved;
mod turn_marks;

use backchat_derive::wire::structure::WireFormat;
use backchat_derive::wire::written::Written;
use backchat_derive::wire::{Wire, structure_of, written_of};
use backchat_parser::template::Template;

pub(crate) use free_texts::FreeTexts;
pub(crate) use preserved::preserved;
pub(crate) use turn_marks::{Begun, begun, first_unique_mark};

/// The field that holds calls.
pub(crate) const CALLS: &str = "tool_calls";

/// A model as its grammars see it: what it writes, what reads that, and which texts neither leaves free.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub template: Template,
    pub wire: Wire,
    pub free_texts: FreeTexts,
}

impl Model {
    pub fn new(template: Template, wire: Wire) -> Self {
        let free_texts = free_texts::free_texts(&template, structure_of(&wire), written_of(&wire));
        Self { template, wire, free_texts }
    }

    pub fn structure(&self) -> &WireFormat {
        structure_of(&self.wire)
    }

    pub fn written(&self) -> &Written {
        written_of(&self.wire)
    }
}
