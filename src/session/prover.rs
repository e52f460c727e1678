//! The proof in the background: whether the template reads what its chat template writes.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use super::super::desk::Proof;
use super::App;
use super::overlay::Overlay;
use crate::template::Template;

/// What is said of files that were read again and are in order; the proof says more.
pub(super) const READ_AGAIN: &str = "read again: nothing looks wrong";

/// The proof of the template at hand.
#[derive(Default)]
pub struct Prover {
    /// The template that is proved, or was.
    of: Option<Template>,
    running: Option<Receiver<Option<Proof>>>,
    done: Option<Proof>,
}

impl Prover {
    /// The proof of the template as it is now, once it is made.
    pub fn proof(&self) -> Option<&Proof> {
        self.done.as_ref()
    }

    /// Whether it is being made.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

impl App {
    /// The proof of the template as it is now, where its chat template is known.
    pub(in super::super) fn proof(&self) -> Option<&Proof> {
        self.prover.proof()
    }

    /// Begins to prove the template, unless that was done.
    pub(super) fn prove(&mut self) {
        let template = &self.material.template;
        if self.prover.of.as_ref() == Some(template) {
            return;
        }
        let running = self.desk.prove(self.output, template).map(|proving| {
            let (sender, receiver) = channel();
            // Who no longer listens has asked for another proof.
            thread::spawn(move || drop(sender.send(proving())));
            receiver
        });
        self.prover = Prover { of: Some(template.clone()), running, done: None };
    }

    /// Takes the proof, where it is made; true where the screen changes.
    pub(super) fn hear_proof(&mut self) -> bool {
        let Some(running) = &self.prover.running else { return false };
        let done = match running.try_recv() {
            Err(TryRecvError::Empty) => return false,
            Ok(done) => done,
            Err(TryRecvError::Disconnected) => None,
        };
        self.prover.running = None;
        self.prover.done = done;
        if self.notice.as_deref() == Some(READ_AGAIN) {
            self.notice = None;
        }
        true
    }

    /// Puts the conversations that fail after the outputs, and lists them.
    pub(super) fn show_failures(&mut self) {
        let Some(proof) = self.proof() else {
            self.notice = Some(match self.prover.is_running() {
                true => "the proof is being made".to_owned(),
                false => "nothing to prove with: name the chat template with --chat-template SOURCE".to_owned(),
            });
            return;
        };
        if proof.failures.is_empty() {
            self.notice = Some(format!("all {} conversations come back as they went in", proof.cases));
            return;
        }
        let first = self.desk.lay_out(proof.failures.clone(), self.output);
        self.names = self.desk.names().to_vec();
        self.edits.retain(|output, _| *output < first);
        self.verdicts.truncate(first);
        self.verdicts.resize(self.names.len(), None);
        self.open(first);
        self.overlay = Some(Overlay::Outputs { selected: first });
    }
}
