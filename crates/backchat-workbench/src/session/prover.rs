//! Runs the proof of a template in the background. Only the last one that was started is heard.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use super::material::{Proof, ProofTask};
use backchat_parser::template::Template;

/// The proof of a template.
#[derive(Default)]
pub(super) struct Prover {
    /// The template that is or was verified.
    of: Option<Template>,
    running: Option<Receiver<Option<Proof>>>,
    done: Option<Proof>,
}

impl Prover {
    /// The finished proof.
    pub fn proof(&self) -> Option<&Proof> {
        self.done.as_ref()
    }

    /// Whether the proof is still running.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether this template is or was verified.
    pub fn is_about(&self, template: &Template) -> bool {
        self.of.as_ref() == Some(template)
    }

    /// Starts a proof and forgets the one before. Without a task there is nothing to hear.
    pub fn start(&mut self, template: Template, task: Option<ProofTask>) {
        let running = task.map(|task| {
            let (sender, receiver) = channel();
            // If nobody listens anymore, another proof was started.
            thread::spawn(move || drop(sender.send(task())));
            receiver
        });
        *self = Self { of: Some(template), running, done: None };
    }

    /// Takes the result once it is there; true if it just came.
    pub fn hear(&mut self) -> bool {
        let Some(running) = &self.running else { return false };
        let done = match running.try_recv() {
            Err(TryRecvError::Empty) => return false,
            Ok(done) => done,
            Err(TryRecvError::Disconnected) => None,
        };
        (self.running, self.done) = (None, done);
        true
    }
}
