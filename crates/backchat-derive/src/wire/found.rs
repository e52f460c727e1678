//! The wire of a chat template, as other rooms use it.

use super::infer;
use super::structure;
use super::turn::Turns;
use super::written::{self, Written};
use backchat_probe::probe::Prober;
use backchat_probe::probe::steady::Varying;

impl structure::WireFormat {
    /// The prober that passes conversations as this format needs it, offering tools that none of them calls.
    pub(crate) fn prober<'t>(&self, prober: &Prober<'t>) -> Prober<'t> {
        let input = self.reasoning.as_ref().and_then(structure::Reasoning::first_input);
        let tools = infer::other_tools(self.request_shape);
        prober.with_shape(self.request_shape).with_reasoning(input).offering(Some(tools))
    }

    pub(super) fn turns<'p, 't>(&'p self, prober: &'p Prober<'t>) -> Turns<'p, 't> {
        Turns { prober, segmentation: self.segmentation, trailing: &self.trailing }
    }
}

/// How a chat template writes conversations: found once per model, shared by any number of requests.
#[derive(Clone, Debug)]
pub struct Wire {
    structure: structure::WireFormat,
    written: Written,
    varying: Varying,
    is_assumed: bool,
}

impl Wire {
    /// The wire of a structure that was inferred with this prober and these placeholders for varying text.
    pub(crate) fn new(prober: &Prober, structure: structure::WireFormat, varying: Varying) -> Self {
        let written = written::find(&prober.steady(&varying), &structure);
        Self { structure, written, varying, is_assumed: false }
    }

    /// Whether it is the plainest wire, assumed without a chat template.
    pub fn is_assumed(&self) -> bool {
        self.is_assumed
    }
}

// The parts of a wire, for grammars. The facade does not export these: to users of the library, a wire is opaque.

/// The parts of a turn, and the marks around them.
pub fn structure_of(wire: &Wire) -> &structure::WireFormat {
    &wire.structure
}

/// The turns as renders write them.
pub fn written_of(wire: &Wire) -> &Written {
    &wire.written
}

/// A prompt with placeholder characters for varying text, as in the structure.
pub fn steady_prompt(wire: &Wire, prompt: &str) -> String {
    wire.varying.steady(prompt.to_owned())
}

/// The wire, marked as assumed.
#[must_use]
pub fn assumed(wire: Wire) -> Wire {
    Wire { is_assumed: true, ..wire }
}

#[cfg(test)]
mod tests {
    use super::super::support::{chat_template, wire};
    use super::*;

    #[test]
    fn a_wire_is_assumed_only_if_marked_so() {
        let wire = wire(&chat_template("{{ m.content }}"));
        assert!(!wire.is_assumed());
        assert!(assumed(wire).is_assumed());
    }
}
