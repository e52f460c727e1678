//! Proving the template on the bench against its chat template, and the conversations that fail.

use super::{Bench, Item};
use crate::chat;
use crate::cli::derive::NOW;
use crate::derive::{self, Failure, Options, Proven, Status};
use crate::json::Value;
use crate::template::Template;
use crate::tui::{Conversation, Desk, Material, Problem, Proof, Proving};

impl Bench {
    /// The chat template that belongs to an output, and what it is rendered with: what `backchat derive` gives for it is
    /// what is shown here.
    pub(super) fn deriving(&self, index: usize) -> Result<(String, Options), Problem> {
        let (name, set) = self.chat_template(index)?;
        let source = chat::source::open(&name, None)
            .map_err(|error| Problem { diagnostics: error.diagnostics, sources: error.sources })?
            .for_tools();
        let mut variables = source.special_tokens.clone();
        let special_tokens = variables.values().filter_map(Value::as_str).map(str::to_owned).collect();
        variables.extend(set);
        let now = Some(NOW.to_owned());
        Ok((source.template, Options { variables, special_tokens, now, ..Options::default() }))
    }

    /// The work of a proof. What a derivation made is proved already, and no file that could be mended.
    pub(super) fn proving(&self, index: usize, template: &Template) -> Option<Proving> {
        if self.origin.is_some() || !self.can_derive(index) {
            return None;
        }
        let (source, options) = self.deriving(index).ok()?;
        let template = template.clone();
        Some(Box::new(move || proof(&derive::prove(&source, &template, &options))))
    }

    /// Puts conversations after the outputs, in place of those that were put there before.
    pub(super) fn lay(&mut self, conversations: Vec<Conversation>, of: usize) -> usize {
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

    /// A conversation read with the template as its file has it now.
    pub(super) fn failing(&self, of: usize, conversation: &Conversation) -> Result<Material, Problem> {
        let opened = match self.items.get(of) {
            Some(Item::Case { file, name }) => self.template_of(Some(&self.case(file, name)?.0))?,
            _ => self.template_of(None)?,
        };
        let (prefix, output) = (conversation.prefix.clone(), conversation.output.clone());
        self.of(opened, prefix, output, conversation.tools.as_ref(), conversation.expected.clone(), None)
    }
}

/// A proof as the workbench shows it.
fn proof(proven: &Proven) -> Option<Proof> {
    let verdict = &proven.verdict;
    (proven.status != Status::Failed).then(|| Proof {
        cases: verdict.cases,
        passed: verdict.cases - verdict.failed(),
        wrong: verdict.failures.first().map(what_is_wrong),
        failures: verdict.failures.iter().map(conversation).collect(),
    })
}

/// The boundary that is wrong, or else what came back differently.
fn what_is_wrong(failure: &Failure) -> String {
    match &failure.boundary {
        Some(boundary) => boundary.describe(),
        None => format!("{} came back differently", failure.what),
    }
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
