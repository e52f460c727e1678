//! The wire of a chat template, as other rooms use it.

use super::probe::Prober;
use super::structure;
use super::written::{self, Written};
use super::{infer, template_usage};
use crate::chat::ChatTemplate;
use crate::json::Object;

/// How a chat template writes conversations down: found once a model, shared by any number of requests.
#[derive(Clone, Debug)]
pub struct Wire {
    structure: structure::WireFormat,
    written: Written,
    is_assumed: bool,
}

impl Wire {
    /// Finds the wire of a chat template by rendering; nothing if it shows no content. The variables hold for every
    /// render, such as `eos_token`; `strftime_now` answers with `now`.
    pub fn find(template: &ChatTemplate, variables: &Object, now: Option<String>) -> Option<Self> {
        let mut prober = Prober::new(template, variables, now);
        prober.settle()?;
        let usage = template_usage::find(template, &mut prober, variables);
        let structure = infer(&mut prober, &usage)?;
        Some(Self::of(&mut prober, structure))
    }

    /// The wire of a structure, by the prober with which it was inferred.
    pub(crate) fn of(prober: &mut Prober, structure: structure::WireFormat) -> Self {
        let written = written::find(prober, &structure);
        Self { structure, written, is_assumed: false }
    }

    /// The same, as a wire that no model's renders showed.
    pub(crate) fn assumed(self) -> Self {
        Self { is_assumed: true, ..self }
    }

    pub(crate) fn is_assumed(&self) -> bool {
        self.is_assumed
    }

    pub(crate) fn structure(&self) -> &structure::WireFormat {
        &self.structure
    }

    pub(crate) fn written(&self) -> &Written {
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::chat_template;
    use super::*;

    fn find(source: &str, variables: &[(&str, &str)]) -> Option<Wire> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        Wire::find(&ChatTemplate::compile(source).unwrap(), &variables, None)
    }

    #[test]
    fn a_template_that_shows_no_content_has_no_wire() {
        for source in ["", "{{ messages[0].content }}", "{{ raise_exception('no') }}"] {
            assert!(find(source, &[]).is_none(), "{source:?}");
        }
    }

    #[test]
    fn the_variables_hold_for_every_render() {
        let source = chat_template("{{ m.content }}{{ eos_token }}");
        let wire = find(&source, &[("eos_token", "</s>")]).unwrap();
        assert_eq!(wire.structure().end, "</s>");
        assert_eq!(wire.written().stops, ["</s>"]);
    }

    #[test]
    fn a_wire_is_assumed_only_if_it_is_said_so() {
        let wire = find(&chat_template("{{ m.content }}"), &[]).unwrap();
        assert!(!wire.is_assumed());
        assert!(wire.assumed().is_assumed());
    }
}
