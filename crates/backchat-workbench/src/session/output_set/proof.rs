//! Verifies the template of an output against its chat template, and lists the conversations that fail.

use super::super::material::{Conversation, Material, Proof, ProofTask};
use super::super::outputs::Outputs;
use super::{Item, OutputSet};
use crate::input::Problem;
use backchat_core::json::Value;
use backchat_derive::derive::{self, Failure, Options, Proven, Status};
use backchat_parser::template::Template;

impl OutputSet {
    /// The chat template of an output and the options that `backchat derive` would use for it.
    pub(super) fn deriving(&self, index: usize) -> Result<(String, Options), Problem> {
        let (name, set) = self.chat_template(index)?;
        let source = backchat_chat::source::open(&name, None)?.for_tools();
        let mut variables = source.special_tokens.clone();
        let special_tokens = variables.values().filter_map(Value::as_str).map(str::to_owned).collect();
        variables.extend(set);
        let now = self.now.clone();
        Ok((source.template, Options::default().variables(variables).special_tokens(special_tokens).now(now)))
    }

    /// The task that verifies a template. Derived outputs are verified already, and have no file to edit.
    pub(super) fn task(&self, index: usize, template: &Template) -> Option<ProofTask> {
        if self.origin.is_some() || !self.can_derive(index) {
            return None;
        }
        let (source, options) = self.deriving(index).ok()?;
        let template = template.clone();
        Some(Box::new(move || proof(&derive::prove(&source, &template, &options))))
    }

    /// Appends conversations, in place of those appended before.
    pub(super) fn append(&mut self, conversations: Vec<Conversation>, of: usize) -> usize {
        let of = match self.items.get(of) {
            Some(Item::Failing { of, .. }) => *of,
            _ => of,
        };
        let is_asked_for = |item: &&Item| !matches!(item, Item::Failing { .. });
        let first = self.items.iter().take_while(is_asked_for).count();
        self.items.truncate(first);
        self.names.truncate(first);
        for conversation in conversations {
            self.names.push(conversation.name.clone());
            self.items.push(Item::Failing { of, conversation: Box::new(conversation) });
        }
        first
    }

    /// A conversation, parsed with the template as its file has it now.
    pub(super) fn failing(&self, of: usize, conversation: &Conversation) -> Result<Material, Problem> {
        let opened = match self.items.get(of) {
            Some(Item::Case { file, name }) => self.template_of(Some(&self.case(file, name)?.0))?,
            _ => self.template_of(None)?,
        };
        let (prefix, output) = (conversation.prefix.clone(), conversation.output.clone());
        self.material(opened, prefix, output, conversation.tools.as_ref(), conversation.expected.clone(), None)
    }
}

/// A proof, for the workbench.
fn proof(proven: &Proven) -> Option<Proof> {
    let verdict = &proven.verdict;
    (proven.status != Status::Failed).then(|| Proof {
        cases: verdict.cases,
        passed: verdict.cases - verdict.failed(),
        wrong: verdict.failures.first().map(Failure::fault),
        failures: verdict.failures.iter().map(conversation).collect(),
    })
}

fn conversation(failure: &Failure) -> Conversation {
    Conversation {
        name: format!("{}: {}", failure.case, failure.what),
        prefix: failure.prefix.clone(),
        output: failure.text.clone(),
        tools: Some(derive::proof_tools()),
        expected: failure.expected.as_object().cloned(),
    }
}
