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
    structure: structure::Wire,
    written: Written,
    is_assumed: bool,
}

impl Wire {
    /// Finds the wire of a chat template by rendering; nothing if it shows no content. The variables hold for every
    /// render, such as `eos_token`; `now` is what `strftime_now` sees.
    pub fn find(template: &ChatTemplate, variables: &Object, now: Option<String>) -> Option<Self> {
        let mut prober = Prober::new(template, variables, now);
        prober.settle()?;
        let usage = template_usage::find(template, &mut prober, variables);
        let structure = infer(&mut prober, &usage)?;
        Some(Self::of(&mut prober, structure))
    }

    /// The wire of a structure, by the prober with which it was inferred.
    pub(crate) fn of(prober: &mut Prober, structure: structure::Wire) -> Self {
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

    pub(crate) fn structure(&self) -> &structure::Wire {
        &self.structure
    }

    pub(crate) fn written(&self) -> &Written {
        &self.written
    }
}
