//! Verifies the template of an output against its chat template, and lists the conversations that fail.

use super::super::material::{Conversation, Material, Proof};
use super::super::outputs::Outputs;
use super::{OutputSet, OutputSource};
use crate::input::Problem;
use backchat_derive::derive::{self, Failure, Options, Proven, Status};

impl OutputSet {
    /// The chat template of an output and the options that `backchat derive` would use for it.
    pub(super) fn deriving(&self, index: usize) -> Result<(String, Options), Problem> {
        let (name, set) = self.chat_template(index)?;
        let source = backchat_chat::source::open(&name, None)?.for_tools();
        let mut options = Options::for_source(&source).now(self.asked.now.clone());
        options.variables.extend(set);
        Ok((source.template, options))
    }

    /// The same, unless the output is not proved: a derived one was verified already, and has no file to edit.
    pub(super) fn provable(&self, index: usize) -> Option<(String, Options)> {
        let is_provable = self.origin.is_none() && self.can_derive(index);
        is_provable.then(|| self.deriving(index).ok()).flatten()
    }

    /// How many outputs come before the conversations that a proof fails on.
    pub(super) fn asked_for(&self) -> usize {
        self.items.iter().take_while(|item| !matches!(item, OutputSource::Failing { .. })).count()
    }

    /// A conversation, parsed with the template as its file has it now.
    pub(super) fn failing(&self, of: usize, conversation: &Conversation) -> Result<Material, Problem> {
        let opened = match self.items.get(of) {
            Some(OutputSource::Case(name)) => self.template_of(Some(&self.case(name)?.0))?,
            _ => self.template_of(None)?,
        };
        self.material(opened, conversation.clone(), None)
    }
}

pub(super) fn proof(proven: &Proven) -> Option<Proof> {
    let verdict = &proven.verdict;
    (proven.status != Status::Failed).then(|| Proof {
        cases: verdict.cases,
        passed: verdict.cases - verdict.failed(),
        wrong: verdict.failures.first().map(Failure::fault),
        failures: verdict.failures.iter().map(Conversation::from).collect(),
    })
}

impl From<&Failure> for Conversation {
    fn from(failure: &Failure) -> Self {
        Self {
            name: format!("{}: {}", failure.case, failure.what),
            prefix: failure.prefix.clone(),
            output: failure.text.clone(),
            tools: Some(derive::proof_tools()),
            expected: failure.expected.as_object().cloned(),
        }
    }
}
